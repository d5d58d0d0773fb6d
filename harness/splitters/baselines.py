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
    """Sizes in units."""

    size: int = Field(default=500, ge=1)
    overlap: int = Field(default=100, ge=0)


class Conventional(Splitter):
    """Windows of 500 tokens that share a fifth, as tutorials have them; of what the model reads where that is less."""

    name = "conventional"
    Options = ConventionalOptions
    TOKENS, OVERLAP = 500, 0.2
    PER_TOKEN: ClassVar = {"words": 0.75, "characters": 4.0}  # units of English text, roughly; one of any other unit

    def __init__(self, options: ConventionalOptions | None = None) -> None:
        self.options: ConventionalOptions = options or ConventionalOptions()

    def configured(self, options: BaseModel) -> Splitter:
        return Conventional(ConventionalOptions.model_validate(options.model_dump()))

    def held_by(self, unit: str, limit: int | None) -> Conventional:
        """Itself in a unit, for a model that reads so many tokens; None: any number."""
        tokens = min(self.TOKENS, limit or self.TOKENS)
        size = max(1, round(tokens * self.PER_TOKEN.get(unit, 1.0)))
        return Conventional(ConventionalOptions(size=size, overlap=round(self.OVERLAP * size)))

    def split(self, document: Document, size: int, overlap: int, ruler: Ruler) -> IntArray:
        """Windows of the unit's own atoms; `size` and `overlap` are not looked at."""
        atoms = ruler.unit if ruler.unit in self.PER_TOKEN else "tokens"
        return Windows(atoms, atoms).split(document, self.options.size, self.options.overlap, ruler)


def _between(text: str, borders: list[int]) -> IntArray:
    """Spans from each border to the next, white space around them left out, empty ones dropped."""
    pieces = pairwise([*borders, len(text)])
    return as_offsets(seen for start, end in pieces if (seen := stripped(text, start, end)))
