"""What is put before a chunk when it is embedded: its document's title, its section's heading; a part more is a function here.

It is not part of the chunk's span, so no evidence can lie in it.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.records import Document


def title(document: Document, start: int) -> str:
    """The document's title; empty when it has none."""
    return document.title


def heading(document: Document, start: int) -> str:
    """The heading of the section that the chunk begins in; empty where the chunk begins with it."""
    inside = [s for s in document.sections if s.span.start < start < s.span.end]
    return inside[-1].heading if inside else ""


PARTS: dict[str, Callable[[Document, int], str]] = {"title": title, "heading": heading}


def prefix(document: Document, start: int, parts: tuple[str, ...]) -> str:
    """The named parts for a chunk that begins at an offset, each on a line of its own; empty when there is none."""
    lines = [" ".join(PARTS[part](document, start).split()) for part in parts]
    return "".join(f"{line}\n" for line in lines if line)
