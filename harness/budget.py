"""The best setting and number of chunks for what a team will send to its language model with every question, for ever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.ranking import FloatArray
from harness.records import TrialResult
from harness.scores import Groups
from harness.stats import Interval, mean_interval, numbered

BUDGETS = (1_000, 2_000, 4_000)  # units of context per question


@dataclass(frozen=True)
class Spent:
    """The most questions that some first k chunks answer within a budget; `context` is their mean total size, in units.

    `tied` settings do as well, this one at the least context; `deepest`: k is the deepest rank that was kept, more may fit.
    """

    budget: int
    trial: TrialResult
    k: int
    context: float
    hits: int
    of: int
    interval: Interval | None
    tied: int
    deepest: bool


def within_budgets(trials: Sequence[TrialResult], groups: Groups) -> tuple[Spent, ...]:
    """For each budget the best of complete trials; a budget that no first chunk fits has none."""
    offers = [(t, _contexts(t)) for t in trials]
    found = (_best(budget, offers, groups) for budget in BUDGETS)
    return tuple(spent for spent in found if spent)


def _contexts(trial: TrialResult) -> FloatArray:
    """Mean total size of the first 1, 2, ... chunks over the answerable questions, as deep as they were kept."""
    sizes = [[p.size for p in q.passages] for q in trial.asked]
    depth = max(map(len, sizes), default=0)
    padded = np.array([[*s, *([0] * (depth - len(s)))] for s in sizes], dtype=np.float64).reshape(len(sizes), depth)
    return np.asarray(padded.cumsum(axis=1).mean(axis=0) if sizes else padded.sum(axis=0), dtype=np.float64)


def _best(budget: int, offers: Sequence[tuple[TrialResult, FloatArray]], groups: Groups) -> Spent | None:
    fitting = [(t, k, float(c[k - 1]), len(c)) for t, c in offers for k in range(1, len(c) + 1) if c[k - 1] <= budget]
    if not fitting:
        return None
    trial, k, context, depth = min(fitting, key=lambda f: (-f[0].hits(f[1]), f[2], f[0].point))
    most = trial.hits(k)
    asked = trial.asked
    first = np.array([float(q.hit_rank is not None and q.hit_rank <= k) for q in asked])
    interval = mean_interval(first, numbered([groups.get(q.question_id, q.question_id) for q in asked]))
    tied = len({t.trial for t, at, _, _ in fitting if t.hits(at) == most}) - 1
    return Spent(budget, trial, k, context, most, len(asked), interval, tied, k == depth)
