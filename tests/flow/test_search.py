"""Which points a sweep tries, and what it does with points that fail, repeat, or give the same chunks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flow_project import GRID, TPE, Project

from harness import splitters
from harness.splitters.base import Splitter

Setting = tuple[str, int, float]


def tried(project: Project, generation: int = 1) -> list[Setting]:
    points = [json.loads(p.read_text())["point"] for p in project.results(generation=generation)]
    return [(p["splitter"], p["chunk_size"], p["overlap_ratio"]) for p in points]


def logged(project: Project) -> list[Setting]:
    params = [r.data.params for r in project.runs("trial")]
    return [(p["splitter"], int(p["chunk_size"]), float(p["overlap_ratio"])) for p in params]


GRID_POINTS = [("words", 12, 0.0), ("words", 12, 0.25), ("words", 24, 0.0), ("words", 24, 0.25)]


def test_a_grid_tries_every_point_once_and_logs_the_same_points(project: Project) -> None:
    project.ok("sweep")
    assert tried(project) == logged(project) == GRID_POINTS


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_a_space_no_larger_than_the_budget_is_searched_whole_by_any_sampler(project: Project, sampler: str) -> None:
    project.configure(search={**GRID, "sampler": sampler, "trials": 50})
    assert project.ok("sweep")["trials"]["complete"] == 4
    assert sorted(tried(project)) == GRID_POINTS


def test_a_grid_above_the_budget_is_tried_in_part_without_repeats_and_completed_by_a_larger_budget(project: Project) -> None:
    project.configure(search={**GRID, "chunk_size": [8, 12, 16, 20, 24, 28], "trials": 5})
    assert project.ok("sweep")["trials"]["complete"] == 5
    first = tried(project)
    assert len(set(first)) == 5
    assert project.ok("sweep", "--trials", "40")["trials"]["complete"] == 12
    assert tried(project)[:5] == first
    assert len(set(tried(project))) == 12


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_the_same_seed_suggests_the_same_points_and_another_seed_others(tmp_path: Any, empty_mlflow: Any, sampler: str) -> None:
    found = []
    for name, seed in (("first", 3), ("again", 3), ("other", 4)):
        project = Project(tmp_path / name, empty_mlflow)
        project.configure(search={**TPE, "sampler": sampler, "seed": seed, "trials": 5})
        project.ok("sweep")
        found.append(tried(project))
    assert found[0] == found[1] != found[2]
    assert len(found[0]) == 5


def test_points_are_tried_first_and_need_not_lie_on_the_ranges_steps(project: Project) -> None:
    beside = {"splitter": "words", "chunk_size": 80, "overlap_ratio": 0.1875}
    project.configure(search={**TPE, "trials": 6, "points": [beside]})
    project.ok("sweep")
    assert tried(project)[0] == logged(project)[0] == ("words", 80, 0.1875)
    assert project.runs("trial")[0].data.params["overlap"] == "15"
    assert len(tried(project)) == 6


def test_the_sampler_points_tries_the_points_and_nothing_else(project: Project) -> None:
    points = [{"splitter": "words", "chunk_size": n, "overlap_ratio": r} for n, r in ((30, 0.0), (50, 0.2), (30, 0.0))]
    project.configure(search={"sampler": "points", "unit": "words", "points": points})
    assert project.ok("sweep")["trials"]["complete"] == 2
    assert tried(project) == [("words", 30, 0.0), ("words", 50, 0.2)]


def the_points(*sizes: int) -> dict[str, Any]:
    points = [{"splitter": "words", "chunk_size": n, "overlap_ratio": 0.1} for n in sizes]
    return {"sampler": "points", "unit": "words", "points": points}


def test_points_may_be_added_later_and_only_the_new_ones_are_measured(project: Project) -> None:
    project.configure(search=the_points(30, 50))
    project.ok("sweep")
    before = [p.read_bytes() for p in project.results()]
    project.configure(search=the_points(30, 50, 40))
    assert project.ok("sweep")["trials"]["complete"] == 3
    assert tried(project) == [("words", 30, 0.1), ("words", 50, 0.1), ("words", 40, 0.1)]
    assert [p.read_bytes() for p in project.results()][:2] == before


def test_a_lost_study_of_points_is_rebuilt_from_the_results_and_goes_on(project: Project) -> None:
    project.configure(search=the_points(30, 50))
    project.ok("sweep")
    project.results()[0].unlink()
    for database in project.state.rglob("studies.db"):
        database.unlink()
    project.configure(search=the_points(50, 30, 40))
    assert project.ok("sweep")["trials"]["complete"] == 3
    assert tried(project) == [("words", 50, 0.1), ("words", 30, 0.1), ("words", 40, 0.1)]


def test_a_grid_too_long_to_list_is_refused_and_any_other_sampler_takes_it(project: Project) -> None:
    huge = {"trials": 2, "chunk_size": {"low": 10, "high": 90}, "overlap_ratio": {"low": 0.0, "high": 0.4, "step": 1e-6}}
    project.configure(search={**GRID, **huge})
    (error,) = project.refused("sweep", code=2)["errors"]
    assert error["what"] == "the grid has 32,400,081 points; 100,000 at most can be listed"
    assert project.ok("estimate")["of"] == 32_400_081
    project.configure(search={**TPE, **huge})
    assert project.ok("sweep", "--fresh")["trials"]["complete"] == 2


def test_trials_is_the_number_in_all_so_that_a_larger_one_goes_on(project: Project) -> None:
    project.configure(search={**TPE, "trials": 3})
    assert project.ok("sweep")["trials"]["complete"] == 3
    assert project.ok("sweep", "--trials", "7")["trials"]["complete"] == 7
    assert project.ok("sweep", "--trials", "5")["trials"]["complete"] == 7
    assert len(project.runs("trial")) == 7
    assert len(project.runs("sweep")) == 1


def test_fresh_begins_a_new_study_and_keeps_the_old_one_and_the_claim(opened: Project) -> None:
    claims = {p.name: p.read_bytes() for p in (opened.state / "claims").iterdir()}
    before = {p.name: p.read_bytes() for p in opened.results()}

    assert opened.ok("sweep", "--fresh")["study"] == "small#2"

    assert {p.name: p.read_bytes() for p in opened.results()} == before
    assert len(opened.results(generation=2)) == 4
    assert {p.name: p.read_bytes() for p in (opened.state / "claims").iterdir()} == claims
    assert len(opened.runs("sweep")) == 2
    assert opened.refused("holdout")["already_opened"] is True


CHANGES = [
    ("search space", {"search": {**GRID, "chunk_size": [12, 30]}}),
    ("search space", {"search": {**GRID, "overlap_ratio": [0.0]}}),
    ("unit", {"search": {**GRID, "unit": "characters"}}),
    ("truncation", {"search": {**GRID, "truncation": "refuse"}}),
    ("embedder fingerprint", {"embedder": {"type": "term-frequency"}}),
    ("similarity", {"embedder": {"similarity": "dot"}}),
    ("k", {"scoring": {"k": [1, 3, 5]}}),
]


@pytest.mark.parametrize(("name", "changes"), CHANGES, ids=lambda x: x if isinstance(x, str) else "")
def test_another_study_under_the_same_name_is_refused_with_what_differs(
    swept: Project, name: str, changes: dict[str, Any]
) -> None:
    before = swept.tree()
    swept.configure(**changes)
    (error,) = swept.refused("sweep")["errors"]
    assert "is the name of another study" in error["what"]
    assert f"differs in {name}" in error["what"]
    assert "--fresh" in error["fix"]
    assert {**swept.tree(), "exp.toml": b""} == {**before, "exp.toml": b""}


@pytest.mark.parametrize(
    ("name", "row", "column", "text"),
    [
        ("corpus", "K3", "sections", "Flour is ordered on Tuesdays"),
        ("dev questions", "D07", "questions", "Where does our flour come from?"),
        ("evidence", "D07", "questions", "from the mill in Altdorf"),
    ],
)
def test_changed_data_make_another_study(swept: Project, name: str, row: str, column: str, text: str) -> None:
    replaced = {
        "corpus": "Flour is ordered on Mondays",
        "dev questions": "Where does the flour come from?",
        "evidence": "Flour is ordered on Mondays from the mill in Altdorf.",
    }[name]
    for file in (swept.sections, swept.questions) if name == "corpus" else (swept.questions,):
        file.write_bytes(file.read_bytes().replace(replaced.encode(), text.encode()))
    (error,) = swept.refused("sweep")["errors"]
    assert name in error["what"]


def test_name_of_things_that_do_not_change_results_may_change_between_calls(swept: Project) -> None:
    swept.configure(
        search={**GRID, "trials": 30, "prune": "none", "seed": 99, "trial_timeout": 60},
        selection={"key": ["mrr"], "rule": "within", "margin": 1},
        tracking={"text": "spans"},
    )
    assert swept.ok("sweep")["trials"]["complete"] == 4
    assert len(swept.runs("trial")) == 4


def test_points_with_the_same_chunks_embed_no_token_again_and_say_whose_score_they_have(project: Project) -> None:
    project.configure(search={**GRID, "chunk_size": [30, 500, 600], "overlap_ratio": [0.0, 0.1]})
    found = project.ok("sweep", "--trials", "6")

    first, *others = [r for r in project.runs("trial") if int(r.data.params["chunk_size"]) >= 500]
    assert len(others) == 3
    for run in others:
        assert run.data.tags["harness.reused_from"] == first.data.tags["harness.trial"]
        assert run.data.metrics["tokens_embedded"] == 0
        assert run.data.metrics["dev/mrr"] == first.data.metrics["dev/mrr"]
    assert found["trials"]["complete"] == 6
    assert found["tokens"]["embedded"] < found["tokens"]["full"]
    assert found["tokens"]["embedded"] == sum(r.data.metrics["tokens_embedded"] for r in project.runs("trial"))


class Breaks(Splitter):
    """The words splitter, but one size is more than it can bear."""

    name, version, atoms = "words", splitters.SPLITTERS["words"].version, "words"

    def __init__(self, *sizes: int) -> None:
        self.sizes, self.real = sizes, splitters.SPLITTERS["words"]

    def split(self, document: Any, size: int, overlap: int, ruler: Any) -> Any:
        if size in self.sizes:
            raise MemoryError(f"no room for {size}")
        return self.real.split(document, size, overlap, ruler)


def test_a_failing_trial_is_recorded_with_its_error_and_the_sweep_goes_on(project: Project, monkeypatch: Any) -> None:
    monkeypatch.setitem(splitters.SPLITTERS, "words", Breaks(12))

    ran = project.run("sweep", "exp.toml", "--json")

    assert ran.code == 0, ran.err
    assert ran.json["trials"] == {"complete": 2, "pruned": 0, "failed": 2}
    assert "trial 0 (words 12/0) failed: MemoryError: no room for 12" in ran.err
    assert "Traceback" not in ran.err
    failed = [r for r in project.runs("trial") if r.info.status == "FAILED"]
    assert len(failed) == 2
    assert all(r.data.tags["harness.error"].startswith("MemoryError: no room for 12") for r in failed)
    assert not any(name.startswith("dev/") for r in failed for name in r.data.metrics)
    assert ran.json["chosen"]["params"]["chunk_size"] == 24
    assert project.ok("lock")["selection"]["complete"] == 2


def test_when_every_trial_fails_the_causes_are_told_once_each_without_traceback(project: Project, monkeypatch: Any) -> None:
    monkeypatch.setitem(splitters.SPLITTERS, "words", Breaks(12, 24))

    ran = project.run("sweep", "exp.toml", "--json")

    assert ran.code == 2
    (error,) = ran.json["errors"]
    assert "no trial is complete" in error["what"]
    assert error["what"].count("no room for 12") == error["what"].count("no room for 24") == 1
    assert "Traceback" not in ran.out + ran.err
    assert [r.info.status for r in project.runs("sweep")] == ["FAILED"]
    assert {r.info.status for r in project.runs("trial")} == {"FAILED"}


def test_a_trial_that_passes_its_time_limit_fails_and_says_so(project: Project) -> None:
    project.configure(search={**GRID, "trial_timeout": 1e-9})
    (error,) = project.refused("sweep", code=2)["errors"]
    assert "time limit" in error["what"]


def test_a_target_that_no_trial_reaches_leaves_no_run_open_and_keeps_the_results(project: Project) -> None:
    project.configure(selection={"key": ["hit_at_1"], "rule": "target", "target": 1.01})
    (error,) = project.refused("sweep", code=2)["errors"]
    assert error["where"] == "[selection] target"
    assert len(project.results()) == 4
    assert {r.info.status for r in project.runs()} <= {"FINISHED", "FAILED"}
    project.configure(selection={"target": 0.1})
    assert project.ok("sweep")["trials"]["complete"] == 4


def test_infeasible_points_fail_and_feasible_ones_are_scored(project: Project) -> None:
    project.configure(search={**GRID, "chunk_size": [1, 24], "overlap_ratio": [0.0, 0.9], "trials": 9})
    found = project.ok("sweep")
    assert found["trials"] == {"complete": 3, "pruned": 0, "failed": 1}
    (failed,) = [r for r in project.runs("trial") if r.info.status == "FAILED"]
    assert "not below chunk size" in failed.data.tags["harness.error"]
