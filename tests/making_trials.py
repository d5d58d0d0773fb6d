"""Trials to test statistics with: ten questions by counts of hits, or any number by the rank of each question's answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from making import scored
from scipy.stats import norm

from harness.records import Bound, Evaluation, Point, QuestionScore, TrialResult

QUESTIONS = 10
KS = (1, 3)
RANKS = np.array([1, 2, 3, 4, 5, 0])
SHARES = np.array([0.35, 0.2, 0.1, 0.07])  # of the answers that are not first: at ranks 2, 3, 4 and 5; the rest is not found


def values_at(rank: int) -> dict[str, float]:
    """What a question has whose answer stands at a rank; 0: nowhere."""
    return {**{f"hit_at_{k}": float(0 < rank <= k) for k in KS}, "mrr": 1 / rank if rank else 0.0}


def asked(ranks: Sequence[int], **more: Any) -> tuple[QuestionScore, ...]:
    """Answerable questions q0, q1, ... by the rank of their answers, 0: nowhere."""
    return tuple(
        replace(scored(0.5), question_id=f"q{i}", hit_rank=int(r) or None, values=values_at(int(r)), cause=None, **more)
        for i, r in enumerate(ranks)
    )


def measured(number: int, questions: tuple[QuestionScore, ...], point: Point, **costs: float) -> TrialResult:
    """A complete trial; metrics are means over its questions, costs as given."""
    names = questions[0].values
    means = {name: float(np.mean([q.values[name] for q in questions])) for name in names}
    context = {"ceiling": 1.0, "context_at_3": 150.0, "index_ratio": 1.0, "chunks": 100.0, "truncated_share": 0.0}
    evaluation = Evaluation({**means, **context, **costs}, questions, f"{number} {point}", "s", {"count": 0}, 1, 1, {})
    return TrialResult(number, point, "words", 0.0, 1.0, evaluation)


def ranked(
    ranks: Any, points: Sequence[Point] | None = None, costs: Sequence[dict[str, float]] | None = None
) -> list[TrialResult]:
    """A trial for each column of ranks of shape (questions, settings); of hits and misses: ones and zeros."""
    table = np.asarray(ranks, dtype=np.int64)
    places = points or [Point("words", 10 * (i + 1), 0.0) for i in range(table.shape[1])]
    each = costs or [{"context_at_3": 3.0 * p.chunk_size} for p in places]
    return [measured(i, asked(column), places[i], **each[i]) for i, column in enumerate(table.T.tolist())]


def trial(number, hits=5, hits3=None, size=50, context=150.0, ratio=1.0, questions=None, point=None, truncated=0.0):
    """A complete trial of ten answerable questions, so many of them hit at once and within three."""
    hits3 = hits if hits3 is None else hits3
    made = questions or asked([1] * hits + [2] * (hits3 - hits) + [0] * (QUESTIONS - hits3))
    costs = {"hit_at_1": hits / QUESTIONS, "hit_at_3": hits3 / QUESTIONS}
    costs |= {"context_at_3": context, "index_ratio": ratio, "truncated_share": truncated}
    found = measured(number, made, point or Point("words", size, 0.0), **costs)
    return replace(found, evaluation=replace(found.evaluation, chunking_sha256=f"{size}"))


def failed(number, error="out of memory"):
    return TrialResult(number, Point("words", 1, 0.0), "words", 0.0, 1.0, error=error)


def pruned(number: int, size: int, at_most: int, of: int = QUESTIONS) -> TrialResult:
    """A trial that was given up when it could have no more than so many hits at 1 and 3."""
    metrics = {f"hit_at_{k}": at_most / of for k in KS}
    bound = Bound(metrics, of, "hit", 1, f"pruned {size}", "s", 1, 1, {})
    return TrialResult(number, Point("words", size, 0.0), "words", 0.0, 1.0, bound=bound)


def drawn_groups(rng: np.random.Generator, number: int, most: int = 6) -> Any:
    """Groups of one to `most` questions; of shape (questions,)."""
    return np.repeat(np.arange(number), rng.integers(1, most + 1, number))


def drawn_ranks(
    rng: np.random.Generator, rates: Sequence[float], groups: Any, alike: float = 0.4, together: float = 0.0, drift: float = 0.0
) -> Any:
    """Ranks of shape (questions, settings) whose first places have such true rates, by a latent normal variable.

    Shares of its variance: `alike` is a question's own, the same under all settings; `together` a group's; `drift` a group's
    under one setting; the rest is chance.
    """
    number, of = len(groups), len(rates)
    at = np.unique(groups, return_inverse=True)[1]
    shapes = ((alike, (number, 1), None), (together, (at.max() + 1, 1), at), (drift, (at.max() + 1, of), at))
    latent = np.sqrt(1 - alike - together - drift) * rng.normal(size=(number, of))
    for share, shape, index in shapes:
        part = np.sqrt(share) * rng.normal(size=shape)
        latent = latent + (part if index is None else part[index])
    return RANKS[np.stack([np.searchsorted(_edges(rate), c) for rate, c in zip(rates, latent.T, strict=True)], axis=1)]


def _edges(rate: float) -> Any:
    return norm.ppf(rate + (1 - rate) * np.concatenate([[0.0], SHARES.cumsum()]))


def reciprocal(ranks: Any) -> Any:
    """Reciprocal ranks, 0 for what was not found."""
    return np.divide(1.0, ranks, out=np.zeros(np.shape(ranks)), where=np.asarray(ranks) > 0)


def true_mrr(rate: float) -> float:
    """The mean reciprocal rank that settings of such a rate truly have."""
    return float(rate + (1 - rate) * (SHARES * reciprocal(RANKS[1:5])).sum())
