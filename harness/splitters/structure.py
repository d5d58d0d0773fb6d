"""Cuts where the text itself is divided: at headings, then between paragraphs, list items, tables and code, which stay whole.

What counts as a block is found by `blocks`; how blocks become chunks is here, a method a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from harness.records import Document, IntArray
from harness.splitters.base import Splitter
from harness.splitters.blocks import HEADING, WHOLE, Blocks, find
from harness.splitters.windows import fitted
from harness.tokenizers import Ruler, as_offsets

LINE = re.compile(r"\S(?:[^\r\n]*\S)?")


class StructureOptions(BaseModel):
    """The keys of `[splitters.structure]`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    blocks: Literal["auto", "markdown", "rst", "paragraphs"] = "auto"  # how they are found; auto: by the suffix of the id
    split_tables: bool = False  # cut tables and code that are above the size, between lines


class Structure(Splitter):
    """Neighbouring blocks under one heading, merged up to the size; no chunk crosses the border of a section.

    A heading goes with the block that follows it. A block above the size gives way to the blocks inside it, text to whole
    sentences, a sentence to windows; a table or code stays whole. Overlap is between the pieces of one text, nowhere else.
    """

    Options = StructureOptions
    name = "structure"

    def __init__(self, options: StructureOptions | None = None) -> None:
        self.options: StructureOptions = options or StructureOptions()
        self.oversize = not self.options.split_tables

    def configured(self, options: BaseModel) -> Structure:
        return Structure(StructureOptions.model_validate(options))

    def split(self, document: Document, size: int, overlap: int, ruler: Ruler) -> IntArray:
        """Spans without white space around them; shape (n, 2)."""
        how = self.options.blocks
        blocks = ruler.once(f"blocks, {how}", document, partial(find, how=how))
        return as_offsets(_Packing(document, size, overlap, ruler, blocks, self.oversize).spans())


class _Packing:
    """One document at one size: which blocks go together, and what of them is cut."""

    def __init__(self, document: Document, size: int, overlap: int, ruler: Ruler, blocks: Blocks, whole_above_size: bool) -> None:
        self.document, self.size, self.overlap, self.ruler = document, size, overlap, ruler
        self.units = ruler.units(document)
        # Columns are copied once: numpy would copy them at each search.
        self.unit_starts, self.unit_ends = (np.ascontiguousarray(column) for column in self.units.T)
        self.start, self.end = blocks.start.tolist(), blocks.end.tolist()
        self.kind, self.after, self.group = blocks.kind.tolist(), blocks.after.tolist(), blocks.group.tolist()
        self.over = self.unit_ends.searchsorted(blocks.start, side="right").tolist()  # units that end before each block
        self.begun = self.unit_starts.searchsorted(blocks.end, side="left").tolist()  # units that begin before its end
        self.whole_above_size = whole_above_size

    def spans(self) -> Iterator[tuple[int, int]]:
        for run in self._runs():
            if self._fits(run[0], run[-1]) or (self.kind[run[-1]] == WHOLE and self.whole_above_size):
                yield self.start[run[0]], self.end[run[-1]]
            else:
                yield from self._cut(run)

    def _fits(self, first: int, last: int) -> bool:
        """Whether the text from one block to another is within the size."""
        return bool(self.begun[last] - self.over[first] <= self.size)

    def _outermost(self) -> Iterator[int]:
        """The blocks that fit, and of those that do not, what can't be divided into blocks any further."""
        at = 0
        while at < len(self.start):
            if self._fits(at, at) or self.after[at] == at + 1:
                yield at
                at = self.after[at]
            else:
                at += 1

    def _runs(self) -> Iterator[list[int]]:
        """Blocks that go together: all of them fit, or the last is above the size and the others are its headings."""
        run: list[int] = []
        for block in self._outermost():
            left = self._left_behind(run, block)
            if left:
                yield run[:left]
            run = [*run[left:], block]
        if run:
            yield run

    def _left_behind(self, run: list[int], block: int) -> int:
        """How many blocks of a run must go before the next one can join it."""
        if not run or self.group[run[0]] != self.group[block]:
            return len(run)
        if not all(map(self._is_heading, run)):
            return 0 if self._fits(run[0], block) else len(run)
        if not self._fits(block, block):
            return 0
        # Rather a heading alone than its last one without what follows.
        tries = range(1 if self._is_heading(block) else len(run))
        return next((n for n in tries if self._fits(run[n], block)), len(run))

    def _is_heading(self, block: int) -> bool:
        return bool(self.kind[block] == HEADING and self._fits(block, block))

    def _cut(self, run: list[int]) -> Iterator[tuple[int, int]]:
        """Pieces of a block above the size, its headings at the beginning of the first."""
        *headings, block = run
        start, end = self.start[block], self.end[block]
        atoms = self._lines(start, end) if self.kind[block] == WHOLE else self._sentences(start, end)
        if headings:
            atoms = self._headed(self.start[headings[0]], self.end[headings[-1]], atoms)
            start = self.start[headings[0]]
        low, high = self.unit_ends.searchsorted(start, side="right"), self.unit_starts.searchsorted(end, side="left")
        yield from map(tuple, fitted(atoms, self.units[low:high], self.size, self.overlap).tolist())

    def _headed(self, start: int, end: int, atoms: IntArray) -> IntArray:
        """Atoms with headings before them: as one with the first where they fit, or where it has to be cut anyhow."""
        first = atoms[:1]
        if self._units(start, first[0, 1]) <= self.size or self._units(*first[0]) > self.size:
            return np.concatenate([as_offsets([(start, first[0, 1])]), atoms[1:]])
        return np.concatenate([as_offsets([(start, end)]), atoms])

    def _units(self, start: int, end: int) -> int:
        begun, over = self.unit_starts.searchsorted(end, side="left"), self.unit_ends.searchsorted(start, side="right")
        return int(begun - over)

    def _lines(self, start: int, end: int) -> IntArray:
        return as_offsets(m.span() for m in LINE.finditer(self.document.text, start, end))

    def _sentences(self, start: int, end: int) -> IntArray:
        """The sentences of the document that lie in a part of it, cut off at its ends."""
        found = self.ruler.offsets("sentences", self.document)
        starts, ends = self.ruler.once("columns of sentences", self.document, lambda _: tuple(map(np.ascontiguousarray, found.T)))
        low, high = ends.searchsorted(start, side="right"), starts.searchsorted(end, side="left")
        return np.clip(found[low:high], start, end)
