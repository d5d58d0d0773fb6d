"""The report: one page that stands alone, tells what is known at each stage, and lets out no more text than it may."""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

import harness
from harness.errors import HarnessError, TrackingDown
from harness.experiment import load
from harness.records import Corpus, Document, Evidence, Passage, Place, Question, QuestionScore, Span
from harness.report import render
from harness.report_facts import gather
from harness.report_heat import heat
from harness.report_misses import misses

SECTIONS = """\
document_id,section_id,heading,text
guide,G1,Bell,Ring the bell twice. <img src=x onerror=boom()> The porter opens the gate.
guide,G2,Door,Ring the bell twice. The cook opens the kitchen door at noon.
rules,R1,Fees,A bunk costs nine pounds a night & breakfast is free.
rules,R2,Dogs,Dogs stay on a lead in the garden.
"""
QUESTIONS = """\
question_id,question,expected_section,split,evidence_span
Q1,<script>alert('question')</script> Is a lead needed?,R2,dev,on a lead
Q2,May the cook or the porter at the kitchen gate say what breakfast costs?,R1,dev,breakfast is free
Q3,When does the cook open the kitchen door?,G2,dev,Ring the bell twice. The cook opens the kitchen door at noon.
Q4,Who wrote the anthem of the garden gnomes?,,dev,
H1,Is a bunk nine pounds?,R1,holdout,A bunk costs nine pounds a night
H2,Is there a zebra in the garden?,,holdout,
"""
EXPERIMENT = """\
[experiment]
name = "inn"
question = "Which window for the <b>inn</b>?"

[data]
corpus = "sections.csv"
questions = "questions.csv"

[embedder]
type = "tfidf"

[search]
sampler = "points"
unit = "words"
points = [
    { splitter = "words", chunk_size = 200 },
    { splitter = "words", chunk_size = 240 },
    { splitter = "words", chunk_size = 5 },
]

[tracking]
text = "full"
"""
SECRETS = ("bell twice", "breakfast", "anthem", "alert(", "onerror", "zebra")
PLOTS = (
    "hits_by_setting.png",
    "index_by_setting.png",
    "intervals.png",
    "curve_hit_at_1.png",
    "curve_hit_at_3.png",
    "hits_by_size.png",
    "quality_and_cost.png",
    "scores.png",
)
BY_HAND = "the smaller index <fits>"
BROWSER = Path("/usr/bin/chromium")
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="module")
def inn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """A project taken through all its stages, with the page as it was at each."""
    root = tmp_path_factory.mktemp("inn")
    patch = pytest.MonkeyPatch()
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_RUN_ID"):
        patch.delenv(name, raising=False)
    (root / "pyproject.toml").touch()
    for file, content in (("sections.csv", SECTIONS), ("questions.csv", QUESTIONS), ("inn.toml", EXPERIMENT)):
        (root / file).write_text(content, "utf-8")
    loaded = harness.load(root / "inn.toml")
    made = SimpleNamespace(root=root, path=root / "inn.toml", pages={}, run_id=loaded.sweep().run_id)
    for stage, step in (
        ("sweep", lambda: None),
        ("lock", loaded.lock),
        ("holdout", loaded.holdout),
        ("by hand", lambda: loaded.lock(2, BY_HAND)),
    ):
        step()
        made.page = loaded.report()
        made.pages[stage] = made.page.read_text("utf-8").replace("\u00a0", " ")
    yield made
    patch.undo()


class Links(HTMLParser):
    """Collects the tags of a page, and whatever an attribute of it would load or lead to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.targets: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.targets += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]


def section(page: str, name: str) -> str:
    return page.partition(f'aria-labelledby="{name}"')[2].partition("</section>")[0]


def answer(page: str) -> str:
    return page.partition('id="answer"')[2].partition("</dl>")[0]


def with_tracking(inn: SimpleNamespace, text: str) -> Path:
    """The same experiment, letting out as much text as given; that makes it no other study."""
    path = inn.root / f"inn-{text}.toml"
    path.write_text(EXPERIMENT.replace('text = "full"', f'text = "{text}"'), "utf-8")
    return path


def without_images(page: str) -> str:
    """Base64 holds any short word by chance."""
    return re.sub(r"data:image/png;base64,[^\"]*", "", page)


def logged_page(inn: SimpleNamespace, folder: Path) -> str:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{inn.root / 'mlflow.db'}")
    return Path(client.download_artifacts(inn.run_id, "report/index.html", str(folder))).read_text("utf-8")


def test_without_a_sweep_the_way_out_is_named(tmp_path: Path) -> None:
    (tmp_path / "inn.toml").write_text(EXPERIMENT, "utf-8")
    with pytest.raises(HarnessError, match="run `harness sweep` first"):
        harness.load(tmp_path / "inn.toml").report()


def test_the_page_loads_nothing_and_runs_nothing(inn: SimpleNamespace) -> None:
    for page in inn.pages.values():
        found = Links(page)
        assert found.targets and all(t.startswith(("data:", "#")) for t in found.targets)
        assert "script" not in found.tags
        assert "@import" not in page and "url(" not in page


def test_the_page_can_be_walked_without_a_mouse_and_without_eyes(inn: SimpleNamespace) -> None:
    for page in inn.pages.values():
        assert not re.findall(r"<th\b(?![^>]*scope=)[^>]*>", page)
        assert not re.findall(r"<img(?![^>]*alt=\"[^\"]{20,})[^>]*>", page)
        regions = re.findall(r'<div class="(?:table|frame)[^>]*>', page)
        assert regions and all('tabindex="0"' in r and "aria-label=" in r for r in regions)
        ids = re.findall(r'\bid="([^"]+)"', page)
        assert len(ids) == len(set(ids))
        assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
        headings = [int(level) for level in re.findall(r"<h([1-6])", page)]
        assert headings[0] == 1 and all(b - a <= 1 for a, b in pairwise(headings))


def test_text_of_users_is_escaped(inn: SimpleNamespace) -> None:
    page = inn.pages["by hand"]
    assert "&lt;fits&gt;" in page and "&lt;b&gt;inn&lt;/b&gt;" in page
    page += inn.pages["sweep"]
    assert "<script>" not in page and "<img src=x" not in page and "<fits>" not in page and "<b>inn</b>" not in page
    assert "&lt;script&gt;alert(&#39;question&#39;)&lt;/script&gt;" in page
    assert "&lt;img src=x onerror=boom()&gt;" in inn.pages["sweep"]


def test_the_plots_lie_beside_the_page(inn: SimpleNamespace) -> None:
    for file in PLOTS:
        assert (inn.page.parent / file).read_bytes().startswith(b"\x89PNG")
    assert inn.pages["sweep"].count('alt="') == inn.pages["sweep"].count("data:image/png") == len(PLOTS)


def test_after_the_sweep_the_choice_is_told_and_what_is_missing(inn: SimpleNamespace) -> None:
    page = inn.pages["sweep"]
    assert "Chosen setting" in answer(page) and "words 200/0" in answer(page)
    assert "2 of 3, 66.7 %" in answer(page)
    assert "Not opened yet." in answer(page) and "None locked yet." in answer(page)
    assert "No threshold is locked yet." in section(page, "gate")


def test_after_the_lock_the_threshold_stands_with_its_model(inn: SimpleNamespace) -> None:
    tuned = gather(load(inn.path)).study["embedder"]
    page = inn.pages["lock"]
    assert "Locked setting" in answer(page) and "Not opened yet." in answer(page)
    assert "a cosine score of" in answer(page) and tuned["name"] in answer(page) and tuned["fingerprint"] in answer(page)
    assert "not opened</td>" in section(page, "gate")


def test_after_the_holdout_its_result_and_verdict_are_told(inn: SimpleNamespace) -> None:
    page = inn.pages["holdout"]
    assert "Too few to verify" in answer(page) and "1 of 1, 100.0 %" in answer(page)
    assert "not opened" not in page


def test_a_lock_by_hand_shows_its_reason_and_what_the_rule_would_choose(inn: SimpleNamespace) -> None:
    page = inn.pages["by hand"]
    assert "The locked trial 2 is not the rule's present choice, which is trial 0" in page
    assert "Chosen by hand because: the smaller index &lt;fits&gt;" in page
    assert "the current lock is not verified by it" in answer(page)


def test_ties_are_called_ties(inn: SimpleNamespace) -> None:
    page = inn.pages["sweep"]
    assert "2 settings tie on the whole key" in page
    assert section(page, "trials").count("tied for first") == 2
    assert "3 complete of 3 trials, 3 distinct settings" in page


def test_the_heat_map_counts_the_settings_that_answer_a_question(inn: SimpleNamespace) -> None:
    found = heat(gather(load(inn.path)))
    assert {question: first for question, first, _ in found.rows} == {"Q1": 3, "Q2": 0, "Q3": 2}
    assert (found.never, found.flips, found.always) == (("Q2",), ("Q3",), ("Q1",))
    assert "0 of 3" in section(inn.pages["sweep"], "questions")


def test_a_failed_trial_is_shown_with_its_error_below_the_table(inn: SimpleNamespace) -> None:
    facts = gather(load(inn.path))
    failed = replace(facts.results[2], trial=3, evaluation=None, error="MemoryError: too <large>\nTraceback of it")
    facts = replace(facts, results=(*facts.results, failed))
    assert "Trial 3, words 5/0: MemoryError: too &lt;large&gt;" in render(facts, [])
    assert "Traceback of it" in render(facts, []) and "Traceback of it" not in render(facts, [], texts=False)


def test_full_tracking_logs_the_page_and_its_plots(inn: SimpleNamespace, tmp_path: Path) -> None:
    from mlflow import MlflowClient

    harness.load(inn.path).report(tmp_path / "out")
    assert logged_page(inn, tmp_path) == (tmp_path / "out" / "index.html").read_text("utf-8")
    client = MlflowClient(tracking_uri=f"sqlite:///{inn.root / 'mlflow.db'}")
    names = {Path(a.path).name for a in client.list_artifacts(inn.run_id, "report")}
    assert names == {"index.html", "trials.csv", *PLOTS}


def test_tracking_of_spans_logs_ids_and_offsets_only(inn: SimpleNamespace, tmp_path: Path) -> None:
    local = harness.load(with_tracking(inn, "spans")).report(tmp_path / "out").read_text("utf-8")
    logged = without_images(logged_page(inn, tmp_path))
    assert "breakfast" in local
    assert not [s for s in SECRETS if s in logged]
    assert "Q2" in logged and "rules [" in logged


def test_tracking_of_no_text_logs_no_line_about_a_question(inn: SimpleNamespace, tmp_path: Path) -> None:
    local = harness.load(with_tracking(inn, "none")).report(tmp_path / "out").read_text("utf-8")
    logged = without_images(logged_page(inn, tmp_path))
    assert "breakfast" in local
    assert not [s for s in (*SECRETS, "Q1", "Q2", "Q3", "Q4") if s in logged]


def test_a_silent_store_costs_the_log_but_not_the_page(
    inn: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(TrackingDown, match=r"the report is written to .*index\.html, but not logged"):
        harness.load(inn.path).report(tmp_path, tracking_uri="http://127.0.0.1:9")
    assert (tmp_path / "index.html").read_text("utf-8").endswith("</html>\n")


def test_changed_data_leaves_texts_out_for_offsets_no_longer_fit(inn: SimpleNamespace) -> None:
    facts = gather(load(inn.path))
    moved = Corpus(tuple(replace(d, text=f"moved {d.text}") for d in facts.labelled.corpus.documents))
    page = render(replace(facts, labelled=replace(facts.labelled, corpus=moved)), [])
    assert "Changed since the sweep: corpus." in page
    assert not [s for s in SECRETS if s in page]


def test_what_is_undefined_is_never_shown_as_zero(inn: SimpleNamespace) -> None:
    facts = gather(load(inn.path))
    assert facts.lock is not None
    at = {**facts.lock.threshold.at_threshold, "false_answer": 0, "unanswerable": 0}
    tuned = replace(facts.lock.threshold, distributions={"positives": {"count": 0}}, at_threshold=at)
    evaluation = facts.results[2].evaluation
    assert evaluation is not None
    kept = {k: v for k, v in evaluation.metrics.items() if k not in ("mrr", "ceiling", "context_at_3")}
    nothing = replace(facts.results[2], evaluation=replace(evaluation, metrics=kept, questions=()))
    facts = replace(facts, lock=replace(facts.lock, threshold=tuned), results=(*facts.results[:2], nothing), locked=None)
    page = render(facts, [])
    row = section(page, "trials").partition('<span class="setting">words 5/0</span>')[2].partition("</tr>")[0]
    assert row.count("undefined") == 5  # hit@1, hit@3, MRR, ceiling, context@3
    assert section(page, "gate").count('<td class="n">none</td>') == 4 * 7
    assert "undefined (no questions)" in section(page, "gate")


def scored(passages: tuple[Passage, ...]) -> QuestionScore:
    return QuestionScore("q", True, None, {}, "cut", None, None, passages)


def passage(rank: int, start: int, end: int) -> Passage:
    return Passage(rank, 1.0, "d", start, end, 1, ())


def shown(pieces: tuple[object, ...]) -> list[tuple[str, str]]:
    return [(p.kind, p.text) for p in pieces]  # type: ignore[attr-defined]


def test_evidence_is_marked_by_its_offsets_where_its_text_repeats() -> None:
    corpus = Corpus((Document("d", "ring twice, ring twice, ring twice"),))
    question = Question("q", "?", Evidence(((Place("d", Span(12, 22)),),)))
    (miss,) = misses([scored((passage(1, 0, 34),))], [question], corpus, texts=True)
    assert miss.first is not None
    assert shown(miss.first.pieces) == [("plain", "ring twice, "), ("mark", "ring twice"), ("plain", ", ring twice")]


def test_a_cut_through_evidence_is_shown_where_it_is() -> None:
    corpus = Corpus((Document("d", "before; the whole answer; after"),))
    question = Question("q", "?", Evidence(((Place("d", Span(8, 24)),),)))
    (miss,) = misses([scored((passage(1, 0, 17), passage(2, 12, 31)))], [question], corpus, texts=True)
    ((evidence,),) = miss.alternatives
    assert miss.first is not None
    assert shown(evidence.pieces) == [
        ("mark", "the "),
        ("cut", "chunk of rank 2 begins"),
        ("mark", "whole"),
        ("cut", "chunk of rank 1 ends"),
        ("plain", " answer"),
    ]
    assert shown(miss.first.pieces) == [
        ("plain", "before; "),
        ("mark", "the whole"),
        ("cut", "the chunk ends here"),
        ("beyond", " answer"),
    ]


def test_parts_of_an_alternative_and_no_first_chunk_are_told_apart() -> None:
    corpus = Corpus((Document("d", "one two three"),))
    both = (Place("d", Span(0, 3)), Place("d", Span(8, 13)))
    (miss,) = misses([scored(())], [Question("q", "?", Evidence((both, both[:1])))], corpus, texts=True)
    assert [[shown(p.pieces) for p in a] for a in miss.alternatives] == [
        [[("plain", "one")], [("plain", "three")]],
        [[("plain", "one")]],
    ]
    assert miss.first is None


@pytest.mark.browser
def test_a_browser_shows_the_page_without_errors_or_overflow_also_on_a_phone(inn: SimpleNamespace) -> None:
    if not BROWSER.exists():
        if os.environ.get("HARNESS_REQUIRE_ALL") == "1":
            pytest.fail(f"{BROWSER} is absent, and HARNESS_REQUIRE_ALL=1")
        pytest.skip(f"{BROWSER} is absent")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(BROWSER), args=CHROMIUM)
        page = browser.new_page(viewport={"width": 390, "height": 844})
        faults: list[str] = []
        page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("requestfailed", lambda request: faults.append(request.url))
        page.goto(inn.page.as_uri())
        page.eval_on_selector_all("details", "all => all.forEach(d => d.open = true)")
        for width in (390, 1200):
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.evaluate("(t => t.scrollWidth <= t.clientWidth)(document.querySelector('.leading').parentElement)")
        widths = page.eval_on_selector_all("figure img", "all => all.map(i => i.naturalWidth)")
        browser.close()
    assert not faults
    assert len(widths) == len(PLOTS) and min(widths) > 0
