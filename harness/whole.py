"""All verbs in their order, for a first run and for every run after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from harness import api, front
from harness.audit import Audit
from harness.audit import as_json as audit_as_json
from harness.errors import HarnessError, Refused, TrackingDown
from harness.experiment import Experiment
from harness.holdout import Opened, recorded
from harness.lock import Locked, nothing_held_out
from harness.lock import as_json as lock_as_json
from harness.outcome import SweepOutcome, Watcher
from harness.records import Lock
from harness.state import State


class Steps(Watcher, Protocol):
    """Is told which step begins and what it found."""

    def step(self, name: str) -> None: ...

    def found(self, result: Any) -> None: ...


@dataclass(frozen=True)
class Whole:
    """The results of all steps. `opened` is None without holdout questions, or when others opened them (`refusal`).

    `locked` is None where `holdout = 0` leaves every question in dev, and with several objectives until a point is named.
    """

    experiment: Experiment
    sweep: SweepOutcome
    locked: Locked | None
    opened: Opened | None
    refusal: Refused | None
    audit: Audit
    report: Path

    @property
    def exit_code(self) -> int:
        """3 when the holdout had been opened for something else, 1 when the audit found something, else 0."""
        return self.refusal.exit_code if self.refusal else int(bool(self.audit.findings))

    def as_json(self) -> dict[str, Any]:
        return {
            "sweep": self.sweep.as_json(),
            "lock": lock_as_json(self.locked) if self.locked else None,
            "holdout": self.opened.as_json() if self.opened else None,
            "audit": audit_as_json(self.audit),
            "report": str(self.report),
        }


def run_all(path: Path, trials: int | None, tracking_uri: str | None, steps: Steps) -> Whole:
    """Check, estimate, sweep, lock, holdout, audit, report. A holdout that was opened before is shown, not opened again.

    Raises HarnessError at the first step that can't go on; what came before is kept.
    """
    loaded = api.load(path)
    steps.step("check")
    checked = loaded.check()
    labelled = checked.sound()
    steps.found(checked)
    if _begun(loaded):
        steps.say("the search has begun already, so its cost is not estimated again")
    else:
        steps.step("estimate")
        steps.found(loaded.estimate(trials))
    steps.step("sweep")
    outcome = loaded.sweep(trials, tracking_uri=tracking_uri, watcher=steps)
    steps.step("lock")
    locked, opened, refusal = None, None, None
    if nothing_held_out(loaded.experiment, labelled):
        steps.say("holdout = 0: every question is dev, so nothing is locked; the figures are of the questions that chose")
    else:
        locked = _lock(loaded, outcome.study, steps)
    steps.step("holdout")
    if labelled.holdout.sha256 == "none":
        steps.say("no holdout questions: the choice stays unverified")
    elif locked:
        opened, refusal = _open(loaded, locked, tracking_uri, steps)
    else:
        steps.say("the holdout stays closed: nothing is locked that it could verify")
    steps.step("audit")
    audited = loaded.audit(tracking_uri)
    steps.step("report")
    written = _report(loaded, tracking_uri, steps)
    return Whole(loaded.experiment, outcome, locked, opened, refusal, audited, written)


def _begun(loaded: api.LoadedExperiment) -> bool:
    state = State(loaded.experiment)
    return bool(state.generations() and state.current().read_results())


def _lock(loaded: api.LoadedExperiment, study: str, steps: Steps) -> Locked | None:
    """The rule's choice, unless the lock in force was made by hand for this study: then that one stays in force.

    With several objectives nothing is chosen but by hand: None until it is.
    """
    known = State(loaded.experiment).read_locks()
    last = known[-1] if known and known[-1].study == study else None
    if loaded.experiment.selection.objective:
        return _lock_point(loaded, last, steps)
    if last and last.because:
        steps.say(f"lock {last.lock_id} stays in force: chosen by hand because: {last.because}")
        return loaded.lock(last.trial, last.because)
    return loaded.lock()


def _lock_point(loaded: api.LoadedExperiment, last: Lock | None, steps: Steps) -> Locked | None:
    """The lock in force again, where it has a reason or names a point that still is on the front; else what there is to name."""
    results, rule = State(loaded.experiment).current().read_results(), loaded.experiment.selection
    points = front.decided(results, rule)
    on_front = last is not None and last.trial in {p.trial.trial for p in points}
    if last and (last.because or (on_front and "objective" in last.selection)):
        steps.say(f"lock {last.lock_id} stays in force: {last.because or last.selection['why']}")
        return loaded.lock(because=last.because, **_named_as(last, points))
    steps.say(f"nothing is locked: of several objectives ({', '.join(front.metric_names(rule.objective))}) the choice is yours")
    for point in points:
        steps.say(f"  {point}")
    steps.say(f'to take one: harness lock {loaded.experiment.path.name} --point "{points[0].name}"')
    return None


def _named_as(last: Lock, points: Sequence[front.FrontPoint]) -> dict[str, Any]:
    """How the locked trial was named, as long as that still names it."""
    by_point = last.selection.get("named", {}).get("point")
    try:
        same = by_point is not None and front.named(points, by_point).trial.trial == last.trial
    except HarnessError:  # a label that has gone to others
        same = False
    return {"point": by_point} if same else {"trial": last.trial}


def _report(loaded: api.LoadedExperiment, tracking_uri: str | None, steps: Steps) -> Path:
    try:
        return loaded.report(tracking_uri=tracking_uri)
    except TrackingDown as error:  # the page is written before it is logged
        steps.say(str(error))
        return State(loaded.experiment).report / "index.html"


def _open(
    loaded: api.LoadedExperiment, locked: Locked, tracking_uri: str | None, steps: Steps
) -> tuple[Opened | None, Refused | None]:
    try:
        return loaded.holdout(tracking_uri, steps.say), None
    except Refused as refusal:
        steps.say(str(refusal))
        known = recorded(loaded.experiment)
        of_this_lock = known is not None and known.record.claim.lock_id == locked.lock.lock_id
        return known, None if of_this_lock else refusal
