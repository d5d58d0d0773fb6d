"""What a language model answered, read tolerantly and validated strictly; another name for a key is a word in `KEYS`."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from harness.errors import Fault

KEYS = {
    "question": ("question", "frage", "questiontext", "fragetext"),
    "evidence": ("evidence", "beleg", "quote", "zitat", "belegstelle", "textstelle", "evidencespan", "evidencequote"),
    "document": ("document", "dokument", "documentid", "dokumentid", "docid", "file", "datei"),
    "condition": ("condition", "bedingung", "conditionspan", "einschränkung"),
    "answerable": ("answerable", "beantwortbar"),
    "unanswerable": ("unanswerable", "unanswered", "unanswerablequestions", "unbeantwortbar", "nichtbeantwortbar"),
}
TEXTS = ("text", *KEYS["evidence"])  # keys of a quote that is an object of its own
NO_EVIDENCE = ("", "null", "none", "n/a", "-")
YES_OR_NO = {"true": True, "yes": True, "ja": True, "false": False, "no": False, "nein": False}
MOST_QUESTION = 1000  # characters
DEEPEST = 12  # lists and objects around an entry
MOST_TRIED = 5_000  # brackets at which no JSON begins
REASONING = r"(?:think|thinking|thought|reasoning|analysis)"
OPENED = re.compile(rf"\s*<({REASONING})>", re.IGNORECASE)
CLOSED = re.compile(rf"</{REASONING}>", re.IGNORECASE)
TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[\]}])', re.DOTALL)
BROKEN = re.compile(r'\{[^{}\[\]]*"(?:question|frage)"\s*:', re.IGNORECASE)


@dataclass(frozen=True)
class Dropped:
    """A question that is not kept, and why."""

    question: str
    fault: Fault

    def as_json(self) -> dict[str, str]:
        return {"question": self.question, **self.fault.as_json()}


def _whole(text: str) -> str:
    if any(unicodedata.category(c) == "Cs" for c in text):
        raise ValueError("it has half of a surrogate pair, which is no character")
    return text


def clean(text: str) -> str:
    """One line without characters that steer a terminal."""
    return "".join(c for c in " ".join(text.split()) if unicodedata.category(c) != "Cc")


def _worded(text: str) -> str:
    if not any(c.isalnum() for c in text):
        raise ValueError("it is empty")
    if len(text) > MOST_QUESTION:
        raise ValueError(f"it has {len(text):,} characters, more than {MOST_QUESTION:,}")
    return text


def _alternatives(value: Any) -> Any:
    """Evidence as a list of alternatives, each a list of texts; what is nothing of the kind is left for the validation."""
    if value is None or (isinstance(value, str) and value.strip().casefold() in NO_EVIDENCE):
        return ()
    listed = value if isinstance(value, list | tuple) else [value]
    return [[_text(v) for v in a] if isinstance(a, list | tuple) else [_text(a)] for a in listed]


def _text(value: Any) -> Any:
    found = [value[k] for k in value if _key(k) in TEXTS] if isinstance(value, dict) else [value]
    return found[0].strip() if len(found) == 1 and isinstance(found[0], str) else value


Text = Annotated[str, AfterValidator(_whole)]
Quote = Annotated[Text, Field(min_length=1)]


class Entry(BaseModel):
    """One question with its quotes, not yet compared with any document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    where: str
    question: Annotated[Text, AfterValidator(clean), AfterValidator(_worded)]
    evidence: Annotated[tuple[Annotated[tuple[Quote, ...], Field(min_length=1)], ...], BeforeValidator(_alternatives)]
    document: Text = ""
    condition: Text = ""


@dataclass(frozen=True)
class Answer:
    """The questions of one answer, and what of it is no question."""

    entries: tuple[Entry, ...] = ()
    dropped: tuple[Dropped, ...] = ()

    @property
    def wrong(self) -> str:
        """Why it holds no question; for whoever is asked again."""
        return self.dropped[0].fault.what if self.dropped else "no question was found in it"


def read(text: str, name: str) -> Answer:
    """Every question of an answer: arrays, objects, JSON lines, fenced or in prose; reasoning before them is left out."""
    if (opened := OPENED.match(text)) and not CLOSED.search(text, opened.end()):
        what = "the answer ends within the model's reasoning"
        return Answer(dropped=(Dropped("", Fault(name, what, "ask again, with more room for the answer")),))
    body = _after_reasoning(text)
    found = max((_Found.of(t) for t in (body, TRAILING_COMMA.sub(lambda m: m[1] or "", body))), key=lambda f: len(f.items))
    entries: list[Entry] = []
    dropped = [Dropped("", Fault(name, f"not JSON from '{b}'", "ask again, or mend it by hand")) for b in found.broken]
    for number, item in enumerate(found.items, 1):
        read_item = _entry(item, f"{name} question {number}")
        (entries if isinstance(read_item, Entry) else dropped).append(read_item)  # type: ignore[arg-type]
    if not entries and not dropped:
        start = " ".join(text.split())[:80]
        what = f"no question was found; the answer begins '{start}'" if start else "the answer is empty"
        dropped.append(Dropped("", Fault(name, what, "ask again: a JSON array of objects with question and evidence")))
    return Answer(tuple(entries), tuple(dropped))


def _entry(item: Mapping[str, Any], where: str) -> Entry | Dropped:
    shown = clean(item["question"])[:MOST_QUESTION] if isinstance(item["question"], str) else ""
    fix = 'write {"question": "...", "evidence": "..."}, or evidence null where nothing answers'
    answerable = item["answerable"]
    if "evidence" not in item and answerable is not False:
        return Dropped(shown, Fault(where, "no evidence is given, and nothing says that there is none", fix))
    fields = {k: item[k] for k in ("question", "evidence", "document", "condition") if item.get(k) is not None}
    try:
        entry = Entry.model_validate({"evidence": (), **fields, "where": where})
    except ValidationError as error:
        e = error.errors()[0]
        own = {"string_type": "it is no text", "string_too_short": "it is empty", "too_short": "a list in it is empty"}
        what = f"{e['loc'][0]}: {own.get(e['type'], e['msg'].removeprefix('Value error, '))}"
        return Dropped(shown.encode("utf-8", "replace").decode(), Fault(where, what, fix))
    if answerable is not None and answerable != bool(entry.evidence):
        said = "answerable" if answerable else "not answerable"
        return Dropped(entry.question, Fault(where, f"it is called {said}, and its evidence says otherwise", fix))
    return entry


def _after_reasoning(text: str) -> str:
    """What follows the last closing tag of a model's reasoning that is followed by JSON and stands in none."""
    if opened := OPENED.match(text):
        text = text[m.end() :] if (m := re.compile(f"</{opened[1]}>", re.IGNORECASE).search(text)) else text
    tags = list(CLOSED.finditer(text))
    if not tags:
        return text
    spans = [(start, end) for start, end, _ in _Found.of(text).values]
    outside = [m.end() for m in tags if not any(a < m.start() < b for a, b in spans)]
    return text[max((at for at in outside if any(a >= at for a, _ in spans)), default=0) :]


@dataclass(frozen=True)
class _Found:
    """The JSON values of a text, the questions in them, and beginnings of questions that are no JSON."""

    values: tuple[tuple[int, int, Any], ...]  # characters [start, end) of the text, value
    items: tuple[dict[str, Any], ...]
    broken: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> _Found:
        values, broken = [], []
        decoder = json.JSONDecoder(strict=False)
        bracket, at, failed = re.compile(r"[\[{]"), 0, 0
        while failed < MOST_TRIED and (match := bracket.search(text, at)):
            try:
                value, at = decoder.raw_decode(text, match.start())
            except (ValueError, RecursionError):
                failed += 1
                at = match.end()
                if BROKEN.match(text, match.start()):
                    broken.append(" ".join(text[match.start() : match.start() + 120].split())[:80])
                continue
            values.append((match.start(), at, value))
        return cls(tuple(values), tuple(i for _, _, v in values for i in _items(v, {}, 0)), tuple(broken))


def _items(value: Any, around: Mapping[str, Any], depth: int) -> Iterator[dict[str, Any]]:
    """The objects with a question below a value, under the names of `KEYS`; they inherit the document named around them."""
    if depth > DEEPEST:
        return
    if isinstance(value, list):
        for v in value:
            yield from _items(
                {"question": v} if isinstance(v, str) and around.get("answerable") is False else v, around, depth + 1
            )
    if not isinstance(value, dict):
        return
    named = _named(value)
    own = {k: named[k] for k in ("document",) if isinstance(named.get(k), str)}
    if "question" in named:
        said = [_said(named.get("answerable")), _negated(_said(named.get("unanswerable"))), around.get("answerable")]
        yield {**around, **named, "answerable": next((s for s in said if s is not None), None)}
        return
    for key, inner in value.items():
        outside = {"answerable": False} if _key(key) in KEYS["unanswerable"] else {}
        if isinstance(inner, list | dict):
            yield from _items(inner, {**around, **own, **outside}, depth + 1)


def _said(value: Any) -> bool | None:
    return YES_OR_NO.get(str(value).strip().casefold()) if isinstance(value, bool | str) else None


def _negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def _key(key: str) -> str:
    return re.sub(r"[\W_]+", "", key).casefold()


def _named(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object's entries under the names of `KEYS`, the first of each; others are left out."""
    named: dict[str, Any] = {}
    for name, words in KEYS.items():
        found = [v for k, v in value.items() if _key(k) in words]
        if found:
            named[name] = found[0]
    return named
