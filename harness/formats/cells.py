"""Cells of questions that several formats share: evidence as text or JSON, and whether a question was reviewed."""

from __future__ import annotations

import json
from typing import Any

from harness.labels import Quote

Evidence = tuple[tuple[Quote, ...], ...]
REVIEWED = {"": True, "yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def parse_evidence(cell: str) -> Evidence:
    """A CSV cell's alternatives: a text, or a JSON list of alternatives in which a list is all-of.

    Raises ValueError when the cell begins like a JSON list and is none of these.
    """
    cell = cell.strip()
    if not cell.startswith("["):
        return ((Quote(cell),),) if cell else ()
    try:
        listed = json.loads(cell)
    except RecursionError:
        raise ValueError("evidence is a list nested too deeply") from None
    except ValueError:
        return ((Quote(cell),),)  # a text that begins with a bracket
    if not listed:
        raise ValueError("evidence is an empty list")
    return evidence_of(listed)


def evidence_of(value: Any) -> Evidence:
    """Alternatives of a JSON value: a text, a quote with its place, or a list of these in which a list is all-of.

    A quote with its place is `{"text": ..., "document": ..., "start": ...}`. Raises ValueError for anything else.
    """
    if value in (None, "", []):
        return ()
    alternatives = [a if isinstance(a, list) else [a] for a in (value if isinstance(value, list) else [value])]
    if not all(alternatives):
        raise ValueError("evidence has an empty list of texts")
    return tuple(tuple(map(quote_of, quotes)) for quotes in alternatives)


def quote_of(value: Any) -> Quote:
    """One quote of a JSON value. Raises ValueError for anything but a text or a quote with its place."""
    given = value if isinstance(value, dict) else {"text": value}
    text, document, start = given.get("text"), given.get("document", ""), given.get("start")
    if set(given) - {"text", "document", "start"} or not isinstance(text, str) or not isinstance(document, str):
        raise ValueError(
            'evidence is no list of texts, or of lists of texts; a quote with its place is {"text", "document", "start"}'
        )
    if start is not None and (not isinstance(start, int) or isinstance(start, bool)):
        raise ValueError(f"evidence has the start {start!r}, which is no whole number")
    if not text.strip():
        raise ValueError("evidence has an empty text")
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise ValueError("evidence has half of a surrogate pair, which is no character")
    return Quote(text if start is not None else text.strip(), document, start)


def as_reviewed(cell: str) -> bool:
    """Whether a question was reviewed; one that does not say was. Raises ValueError for another word than yes or no."""
    if cell.strip().casefold() not in REVIEWED:
        raise ValueError(f"reviewed is '{cell.strip()}', neither yes nor no")
    return REVIEWED[cell.strip().casefold()]
