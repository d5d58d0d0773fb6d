"""The quantiles of scores: of a few at once, or of any number in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.ranking import DECIMALS, FloatArray
from harness.records import IntArray, Quantiles

QUANTILES = {"min": 0.0, "p05": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "max": 1.0}


def quantiles(scores: Sequence[float] | FloatArray) -> Quantiles:
    """Count and quantiles of some scores; without any, only the count, for there are no quantiles of nothing."""
    values = np.asarray(scores, dtype=np.float64)
    if not len(values):
        return {"count": 0}
    found = np.quantile(values, list(QUANTILES.values()))
    return {"count": len(values), **{name: round(float(v), DECIMALS) for name, v in zip(QUANTILES, found, strict=True)}}


class Spread:
    """Counts of rounded scores, added block by block.

    Exact as long as they take few values; beyond `MOST` values they are counted to one decimal less, and again, so that memory
    does not grow with their number. Least and greatest stay exact.
    """

    MOST = 2**15
    BUFFER = 2**16

    def __init__(self) -> None:
        self._buffer: list[FloatArray] = []
        self._buffered = 0
        self._decimals = DECIMALS
        self._keys: IntArray = np.zeros(0, dtype=np.int64)
        self._counts: IntArray = np.zeros(0, dtype=np.int64)
        self._low, self._high = np.inf, -np.inf

    def add(self, scores: FloatArray) -> None:
        """Some more scores, rounded to 6 decimals and finite; any shape of one dimension."""
        if not len(scores):
            return
        self._low, self._high = min(self._low, float(scores.min())), max(self._high, float(scores.max()))
        self._buffer.append(scores)
        self._buffered += len(scores)
        if self._buffered >= self.BUFFER:
            self._count()

    def quantiles(self) -> Quantiles:
        """Count and quantiles of all scores, as `quantiles` gives them."""
        self._count()
        number = int(self._counts.sum())
        if not number:
            return {"count": 0}
        values, reached = self._keys / 10.0**self._decimals, np.cumsum(self._counts)
        at = np.array(list(QUANTILES.values())) * (number - 1)
        below = values[np.searchsorted(reached, np.floor(at), side="right")]
        above = values[np.searchsorted(reached, np.minimum(np.floor(at) + 1, number - 1), side="right")]
        found = below + (above - below) * (at - np.floor(at))
        found[0], found[-1] = self._low, self._high
        return {"count": number, **{name: round(float(v), DECIMALS) for name, v in zip(QUANTILES, found, strict=True)}}

    def _count(self) -> None:
        if not self._buffer:
            return
        keys = np.rint(np.concatenate(self._buffer) * 10.0**self._decimals).astype(np.int64)
        self._buffer, self._buffered = [], 0
        self._merge(*_counted(keys, np.ones(len(keys), dtype=np.int64)))
        while len(self._keys) > self.MOST:
            self._decimals -= 1
            keys, counts = np.rint(self._keys / 10).astype(np.int64), self._counts
            self._keys, self._counts = _counted(keys, counts)

    def _merge(self, keys: IntArray, counts: IntArray) -> None:
        self._keys, self._counts = _counted(np.concatenate([self._keys, keys]), np.concatenate([self._counts, counts]))


def _counted(keys: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct keys in order and their counts summed."""
    low = int(keys.min())
    span = int(keys.max()) - low + 1
    if span <= 4 * Spread.MOST:  # so dense that counting is quicker than sorting
        dense = np.bincount(keys - low, weights=counts, minlength=span).astype(np.int64)
        found = np.flatnonzero(dense)
        return found + low, dense[found]
    distinct, inverse = np.unique(keys, return_inverse=True)
    return distinct, np.bincount(inverse, weights=counts).astype(np.int64)
