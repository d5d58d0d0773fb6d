"""Each miss of one trial with its evidence and first chunk, cut up by offsets alone; a cause more is a line in `CAUSES`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from harness.records import Corpus, Passage, Place, Question, QuestionScore, Span

CAUSES = {
    "cut": "No chunk of this setting holds the whole evidence: a chunk border runs through it. No ranking could have answered; "
    "larger chunks or more overlap could.",
    "outranked": "Some chunk holds the whole evidence, but another chunk scored higher and came first.",
    "truncated": "Some chunk holds the whole evidence, but the model reads only the beginning of that chunk, and the evidence "
    "ends after what it reads.",
    "no match": "No chunk had a similarity above zero, so nothing was retrieved.",
}
Kind = Literal["plain", "mark", "beyond", "cut"]


@dataclass(frozen=True)
class Piece:
    """A run of text: plain, evidence (mark), evidence outside the chunk (beyond); or the words of a border (cut)."""

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
class Miss:
    """A question whose first chunk alone does not hold its evidence; without texts it has ids and offsets only."""

    score: QuestionScore
    question: Question | None
    alternatives: tuple[tuple[Passaged, ...], ...]
    first: Passaged | None


def misses(scores: Sequence[QuestionScore], questions: Sequence[Question], corpus: Corpus, texts: bool) -> list[Miss]:
    """The misses of one trial, in the order of its questions."""
    asked = {q.question_id: q for q in questions}
    return [_miss(s, asked.get(s.question_id), corpus, texts) for s in scores if s.cause]


def _miss(score: QuestionScore, question: Question | None, corpus: Corpus, texts: bool) -> Miss:
    evidence = question.evidence if question else None
    alternatives = evidence.alternatives if evidence else ()
    quoted = evidence is not None and evidence.whole  # a region is a document: its place says enough
    places = [p for a in alternatives for p in a] if quoted else []
    shown = tuple(tuple(_evidence(p, score.passages, corpus, texts and quoted) for p in a) for a in alternatives)
    first = _chunk(score.passages[0], places, corpus, texts) if score.passages else None
    return Miss(score, question if texts else None, shown, first)


def _inside(passage: Passage, place: Place) -> Span | None:
    """The part of a place that lies in a passage."""
    if passage.document_id != place.document_id:
        return None
    start, end = max(passage.start, place.span.start), min(passage.end, place.span.end)
    return Span(start, end) if start < end else None


def _evidence(place: Place, passages: Sequence[Passage], corpus: Corpus, texts: bool) -> Passaged:
    """A place with what the first chunk holds of it marked, and each border of a retrieved chunk that runs through it."""
    span = place.span
    borders: dict[int, list[str]] = {}
    for p in passages:
        if _inside(p, place):
            for at, word in ((p.start, "begins"), (p.end, "ends")):
                if span.start < at < span.end:
                    borders.setdefault(at, []).append(f"chunk of rank {p.rank} {word}")
    held = [s for s in (_inside(p, place) for p in passages[:1]) if s]
    pieces = _pieces(corpus[place.document_id].text, span, span, held, borders) if texts else ()
    return Passaged(place.document_id, span.start, span.end, pieces)


def _chunk(passage: Passage, places: Sequence[Place], corpus: Corpus, texts: bool) -> Passaged:
    """A chunk with the evidence in it marked; evidence that its borders cut is shown beyond them."""
    chunk = Span(passage.start, passage.end)
    near = [p.span for p in places if _inside(passage, p)]
    whole = Span(min([chunk.start, *(s.start for s in near)]), max([chunk.end, *(s.end for s in near)]))
    borders = {}
    if whole.start < chunk.start:
        borders[chunk.start] = ["the chunk begins here"]
    if chunk.end < whole.end:
        borders[chunk.end] = ["the chunk ends here"]
    pieces = _pieces(corpus[passage.document_id].text, whole, chunk, near, borders) if texts else ()
    return Passaged(passage.document_id, passage.start, passage.end, pieces)


def _pieces(text: str, whole: Span, inside: Span, marked: Sequence[Span], borders: dict[int, list[str]]) -> tuple[Piece, ...]:
    """A span of a text, divided wherever a mark or a border begins or ends; adjoining pieces of one kind are one."""
    ends = (at for s in (whole, inside, *marked) for at in (s.start, s.end))
    points = sorted({at for at in (*ends, *borders) if whole.start <= at <= whole.end})
    pieces: list[Piece] = []
    for start, end in pairwise(points):
        pieces += [Piece("cut", words) for words in borders.get(start, ())]
        pieces.append(Piece(_kind(Span(start, end), inside, marked), text[start:end]))
    return tuple(_joined(pieces))


def _kind(span: Span, inside: Span, marked: Sequence[Span]) -> Kind:
    if not inside.contains(span):
        return "beyond"
    return "mark" if any(m.contains(span) for m in marked) else "plain"


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    for piece in pieces:
        if joined and piece.kind == joined[-1].kind != "cut":
            joined[-1] = Piece(piece.kind, joined[-1].text + piece.text)
        else:
            joined.append(piece)
    return joined
