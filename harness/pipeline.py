"""The one evaluation, for dev and holdout alike: embed a chunking, rank it for questions, score.

Pure: no Optuna, no MLflow, no files. What is scored, `metrics.METRICS` says.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import metrics, ranking
from harness.embedders import Embedder, scoring_fingerprint
from harness.errors import Fault, TrialTimeout
from harness.metrics import Judgement
from harness.ranking import FloatArray, Ranking
from harness.records import Cause, Chunking, Evaluation, IntArray, Passage, Quantiles, Question, QuestionScore

EMBED_BLOCK = 512  # texts between two looks at the clock
QUESTION_BLOCK = 64  # bounds the similarities in memory to 64 rows of all chunks
QUANTILES = {"min": 0.0, "p05": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "max": 1.0}


@dataclass(frozen=True)
class Scoring:
    """How rankings are made and scored: the similarity and the k of the metrics."""

    similarity: str
    ks: tuple[int, ...]
    char_k: int = metrics.CHAR_K

    @property
    def depth(self) -> int:
        """How many passages of each question are kept."""
        return max(*self.ks, self.char_k, 3)


def quantiles(scores: Sequence[float] | FloatArray) -> Quantiles:
    """Count and quantiles of some scores; without any, only the count, for there are no quantiles of nothing."""
    values = np.asarray(scores, dtype=np.float64)
    if not len(values):
        return {"count": 0}
    found = np.quantile(values, list(QUANTILES.values()))
    return {"count": len(values), **{name: round(float(v), 6) for name, v in zip(QUANTILES, found, strict=True)}}


def evaluate(
    chunking: Chunking,
    questions: Sequence[Question],
    embedder: Embedder,
    scoring: Scoring,
    deadline: float | None = None,
) -> Evaluation:
    """Score a chunking on questions, aggregated and per question.

    `deadline` is a time.monotonic() value; raises TrialTimeout once it has passed.
    """
    clock = _Clock(deadline)
    texts = chunking.texts()
    with clock.timed("fit"):
        fitted = embedder.fit(texts)
    with clock.timed("embed"):
        index = _embed(texts, fitted, clock)
        asked = fitted.embed([q.text for q in questions], "query")
    with clock.timed("score"):
        scores, irrelevant = _score(chunking, questions, asked, index, fitted, scoring, clock)
    return Evaluation(
        metrics=_aggregate(chunking, scores, index),
        questions=tuple(scores),
        chunking_sha256=chunking.sha256,
        scoring_fingerprint=scoring_fingerprint(fitted, scoring.similarity),
        irrelevant_quantiles=quantiles(irrelevant),
        tokens_embedded=index.tokens_embedded,
        tokens_full=index.tokens_full,
        seconds=clock.seconds,
    )


class _Clock:
    def __init__(self, deadline: float | None) -> None:
        self.deadline = deadline
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[step] = round(time.perf_counter() - start, 4)
        self.check()

    def check(self) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise TrialTimeout(
                Fault("[search] trial_timeout", "the trial passed its time limit", "raise it, or use larger chunks")
            )


@dataclass(frozen=True)
class _Index:
    vectors: Any  # one row a chunk
    truncated: IntArray  # chunks that the model would cut
    tokens_cut: int  # of all chunks, which the model does not read
    tokens_embedded: int
    tokens_full: int
    bytes: int


def read_tokens(texts: Sequence[str], embedder: Embedder) -> tuple[IntArray, IntArray]:
    """Tokens of each text that the model reads, and tokens beyond these that it cuts off; both of shape (n,)."""
    counts = embedder.token_counts(texts)
    read = counts if embedder.max_tokens is None else np.minimum(counts, embedder.max_tokens)
    return read, counts - read


def _embed(texts: Sequence[str], embedder: Embedder, clock: _Clock) -> _Index:
    """Vectors of all chunks; identical texts are embedded once."""
    distinct = list(dict.fromkeys(texts))
    row = {text: i for i, text in enumerate(distinct)}
    rows = [row[t] for t in texts]
    blocks = []
    for at in range(0, len(distinct), EMBED_BLOCK):
        blocks.append(embedder.embed(distinct[at : at + EMBED_BLOCK], "document"))
        clock.check()
    vectors = _stacked(blocks)[rows]
    read, beyond = read_tokens(distinct, embedder)
    truncated = np.flatnonzero(beyond[rows])
    return _Index(vectors, truncated, int(beyond[rows].sum()), int(read.sum()), int(read[rows].sum()), _bytes(vectors))


def _stacked(blocks: list[Any]) -> Any:
    if hasattr(blocks[0], "toarray"):
        from scipy.sparse import vstack

        return vstack(blocks, format="csr")
    return np.concatenate(blocks)


def _bytes(vectors: Any) -> int:
    parts = (vectors.data, vectors.indices, vectors.indptr) if hasattr(vectors, "indptr") else (vectors,)
    return sum(int(p.nbytes) for p in parts)


def _score(
    chunking: Chunking,
    questions: Sequence[Question],
    asked: Any,
    index: _Index,
    embedder: Embedder,
    scoring: Scoring,
    clock: _Clock,
) -> tuple[list[QuestionScore], FloatArray]:
    compare = ranking.SIMILARITIES[scoring.similarity]
    reach = {int(c): _reach(chunking, int(c), embedder) for c in index.truncated}
    scores, irrelevant = [], [np.zeros(0)]
    for at in range(0, len(questions), QUESTION_BLOCK):
        block = slice(at, at + QUESTION_BLOCK)
        for question, row in zip(questions[block], compare(asked[block], index.vectors), strict=True):
            ranked = ranking.rank(row)
            scores.append(_score_one(question, chunking, ranked, reach, scoring))
            irrelevant.append(_irrelevant(question, chunking, ranked))
        clock.check()
    return scores, np.concatenate(irrelevant)


def _reach(chunking: Chunking, chunk: int, embedder: Embedder) -> int:
    """Offset in its document up to which the model reads a chunk; what is put before the chunk is read first."""
    prefix = chunking.prefix(chunk)
    return int(chunking.start[chunk]) + max(0, embedder.reach(prefix + chunking.text(chunk)) - len(prefix))


def _score_one(question: Question, chunking: Chunking, ranked: Ranking, reach: dict[int, int], scoring: Scoring) -> QuestionScore:
    complete = _complete_chunks(question, chunking)
    passages = tuple(
        _passage(chunking, int(c), rank + 1, float(s), int(c) in complete)
        for rank, (c, s) in enumerate(zip(ranked.chunks[: scoring.depth], ranked.scores[: scoring.depth], strict=True))
    )
    wrong = next((float(s) for c, s in zip(ranked.chunks, ranked.scores, strict=True) if int(c) not in complete), None)
    if not question.answerable:
        return QuestionScore(question.question_id, False, None, {}, None, None, wrong, passages)
    judged = metrics.judge(question, chunking, ranked.rank_of.tolist(), passages)
    return QuestionScore(
        question_id=question.question_id,
        answerable=True,
        hit_rank=judged.hit_rank,
        values=metrics.values(judged, scoring.ks, scoring.char_k),
        cause=_cause(judged, chunking, reach),
        right_section_first=_as_bool(metrics.section_hit(judged, 1)),
        best_wrong_score=wrong,
        passages=passages,
    )


def _as_bool(value: float | None) -> bool | None:
    return None if value is None else bool(value)


def _complete_chunks(question: Question, chunking: Chunking) -> set[int]:
    """Chunks that alone hold some alternative whole."""
    if question.evidence is None:
        return set()
    answering = [[set(chunking.answering(p, question.evidence).tolist()) for p in a] for a in question.evidence.alternatives]
    return {c for places in answering for c in set.intersection(*places)}


def _passage(chunking: Chunking, chunk: int, rank: int, score: float, complete: bool) -> Passage:
    span = chunking.span(chunk)
    document = chunking.document_of(chunk)
    sections = document.section_ids(span)
    return Passage(rank, score, document.document_id, span.start, span.end, int(chunking.stored[chunk]), sections, complete)


def _cause(judged: Judgement, chunking: Chunking, reach: dict[int, int]) -> Cause | None:
    """Why the first chunk alone is no hit; None when it is one."""
    if judged.hit_rank == 1:
        return None
    if not judged.passages:
        return "no match"
    if not judged.containable:
        return "cut"
    return "outranked" if _readable(judged, chunking, reach) else "truncated"


def _readable(judged: Judgement, chunking: Chunking, reach: dict[int, int]) -> bool:
    """Whether some alternative's places each lie whole in what the model reads of some chunk."""
    return not judged.whole or any(
        all(
            any(place.span.end <= reach.get(c, place.span.end) for c in chunking.holding(place).tolist()) for place in alternative
        )
        for alternative in judged.alternatives
    )


def _irrelevant(question: Question, chunking: Chunking, ranked: Ranking) -> FloatArray:
    """Scores of chunks that clearly do not answer: of documents without evidence, else away from the expected section."""
    if question.evidence is None:
        return np.zeros(0)
    documents = {chunking.corpus.index[p.document_id] for p in question.evidence.places()}
    away = ~np.isin(chunking.document[ranked.chunks], list(documents))
    if len(documents) == len(chunking.corpus.documents):
        near = np.concatenate([chunking.touching(p.document_id, p.span) for p in question.evidence.places()])
        if question.expected_section:
            document_id, section_id = question.expected_section
            spans = [s.span for s in chunking.corpus[document_id].sections if s.section_id == section_id]
            near = np.concatenate([near, *(chunking.touching(document_id, s) for s in spans)])
        away = ~np.isin(ranked.chunks, near)
    return ranked.scores[away]


def _aggregate(chunking: Chunking, scores: Sequence[QuestionScore], index: _Index) -> dict[str, float]:
    answerable = [s for s in scores if s.answerable]
    found = metrics.means([s.values for s in answerable])
    if answerable:
        found["context_at_3"] = sum(p.size for s in answerable for p in s.passages[:3]) / len(answerable)
    return {
        **found,
        "index_ratio": chunking.index_ratio,
        "chunks": float(len(chunking)),
        **size_metrics(chunking),
        "truncated_share": len(index.truncated) / len(chunking),
        "truncated_tokens": float(index.tokens_cut),
        "tokens_embedded": float(index.tokens_embedded),
        "index_bytes": float(index.bytes),
    }


def size_metrics(chunking: Chunking) -> dict[str, float]:
    """The sizes that were achieved, in units: a chunk size of 250 of one splitter averages 160 of another."""
    size, target = chunking.size, chunking.target
    low, middle, high = np.quantile(size, [0.05, 0.5, 0.95]).tolist()
    found = {"mean_chunk_size": float(size.mean()), "chunk_size_p05": low, "chunk_size_p50": middle, "chunk_size_p95": high}
    found["chunk_size_max"] = float(size.max())
    if target:  # a baseline has no size to be above or below
        found |= {"oversize_share": float((size > target).mean()), "undersize_share": float((2 * size < target).mean())}
    if chunking.shared is not None:
        found["mean_overlap"] = float(chunking.shared.mean())
    return found


def run_metrics(evaluation: Evaluation, split: str) -> dict[str, float]:
    """Metrics under the names that runs use: quality as `<split>/...`, costs and seconds bare."""
    named = {name if name in metrics.COSTS else f"{split}/{name}": value for name, value in evaluation.metrics.items()}
    return {**named, **{f"seconds_{step}": value for step, value in evaluation.seconds.items()}}
