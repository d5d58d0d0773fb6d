"""Retrieved contexts to read by eye: some dev questions of one trial with the chunks that a language model would be given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.records import Corpus, Passage, Question, QuestionScore, Span
from harness.report_pieces import Marks, Passaged, around, pieces
from harness.splitters.prepend import prefix

QUESTIONS, CHUNKS, AROUND = 20, 3, 240  # characters around a chunk: what it lost a sentence before is there


@dataclass(frozen=True)
class Chunk:
    """A retrieved chunk, what is embedded before it, and its text with what stands around it."""

    passage: Passage
    prefix: str
    place: Passaged


@dataclass(frozen=True)
class Context:
    """A question and its first chunks; without texts it has ids and offsets only."""

    score: QuestionScore
    question: Question | None
    chunks: tuple[Chunk, ...]


def drawn(scores: Sequence[QuestionScore], seed: int) -> list[QuestionScore]:
    """Twenty answerable questions by chance, hits and misses as they come; the same seed draws the same under every setting."""
    answerable = sorted((s for s in scores if s.answerable), key=lambda s: s.question_id)
    chosen = np.random.default_rng(seed).permutation(len(answerable))[:QUESTIONS]
    return [answerable[i] for i in sorted(chosen.tolist())]


def contexts(
    scores: Sequence[QuestionScore],
    questions: Sequence[Question],
    corpus: Corpus,
    prepend: tuple[str, ...],
    texts: bool,
    seed: int,
) -> list[Context]:
    """What to read of one trial."""
    asked = {q.question_id: q for q in questions}
    return [_context(s, asked.get(s.question_id), corpus, prepend, texts) for s in drawn(scores, seed)]


def _context(score: QuestionScore, question: Question | None, corpus: Corpus, prepend: tuple[str, ...], texts: bool) -> Context:
    chunks = tuple(_chunk(p, question, corpus, prepend, texts) for p in score.passages[:CHUNKS])
    return Context(score, question if texts else None, chunks)


def _chunk(passage: Passage, question: Question | None, corpus: Corpus, prepend: tuple[str, ...], texts: bool) -> Chunk:
    if not texts:
        return Chunk(passage, "", Passaged(passage.document_id, passage.start, passage.end, ()))
    document, chunk = corpus[passage.document_id], Span(passage.start, passage.end)
    evidence = question.evidence if question and question.evidence and question.evidence.whole else None
    marks = Marks(
        [p.span for p in (evidence.places() if evidence else ()) if p.document_id == passage.document_id],
        [p.span for p in (question.condition if question else ()) if p.document_id == passage.document_id],
    )
    whole = around(document.text, chunk, AROUND)
    borders = {}
    if whole.start < chunk.start:
        borders[chunk.start] = ["the chunk begins here"]
    if chunk.end < whole.end:
        borders[chunk.end] = ["the chunk ends here"]
    shown = pieces(document.text, whole, chunk, marks, borders)
    before = prefix(document, passage.start, prepend)
    return Chunk(passage, before, Passaged(passage.document_id, passage.start, passage.end, shown))
