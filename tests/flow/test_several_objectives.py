"""Several objectives from the sweep to the lock: the front, the study beside the others, and how a point of it is taken."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import optuna
import pytest
from flow_project import GRID, TPE, Project, finished, wait_until

TWO = {"objective": ["hit_at_1", "index_ratio"]}
SEARCH = {**GRID, "chunk_size": [8, 12, 24, 40], "overlap_ratio": [0.0, 0.25], "trials": 8}
BY_TWO = "small#1 by hit_at_1, index_ratio"


def results(project: Project) -> dict[int, dict[str, Any]]:
    return {r["trial"]: r for p in project.results() if (r := json.loads(p.read_text()))}


def contents(project: Project) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in project.results()}


def study(project: Project, name: str) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.load_study(study_name=name, storage=f"sqlite:///{project.state / 'studies.db'}")


def learned(project: Project, name: str) -> Counter[tuple[str, int, float]]:
    """The points of which a study has values, and of how many trials each."""
    return Counter(
        (t.params["splitter"], t.params["chunk_size"], round(t.params["overlap_ratio"], 10))
        for t in study(project, name).trials
        if t.state.name == "COMPLETE"
    )


def points(project: Project) -> Counter[tuple[str, int, float]]:
    found = [r["point"] for r in results(project).values()]
    return Counter((p["splitter"], p["chunk_size"], p["overlap_ratio"]) for p in found)


@pytest.fixture
def two(project: Project) -> Project:
    """A project whose sweep had two objectives."""
    project.configure(search=SEARCH, selection=TWO)
    project.ok("sweep")
    return project


def names(project: Project) -> list[str]:
    return [p["name"] for p in project.ok("sweep")["front"]]


def test_a_sweep_tells_the_front_best_in_the_first_objective_first(two: Project) -> None:
    found = two.ok("sweep")["front"]
    metrics = {n: r["evaluation"]["metrics"] for n, r in results(two).items()}

    def beaten(n: int) -> bool:
        hits, ratio = metrics[n]["hit_at_1"], metrics[n]["index_ratio"]
        pairs = [(m["hit_at_1"], m["index_ratio"]) for m in metrics.values()]
        return any(h >= hits and r <= ratio and (h, r) != (hits, ratio) for h, r in pairs)

    assert {p["trial"] for p in found} == {n for n in metrics if not beaten(n)}
    assert len(found) > 1
    rates = [p["values"]["hit_at_1"] for p in found]
    assert rates == sorted(rates, reverse=True)
    assert "best hit_at_1" in found[0]["labels"]
    printed = two.run("sweep", "exp.toml").out
    assert f"on the front of hit_at_1, index_ratio: {len(found)} settings" in printed
    assert f"  {found[0]['name']} (trial {found[0]['trial']}): hit_at_1 " in printed
    (parent,) = two.runs("sweep")
    assert f"{found[0]['name']} (trial {found[0]['trial']})" in parent.data.tags["mlflow.note.content"]


def test_with_one_objective_there_is_no_front(swept: Project) -> None:
    ran = swept.run("sweep", "exp.toml")
    assert swept.ok("sweep")["front"] == []
    assert "front" not in ran.out


def test_objectives_are_faults_of_the_file_all_at_once_when_they_name_nothing_or_the_same(project: Project) -> None:
    project.configure(selection={"key": ["hit_at_2"], "objective": ["hit_at1", "-mrr", "chunks", "-chunks", "index_rato"]})
    errors = project.refused("check", code=2)["errors"]
    assert {e["where"].rpartition("[selection] ")[2] for e in errors} == {"key", "objective"}
    told = {e["what"]: e["fix"] for e in errors}
    assert "did you mean 'hit_at_1'?" in told["unknown metric 'hit_at1'"]
    assert "did you mean 'index_ratio'?" in told["unknown metric 'index_rato'"]
    assert "unknown metric 'hit_at_2'" in told
    assert told["'-mrr' would look for the worst mrr"] == "write 'mrr': more of it is better"
    assert "'chunks' is named twice, with and without '-'" in told


@pytest.mark.parametrize("objective", [["hit_at_1"], ["hit_at_1", "hit_at_1"]])
def test_a_single_objective_is_refused(project: Project, objective: list[str]) -> None:
    project.configure(selection={"objective": objective})
    (error,) = project.refused("check", code=2)["errors"]
    assert "objective names at least two different metrics" in error["what"]


def test_an_objective_that_no_question_has_is_a_fault_before_anything_is_measured(project: Project) -> None:
    project.configure(selection={"objective": ["document_hit_at_1", "chunks"]})
    (error,) = project.refused("sweep", code=2)["errors"]
    assert (error["where"], error["what"]) == (
        "[selection] objective",
        "no dev question has what 'document_hit_at_1' measures",
    )
    assert not project.results()


def test_a_minus_before_a_cost_means_the_same(two: Project) -> None:
    before = names(two)
    two.configure(selection={"objective": ["hit_at_1", "-index_ratio"]})
    assert names(two) == before
    assert [s.study_name for s in studies(two)] == [BY_TWO], "and has the same study"


def studies(project: Project) -> list[Any]:
    return optuna.get_all_study_summaries(f"sqlite:///{project.state / 'studies.db'}")


def test_a_lock_without_a_point_is_refused_with_the_front_listed(two: Project) -> None:
    front = two.ok("sweep")["front"]
    (error,) = two.refused("lock", code=2)["errors"]
    assert error["where"] == "--point"
    assert "several objectives (hit_at_1, index_ratio) have no single best trial" in error["what"]
    assert all(f"{p['name']} (trial {p['trial']})" in error["what"] for p in front)
    assert f'--point "{front[0]["name"]}"' in error["fix"]
    assert not list(two.state.rglob("locks/*.json"))


def test_a_point_is_locked_by_its_setting_or_a_label_and_the_lock_says_how(two: Project) -> None:
    front = two.ok("sweep")["front"]
    for name, point in ((front[-1]["name"], front[-1]), ("best hit_at_1", front[0])):
        made = two.ok("lock", "--point", name)
        assert (made["trial"], made["because"]) == (point["trial"], None)
        assert made["selection"]["objective"] == ["hit_at_1", "index_ratio"]
        assert made["selection"]["front"] == [p["trial"] for p in front]
        assert made["selection"]["front_ties"] == point["ties"]
        assert made["selection"]["named"] == {"point": name}
        assert made["selection"]["why"] == f"a point of the front of hit_at_1, index_ratio, named by '{name}'"
        assert made["selection"]["why"] in (two.root / "exp.lock.toml").read_text("utf-8")
        assert two.ok("audit")["findings"] == []


def test_a_trial_on_the_front_needs_no_reason_and_one_beside_it_does(two: Project) -> None:
    front = two.ok("sweep")["front"]
    on = front[-1]["trial"]
    assert two.ok("lock", "--trial", str(on))["selection"]["named"] == {"trial": on}
    metrics = {n: r["evaluation"]["metrics"] for n, r in results(two).items()}
    beside = max(metrics.keys() - {p["trial"] for p in front}, key=lambda n: metrics[n]["hit_at_1"])
    (error,) = two.refused("lock", "--trial", str(beside), code=2)["errors"]
    assert (error["where"], error["what"].partition(":")[0]) == ("--because", f"trial {beside} is not on the front")
    made = two.ok("lock", "--trial", str(beside), "--because", "the index we have")
    assert (made["trial"], made["because"], made["selection"]["why"]) == (beside, "the index we have", "named by hand")
    assert two.ok("audit")["findings"] == []


def test_what_can_not_be_named_together_is_told_all_at_once(swept: Project) -> None:
    errors = swept.refused("lock", "--point", "words 24/0", "--trial", "1", code=2)["errors"]
    assert [e["what"] for e in errors] == [
        "it names 'words 24/0', and --trial names trial 1",
        "there is no front: the selection goes by one key",
    ]
    swept.configure(selection=TWO)
    (error,) = swept.refused("lock", "--point", "words 24/0", "--trial", "1", code=2)["errors"]
    assert error["fix"] == "give one of the two"
    (error,) = swept.refused("lock", "--because", "it is short", code=2)["errors"]
    assert error["fix"] == "name it: --point NAME, or --trial N"


def test_an_unknown_point_is_refused_with_the_nearest(two: Project) -> None:
    first = names(two)[0]
    (error,) = two.refused("lock", "--point", first.replace("/", "-"), code=2)["errors"]
    assert f"did you mean '{first}'?" in error["fix"]


def test_locking_the_same_point_again_puts_it_in_force_again(two: Project) -> None:
    first, *_, last = names(two)
    made = two.ok("lock", "--point", first)
    two.ok("lock", "--point", last)
    again = two.ok("lock", "--point", first)
    assert (again["lock_id"], again["existed"]) == (made["lock_id"], True)
    assert made["lock_id"] in (two.root / "exp.lock.toml").read_text("utf-8")


def test_an_audit_finds_a_locked_point_that_is_no_longer_on_the_front(two: Project) -> None:
    metrics = {n: r["evaluation"]["metrics"] for n, r in results(two).items()}
    best = two.ok("lock", "--point", "best hit_at_1")["trial"]
    least = min(m["context_at_3"] for m in metrics.values())
    two.configure(selection={"max_context_at_3": least})
    (finding,) = two.refused("audit", code=1)["findings"]
    assert f"trial {best} is no longer on the front of hit_at_1, index_ratio" in json.dumps(finding)


def test_a_whole_run_goes_on_to_the_report_without_a_lock_and_says_what_to_name(project: Project) -> None:
    project.configure(search=SEARCH, selection=TWO)
    ran = project.run("run", "exp.toml", "--json")
    assert ran.code == 0, ran.err
    found = ran.json
    assert (found["lock"], found["holdout"], found["audit"]["findings"]) == (None, None, [])
    assert Path(found["report"]).exists()
    front = found["sweep"]["front"]
    assert "nothing is locked: of several objectives (hit_at_1, index_ratio) the choice is yours" in ran.err
    assert all(f"  {p['name']} (trial {p['trial']}): hit_at_1 " in ran.err for p in front)
    assert f'harness lock exp.toml --point "{front[0]["name"]}"' in ran.err
    assert "the holdout stays closed" in ran.err
    shown = project.run("run", "exp.toml").out
    assert f'none yet; name a point: harness lock exp.toml --point "{front[0]["name"]}"' in shown
    assert "every question is dev" not in shown


def test_a_whole_run_keeps_the_point_that_was_locked_and_opens_the_holdout_for_it(two: Project) -> None:
    made = two.ok("lock", "--point", "best index_ratio")
    found = two.ok("run")
    assert (found["lock"]["lock_id"], found["lock"]["existed"]) == (made["lock_id"], True)
    assert found["holdout"]["verdict"]
    assert two.ok("run")["holdout"]["already_opened"] is True


def test_a_whole_run_keeps_no_point_that_is_no_longer_on_the_front(two: Project) -> None:
    two.ok("lock", "--point", "best hit_at_1")
    least = min(r["evaluation"]["metrics"]["context_at_3"] for r in results(two).values())
    two.configure(selection={"max_context_at_3": least})
    ran = two.run("run", "exp.toml", "--json")
    assert ran.json["lock"] is None
    assert "nothing is locked" in ran.err


def test_pruning_is_off_with_several_objectives_and_says_so(project: Project) -> None:
    search = {**SEARCH, "prune": "bound"}
    project.configure(search=search, embedder={"type": "term-frequency"}, selection=TWO)
    ran = project.run("sweep", "exp.toml", "--json")
    assert ran.json["trials"] == {"complete": 8, "pruned": 0, "failed": 0}
    assert "pruning is off, every trial is measured whole: several objectives (hit_at_1, index_ratio)" in ran.err


def test_what_was_pruned_by_a_key_and_may_lie_on_the_front_is_measured_first(project: Project) -> None:
    search = {**SEARCH, "prune": "bound"}
    project.configure(search=search, embedder={"type": "term-frequency"})
    pruned = project.ok("sweep")["trials"]["pruned"]
    assert pruned > 0
    project.configure(selection=TWO)
    (error,) = project.refused("lock", "--point", "best hit_at_1", code=2)["errors"]
    assert "may lie on the front" in error["what"]
    again = project.ok("sweep")
    assert again["trials"]["pruned"] < pruned
    project.configure(search={**search, "prune": "none"})
    whole = project.ok("sweep", "--fresh")
    assert [p["params"] for p in again["front"]] == [p["params"] for p in whole["front"]]


def test_the_objectives_study_is_beside_the_keys_and_switching_loses_nothing_and_doubles_nothing(project: Project) -> None:
    project.configure(search={**TPE, "trials": 5})
    project.ok("sweep")
    first = contents(project)
    project.configure(selection=TWO)
    project.ok("sweep", "--trials", "9")
    both = contents(project)
    project.configure(selection={"objective": []})
    found = project.ok("sweep", "--trials", "12")

    assert found["trials"] == {"complete": 12, "pruned": 0, "failed": 0}
    assert contents(project).items() >= both.items() >= first.items()
    assert sorted(results(project)) == list(range(12))
    assert learned(project, "small#1") == points(project)
    assert sum(learned(project, BY_TWO).values()) == 9
    several = study(project, BY_TWO)
    assert [d.name for d in several.directions] == ["MAXIMIZE", "MINIMIZE"]
    for t in several.trials:
        metrics = results(project)[t.number]["evaluation"]["metrics"]
        assert t.values == [metrics["hit_at_1"], metrics["index_ratio"]]
    assert not [t for name in ("small#1", BY_TWO) for t in study(project, name).trials if not t.state.is_finished()]
    assert len(project.runs("sweep")) == 1


def test_a_number_that_another_point_took_meanwhile_is_told_to_no_wrong_point(project: Project) -> None:
    search = {**TPE, "trials": 8}
    project.configure(search=search)
    killed = project.driver(
        "dies.py",
        "import harness.trials as t\n"
        "real, calls = t.Trials.measure, []\n"
        "def dying(self, number, point):\n"
        "    calls.append(1)\n"
        "    if len(calls) == 4: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(self, number, point)\n"
        "t.Trials.measure = dying",
    )
    assert project.process("sweep", "exp.toml", script=killed).code == -signal.SIGKILL
    (unfinished,) = [t for t in study(project, "small#1").trials if not t.state.is_finished()]
    assert unfinished.number == 3
    project.configure(search={**search, "seed": 99}, selection=TWO)
    project.ok("sweep", "--trials", "6")
    assert results(project)[3]["point"]["chunk_size"] != unfinished.params["chunk_size"], "it has the number now"

    project.configure(selection={"objective": []})
    found = project.ok("sweep")

    assert found["trials"] == {"complete": 8, "pruned": 0, "failed": 0}
    assert learned(project, "small#1") == points(project), "every result is known of its own point, once"
    assert points(project)[("words", unfinished.params["chunk_size"], round(unfinished.params["overlap_ratio"], 10))] == 1
    values = {(r["point"]["chunk_size"], r["point"]["overlap_ratio"]): r["evaluation"] for r in results(project).values()}
    for t in study(project, "small#1").trials:
        if t.values:
            metrics = values[t.params["chunk_size"], round(t.params["overlap_ratio"], 10)]["metrics"]
            assert t.value == pytest.approx(metrics["hit_at_1"] + metrics["hit_at_3"] / 10)


def test_a_point_that_waits_under_a_number_taken_meanwhile_is_tried_under_a_later_one(project: Project) -> None:
    search = {**TPE, "trials": 3}
    project.configure(search=search)
    project.ok("sweep")
    waiting = {"splitter": "words", "chunk_size": 33, "overlap_ratio": 0.15}
    study(project, "small#1").enqueue_trial(waiting)  # as an interrupted sweep leaves it
    project.configure(search={**search, "seed": 99}, selection=TWO)
    project.ok("sweep", "--trials", "6")

    project.configure(selection={"objective": []})
    project.ok("sweep", "--trials", "7")

    assert points(project)[("words", 33, 0.15)] == 1
    assert len(results(project)) == 7
    assert learned(project, "small#1") == points(project)


def test_a_killed_sweep_of_several_objectives_goes_on_where_it_was(project: Project) -> None:
    project.configure(search={**TPE, "trials": 8}, selection=TWO)
    process = project.start("sweep", "exp.toml")
    wait_until(lambda: len(project.results()) >= 4)
    process.kill()
    finished(process)
    kept = contents(project)
    found = project.ok("sweep")
    assert found["trials"] == {"complete": 8, "pruned": 0, "failed": 0}
    assert contents(project).items() >= kept.items()
    assert learned(project, BY_TWO) == points(project)


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_the_same_seed_suggests_the_same_points_with_several_objectives(tmp_path: Path, empty_mlflow: Path, sampler: str) -> None:
    found = []
    for name in ("first", "again"):
        project = Project(tmp_path / name, empty_mlflow)
        project.configure(search={**TPE, "sampler": sampler, "trials": 12}, selection=TWO)
        project.ok("sweep")
        found.append([r["point"] for _, r in sorted(results(project).items())])
    assert found[0] == found[1]


def test_baselines_are_on_no_front_unless_they_may_be_chosen(project: Project) -> None:
    search = {**SEARCH, "baselines": ["whole-section"]}
    project.configure(search=search, selection=TWO)
    assert "whole-section" not in names(project)
    project.configure(selection={"allow_baselines": True})
    assert "whole-section" in names(project)
