"""What a search would cost, and the best it could reach, before anything is embedded for good."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.embedders import Embedder
from harness.embedders.cache import uncached
from harness.estimated import Estimate, PointEstimate
from harness.experiment import Experiment
from harness.formats import Labelled
from harness.label_advice import read_sound
from harness.measurement import read_tokens
from harness.records import IntArray, Point
from harness.sampled import part_of, speed_of
from harness.speed import Speed
from harness.tokenizers import Ruler
from harness.unembedded import DENSE_BYTES, Look, look

MOST_POINTS, FEWEST_POINTS = 120, 12
PASSES = {"whole-document": 1.0, "whole-section": 1.0, "conventional": 1.25}  # over the corpus, about
MOST_CHARACTERS = 300_000_000  # that are cut, of all points together: about a minute
MOST_COUNTED = (
    150_000_000  # characters whose tokens are counted, of all points together; of more, those of a sample of the chunks
)


def estimate(experiment: Experiment, trials: int | None = None, price_per_million: float | None = None) -> Estimate:
    """Ceiling, index ratio and truncation of the whole space; tokens, seconds, bytes and price of the sweep."""
    labelled = read_sound(experiment)
    embedder = experiment.load_embedder()
    ruler = experiment.ruler(labelled, embedder)
    speed = speed_of(experiment, part_of(labelled.corpus), embedder)
    characters = sum(len(d.text) for d in labelled.corpus.documents)
    chosen, of = _points(experiment, characters)
    refuse = experiment.search.truncation == "refuse"
    every = (
        1 if refuse else max(1, -(-characters * len(chosen) // MOST_COUNTED))
    )  # one chunk that is cut makes a point infeasible
    looks = _looks(experiment, labelled, embedder, ruler, chosen, every)
    points = _estimates(chosen, looks, speed, refuse)
    read = {p.point: looks[p.point] if p.feasible else looks[p.point].unread() for p in points if p.point in looks}
    budget = trials or experiment.search.trials
    planned = _planned(experiment, budget, of)
    known = planned is not None and set(planned) <= set(chosen)
    kept = uncached(embedder) is not embedder and not embedder.learns
    if planned is not None and known:
        cost = _together([read[p] for p in planned if p in read], speed, kept)
    else:
        cost = _mean([_together([read[p]], speed, kept) if p in read else _Cost() for p in chosen if not p.baseline]).times(
            budget
        )
        cost = cost + _together([read[p] for p in experiment.baselines if p in read], speed, kept)
    asked = [q.text for q in labelled.dev]
    tokens_per_pass = int(embedder.token_counts([d.text for d in labelled.corpus.documents]).sum())
    asking = speed.seconds(read_tokens(asked, embedder)[0][~embedder.held(asked, "query")])
    dimensions = int(embedder.identity.parts.get("dimensions", 0))
    return Estimate(
        points=tuple(points),
        of=of,
        unit=ruler.unit,
        tokens_per_pass=tokens_per_pass,
        tokens_per_second=_tokens_per_second(looks.values(), speed),
        trials=len(planned) if planned is not None else budget + len(experiment.baselines),
        exact=known,
        counted=1 / every,
        tokens=round(cost.tokens),
        tokens_held=round(cost.held),
        seconds=round(cost.seconds + asking, 1),
        bytes=max((p.bytes or 0 for p in points), default=0),
        cache_bytes=round(cost.vectors * dimensions * DENSE_BYTES) if kept else None,
        baseline_tokens=round(tokens_per_pass * sum(PASSES[b.splitter] for b in experiment.aside)),
        price=None if price_per_million is None else round(cost.tokens - cost.held) / 1e6 * price_per_million,
    )


@dataclass(frozen=True)
class _Cost:
    """What measuring some points whole takes."""

    tokens: float = 0.0
    held: float = 0.0  # of the tokens, in texts whose vectors are at hand
    seconds: float = 0.0
    vectors: float = 0.0

    def times(self, number: float) -> _Cost:
        return _Cost(*(value * number for value in vars(self).values()))

    def __add__(self, other: _Cost) -> _Cost:
        return _Cost(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


def _together(looks: Sequence[Look], speed: Speed, kept: bool) -> _Cost:
    """Of a sweep over these chunkings: equal ones are measured once, and a text of several is embedded once where it is kept."""
    distinct = list({found.sha256: found for found in looks}.values())
    if not distinct:
        return _Cost()
    read = np.concatenate([found.read for found in distinct])
    held = np.concatenate([found.held for found in distinct])
    if kept:
        _, first = np.unique(np.concatenate([found.keys for found in distinct]), return_index=True)
        read, held = read[first], held[first]
    seconds = sum(found.seconds for found in distinct) + speed.seconds(read[~held])
    return _Cost(float(read.sum()), float(read[held].sum()), seconds, float(len(read)))


def _mean(costs: Sequence[_Cost]) -> _Cost:
    return sum(costs, _Cost()).times(1 / len(costs)) if costs else _Cost()


def _tokens_per_second(looks: Iterable[Look], speed: Speed) -> float:
    every: list[IntArray] = [found.read for found in looks]
    read = np.concatenate(every) if every else np.zeros(0, dtype=np.int64)
    return round(float(read.sum()) / max(speed.seconds(read), 1e-9), 1)


def _points(experiment: Experiment, characters: int) -> tuple[list[Point], int | None]:
    """The points to look at, and how many the space has: all of them, or a lattice as dense as the corpus allows."""
    first = [*experiment.baselines, *experiment.points]
    if experiment.search.sampler == "points":
        return first, len(experiment.points)
    most = min(max(MOST_CHARACTERS // max(characters, 1), FEWEST_POINTS), MOST_POINTS)
    space = experiment.space
    count = space.count()
    if count is not None and count <= most:
        return list(dict.fromkeys((*space.points(), *first))), count
    per_axis = max(2, int((most / (len(space.splitters) * len(space.prepend))) ** 0.5))
    return list(dict.fromkeys((*space.sample(per_axis), *first))), count


def _planned(experiment: Experiment, budget: int, of: int | None) -> list[Point] | None:
    """The points that a sweep measures, baselines last; None where a sampler draws them from a larger space."""
    if experiment.search.sampler == "points":
        return [*experiment.points[:budget], *experiment.baselines]
    if of is None or of > budget:
        return None
    together = list(dict.fromkeys((*experiment.points, *experiment.space.points())))
    if experiment.search.sampler != "grid" and len(together) > budget:
        return None
    return [*together[:budget], *experiment.baselines]


def _looks(
    experiment: Experiment, labelled: Labelled, embedder: Embedder, ruler: Ruler, points: Sequence[Point], every: int
) -> dict[Point, Look]:
    """Of each point whose overlap is below its size; equal chunkings are looked at once."""
    found: dict[Point, Look] = {}
    known: dict[str, Look] = {}
    for point in points:
        if not point.feasible:
            continue
        began = time.perf_counter()
        chunking = experiment.chunk(labelled.corpus, point, ruler)
        cutting = time.perf_counter() - began
        if chunking.sha256 not in known:
            known[chunking.sha256] = look(chunking, labelled.dev, embedder, experiment.similarity, every)
        same = known[chunking.sha256]
        found[point] = replace(same, seconds=same.seconds + cutting)
    return found


def _estimates(points: Sequence[Point], looks: dict[Point, Look], speed: Speed, refuse: bool) -> list[PointEstimate]:
    first: dict[str, Point] = {}
    return [
        _estimated(point, looks[point], speed, refuse, first.setdefault(looks[point].sha256, point))
        if point in looks
        else PointEstimate(point, feasible=False)
        for point in points
    ]


def _estimated(point: Point, found: Look, speed: Speed, refuse: bool, first: Point) -> PointEstimate:
    return PointEstimate(
        point=point,
        feasible=not (found.truncated_share and refuse),
        ceiling=found.ceiling,
        index_ratio=found.index_ratio,
        chunks=found.chunks,
        truncated_share=found.truncated_share,
        tokens=found.tokens,
        tokens_held=found.tokens_held,
        seconds=round(found.seconds + speed.seconds(found.read[~found.held]), 2),
        bytes=found.bytes,
        same_as=str(first) if first != point else None,
    )
