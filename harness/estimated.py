"""What an estimate says: of each point, of each chunk size, and of the sweep; a figure more is a field here."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from harness.records import Point


@dataclass(frozen=True)
class PointEstimate:
    """One setting, measured without embedding it. `ceiling` is an upper bound of every hit rate."""

    point: Point
    feasible: bool
    ceiling: float | None = None  # None: infeasible, or no answerable question's evidence is a span
    index_ratio: float | None = None  # None, like what follows, where the overlap is not below the size
    chunks: int | None = None
    truncated_share: float | None = None  # of the chunks
    tokens: int | None = None  # as the model reads them; identical texts once
    tokens_held: int | None = None  # of these, in texts whose vectors are at hand
    seconds: float | None = None  # of what is not at hand
    bytes: int | None = None  # of the index
    same_as: str | None = None  # an earlier setting with the same chunks: a sweep measures them once

    def as_json(self) -> dict[str, Any]:
        return {**self.point.as_params(), **{k: v for k, v in vars(self).items() if k != "point"}}


@dataclass(frozen=True)
class LeastOverlap:
    """The smallest overlap of those tried at a chunk size that reaches the highest ceiling which any of them reaches."""

    splitter: str
    chunk_size: int  # units
    prepend: tuple[str, ...]
    overlap_ratio: float
    ceiling: float
    full: bool  # the ceiling is 1: every question's evidence lies whole in some chunk
    index_ratio: float
    index_ratio_without: float | None  # at no overlap; None where that was not tried
    ceiling_without: float | None
    tried: int  # overlaps

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "prepend": "+".join(self.prepend)}


@dataclass(frozen=True)
class Estimate:
    """The space's points (all, or a lattice of them) and what the sweep costs that measures every one of its points whole."""

    points: tuple[PointEstimate, ...]
    of: int | None  # points of the space; None: continuous
    unit: str  # of chunk sizes
    tokens_per_pass: int  # the corpus once, without overlap, as the model would count it
    tokens_per_second: float  # over these points
    trials: int
    exact: bool  # the sweep's points are known and all among `points`; else it is their mean times the trials
    counted: float  # share of the chunks whose tokens were counted; those of the others follow from their length
    tokens: int
    tokens_held: int
    seconds: float  # of what is not at hand
    bytes: int  # vectors of the largest index
    cache_bytes: int | None  # that the vectors of all these texts take; None: the embedder's are not kept
    price: float | None  # of what is not at hand
    baseline_tokens: int = 0  # about so many come on top for baselines that the file does not name

    @property
    def least_overlap(self) -> tuple[LeastOverlap, ...]:
        """One for each splitter, prefix and chunk size, in order; without those that have no ceiling."""
        sized = [p for p in self.points if p.feasible and not p.point.baseline and p.ceiling is not None]

        def size(p: PointEstimate) -> tuple[str, tuple[str, ...], int]:
            return p.point.splitter, p.point.prepend, p.point.chunk_size

        return tuple(_least(list(group)) for _, group in groupby(sorted(sized, key=size), key=size))

    def as_json(self) -> dict[str, Any]:
        least = [found.as_json() for found in self.least_overlap]
        return {**vars(self), "points": [p.as_json() for p in self.points], "least_overlap": least}


def _least(of_one_size: list[PointEstimate]) -> LeastOverlap:
    by_overlap = sorted(of_one_size, key=lambda p: p.point.overlap_ratio)
    best = max(by_overlap, key=lambda p: p.ceiling or 0)  # of equals the first, which has the least overlap
    without = by_overlap[0] if by_overlap[0].point.overlap == 0 else None
    ceiling = best.ceiling or 0.0
    return LeastOverlap(
        best.point.splitter,
        best.point.chunk_size,
        best.point.prepend,
        best.point.overlap_ratio,
        ceiling,
        ceiling == 1,
        best.index_ratio or 0.0,
        without.index_ratio if without else None,
        without.ceiling if without else None,
        len(by_overlap),
    )
