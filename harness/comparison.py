"""Every setting beside the leader on the same questions: which are measurably worse, and what this question set can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness import stats
from harness.ranking import FloatArray
from harness.records import TrialResult
from harness.scores import Scores
from harness.stats import SIGNIFICANCE, Interval


@dataclass(frozen=True)
class Beside:
    """One setting beside the leader; differences are its score minus the leader's, `won` and `lost` count questions.

    `p_value` is one-sided, that it is worse; `corrected` is that times the number of candidates.
    """

    trial: TrialResult
    value: float
    interval: Interval | None
    difference: float
    difference_interval: Interval | None
    won: int
    lost: int
    p_value: float
    corrected: float

    @property
    def measurably_worse(self) -> bool:
        return self.corrected <= SIGNIFICANCE

    @property
    def identical(self) -> bool:
        """Whether no question tells it from the leader."""
        return self.won == self.lost == 0


@dataclass(frozen=True)
class Comparison:
    """All complete settings beside the leader by one metric, in the order given; the leader is among them.

    `candidates` is the number of settings that cut differently and could have been chosen, pruned ones too: the leader was picked
    out of so many, and p-values are corrected for as many.
    """

    metric: str
    leader: TrialResult
    questions: int
    groups: int
    reliable: bool
    hits: bool
    candidates: int
    baselines: bool  # whether these may be chosen, too
    settings: tuple[Beside, ...]
    needed: tuple[int | None, int | None]  # questions to tell the next best from the leader, and half of the tie set

    @property
    def tie_set(self) -> tuple[Beside, ...]:
        """Settings that are not measurably worse than the leader, leader included; baselines only where these may be chosen.

        Reported, never used to choose: not measurably worse is not as good.
        """
        return tuple(s for s in self._compared if not s.measurably_worse)

    @property
    def compared(self) -> int:
        """Settings that could have been chosen, leader included."""
        return len(self._compared)

    @property
    def _compared(self) -> list[Beside]:
        return [s for s in self.settings if not s.trial.aside and (self.baselines or not s.trial.point.baseline)]

    @property
    def undecided(self) -> bool:
        """Whether more than half of the settings tie: this question set can't decide between them."""
        return self.compared > 1 and 2 * len(self.tie_set) > self.compared

    @property
    def alike(self) -> bool:
        """Whether all of the tie set score as the leader does, on average: there is no difference to look for."""
        return all(abs(s.difference) <= stats.TOLERANCE for s in self.tie_set)

    def of(self, trial: TrialResult) -> Beside | None:
        return next((s for s in self.settings if s.trial.trial == trial.trial), None)


def compare(found: Scores, leader: TrialResult, candidates: int, seed: int, baselines: bool = False) -> Comparison:
    """Compare settings with the leader; `baselines`: whether these may be chosen, too.

    P-values are one-sided with Bonferroni's correction for the candidates, any of which may happen to lead. So the truly best
    setting is in the tie set in at least 95 % of all question sets: to miss it, one of its tests against each of the others would
    have to fail. And where all are equally good, at most 5 % show a leader alone: one would have to beat some given other.
    """
    differences = found.differences(leader)
    factor = max(1, candidates)
    p_values = stats.worse(differences, found.groups, seed, factor)
    settings = tuple(
        _beside(found, trial, differences[:, i], float(p_values[i]), min(1.0, factor * float(p_values[i])))
        for i, trial in enumerate(found.trials)
    )
    unfinished = Comparison(
        metric=found.metric,
        leader=leader,
        questions=len(found.questions),
        groups=found.group_count,
        reliable=found.reliable,
        hits=found.hits,
        candidates=candidates,
        baselines=baselines,
        settings=settings,
        needed=(None, None),
    )
    return _with_needed(unfinished, found, differences, SIGNIFICANCE / factor)


def _beside(found: Scores, trial: TrialResult, difference: FloatArray, p_value: float, corrected: float) -> Beside:
    values = found.column(trial)
    return Beside(
        trial=trial,
        value=float(values.mean()),
        interval=stats.mean_interval(values, found.groups),
        difference=float(difference.mean()),
        difference_interval=stats.difference_interval(difference, found.groups),
        won=int((difference > stats.TOLERANCE).sum()),
        lost=int((difference < -stats.TOLERANCE).sum()),
        p_value=p_value,
        corrected=corrected,
    )


def _with_needed(made: Comparison, found: Scores, differences: FloatArray, significance: float) -> Comparison:
    """About how many questions would decide, from the losses as they were seen."""
    tied = {s.trial.trial for s in made.tie_set} - {made.leader.trial}
    columns = [differences[:, i] for i, trial in enumerate(found.trials) if trial.trial in tied]
    needed = [stats.questions_needed(column, found.groups, significance) for column in columns if np.any(column)]
    known = sorted(n for n in needed if n is not None)
    half = known[(len(columns) - 1) // 2] if known and 2 * len(known) >= len(columns) else None
    nearest = max((c for c in columns if np.any(c)), key=lambda c: float(c.mean()), default=None)
    first = None if nearest is None else stats.questions_needed(nearest, found.groups, significance)
    return Comparison(**{**vars(made), "needed": (first, half)})


def candidates(results: Sequence[TrialResult], baselines: bool = False) -> int:
    """How many different cuts could have been chosen: complete and pruned ones, baselines only where these may be chosen."""
    could = [r for r in results if not r.aside and (baselines or not r.point.baseline)]
    return len({r.chunking_sha256 for r in could if r.chunking_sha256})
