"""What every splitter has, with the values of most; a splitter derives from `Splitter` and overrides what differs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from harness.records import Document, IntArray
from harness.tokenizers import Ruler


class NoOptions(BaseModel):
    """A splitter without keys of its own in the experiment file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Splitter(ABC):
    """Says where cuts may fall; how big a chunk is, the ruler says."""

    Options: ClassVar[type[BaseModel]] = NoOptions  # the keys of its `[splitters.NAME]` table
    options: BaseModel = NoOptions()
    name: str
    version: int | str = 1  # raised when the same input gives other spans: it makes a study another study
    atoms: str | None = None  # tokenizer whose units it never cuts; `tokens`: the one that the experiment's tokens come from
    ignores: frozenset[str] = frozenset()  # axes of the space that change nothing: chunk_size, overlap_ratio
    oversize: bool = False  # keeps some blocks whole that are above the size; they are counted
    nested: bool = False  # a chunk may begin or end where its neighbour does and lie in it; never the same span twice

    @abstractmethod
    def split(self, document: Document, size: int, overlap: int, ruler: Ruler) -> IntArray:
        """Spans with strictly ascending starts and ends (but see `nested`), shape (n, 2), none above `size` units (but see
        `oversize`), covering every visible character; neighbours share at most `overlap` units."""

    def configured(self, options: BaseModel) -> Splitter:
        """Itself with the options of an experiment file."""
        return self

    @property
    def identity(self) -> Any:
        """What of it makes a study another study: its version, and its options where they are not the defaults."""
        changed = self.options.model_dump(exclude_defaults=True, mode="json")
        return {"version": self.version, **changed} if changed else self.version
