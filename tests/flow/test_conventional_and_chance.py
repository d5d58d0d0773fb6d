"""What a search is held against, through a whole sweep: the conventional setting says its size, chance is on every setting."""

from __future__ import annotations

import json

import pytest
from flow_project import GRID, Project

from harness.splitters import BASELINES

ALL = {key: value for key, value in GRID.items() if key != "baselines"}


def baselines(swept):
    return {b["params"]["splitter"]: b["metrics"] for b in swept["baselines"]}


def test_the_run_of_a_sweep_says_what_the_conventional_setting_is(project: Project):
    project.configure(search=ALL)
    project.ok("sweep")
    (options,) = {r.data.tags["splitter.conventional.options"] for r in project.runs("sweep")}
    assert json.loads(options) == {"size": 375, "overlap": 75}, "500 tokens in words"


def test_what_chance_gets_is_kept_of_every_setting_and_is_in_no_run(project: Project):
    project.configure(search={**GRID, "baselines": list(BASELINES)})
    project.ok("sweep")
    results = [json.loads(p.read_bytes()) for p in project.results()]
    found = {str(r["point"]["splitter"]): r["evaluation"]["metrics"] for r in results}
    assert found["whole-document"]["random_hit_at_1"] == pytest.approx(1 / 3), "one of three documents has the answer"
    assert found["whole-section"]["random_hit_at_1"] == pytest.approx(1 / 9)
    assert found["whole-section"]["random_hit_at_3"] == pytest.approx(1 / 3)
    for result in results:
        m = result["evaluation"]["metrics"]
        assert 0 < m["random_hit_at_1"] < m["random_hit_at_3"] <= m["ceiling"]
    assert not [name for run in project.runs() for name in run.data.metrics if "random" in name]


def test_where_documents_have_no_sections_a_baseline_that_cuts_alike_is_not_measured_again(project: Project):
    names = ("attic", "cellar", "yard")
    (project.root / "notes").mkdir()
    for name in names:
        text = f"The {name} is swept on Fridays by two people. " * 3 + f"The {name} key hangs by the stairs."
        (project.root / "notes" / f"{name}.txt").write_text(text, "utf-8")
    rows = [{"question": f"Where is the {n} key?", "evidence": f"The {n} key hangs", "document": f"{n}.txt"} for n in names]
    (project.root / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    data = {"format": "jsonl", "corpus": "notes", "questions": "questions.jsonl", "split": {"holdout": 0}}
    project.configure(data=data, search={**GRID, "baselines": list(BASELINES)})
    found = baselines(project.ok("sweep"))
    assert {name: m["chunks"] for name, m in found.items()} == dict.fromkeys(found, 3)
    assert [name for name, m in found.items() if m["tokens_embedded"]] == ["whole-document"]
