"""LangChain's recursive splitter over offsets in place of strings; another of its splitters is another class here.

Imported only when it is used: LangChain takes a third of a second to load.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import itemgetter
from typing import Any

import numpy as np
from langchain_text_splitters import RecursiveCharacterTextSplitter

from harness.records import IntArray

Piece = tuple[int, int, int]  # start, end, units that it touches
NOTHING: Piece = (0, 0, 0)


class OffsetSplitter(RecursiveCharacterTextSplitter):  # type: ignore[misc]
    """The spans of the chunks of one text. Merging is LangChain's own; cutting is its procedure, which never asks where a piece
    came from because a piece is where it came from."""

    def __init__(self, text: str, units: IntArray, size: int, overlap: int, options: Mapping[str, Any]) -> None:
        """`units` are the text's own, shape (n, 2); `options` the arguments of LangChain's splitter."""
        super().__init__(chunk_size=size, chunk_overlap=overlap, length_function=itemgetter(2), **options)
        self._text = text
        self._begins, self._ends = (np.ascontiguousarray(units[:, column]) for column in (0, 1))

    def spans(self) -> list[tuple[int, int]]:
        """Half-open offsets of the chunks, in LangChain's order."""
        return self._split_text((0, len(self._text)), self._separators)

    def _split_text(self, span: tuple[int, int], separators: list[str]) -> list[tuple[int, int]]:
        borders, rest = self._first_that_cuts(span, separators)
        pieces, joint = self._pieces(span, borders)
        chunks: list[tuple[int, int]] = []
        good: list[Piece] = []
        for piece in pieces:
            if piece[2] < self._chunk_size:
                good.append(piece)
                continue
            if good:
                chunks += self._merge_splits(good, joint)
                good = []
            chunks += self._split_text(piece[:2], rest) if rest else [piece[:2]]
        return chunks + self._merge_splits(good, joint) if good else chunks

    def _first_that_cuts(self, span: tuple[int, int], separators: list[str]) -> tuple[IntArray, list[str]]:
        """Where the first separator that occurs stands, shape (n, 2), and the separators after it; else nowhere and none."""
        start, end = span
        part = self._text[start:end]
        for at, separator in enumerate(separators):
            if not separator:
                every = np.arange(start + 1, end, dtype=np.int64)
                return np.column_stack([every, every]), []
            pattern = separator if self._is_separator_regex else re.escape(separator)
            if found := [m.span() for m in re.finditer(pattern, part)]:
                return np.array(found, dtype=np.int64) + start, separators[at + 1 :]
        return np.zeros((0, 2), dtype=np.int64), []

    def _pieces(self, span: tuple[int, int], borders: IntArray) -> tuple[list[Piece], Piece]:
        """What lies between the borders, the separators with it or not, and what stands between two pieces."""
        if self._keep_separator:
            cuts = borders[:, 1 if self._keep_separator == "end" else 0]
            starts, ends = np.append(span[0], cuts), np.append(cuts, span[1])
            return self._measured(starts, ends), NOTHING
        starts, ends = np.append(span[0], borders[:, 1]), np.append(borders[:, 0], span[1])
        some = starts < ends
        starts, ends = starts[some], ends[some]
        # Of separators in a row LangChain keeps one, which is no text of the document; here the others go to the next piece.
        starts[1:] = ends[:-1] + (borders[0, 1] - borders[0, 0] if len(borders) else 0)
        joints = self._units(ends[:-1], starts[1:])
        return self._measured(starts, ends), (0, 0, int(joints.max(initial=0)))

    def _measured(self, starts: IntArray, ends: IntArray) -> list[Piece]:
        """Pieces with their units; empty ones are none."""
        some = starts < ends
        starts, ends = starts[some], ends[some]
        return list(zip(starts.tolist(), ends.tolist(), self._units(starts, ends).tolist(), strict=True))

    def _units(self, starts: IntArray, ends: IntArray) -> IntArray:
        begun = np.searchsorted(self._begins, ends, side="left")
        over = np.searchsorted(self._ends, starts, side="right")
        return np.asarray(begun - over, dtype=np.int64)

    def _join_docs(self, docs: list[Piece], separator: Piece) -> tuple[int, int] | None:
        start, end = docs[0][0], docs[-1][1]
        if self._strip_whitespace:
            part = self._text[start:end].rstrip()
            start, end = start + len(part) - len(part.lstrip()), start + len(part)
        return (start, end) if start < end else None
