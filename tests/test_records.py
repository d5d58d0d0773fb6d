"""The frozen facts refuse nonsense, and their digests say exactly what is the same."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import ask, chunked, law, one

from harness import records
from harness.records import (
    Bound,
    Corpus,
    Document,
    EmbedderIdentity,
    Evaluation,
    Evidence,
    Lock,
    Place,
    Point,
    Question,
    Section,
    Span,
    Threshold,
    TrialResult,
    labels_sha256,
    questions_sha256,
    scoring_sha256,
    sha256_json,
)


@pytest.mark.parametrize(("start", "end"), [(3, 3), (4, 3), (-1, 2)])
def test_a_span_is_never_empty_nor_negative(start, end):
    with pytest.raises(ValueError, match="a span needs"):
        Span(start, end)


@given(st.tuples(st.integers(0, 20), st.integers(1, 9)), st.tuples(st.integers(0, 20), st.integers(1, 9)))
@law
def test_containing_and_touching_are_those_of_sets_of_characters(a, b):
    one, other = Span(a[0], a[0] + a[1]), Span(b[0], b[0] + b[1])
    mine, yours = set(range(one.start, one.end)), set(range(other.start, other.end))
    assert one.length == len(mine)
    assert one.contains(other) == (yours <= mine)
    assert one.touches(other) == bool(mine & yours)


@pytest.mark.parametrize("ids", [("b", "a"), ("a", "a")])
def test_documents_are_in_order_of_their_ids_each_once(ids):
    with pytest.raises(ValueError, match="sorted by id"):
        Corpus(tuple(Document(i, "text") for i in ids))


@pytest.mark.parametrize("alternatives", [(), ((),), ((Place("d", Span(0, 1)),), ())])
def test_evidence_has_an_alternative_and_no_empty_one(alternatives):
    with pytest.raises(ValueError, match="at least one"):
        Evidence(alternatives)


def test_a_corpus_digest_covers_ids_texts_and_sections():
    plain = Corpus((Document("d", "Heading. text"),))
    named = Corpus((Document("e", "Heading. text"),))
    other = Corpus((Document("d", "Heading. text."),))
    sectioned = Corpus((Document("d", "Heading. text", (Section("s", "Heading", Span(0, 13)),)),))
    assert len({c.sha256 for c in (plain, named, other, sectioned)}) == 4
    assert plain.sha256 == Corpus((Document("d", "Heading. text"),)).sha256


@pytest.mark.parametrize("wording", ["Where is the Café?", "  where IS\nthe café? ", "WHERE is the Cafe\u0301?"])
def test_a_question_is_the_same_up_to_case_white_space_and_composition(wording):
    assert ask(wording).sha256 == ask("where is the café?").sha256


def test_a_question_is_another_when_a_word_or_a_question_mark_is():
    assert len({ask(w).sha256 for w in ("where is it?", "where is it", "where was it?")}) == 3


def test_a_split_digest_knows_no_order_and_an_empty_split_is_none():
    a, b = ask("a?"), ask("b?")
    assert questions_sha256([a, b]) == questions_sha256([b, a]) != questions_sha256([a])
    assert questions_sha256([]) == "none"


def test_a_labels_digest_changes_with_evidence_and_section_not_with_ids():
    labelled = ask("a?", Place("d", Span(0, 4)), section=("d", "s"))
    moved = ask("a?", Place("d", Span(0, 5)), section=("d", "s"))
    unexpected = ask("a?", Place("d", Span(0, 4)))
    assert len({labels_sha256([q]) for q in (labelled, moved, unexpected, ask("a?"))}) == 4
    assert labels_sha256([labelled]) == labels_sha256([replace(labelled, question_id="other")])


@pytest.mark.parametrize(
    ("size", "ratio", "overlap", "feasible"),
    [
        (80, 0.1875, 15, True),
        (50, 0.2, 10, True),
        (10, 0.95, 10, False),
        (1, 0.6, 1, False),
        (1, 0.4, 0, True),
        (30, 0.0, 0, True),
    ],
)
def test_overlap_is_the_rounded_share_of_the_size_and_below_it(size, ratio, overlap, feasible):
    point = Point("words", size, ratio)
    assert (point.overlap, point.feasible) == (overlap, feasible)
    assert str(point) == f"words {size}/{overlap}"


@given(st.data())
@law
def test_holding_and_touching_find_the_chunks_that_a_look_at_each_would(data):
    corpus = Corpus((Document("a", "x" * 30), Document("b", "y" * 30)))
    windows = st.tuples(st.integers(0, 1), st.integers(0, 28)).map(lambda w: (w[0], w[1], min(30, w[1] + 6)))
    chunking = chunked(corpus, *data.draw(st.sets(windows, min_size=1, max_size=8)))
    start = data.draw(st.integers(0, 28))
    where = Place(data.draw(st.sampled_from("ab")), Span(start, data.draw(st.integers(start + 1, 30))))
    mine = [c for c in range(len(chunking)) if chunking.document_of(c).document_id == where.document_id]
    assert chunking.holding(where).tolist() == [c for c in mine if chunking.span(c).contains(where.span)]
    assert chunking.touching(where.document_id, where.span).tolist() == [c for c in mine if chunking.span(c).touches(where.span)]


def test_a_chunking_digest_covers_every_span_and_the_ids_of_documents():
    corpus = one("x" * 10)
    assert chunked(corpus, (0, 0, 5), (0, 5, 10)).sha256 != chunked(corpus, (0, 0, 5), (0, 4, 10)).sha256
    renamed = Corpus((Document("e", "x" * 10),))
    assert chunked(corpus, (0, 0, 10)).sha256 != chunked(renamed, (0, 0, 10)).sha256


def test_a_fingerprint_is_of_type_and_parts_only():
    model = EmbedderIdentity("t", "a name", {"weights": "1"}, {"device": "cpu"})
    assert model.fingerprint == replace(model, name="another", beside={"device": "cuda"}).fingerprint
    assert model.fingerprint != replace(model, parts={"weights": "2"}).fingerprint
    assert model.fingerprint != replace(model, type="u").fingerprint


def test_a_scoring_function_is_another_with_another_model_similarity_or_fit():
    model = EmbedderIdentity("t", "n", {"weights": "1"})
    other = EmbedderIdentity("t", "n", {"weights": "2"})
    made = [(model, "cosine", None), (other, "cosine", None), (model, "dot", None), (model, "cosine", "fitted")]
    assert len({scoring_sha256(*m) for m in made}) == 4


EVALUATION = Evaluation({"hit_at_1": 1.0}, (), "c", "s", {"count": 0}, 1, 1, {})


BOUND = Bound({"hit_at_1": 0.5, "hit_at_3": 1.0}, 10, "hit", 3, "c", "s", 5, 50, {})


@pytest.mark.parametrize(
    "outcome",
    [
        {},
        {"evaluation": EVALUATION, "error": "it failed"},
        {"evaluation": EVALUATION, "bound": BOUND},
        {"error": "x", "bound": BOUND},
    ],
)
def test_a_finished_trial_has_an_evaluation_a_bound_or_an_error(outcome):
    with pytest.raises(ValueError, match="one of the three"):
        TrialResult(0, Point("words", 10, 0.0), "words", 0.0, 1.0, **outcome)


def test_a_pruned_trial_has_bounds_and_no_metrics():
    pruned = TrialResult(0, Point("words", 10, 0.0), "words", 0.0, 1.0, bound=BOUND)
    assert (pruned.state, pruned.complete, pruned.metrics) == ("pruned", False, {})
    assert (BOUND.hits(1), BOUND.hits(3), BOUND.hits(5)) == (5, 10, None)


@given(st.integers(0, 9), st.booleans())
@law
def test_the_digest_of_a_chunking_is_that_of_its_rows_as_json(number, prefixed):
    corpus = Corpus((Document("b", "x" * 20), Document("ä", "y" * 20)))
    rows = [(d, s, s + 3) for d in (0, 1) for s in range(number)]
    prefixes = tuple(f"p{i}" for i in range(len(rows))) if prefixed else ()
    cut = replace(chunked(corpus, *rows), prefixes=prefixes)
    with patch.object(records, "ROWS", 4):  # written out in several parts
        found = cut.sha256
    listed = [["bä"[d], s, e] for d, s, e in rows]
    assert found == sha256_json([listed, list(prefixes)] if prefixes else listed)


def test_a_failed_trial_has_no_metrics_and_none_of_its_hits_is_0():
    failed = TrialResult(0, Point("words", 10, 0.0), "words", 0.0, 1.0, error="out of memory")
    assert not failed.complete
    assert failed.metrics == {}
    with pytest.raises(ValueError, match="not measured whole"):
        failed.hits(3)


def a_lock() -> Lock:
    threshold = Threshold(0.5, "gap", "middle", False, "n", "f", "s", "cosine", {}, {})
    return Lock(
        experiment="e",
        study="e#1",
        trial=3,
        because=None,
        params={"splitter": "words"},
        metrics={"dev/hit_at_1": 0.9},
        threshold=threshold,
        embedder=EmbedderIdentity("t", "n", {"weights": "1"}, {"device": "cpu"}),
        similarity="cosine",
        scoring_fingerprint="s",
        chunking_sha256="c",
        corpus_sha256="k",
        dev_sha256="d",
        labels_sha256="l",
        holdout_sha256="h",
        holdout_labels_sha256="hl",
        holdout_count={"answerable": 1, "unanswerable": 0},
        selection={"rule": "best"},
        result_sha256="r",
        run_id="run",
        code_version="0.1.0",
        created="2026-01-01T00:00:00+00:00",
        created_by="someone",
    )


def test_a_lock_is_the_same_whoever_makes_it_whenever_and_wherever():
    made = a_lock()
    elsewhere = replace(made.embedder, beside={"device": "cuda"})
    again = replace(made, created="later", created_by="else", run_id=None, code_version="0.2.0", embedder=elsewhere)
    assert made.lock_id == again.lock_id


@pytest.mark.parametrize(
    "change",
    [
        {"trial": 4},
        {"because": "cheaper"},
        {"similarity": "dot"},
        {"holdout_sha256": "other"},
        {"chunking_sha256": "other"},
        {"metrics": {"dev/hit_at_1": 0.8}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_lock_that_states_another_choice_is_another_lock(change):
    assert replace(a_lock(), **change).lock_id != a_lock().lock_id


def test_a_lock_with_another_threshold_is_another_lock():
    made = a_lock()
    assert replace(made, threshold=replace(made.threshold, value=0.51)).lock_id != made.lock_id


def test_an_unanswerable_question_is_one_without_evidence():
    assert not Question("q", "text").answerable
    assert ask("text", Place("d", Span(0, 1))).answerable
