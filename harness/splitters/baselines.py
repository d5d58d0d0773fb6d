"""Baselines, which a search does not size: each document, or each of its sections, as one chunk, and what tutorials say.

They are measured and shown, and not chosen unless that is allowed: a chunk that is the whole text always holds the answer, at an
index ratio of 1.
"""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

from pydantic import BaseModel, Field

from harness.records import Document, IntArray
from harness.splitters.base import NoOptions, Splitter
from harness.splitters.windows import Windows
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


class ConventionalOptions(NoOptions):
    """Sizes in units; None: not known before documents are cut, as of a model that is still to be downloaded."""

    size: int | None = Field(default=None, ge=1)
    overlap: int | None = Field(default=None, ge=0)


class Conventional(Splitter):
    """Windows of 500 tokens that share a fifth, as tutorials have them; of what the model reads where that is less.

    Where words are the unit a token counts as 0.75 of one, where characters are, as 4.
    """

    name = "conventional"
    Options = ConventionalOptions
    TOKENS, OVERLAP = 500, 0.2
    PER_TOKEN: ClassVar = {"words": 0.75, "characters": 4.0}  # of English text, roughly; of any other unit it is one

    def __init__(self, options: ConventionalOptions | None = None) -> None:
        self.options: ConventionalOptions = options or ConventionalOptions()

    def configured(self, options: BaseModel) -> Splitter:
        return Conventional(ConventionalOptions.model_validate(options.model_dump()))

    def held_by(self, unit: str, limit: int | None) -> Conventional:
        """Itself in a unit, for a model that reads so many tokens; None: any number."""
        size, overlap = self._sizes(unit, limit)
        return Conventional(ConventionalOptions(size=size, overlap=overlap))

    def _sizes(self, unit: str, limit: int | None) -> tuple[int, int]:
        tokens = self.TOKENS if limit is None else min(self.TOKENS, limit)
        size = max(1, round(tokens * self.PER_TOKEN.get(unit, 1.0)))
        return size, round(self.OVERLAP * size)

    def split(self, document: Document, size: int, overlap: int, ruler: Ruler) -> IntArray:
        """Windows of the unit's own atoms; `size` and `overlap` are not looked at."""
        atoms = ruler.unit if ruler.unit in self.PER_TOKEN else "tokens"
        own, shared = self.options.size, self.options.overlap
        if own is None or shared is None:
            own, shared = self._sizes(ruler.unit, ruler.limit)
        return Windows(atoms, atoms).split(document, own, shared, ruler)


def _between(text: str, borders: list[int]) -> IntArray:
    """Spans from each border to the next, white space around them left out, empty ones dropped."""
    pieces = pairwise([*borders, len(text)])
    return as_offsets(seen for start, end in pieces if (seen := stripped(text, start, end)))
