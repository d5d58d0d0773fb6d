"""A place of a document cut up by offsets alone: evidence, conditions, borders, what lies around; a kind more is a `Kind`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from harness.records import Passage, Place, Span

MOST, KEPT = 3_000, 1_200  # characters of a piece that is shown whole; of its beginning and of its end where it is longer
Kind = Literal["plain", "mark", "condition", "beyond", "lost", "around", "cut", "left out"]


@dataclass(frozen=True)
class Piece:
    """A run of text: plain, evidence (mark) or a condition of it, in the chunk; outside it evidence (beyond), a condition (lost)
    or neither (around). Or words of a border (cut), or of what is not shown (left out)."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class Passaged:
    """A place of a document and its text in pieces."""

    document_id: str
    start: int
    end: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Marks:
    """What is marked in one document."""

    evidence: Sequence[Span] = ()
    conditions: Sequence[Span] = ()


def inside(passage: Passage, place: Place) -> Span | None:
    """The part of a place that lies in a passage."""
    if passage.document_id != place.document_id:
        return None
    start, end = max(passage.start, place.span.start), min(passage.end, place.span.end)
    return Span(start, end) if start < end else None


def around(text: str, chunk: Span, characters: int) -> Span:
    """A chunk with about so many characters before and after it, in whole words."""
    before, after = text[max(0, chunk.start - characters) : chunk.start], text[chunk.end : chunk.end + characters]
    if chunk.start > characters:
        before = before.partition(" ")[2]
    if chunk.end + characters < len(text):
        after = after.rpartition(" ")[0]
    return Span(chunk.start - len(before), chunk.end + len(after))


def pieces(text: str, whole: Span, chunk: Span, marks: Marks, borders: Mapping[int, Sequence[str]]) -> tuple[Piece, ...]:
    """A span of a text, divided wherever a mark or a border begins or ends; adjoining pieces of one kind are one."""
    ends = (at for s in (whole, chunk, *marks.evidence, *marks.conditions) for at in (s.start, s.end))
    points = sorted({at for at in (*ends, *borders) if whole.start <= at <= whole.end})
    found: list[Piece] = []
    for start, end in pairwise(points):
        found += [Piece("cut", words) for words in borders.get(start, ())]
        found.append(Piece(_kind(Span(start, end), chunk, marks), text[start:end]))
    return tuple(short for piece in _joined(found) for short in _shortened(piece))


def _kind(span: Span, chunk: Span, marks: Marks) -> Kind:
    within = chunk.contains(span)
    if any(m.contains(span) for m in marks.evidence):
        return "mark" if within else "beyond"
    if any(c.contains(span) for c in marks.conditions):
        return "condition" if within else "lost"
    return "plain" if within else "around"


def _joined(found: Iterable[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    for piece in found:
        if joined and piece.kind == joined[-1].kind != "cut":
            joined[-1] = Piece(piece.kind, joined[-1].text + piece.text)
        else:
            joined.append(piece)
    return joined


def _shortened(piece: Piece) -> tuple[Piece, ...]:
    """Long text without a mark by its beginning and its end."""
    if piece.kind not in ("plain", "around") or len(piece.text) <= MOST:
        return (piece,)
    left = Piece("left out", f"{len(piece.text) - 2 * KEPT:,} characters left out")
    return Piece(piece.kind, piece.text[:KEPT]), left, Piece(piece.kind, piece.text[-KEPT:])
