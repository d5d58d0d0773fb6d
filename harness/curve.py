"""Reading quality against chunk size: where it flattens, what overlap buys, what structure is worth, what a reranker changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Literal

import numpy as np

from harness import stats
from harness.ranking import FloatArray
from harness.records import TrialResult
from harness.scores import Groups, Scores, scores
from harness.stats import Interval

FLAT = 0.02  # a gain of two points is no longer worth more context in every answer
FEW_SIZES = 3
STRUCTURE, FIXED = "structure", ("characters", "words", "tokens")
RERANKED = 50  # chunks that a reranker is given


@dataclass(frozen=True)
class CurvePoint:
    """One setting on its line."""

    trial: TrialResult
    value: float
    interval: Interval | None

    @property
    def size(self) -> int:
        return self.trial.point.chunk_size


@dataclass(frozen=True)
class Line:
    """Settings that differ in size only, by size; `flat_at` is the first after which no larger one gains more than `step`."""

    splitter: str
    prepend: tuple[str, ...]
    overlap_ratio: float
    points: tuple[CurvePoint, ...]
    step: float

    @property
    def reading(self) -> Literal["few", "flat", "flattens", "climbing"]:
        """`flat`: at the smallest size already; `climbing`: up to the largest, so where it ends is not known."""
        if len(self.points) < FEW_SIZES:
            return "few"
        at = self._flat_at
        return "flat" if at == 0 else "climbing" if at == len(self.points) - 1 else "flattens"

    @property
    def flat_at(self) -> CurvePoint | None:
        """The point where the line flattens; None when it does not, or too few sizes tell."""
        return self.points[self._flat_at] if self.reading == "flattens" else None

    @property
    def _flat_at(self) -> int:
        values = [p.value for p in self.points]
        return next(i for i, v in enumerate(values) if all(later - v <= self.step + stats.TOLERANCE for later in values[i:]))


@dataclass(frozen=True)
class Pair:
    """Two settings on the same questions: `second` minus `first`, and the second's index ratio over the first's."""

    first: TrialResult
    second: TrialResult
    difference: float
    interval: Interval | None
    won: int
    lost: int
    p_value: float  # two-sided

    @property
    def cost(self) -> float:
        return self.second.metrics["index_ratio"] / self.first.metrics["index_ratio"] - 1


@dataclass(frozen=True)
class Reranked:
    """Hits within a reranker's depth beside hits within `k`: least and most over the settings, and who has the most."""

    k: int
    least: int
    most: int
    least_deep: int
    most_deep: int
    of: int
    leaders: tuple[TrialResult, ...]
    leaders_deep: tuple[TrialResult, ...]
    shallow: int  # settings that have no more chunks than the depth: it says nothing of their ranking

    @property
    def changes(self) -> bool:
        """Whether the picture would be another: other settings lead, or size has stopped to matter."""
        leads_on = bool({t.trial for t in self.leaders} & {t.trial for t in self.leaders_deep})
        return not leads_on or (self.most > self.least and 2 * (self.most_deep - self.least_deep) <= self.most - self.least)


@dataclass(frozen=True)
class Curve:
    """Everything read from one metric against size. `overlap` pairs the least with each larger overlap of the same size."""

    metric: str
    lines: tuple[Line, ...]
    overlap: tuple[Pair, ...]
    structure: Pair | None  # the best fixed window, and the best setting cut at structure
    reranked: Reranked | None


def read_curve(trials: Sequence[TrialResult], metric: str, groups: Groups, seed: int) -> Curve | None:
    """Read complete, distinct settings that have a size; None where no question has the metric."""
    found = scores([t for t in trials if not t.point.baseline], metric, groups)
    if found is None:
        return None
    return Curve(metric, _lines(found), _overlap(found, seed), _structure(found, seed), _reranked(found))


def _lines(found: Scores) -> tuple[Line, ...]:
    def of(trial: TrialResult) -> tuple[str, tuple[str, ...], float]:
        return trial.point.splitter, trial.point.prepend, trial.point.overlap_ratio

    step = max(FLAT, 1 / len(found.questions))
    by_line = groupby(sorted(found.trials, key=lambda t: (of(t), t.point.chunk_size)), key=of)
    return tuple(Line(*name, tuple(_point(found, t) for t in line), step) for name, line in by_line)


def _point(found: Scores, trial: TrialResult) -> CurvePoint:
    values = found.column(trial)
    return CurvePoint(trial, float(values.mean()), stats.mean_interval(values, found.groups))


def _overlap(found: Scores, seed: int) -> tuple[Pair, ...]:
    def same(trial: TrialResult) -> tuple[str, tuple[str, ...], int]:
        return trial.point.splitter, trial.point.prepend, trial.point.chunk_size

    pairs = []
    for _, of_size in groupby(sorted(found.trials, key=lambda t: (same(t), t.point.overlap_ratio)), key=same):
        least, *more = of_size
        pairs += [(least, t) for t in more if t.point.overlap > least.point.overlap]
    return _paired(found, pairs, seed)


def _paired(found: Scores, pairs: Sequence[tuple[TrialResult, TrialResult]], seed: int) -> tuple[Pair, ...]:
    if not pairs:
        return ()
    columns = {t.trial: found.values[:, i] for i, t in enumerate(found.trials)}
    differences = np.stack([columns[second.trial] - columns[first.trial] for first, second in pairs], axis=1)
    p_values = stats.each_either(differences, found.groups, seed)
    return tuple(_pair(found, *pair, differences[:, i], float(p_values[i])) for i, pair in enumerate(pairs))


def _pair(found: Scores, first: TrialResult, second: TrialResult, difference: FloatArray, p_value: float) -> Pair:
    return Pair(
        first=first,
        second=second,
        difference=float(difference.mean()),
        interval=stats.difference_interval(difference, found.groups),
        won=int((difference > stats.TOLERANCE).sum()),
        lost=int((difference < -stats.TOLERANCE).sum()),
        p_value=p_value,
    )


def _structure(found: Scores, seed: int) -> Pair | None:
    fixed, cut_at = (_best(found, names) for names in (FIXED, (STRUCTURE,)))
    return _paired(found, [(fixed, cut_at)], seed)[0] if fixed and cut_at else None


def _best(found: Scores, splitters: Sequence[str]) -> TrialResult | None:
    """The best setting of some splitters; of equal ones the cheapest to store."""
    trials = [t for t in found.trials if t.point.splitter in splitters]
    return min(trials, key=lambda t: (-float(found.column(t).mean()), t.metrics["index_ratio"], t.point), default=None)


def _reranked(found: Scores) -> Reranked | None:
    """Hits are known at any depth: a hit's rank is kept uncut. None where the metric names no k below the depth."""
    _, at, k = found.metric.rpartition("_at_")
    if not at or int(k) >= RERANKED:
        return None
    hits = {n: [t.hits(n) for t in found.trials] for n in (int(k), RERANKED)}
    first, deep = hits[int(k)], hits[RERANKED]

    def leaders(counts: Sequence[int]) -> tuple[TrialResult, ...]:
        return tuple(t for t, n in zip(found.trials, counts, strict=True) if n == max(counts))

    shallow = sum(t.metrics["chunks"] <= RERANKED for t in found.trials)
    of = found.trials[0].answerable
    return Reranked(int(k), min(first), max(first), min(deep), max(deep), of, leaders(first), leaders(deep), shallow)


def drops(line: Line) -> CurvePoint | None:
    """The largest size where it is more than the step below the one before it; None for too few sizes."""
    for before, last in pairwise(line.points[-2:] if len(line.points) >= FEW_SIZES else ()):
        if before.value - last.value > line.step + stats.TOLERANCE:
            return last
    return None
