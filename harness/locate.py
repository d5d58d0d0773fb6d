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

import numpy as np
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
# character before it, which a combining mark may belong to, be it a blank.
SPECIAL = re.compile(r"(?:[!-~]|[ ]+)?[^ -~]+(?:[ ]+[^ -~]+)*[ ]*|[ ]{2,}|`")
WIDTHS = (12, 4)  # of the first characters by which one of many texts is known
FEW = 16  # texts that are sought one by one
BLOCK = 2**20  # characters that are looked at together


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
    """Where each text stands in its documents, in their order. Texts for the same documents are sought together, and a document
    is normalised once for them, one at a time, if any of them is not there verbatim."""
    found: list[list[Place]] = [[] for _ in wanted]
    for documents, numbers in _together(wanted):
        needles = _Needles([wanted[i][0] for i in numbers])
        for d in documents:
            for n, at in needles.stand_in(d.text):
                end = at + len(needles.texts[n])
                if _divides(d.text, at) and _divides(d.text, end):
                    found[numbers[n]].append(Place(d.document_id, Span(at, end)))
        if missing := [i for i in numbers if not found[i]]:
            needles = _Needles([normalised(wanted[i][0]) for i in missing])
            for d in documents:
                folded = fold(d.text)
                for n, at in needles.stand_in(folded.text):
                    if span := folded.original(at, at + len(needles.texts[n])):
                        found[missing[n]].append(Place(d.document_id, span))
            for i in missing:
                found[i] = sorted(set(found[i]))
    return found


def repeated(wanted: Sequence[tuple[str, Document]]) -> list[bool]:
    """Whether each text stands more than once, verbatim, in its document."""
    found = [False for _ in wanted]
    for documents, numbers in _together([(text, (document,)) for text, document in wanted]):
        needles = _Needles([wanted[i][0] for i in numbers])
        first: dict[int, int] = {}
        for n, at in needles.stand_in(documents[0].text):
            if at >= first.setdefault(n, at) + len(needles.texts[n]):
                found[numbers[n]] = True
    return found


def _together(wanted: Sequence[tuple[str, Sequence[Document]]]) -> list[tuple[Sequence[Document], list[int]]]:
    """Documents with the numbers of the texts that are wanted in exactly these, or in the same list of them."""
    groups: dict[object, tuple[Sequence[Document], list[int]]] = {}
    for i, (_, documents) in enumerate(wanted):
        key = documents[0].document_id if len(documents) == 1 else id(documents)
        groups.setdefault(key, (documents, []))[1].append(i)
    return list(groups.values())


class _Needles:
    """Texts that are sought together: many of them in one pass over a document, by hashes of their first characters."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        left = [n for n, text in enumerate(texts) if text]
        self.tables: list[_Table] = []
        for width in WIDTHS if len(left) > FEW else ():
            self.tables.append(_Table(width, [(n, texts[n]) for n in left if len(texts[n]) >= width]))
            left = [n for n in left if len(texts[n]) < width]
        self.singly = left

    def stand_in(self, text: str) -> Iterator[tuple[int, int]]:
        """Number and offset of each that stands in a text; the offsets of one ascend."""
        for n in self.singly:
            yield from ((n, at) for at in _find_all(text, self.texts[n]))
        for table in self.tables:
            for at, numbers in table.candidates(text):
                yield from ((n, at) for n in numbers if text.startswith(self.texts[n], at))


class _Table:
    """Numbers of texts by the hash of their first characters."""

    def __init__(self, width: int, texts: Sequence[tuple[int, str]]) -> None:
        self.width = width
        self.numbers: dict[int, list[int]] = {}
        for n, text in texts:
            self.numbers.setdefault(int(self._hashes(text[:width])[0]), []).append(n)
        self.known = np.array(sorted(self.numbers), dtype=np.uint64)
        self.likely = np.zeros(2**20, dtype=bool)
        self.likely[self.known >> np.uint64(44)] = True

    def candidates(self, text: str) -> Iterator[tuple[int, list[int]]]:
        """Offsets at which the hash of some texts stands, ascending, with their numbers."""
        for begin in range(0, len(text) - self.width + 1, BLOCK) if self.numbers else ():
            hashes = self._hashes(text[begin : begin + BLOCK + self.width - 1])
            likely = np.flatnonzero(self.likely[hashes >> np.uint64(44)])
            for i in likely[np.isin(hashes[likely], self.known)].tolist():
                yield begin + i, self.numbers[int(hashes[i])]

    def _hashes(self, text: str) -> np.ndarray:
        """The hash of each stretch of `width` characters."""
        letters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
        hashes = np.zeros(len(letters) - self.width + 1, dtype=np.uint64)
        for i in range(self.width):
            hashes = (hashes ^ letters[i : i + len(hashes)]) * np.uint64(0x9E3779B97F4A7C15)
        return hashes


def at(document: Document, text: str, start: int) -> Span | None:
    """The span of a text at an offset, as far as the stored text goes there: it may have a line end or a soft hyphen more.

    None when another text stands there.
    """
    stored, end = document.text, start + len(text)
    if start < 0 or start >= len(stored):
        return None
    if end <= len(stored) and agrees(document, text, Span(start, end)):
        return Span(start, end)
    needle = normalised(text)
    window = stored[start : start + 2 * len(text) + 256]
    folded = fold(window)
    if not needle or not folded.text.startswith(needle) or not _divides(stored, start):
        return None
    span = folded.original(0, len(needle))
    return Span(start + span.start, start + span.end) if span and _divides(stored, start + span.end) else None


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
    before = stored[:start]  # no way counts fewer than the characters
    ways = {
        "UTF-16 units": len(before.encode("utf-16-le")[: 2 * start].decode("utf-16-le", "ignore")),
        "bytes": len(before.encode()[:start].decode("utf-8", "ignore")),
        "lines that end in one character": start + crlf[:start].count("\n") if len(crlf) < len(stored) else start,
    }
    return next((way for way, at in ways.items() if at != start and stored.startswith(text, at)), "")
