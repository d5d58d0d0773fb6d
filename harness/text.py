"""Where Unicode says that sentences and characters end (UAX 29, by ICU); another kind of boundary is another function."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from icu4py.breakers import CharacterBreaker, SentenceBreaker

from harness.records import IntArray

LOCALE = "en"  # ICU's rules for sentences and characters are the same in nearly every locale
# A line break inside a paragraph ends no sentence, unless the next line begins a list item, a heading, a quote or a table.
WRAPPED = re.compile(r"(?<=[^\s])(\r\n|\n)(?=[^\s#>|*+\-\d=~`•])")


def sentences(text: str) -> IntArray:
    """Offsets of the sentences, white space around them left out, shape (n, 2); line breaks within a paragraph end none."""
    flat = WRAPPED.sub(lambda m: " " * len(m[0]), text)
    spans = _code_points(text, SentenceBreaker(flat, LOCALE).segments())
    return np.array([s for s in (stripped(text, a, b) for a, b in spans.tolist()) if s], dtype=np.int64).reshape(-1, 2)


def characters(text: str) -> IntArray:
    """Offsets of the characters that a reader sees (grapheme clusters), shape (n, 2); together they are the whole text."""
    return _code_points(text, CharacterBreaker(text, LOCALE).segments())


def stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    """A span without the white space at its ends; None when it has nothing else."""
    part = text[start:end]
    left = len(part) - len(part.lstrip())
    return (start + left, start + len(part.rstrip())) if left < len(part) else None


def _code_points(text: str, segments: Iterable[tuple[int, int]]) -> IntArray:
    """ICU counts UTF-16 units; Python counts code points."""
    spans = np.array(list(segments), dtype=np.int64).reshape(-1, 2)
    if text.isascii() or max(text) < "\U00010000":
        return spans
    units = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
    ends = np.concatenate([[0], np.cumsum(np.where(units > 0xFFFF, 2, 1))])
    return np.asarray(np.searchsorted(ends, spans), dtype=np.int64)
