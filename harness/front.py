"""The Pareto front of several objectives: settings that nothing beats in one without losing in another, and how one is named.

Optuna's own `best_trials` knows neither constraint nor repeated points; a label more is a line in `_labels`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from harness import selection
from harness.errors import Fault, HarnessError, counted, nearest
from harness.label_checks import listed
from harness.metrics import COSTS
from harness.ranking import FloatArray
from harness.records import TrialResult
from harness.selection import Selection

MOST_LISTED = 12  # points of a front in a message
Row = tuple[float, ...]


@dataclass(frozen=True)
class FrontPoint:
    """A trial on the front. `values` are its objectives as measured; `ties` the other trials that have the same in all."""

    trial: TrialResult
    values: Mapping[str, float]
    labels: tuple[str, ...]
    ties: tuple[int, ...]

    @property
    def name(self) -> str:
        """The setting as it is printed, such as `words 80/15`."""
        return str(self.trial.point)

    def __str__(self) -> str:
        figures = ", ".join(f"{name} {value:.4g}" for name, value in self.values.items())
        tie = [f"ties with trial {listed([str(n) for n in self.ties])}"] if self.ties else []
        return "; ".join((f"{self.name} (trial {self.trial.trial}): {figures}", *self.labels, *tie))

    def as_json(self) -> dict[str, Any]:
        return {
            "trial": self.trial.trial,
            "name": self.name,
            "labels": list(self.labels),
            "ties": list(self.ties),
            "params": self.trial.params,
            "values": dict(self.values),
        }


def metric_names(objective: Sequence[str]) -> tuple[str, ...]:
    """The metrics of objectives; the minus that a cost may have says nothing more than that it is one."""
    return tuple(part.removeprefix("-") for part in objective)


def directions(objective: Sequence[str]) -> tuple[Literal["maximize", "minimize"], ...]:
    """What is better of each objective: less of a cost, more of any other metric."""
    return tuple("minimize" if name in COSTS else "maximize" for name in metric_names(objective))


def values(trial: TrialResult, objective: Sequence[str]) -> Row | None:
    """A complete trial's objectives as measured; None where one of them is undefined."""
    found = [trial.metrics.get(name) for name in metric_names(objective)]
    known = tuple(v for v in found if v is not None)
    return known if len(known) == len(found) else None


def front(results: Sequence[TrialResult], rule: Selection, objective: Sequence[str] = ()) -> tuple[FrontPoint, ...]:
    """The distinct trials that may be chosen and are not dominated, best in the first objective first, ties all kept.

    `objective`: other objectives than the rule's. A trial in which one of them is undefined is not on the front.
    """
    names = metric_names(objective or rule.objective)
    measured = [(t, found) for t in selection.affordable(results, rule) if (found := values(t, names))]
    measured.sort(key=lambda pair: (*(-v for v in _upward(pair[1], names)), pair[0].point))  # what dominates one comes before it
    kept: list[tuple[TrialResult, Row]] = []
    for trial, found in measured:
        if not any(_dominates(_upward(better, names), _upward(found, names)) for _, better in kept):
            kept.append((trial, found))
    if not kept:
        return ()
    labels = _labels(np.array([_upward(found, names) for _, found in kept]), names)
    return tuple(
        FrontPoint(trial, dict(zip(names, found, strict=True)), own, _ties(trial, found, kept))
        for (trial, found), own in zip(kept, labels, strict=True)
    )


def _upward(found: Row, names: Sequence[str]) -> Row:
    """Values turned so that more is better."""
    return tuple(-v if name in COSTS else v for v, name in zip(found, names, strict=True))


def _dominates(a: Row, b: Row) -> bool:
    """Whether `a` is as good in all and better in one, more being better."""
    return a != b and all(x >= y for x, y in zip(a, b, strict=True))


def _ties(trial: TrialResult, found: Row, kept: Sequence[tuple[TrialResult, Row]]) -> tuple[int, ...]:
    return tuple(sorted(other.trial for other, same in kept if same == found and other is not trial))


def _labels(rows: FloatArray, names: Sequence[str]) -> list[tuple[str, ...]]:
    """What each row of a front is besides its setting's name; rows of shape (points, objectives), more being better."""
    best = [(f"best {name}", rows[:, i] == rows[:, i].max()) for i, name in enumerate(names)]
    knee = _knee(rows)
    marked = [*best, *([("knee", (rows == knee).all(axis=1))] if knee is not None else [])]
    return [tuple(label for label, of in marked if of[i]) for i in range(len(rows))]


def _knee(rows: FloatArray) -> FloatArray | None:
    """Of two objectives: what lies farthest beyond the straight line between the front's ends, each objective scaled to its
    range on the front. None where nothing lies beyond it, or not one point farthest."""
    distinct = np.unique(rows, axis=0)
    if rows.shape[1] != 2 or len(distinct) < 3:
        return None
    scaled = (distinct - distinct.min(axis=0)) / np.ptp(distinct, axis=0)  # the ends are (0, 1) and (1, 0)
    beyond = scaled.sum(axis=1) - 1
    farthest = np.flatnonzero(np.isclose(beyond, beyond.max(), rtol=0, atol=1e-9))
    return distinct[farthest[0]] if len(farthest) == 1 and beyond.max() > 1e-9 else None


def undecided(results: Sequence[TrialResult], rule: Selection) -> list[TrialResult]:
    """Pruned trials that may lie on the front: what they can still reach is not dominated by any of its points."""
    names = metric_names(rule.objective)
    rows = [_upward(tuple(p.values.values()), names) for p in front(results, rule)]
    measured = {t.point for t in selection.distinct(results)}
    waiting = [t for t in results if t.bound and t.point not in measured] if names else []
    return [t for t in waiting if not any(_dominates(row, _reachable(t, names)) for row in rows)]


def _reachable(trial: TrialResult, names: Sequence[str]) -> Row:
    """The best that a pruned trial may have in each objective, more being better; without a bound anything."""
    bounds = trial.bound.metrics if trial.bound else {}
    return tuple(math.inf if name not in bounds else -bounds[name] if name in COSTS else bounds[name] for name in names)


def decided(results: Sequence[TrialResult], rule: Selection) -> tuple[FrontPoint, ...]:
    """The front, once it is certain. Raises HarnessError when pruned trials may lie on it, or no trial has all objectives."""
    points = front(results, rule)
    if waiting := undecided(results, rule):
        numbers = listed([str(t.trial) for t in waiting])
        what = f"{counted(len(waiting), 'pruned trial', 'pruned trials')} ({numbers}) may lie on the front"
        raise HarnessError(Fault("[selection] objective", what, "run `harness sweep`: it measures them whole"))
    if not points:
        measured = selection.affordable(results, rule)
        lacking = [n for n in metric_names(rule.objective) if all(n not in t.metrics for t in measured)]
        what = f"the front is empty: {' and '.join(lacking) or 'one objective or another'} is undefined for every complete trial"
        regions = any(t.hit_name != "hit" for t in measured)
        fix = 'write objective = ["document_hit_at_1", "index_ratio"]' if regions else "name other metrics"
        raise HarnessError(Fault("[selection] objective", what, fix))
    return points


def listing(points: Sequence[FrontPoint]) -> str:
    """The points in one line, the first of them."""
    more = f" | and {len(points) - MOST_LISTED} more" if len(points) > MOST_LISTED else ""
    return " | ".join(str(p) for p in points[:MOST_LISTED]) + more


def named(points: Sequence[FrontPoint], name: str) -> FrontPoint:
    """The point of that setting or label; of several that tie, the smallest setting.

    Raises HarnessError when there is none, or a label is that of several which differ.
    """
    wanted = " ".join(name.split())
    matching = [p for p in points if wanted in (p.name, *p.labels)]
    if not matching:
        known = dict.fromkeys(n for p in points for n in (p.name, *p.labels))
        raise HarnessError(Fault("--point", f"'{name}' is no point of the front", nearest(wanted, known)))
    if len({tuple(p.values.values()) for p in matching}) > 1:
        what = f"'{name}' are {len(matching)} points of the front that differ: {listing(matching)}"
        raise HarnessError(Fault("--point", what, "name the setting instead"))
    return min(matching, key=lambda p: p.trial.point)
