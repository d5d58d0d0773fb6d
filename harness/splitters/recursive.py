"""LangChain's RecursiveCharacterTextSplitter with exact offsets: in characters its very chunks, in other units its procedure with
sizes counted in the document's own units; another of its settings is another field of `RecursiveOptions`."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from harness.records import Document, IntArray
from harness.splitters.base import Splitter
from harness.splitters.lawful import lawful
from harness.tokenizers import Ruler


class RecursiveOptions(BaseModel):
    """The keys of `[splitters.recursive]`, named as LangChain's arguments are, with its defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    is_separator_regex: bool = False
    separators: list[str] = Field(default=["\n\n", "\n", " ", ""], min_length=1, max_length=100)
    keep_separator: bool | Literal["start", "end"] = True
    strip_whitespace: bool = True

    @field_validator("separators")
    @classmethod
    def _patterns_cut_and_do_nothing_else(cls, separators: list[str], info: ValidationInfo) -> list[str]:
        for pattern in separators if info.data.get("is_separator_regex") else ():
            try:
                groups = re.compile(f"({pattern})").groups - 1  # in brackets, as LangChain does to keep what it finds
            except (re.error, RecursionError, OverflowError) as error:
                raise ValueError(f"separator {pattern!r} is no regular expression ({error})") from None
            if groups:
                raise ValueError(f"separator {pattern!r} has a group, which LangChain would repeat in the chunks; write (?:...)")
        return separators

    @field_validator("keep_separator")
    @classmethod
    def _a_pattern_is_no_text(cls, keep: bool | str, info: ValidationInfo) -> bool | str:
        if not keep and info.data.get("is_separator_regex"):
            raise ValueError("in place of a dropped separator LangChain writes its pattern into the chunks; keep the separators")
        return keep


class Recursive(Splitter):
    """Cuts at the first separator that there is, what is then too long at the next one, and merges neighbours up to the size."""

    Options = RecursiveOptions
    name = "recursive"
    nested = True

    def __init__(self, options: RecursiveOptions | None = None) -> None:
        self.options: RecursiveOptions = options or RecursiveOptions()

    def configured(self, options: BaseModel) -> Recursive:
        return Recursive(RecursiveOptions.model_validate(options))

    def split(self, document: Document, size: int, overlap: int, ruler: Ruler) -> IntArray:
        """LangChain's chunks as spans, shape (n, 2). Where none of the separators brings a piece down to the size, windows do."""
        from harness.splitters.langchain_offsets import OffsetSplitter

        cut = OffsetSplitter(document.text, ruler.units(document), size, overlap, self.options.model_dump())
        return lawful(cut.spans(), document, size, overlap, ruler, nested=True)
