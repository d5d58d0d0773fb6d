"""For CI: whether an experiment's setting is measurably worse than a lock's, question by question; one-sided."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness import compare, selection, stats
from harness.compare import Row, Side
from harness.errors import Fault, HarnessError, Refused
from harness.experiment import Experiment
from harness.formats import SHORT_HASH
from harness.splits import group_keys
from harness.state import State
from harness.stats import POWER, SIGNIFICANCE


@dataclass(frozen=True)
class Baseline:
    """What a lock says of dev: one metric, each question's score by its short hash."""

    lock_id: str
    metric: str
    scores: Mapping[str, float]
    scoring_fingerprint: str


@dataclass(frozen=True)
class Gated:
    """The setting beside the baseline on the questions that both have; `p_value` is one-sided, that it is worse.

    `detectable` is about the least loss that would have been seen four times in five with so many questions; None where no
    question changed, so that there is nothing to go by.
    """

    baseline: Baseline
    candidate: Side
    row: Row
    p_value: float
    groups: int
    reliable: bool
    left_out: int
    detectable: float | None

    @property
    def foreign(self) -> bool:
        """Whether it is scored by another function than the lock's, to which the lock's threshold does not carry over."""
        found = self.candidate.result.evaluation
        return found is not None and found.scoring_fingerprint != self.baseline.scoring_fingerprint

    @property
    def worse(self) -> bool:
        return self.p_value <= SIGNIFICANCE

    def as_json(self) -> dict[str, Any]:
        return {
            "worse": self.worse,
            "metric": self.baseline.metric,
            "lock_id": self.baseline.lock_id,
            "candidate": self.candidate.as_json(),
            "baseline": self.row.first,
            "now": self.row.second,
            "difference": self.row.difference,
            "interval": self.row.as_json()["interval"],
            "won": self.row.won,
            "lost": self.row.lost,
            "p_value": self.p_value,
            "significance": SIGNIFICANCE,
            "questions": self.row.questions,
            "left_out": self.left_out,
            "groups": self.groups,
            "reliable": self.reliable,
            "detectable": self.detectable,
            "threshold_applies": not self.foreign,
        }


def gate(experiment: Experiment, baseline: str, trial: int | None = None) -> Gated:
    """Hold the rule's present choice, or a trial by number, against a lock: its small file, or its id in this project.

    Raises HarnessError when there is no such lock or it has no scores, or no question is shared; Refused when the questions or
    labels changed since the sweep.
    """
    known = _read(experiment, baseline)
    files = State(experiment).current()
    if trial is None:
        trial = selection.select(files.read_results(), experiment.selection).chosen.trial
    now = compare.side(experiment, files, trial)
    found = {h: q for h, q in now.scored.items() if h[:SHORT_HASH] in known.scores and known.metric in q.values}
    if not found:
        what = f"lock {known.lock_id} and {now.name} share no question that has {known.metric}"
        raise HarnessError(Fault("--baseline", what, "compare with a lock of the same questions"))
    before = np.array([known.scores[h[:SHORT_HASH]] for h in found])
    after = np.array([q.values[known.metric] for q in found.values()])
    keys = group_keys([now.asked[h] for h in found], now.labelled.corpus)
    groups = stats.numbered(keys)
    p_value = float(stats.worse((after - before)[:, None], groups, compare.SEED)[0])
    return Gated(
        baseline=known,
        candidate=now,
        row=compare.row(known.metric, before, after, groups),
        p_value=p_value,
        groups=len(set(keys)),
        reliable=not stats.few(groups),
        left_out=len(known.scores) - len(found),
        detectable=stats.detectable(after - before, groups, SIGNIFICANCE, POWER),
    )


def _read(experiment: Experiment, baseline: str) -> Baseline:
    path = Path(baseline)
    if path.is_file():
        return _of_file(path)
    made = next((known for known in State(experiment).read_locks() if known.lock_id == baseline), None)
    if made is None:
        what = f"'{baseline}' is neither a file nor a lock of '{experiment.name}'"
        raise HarnessError(Fault("--baseline", what, "give the .lock.toml that is checked in, or a lock's id"))
    known = Baseline(made.lock_id, made.dev_metric or "", made.dev_scores, made.scoring_fingerprint)
    return _with_scores(known, baseline)


def _of_file(path: Path) -> Baseline:
    try:
        found = tomllib.loads(path.read_text("utf-8"))
        dev = found.get("dev", {})
        scores = {str(short): float(score) for short, score in dev.get("scores", {}).items()}
        lock_id, scoring = str(found["lock"]["id"]), str(found["scoring"]["fingerprint"])
        known = Baseline(lock_id, str(dev.get("metric", "")), scores, scoring)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"not a lock file ({type(error).__name__}: {error})"
        raise HarnessError(Fault(str(path), what, "give the .lock.toml that `harness lock` wrote")) from error
    return _with_scores(known, str(path))


def _with_scores(known: Baseline, where: str) -> Baseline:
    if not known.metric or not known.scores:
        what = f"lock {known.lock_id} has no scores of dev questions: it was made before they were recorded"
        raise Refused(Fault(where, what, "run `harness lock` again in the project that made it, and check the file in"))
    return known
