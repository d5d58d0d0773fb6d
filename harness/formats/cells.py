"""Values of questions that several formats share: evidence, dates, whether a question was reviewed, ids that are derived.

Each function is for one kind of value and raises ValueError with what is wrong; `Entry` collects that, one fault a value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from harness.errors import Fault, HarnessError
from harness.labels import PartlyRead, Quote, RawQuestion
from harness.records import Question

T = TypeVar("T")
Evidence = tuple[tuple[Quote, ...], ...]
REVIEWED = {"": True} | dict.fromkeys(("yes", "true", "1", "ja"), True) | dict.fromkeys(("no", "false", "0", "nein"), False)
QUOTE_KEYS = {"text": "text", "document": "document", "dokument": "document", "start": "start"}


@dataclass
class Entry:
    """One entry of a question file, its place, and a fault for each of its values that is wrong."""

    where: str
    fix: str = "correct the cell"
    faults: list[Fault] = field(default_factory=list)

    def read(self, parse: Callable[[Any], T], value: Any, otherwise: T) -> T:
        """What a value says; `otherwise`, and a fault, when that is nothing."""
        try:
            return parse(value)
        except ValueError as error:
            self.faults.append(Fault(self.where, str(error), self.fix))
            return otherwise


def collected(
    files: Iterable[Path],
    read: Callable[[Path], Iterable[tuple[str, Any]]],
    question: Callable[[Any, Entry], RawQuestion],
    fix: str = "correct the cell",
) -> list[RawQuestion]:
    """Questions of files; `read` gives a file's entries with their places, `question` makes one of each.

    Raises PartlyRead with every fault of every entry.
    """
    faults: list[Fault] = []
    questions = []
    for file in files:
        try:
            for where, value in read(file):
                entry = Entry(where, fix)
                found = question(value, entry)
                faults += entry.faults
                questions += [] if entry.faults else [found]
        except HarnessError as error:
            faults += error.faults
    if faults:
        raise PartlyRead(faults, questions)
    return questions


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
    given = {QUOTE_KEYS.get(k, k): v for k, v in value.items()} if isinstance(value, dict) else {"text": value}
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


def as_date(cell: str) -> str:
    """An ISO date, or nothing. Raises ValueError for another way to write one, and for a day that no month has."""
    cell = cell.strip()
    try:
        if cell and not re.fullmatch(r"\d{4}-\d\d-\d\d", cell, re.ASCII):
            raise ValueError
        return date.fromisoformat(cell).isoformat() if cell else ""
    except ValueError:
        raise ValueError(f"the date is '{cell}', no day written as YYYY-MM-DD") from None


def derived_id(text: str, *more: str) -> str:
    """An id for a question that has none: of its wording and what else tells it apart, so that others may come and go.

    Two that come out the same are reported like any two ids that are the same.
    """
    return f"q-{wording(chr(0).join([text, *more]))[:8]}"


def wording(text: str) -> str:
    """The digest by which a question is known again."""
    return Question("", text).sha256
