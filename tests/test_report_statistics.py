"""What the report says of a search: the figures on the page are those of the records, and what can't be said says why."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from making_trials import pruned, ranked

import harness
from harness import report_baselines, report_choice, report_costs, report_curve, report_parts, report_trials
from harness import report_words as words
from harness.budget import Spent
from harness.comparison import compare
from harness.curve import read_curve
from harness.experiment import load
from harness.optimism import Optimism
from harness.records import Point, TrialResult
from harness.report import render
from harness.report_csv import as_csv
from harness.report_facts import Facts, gather
from harness.report_plots import drawn
from harness.scores import scores
from harness.selection import Selection
from harness.stats import Interval

TOPICS = ("lamp", "boat", "kettle", "ladder", "violin", "goat", "stove", "bell", "sail", "clock", "spade", "loom")
EXPERIMENT = """\
[experiment]
name = "mill"

[data]
corpus = "sections.csv"
questions = "questions.csv"

[embedder]
type = "tfidf"

[search]
sampler = "grid"
unit = "words"
splitter = ["structure", "words"]
chunk_size = [6, 12, 24]
overlap_ratio = [0.0, 0.25]
"""


def sections() -> str:
    """Two documents of six sections, one with a name that would be markup."""
    rows = [
        f"{'old <b>mill' if i < 6 else 'yard'},S{i},About the {t},"
        f"The {t} stands near the wall. Nobody moves the {t} after dark because the floor creaks. The {t} is oiled in week {i}."
        for i, t in enumerate(TOPICS)
    ]
    return "\n".join(["document_id,section_id,heading,text", *rows, ""])


def questions() -> str:
    rows = [
        f"Q{i:02},Why does nobody move the {t} late?,S{i},dev,Nobody moves the {t} after dark because the floor creaks.,"
        f"{'real' if i % 2 else '<i>drawn</i>'}"
        for i, t in enumerate(TOPICS)
    ]
    rows += [
        "Q90,Is there a zebra?,,dev,,real",
        "H1,In which week is the lamp oiled?,S0,holdout,The lamp is oiled in week 0.,real",
    ]
    return "\n".join(["question_id,question,expected_section,split,evidence_span,source", *rows, ""])


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The experiment file of a finished sweep."""
    root = tmp_path_factory.mktemp("mill")
    patch = pytest.MonkeyPatch()
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_RUN_ID"):
        patch.delenv(name, raising=False)
    for file, content in (("sections.csv", sections()), ("questions.csv", questions()), ("mill.toml", EXPERIMENT)):
        (root / file).write_text(content, "utf-8")
    (root / "pyproject.toml").touch()
    harness.load(root / "mill.toml").sweep()
    yield root / "mill.toml"
    patch.undo()


@pytest.fixture(scope="module")
def facts(mill: Path) -> Facts:
    return gather(load(mill))


def told(facts: Facts) -> str:
    return render(facts, []).replace("\u00a0", " ")


def section(page: str, name: str) -> str:
    return page.partition(f'aria-labelledby="{name}"')[2].partition("</section>")[0]


def answer(page: str) -> str:
    return page.partition('id="answer"')[2].partition("</dl>")[0]


def rows_of(table: str) -> list[list[str]]:
    """The cells of a table's rows, tags taken out."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in row] for row in cells]


def table(page: str, label: str) -> list[list[str]]:
    return rows_of(page.partition(f'aria-label="{label}"')[2].partition("</table>")[0])


def flattered(facts: Facts, shrinkage: float) -> Facts:
    made = Optimism("hit_at_1", facts.selected.chosen.metrics["hit_at_1"], shrinkage, 400, 0)
    return replace(facts, analysis=replace(facts.analysis, optimism=made))


def test_every_figure_of_the_table_of_trials_is_that_of_the_records(facts: Facts) -> None:
    made = facts.analysis.comparison
    assert made is not None
    shown = {re.split(r" trial | beside ", row[0])[0]: row for row in table(told(facts), "Trials")[1:]}
    assert len(shown) == len(facts.settings) == 15
    for r in facts.settings:
        beside, row = made.of(r), shown[str(r.point)]
        assert beside is not None and beside.interval is not None and beside.difference_interval is not None
        low, high = 100 * beside.interval.low, 100 * beside.interval.high
        assert row[1] == f"{r.hits(1)} of 12, {100 * r.hits(1) / 12:.1f} % {low:.0f} to {high:.0f} %"
        assert row[2] == f"{r.hits(3)} of 12, {100 * r.hits(3) / 12:.1f} %"
        assert row[3] == f"{r.mrr:.3f}"
        assert row[4] == f"≤ {100 * r.metrics['ceiling']:.1f} %"
        assert row[5:7] == [f"{r.metrics['index_ratio']:.3f}", f"{r.metrics['context_at_3']:.0f}"]
        if r.trial != made.leader.trial:
            assert f"won {beside.won}, lost {beside.lost}, p {words.chance(beside.corrected)}" in row[7]
            assert row[7].startswith(words.difference("hit_at_1", beside.difference).replace("\u00a0", " "))


def test_another_metric_that_the_selection_goes_by_has_the_first_column_and_the_interval(mill: Path, tmp_path: Path) -> None:
    path = mill.parent / "by-mrr.toml"
    path.write_text(EXPERIMENT.replace('name = "mill"', 'name = "mill"\n[selection]\nkey = ["mrr"]'), "utf-8")
    page = told(gather(load(path)))
    assert table(page, "Trials")[0][1] == "MRR"
    (first, *_) = table(page, "Trials")[1:]
    assert re.fullmatch(r"\d\.\d{3} \d\.\d\d to \d\.\d\d", first[1])
    assert "MRR, what the selection goes by first" in answer(page)


def test_what_to_expect_of_fresh_questions_stands_beside_dev(facts: Facts) -> None:
    facts = flattered(facts, 0.05)
    assert facts.analysis.optimism is not None
    expected = f"{100 * facts.analysis.optimism.expected:.1f} %"
    assert f"of fresh questions about <strong>{expected}</strong> is to be expected" in answer(told(facts))
    assert f"about {expected} to be expected of fresh questions" in section(told(facts), "sure")


def test_no_expectation_is_told_where_the_choice_flattered_nothing(facts: Facts) -> None:
    page = told(flattered(facts, -0.01))
    assert "is to be expected" not in answer(page)
    assert "nothing is to be taken off its hit@1" in section(page, "sure")


def test_the_opened_holdout_stands_beside_what_was_expected(mill: Path) -> None:
    loaded = harness.load(mill)
    loaded.lock()
    loaded.holdout()
    facts = flattered(gather(load(mill)), 0.05)
    assert facts.record is not None and facts.analysis.optimism is not None
    dev, expected = (f"{100 * v:.1f} %" for v in (facts.analysis.optimism.dev, facts.analysis.optimism.expected))
    held = facts.record.evaluation.hits(1)
    assert f"hit@1: expected {expected}, {dev} on dev, holdout <strong>{held} of 1, {100 * held:.1f} %</strong>" in answer(
        told(facts)
    )
    assert table(told(facts), "Dev, expected, holdout")[1][1:] == [dev, expected, f"{100 * held:.1f} %"]


def test_what_is_withheld_says_why_once(facts: Facts) -> None:
    why = "5 of 9 trials were pruned; `harness sweep --complete` measures them whole"
    less = replace(facts.analysis, optimism=None, curves=(), sensitivity=None, withheld=dict.fromkeys(("optimism", "curve"), why))
    page = told(replace(facts, analysis=less))
    code = why.replace("`harness sweep --complete`", "<code>harness sweep --complete</code>")
    assert f"Not said: <strong>optimism, curve</strong>, for {code}." in page
    assert f"Not said, for {code}." in section(page, "sure")
    assert f"is not drawn, for {code}." in section(page, "size")


def test_the_tie_set_is_told_with_what_it_means_and_how_it_was_tested(facts: Facts) -> None:
    made = facts.analysis.comparison
    assert made is not None and len(made.tie_set) > 1
    sure = section(told(facts), "sure")
    assert f"{len(made.tie_set)} of {made.compared} settings are not measurably worse than the leader in hit@1" in sure
    assert "reported and never used to choose" in sure
    assert f"one-sided, that it is worse, at 5 % divided by {made.candidates} candidates" in sure
    assert [row[0] for row in table(sure, "Tie set")[1:]] == [str(b.trial.point) for b in made.tie_set]


@pytest.mark.parametrize(
    ("metric", "groups", "named"),
    [
        ("hit_at_1", {}, "by McNemar's exact test"),
        (
            "hit_at_1",
            {"q0": "one", "q1": "one"},
            "by flipping the signs of whole groups of questions that share evidence or a section",
        ),
        ("mrr", {}, "by flipping the signs of the questions' differences"),
    ],
)
def test_the_test_that_is_named_is_the_one_that_was_done(metric: str, groups: dict[str, str], named: str) -> None:
    trials = ranked([[1, 2], [2, 1], [1, 3]])
    found = scores(trials, metric, groups)
    assert found is not None
    assert named in report_choice.test_of(compare(found, trials[0], 2, 0))


def lines(*columns: list[int], sizes: tuple[int, ...], overlap: float = 0.0) -> Any:
    """The readings of one line whose settings have these ranks of twelve questions' answers."""
    points = [Point("words", size, overlap) for size in sizes]
    table = [list(row) for row in zip(*columns, strict=True)]
    found = read_curve(ranked(table, points), "hit_at_1", {}, 0)
    assert found is not None
    return found


def hit(n: int) -> list[int]:
    return [1] * n + [0] * (50 - n)


@pytest.mark.parametrize(
    ("hits", "reading"),
    [
        ((10, 30, 31), "flattens at 64 (60.0 %): no larger size gains more than 2.0 points."),
        ((10, 20, 30), "still climbing at the largest, 128 (+20.0 points on 64): where it flattens is not known."),
        ((30, 30, 30), "flat: no size gains more than 2.0 points on the smallest, 32 (60.0 %)."),
        ((10, 30, 20), "flattens at 64 (60.0 %): no larger size gains more than 2.0 points; the largest, 128, has less than 64"),
    ],
)
def test_a_line_is_read_by_the_stated_rule(hits: tuple[int, ...], reading: str) -> None:
    found = lines(*map(hit, hits), sizes=(32, 64, 128))
    ((line),) = report_curve.readings(found)
    assert line.reading.replace("\u00a0", " ").startswith(reading)
    assert line.sizes == "32, 64, 128"
    assert report_curve.few(found) is None


def test_too_few_sizes_are_said_to_be_too_few() -> None:
    found = lines(hit(10), hit(20), sizes=(32, 64))
    assert report_curve.readings(found) == []
    assert "No splitter was measured at 3 sizes of one overlap" in (report_curve.few(found) or "")


def test_what_overlap_buys_and_costs_is_told_for_each_size(facts: Facts) -> None:
    (curve, *_) = facts.analysis.curves
    rows = table(told(facts), "What overlap buys in hit@1")[1:]
    assert len(rows) == len(curve.overlap) > 0
    for row, pair in zip(rows, curve.overlap, strict=True):
        p, q = pair.first.point, pair.second.point
        assert row[:3] == [p.splitter, str(p.chunk_size), f"{p.overlap} to {q.overlap}"]
        assert row[5] == f"{pair.won} won, {pair.lost} lost"
        assert row[7] == f"{100 * pair.cost:+.1f} %"


def test_structure_is_told_ahead_or_behind_as_it_is() -> None:
    points = [Point("structure", 50, 0.0), Point("words", 50, 0.0)]
    said = []
    for first, second in ((30, 10), (10, 30), (20, 20)):
        found = read_curve(ranked([list(r) for r in zip(hit(first), hit(second), strict=True)], points), "hit_at_1", {}, 0)
        assert found is not None
        said.append(report_curve.structure(found) or "")
    assert "structure 50/0, is ahead of the best fixed window, words 50/0: +40.0 points" in said[0]
    assert "is behind" in said[1] and "\u221240.0 points" in said[1]
    assert "is level with" in said[2] and ": 0.0 points" in said[2]


def test_a_reranker_is_noted_where_it_would_change_the_picture() -> None:
    # At the first place the settings differ, within fifty all have everything.
    different = lines([1] * 10 + [2] * 10, [1] * 5 + [2] * 15, sizes=(32, 64))
    alike = lines([1] * 10 + [0] * 10, [1] * 5 + [0] * 15, sizes=(32, 64))
    assert different.reranked is not None and alike.reranked is not None
    said = report_curve.reranked(different.reranked).replace("\u00a0", " ")
    assert said.startswith("Within the first chunk the settings hit 5 of 20, 25.0 % to 10 of 20, 50.0 %; within 50")
    assert "With a reranker the picture is another: chunk size nearly stops to matter there." in said
    assert "would not change the picture" in report_curve.reranked(alike.reranked)


def test_budgets_that_a_smaller_one_serves_as_well_share_its_row(facts: Facts) -> None:
    best, other = facts.settings[:2]
    spent = [
        Spent(2_000, best, 4, 1234.5, 9, 12, Interval(0.5, 0.9), 3, False),
        Spent(4_000, best, 4, 1234.5, 9, 12, None, 3, False),
    ]
    rows = report_costs.budgets(replace(facts, analysis=replace(facts.analysis, budgets=tuple(spent))))
    assert [(r.budget, r.setting) for r in rows] == [("1,000", "none"), ("2,000, 4,000", str(best.point))]
    assert rows[1].hits.replace("\u00a0", " ") == "9 of 12, 75.0 %" and rows[1].context == "1,234"
    assert rows[1].remark == "3 other settings answer as many with more context"
    apart = (spent[0], Spent(4_000, other, 9, 3000.0, 11, 12, None, 0, True))
    rows = report_costs.budgets(replace(facts, analysis=replace(facts.analysis, budgets=apart)))
    assert [r.budget for r in rows] == ["1,000", "2,000", "4,000"] and "more might fit" in rows[2].remark


def test_a_pruned_trial_is_said_to_be_missing_from_budgets(facts: Facts) -> None:
    page = told(replace(facts, results=(*facts.results, pruned_of(facts))))
    assert "a pruned one could do better within a budget" in section(page, "cost")


def pruned_of(facts: Facts) -> TrialResult:
    made = pruned(99, 70, 3, of=12)
    assert made.bound is not None
    costs = {"index_ratio": 1.5, "chunks": 40.0}
    return replace(made, bound=replace(made.bound, metrics={**made.bound.metrics, **costs}))


def test_several_objectives_show_their_front_and_how_to_lock_a_point(facts: Facts) -> None:
    rule = facts.experiment.selection.model_copy(update={"objective": ["hit_at_1", "-context_at_3"]})
    facts = replace(facts, experiment=replace(facts.experiment, selection=rule))
    rows = table(told(facts), "Front of the objectives")
    assert rows[0] == ["Setting", "hit@1", "context@3", "Label", "To lock it"]
    assert "Several objectives have no single best setting" in told(facts) and "The rule chooses" not in told(facts)
    assert "harness lock mill.toml --point NAME" in report_parts.commands(facts)
    points = report_costs.named_front(facts)
    assert [row[0] for row in rows[1:]] == [p.name for p in points]
    assert rows[1][3].startswith("best hit_at_1")
    assert rows[1][4] == f"harness lock mill.toml --point &#39;{points[0].name}&#39;"
    assert "Front of the objectives" not in told(replace(facts, experiment=replace(facts.experiment, selection=Selection())))


def test_a_lock_is_reproduced_by_the_name_that_it_was_given(mill: Path) -> None:
    path = mill.parent / "several.toml"
    path.write_text(
        EXPERIMENT.replace('"mill"', '"several"') + '[selection]\nobjective = ["hit_at_1", "context_at_3"]\n', "utf-8"
    )
    loaded = harness.load(path)
    loaded.sweep()
    loaded.lock(point="best hit_at_1")
    facts = gather(load(path))
    assert "harness lock several.toml --point 'best hit_at_1'" in report_parts.commands(facts)
    assert "Locked: a point of the front of hit_at_1, context_at_3, named by &#39;best hit_at_1&#39;." in told(facts)
    assert "is not the rule's present choice" not in told(facts)


def test_baselines_stand_beside_the_chosen_setting_and_chance(facts: Facts) -> None:
    rows = table(told(facts), "Baselines")[1:]
    names = [row[0].split(" ")[0] for row in rows]
    assert names[1:] == ["whole-document", "whole-section", "conventional", "random"]
    assert rows[0][0].startswith(str(facts.shown.point))
    chance = facts.shown.metrics["random_hit_at_1"]
    assert rows[-1][1] == f"{100 * chance:.1f} %" and 0 < chance < 0.5
    assert report_baselines.missing(facts) == []


def test_chance_that_was_not_measured_is_undefined(facts: Facts) -> None:
    shown = facts.shown
    assert shown.evaluation is not None
    kept = {k: v for k, v in shown.metrics.items() if not k.startswith("random_")}
    older = replace(shown, evaluation=replace(shown.evaluation, metrics=kept))
    selected = replace(facts.selected, chosen=older, leader=older)
    results = tuple(older if r.trial == shown.trial else r for r in facts.results if not r.point.baseline)
    facts = replace(facts, selected=selected, results=results, aside=(), locked=None, lock=None, record=None)
    row = report_baselines.rows(facts)[-1]
    assert row.cells[:2] == ("undefined", "undefined") and "not measured" in row.meaning
    assert report_baselines.missing(facts) == ["whole-document", "whole-section", "conventional"]
    assert "Not measured here: whole-document" in told(facts)


def test_results_by_source_and_document_are_told_and_their_names_escaped(facts: Facts) -> None:
    page = told(facts)
    by_source = {row[0]: row[1:] for row in table(page, "Results by source")[1:]}
    assert by_source["real"][2] == "1" and by_source["real"][0].split(" of ")[1].startswith("6,")
    assert [row[0] for row in table(page, "Results by document group")[1:]] == ["old &lt;b&gt;mill", "yard"]
    assert "<i>drawn" not in page and "&lt;i&gt;drawn&lt;/i&gt;" in page


def test_document_names_are_left_out_of_a_copy_without_lines_about_questions(facts: Facts) -> None:
    copy = render(facts, [], per_question=False, texts=False)
    assert "Results by source" in copy and "Results by document group" not in copy
    assert "Q05" not in copy and "creaks" not in copy


def test_of_very_many_settings_a_hundred_are_shown_and_the_chosen_one(facts: Facts) -> None:
    model = facts.settings[0]
    many = tuple(replace(model, trial=100 + i, point=Point("words", 1000 + i, 0.0)) for i in range(250))
    facts = replace(facts, results=(*many, *facts.results))
    facts = replace(facts, selected=replace(facts.selected, chosen=facts.settings[-1]), lock=None, locked=None, record=None)
    page = told(facts)
    assert f"The first {report_trials.MOST} of {len(facts.settings)}" in section(page, "trials")
    rows = table(page, "Trials")[1:]
    assert len(rows) == report_trials.MOST + 1 and "chosen" in rows[-1][0]
    assert len(as_csv(facts.results).splitlines()) == 1 + len(facts.results)


def test_the_csv_has_every_trial_and_calls_an_upper_bound_one(facts: Facts) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv((*facts.results, pruned_of(facts))))))
    assert [int(r["trial"]) for r in rows] == sorted(int(r["trial"]) for r in rows)
    whole, given_up = rows[0], rows[-1]
    assert float(whole["hit_at_1"]) == facts.results[0].metrics["hit_at_1"] and whole["hit_at_1_at_most"] == ""
    assert given_up["state"] == "pruned" and given_up["hit_at_1"] == "" and float(given_up["hit_at_1_at_most"]) == 3 / 12
    assert float(given_up["index_ratio"]) == 1.5
    beside = list(csv.DictReader(io.StringIO(as_csv((*facts.aside, *facts.results)))))[-len(facts.aside) :]
    assert [(r["trial"], r["splitter"]) for r in beside] == [("", str(r.point)) for r in facts.aside]


def test_a_pruned_trial_is_drawn_as_an_upper_bound(facts: Facts) -> None:
    plain = {plot.file: plot for plot in drawn(facts)}
    bounded = {plot.file: plot for plot in drawn(replace(facts, results=(*facts.results, pruned_of(facts))))}
    for file in ("hits_by_size.png", "quality_and_cost.png"):
        assert plain[file].png != bounded[file].png
        assert "1 pruned trial is drawn" in bounded[file].caption and "upper bound" in bounded[file].caption
    assert "1 pruned trial is left out" in bounded["hits_by_setting.png"].caption


def test_a_search_of_one_setting_has_nothing_to_compare(mill: Path) -> None:
    facts = gather(load(mill))
    (one,) = [r for r in facts.results if r.trial == facts.selected.chosen.trial]
    analysis = replace(facts.analysis, complete=1, of=1)
    selected = replace(facts.selected, complete=1, of=1)
    alone = replace(facts, results=(one,), aside=(), analysis=analysis, selected=selected)
    files = [plot.file for plot in drawn(alone)]
    assert "curve_hit_at_1.png" not in files and "quality_and_cost.png" not in files and "hits_by_setting.png" in files
    page = told(alone)
    assert "1 setting was measured whole: there is no curve to read." in section(page, "size")
    assert "nothing was picked, so nothing is flattered" in section(page, "sure")


def test_figures_are_written_with_their_unit_and_a_true_minus() -> None:
    assert words.name_of("hit_at_1") == "hit@1" and words.name_of("document_hit_at_3") == "document hit@3"
    assert words.name_of("-index_ratio") == "less index ratio" and words.name_of("mrr") == "MRR"
    assert words.difference("hit_at_1", -0.025) == "\u22122.5 points" and words.difference("mrr", 0.0123) == "+0.012"
    assert words.difference("hit_at_1", -1e-12) == "0.0 points"
    assert words.between("mrr", Interval(0.51, 0.9)) == "0.51 to 0.90" and words.between("mrr", None) == "undefined"
    assert words.percent(None) == words.number(None) == "undefined" and words.share(0, 0) == "undefined (no questions)"
    assert words.chance(0.0004) == "< 0.001" and words.whole_percent(0.451581) == "45.2\u00a0%"
