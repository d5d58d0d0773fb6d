"""A measurement that forgets its chunks against a slow look at all of them at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import Keywords, ask, judged, labelled_corpora, law, one, place

from harness import metrics, splitters
from harness.measurement import Clock, Measurement, Scoring
from harness.pipeline import complete, evaluate, judge
from harness.ranking import DECIMALS, SIMILARITIES
from harness.records import Passage, Point
from harness.spread import quantiles
from harness.tokenizers import Ruler

SCORING = Scoring("cosine", (1, 3))


@st.composite
def cases(draw):
    corpus, questions, embedder = draw(labelled_corpora())
    size = draw(st.integers(1, 8))
    point = Point("words", size, draw(st.sampled_from([0.0, 0.25, 0.5])) if size > 1 else 0.0)
    return splitters.chunk(corpus, point, Ruler(corpus, "words")), questions, embedder


def slowly(chunking, question, embedder):
    """Ranks, scores and the best wrong score of one question, all similarities before the eyes."""
    vectors = embedder.embed(chunking.texts(), "document")
    (row,) = SIMILARITIES["cosine"](embedder.embed([question.text], "query"), vectors)
    near = [round(float(s), DECIMALS) for s in row]
    order = sorted((i for i, s in enumerate(near) if not np.isnan(s)), key=lambda i: (-near[i], i))
    if not any(near[i] for i in order):
        order = []
    return order, near


def alone(chunking, question, chunk):
    """Whether a chunk holds some alternative by itself."""
    alternatives = question.evidence.alternatives if question.evidence else ()
    return any(all(chunk in chunking.answering(p, question.evidence).tolist() for p in a) for a in alternatives)


@given(cases())
@law
def test_an_evaluation_is_what_a_look_at_all_similarities_at_once_gives(case):
    chunking, questions, embedder = case
    found = evaluate(chunking, questions, embedder, SCORING)
    for question, score in zip(questions, found.questions, strict=True):
        order, near = slowly(chunking, question, embedder)
        assert [(p.document_id, p.start, p.end, p.score) for p in score.passages] == [
            (chunking.document_of(c).document_id, chunking.start[c], chunking.end[c], near[c]) for c in order[: SCORING.depth]
        ]
        wrong = [near[c] for c in order if not alone(chunking, question, c)]
        assert score.best_wrong_score == (max(wrong) if wrong else None)
        assert [p.complete for p in score.passages] == [alone(chunking, question, c) for c in order[: SCORING.depth]]
        if question.answerable:
            rank_of = [order.index(c) + 1 if c in order else 0 for c in range(len(chunking))]
            expected = judged(question, chunking, rank_of, score.passages)
            assert score.hit_rank == expected.hit_rank
            assert score.values == metrics.values(expected, SCORING.ks, SCORING.char_k)


@given(cases())
@law
def test_irrelevant_scores_are_those_of_documents_without_evidence_else_of_chunks_away_from_it(case):
    chunking, questions, embedder = case
    scores = []
    for question in questions:
        _, near = slowly(chunking, question, embedder)
        places = list(question.evidence.places()) if question.evidence else []
        documents = {p.document_id for p in places}
        for c in range(len(chunking)) if places else ():
            name, span = chunking.document_of(c).document_id, chunking.span(c)
            elsewhere = len(documents) < len(chunking.corpus.documents)
            close = name in documents and (elsewhere or any(p.document_id == name and p.span.touches(span) for p in places))
            if not close and not np.isnan(near[c]):
                scores.append(near[c])
    found = evaluate(chunking, questions, embedder, SCORING).irrelevant_quantiles
    assert found == pytest.approx(quantiles(scores), abs=2e-6)  # halfway between two decimals either may come out


def in_batches(data, measurement):
    """Embed all, some texts at a time, in any order; yields before each."""
    order = data.draw(st.permutations(range(len(measurement.embedded))))
    while order:
        number = data.draw(st.integers(1, len(order)))
        yield
        measurement.embed(np.array(order[:number]))
        order = order[number:]


@given(cases(), st.data())
@law
def test_the_order_in_which_chunks_come_changes_nothing(case, data):
    chunking, questions, embedder = case
    measurement = Measurement(chunking, questions, embedder, SCORING, Clock())
    for _ in in_batches(data, measurement):
        pass
    expected = evaluate(chunking, questions, embedder, SCORING)
    found = complete(measurement)
    assert found.questions == expected.questions
    assert found.metrics == expected.metrics
    assert found.irrelevant_quantiles == expected.irrelevant_quantiles


@given(cases(), st.data())
@law
def test_what_can_still_be_reached_never_rises_and_ends_as_what_is_reached(case, data):
    chunking, questions, embedder = case
    bounded = [name for name, metric in metrics.METRICS.items() if metric.bounded]
    measurement = Measurement(chunking, questions, embedder, SCORING, Clock())
    before = None
    for _ in (*in_batches(data, measurement), None):
        now = [metrics.values(j, SCORING.ks, SCORING.char_k, bounded) if j else {} for j in judge(measurement)]
        if before is not None:
            assert all(b.keys() == n.keys() for b, n in zip(before, now, strict=True))
            assert all(n[name] <= b[name] for b, n in zip(before, now, strict=True) for name in n)
        before = now
    final = [score.values for score in complete(measurement).questions]
    assert [{name: f[name] for name in n} for f, n in zip(final, before, strict=True)] == before


@given(cases())
@law
def test_passages_know_their_rank_sections_and_size(case):
    chunking, questions, embedder = case
    for score in evaluate(chunking, questions, embedder, SCORING).questions:
        assert [p.rank for p in score.passages] == list(range(1, len(score.passages) + 1))
        assert all(isinstance(p, Passage) and p.size >= 1 for p in score.passages)


def test_of_the_vectors_nothing_is_kept_once_the_evidence_is_settled():
    corpus = one("gate " * 50 + "attic at ten " + "lamp " * 400)
    chunking = splitters.chunk(corpus, Point("words", 2, 0.0), Ruler(corpus, "words"))
    question = ask("attic", place(corpus["d"], "attic at"))
    measurement = Measurement(chunking, [question], Keywords("gate", "attic"), SCORING, Clock())
    measurement.embed(np.array([0]))
    assert len(measurement._kept) == 1  # of evidence that is still to come
    measurement.embed_all()
    assert measurement._kept == []
