"""What every splitter promises, as checks of one result; a promise more is a function in `PROMISES`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.records import Document, IntArray
from harness.tokenizers import Ruler


@dataclass(frozen=True)
class Cut:
    """A document cut at a size and an overlap in the ruler's units; `size` 0: without one."""

    document: Document
    spans: IntArray
    size: int
    overlap: int
    ruler: Ruler
    oversize: bool
    nested: bool = False

    def where(self, index: int) -> str:
        start, end = self.spans[index].tolist()
        return f"chunk {index + 1}, [{start}, {end}) of document '{self.document.document_id}'"


def out_of_order(spans: IntArray, nested: bool) -> npt.NDArray[np.bool_]:
    """Which spans, but for the first, do not begin and end after the one before them; `nested`: begin or end. Shape (n - 1,)."""
    steps = np.diff(spans, axis=0)
    found = (steps < 0).any(axis=1) | ~steps.any(axis=1) if nested else (steps <= 0).any(axis=1)
    return np.asarray(found, dtype=np.bool_)


def gaps(spans: IntArray, length: int) -> list[tuple[int, int]]:
    """The stretches of a text of so many characters that no span has; the spans' starts ascend."""
    reached = np.concatenate([[0], np.maximum.accumulate(spans[:, 1])])
    found = np.column_stack([reached, np.append(spans[:, 0], length)])
    return [(start, end) for start, end in found[found[:, 0] < found[:, 1]].tolist()]


def _inside(cut: Cut) -> Iterator[str]:
    starts, ends = cut.spans[:, 0], cut.spans[:, 1]
    for i in np.flatnonzero((starts < 0) | (ends > len(cut.document.text)) | (starts >= ends))[:1]:
        yield f"{cut.where(int(i))}, is empty or lies outside the text ({len(cut.document.text)} characters)"


def _ascending(cut: Cut) -> Iterator[str]:
    for i in np.flatnonzero(out_of_order(cut.spans, cut.nested))[:1]:
        yield f"{cut.where(int(i) + 1)}, does not begin and end after the one before it"


def _covering(cut: Cut) -> Iterator[str]:
    for start, end in gaps(cut.spans, len(cut.document.text)):
        missed = cut.document.text[start:end]
        if missed.strip():
            yield f"{' '.join(missed.split())[:40]!r} at {start} of document '{cut.document.document_id}' is in no chunk"
            return


def _size(cut: Cut) -> Iterator[str]:
    if not cut.size or cut.oversize:
        return
    sizes = cut.ruler.sizes(cut.document, cut.spans)
    units = cut.ruler.units(cut.document)
    for i in np.flatnonzero(sizes > cut.size).tolist():
        start, end = cut.spans[i].tolist()
        touched = units[(units[:, 0] < end) & (units[:, 1] > start)]
        if (touched[1:, 0] >= np.maximum.accumulate(touched[:-1, 1])).any():  # units that share a character can't be parted
            yield f"{cut.where(i)}, has {sizes[i]} {cut.ruler.unit}, above the size {cut.size}"
            return


def _overlap(cut: Cut) -> Iterator[str]:
    shared = cut.ruler.shared(cut.document, cut.spans)
    for i in np.flatnonzero(shared > cut.overlap)[:1]:
        what = f"shares {shared[i]} {cut.ruler.unit} with the one before it, above the overlap {cut.overlap}"
        yield f"{cut.where(int(i))}, {what}"


PROMISES: tuple[Callable[[Cut], Iterator[str]], ...] = (_inside, _ascending, _covering, _size, _overlap)


def broken(cut: Cut) -> list[str]:
    """The promises that a result does not keep, each with its first place; without order, nothing else is looked at."""
    for promise in PROMISES[:2]:
        if found := list(promise(cut)):
            return found
    return [what for promise in PROMISES[2:] for what in promise(cut)]
