"""Finding quoted evidence in a document once: verbatim, else under a normalisation that maps back to the original's offsets.

The normalisation serves to locate and nothing else: what is kept is the span of the stored text. It forgets case, canonical
composition (NFC, NFD), the shape of quotes and dashes, how white space is laid out, soft hyphens and marks that nobody sees.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from harness.records import Document, Place, Span
from harness.text import characters

UNSEEN = dict.fromkeys(
    map(ord, "\u00ad\u200b\u2060\ufeff\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
)
ALIKE = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‘’‚‛‹›′´`", "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "…": "...",
    }
)
# Stretches that are folded letter by letter: white space that is more than one blank, and all beyond ASCII together with the
# character before it, which a combining mark may belong to.
SPECIAL = re.compile(r"[ -~]?[^ -~]+[ ]*|[ ]{2,}|`")


@dataclass(frozen=True)
class Folded:
    """A text under the normalisation. Piece i begins at `at[i]` of `text` and comes from the original's
    [`start[i]`, `end[i]`); a plain piece has as many characters as its original, any other is indivisible."""

    text: str
    at: tuple[int, ...]
    start: tuple[int, ...]
    end: tuple[int, ...]
    plain: tuple[bool, ...]

    def original(self, start: int, end: int) -> Span | None:
        """The original's span of [start, end); None when it begins or ends inside a character."""
        first, last = bisect_right(self.at, start) - 1, bisect_right(self.at, end - 1) - 1
        into, rest = start - self.at[first], end - self.at[last]
        length = (self.at[last + 1] if last + 1 < len(self.at) else len(self.text)) - self.at[last]
        if (into and not self.plain[first]) or (rest < length and not self.plain[last]):
            return None
        return Span(self.start[first] + into, self.start[last] + rest if self.plain[last] else self.end[last])


def fold(text: str) -> Folded:
    """The normalisation of a text with the way back."""
    pieces = _Pieces()
    done = 0
    for match in SPECIAL.finditer(text):
        pieces.plain(text[done : match.start()].lower(), done)
        for start, end in _characters(match[0]):
            pieces.whole(folded_character(match[0][start:end]), match.start() + start, match.start() + end)
        done = match.end()
    pieces.plain(text[done:].lower(), done)
    return Folded("".join(pieces.texts), tuple(pieces.at), tuple(pieces.starts), tuple(pieces.ends), tuple(pieces.are_plain))


def _characters(text: str) -> list[tuple[int, int]]:
    """The characters that a reader sees; of ASCII, which has no marks to combine, without asking ICU."""
    if text.isascii():
        return [(i, i + 1) for i in range(len(text))]  # of CR LF both fold to one blank
    return [(start, end) for start, end in characters(text).tolist()]


def folded_character(character: str) -> str:
    """One character, as a reader sees it, under the normalisation; white space of any kind is one blank."""
    if character.isspace():
        return " "
    decomposed = unicodedata.normalize("NFD", character.translate(UNSEEN)).casefold()
    return unicodedata.normalize("NFD", decomposed).translate(ALIKE)


class _Pieces:
    """Pieces as they are collected; white space after white space adds nothing."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.at: list[int] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.are_plain: list[bool] = []
        self.length = 0

    def plain(self, folded: str, start: int) -> None:
        if folded.startswith(" ") and self._after_blank:
            folded, start = folded[1:], start + 1
        self._add(folded, start, start + len(folded), True)

    def whole(self, folded: str, start: int, end: int) -> None:
        if not (folded == " " and self._after_blank):
            self._add(folded, start, end, False)

    @property
    def _after_blank(self) -> bool:
        return bool(self.texts) and self.texts[-1].endswith(" ")

    def _add(self, folded: str, start: int, end: int, plain: bool) -> None:
        if folded:
            self.texts.append(folded)
            self.at.append(self.length)
            self.starts.append(start)
            self.ends.append(end)
            self.are_plain.append(plain)
            self.length += len(folded)


def normalised(text: str) -> str:
    """What two texts share that are the same up to the normalisation."""
    return fold(text).text.strip()


def occurrences(document: Document, text: str) -> list[Span]:
    """Where a text stands in a document: verbatim if it does, else under the normalisation. Offsets of the original."""
    return _verbatim(document, text) or _under_fold(fold(document.text), normalised(text))


def find(wanted: Sequence[tuple[str, Sequence[Document]]]) -> list[list[Place]]:
    """Where each text stands in its documents, in their order; every document is normalised once, and one at a time."""
    found = [[Place(d.document_id, s) for d in documents for s in _verbatim(d, text)] for text, documents in wanted]
    missing: dict[str, tuple[Document, list[int]]] = {}
    for i, (_, documents) in enumerate(wanted):
        for d in documents if not found[i] else ():
            missing.setdefault(d.document_id, (d, []))[1].append(i)
    needles = {i: normalised(wanted[i][0]) for _, numbers in missing.values() for i in numbers}
    for document, numbers in missing.values():
        folded = fold(document.text)
        for i in numbers:
            found[i] += [Place(document.document_id, s) for s in _under_fold(folded, needles[i])]
    return [sorted(places) if i in needles else places for i, places in enumerate(found)]


def _verbatim(document: Document, text: str) -> list[Span]:
    return [
        Span(i, i + len(text))
        for i in _find_all(document.text, text)
        if _divides(document.text, i) and _divides(document.text, i + len(text))
    ]


def _divides(text: str, at: int) -> bool:
    """Whether a reader sees two characters left and right of an offset, or there is only one side."""
    if not 0 < at < len(text) or (text[at - 1].isascii() and text[at].isascii() and text[at - 1 : at + 1] != "\r\n"):
        return True
    begin = at - 1
    while begin > 0 and at - begin < 64 and not text[begin].isascii():
        begin -= 1
    return any(begin + int(start) == at for start, _ in characters(text[begin : at + 1]))


def _under_fold(folded: Folded, needle: str) -> list[Span]:
    spans = (folded.original(i, i + len(needle)) for i in _find_all(folded.text, needle))
    return list(dict.fromkeys(s for s in spans if s))


def _find_all(haystack: str, needle: str) -> Iterator[int]:
    at = haystack.find(needle) if needle else -1
    while at >= 0:
        yield at
        at = haystack.find(needle, at + 1)


def nearest_text(documents: Iterable[Document], text: str) -> str:
    """The most similar passage of some documents, in whole words, for a message."""
    best_score, best = 0.0, ""
    for document in documents:
        match = fuzz.partial_ratio_alignment(text, document.text, score_cutoff=max(best_score, 40.0))
        if match and match.score > best_score:
            passage = _in_words(document.text, match.dest_start, match.dest_end)
            best_score, best = match.score, f"'{_closest(passage.split(), text)}' in document '{document.document_id}'"
    return best


def _in_words(text: str, start: int, end: int) -> str:
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[start:end]


def _closest(words: list[str], text: str) -> str:
    """The words without those at either end that make it less like a text."""
    while len(words) > 1:
        shorter = max((words[1:], words[:-1]), key=lambda w: fuzz.ratio(text, " ".join(w)))
        if fuzz.ratio(text, " ".join(shorter)) < fuzz.ratio(text, " ".join(words)):
            break
        words = shorter
    return " ".join(words)


def agrees(document: Document, text: str, span: Span) -> bool:
    """Whether a text is what stands at a span, up to the normalisation."""
    found = document.text[span.start : span.end]
    return found == text or normalised(found) == normalised(text) != ""


def other_count(document: Document, text: str, start: int) -> str:
    """By which other way of counting an offset would agree, for a message; empty when by none."""
    stored = document.text
    crlf = stored.replace("\r\n", "\n")
    ways = {
        "UTF-16 units": len(stored.encode("utf-16-le")[: 2 * start].decode("utf-16-le", "ignore")),
        "bytes": len(stored.encode()[:start].decode("utf-8", "ignore")),
        "lines that end in one character": start + crlf[:start].count("\n") if len(crlf) < len(stored) else start,
    }
    return next((way for way, at in ways.items() if at != start and stored.startswith(text, at)), "")
