"""What a search would cost, and the best it could reach, before anything is embedded for good."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.embedders import Embedder
from harness.experiment import Experiment
from harness.formats import Labelled
from harness.label_advice import read_sound
from harness.pipeline import read_tokens
from harness.records import Chunking, Point, Question

MOST_POINTS = 120
SAMPLE_TOKENS = 4000
DENSE_BYTES = 4


@dataclass(frozen=True)
class PointEstimate:
    """One setting, measured without embedding it. `ceiling` is an upper bound of every hit rate."""

    point: Point
    feasible: bool
    ceiling: float | None = None  # None, like the rest, for an infeasible point
    index_ratio: float | None = None
    chunks: int | None = None
    truncated_share: float | None = None
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Estimate:
    """The space's points (all, or a lattice of them) and the cost of the sweep; tokens as the model would read them."""

    points: tuple[PointEstimate, ...]
    of: int | None  # points of the space; None: continuous
    tokens_per_pass: int  # the corpus once, without overlap
    tokens_per_second: float
    trials: int
    tokens: int
    seconds: float
    bytes: int  # vectors of the largest index
    price: float | None


def estimate(experiment: Experiment, trials: int | None = None, price_per_million: float | None = None) -> Estimate:
    """Ceiling, index ratio and truncation of the whole space; tokens, seconds, bytes and price of the sweep."""
    labelled = read_sound(experiment)
    embedder = experiment.load_embedder()
    ruler = experiment.ruler(labelled, embedder)
    texts = [d.text for d in labelled.corpus.documents]
    per_pass = int(embedder.token_counts(texts).sum())
    speed = _tokens_per_second(embedder, texts)
    per_unit = per_pass / ruler.source_units
    points, bytes_ = [], 0
    chosen, of = _points(experiment)
    for point in chosen:
        if not point.feasible:
            points.append(PointEstimate(point, feasible=False))
            continue
        chunking = experiment.chunk(labelled.corpus, point, ruler)
        points.append(_measure(point, chunking, labelled, embedder, per_unit, speed, experiment.search.truncation == "refuse"))
        bytes_ = max(bytes_, _index_bytes(embedder, chunking))
    budget = trials or experiment.search.trials
    number = (min(budget, of) if of is not None else budget) + len(experiment.baselines)
    mean = float(np.mean([p.tokens for p in points if p.feasible and p.tokens is not None] or [0]))
    tokens = round(mean * number)
    price = None if price_per_million is None else tokens / 1e6 * price_per_million
    return Estimate(tuple(points), of, per_pass, speed, number, tokens, round(tokens / speed, 1), bytes_, price)


def _points(experiment: Experiment) -> tuple[list[Point], int | None]:
    first = [*experiment.baselines, *experiment.points]
    if experiment.search.sampler == "points":
        return first, len(experiment.points)
    space = experiment.space
    count = space.count()
    if count is not None and count <= MOST_POINTS:
        return list(dict.fromkeys((*space.points(), *first))), count
    per_axis = max(2, int((MOST_POINTS / len(space.splitters)) ** 0.5))
    return list(dict.fromkeys((*space.sample(per_axis), *first))), count


def ceiling_of(chunking: Chunking, questions: Sequence[Question]) -> float:
    """Share of the questions of which some alternative's places each lie whole in some chunk."""
    reachable = [
        any(all(len(chunking.answering(place, q.evidence)) for place in alternative) for alternative in q.evidence.alternatives)
        for q in questions
        if q.evidence
    ]
    return sum(reachable) / len(reachable)


def _measure(
    point: Point, chunking: Chunking, labelled: Labelled, embedder: Embedder, per_unit: float, speed: float, refuse: bool
) -> PointEstimate:
    if embedder.max_tokens is None:
        tokens, truncated = round(float(chunking.stored.sum()) * per_unit), 0.0
    else:
        read, beyond = read_tokens(chunking.texts(), embedder)
        tokens, truncated = int(read.sum()), np.count_nonzero(beyond) / len(chunking)
    return PointEstimate(
        point,
        not (truncated and refuse),
        ceiling_of(chunking, labelled.dev),
        chunking.index_ratio,
        len(chunking),
        truncated,
        tokens,
        round(tokens / speed, 2),
    )


def _index_bytes(embedder: Embedder, chunking: Chunking) -> int:
    dimensions = embedder.identity.parts.get("dimensions")
    if dimensions:
        return len(chunking) * int(dimensions) * DENSE_BYTES
    # Sparse: at most one 12-byte entry a word and word pair.
    return int(chunking.size.sum()) * 2 * 12


def _tokens_per_second(embedder: Embedder, texts: Sequence[str]) -> float:
    """Measured on a sample of the corpus, cut into pieces of about the model's length, after a warm-up."""
    pieces = [text[at : at + 800] for text in texts for at in range(0, len(text), 800)]
    counts = embedder.token_counts(pieces)
    enough = int(np.searchsorted(np.cumsum(counts), SAMPLE_TOKENS)) + 1
    fitted = embedder.fit(pieces)
    fitted.embed(pieces[:2], "document")
    started = time.perf_counter()
    fitted.embed(pieces[:enough], "document")
    return float(counts[:enough].sum()) / max(time.perf_counter() - started, 1e-6)


def as_json(found: Estimate) -> dict[str, Any]:
    points = [{**p.point.as_params(), **{k: v for k, v in vars(p).items() if k != "point"}} for p in found.points]
    return {**vars(found), "points": points}
