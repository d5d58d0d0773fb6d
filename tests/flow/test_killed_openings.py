"""An opening of the holdout that is killed at any of its steps: only the identical lock may finish it, once."""

from __future__ import annotations

import json
import signal

import pytest
from flow_project import Project

STEPS = {
    "before the claim": ("harness.tracking", "Tracker", "claim", True),
    "after the claim in MLflow": ("harness.tracking", "Tracker", "claim", False),
    "after the claim on disk": ("harness.state", "State", "write_claim", False),
    "after the questions are read": ("harness.formats", "SealedHoldout", "unseal", False),
    "before the record": ("harness.state", "State", "write_holdout", True),
    "after the record": ("harness.state", "State", "write_holdout", False),
    "in the middle of its run": ("harness.tracking", "Tracker", "_datasets", True),
    "after its run": ("harness.tracking", "Tracker", "log_holdout", False),
}
CLAIMED_UNRECORDED = (
    "after the claim in MLflow",
    "after the claim on disk",
    "after the questions are read",
    "before the record",
)
DIES = """
import importlib
where = getattr(importlib.import_module({module!r}), {owner!r})
real = getattr(where, {name!r})
def dying(*args, **kwargs):
    if {before}: os.kill(os.getpid(), signal.SIGKILL)
    real(*args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(where, {name!r}, dying)
"""


def die(project: Project, step: str) -> None:
    module, owner, name, before = STEPS[step]
    script = project.driver("dies.py", DIES.format(module=module, owner=owner, name=name, before=before))
    ran = project.process("holdout", "exp.toml", "--json", script=script)
    assert (ran.code, ran.out) == (-signal.SIGKILL, ""), ran.err


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_opening_is_finished_by_the_next_call_with_one_claim_one_record_and_one_run(locked: Project, step: str) -> None:
    die(locked, step)
    recorded = step in ("after the record", "in the middle of its run", "after its run")

    first = locked.run("holdout", "exp.toml", "--json")
    second = locked.run("holdout", "exp.toml", "--json")

    assert (first.code, second.code) == (3 if recorded else 0, 3), first.err
    assert ("was interrupted" in first.err) == (step in CLAIMED_UNRECORDED)
    assert second.json["already_opened"] is True
    assert second.json["metrics"] == first.json["metrics"]
    runs = locked.runs("holdout")
    finished = [r for r in runs if r.info.status == "FINISHED"]
    assert len(finished) == 1
    assert second.json["run_id"] == finished[0].info.run_id
    assert not [r for r in locked.runs() if r.info.status == "RUNNING"], "no run stays open"
    claims = sorted(p.name for p in (locked.state / "claims").iterdir())
    assert len(claims) == 2
    assert claims[1] == claims[0].replace(".json", ".result.json")
    assert len([e for e in locked.client().search_experiments() if e.name.startswith("holdout claim")]) == 1
    assert locked.ok("audit")["findings"] == []


@pytest.mark.parametrize("step", ["after the claim in MLflow", "before the record"])
def test_another_lock_can_not_finish_a_killed_opening_and_audit_names_it(locked: Project, step: str) -> None:
    die(locked, step)
    trial = json.loads(next((locked.state / "small" / "locks").glob("*.json")).read_text())["trial"]
    other = "0" if trial else "1"
    locked.ok("lock", "--trial", other, "--because", "a second thought")

    (error,) = locked.refused("holdout")["errors"]

    assert "it was claimed by" in error["what"]
    assert "can only be finished" in error["fix"]
    assert locked.runs("holdout") == []
    if step != "after the claim in MLflow":
        findings = locked.refused("audit", code=1)["findings"]
        assert any("an opening was interrupted" in f["what"] for f in findings)
