"""Questions as JSON objects, keys in English or German, any mix; `json` and `jsonl` are two ways to write many of them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from rapidfuzz.distance import OSA

from harness.errors import Fault
from harness.formats.cells import Entry, as_date, as_reviewed, collected, derived_id, evidence_of, quote_of
from harness.formats.json_values import shown
from harness.labels import Quote, RawQuestion

# What a key is called, and what else it may be called.
NAMES = {
    "question": ("frage",),
    "evidence": ("beleg", "evidence_span"),
    "regions": ("bereiche",),
    "document": ("dokument", "document_id"),
    "section": ("abschnitt", "section_id", "expected_section"),
    "id": ("question_id",),
    "split": ("teil",),
    "condition": ("condition_span", "bedingung"),
    "source": ("quelle",),
    "date": ("datum",),
    "reviewed": ("geprüft", "geprueft"),
}
MEANING = {name: key for key, others in NAMES.items() for name in (key, *others)}
NO_SLIP = ("data", "reviewer")  # keys near to a known one that people use for something else
Regions = tuple[tuple[str, str], ...]


def questions_of(files: Iterable[Path], read: Callable[[Path], Iterable[tuple[str, Any]]]) -> list[RawQuestion]:
    """Questions from files of objects; `read` gives a file's entries with their places.

    Raises HarnessError with every wrong key and value of every entry.
    """
    return collected(files, read, lambda value, entry: _question(entry, _by_meaning(value, entry)), "correct the value")


def _by_meaning(value: Any, entry: Entry) -> dict[str, tuple[str, Any]]:
    """The known keys' own spelling and value by what they mean; a key twice and a slip of the pen are noted."""
    if not isinstance(value, dict):
        entry.faults.append(Fault(entry.where, f"{shown(value)} is no object", 'write { "question": ..., "evidence": ... }'))
        return {}
    found: dict[str, tuple[str, Any]] = {}
    for key, content in value.items():
        name = unicodedata.normalize("NFC", key).strip().casefold()
        meaning = MEANING.get(name)
        if meaning in found:
            what = f"'{found[meaning][0]}' and '{key}' both say the {meaning}"
            entry.faults.append(Fault(entry.where, what, "keep one of them"))
        elif meaning:
            found[meaning] = (key, content)
    for key in value:
        meant = _meant(unicodedata.normalize("NFC", key).strip().casefold())
        if meant and MEANING[meant] not in found:
            entry.faults.append(
                Fault(entry.where, f"unknown key '{key}'", f"did you mean '{meant}'? Known: {', '.join(MEANING)}")
            )
            found[MEANING[meant]] = (key, None)
    if "question" not in found:
        keys = ", ".join(f"'{k}'" for k in value) or "none"
        entry.faults.append(Fault(entry.where, f"'question' is missing (keys: {keys})", "add it; or 'frage'"))
    return found


@lru_cache(maxsize=1000)
def _meant(name: str) -> str:
    """The known key that an unknown one is a slip of; empty for another key."""
    if name in MEANING or name in NO_SLIP:
        return ""
    near = [(OSA.distance(name, known), known) for known in MEANING if len(known) > 3]
    return next((known for distance, known in sorted(near) if distance <= (1 if len(known) < 8 else 2)), "")


def _question(entry: Entry, found: dict[str, tuple[str, Any]]) -> RawQuestion:
    def read(meaning: str, parse: Any, otherwise: Any = "") -> Any:
        key, value = found.get(meaning, (meaning, None))
        return otherwise if value is None else entry.read(lambda v: parse(key, v), value, otherwise)

    text, document = read("question", _text), read("document", _name)
    evidence, regions = read("evidence", _evidence, ()), read("regions", _regions, ())
    if evidence and regions:
        what = f"'{found['evidence'][0]}' and '{found['regions'][0]}' are both given"
        entry.faults.append(Fault(entry.where, what, "quote the evidence, or name whole documents or sections, not both"))
    return RawQuestion(
        where=entry.where,
        question_id=read("id", _name) or derived_id(text or entry.where),
        text=text,
        split=read("split", _text),
        section_id=read("section", _name),
        document_id=document,
        evidence=evidence,
        regions=regions,
        condition=read("condition", _condition, None),
        source=read("source", _text),
        date=read("date", lambda key, value: as_date(_text(key, value))),
        reviewed=read("reviewed", _reviewed, True),
    )


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{key} is {shown(value)}, no text")
    return value.strip()


def _name(key: str, value: Any) -> str:
    """An id may be a number."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else _text(key, value)


def _reviewed(key: str, value: Any) -> bool:
    return value if isinstance(value, bool) else as_reviewed(_text(key, value))


def _evidence(key: str, value: Any) -> tuple[tuple[Quote, ...], ...]:
    return evidence_of(value)


def _condition(key: str, value: Any) -> Quote | None:
    try:
        return quote_of(value) if value != "" else None
    except ValueError as error:
        raise ValueError(f"{key}: {str(error).removeprefix('evidence ')}") from None


def _regions(key: str, value: Any) -> Regions:
    """Alternatives, each a document's name or `{"document": ..., "section": ...}`; one alone need not be in a list."""
    given = value if isinstance(value, list) else [value]
    return tuple(_region(key, region) for region in given)


def _region(key: str, value: Any) -> tuple[str, str]:
    if isinstance(value, str) and value.strip():
        return value.strip(), ""
    if isinstance(value, dict):
        named = {MEANING.get(k): v for k, v in value.items()}
        if set(named) <= {"document", "section"} and len(named) == len(value) and named.get("document"):
            return _name(key, named["document"]), _name(key, named.get("section") or "")
    raise ValueError(f'{key} has {shown(value)}, no document\'s name and no {{"document": ..., "section": ...}}')
