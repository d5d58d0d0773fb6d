"""The search space: axes of settings and the points they span; an axis more is a field of `Space` and of `Point`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
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

    def count(self) -> int | None:
        """How many points it has; None when an axis is continuous."""
        sizes, ratios = self.chunk_size.count(), self.overlap_ratio.count()
        return None if sizes is None or ratios is None else len(self.splitters) * sizes * ratios

    def points(self) -> tuple[Point, ...]:
        """Every point in canonical order. Raises ValueError when an axis is continuous or they are above MOST_POINTS."""
        sizes, ratios = self.chunk_size, self.overlap_ratio
        count = self.count()
        if count is None or count > MOST_POINTS:
            raise ValueError(f"{count or 'endlessly many'} points can't be listed")
        return tuple(sorted(Point(*p) for p in product(self.splitters, sizes.grid() or (), ratios.grid() or ())))

    def sample(self, most_per_axis: int) -> Iterator[Point]:
        """A lattice over the space, at most so many values an axis."""
        for splitter in self.splitters:
            for size, ratio in product(self.chunk_size.sample(most_per_axis), self.overlap_ratio.sample(most_per_axis)):
                yield Point(splitter, size, ratio)

    def off_lists(self, points: Iterable[Point]) -> list[tuple[str, str]]:
        """Values of points that an axis given as a list lacks, as (axis, value in words)."""
        lacks = []
        for point in points:
            for axis, values, value in (
                ("splitter", self.splitters, point.splitter),
                ("chunk_size", getattr(self.chunk_size, "values", None), point.chunk_size),
                ("overlap_ratio", getattr(self.overlap_ratio, "values", None), point.overlap_ratio),
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
        }


def _axis_json(axis: Axis) -> dict[str, Any]:
    return {"values": list(axis.values)} if isinstance(axis, Choices) else asdict(axis)
