"""The sweep can't see the holdout: neither its result nor any file that it writes depends on a holdout question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from flow_project import HOLDOUT_WORD, QUESTIONS, TPE, Project

from harness.formats import SealedHoldout


def outcomes(project: Project) -> list[Any]:
    """Points, metrics and every question's ranking of all trials; times are not results."""
    found = []
    for path in project.results():
        result = json.loads(path.read_text())
        result["evaluation"].pop("seconds")
        found.append((result["point"], result["evaluation"]))
    return found


@pytest.mark.parametrize("search", [None, {**TPE, "trials": 6}], ids=["grid", "tpe"])
def test_a_sweep_with_the_holdout_rows_absent_has_identical_trials_and_rankings(
    tmp_path: Path, empty_mlflow: Path, search: dict[str, Any] | None
) -> None:
    with_holdout, without = (Project(tmp_path / name, empty_mlflow) for name in ("with", "without"))
    without.write_questions([q for q in QUESTIONS if q[3] != "holdout"])
    chosen = []
    for project in (with_holdout, without):
        if search:
            project.configure(search=search)
        chosen.append(project.ok("sweep")["chosen"]["params"])
    assert outcomes(with_holdout) == outcomes(without)
    assert len(outcomes(without)) >= 4
    assert chosen[0] == chosen[1]


def test_check_estimate_sweep_lock_audit_and_report_never_unseal(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def unseal(self: SealedHoldout, *_: Any) -> Any:
        raise AssertionError("unsealed")

    monkeypatch.setattr(SealedHoldout, "unseal", unseal)
    for verb in ("check", "estimate", "sweep", "lock", "audit", "report"):
        project.ok(verb)
    assert not [r for r in project.runs("trial") if r.info.status != "FINISHED"]
    with pytest.raises(AssertionError, match="unsealed"):
        project.run("holdout", "exp.toml")


def test_no_word_of_a_holdout_question_reaches_a_file_or_a_stream_before_the_opening(project: Project) -> None:
    told = [project.run(verb, "exp.toml") for verb in ("check", "estimate", "sweep", "lock", "audit", "report")]

    word = HOLDOUT_WORD.encode()
    holding = [name for name, content in project.tree().items() if word in content.lower()]
    assert holding == ["questions.csv"]
    assert not [ran for ran in told if HOLDOUT_WORD in (ran.out + ran.err).lower()]
    assert "mlflow.db" in project.tree()
    assert ".harness/studies.db" in project.tree()
    assert any(name.endswith("ranked_chunks.json") for name in project.tree())


def test_nothing_is_named_holdout_in_any_run_before_the_opening_and_only_on_its_own_run_after_it(locked: Project) -> None:
    def named(run: Any) -> list[str]:
        return [name for name in (*run.data.metrics, *run.data.params) if "holdout" in name]

    assert [named(r) for r in locked.runs() if named(r)] == []
    locked.ok("holdout")
    assert {r.data.tags["harness.kind"] for r in locked.runs() if named(r)} == {"holdout"}
    (opened,) = locked.runs("holdout")
    assert {"holdout/hit_at_1", "holdout/mrr", "holdout/gate_correct"} <= opened.data.metrics.keys()
    assert not [name for name in opened.data.metrics if name.startswith("dev/")]


def test_label_faults_of_the_holdout_are_told_by_their_place_before_the_sweep(bare: Project) -> None:
    wrong = ("H02", "How long does jam keep?", "K3", "holdout", "Opened jam keeps for three weeks.")
    bare.write_questions([wrong if q[0] == "H02" else q for q in QUESTIONS])
    (error,) = bare.refused("sweep", code=2)["errors"]
    assert "questions.csv line 15" in error["where"]


def test_a_question_of_the_split_test_is_holdout(project: Project) -> None:
    project.write_questions([(*q[:3], "test" if q[3] == "holdout" else q[3], q[4]) for q in QUESTIONS])
    assert project.ok("check")["questions"]["holdout"] == 3


def test_a_question_that_stands_in_both_splits_is_a_fault(bare: Project) -> None:
    twin = ("H09", "  when do TOMATOES get their water?", "G1", "holdout", "Tomatoes are watered every morning before eight.")
    bare.write_questions([*QUESTIONS, twin])
    (error,) = bare.refused("sweep", code=2)["errors"]
    assert "'H09' is also the dev question 'D01'" in error["what"]
