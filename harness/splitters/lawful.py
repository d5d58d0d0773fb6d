"""Spans that a library cut, brought to the promises of `base.Splitter` where they break one; what is sound stays as it is."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from harness.records import Document, IntArray
from harness.splitters.contract import gaps, out_of_order
from harness.splitters.windows import refined
from harness.text import stripped
from harness.tokenizers import Ruler, as_offsets, count_touched

Pair = tuple[int, int]


def lawful(spans: Iterable[Pair], document: Document, size: int, overlap: int, ruler: Ruler, nested: bool = False) -> IntArray:
    """The spans without those of white space alone, none above `size` units, neighbours sharing at most `overlap`, and every
    visible character in some span; unless `nested`, none inside another. Shape (n, 2), starts and ends ascending."""
    text, units = document.text, ruler.units(document)
    seen = as_offsets((start, end) for start, end in spans if not text[start:end].isspace())
    sized = refined(seen, units, size)
    sized = sized[np.lexsort((sized[:, 1], sized[:, 0]))]
    if out_of_order(sized, nested).any() or not _within(sized, units, overlap):
        sized = _trimmed(sized, text, units, overlap, nested)
    lost = _lost(sized, text)
    return _with_lost(sized, lost, units, size) if lost else sized


def _within(spans: IntArray, units: IntArray, overlap: int) -> bool:
    """Whether neighbours share at most the overlap; without overlap, not even white space."""
    shared = np.column_stack([spans[1:, 0], spans[:-1, 1]])
    shared = shared[shared[:, 0] < shared[:, 1]]
    return not len(shared) or bool(overlap and (count_touched(units, shared) <= overlap).all())


def _trimmed(spans: IntArray, text: str, units: IntArray, overlap: int, nested: bool) -> IntArray:
    """Each span from where it shares at most the overlap with the one before it, short of those that then lie in another."""
    kept: list[Pair] = []
    for begin, end in spans.tolist():
        start = _moved(begin, end, _earliest(kept[-1][1], units, overlap), text) if kept else begin
        if start >= end or (kept and (end < kept[-1][1] or (end == kept[-1][1] and not nested) or (start, end) == kept[-1])):
            continue
        while kept and (kept[-1][0] > start or (kept[-1][0] == start and not nested)):
            kept.pop()
        kept.append((start, end))
    return as_offsets(kept)


def _moved(start: int, end: int, earliest: int, text: str) -> int:
    """Where a span may begin, white space left out when that is not its own beginning."""
    return start if earliest <= start else end - len(text[earliest:end].lstrip())


def _earliest(end: int, units: IntArray, overlap: int) -> int:
    """The first offset from which at most `overlap` units are left up to an end."""
    if not overlap:
        return end
    begun = int(np.searchsorted(units[:, 0], end, side="left"))
    return min(end, int(units[begun - overlap - 1, 1])) if begun > overlap else 0


def _lost(spans: IntArray, text: str) -> list[Pair]:
    """The stretches between spans that have something visible, white space around it left out."""
    return [seen for start, end in gaps(spans, len(text)) if (seen := stripped(text, start, end))]


def _with_lost(spans: IntArray, lost: list[Pair], units: IntArray, size: int) -> IntArray:
    """What was lost goes to the span before it where it fits, else it is a span of its own, cut to the size."""
    grown, more = spans.copy(), []
    for start, end in lost:
        before = int(np.searchsorted(spans[:, 1], start, side="right")) - 1
        if before >= 0 and count_touched(units, as_offsets([(int(spans[before, 0]), end)]))[0] <= size:
            grown[before, 1] = end
        else:
            more.append((start, end))
    together = np.concatenate([grown, refined(as_offsets(more), units, size)])
    return together[np.lexsort((together[:, 1], together[:, 0]))]
