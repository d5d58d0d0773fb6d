"""Sweeps that are killed, interrupted, robbed of a database or started twice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing
from typing import Any

import pytest
from filelock import FileLock
from flow_project import GRID, TPE, Project, finished, wait_until

MANY: dict[str, Any] = {**GRID, "chunk_size": list(range(8, 22, 2)), "overlap_ratio": [0.0, 0.1], "trials": 14}


def contents(project: Project) -> dict[str, tuple[bytes, int]]:
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in project.results()}


def points(project: Project) -> list[Any]:
    return [json.loads(p.read_text())["point"] for p in project.results()]


def trials_logged(project: Project) -> list[int]:
    """Trial numbers of the finished runs."""
    return sorted(int(r.data.tags["harness.trial"]) for r in project.runs("trial") if r.info.status in ("FINISHED", "FAILED"))


def states_in_study(project: Project) -> Counter[str]:
    with closing(sqlite3.connect(project.state / "studies.db")) as database:
        return Counter(state for (state,) in database.execute("select state from trials"))


@pytest.mark.parametrize("search", [MANY, {**TPE, "trials": 8}], ids=["grid", "tpe"])
def test_a_killed_sweep_goes_on_where_it_was_with_its_results_untouched(project: Project, search: dict[str, Any]) -> None:
    project.configure(search=search)
    process = project.start("sweep", "exp.toml")
    wait_until(lambda: len(project.results()) >= 4)
    process.kill()
    finished(process)
    kept = contents(project)
    assert 4 <= len(kept) < search["trials"], "killed in the middle"

    found = project.ok("sweep")

    assert found["trials"] == {"complete": search["trials"], "pruned": 0, "failed": 0}
    assert contents(project).items() >= kept.items()
    assert trials_logged(project) == sorted(int(p.stem) for p in project.results())
    assert not [r for r in project.runs() if r.info.status == "RUNNING"]
    assert len(project.runs("sweep")) == 1
    assert states_in_study(project)["RUNNING"] == states_in_study(project)["WAITING"] == 0
    if search is MANY:
        assert len({json.dumps(p, sort_keys=True) for p in points(project)}) == 14, "what the kill dropped was tried again"


MOMENTS = {
    "after it was asked for": "import harness.trials as t; where, name = t.Trials, 'measure'; before = True",
    "after its result is written": "import harness.state as s; where, name = s.StudyFiles, 'write_result'; before = False",
    "while its run is open": "import harness.tracking as s; where, name = s.Tracker, '_datasets'; before = True",
    "after it is logged": "import harness.tracking as s; where, name = s.Tracker, 'log_trial'; before = False",
}
DIE_AT_CALL = """
{moment}
real, calls = getattr(where, name), []
def dying(*args, **kwargs):
    calls.append(1)
    if before and len(calls) == 2: os.kill(os.getpid(), signal.SIGKILL)
    found = real(*args, **kwargs)
    if len(calls) == 2: os.kill(os.getpid(), signal.SIGKILL)
    return found
setattr(where, name, dying)
"""


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_trial_that_is_killed_at_any_moment_is_counted_once_in_the_end(project: Project, moment: str) -> None:
    script = project.driver("dies.py", DIE_AT_CALL.format(moment=MOMENTS[moment]))
    assert project.process("sweep", "exp.toml", script=script).code == -signal.SIGKILL

    assert project.ok("sweep")["trials"] == {"complete": 4, "pruned": 0, "failed": 0}

    assert sorted((p["chunk_size"], p["overlap_ratio"]) for p in points(project)) == [
        (12, 0.0),
        (12, 0.25),
        (24, 0.0),
        (24, 0.25),
    ]
    assert trials_logged(project) == sorted(int(p.stem) for p in project.results())
    assert not [r for r in project.runs() if r.info.status == "RUNNING"]
    assert project.ok("lock")["selection"]["complete"] == 4


INTERRUPT_BETWEEN_TRIALS = """
import harness.suggest as s
real, calls = s.Suggestions._ask, []
def interrupted(self):
    calls.append(1)
    if len(calls) == 4: os.kill(os.getpid(), signal.SIGINT)
    return real(self)
s.Suggestions._ask = interrupted
"""


def test_an_interrupted_and_resumed_tpe_sweep_tries_what_an_uninterrupted_one_would_have(
    project: Project, tmp_path: Any, empty_mlflow: Any
) -> None:
    whole = Project(tmp_path / "whole", empty_mlflow)
    for one in (project, whole):
        one.configure(search=TPE)
    ran = project.process("sweep", "exp.toml", "--json", script=project.driver("stops.py", INTERRUPT_BETWEEN_TRIALS))
    assert ran.code == 130, ran.err
    assert "run the same command again" in ran.json["errors"][0]["fix"]
    assert "Traceback" not in ran.err
    assert len(project.results()) == 3
    assert [r.info.status for r in project.runs("sweep")] == ["KILLED"]

    resumed, uninterrupted = project.ok("sweep"), whole.ok("sweep")

    assert points(project) == points(whole)
    assert resumed["chosen"]["params"] == uninterrupted["chosen"]["params"]
    assert [r.info.status for r in project.runs("sweep")] == ["FINISHED"]


def test_sigterm_ends_a_sweep_like_ctrl_c_with_130_and_everything_kept(project: Project) -> None:
    project.configure(search=MANY)
    process = project.start("sweep", "exp.toml", "--json")
    wait_until(lambda: len(project.results()) >= 2)
    process.send_signal(signal.SIGTERM)
    ran = finished(process)
    assert ran.code == 130, ran.err
    assert "interrupted; what was computed is kept" in ran.json["errors"][0]["what"]
    assert project.ok("sweep")["trials"]["complete"] == 14


@pytest.mark.parametrize("search", [GRID, {**TPE, "trials": 6}], ids=["grid", "tpe"])
def test_a_lost_study_is_rebuilt_from_the_result_files(project: Project, search: dict[str, Any]) -> None:
    project.configure(search=search)
    project.ok("sweep")
    kept = contents(project)
    (project.state / "studies.db").unlink()

    assert project.ok("sweep")["trials"]["complete"] == len(kept)

    assert contents(project) == kept
    assert states_in_study(project) == {"COMPLETE": len(kept)}
    assert len(project.runs("trial")) == len(kept)


def test_a_tpe_sweep_with_a_lost_study_goes_on_as_if_it_had_not_been_lost(
    project: Project, tmp_path: Any, empty_mlflow: Any
) -> None:
    whole = Project(tmp_path / "whole", empty_mlflow)
    for one in (project, whole):
        one.configure(search={**TPE, "trials": 12})
    project.ok("sweep", "--trials", "11")
    (project.state / "studies.db").unlink()
    project.ok("sweep")
    whole.ok("sweep")
    assert points(project) == points(whole)


def test_a_lost_mlflow_store_is_filled_again_from_the_result_files(swept: Project) -> None:
    kept = contents(swept)
    (swept.root / "mlflow.db").unlink()

    ran = swept.process("sweep", "exp.toml", "--json")

    assert ran.code == 0, ran.err
    assert "4 results logged" in ran.err
    assert contents(swept) == kept
    with closing(sqlite3.connect(swept.root / "mlflow.db")) as database:
        (trials,) = database.execute("select count(*) from tags where key = 'harness.trial'").fetchone()
        (running,) = database.execute("select count(*) from runs where status = 'RUNNING'").fetchone()
    assert (trials, running) == (4, 0)


def test_a_deleted_trial_run_is_logged_again_and_no_other(swept: Project) -> None:
    gone, *others = swept.runs("trial")
    swept.client().delete_run(gone.info.run_id)
    swept.ok("sweep")
    assert trials_logged(swept) == [0, 1, 2, 3]
    assert {r.info.run_id for r in others} < {r.info.run_id for r in swept.runs("trial")}


def test_a_torn_result_file_is_named_with_the_way_out(swept: Project) -> None:
    torn = swept.results()[1]
    whole = torn.read_bytes()
    torn.write_bytes(whole[: len(whole) // 2])
    (error,) = swept.refused("sweep", code=2)["errors"]
    assert str(torn) in error["where"]
    assert "delete it" in error["fix"]
    torn.unlink()
    assert swept.ok("sweep")["trials"]["complete"] == 4
    assert len(swept.results()) == 4


@pytest.mark.parametrize("verb", ["sweep", "lock"])
def test_a_torn_study_file_is_named_with_the_way_out(swept: Project, verb: str) -> None:
    torn = swept.state / "small" / "studies" / "1" / "study.json"
    torn.write_text("{")
    (error,) = swept.refused(verb, code=2)["errors"]
    assert str(torn) in error["where"]
    assert "restore it" in error["fix"]


def test_a_second_sweep_at_the_same_time_is_refused_while_the_first_goes_on(project: Project) -> None:
    project.configure(search=MANY)
    first = project.start("sweep", "exp.toml", "--json")
    wait_until(lambda: len(project.results()) >= 1)
    second = project.refused("sweep")
    assert "is running already" in second["errors"][0]["what"]
    first.send_signal(signal.SIGINT)
    assert finished(first).code == 130, "it was still running"


def test_the_mark_of_a_running_sweep_does_not_outlive_its_process(project: Project) -> None:
    project.state.mkdir()
    with FileLock(project.state / "sweep-small.lock"):
        project.refused("sweep")
    project.ok("sweep")


def test_a_full_disk_is_told_and_leaves_no_half_result(project: Project, monkeypatch: Any) -> None:
    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", no_space)
        (error,) = project.refused("sweep", code=2)["errors"]
    assert "No space left on device" in error["what"]
    assert not list(project.state.rglob("*.tmp"))
    assert project.ok("sweep")["trials"]["complete"] == 4


def test_results_without_the_study_that_says_of_what_are_not_taken_for_other_data(swept: Project) -> None:
    (swept.state / "small" / "studies" / "1" / "study.json").unlink()
    swept.sections.write_bytes(swept.sections.read_bytes().replace(b"twelve hours", b"eleven hours"))
    (error,) = swept.refused("sweep", code=2)["errors"]
    assert "holds results, but the study.json" in error["what"]


@pytest.mark.slow
def test_a_first_sweep_that_is_killed_while_mlflow_makes_its_tables_can_go_on(bare: Project) -> None:
    for seconds in (1.0, 1.5, 2.0, 2.5):
        process = bare.start("sweep", "exp.toml")
        time.sleep(seconds)
        process.kill()
        process.wait()
    assert bare.ok("sweep")["trials"]["complete"] == 4


@pytest.mark.slow
def test_two_experiments_may_begin_at_once_in_a_new_project(bare: Project) -> None:
    other = bare.root / "other.toml"
    other.write_text(bare.file.read_text("utf-8").replace('"small"', '"other"'), "utf-8")
    racers = [bare.start("sweep", name, "--json") for name in ("exp.toml", "other.toml")]
    assert [racer.wait() for racer in racers] == [0, 0]
