"""What every question got under every setting, side by side: what statistics are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.metrics import COSTS
from harness.ranking import FloatArray
from harness.records import IntArray, TrialResult
from harness.stats import few, numbered

Groups = Mapping[str, str]  # question id to the name of its group; a question that is not there is one of its own


@dataclass(frozen=True)
class Scores:
    """One metric of some settings on the answerable questions for which it is defined.

    `values` is of shape (questions, settings), `groups` of shape (questions,).
    """

    metric: str
    questions: tuple[str, ...]
    groups: IntArray
    trials: tuple[TrialResult, ...]
    values: FloatArray

    @property
    def group_count(self) -> int:
        return len(np.unique(self.groups))

    @property
    def reliable(self) -> bool:
        """Whether there are groups enough for an interval to mean what it says."""
        return not few(self.groups)

    @property
    def hits(self) -> bool:
        """Whether every score is 0 or 1: a share is then a count."""
        return bool(np.isin(self.values, (0.0, 1.0)).all())

    def column(self, trial: TrialResult) -> FloatArray:
        """A setting's scores, of shape (questions,)."""
        return self.values[:, self.trials.index(trial)]

    def differences(self, leader: TrialResult) -> FloatArray:
        """Each setting's scores minus the leader's, of the shape of `values`."""
        return self.values - self.column(leader)[:, None]


def first_quality(key: Sequence[str]) -> str | None:
    """The first part of a key that is measured question by question; a cost has nothing to compare."""
    return next((part for part in key if part.removeprefix("-") not in COSTS), None)


def scores(trials: Sequence[TrialResult], metric: str, groups: Groups) -> Scores | None:
    """Scores of complete trials of the same study; None where no question has the metric."""
    columns = [{q.question_id: q.values.get(metric) for q in t.asked} for t in trials]
    asked = [i for i in (columns[0] if columns else ()) if all(c.get(i, 0.0) is not None for c in columns)]
    if not asked:
        return None
    if any(set(asked) - c.keys() for c in columns):
        raise ValueError("trials of one study have the same questions")
    values = np.array([[c[i] for c in columns] for i in asked], dtype=np.float64)
    return Scores(metric, tuple(asked), numbered([groups.get(i, i) for i in asked]), tuple(trials), values)
