"""Headings to sections: a section runs from its heading to the next one of any level, so that sections never overlap."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.records import Section, Span

BEFORE = "start"  # id of the section that stands before the first heading


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading's plain text and level (1 the highest), and the character at which its section begins."""

    start: int
    text: str
    level: int = 1


def sections(text: str, headings: Sequence[Heading]) -> tuple[Section, ...]:
    """The sections of a text by its headings, which stand in order; none where it has no heading.

    Text before the first heading is a section too if there is any to see. Ids are the headings' words, each id once.
    """
    if not headings:
        return ()
    before = [Heading(0, BEFORE)] if text[: headings[0].start].strip() else []
    parts = [*before, *headings]
    ends = [*(h.start for h in parts[1:]), len(text)]
    ids = each_once(slug(h.text) for h in parts)
    texts = [*("" for _ in before), *(h.text for h in headings)]
    return tuple(Section(i, t, Span(h.start, e)) for i, t, h, e in zip(ids, texts, parts, ends, strict=True))


def first(headings: Iterable[Heading]) -> str:
    """The text of the first heading of level 1, for a title; empty where there is none."""
    return next((h.text for h in headings if h.level == 1 and h.text), "")


def slug(heading: str) -> str:
    """A heading's letters, marks and digits in lower case, words joined by hyphens; `section` where it has none."""
    lower = unicodedata.normalize("NFC", heading.lower())
    kept = "".join(c for c in lower if c in "-_" or c.isspace() or unicodedata.category(c)[0] in "LMN")
    return "-".join(kept.split()).strip("-") or "section"


def each_once(names: Iterable[str]) -> Iterator[str]:
    """The names, each that stood before with -2, -3 and so on."""
    used: set[str] = set()
    again: Counter[str] = Counter()
    for name in names:
        unique = name
        while unique in used:
            again[name] += 1
            unique = f"{name}-{again[name] + 1}"
        used.add(unique)
        yield unique
