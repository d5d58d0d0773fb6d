"""Bad input: one clear message with its place and its remedy, exit 2, no traceback, and nothing written."""

# ruff: noqa: E501 - a case a line is easier to read

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from flow_project import GRID, QUESTIONS, SECTIONS, Project, free_port

NOBODY = free_port()  # nothing listens there


@dataclass(frozen=True)
class Bad:
    """Something wrong, and what the one message about it says."""

    name: str
    spoil: Callable[[Project], Any]
    where: str
    what: str
    fix: str
    verbs: tuple[str, ...] = ("check", "estimate", "sweep", "run")
    options: tuple[str, ...] = ()


def _without_column(project: Project) -> None:
    rows = [f"{r[0]},{r[1]},{r[3].replace(',', ' ')}" for r in SECTIONS]
    project.sections.write_text("\n".join(["document_id,section_id,text", *rows]), "utf-8")


def _evidence(project: Project) -> None:
    changed = ("D04", "Who has the key of the chainsaw?", "G3", "dev", "The chainsaw is locked up and only Martha keeps the key.")
    project.write_questions([q if q[0] != "D04" else changed for q in QUESTIONS])


def _holdout_only(project: Project) -> None:
    project.write_questions([q for q in QUESTIONS if q[3] == "holdout"])


def _search(**changes: Any) -> Callable[[Project], None]:
    return lambda project: project.configure(search={**GRID, **changes})


def _section(name: str, **changes: Any) -> Callable[[Project], None]:
    return lambda project: project.configure(**{name: changes})


def _model(**options: Any) -> Callable[[Project], None]:
    return _section("embedder", type="sentence-transformers", **options)


def _empty_folder(project: Project) -> None:
    (project.root / "model").mkdir()
    (project.root / "model" / "README.md").write_text("no model here")
    project.configure(embedder={"type": "sentence-transformers", "model": "./model"})


def _torn_folder(project: Project) -> None:
    (project.root / "model").mkdir()
    (project.root / "model" / "modules.json").write_text("[]")
    (project.root / "model" / "model.safetensors").write_bytes(b"torn")
    project.configure(embedder={"type": "sentence-transformers", "model": "./model"})


SPENDING = ("estimate", "sweep", "run")
CASES = [
    Bad("no experiment file", lambda p: p.file.unlink(), "exp.toml", "no such experiment file", "path of a .toml file"),
    Bad("broken TOML", lambda p: p.file.write_text("[data\n"), "exp.toml", "not valid TOML", "at line 1"),
    Bad("not UTF-8", lambda p: p.file.write_bytes(b"\xff\xfe"), "exp.toml", "can't be read", "UTF-8"),
    Bad("a folder", lambda p: (p.file.unlink(), p.file.mkdir()), "exp.toml", "can't be read", ".toml file"),
    Bad("no corpus file", lambda p: p.sections.unlink(), "sections.csv", "no such file", "relative to the experiment file"),
    Bad("no questions file", lambda p: p.questions.unlink(), "questions.csv", "no such file", "relative to the experiment file"),
    Bad("a missing column", _without_column, "sections.csv line 1", "column 'heading' is missing", "expected: document_id"),
    Bad("an empty corpus", lambda p: p.write_sections([]), "sections.csv", "the corpus is empty", "add files or rows with text"),
    Bad("no dev questions", _holdout_only, "questions", "no answerable dev questions", "split dev", SPENDING),
    Bad("no questions", lambda p: p.write_questions([]), "questions", "no answerable dev questions", "split dev", SPENDING),
    Bad(
        "evidence that is not there", _evidence, "questions.csv line 5", "evidence 'The chainsaw is locked up and only Martha",
        "The chainsaw is locked away and only Marta keeps the key.", SPENDING,
    ),
    Bad("an unknown key", _search(trails=4), "[search] trails", "unknown key 'trails'", "did you mean 'trials'"),
    Bad("an unknown section", _section("trackin", text="full"), "[trackin]", "unknown key 'trackin'", "'tracking'"),
    Bad("an overlap ratio of 1", _search(overlap_ratio=[0.0, 1.0]), "[search] overlap_ratio", "less than 1", "correct"),
    Bad("a ratio range up to 1", _search(overlap_ratio={"low": 0, "high": 1, "step": 0.5}), "overlap_ratio", "[0, 1)", "correct"),
    Bad("a chunk size of 0", _search(chunk_size=[0]), "[search] chunk_size", "greater than or equal to 1", "correct"),
    Bad("an unknown format", _section("data", format="handbok"), "[data] format", "unknown format 'handbok'", "'handbook'"),
    Bad("an unknown embedder", _section("embedder", type="tfdif"), "[embedder] type", "unknown embedder 'tfdif'", "'tfidf'"),
    Bad("an unknown splitter", _search(splitter=["wrods"]), "[search] splitter", "unknown splitter 'wrods'", "'words'"),
    Bad("an unknown unit", _search(unit="wordz"), "[search] unit", "unknown unit 'wordz'", "'words'"),
    Bad("an unknown sampler", _search(sampler="gird"), "[search] sampler", "gird", "grid"),
    Bad("an unknown similarity", _section("embedder", similarity="cosin"), "similarity", "unknown similarity 'cosin'", "'cosine'"),
    Bad("an unknown threshold rule", _section("threshold", rule="gab"), "[threshold] rule", "unknown threshold rule 'gab'", "'gap'"),
    Bad("an unknown selection rule", _section("selection", rule="bets"), "[selection] rule", "bets", "best"),
    Bad("an unknown metric", _section("selection", key=["hit_at_2"]), "[selection] key", "unknown metric 'hit_at_2'", "hit_at_1"),
    Bad("an unknown text", _section("tracking", text="fulll"), "[tracking] text", "fulll", "full"),
    Bad(
        "a model's package that is not installed", _model(model="package:no_such_model"), "[embedder] model",
        "package 'no_such_model' is not installed", "pip install no-such-model", SPENDING,
    ),
    Bad("a model's folder that is not there", _model(model="./nowhere"), "[embedder] model", "no folder", "modules.json", SPENDING),
    Bad("a folder without a model", _empty_folder, "[embedder] model", "no safetensors", "safetensors", SPENDING),
    Bad("a folder with a torn model", _torn_folder, "[embedder] model", "can't be loaded", "whole", SPENDING),
    Bad("a hub model without revision", _model(model="some/model"), "[embedder] revision", "not pinned", "revision =", SPENDING),
    Bad("no model", _model(), "[embedder]", "'model' is missing", "add it"),
    Bad("a tokens splitter without a tokenizer", _search(splitter=["tokens"]), "[search] splitter", "needs a tokenizer", "unit", SPENDING),
    Bad(
        "an MLflow server that does not answer", lambda p: None, f"http://127.0.0.1:{NOBODY}", "does not answer", "--tracking-uri",
        ("sweep", "run"), ("--tracking-uri", f"http://127.0.0.1:{NOBODY}"),
    ),
    Bad(
        "a database of MLflow that does not answer", lambda p: None, "postgresql+psycopg://someone:***@", "does not answer", "--tracking-uri",
        ("sweep", "run"), ("--tracking-uri", f"postgresql+psycopg://someone:secret@127.0.0.1:{NOBODY}/mlflow"),
    ),
    Bad(
        "PostgreSQL that does not answer", lambda p: None, "--storage", "can't be used", "check the address",
        ("sweep",), ("--storage", f"postgresql+psycopg://someone:secret@127.0.0.1:{NOBODY}/studies"),
    ),
]  # fmt: skip


@pytest.mark.parametrize("bad", CASES, ids=lambda bad: bad.name)
def test_bad_input_is_told_once_with_place_and_remedy_and_nothing_is_written(bare: Project, bad: Bad) -> None:
    bad.spoil(bare)
    before = bare.tree()
    for verb in bad.verbs:
        in_json = bare.run(verb, "exp.toml", *bad.options, "--json")
        in_words = bare.run(verb, "exp.toml", *bad.options)

        for ran in (in_json, in_words):
            assert ran.code == 2
            assert "Traceback" not in ran.out + ran.err
            assert "secret" not in ran.out + ran.err
        (error,) = in_json.json["errors"]
        assert error.keys() == {"where", "what", "fix"}
        assert bad.where in error["where"], error
        assert bad.what in error["what"], error
        assert bad.fix in error["fix"] + error["what"], error
        assert in_words.err.count("error: ") == 1
        assert f"error: {error['where']}: {error['what']}" in in_words.err
        assert error["fix"] in in_words.err
        assert bare.tree() == before, verb
        assert not bare.state.exists(), verb


@pytest.mark.parametrize("verb", ["lock", "holdout", "report"])
def test_a_verb_whose_sweep_was_not_run_says_what_to_run_and_writes_nothing(bare: Project, verb: str) -> None:
    before = bare.tree()
    (error,) = bare.refused(verb, code=2)["errors"]
    assert "run `harness" in error["fix"]
    assert bare.tree() == before
    assert not bare.state.exists()


def test_check_reports_faults_of_the_labels_with_exit_1(bare: Project) -> None:
    _evidence(bare)
    ran = bare.run("check", "exp.toml", "--json")
    assert ran.code == 1
    (fault,) = ran.json["errors"]
    assert "The chainsaw is locked away and only Marta keeps the key." in fault["fix"]
    assert not bare.state.exists()


def test_all_faults_of_an_experiment_file_are_told_at_once_each_with_its_line(bare: Project) -> None:
    bare.configure(search={**GRID, "trails": 4, "unit": "wordz"}, embedder={"similarity": "cosin"}, tracking={"text": "nothing"})
    lines = bare.file.read_text().splitlines()

    errors = bare.refused("check", code=2)["errors"]

    assert len(errors) == 4
    for key in ("trails", "unit", "similarity", "text"):
        (line,) = (n for n, content in enumerate(lines, 1) if content.startswith(f"{key} ="))
        assert any(f"exp.toml line {line} " in e["where"] for e in errors), (key, errors)


def test_all_faults_of_the_labels_are_told_at_once(bare: Project) -> None:
    bare.write_questions(
        [
            ("A", "Where is the key?", "G3", "dev", "only Martha has the key"),
            ("B", "Which mill?", "K9", "dev", "the mill in Altdorf"),
            ("C", "Is there a pool?", "", "deff", ""),
            ("D", "Who washes up?", "K2", "dev", "Dishes are washed by whoever did not cook."),
            ("D", "who  washes UP?", "K2", "holdout", "Dishes are washed by whoever did not cook."),
        ]
    )
    told = [(e["where"].rpartition("/")[2], e["what"]) for e in bare.refused("sweep", code=2)["errors"]]
    assert told == [
        ("questions.csv line 2", "evidence 'only Martha has the key' is not in document 'garden'"),
        ("questions.csv line 3", "unknown section 'K9'"),
        ("questions.csv line 4", "unknown split 'deff'"),
        ("questions.csv line 5", "question id 'D' is used 2 times"),
        ("questions.csv line 6", "question id 'D' is used 2 times"),
        ("questions", "holdout question 'D' is also the dev question 'D'"),
    ]


def test_one_database_for_study_and_runs_is_refused_before_anything_is_written_to_it(project: Project) -> None:
    before = project.tree()
    errors = project.refused("sweep", "--storage", project.tracking_uri, code=2)["errors"]
    assert "MLflow needs a database of its own" in errors[0]["fix"]
    assert project.tree() == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["swep", "exp.toml"], "No such command 'swep'"),
        (["sweep"], "Missing argument 'EXPERIMENT'"),
        (["sweep", "exp.toml", "--trials", "0"], "0 is not in the range x>=1"),
        (["sweep", "exp.toml", "--trails", "3"], "No such option"),
        (["chunks", "exp.toml", "--splitter", "words", "--size", "9", "--overlap-ratio", "1"], "1.0 is not in the range 0<=x<1"),
        (["lock", "exp.toml", "--trial", "-1"], "-1 is not in the range"),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_points_to_the_help(bare: Project, arguments: list[str], told: str) -> None:
    in_words, in_json = bare.run(*arguments), bare.run(*arguments, "--json")
    assert (in_words.code, in_json.code) == (2, 2)
    assert told in in_words.err
    assert "--help`" in in_words.err
    assert in_words.out == ""
    (error,) = in_json.json["errors"]
    assert told in error["what"]
    assert not bare.state.exists()


def test_a_bug_keeps_its_traceback_while_bad_input_has_none_in_a_process_too(bare: Project) -> None:
    bare.sections.unlink()
    wrong = bare.process("sweep", "exp.toml")
    assert (wrong.code, wrong.out) == (2, "")
    assert "Traceback" not in wrong.err

    bug = bare.process(
        "check", "exp.toml", script=bare.driver("bug.py", "import harness.formats as f\nf.load_with_doubts = lambda s: 1 / 0")
    )
    assert bug.code == 1
    assert "ZeroDivisionError" in bug.err
