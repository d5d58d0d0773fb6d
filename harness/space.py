"""The search space: axes of settings and the points they span; an axis more is a field of `Space` and of `Point`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from harness.records import Point

MOST_POINTS = 100_000  # of a space that is listed whole


@dataclass(frozen=True)
class Choices:
    """An axis given as a list."""

    values: tuple[Any, ...]

    def count(self) -> int:
        return len(self.values)

    def grid(self) -> tuple[Any, ...]:
        return self.values

    def sample(self, most: int) -> tuple[Any, ...]:
        return self.values


@dataclass(frozen=True)
class Range:
    """An axis given as an interval, both ends included; without a step it is continuous."""

    low: float
    high: float
    step: float | None
    log: bool = False

    def count(self) -> int | None:
        """How many values it has; None when it is continuous."""
        if self.step is None:
            return 1 if self.low == self.high else None
        return int((self.high - self.low) / self.step + 1e-9) + 1

    def grid(self) -> tuple[Any, ...] | None:
        """All its values in order; None when it is continuous."""
        count = self.count()
        return None if count is None else tuple(self._value(i) for i in range(count))

    def _value(self, index: int) -> Any:
        value = self.low + index * (self.step or 0)
        return value if isinstance(value, int) else round(value, 10)

    def sample(self, most: int) -> tuple[Any, ...]:
        """At most so many of its values, evenly spaced (in the logarithm for a log range), both ends among them."""
        count = self.count()
        if count is not None and count <= most:
            return tuple(self._value(i) for i in range(count))
        space = np.geomspace if self.log else np.linspace
        wanted = space(self.low, self.high, most).tolist()
        if count is None or self.step is None:
            return tuple(round(v, 10) for v in wanted)
        nearest = {min(max(round((v - self.low) / self.step), 0), count - 1) for v in wanted}
        return tuple(self._value(i) for i in sorted(nearest))


Axis = Choices | Range


@dataclass(frozen=True)
class Space:
    """All settings that a search may try."""

    splitters: tuple[str, ...]
    chunk_size: Axis
    overlap_ratio: Axis
    prepend: tuple[tuple[str, ...], ...] = ((),)
    ignored: Mapping[str, frozenset[str]] = field(default_factory=dict)  # axes that change nothing, by splitter

    def canonical(self, point: Point) -> Point:
        """The one point that stands for all which its splitter can't tell apart."""
        ignored = self.ignored.get(point.splitter, frozenset())
        size = self.chunk_size.sample(1)[0] if "chunk_size" in ignored else point.chunk_size
        ratio = self.overlap_ratio.sample(1)[0] if "overlap_ratio" in ignored else point.overlap_ratio
        return replace(point, chunk_size=int(size), overlap_ratio=float(ratio))

    def count(self) -> int | None:
        """How many points it has; None when an axis is continuous."""
        sizes, ratios = self.chunk_size.count(), self.overlap_ratio.count()
        if sizes is None or ratios is None:
            return None
        by_splitter = (self._heeded(s, "chunk_size", sizes) * self._heeded(s, "overlap_ratio", ratios) for s in self.splitters)
        return sum(by_splitter) * len(self.prepend)

    def _heeded(self, splitter: str, axis: str, count: int) -> int:
        return 1 if axis in self.ignored.get(splitter, ()) else count

    def points(self) -> tuple[Point, ...]:
        """Every point in canonical order. Raises ValueError when an axis is continuous or they are above MOST_POINTS."""
        sizes, ratios = self.chunk_size, self.overlap_ratio
        count = self.count()
        if count is None or count > MOST_POINTS:
            raise ValueError(f"{count or 'endlessly many'} points can't be listed")
        every = product(self.splitters, sizes.grid() or (), ratios.grid() or (), self.prepend)
        return tuple(sorted({self.canonical(Point(*p)) for p in every}))

    def sample(self, most_per_axis: int) -> Iterator[Point]:
        """A lattice over the space, at most so many values an axis."""
        sizes, ratios = self.chunk_size.sample(most_per_axis), self.overlap_ratio.sample(most_per_axis)
        every = product(self.splitters, sizes, ratios, self.prepend)
        yield from dict.fromkeys(self.canonical(Point(*p)) for p in every)

    def off_lists(self, points: Iterable[Point]) -> list[tuple[str, str]]:
        """Values of points that an axis given as a list lacks, as (axis, value in words)."""
        lacks = []
        for point in points:
            for axis, values, value in (
                ("splitter", self.splitters, point.splitter),
                ("chunk_size", getattr(self.chunk_size, "values", None), point.chunk_size),
                ("overlap_ratio", getattr(self.overlap_ratio, "values", None), point.overlap_ratio),
                ("prepend", self.prepend, point.prepend),
            ):
                if values is not None and value not in values:
                    lacks.append((axis, f"{axis} {value}"))
        return list(dict.fromkeys(lacks))

    def as_json(self) -> dict[str, Any]:
        """Itself as it is when read back from JSON: lists, no tuples."""
        return {
            "splitter": list(self.splitters),
            "chunk_size": _axis_json(self.chunk_size),
            "overlap_ratio": _axis_json(self.overlap_ratio),
            **({"prepend": [list(p) for p in self.prepend]} if self.prepend != ((),) else {}),
        }


def _axis_json(axis: Axis) -> dict[str, Any]:
    return {"values": list(axis.values)} if isinstance(axis, Choices) else asdict(axis)
