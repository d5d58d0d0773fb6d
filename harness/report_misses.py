"""Each miss of one trial with its evidence and first chunk, cut up by offsets alone; a cause more is a line in `CAUSES`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.records import Corpus, Passage, Place, Question, QuestionScore, Span
from harness.report_pieces import Marks, Passaged, inside, pieces

CAUSES = {
    "cut": "No chunk of this setting holds the whole evidence: a chunk border runs through it. No ranking could have answered; "
    "larger chunks or more overlap could.",
    "outranked": "Some chunk holds the whole evidence, but another chunk scored higher and came first.",
    "truncated": "Some chunk holds the whole evidence, but the model reads only the beginning of that chunk, and the evidence "
    "ends after what it reads.",
    "no match": "No chunk had a similarity above zero, so nothing was retrieved.",
}


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


def _evidence(place: Place, passages: Sequence[Passage], corpus: Corpus, texts: bool) -> Passaged:
    """A place with what the first chunk holds of it marked, and each border of a retrieved chunk that runs through it."""
    span = place.span
    borders: dict[int, list[str]] = {}
    for p in passages:
        if inside(p, place):
            for at, word in ((p.start, "begins"), (p.end, "ends")):
                if span.start < at < span.end:
                    borders.setdefault(at, []).append(f"chunk of rank {p.rank} {word}")
    held = [s for s in (inside(p, place) for p in passages[:1]) if s]
    shown = pieces(corpus[place.document_id].text, span, span, Marks(held), borders) if texts else ()
    return Passaged(place.document_id, span.start, span.end, shown)


def _chunk(passage: Passage, places: Sequence[Place], corpus: Corpus, texts: bool) -> Passaged:
    """A chunk with the evidence in it marked; evidence that its borders cut is shown beyond them."""
    chunk = Span(passage.start, passage.end)
    near = [p.span for p in places if inside(passage, p)]
    whole = Span(min([chunk.start, *(s.start for s in near)]), max([chunk.end, *(s.end for s in near)]))
    borders = {}
    if whole.start < chunk.start:
        borders[chunk.start] = ["the chunk begins here"]
    if chunk.end < whole.end:
        borders[chunk.end] = ["the chunk ends here"]
    shown = pieces(corpus[passage.document_id].text, whole, chunk, Marks(near), borders) if texts else ()
    return Passaged(passage.document_id, passage.start, passage.end, shown)
