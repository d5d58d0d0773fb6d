"""`semantic-text-splitter`: the largest of lines, sentences, words and characters that fit, or Markdown's blocks, merged up to
the size; another of the library's splitters is another branch in `SemanticUnits._library`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from harness.records import Document, IntArray
from harness.splitters.base import Splitter
from harness.splitters.lawful import lawful
from harness.tokenizers import Ruler

MARKDOWN = (".md", ".markdown")


class SemanticOptions(BaseModel):
    """The keys of `[splitters.semantic-units]`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    markdown: bool | Literal["auto"] = "auto"  # auto: where the document's id ends as the name of a Markdown file does


class SemanticUnits(Splitter):
    """The library's own cuts and offsets, sized in the document's own units."""

    Options = SemanticOptions
    name = "semantic-units"

    def __init__(self, options: SemanticOptions | None = None) -> None:
        self.options: SemanticOptions = options or SemanticOptions()

    def configured(self, options: BaseModel) -> SemanticUnits:
        return SemanticUnits(SemanticOptions.model_validate(options))

    def split(self, document: Document, size: int, overlap: int, ruler: Ruler) -> IntArray:
        """The library's chunks as spans, shape (n, 2), white space around them left out."""
        kind = self._library(document)
        if ruler.unit == "characters":
            cut = kind(size, overlap)
        else:
            cut = kind.from_callback(_sizer(document.text, ruler.units(document), ruler.count), size, overlap)
        spans = ((start, start + len(chunk)) for start, chunk in cut.chunk_indices(document.text))
        return lawful(spans, document, size, overlap, ruler)

    def _library(self, document: Document) -> Any:
        from semantic_text_splitter import MarkdownSplitter, TextSplitter

        markdown = self.options.markdown
        if markdown == "auto":
            markdown = document.document_id.lower().removesuffix(".gz").endswith(MARKDOWN)
        return MarkdownSplitter if markdown else TextSplitter


def _sizer(text: str, units: IntArray, count: Callable[[str], int]) -> Callable[[str], int]:
    """How many units of the document a part of it touches, which the library asks without saying where the part stands.

    Where is guessed: the first place that is not far before the last one. Elsewhere the same characters differ by a unit at
    their edges at most, and offsets don't come from here.
    """
    begins, ends = (np.ascontiguousarray(units[:, column]) for column in (0, 1))
    last = back = 0

    def size(part: str) -> int:
        nonlocal last, back
        if not part:
            return 0
        back = max(back, len(part))
        at = text.find(part, max(0, last - back))
        if at < 0:
            return count(part)
        last = at
        return int(np.searchsorted(begins, at + len(part), side="left") - np.searchsorted(ends, at, side="right"))

    return size
