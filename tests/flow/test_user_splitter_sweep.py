"""A sweep over a function of the user's own: found beside the experiment file, part of the study, tried once a size."""

from __future__ import annotations

from flow_project import GRID, Project

LINES = """
import re

def cut(text, size, overlap, count):
    words = [m.span() for m in re.finditer(r"\\S+", text)]
    for first in range(0, len(words), size):
        yield words[first][0], words[min(first + size, len(words)) - 1][1]

cut.ignores = ["overlap_ratio"]
"""
NAME = "python:own_splitter_of_this_test:cut"


def prepared(project: Project) -> None:
    (project.root / "own_splitter_of_this_test.py").write_text(LINES, "utf-8")
    project.configure(search={**GRID, "splitter": [NAME, "words"], "trials": 40})


def test_it_is_swept_once_a_size_and_locked_by_its_source(project: Project) -> None:
    prepared(project)
    swept = project.ok("sweep")
    assert swept["trials"]["complete"] == 2 + 4, "overlap changes nothing for it, so two sizes are two points"
    own = [r for r in project.runs("trial") if r.data.params["splitter"] == NAME]
    assert sorted(int(r.data.params["chunk_size"]) for r in own) == [12, 24]
    assert {r.data.params["overlap"] for r in own} == {"0"}
    project.ok("lock", "--trial", own[0].data.tags["harness.trial"], "--because", "ours")
    project.ok("holdout")
    assert project.ok("audit")["findings"] == []


def test_an_edited_source_is_another_study(project: Project) -> None:
    prepared(project)
    done = project.process("sweep", "exp.toml", "--json")
    assert done.code == 0, done.err
    (project.root / "own_splitter_of_this_test.py").write_text(LINES + "\n# edited\n", "utf-8")
    refused = project.process("sweep", "exp.toml", "--json")
    assert refused.code == 3
    assert "splitter versions" in refused.json["errors"][0]["what"]


def test_a_function_that_breaks_its_contract_fails_its_trials_and_no_other(project: Project) -> None:
    prepared(project)
    own = project.root / "own_splitter_of_this_test.py"
    own.write_text("def cut(text, size, overlap, count):\n    yield 0, 1\n", "utf-8")
    swept = project.process("sweep", "exp.toml", "--json")
    assert swept.code == 0, swept.err
    assert swept.json["trials"] == {"complete": 4, "pruned": 0, "failed": 4}


def test_a_function_that_is_not_there_is_a_fault_of_the_file(bare: Project) -> None:
    bare.configure(search={**GRID, "splitter": ["python:nowhere_to_be_found:cut"]})
    (error,) = bare.refused("check", code=2)["errors"]
    assert "[search] splitter" in error["where"]
    assert "can't be imported" in error["what"]


def test_a_function_that_is_no_longer_in_the_file_is_missed_in_words(project: Project) -> None:
    prepared(project)
    project.ok("sweep")
    own = next(r for r in project.runs("trial") if r.data.params["splitter"] == NAME)
    project.ok("lock", "--trial", own.data.tags["harness.trial"], "--because", "ours")
    project.configure(search=GRID)
    assert "is no longer in the file" in project.refused("holdout", code=2)["errors"][0]["what"]
    (finding,) = project.refused("audit", code=1)["findings"]
    assert "is no longer in the file" in finding["what"]


def test_chunks_and_inspect_show_a_function_and_what_is_prepended(bare: Project) -> None:
    prepared(bare)
    setting = ("exp.toml", "--splitter", NAME, "--size", "12")
    plain = bare.run("chunks", *setting, "--json").json
    assert plain["chunks"][0]["size"] == 12
    assert bare.run("chunks", *setting, "--prepend", "heading", "--json").json["index_ratio"] > plain["index_ratio"]
    assert bare.run("inspect", *setting, "--question", "gate", "--json").code == 0
    assert "unknown part 'colour'" in bare.run("chunks", *setting, "--prepend", "colour").err


def test_under_tpe_no_point_of_it_is_tried_twice(project: Project) -> None:
    prepared(project)
    project.configure(
        search={
            "sampler": "tpe",
            "trials": 9,
            "seed": 5,
            "unit": "words",
            "splitter": [NAME],
            "chunk_size": {"low": 8, "high": 30},
            "overlap_ratio": {"low": 0.0, "high": 0.5},
        }
    )
    swept = project.ok("sweep")
    assert swept["trials"]["complete"] == 9
    sizes = [r.data.params["chunk_size"] for r in project.runs("trial")]
    assert len(set(sizes)) == 9, "overlap changes nothing, so a size more is a point more"
    assert project.ok("sweep")["trials"] == swept["trials"]
