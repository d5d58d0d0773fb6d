"""What every splitter promises, as checks of one result; a promise more is a function in `PROMISES`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

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


def _inside(cut: Cut) -> Iterator[str]:
    starts, ends = cut.spans[:, 0], cut.spans[:, 1]
    for i in np.flatnonzero((starts < 0) | (ends > len(cut.document.text)) | (starts >= ends))[:1]:
        yield f"{cut.where(int(i))}, is empty or lies outside the text ({len(cut.document.text)} characters)"


def _ascending(cut: Cut) -> Iterator[str]:
    steps = np.diff(cut.spans, axis=0)
    back = (steps < 0).any(axis=1) | ~steps.any(axis=1) if cut.nested else (steps <= 0).any(axis=1)
    for i in np.flatnonzero(back)[:1]:
        yield f"{cut.where(int(i) + 1)}, does not begin and end after the one before it"


def _covering(cut: Cut) -> Iterator[str]:
    words = cut.ruler.offsets("words", cut.document)
    if not len(words):
        return
    order = np.argsort(cut.spans[:, 0], kind="stable")
    starts, reached = cut.spans[order, 0], np.maximum.accumulate(cut.spans[order, 1])
    gaps = np.column_stack([np.concatenate([[0], reached]), np.concatenate([starts, [len(cut.document.text)]])])
    for start, end in gaps[gaps[:, 0] < gaps[:, 1]].tolist():
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
    between = np.column_stack([cut.spans[1:, 0], np.maximum(cut.spans[1:, 0], cut.spans[:-1, 1])])
    shared = np.where(between[:, 1] > between[:, 0], cut.ruler.sizes(cut.document, between), 0)
    for i in np.flatnonzero(shared > cut.overlap)[:1]:
        what = f"shares {shared[i]} {cut.ruler.unit} with the one before it, above the overlap {cut.overlap}"
        yield f"{cut.where(int(i) + 1)}, {what}"


PROMISES: tuple[Callable[[Cut], Iterator[str]], ...] = (_inside, _ascending, _covering, _size, _overlap)


def broken(cut: Cut) -> list[str]:
    """The promises that a result does not keep, each with its first place; without order, nothing else is looked at."""
    for promise in PROMISES[:2]:
        if found := list(promise(cut)):
            return found
    return [what for promise in PROMISES[2:] for what in promise(cut)]
