"""The one evaluation: why an answer is missed, what is embedded, and what is averaged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import Keywords, ask, chunked, law, one, place

from harness import splitters
from harness.embedders.lexical import NoOptions, TermFrequency, Tfidf
from harness.errors import TrialTimeout
from harness.metrics import COSTS
from harness.pipeline import Scoring, evaluate, run_metrics
from harness.records import Chunking, Corpus, Document, Point, Section, Span
from harness.spread import quantiles
from harness.tokenizers import Ruler

COSINE = Scoring("cosine", (1, 3))


def in_words(corpus: Corpus, size: int, overlap_ratio: float = 0.0) -> Chunking:
    return splitters.chunk(corpus, Point("words", size, overlap_ratio), Ruler(corpus, "words"))


GATE = Document(
    "d", "the gate shuts at ten sharp the attic opens later", (Section("G", "", Span(0, 27)), Section("A", "", Span(28, 49)))
)


def test_an_answer_cut_in_two_is_cut_though_the_right_section_comes_first():
    corpus = Corpus((GATE,))
    question = ask("when does the gate close", place(GATE, "at ten"), section=("d", "G"))
    (score,) = evaluate(in_words(corpus, 4), [question], Keywords("gate", "attic"), COSINE).questions
    assert (score.cause, score.right_section_first, score.hit_rank) == ("cut", True, None)
    assert score.values["ceiling"] == 0.0


def test_an_answer_whole_in_a_later_chunk_is_outranked():
    corpus = Corpus((GATE,))
    question = ask("attic and gate and gate", place(GATE, "attic opens"), section=("d", "A"))
    (score,) = evaluate(in_words(corpus, 6), [question], Keywords("gate", "attic"), COSINE).questions
    assert (score.cause, score.right_section_first, score.hit_rank) == ("outranked", False, 2)
    assert score.values["mrr"] == 0.5
    assert [p.complete for p in score.passages] == [False, True]


def test_an_answer_beyond_what_the_model_reads_is_truncated():
    corpus = one("gate a b c the answer.")
    question = ask("gate", place(corpus["d"], "the answer"))
    found = evaluate(chunked(corpus, (0, 0, 4), (0, 0, 22)), [question], Keywords("gate", max_tokens=3), COSINE)
    (score,) = found.questions
    assert (score.hit_rank, score.cause, found.metrics["truncated_share"]) == (2, "truncated", 0.5)


def test_an_answer_that_the_model_reads_the_beginning_of_is_truncated():
    corpus = one("gate the answer and more")
    chunking = chunked(corpus, (0, 0, 4), (0, 0, 24))
    question = ask("gate", place(corpus["d"], "the answer"))
    (score,) = evaluate(chunking, [question], Keywords("gate", max_tokens=2), COSINE).questions
    assert (score.hit_rank, score.cause) == (2, "truncated")


def test_an_answer_within_what_the_model_reads_of_a_truncated_chunk_is_outranked():
    corpus = one("gate the answer. and so on and on")
    question = ask("gate", place(corpus["d"], "the answer"))
    chunking = chunked(corpus, (0, 0, 4), (0, 0, 33))
    (score,) = evaluate(chunking, [question], Keywords("gate", max_tokens=3), COSINE).questions
    assert (score.hit_rank, score.cause) == (2, "outranked")


def test_a_question_with_nothing_in_common_matches_nothing():
    corpus = Corpus((GATE,))
    found = evaluate(in_words(corpus, 6), [ask("who sings", place(GATE, "at ten"))], Keywords("gate", "attic"), COSINE)
    (score,) = found.questions
    assert (score.cause, score.passages, score.first_score, score.best_wrong_score) == ("no match", (), None, None)
    assert (found.metrics["hit_at_1"], found.metrics["char_precision_at_5"], found.metrics["context_at_3"]) == (0.0, 0.0, 0.0)


def test_a_hit_has_no_cause_and_the_best_wrong_score_is_of_a_chunk_without_the_answer():
    corpus = Corpus((GATE,))
    question = ask("gate gate attic", place(GATE, "shuts at"))
    (score,) = evaluate(in_words(corpus, 6), [question], Keywords("gate", "attic"), COSINE).questions
    assert (score.hit_rank, score.cause, score.positive) == (1, None, True)
    assert score.best_wrong_score == score.passages[1].score < score.first_score


def test_identical_texts_are_embedded_once_and_counted_both_ways():
    corpus = one("gate gate gate gate attic attic")
    embedder = Keywords("gate", "attic")
    found = evaluate(in_words(corpus, 2), [ask("gate", place(corpus["d"], "attic"))], embedder, COSINE)
    assert sorted(text for role, text in embedder.asked if role == "document") == ["attic attic", "gate gate"]
    assert (found.tokens_embedded, found.tokens_full, found.metrics["tokens_embedded"]) == (4, 6, 4.0)


def test_tokens_beyond_what_the_model_reads_are_not_counted_as_embedded():
    corpus = one("gate a b c d e")
    found = evaluate(in_words(corpus, 6), [ask("gate", place(corpus["d"], "gate"))], Keywords("gate", max_tokens=4), COSINE)
    assert (found.tokens_embedded, found.metrics["truncated_share"]) == (4, 1.0)


def test_a_trial_past_its_deadline_is_stopped():
    corpus = Corpus((GATE,))
    with pytest.raises(TrialTimeout, match="trial_timeout"):
        evaluate(in_words(corpus, 4), [ask("gate")], Keywords("gate"), COSINE, time_limit=-1)
    assert evaluate(in_words(corpus, 4), [ask("gate")], Keywords("gate"), COSINE, time_limit=60)


def test_unanswerable_questions_are_in_no_metric_but_are_scored():
    corpus = Corpus((GATE,))
    answerable = ask("gate", place(GATE, "shuts at"))
    unanswerable = ask("attic rent", question_id="u")
    alone = evaluate(in_words(corpus, 5), [answerable], Keywords("gate", "attic"), COSINE)
    both = evaluate(in_words(corpus, 5), [unanswerable, answerable], Keywords("gate", "attic"), COSINE)
    assert alone.metrics == both.metrics
    (score, _) = both.questions
    assert (score.answerable, score.values, score.cause, score.hit_rank) == (False, {}, None, None)
    assert score.first_score == score.best_wrong_score == 1.0


def test_without_answerable_questions_quality_is_absent_not_zero():
    found = evaluate(in_words(Corpus((GATE,)), 5), [ask("attic")], Keywords("attic"), COSINE)
    assert not [name for name in found.metrics if name.startswith(("hit", "recall", "mrr", "char", "context", "ceiling"))]
    assert {"index_ratio", "chunks", "mean_chunk_size"} <= set(found.metrics)


def test_context_at_3_is_the_mean_size_of_the_first_three_chunks_over_answerable_questions():
    corpus = one("gate a b c gate d e attic attic f g h gate i j k")
    questions = [ask("gate", place(corpus["d"], "a b"), question_id="1"), ask("zoo", place(corpus["d"], "d e"), question_id="2")]
    found = evaluate(in_words(corpus, 4), [*questions, ask("attic")], Keywords("gate", "attic"), COSINE)
    first, nothing, _ = found.questions
    assert ([p.size for p in first.passages[:3]], nothing.passages) == ([4, 4, 4], ())
    assert found.metrics["context_at_3"] == (12 + 0) / 2


@pytest.mark.parametrize("embedder", [Tfidf.load(NoOptions()), TermFrequency.load(NoOptions())], ids=["tfidf", "term-frequency"])
def test_an_evaluation_is_the_same_every_time_but_for_its_seconds(embedder):
    corpus = Corpus((GATE, Document("e", "a gate of another garden opens at noon")))
    questions = [ask("when does the gate shut", place(GATE, "at ten"), question_id="1"), ask("who", question_id="2")]
    once, again = (evaluate(in_words(corpus, 5, 0.2), questions, embedder, COSINE) for _ in range(2))
    assert replace(once, seconds={}) == replace(again, seconds={})


def test_tfidf_is_fitted_on_chunks_and_never_sees_a_question():
    seen = []

    class Spied(Tfidf):
        def fit(self, texts):
            seen.append(list(texts))
            return super().fit(texts)

    corpus = Corpus((GATE,))
    chunking = in_words(corpus, 5)
    questions = [ask("zanzibar gate"), ask("attic zeppelin")]
    evaluations = [evaluate(chunking, [q], Spied(), COSINE) for q in questions]
    assert seen == [[chunking.text(c) for c in range(len(chunking))]] * 2
    assert len({e.scoring_fingerprint for e in evaluations}) == 1


def test_a_fitted_scorer_is_another_scoring_function_for_every_chunking():
    corpus, embedder = Corpus((GATE,)), Tfidf.load(NoOptions())
    prints = {evaluate(in_words(corpus, size), [ask("gate")], embedder, COSINE).scoring_fingerprint for size in (4, 5)}
    assert len(prints) == 2


def test_irrelevant_scores_are_of_documents_without_evidence():
    corpus = Corpus((Document("a", "gate answer"), Document("b", "gate attic"), Document("c", "attic attic")))
    found = evaluate(in_words(corpus, 2), [ask("gate", place(corpus["a"], "answer"))], Keywords("gate", "attic"), COSINE)
    assert found.irrelevant_quantiles["count"] == 2
    assert found.irrelevant_quantiles["max"] == pytest.approx(2**-0.5, abs=1e-6)


def test_in_a_corpus_of_one_document_irrelevant_scores_are_of_chunks_away_from_the_expected_section():
    question = ask("gate", place(GATE, "at ten"), section=("d", "G"))
    found = evaluate(in_words(Corpus((GATE,)), 2), [question], Keywords("gate", "attic"), COSINE)
    assert (found.irrelevant_quantiles["count"], found.irrelevant_quantiles["max"]) == (1, 0.0)  # `the attic`


def test_as_many_passages_are_kept_as_any_metric_looks_at():
    assert [Scoring("cosine", ks, char_k).depth for ks, char_k in (((1,), 1), ((1, 10), 5), ((1, 3), 7))] == [3, 10, 7]


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20))
@law
def test_quantiles_lie_between_the_least_and_the_greatest(scores):
    found = quantiles(scores)
    assert found["count"] == len(scores)
    assert [found[name] for name in ("min", "p50", "max")] == [round(f(scores), 6) for f in (min, np.median, max)]


def test_nothing_has_a_count_and_no_quantiles():
    assert quantiles([]) == {"count": 0}


def test_runs_name_quality_by_split_and_costs_bare():
    found = evaluate(in_words(Corpus((GATE,)), 5), [ask("gate", place(GATE, "shuts at"))], Keywords("gate"), COSINE)
    named = run_metrics(found, "dev")
    assert {"dev/hit_at_1", "dev/mrr", "dev/char_iou_at_5", "dev/ceiling", "dev/precision_omega"} <= set(named)
    bare = {name for name in named if "/" not in name}
    assert bare == {*COSTS, *(f"seconds_{step}" for step in ("split", "fit", "count", "embed", "score"))}
