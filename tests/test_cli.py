"""The command line: what it imports, what its help says, and the verbs that look at a corpus without searching."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.__main__ import _run
from harness.cli import cli

SECTIONS = """document_id,section_id,heading,text
garden,G1,Watering,Tomatoes are watered every morning before eight.
garden,G2,Tools,The chainsaw is locked away and only Marta keeps the key.
kitchen,K1,Bread,Rye loaves bake for fifty minutes.
"""
QUESTIONS = """question_id,question,expected_section,split,evidence_span
D1,When do tomatoes get water?,G1,dev,Tomatoes are watered every morning before eight.
D2,Is there a pool?,,dev,
"""
EXPERIMENT = """
[experiment]
name = "tiny"
[data]
corpus = "sections.csv"
questions = "questions.csv"
[embedder]
type = "term-frequency"
similarity = "jaccard"
[search]
sampler = "points"
unit = "words"
points = [{ splitter = "words", chunk_size = 6 }, { splitter = "words", chunk_size = 9, overlap_ratio = 0.34 }]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "sections.csv").write_text(SECTIONS, "utf-8")
    (tmp_path / "questions.csv").write_text(QUESTIONS, "utf-8")
    (tmp_path / "tiny.toml").write_text(EXPERIMENT, "utf-8")
    return tmp_path


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(folder):
        code = _run(list(arguments), "--json" in arguments)
    return code, out.getvalue(), err.getvalue()


def found(folder: Path, *arguments: str) -> Any:
    code, out, err = run(folder, *arguments, "--json")
    assert code == 0, out + err
    assert err == ""
    return json.loads(out)


def process(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


def test_help_imports_neither_mlflow_nor_torch_nor_optuna() -> None:
    code = "import sys; from harness.__main__ import _run; _run(['--help'], False); print(sorted(sys.modules), file=sys.stderr)"
    ran = process("-c", code)
    assert "check, estimate, sweep, lock, holdout, audit, report" in ran.stdout
    for heavy in ("mlflow", "torch", "optuna", "pandas", "sklearn", "numpy"):
        assert f"'{heavy}'" not in ran.stderr


@pytest.mark.parametrize("verb", sorted(cli.commands))
def test_every_verb_has_a_help_that_says_what_it_does_and_offers_json(tmp_path: Path, verb: str) -> None:
    code, out, err = run(tmp_path, verb, "--help")
    assert (code, err) == (0, "")
    assert f"Usage: harness {verb}" in out
    assert "--json" in out
    assert cli.commands[verb].help


def test_the_contracts_verbs_are_there() -> None:
    assert {"check", "estimate", "chunks", "inspect", "sweep", "lock", "holdout", "audit", "report", "run"} <= cli.commands.keys()


def test_without_a_verb_the_help_is_shown() -> None:
    ran = process("-m", "harness")
    assert ran.returncode == 2
    assert "Usage: harness" in ran.stdout


def test_the_version_is_that_of_the_distribution() -> None:
    from importlib.metadata import version

    assert version("chunking-harness") in process("-m", "harness", "--version").stdout


def test_chunks_of_an_experiments_corpus_have_offsets_sizes_and_sections(folder: Path) -> None:
    cut = found(folder, "chunks", "tiny.toml", "--splitter", "words", "--size", "6", "--overlap-ratio", "0.34")
    assert cut["chunks"][0] == {"document_id": "garden", "start": 0, "end": 44, "size": 6, "section_ids": ["G1"]}
    assert [c["size"] for c in cut["chunks"]] == [6, 6, 6, 6, 4, 6, 3]
    assert cut["chunks"][1]["section_ids"] == ["G1", "G2"]
    assert cut["index_ratio"] == sum(c["size"] for c in cut["chunks"]) / 27


def test_chunks_and_ranking_of_a_bare_corpus_need_no_experiment(folder: Path) -> None:
    (folder / "notes.md").write_text("# Notes\n\nThe key hangs by the door. Nobody waters cacti.\n", "utf-8")
    for corpus in ("sections.csv", "notes.md"):
        setting = ("--corpus", corpus, "--splitter", "words", "--size", "5")
        assert found(folder, "chunks", *setting)["index_ratio"] == 1
        first, *_ = found(folder, "inspect", *setting, "--question", "who has the key?")["ranking"]
        assert "key" in first["text"]
        assert first["rank"] == 1
        assert first.keys() >= {"rank", "score", "document_id", "start", "end", "text"}


def test_inspect_ranks_by_the_experiments_embedder_unless_another_is_named(folder: Path) -> None:
    setting = ("inspect", "tiny.toml", "--splitter", "words", "--size", "9", "--question", "the key, the key")
    jaccard = found(folder, *setting)["ranking"]
    assert (jaccard[0]["text"], jaccard[0]["score"]) == ("the key.", 1.0), "its words are the question's"
    assert found(folder, *setting, "--similarity", "dot")["ranking"][0]["score"] == 4.0
    assert found(folder, *setting, "--most", "1")["ranking"] == jaccard[:1]
    assert found(folder, *setting[:-1], "zebra")["ranking"] == []
    assert "nothing was retrieved" in run(folder, *setting[:-1], "zebra")[1]


@pytest.mark.parametrize(
    ("arguments", "what", "fix"),
    [
        (["--splitter", "wrods", "--size", "5"], "unknown splitter 'wrods'", "did you mean 'words'"),
        (["--splitter", "words", "--size", "5", "--unit", "wordz"], "unknown unit 'wordz'", "did you mean 'words'"),
        (["--splitter", "words", "--size", "5", "--embedder", "tfdif"], "unknown embedder 'tfdif'", "did you mean 'tfidf'"),
        (["--splitter", "words", "--size", "5", "--similarity", "cosin"], "unknown similarity 'cosin'", "did you mean 'cosine'"),
        (["--splitter", "words", "--size", "1", "--overlap-ratio", "0.9"], "overlap 1 is not below chunk size 1", "lower"),
        (["--splitter", "words", "--size", "5", "--embedder", "sentence-transformers"], "field required", "README"),
    ],
)
def test_unknown_names_and_infeasible_settings_are_told_with_the_way_out(
    folder: Path, arguments: list[str], what: str, fix: str
) -> None:
    code, out, _ = run(folder, "inspect", "--corpus", "sections.csv", *arguments, "--question", "who?", "--json")
    assert code == 2
    (error,) = json.loads(out)["errors"]
    assert what in error["what"]
    assert fix in error["fix"]


@pytest.mark.parametrize("given", [[], ["tiny.toml", "--corpus", "sections.csv"]], ids=["neither", "both"])
def test_chunks_needs_an_experiment_or_a_corpus_and_not_both(folder: Path, given: list[str]) -> None:
    code, _, err = run(folder, "chunks", *given, "--splitter", "words", "--size", "5")
    assert code == 2
    assert "an experiment or --corpus is needed, one of the two" in err


def test_estimate_gives_each_point_its_ceiling_before_anything_is_embedded(folder: Path) -> None:
    estimated = found(folder, "estimate", "tiny.toml", "--price-per-million", "2")
    small, large = estimated["points"]
    assert (small["chunk_size"], small["ceiling"], small["index_ratio"]) == (6, 0.0, 1.0)
    assert large["ceiling"] == 1.0
    assert estimated["tokens_per_pass"] == 27
    assert estimated["price"] == estimated["tokens"] * 2 / 1e6
    assert not (folder / ".harness").exists()


def test_looking_writes_nothing(folder: Path) -> None:
    before = sorted(p.name for p in folder.iterdir())
    setting = ("--splitter", "words", "--size", "5")
    for arguments in (
        ["check", "tiny.toml"],
        ["estimate", "tiny.toml"],
        ["chunks", "tiny.toml", *setting],
        ["audit", "tiny.toml"],
    ):
        assert run(folder, *arguments)[0] == 0
    assert sorted(p.name for p in folder.iterdir()) == before


def test_brackets_in_a_corpus_are_text_and_not_markup(folder: Path) -> None:
    (folder / "notes.txt").write_text("A [bold]word[/bold] and [/x] stay as they are.", "utf-8")
    setting = ("--corpus", "notes.txt", "--splitter", "words", "--size", "50")
    for verb in (["chunks", *setting], ["inspect", *setting, "--question", "word"]):
        code, out, err = run(folder, *verb)
        assert (code, err) == (0, "")
        assert "[bold]word[/bold] and [/x]" in out


def test_json_keeps_letters_of_every_language(folder: Path) -> None:
    (folder / "notes.txt").write_text("Der Schlüssel hängt 鍵 im Flur.", "utf-8")
    _, out, _ = run(
        folder, "inspect", "--corpus", "notes.txt", "--splitter", "words", "--size", "9", "--question", "鍵 Flur", "--json"
    )
    assert "Der Schlüssel hängt 鍵 im Flur." in out


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    (folder / "long.txt").write_text("word " * 20_000, "utf-8")
    command = [sys.executable, "-m", "harness", "chunks", "--corpus", "long.txt", "--splitter", "words", "--size", "2"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as writer:
        assert writer.stdout and writer.stderr
        writer.stdout.readline()
        writer.stdout.close()
        err = writer.stderr.read()
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def test_output_is_readable_where_the_terminal_knows_no_unicode(folder: Path) -> None:
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    (folder / "notes.txt").write_text("Der Schlüssel hängt im Flur. " * 9, "utf-8")
    command = [sys.executable, "-m", "harness", "chunks", "--corpus", "notes.txt", "--splitter", "words", "--size", "20"]
    for arguments in ([], ["--json"]):
        ran = subprocess.run([*command, *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60)
        assert (ran.returncode, ran.stderr) == (0, "")
    assert len(json.loads(ran.stdout)["chunks"]) == 3
