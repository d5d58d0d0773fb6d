"""The one evaluation, for dev and holdout alike: embed a chunking, rank it for questions, score.

Pure: no Optuna, no MLflow, no files. What is scored, `metrics.METRICS` says.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness import metrics
from harness.embedders import Embedder, scoring_fingerprint
from harness.measurement import Clock, Measurement, Scoring, read_tokens
from harness.metrics import Judgement
from harness.records import Bound, Cause, Chunking, Evaluation, Passage, Question, QuestionScore

BY_CHANCE = metrics.names([], 0, by_chance=True)


def evaluate(
    chunking: Chunking,
    questions: Sequence[Question],
    embedder: Embedder,
    scoring: Scoring,
    time_limit: float | None = None,
) -> Evaluation:
    """Score a chunking on questions, aggregated and per question.

    `time_limit` is in seconds; raises TrialTimeout once they have passed.
    """
    return complete(Measurement(chunking, questions, embedder, scoring, Clock(time_limit)))


def complete(measurement: Measurement) -> Evaluation:
    """Embed what a measurement lacks and score it."""
    measurement.embed_all()
    with measurement.clock.timed("score"):
        reach = _Reach(measurement)
        scores = tuple(_score_one(measurement, i, judged, reach) for i, judged in enumerate(judge(measurement)))
    read, _ = measurement.tokens
    return Evaluation(
        metrics=_aggregate(measurement, scores),
        questions=scores,
        chunking_sha256=measurement.chunking.sha256,
        scoring_fingerprint=scoring_fingerprint(measurement.fitted, measurement.scoring.similarity),
        irrelevant_quantiles=measurement.irrelevant.quantiles(),
        tokens_embedded=measurement.tokens_embedded,
        tokens_full=int(read[measurement.text_of].sum()),
        seconds=measurement.clock.seconds,
    )


def judge(measurement: Measurement) -> list[Judgement | None]:
    """How each question stands: as it is once all is embedded, before that as well as it can still end, without passages.

    None for a question that is not answerable.
    """
    ranks = measurement.ranks.tolist()
    wanted, held = measurement.wanted, np.bincount(measurement.wanted.held[0], minlength=len(ranks)) > 0
    found: list[Judgement | None] = []
    for i, question in enumerate(measurement.questions):
        if question.evidence is None:
            found.append(None)
            continue
        at = wanted.alternatives[i]
        place_ranks = tuple(tuple(ranks[p] for p in a) for a in at)
        if not measurement.complete:
            place_ranks = tuple(_apart(r, one) for r, one in zip(place_ranks, wanted.together[i], strict=True))
        condition = min((ranks[p] for p in wanted.conditions[i] if ranks[p]), default=0)
        in_some = tuple(tuple(bool(held[p]) for p in a) for a in at)
        passages = _passages(measurement, i) if measurement.complete else ()
        found.append(Judgement(question, passages, place_ranks, in_some, measurement.chunking, condition))
    return found


def _apart(ranks: tuple[int, ...], together: bool) -> tuple[int, ...]:
    """Ranks that are possible at once: without a chunk that holds all places, one of them is second at best."""
    return ranks if together or set(ranks) != {1} else (*ranks[:-1], 2)


def _passages(measurement: Measurement, question: int) -> tuple[Passage, ...]:
    chunks, scores = measurement.leaders.of(question)
    asked, chunk = measurement.wanted.complete
    complete = set(chunk[asked == question].tolist())
    return tuple(
        _passage(measurement.chunking, c, rank, s, c in complete)
        for rank, (c, s) in enumerate(zip(chunks.tolist(), scores.tolist(), strict=True), 1)
    )


class _Reach:
    """Offset in its document up to which the model reads a chunk; what is put before the chunk is read first."""

    def __init__(self, measurement: Measurement) -> None:
        self._measurement = measurement
        self._beyond = measurement.tokens[1][measurement.text_of]

    def of(self, chunk: int) -> int:
        """Raises nothing: a chunk that is not cut is read to its end."""
        chunking = self._measurement.chunking
        if not self._beyond[chunk]:
            return int(chunking.end[chunk])
        prefix = chunking.prefix(chunk)
        read = self._measurement.fitted.reach(chunking.stored_text(chunk))
        return int(chunking.start[chunk]) + max(0, read - len(prefix))


def _score_one(measurement: Measurement, at: int, judged: Judgement | None, reach: _Reach) -> QuestionScore:
    question, scoring = measurement.questions[at], measurement.scoring
    wrong = float(measurement.best_wrong[at]) if measurement.leaders.retrieves(at) else float("-inf")
    best_wrong = wrong if np.isfinite(wrong) else None
    if judged is None:
        passages = _passages(measurement, at)
        return QuestionScore(question.question_id, False, None, {}, None, None, best_wrong, passages)
    return QuestionScore(
        question_id=question.question_id,
        answerable=True,
        hit_rank=judged.hit_rank,
        values=metrics.values(judged, scoring.ks, scoring.char_k),
        cause=_cause(judged, reach),
        right_section_first=_as_bool(metrics.section_hit(judged, 1)),
        best_wrong_score=best_wrong,
        passages=judged.passages,
    )


def _as_bool(value: float | None) -> bool | None:
    return None if value is None else bool(value)


def _passage(chunking: Chunking, chunk: int, rank: int, score: float, complete: bool) -> Passage:
    span = chunking.span(chunk)
    document = chunking.document_of(chunk)
    sections = document.section_ids(span)
    return Passage(rank, score, document.document_id, span.start, span.end, int(chunking.stored[chunk]), sections, complete)


def _cause(judged: Judgement, reach: _Reach) -> Cause | None:
    """Why the first chunk alone is no hit; None when it is one."""
    if judged.hit_rank == 1:
        return None
    if not judged.passages:
        return "no match"
    if not judged.containable:
        return "cut"
    return "outranked" if _readable(judged, reach) else "truncated"


def _readable(judged: Judgement, reach: _Reach) -> bool:
    """Whether some alternative's places each lie whole in what the model reads of some chunk."""
    return not judged.whole or any(
        all(any(place.span.end <= reach.of(c) for c in judged.chunking.holding(place).tolist()) for place in alternative)
        for alternative in judged.alternatives
    )


def _aggregate(measurement: Measurement, scores: Sequence[QuestionScore]) -> dict[str, float]:
    answerable = [s for s in scores if s.answerable]
    found = metrics.means([s.values for s in answerable])
    if answerable:
        found["context_at_3"] = sum(p.size for s in answerable for p in s.passages[:3]) / len(answerable)
    return {
        **found,
        **known_costs(measurement),
        "tokens_embedded": float(measurement.tokens_embedded),
        "index_bytes": float(measurement.index_bytes),
    }


def known_costs(measurement: Measurement) -> dict[str, float]:
    """What a setting costs, as far as it is known without embedding."""
    chunking, beyond = measurement.chunking, measurement.tokens[1][measurement.text_of]
    return {
        "index_ratio": chunking.index_ratio,
        "chunks": float(len(chunking)),
        **size_metrics(chunking),
        "truncated_share": np.count_nonzero(beyond) / len(chunking),
        "truncated_tokens": float(beyond.sum()),
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


def run_metrics(evaluation: Evaluation | Bound, split: str) -> dict[str, float]:
    """Metrics under the names that runs use: quality as `<split>/...`, upper bounds as `bound/...`, costs and seconds bare.

    What chance gets is left out: it is no result, and names of metrics are to be few.
    """
    own = {name: value for name, value in evaluation.metrics.items() if name not in BY_CHANCE}
    named = {name if name in metrics.COSTS else f"{split}/{name}": value for name, value in own.items()}
    return {**named, **{f"seconds_{step}": value for step, value in evaluation.seconds.items()}}


__all__ = ["Measurement", "Scoring", "complete", "evaluate", "judge", "known_costs", "read_tokens", "run_metrics", "size_metrics"]
