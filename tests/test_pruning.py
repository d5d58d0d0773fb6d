"""A pruned search against the whole one: the same choice, the same figures of what was not pruned, true bounds of the rest."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import Keywords, ask, labelled_corpora, law, one, place, scored

from harness import selection, splitters
from harness.errors import HarnessError, TrialTimeout
from harness.measurement import Clock, Measurement, Scoring
from harness.pipeline import evaluate
from harness.pruning import Contender, best_first, race
from harness.records import Bound, Evaluation, Evidence, Point, Question, TrialResult
from harness.rivals import Rivals
from harness.selection import Selection
from harness.tokenizers import Ruler

SCORING = Scoring("cosine", (1, 3))
POINTS = tuple(
    Point(splitter, size, ratio)
    for splitter in ("words", "characters")
    for size in (2, 3, 5, 9, 40)
    for ratio in ((0.0, 0.4) if size > 2 else (0.0,))
)
KEYS = st.sampled_from(
    [
        ["hit_at_1", "hit_at_3", "-index_ratio"],
        ["mrr", "-chunks"],
        ["recall_at_3"],
        ["hit_at_3", "ceiling", "-mean_chunk_size"],
        ["document_hit_at_1", "-index_ratio"],
        ["hit_with_condition_at_1", "hit_at_1"],
        ["-index_ratio", "hit_at_1"],
    ]
)
RULES = st.one_of(
    st.builds(Selection, key=KEYS),
    st.builds(Selection, key=KEYS.filter(lambda k: not k[0].startswith("-")), rule=st.just("within"), margin=st.integers(0, 2)),
    st.builds(Selection, max_context_at_3=st.sampled_from([4.0, 12.0])),
)


def cut(corpus, points):
    rulers = {"words": Ruler(corpus, "words"), "characters": Ruler(corpus, "characters")}
    return {n: splitters.chunk(corpus, point, rulers[point.splitter]) for n, point in enumerate(points)}


def result(number, point, found):
    kind = (
        {"bound": found}
        if isinstance(found, Bound)
        else {"error": str(found)}
        if isinstance(found, Exception)
        else {"evaluation": found}
    )
    return TrialResult(number, point, "words", 0.0, 0.0, **kind)


def in_order(chunkings, points, questions, embedder, rule, order):
    """One setting after another, as suggestions come."""
    rivals, results = Rivals(chunkings[0].corpus, questions), {}
    for n in order:
        contender = Contender(Measurement(chunkings[n], questions, embedder, SCORING, Clock()), rule, rivals)
        found = race(contender, selection.incumbent(list(results.values()), rule))
        results[n] = result(n, points[n], found)
    return results


def together(chunkings, points, questions, embedder, rule):
    rivals, results = Rivals(chunkings[0].corpus, questions), {}
    contenders = {n: Contender(Measurement(c, questions, embedder, SCORING, Clock()), rule, rivals) for n, c in chunkings.items()}
    for n, found in best_first(contenders, lambda: selection.incumbent(list(results.values()), rule)):
        results[n] = result(n, points[n], found)
    return results


def chosen(results, rule):
    """What a search comes to: the leader, its ties and the choice; None when there is none."""
    try:
        found = selection.select(list(results.values()), rule)
    except HarnessError:
        return None
    return found.leader.point, found.tied, found.chosen.point


def agree(pruned, whole, rule):
    assert pruned.keys() == whole.keys()
    assert chosen(pruned, rule) == chosen(whole, rule)
    for n, result in pruned.items():
        full = whole[n].evaluation
        if isinstance(result.evaluation, Evaluation):
            assert result.evaluation.questions == full.questions
            assert result.metrics == full.metrics
        else:
            bound = result.bound.metrics
            assert all(full.metrics[name] <= bound[name] for name in bound if name in full.metrics and name != "tokens_embedded")
            assert bound["index_ratio"] == full.metrics["index_ratio"]
            assert result.bound.tokens_embedded < full.tokens_embedded
            assert result.bound.tokens_full == full.tokens_full


@given(labelled_corpora(), RULES, st.data())
@settings(law, max_examples=100)
def test_a_pruned_search_chooses_what_the_whole_one_does(case, rule, data):
    corpus, questions, embedder = case
    chunkings = cut(corpus, POINTS)
    whole = {n: result(n, POINTS[n], evaluate(c, questions, embedder, SCORING)) for n, c in chunkings.items()}
    agree(together(chunkings, POINTS, questions, embedder, rule), whole, rule)
    order = data.draw(st.permutations(range(len(POINTS))))
    agree(in_order(chunkings, POINTS, questions, embedder, rule, order), whole, rule)


def test_a_setting_whose_ceiling_is_too_low_is_pruned_before_anything_is_embedded():
    corpus = one("gate attic lamp " * 5 + "the gate shuts at ten " + "noon opens lamp " * 5)
    questions = [ask("the gate shuts", place(corpus["d"], "the gate shuts at ten"))]
    embedder = Keywords("gate", "shuts")
    points = (Point("words", 5, 0.0), Point("words", 2, 0.0))
    results = in_order(cut(corpus, points), points, questions, embedder, Selection(), [0, 1])
    assert results[0].metrics["hit_at_1"] == 1.0
    assert (results[1].bound.hits(1), results[1].bound.tokens_embedded, results[1].bound.chunks_embedded) == (0, 0, 0)


def test_places_that_no_chunk_holds_together_are_no_hit_at_1():
    corpus = one("gate opens at ten " * 3)
    both = Question("q", "gate ten", Evidence(((place(corpus["d"], "gate"), place(corpus["d"], "ten")),)))
    measurement = Measurement(cut(corpus, [Point("words", 2, 0.0)])[0], [both], Keywords("gate", "ten"), SCORING, Clock())
    contender = Contender(measurement, Selection(), Rivals(corpus, [both]))
    assert (contender.bound.metrics["hit_at_1"], contender.bound.metrics["recall_at_1"]) == (0.0, 0.5)
    assert contender.bound.metrics["hit_at_3"] == 1.0


def test_one_setting_that_fails_leaves_the_others_their_results():
    corpus = one("gate attic lamp " * 20)
    questions = [ask("attic", place(corpus["d"], "attic"))]
    chunkings = cut(corpus, POINTS[:3])
    rivals, results = Rivals(corpus, questions), {}
    contenders = {
        n: Contender(Measurement(c, questions, Keywords("attic"), SCORING, Clock()), Selection(), rivals)
        for n, c in chunkings.items()
    }
    contenders[1].measurement.clock.limit = -1
    for n, found in best_first(contenders, lambda: selection.incumbent(list(results.values()), Selection())):
        results[n] = result(n, POINTS[n], found)
        assert isinstance(found, TrialTimeout) == (n == 1)
    assert sorted(results) == [0, 1, 2]


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (Selection(rule="target", target=0.9), "rule 'target'"),
        (Selection(key=["char_recall_at_5"]), "char_recall_at_5"),
        (Selection(key=["hit_at_1", "-context_at_3"]), "-context_at_3"),
        (Selection(key=["-hit_at_1"]), "-hit_at_1"),
        (Selection(key=["section_hit_at_1"], rule="within"), "section_hit_at_1"),
    ],
)
def test_a_rule_without_a_bound_says_which_part_has_none(rule, why):
    assert why in selection.unbounded(rule, (1, 3), 5)


@pytest.mark.parametrize(
    "rule",
    [Selection(), Selection(rule="within", key=["hit_at_1", "-context_at_3"]), Selection(key=["mrr", "-truncated_share"])],
)
def test_a_rule_with_bounds_can_prune(rule):
    assert selection.unbounded(rule, (1, 3), 5) is None


def test_pruned_trials_are_open_again_once_the_rule_could_choose_them():
    low, high = (
        Bound({"hit_at_1": h, "hit_at_3": 1.0, "index_ratio": 1.0}, 10, "hit", 3, "c", "s", 5, 50, {}) for h in (0.3, 0.8)
    )
    questions = tuple(scored(0.9, "positive", question_id=str(i)) for i in range(10))
    best = Evaluation({"hit_at_1": 0.9, "hit_at_3": 0.9, "index_ratio": 1.0}, questions, "c", "s", {"count": 0}, 1, 1, {})
    results = [result(0, POINTS[0], best), result(1, POINTS[1], low), result(2, POINTS[2], high)]
    assert selection.open_again(results, Selection()) == []
    assert [t.trial for t in selection.open_again(results, Selection(rule="within", margin=1))] == [2]
    assert [t.trial for t in selection.open_again(results, Selection(rule="target", target=0.5))] == [1, 2]
    assert [t.trial for t in selection.open_again(results[1:], Selection())] == [1, 2]
