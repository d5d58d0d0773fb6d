"""Each metric against a slow look at sets of characters, and hand-made examples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import ask, chunked, judged, law, one

from harness import metrics
from harness.records import Chunking, Corpus, Document, Evidence, Passage, Place, Question, Section, Span

CORPUS = Corpus(
    (
        Document("a", "x" * 40, (Section("A1", "", Span(0, 18)), Section("A2", "", Span(20, 40)))),
        Document("b", "y" * 25, (Section("B1", "", Span(0, 25)),)),
    )
)
LENGTHS = {"a": 40, "b": 25}


@dataclass(frozen=True)
class Case:
    """A question under a chunking whose chunks are retrieved in some order, perhaps not all."""

    question: Question
    chunking: Chunking
    order: tuple[int, ...]

    def judged(self) -> metrics.Judgement:
        rank_of = [self.order.index(c) + 1 if c in self.order else 0 for c in range(len(self.chunking))]
        passages = []
        for rank, chunk in enumerate(self.order, 1):
            span, document = self.chunking.span(chunk), self.chunking.document_of(chunk)
            sections = document.section_ids(span)
            passages.append(Passage(rank, 1 / rank, document.document_id, span.start, span.end, span.length, sections))
        return judged(self.question, self.chunking, rank_of, tuple(passages))

    def chars(self, chunk: int) -> set[tuple[str, int]]:
        span = self.chunking.span(chunk)
        return {(self.chunking.document_of(chunk).document_id, i) for i in range(span.start, span.end)}

    def first(self, k: int) -> list[set[tuple[str, int]]]:
        return [self.chars(c) for c in self.order[:k]]

    def alternatives(self) -> list[list[set[tuple[str, int]]]]:
        return [
            [{(p.document_id, i) for i in range(p.span.start, p.span.end)} for p in alternative]
            for alternative in self.question.evidence.alternatives
        ]


@st.composite
def places(draw):
    document_id = draw(st.sampled_from("ab"))
    start = draw(st.integers(0, LENGTHS[document_id] - 1))
    return Place(document_id, Span(start, min(LENGTHS[document_id], start + draw(st.integers(1, 9)))))


@st.composite
def cases(draw):
    windows = []
    for index, length in enumerate(LENGTHS.values()):
        starts = draw(st.sets(st.integers(0, length - 1), min_size=1, max_size=5))
        size = draw(st.integers(3, 15))
        windows += [(index, s, min(length, s + size)) for s in starts]
    chunking = chunked(CORPUS, *windows)
    order = draw(st.permutations(range(len(chunking))))[: draw(st.integers(0, len(chunking)))]
    alternatives = draw(st.lists(st.lists(places(), min_size=1, max_size=3).map(tuple), min_size=1, max_size=3))
    section = draw(st.sampled_from([None, ("a", "A1"), ("a", "A2"), ("b", "B1")]))
    return Case(Question("q", "text", Evidence(tuple(alternatives)), section), chunking, tuple(order))


ks = st.integers(1, 6)


def slow_hit(case, chunks):
    return any(all(any(place <= chunk for chunk in chunks) for place in a) for a in case.alternatives())


@given(case=cases(), k=ks)
@law
def test_a_hit_is_some_alternative_whose_places_each_lie_whole_in_one_of_the_first_k_chunks(case, k):
    assert metrics.hit(case.judged(), k) == float(slow_hit(case, case.first(k)))


@given(case=cases(), k=st.integers(1, 4))
@law
def test_chance_hits_as_often_as_the_sets_of_first_chunks_do(case, k):
    drawn = list(combinations(range(len(case.chunking)), min(k, len(case.chunking))))
    share = sum(slow_hit(case, [case.chars(c) for c in some]) for some in drawn) / len(drawn)
    assert metrics.random_hit(case.judged(), k) == pytest.approx(share, abs=1e-12)


@given(case=cases(), k=st.integers(1, 4))
@law
def test_chance_touches_regions_as_often_as_the_sets_of_first_chunks_do(case, k):
    case = replace(case, question=replace(case.question, evidence=replace(case.question.evidence, whole=False)))
    drawn = list(combinations(range(len(case.chunking)), min(k, len(case.chunking))))
    share = sum(
        any(all(any(place & case.chars(c) for c in some) for place in a) for a in case.alternatives()) for some in drawn
    ) / len(drawn)
    assert metrics.random_hit(case.judged(), k) == pytest.approx(share, abs=1e-12)


@given(windows=st.lists(st.tuples(st.integers(0, 25), st.integers(1, 15)), min_size=1, max_size=5, unique_by=lambda w: w[0]))
@law
def test_the_mean_hit_over_every_order_of_the_chunks_is_what_chance_gets(windows):
    chunking = chunked(CORPUS, *((0, start, start + size) for start, size in windows))
    evidence = Evidence(((Place("a", Span(2, 4)), Place("a", Span(9, 14))), (Place("a", Span(20, 22)),)))
    orders = [Case(Question("q", "text", evidence), chunking, order) for order in permutations(range(len(chunking)))]
    for k in (1, 2, 3):
        mean = sum(metrics.hit(case.judged(), k) for case in orders) / len(orders)
        assert metrics.random_hit(orders[0].judged(), k) == pytest.approx(mean, abs=1e-12)


def test_chance_is_one_right_chunk_in_so_many_and_0_where_no_chunk_has_the_answer():
    windows = [(0, at, at + 10) for at in range(0, 40, 10)]
    case = Case(ask("text", Place("a", Span(12, 15))), chunked(CORPUS, *windows), (0,))
    assert [metrics.random_hit(case.judged(), k) for k in (1, 2, 4, 9)] == [0.25, 0.5, 1.0, 1.0]
    cut = replace(case, question=ask("text", Place("a", Span(8, 12))))
    assert metrics.random_hit(cut.judged(), 3) == 0.0


def test_chance_is_counted_for_forty_answers_but_not_for_forty_that_are_needed_together():
    chunking = chunked(CORPUS, *((0, at, at + 1) for at in range(40)), *((1, at, at + 1) for at in range(25)))
    each = [Place("a", Span(at, at + 1)) for at in range(40)]
    assert metrics.random_hit(Case(ask("text", *each), chunking, (0,)).judged(), 1) == 40 / 65
    together = Case(Question("q", "text", Evidence((tuple(each),))), chunking, (0,)).judged()
    assert metrics.random_hit(together, 1) == 0.0
    assert metrics.random_hit(together, 3) is None


@given(case=cases(), k=ks)
@law
def test_recall_is_the_best_alternatives_share_of_places_found_whole(case, k):
    shares = [sum(any(p <= c for c in case.first(k)) for p in a) / len(a) for a in case.alternatives()]
    assert metrics.recall(case.judged(), k) == max(shares)


@given(case=cases())
@law
def test_reciprocal_rank_is_one_over_the_smallest_k_that_is_a_hit_uncut(case):
    hits = [k for k in range(1, len(case.order) + 1) if slow_hit(case, case.first(k))]
    assert metrics.reciprocal_rank(case.judged(), 0) == (1 / hits[0] if hits else 0.0)


@given(case=cases())
@law
def test_the_ceiling_is_the_hit_at_the_number_of_all_chunks(case):
    everything = [case.chars(c) for c in range(len(case.chunking))]
    assert metrics.ceiling(case.judged(), 0) == float(slow_hit(case, everything))


@given(case=cases())
@law
def test_a_section_hit_is_a_first_chunk_that_touches_the_expected_section_and_undefined_without_one(case):
    if case.question.expected_section is None:
        assert metrics.section_hit(case.judged(), 1) is None
        return
    document_id, section_id = case.question.expected_section
    (span,) = [s.span for s in CORPUS[document_id].sections if s.section_id == section_id]
    section = {(document_id, i) for i in range(span.start, span.end)}
    assert metrics.section_hit(case.judged(), 1) == float(any(chunk & section for chunk in case.first(1)))


@given(case=cases(), conditions=st.lists(places(), max_size=2), k=ks)
@law
def test_a_hit_with_condition_needs_the_qualifying_sentence_whole_within_the_first_k_too(case, conditions, k):
    judged = replace(case, question=replace(case.question, condition=tuple(conditions))).judged()
    if not conditions:
        assert metrics.hit_with_condition(judged, k) is None
        return
    wanted = [{(p.document_id, i) for i in range(p.span.start, p.span.end)} for p in conditions]
    qualified = any(place <= chunk for place in wanted for chunk in case.first(k))
    assert metrics.hit_with_condition(judged, k) == float(slow_hit(case, case.first(k)) and qualified)


def as_regions(case):
    return replace(case, question=replace(case.question, evidence=replace(case.question.evidence, whole=False)))


@given(case=cases(), k=ks)
@law
def test_a_region_is_hit_when_one_of_the_first_k_chunks_touches_it(case, k):
    judged = as_regions(case).judged()
    touched = any(all(any(place & chunk for chunk in case.first(k)) for place in a) for a in case.alternatives())
    found = metrics.values(judged, [k], 5)
    assert found[f"document_hit_at_{k}"] == float(touched)
    regions = [place for a in case.alternatives() for place in a]
    shares = sum(any(place & chunk for chunk in case.first(k)) for place in regions) / len(regions)
    assert found[f"document_recall_at_{k}"] == shares


@given(case=cases())
@law
def test_regions_and_spans_have_no_metric_in_common_but_the_section_hit(case):
    of_spans, of_regions = (set(metrics.values(c.judged(), [1, 3], 5)) for c in (case, as_regions(case)))
    assert of_spans & of_regions <= {"section_hit_at_1"}
    assert {"document_hit_at_1", "document_recall_at_3", "document_mrr"} <= of_regions


def slow_chars(case, alternative, k):
    retrieved = set().union(*case.first(k))
    found = len(set().union(*alternative) & retrieved)
    needed = sum(len(p) for p in alternative)
    missed = sum(len(p - retrieved) for p in alternative)
    return found, needed, missed, sum(len(chunk) for chunk in case.first(k))


@given(case=cases(), k=ks)
@law
def test_character_recall_is_the_union_of_overlaps_over_the_length_of_the_evidence(case, k):
    rows = [slow_chars(case, a, k) for a in case.alternatives()]
    assert metrics.char_recall(case.judged(), k) == max(found / needed for found, needed, _, _ in rows)


@given(case=cases(), k=ks)
@law
def test_character_precision_counts_retrieved_lengths_with_repeats_and_silence_as_zero(case, k):
    rows = [slow_chars(case, a, k) for a in case.alternatives()]
    assert metrics.char_precision(case.judged(), k) == max(f / r if r else 0.0 for f, _, _, r in rows)


@given(case=cases(), k=ks)
@law
def test_character_iou_adds_what_was_missed_to_what_was_retrieved(case, k):
    rows = [slow_chars(case, a, k) for a in case.alternatives()]
    assert metrics.char_iou(case.judged(), k) == max(f / (r + m) for f, _, m, r in rows)


@given(case=cases())
@law
def test_precision_omega_is_that_of_retrieving_exactly_the_chunks_that_touch_the_evidence_once_each(case):
    best = 0.0
    for alternative in case.alternatives():
        evidence = set().union(*alternative)
        touching = [case.chars(c) for c in range(len(case.chunking)) if case.chars(c) & evidence]
        covered = set().union(*touching)
        best = max(best, len(covered & evidence) / len(covered) if covered else 0.0)
    assert metrics.precision_omega(case.judged(), 0) == pytest.approx(best, abs=1e-15)


@given(case=cases())
@law
def test_metrics_of_more_chunks_are_never_lower_and_the_ceiling_bounds_them(case):
    judged = case.judged()
    for metric in (metrics.hit, metrics.recall, metrics.char_recall):
        values = [metric(judged, k) for k in range(1, 8)]
        assert values == sorted(values)
    assert metrics.hit(judged, 99) <= metrics.ceiling(judged, 0)


def judge(question, chunking, *order):
    return Case(question, chunking, order).judged()


def test_half_an_answer_in_each_of_two_chunks_is_no_hit_but_all_its_characters():
    judged = judge(ask("?", Place("d", Span(3, 7))), chunked(one("x" * 10), (0, 0, 5), (0, 5, 10)), 0, 1)
    assert (metrics.hit(judged, 2), metrics.ceiling(judged, 0), metrics.char_recall(judged, 2)) == (0.0, 0.0, 1.0)
    assert (metrics.char_recall(judged, 1), metrics.char_precision(judged, 1)) == (0.5, 0.4)
    assert metrics.char_iou(judged, 1) == 2 / (5 + 2)


def test_two_places_of_one_alternative_may_lie_in_two_chunks():
    both = Question("q", "?", Evidence(((Place("d", Span(0, 3)), Place("d", Span(6, 9))),)))
    judged = judge(both, chunked(one("x" * 10), (0, 0, 5), (0, 5, 10)), 1, 0)
    assert [metrics.hit(judged, k) for k in (1, 2)] == [0.0, 1.0]
    assert [metrics.recall(judged, k) for k in (1, 2)] == [0.5, 1.0]
    assert metrics.reciprocal_rank(judged, 0) == 0.5


def test_either_of_two_alternatives_is_enough():
    judged = judge(ask("?", Place("d", Span(0, 3)), Place("d", Span(6, 9))), chunked(one("x" * 10), (0, 0, 5), (0, 5, 10)), 1, 0)
    assert metrics.hit(judged, 1) == metrics.recall(judged, 1) == metrics.reciprocal_rank(judged, 0) == 1.0


def test_overlapping_chunks_are_retrieved_twice_but_found_once():
    judged = judge(ask("?", Place("d", Span(2, 6))), chunked(one("x" * 10), (0, 0, 6), (0, 2, 8)), 0, 1)
    assert metrics.char_precision(judged, 2) == 4 / 12
    assert metrics.precision_omega(judged, 0) == 4 / 8


def test_places_that_overlap_are_not_missed_where_they_are_retrieved():
    both = Question("q", "?", Evidence(((Place("d", Span(0, 6)), Place("d", Span(4, 10))),)))
    assert metrics.char_iou(judge(both, chunked(one("x" * 10), (0, 0, 10)), 0), 5) == 1.0


def test_a_metric_that_is_undefined_is_absent_and_never_zero():
    judged = judge(ask("?", Place("d", Span(0, 3))), chunked(one("x" * 10), (0, 0, 10)), 0)
    assert "section_hit_at_1" not in metrics.values(judged, [1], 5)


def test_a_mean_is_over_the_questions_for_which_it_is_defined():
    assert metrics.means([{"a": 1.0, "b": 0.5}, {"a": 0.0}]) == {"a": 0.5, "b": 0.5}
    assert metrics.means([{}, {}]) == metrics.means([]) == {}


def test_names_of_metrics_say_at_which_k_they_are():
    assert metrics.names([1, 3], 5) == [
        "hit_at_1",
        "hit_at_3",
        "hit_with_condition_at_1",
        "hit_with_condition_at_3",
        "recall_at_1",
        "recall_at_3",
        "mrr",
        "document_hit_at_1",
        "document_hit_at_3",
        "document_recall_at_1",
        "document_recall_at_3",
        "document_mrr",
        "section_hit_at_1",
        "ceiling",
        "char_recall_at_5",
        "char_precision_at_5",
        "char_iou_at_5",
        "precision_omega",
    ]
    by_chance = ["random_hit_at_1", "random_hit_at_3", "random_document_hit_at_1", "random_document_hit_at_3"]
    assert metrics.names([1, 5], 5, by_chance=True) == by_chance


def test_an_unanswerable_question_is_not_judged():
    with pytest.raises(ValueError, match="not answerable"):
        judge(ask("?"), chunked(one("x" * 10), (0, 0, 10)), 0)


spans = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 20), st.integers(1, 9)), max_size=8)


@given(spans)
@law
def test_the_length_of_a_union_is_the_number_of_its_characters(found):
    characters = {(d, i) for d, s, n in found for i in range(s, s + n)}
    assert metrics.union_length((d, Span(s, s + n)) for d, s, n in found) == len(characters)
