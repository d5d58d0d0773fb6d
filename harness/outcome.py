"""What a sweep tells while it runs, and what it comes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from harness.analysis import Analysis
from harness.diagnosis import Finding
from harness.front import FrontPoint
from harness.pipeline import run_metrics
from harness.records import Bound, TrialResult
from harness.selection import Selected
from harness.tables import Breakdown, GroupRow


class Watcher(Protocol):
    """Is told how the sweep goes; the command line draws a bar with it."""

    def begin(self, total: int, done: int) -> None: ...

    def trial(self, result: TrialResult, best: TrialResult | None) -> None: ...

    def progress(self, alive: int, bound: Bound) -> None: ...

    def say(self, message: str) -> None: ...


class Silent:
    """A watcher that shows nothing."""

    def begin(self, total: int, done: int) -> None: ...

    def trial(self, result: TrialResult, best: TrialResult | None) -> None: ...

    def progress(self, alive: int, bound: Bound) -> None: ...

    def say(self, message: str) -> None: ...


@dataclass(frozen=True)
class SweepOutcome:
    """A sweep as it stands: its study, its run, all results, and what was selected from them."""

    study: str
    run_id: str
    results: tuple[TrialResult, ...]
    aside: tuple[TrialResult, ...]  # baselines that are no trials
    selected: Selected
    analysis: Analysis
    diagnosis: tuple[Finding, ...]
    front: tuple[FrontPoint, ...]  # of several objectives
    breakdowns: tuple[Breakdown, ...]  # of the chosen trial
    runs: dict[int, str]
    ui_command: str | None
    ui_url: str
    compare_url: str  # settings and metrics side by side

    @property
    def sources(self) -> tuple[GroupRow, ...]:
        """The chosen trial's hits by where the questions come from, where the question set says so."""
        return next((found.rows for found in self.breakdowns if found.by == "source"), ())

    @property
    def tokens(self) -> dict[str, int]:
        """Tokens that the trials embedded, and what embedding every point whole would have taken."""
        done = [(r, found) for r in self.results if (found := r.evaluation or r.bound)]
        return {
            "embedded": sum(found.tokens_embedded for r, found in done if r.reused_from is None),
            "full": sum(found.tokens_full for _, found in done),
        }

    @property
    def trials(self) -> dict[str, int]:
        """How many settings are complete, pruned and failed; baselines come on top of these."""
        settings = [r for r in self.results if not r.point.baseline]
        return {state: sum(r.state == state for r in settings) for state in ("complete", "pruned", "failed")}

    def as_json(self) -> dict[str, Any]:
        return {
            "study": self.study,
            "run_id": self.run_id,
            "trials": self.trials,
            "leader": self._trial_json(self.selected.leader),
            "chosen": self._trial_json(self.selected.chosen),
            "baselines": [self._trial_json(r) for r in (*self.results, *self.aside) if r.point.baseline],
            "pruned": [self._trial_json(r) for r in self.results if r.pruned],
            "tied": list(self.selected.tied),
            "why": self.selected.why,
            "tokens": self.tokens,
            "statistics": self.analysis.as_json(),
            "diagnosis": [vars(finding) for finding in self.diagnosis],
            "front": [point.as_json() for point in self.front],
            "by_source": [_renamed(vars(row)) for row in self.sources],
            "breakdowns": [found.as_json() for found in self.breakdowns],
            "ui_url": self.ui_url,
            "compare_url": self.compare_url,
            "ui_command": self.ui_command,
        }

    def _trial_json(self, result: TrialResult) -> dict[str, Any]:
        found = result.evaluation or result.bound
        metrics = run_metrics(found, "bound" if result.pruned else "dev") if found else {}
        return {
            "trial": None if result.aside else result.trial,
            "run_id": self.runs.get(result.trial),
            "params": result.params,
            "metrics": metrics,
        }


def _renamed(row: dict[str, Any]) -> dict[str, Any]:
    """A group's row with its name under the key that it has where groups are sources."""
    return {"source" if key == "name" else key: value for key, value in row.items()}
