"""Prompts that make a language model write questions about a document; their wording is in `templates/questions.txt.j2`."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from harness.errors import Fault, HarnessError
from harness.labels import unknown_document
from harness.records import Corpus, Document, Span
from harness.text import sentences

LONG = 100_000  # characters of a prompt that not every model can read
MOST_NAME = 160  # bytes of a prompt file's name, short of its suffixes
BLANK_LINES = re.compile(r"\n[^\S\n]*\r?\n\s*")


@dataclass(frozen=True)
class Wanted:
    """How many questions each prompt asks for, and how long a text it may show (characters; None: any length)."""

    number: int = 8
    unanswerable: int = 2
    most_characters: int | None = None

    def __post_init__(self) -> None:
        if not self.number and not self.unanswerable:
            raise HarnessError(Fault("--number", "no question is asked for", "set --number or --unanswerable above 0"))


@dataclass(frozen=True)
class Prompt:
    """One text to give to a model: a document, or a part of it that is counted from 1."""

    document_id: str
    file_name: str
    part: int
    parts: int
    characters: int  # of the document, or of this part
    text: str

    @property
    def title(self) -> str:
        """The document, and which part of it."""
        return f"document '{self.document_id}'" + (f", part {self.part} of {self.parts}" if self.parts > 1 else "")

    @property
    def long(self) -> bool:
        return self.characters > LONG

    def as_json(self, folder: Path | None = None) -> dict[str, Any]:
        """All of it; the path instead of the text where it was written to a folder."""
        facts = {"document_id": self.document_id, "part": self.part, "parts": self.parts, "characters": self.characters}
        return facts | ({"path": str(folder / self.file_name)} if folder else {"text": self.text})


def prompts(corpus: Corpus, documents: Iterable[Document], wanted: Wanted) -> Iterator[Prompt]:
    """A prompt a document, or one for each part where a document is longer than a prompt may be."""
    names = file_names(corpus)
    for document in documents:
        spans = parts(document, wanted.most_characters)
        for number, span in enumerate(spans, 1):
            shown = document.text[span.start : span.end].strip()
            part = f".part{number}" if len(spans) > 1 else ""
            yield Prompt(
                document_id=document.document_id,
                file_name=f"{names[document.document_id]}{part}.prompt.txt",
                part=number,
                parts=len(spans),
                characters=len(shown),
                text=_template().render(
                    fence=_fence(shown),
                    part=number,
                    parts=len(spans),
                    title=" ".join(document.title.split()),
                    text=shown,
                    number=wanted.number,
                    unanswerable=wanted.unanswerable,
                    document=json.dumps(document.document_id, ensure_ascii=False),
                ),
            )


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("harness", "templates"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("questions.txt.j2")


def _fence(text: str) -> str:
    """A mark that stands nowhere in a text, so that nothing in the text can end it."""
    token = hashlib.sha256(text.encode()).hexdigest()[:12]
    while token in text:
        token = hashlib.sha256(token.encode()).hexdigest()[:12]
    return f"##### DOCUMENT {token}"


def chosen(corpus: Corpus, names: Sequence[str]) -> tuple[Document, ...]:
    """The documents that a user named, all where none is. Raises HarnessError with every name that means none or several."""
    faults, found = [], {}
    for name in names:
        documents = corpus.named(name)
        if len(documents) == 1:
            found[documents[0].document_id] = documents[0]
        else:
            faults.append(Fault("--document", *unknown_document(corpus, name)))
    if faults:
        raise HarnessError(faults)
    return tuple(found.values()) if names else corpus.documents


def file_names(corpus: Corpus) -> dict[str, str]:
    """A name for the files of each document, by document id: letters, digits, `_`, `.` and `-`, no two of them alike."""
    names = {d.document_id: _safe(d.document_id) for d in corpus.documents}
    counts = Counter(map(alike, names.values()))
    return {i: name if counts[alike(name)] == 1 else f"{name}-{_digest(i)}" for i, name in names.items()}


def _safe(document_id: str) -> str:
    name = re.sub(r"[^\w.-]+", "_", unicodedata.normalize("NFC", document_id).replace("/", "--")).strip("._-") or "document"
    short = name.encode()[:MOST_NAME].decode("utf-8", "ignore")
    return name if short == name else f"{short}-{_digest(document_id)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def alike(name: str) -> str:
    """What two file names share that some file systems can't tell apart."""
    return unicodedata.normalize("NFC", name).casefold()


def document_of_file(file_name: str, corpus: Corpus) -> str:
    """The id of the document whose prompt file an answer's file is named after, whatever its suffixes; empty when of none."""
    ids = {alike(name): i for i, name in file_names(corpus).items()}
    name = alike(file_name)
    while name not in ids and "." in name:
        name = name.rpartition(".")[0]
    return ids.get(name, "")


def parts(document: Document, most: int | None) -> list[Span]:
    """Spans of at most so many characters that cover a document, cut before sections, else paragraphs, sentences, anywhere."""
    whole = Span(0, len(document.text))
    found = _cut(document, whole, most, (_sections, _paragraphs, _sentences)) if most else [whole]
    return [s for s in found if document.text[s.start : s.end].strip()]


Starts = Callable[[Document, Span], Iterable[int]]


def _cut(document: Document, span: Span, most: int, levels: Sequence[Starts]) -> list[Span]:
    if span.length <= most:
        return [span]
    if not levels:
        return [Span(at, min(at + most, span.end)) for at in range(span.start, span.end, most)]
    inside = sorted({at for at in levels[0](document, span) if span.start < at < span.end})
    pieces = [Span(a, b) for a, b in zip([span.start, *inside], [*inside, span.end], strict=True)]
    return _filled([s for piece in pieces for s in _cut(document, piece, most, levels[1:])], most)


def _filled(pieces: Iterable[Span], most: int) -> list[Span]:
    """Neighbours joined as long as they fit."""
    joined: list[Span] = []
    for piece in pieces:
        if joined and piece.end - joined[-1].start <= most:
            joined[-1] = Span(joined[-1].start, piece.end)
        else:
            joined.append(piece)
    return joined


def _sections(document: Document, span: Span) -> Iterable[int]:
    return (s.span.start for s in document.sections)


def _paragraphs(document: Document, span: Span) -> Iterable[int]:
    return (match.end() for match in BLANK_LINES.finditer(document.text, span.start, span.end))


def _sentences(document: Document, span: Span) -> Iterable[int]:
    return (span.start + int(start) for start, _ in sentences(document.text[span.start : span.end]))
