"""Baselines without a size: each document, or each of its sections, as one chunk. They are measured and shown, and not chosen
unless that is allowed: a chunk that is the whole text always holds the answer, at an index ratio of 1."""

from __future__ import annotations

from itertools import pairwise

from harness.records import Document, IntArray
from harness.splitters.base import Splitter
from harness.text import stripped
from harness.tokenizers import Ruler, as_offsets


class WholeDocument(Splitter):
    """One chunk a document."""

    name = "whole-document"

    def split(self, document: Document, size: int, overlap: int, ruler: Ruler) -> IntArray:
        """One span, the white space around the text left out; `size` and `overlap` are not looked at."""
        return _between(document.text, [0])


class WholeSection(Splitter):
    """One chunk a section, from its beginning to that of the next; a document without sections is one chunk."""

    name = "whole-section"

    def split(self, document: Document, size: int, overlap: int, ruler: Ruler) -> IntArray:
        """Spans of the sections; text before the first is a chunk too. `size` and `overlap` are not looked at."""
        return _between(document.text, sorted({0, *(s.span.start for s in document.sections)}))


def _between(text: str, borders: list[int]) -> IntArray:
    """Spans from each border to the next, white space around them left out, empty ones dropped."""
    pieces = pairwise([*borders, len(text)])
    return as_offsets(seen for start, end in pieces if (seen := stripped(text, start, end)))
