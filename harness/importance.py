"""What size, overlap and splitter matter over the whole search: Optuna's importances, and the mean along each axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import stats
from harness.records import TrialResult
from harness.scores import Groups, scores
from harness.stats import Interval

ENOUGH = 10  # settings, below which an importance is chance
MOST_BINS = 6
DEPTH = 8  # of a tree: deeper ones change shares by less than two points, and take seven times as long for a thousand settings
AXES: Mapping[str, Callable[[TrialResult], Any]] = {
    "chunk_size": lambda t: t.point.chunk_size,
    "overlap_ratio": lambda t: t.point.overlap_ratio,
    "splitter": lambda t: t.point.splitter,
    "prepend": lambda t: "+".join(t.point.prepend),
}


@dataclass(frozen=True)
class Bin:
    """Settings that are alike on one axis: the mean of their scores, the interval over questions."""

    label: str
    settings: int
    value: float
    interval: Interval | None


@dataclass(frozen=True)
class Sensitivity:
    """How the settings' scores vary along the axes that vary at all.

    `importances` are shares of the variance between settings, by fANOVA (Hutter et al. 2014); empty where all score alike.
    `marginals` are means along each axis: what else differs is whatever the search tried there.
    """

    metric: str
    settings: int
    importances: Mapping[str, float]
    marginals: Mapping[str, tuple[Bin, ...]]


def sensitivity(trials: Sequence[TrialResult], metric: str, groups: Groups, seed: int) -> Sensitivity | None:
    """Of complete, distinct settings that have a size; None for fewer than ten, or where no question has the metric."""
    settings = [t for t in trials if not t.point.baseline]
    found = scores(settings, metric, groups) if len(settings) >= ENOUGH else None
    if found is None:
        return None
    means = found.values.mean(axis=0)
    varying = {name: [of(t) for t in settings] for name, of in AXES.items() if len({of(t) for t in settings}) > 1}
    marginals = {}
    for name, values in varying.items():
        bins = []
        for label, inside in _binned(values):
            together = found.values[:, inside].mean(axis=1)
            bins.append(Bin(label, int(inside.sum()), float(together.mean()), stats.mean_interval(together, found.groups)))
        marginals[name] = tuple(bins)
    return Sensitivity(metric, len(settings), _importances(varying, means.tolist(), seed), marginals)


def _binned(values: Sequence[Any]) -> list[tuple[str, Any]]:
    """Labels, and which settings are meant: each value where they are few, else as many settings a bin as can be."""
    distinct = sorted(set(values))
    column = np.array(values)
    if len(distinct) <= MOST_BINS or isinstance(distinct[0], str):
        return [(_label(v, v), column == v) for v in distinct]
    edges = np.unique(np.quantile(column, np.linspace(0, 1, MOST_BINS + 1), method="nearest"))
    upper = [*edges[1:-1].tolist(), np.inf]
    found, low = [], -np.inf
    for high in upper:
        inside = (column >= low) & (column < high)
        if inside.any():
            found.append((_label(column[inside].min(), column[inside].max()), inside))
        low = high
    return found


def _label(low: Any, high: Any) -> str:
    if isinstance(low, str):
        return low or "nothing"
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _importances(varying: Mapping[str, Sequence[Any]], means: Sequence[float], seed: int) -> dict[str, float]:
    if not varying or len(set(means)) == 1:
        return {}
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize")
    distributions = {name: _distribution(values) for name, values in varying.items()}
    for at, value in enumerate(means):
        params = {name: values[at] for name, values in varying.items()}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=distributions, value=value))
    evaluator = optuna.importance.FanovaImportanceEvaluator(max_depth=DEPTH, seed=seed)
    found = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return {name: float(share) for name, share in found.items()}


def _distribution(values: Sequence[Any]) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(values[0], str):
        return CategoricalDistribution(sorted(set(values)))
    if isinstance(values[0], int):
        return IntDistribution(min(values), max(values), log=True)
    return FloatDistribution(min(values), max(values))
