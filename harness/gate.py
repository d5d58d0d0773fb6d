"""For CI: whether an experiment's setting is measurably worse than a lock's, question by question; one-sided."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness import compare, selection, stats
from harness.compare import Row, Side
from harness.errors import Fault, HarnessError, Refused, counted
from harness.experiment import Experiment
from harness.formats import SHORT_HASH
from harness.records import Point, TrialResult, labels_sha256
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
    labels_sha256: str | None  # of the dev questions; None: made before it was written down there
    setting: str  # as it is printed


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
    def relabelled(self) -> bool:
        """Whether evidence or questions of dev are not those of the lock: another label is another question."""
        known = self.baseline.labels_sha256
        return known is not None and known != labels_sha256(self.candidate.labelled.dev)

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
            "labels_changed": self.relabelled,
            "threshold_applies": not self.foreign,
        }


def gate(experiment: Experiment, baseline: str, trial: int | None = None) -> Gated:
    """Hold the rule's present choice, or a trial by number, against a lock: its small file, or its id in this project.

    Raises HarnessError when there is no such lock or it has no scores, or no question is shared; Refused when the questions or
    labels changed since the sweep, or so few groups of questions are shared that no loss could be seen.
    """
    known = _read(experiment, baseline)
    files = State(experiment).current()
    now = compare.side(experiment, files, _present(experiment, files.read_results(), known) if trial is None else trial)
    found = {h: q for h, q in now.scored.items() if h[:SHORT_HASH] in known.scores and known.metric in q.values}
    if not found:
        what = f"lock {known.lock_id} and {now.name} share no question that has {known.metric}"
        raise HarnessError(Fault("--baseline", what, "compare with a lock of the same questions"))
    before = np.array([known.scores[h[:SHORT_HASH]] for h in found])
    after = np.array([q.values[known.metric] for q in found.values()])
    keys = group_keys([now.asked[h] for h in found], now.labelled.corpus)
    groups = stats.numbered(keys)
    _require_power(len(set(keys)), len(found))
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


def _present(experiment: Experiment, results: Sequence[TrialResult], known: Baseline) -> int:
    """The rule's choice; with several objectives, which choose nothing, the setting that was locked."""
    if not experiment.selection.objective:
        return selection.select(results, experiment.selection).chosen.trial
    own = next((r for r in results if r.complete and str(r.point) == known.setting), None)
    if own is None:
        what = f"several objectives choose no setting, and the lock's, {known.setting}, is not among the complete trials"
        raise HarnessError(Fault("--trial", what, "name the trial to compare: --trial N"))
    return own.trial


def _require_power(groups: int, questions: int) -> None:
    """Raises Refused where even every question lost would not be called worse."""
    least = 0.5**groups
    if least > SIGNIFICANCE:
        what = f"{questions} shared questions in {groups} groups could show no loss at all: the least p-value is {least:.3g}"
        raise Refused(
            Fault("gate", what, "ask more questions about other passages, or compare with a lock of the same questions")
        )


def _read(experiment: Experiment, baseline: str) -> Baseline:
    path = Path(baseline)
    if path.is_file():
        return _of_file(path)
    made = next((known for known in State(experiment).read_locks() if known.lock_id == baseline), None)
    if made is None:
        what = f"'{baseline}' is neither a file nor a lock of '{experiment.name}'"
        raise HarnessError(Fault("--baseline", what, "give the .lock.toml that is checked in, or a lock's id"))
    setting = str(made.point)
    known = Baseline(made.lock_id, made.dev_metric or "", made.dev_scores, made.scoring_fingerprint, made.labels_sha256, setting)
    return _with_scores(known, baseline)


def _of_file(path: Path) -> Baseline:
    try:
        found = tomllib.loads(path.read_text("utf-8"))
        dev = found.get("dev", {})
        scores = {str(short): float(score) for short, score in dev.get("scores", {}).items()}
        lock_id, scoring = str(found["lock"]["id"]), str(found["scoring"]["fingerprint"])
        setting, labels = str(Point.of(_params(found["chunking"]))), found["lock"].get("labels_sha256")
        known = Baseline(lock_id, str(dev.get("metric", "")), scores, scoring, labels, setting)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"not a lock file ({type(error).__name__}: {error})"
        raise HarnessError(Fault(str(path), what, "give the .lock.toml that `harness lock` wrote")) from error
    return _with_scores(known, str(path))


def _params(chunking: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in chunking.items() if name in ("splitter", "chunk_size", "overlap_ratio", "prepend")}


def _with_scores(known: Baseline, where: str) -> Baseline:
    if not known.metric or not known.scores:
        what = f"lock {known.lock_id} has no scores of dev questions: it was made before they were recorded"
        raise Refused(Fault(where, what, "run `harness lock` again in the project that made it, and check the file in"))
    steps = (0.0, 1.0) if known.metric.startswith(("hit_at_", "document_hit_at_")) else None
    wrong = {h: s for h, s in known.scores.items() if not 0 <= s <= 1 or (steps and s not in steps)}  # NaN is in no range
    if wrong:
        short, score = next(iter(wrong.items()))
        what = f"{counted(len(wrong), 'score is', 'scores are')} no {known.metric}: [dev.scores] {short} is {score}"
        raise HarnessError(Fault(where, what, "restore the file that `harness lock` wrote"))
    return known
