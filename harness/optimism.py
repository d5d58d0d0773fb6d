"""How much better the best of many looks than it is: the selection itself, done again on resampled questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import selection
from harness.errors import HarnessError
from harness.metrics import COSTS
from harness.ranking import FloatArray
from harness.records import Point, TrialResult
from harness.scores import Groups, scores
from harness.selection import CHEAP, Selection

RESAMPLES = 400
LEFT_OUT = 0.632  # share of the questions that a resample has: Efron's weight of those that it has not (1983)


@dataclass(frozen=True)
class Optimism:
    """`dev` is the chosen setting's score, `shrinkage` by how much the choice flatters it, on average over resamples: 0 at least.

    `failed` resamples chose nothing: no setting met the rule there.
    """

    metric: str
    dev: float
    shrinkage: float
    resamples: int
    failed: int

    @property
    def expected(self) -> float:
        """What to expect of fresh questions, within [0, 1]."""
        return min(1.0, max(0.0, self.dev - self.shrinkage))


@dataclass(frozen=True)
class _Imagined:
    """A setting as it would stand on resampled questions; `at` is its place among the settings."""

    at: int
    metrics: Mapping[str, float]
    answerable: int
    point: Point


def optimism(
    trials: Sequence[TrialResult], chosen: TrialResult, rule: Selection, metric: str, groups: Groups, seed: int
) -> Optimism | None:
    """The shrinkage of one metric of the chosen setting; trials are those that may be chosen.

    Questions are drawn with replacement, groups as a whole; the rule chooses on those; what its choice has there, less what it
    has on the questions left out, times 0.632. None for fewer than two groups, or where no resample could choose.
    """
    found = scores(trials, metric, groups)
    if found is None or found.group_count < 2 or len(trials) < 2:
        return None
    table = _Table(sorted(trials, key=lambda t: t.point), rule, metric, groups)  # sorted once, not in each resample
    rng = np.random.default_rng(seed)
    even = [1 / table.groups] * table.groups
    gains = [g for _ in range(RESAMPLES) if (g := table.gain(rng.multinomial(table.groups, even))) is not None]
    if not gains:
        return None
    # Choosing flatters or does nothing; below 0 is chance of the resamples.
    shrinkage = max(0.0, LEFT_OUT * float(np.mean(gains)))
    return Optimism(metric, float(found.column(chosen).mean()), shrinkage, RESAMPLES, RESAMPLES - len(gains))


class _Table:
    """The key's metrics question by question, so that a resample is a weighing of rows."""

    def __init__(self, trials: Sequence[TrialResult], rule: Selection, metric: str, groups: Groups) -> None:
        self._rule = rule
        looked_at = {part.removeprefix("-") for part in rule.key} | set(CHEAP)
        self._known = [({n: v for n, v in t.metrics.items() if n in looked_at}, t.answerable, t.point) for t in trials]
        self._metric = metric
        names = dict.fromkeys((metric, *(part.removeprefix("-") for part in rule.key)))
        self._scores = {n: s for n in names if n not in COSTS and (s := scores(trials, n, groups)) is not None}
        owners = {n: [groups.get(q, q) for q in s.questions] for n, s in self._scores.items()}
        place = {g: i for i, g in enumerate(dict.fromkeys(g for own in owners.values() for g in own))}
        self._group_of = {n: np.array([place[g] for g in own]) for n, own in owners.items()}
        self.groups = len(place)

    def gain(self, drawn: Any) -> float | None:
        """In-sample less left-out score of what the rule chooses on groups drawn so often; None when it chooses nothing."""
        means = {name: self._mean(name, drawn) for name in self._scores}
        inside, outside = means[self._metric], self._mean(self._metric, drawn == 0)
        if inside is None or outside is None:
            return None
        imagined = [self._imagined(i, means) for i in range(len(self._known))]
        try:
            _, chosen, _ = selection.apply(imagined, self._rule)
        except HarnessError:  # no setting reaches the target there
            return None
        return float(inside[chosen.at] - outside[chosen.at])

    def _imagined(self, at: int, means: Mapping[str, FloatArray | None]) -> _Imagined:
        metrics, answerable, point = self._known[at]
        resampled = {name: float(mean[at]) for name, mean in means.items() if mean is not None}
        return _Imagined(at, {**metrics, **resampled}, answerable, point)

    def _mean(self, name: str, drawn: Any) -> FloatArray | None:
        """Weighted mean of each setting; None when no question with the metric was drawn."""
        weights = drawn[self._group_of[name]].astype(np.float64)
        return None if not weights.any() else np.asarray(weights @ self._scores[name].values / weights.sum(), dtype=np.float64)
