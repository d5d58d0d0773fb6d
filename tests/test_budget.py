"""The best setting and number of chunks for a budget, against every choice there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from making import law, scored
from making_trials import measured, values_at

from harness import stats
from harness.budget import BUDGETS, within_budgets
from harness.records import Passage, Point

BASELINE = Point("whole-section", 0, 0.0)


def sized(number, point, rows):
    """A setting by question: the sizes of its chunks from rank 1, in units, and the rank of the answer, 0: none of any depth."""
    questions = tuple(
        replace(
            scored(0.5),
            question_id=f"q{i}",
            hit_rank=rank or None,
            values=values_at(rank),
            passages=tuple(Passage(at + 1, 0.5, "d", 0, 5, size, ()) for at, size in enumerate(sizes)),
        )
        for i, (sizes, rank) in enumerate(rows)
    )
    return measured(number, questions, point)


def alike(number, size, ranks, depth=5, point=None):
    """A setting whose chunks are all of one size."""
    return sized(number, point or Point("words", size, 0.0), [([size] * depth, r) for r in ranks])


def spent(*trials, groups=None):
    return {s.budget: s for s in within_budgets(trials, groups or {})}


def test_the_most_answers_within_a_budget_are_found_over_settings_and_numbers_of_chunks():
    small, large = alike(0, 300, [1, 2, 3, 4, 5]), alike(1, 900, [1, 1, 1, 1, 2])
    found = spent(small, large)
    assert {b: (s.trial.trial, s.k, s.context, s.hits) for b, s in found.items()} == {
        1000: (1, 1, 900.0, 4),
        2000: (0, 5, 1500.0, 5),
        4000: (0, 5, 1500.0, 5),
    }
    assert [s.of for s in found.values()] == [5, 5, 5]
    assert {b: s.tied for b, s in found.items()} == {1000: 0, 2000: 1, 4000: 1}
    assert {b: s.deepest for b, s in found.items()} == {1000: False, 2000: True, 4000: True}


def test_of_equals_the_least_context_is_named_then_the_smaller_point():
    assert spent(alike(0, 400, [1, 1]), alike(1, 200, [1, 1]))[1000].trial.trial == 1
    assert spent(alike(0, 400, [1, 1], point=Point("words", 500, 0.0)), alike(1, 400, [1, 1]))[1000].trial.trial == 1
    assert spent(alike(0, 100, [1, 1]))[4000].k == 1, "more chunks than answer are not sent"


def test_a_budget_that_no_first_chunk_fits_has_no_setting():
    assert spent(alike(0, 1500, [1, 1])).keys() == {2000, 4000}
    assert spent(alike(0, 1000, [1, 1])).keys() == {1000, 2000, 4000}, "a budget may be spent whole"
    assert spent(alike(0, 5000, [1, 1])) == {}
    assert spent() == {}


def test_the_context_is_the_mean_over_answerable_questions_and_chunks_that_are_not_there_take_nothing():
    rows = [([600, 600, 600], 2), ([1000], 1), ([200, 100], 0)]
    found = spent(sized(0, Point("words", 600, 0.0), rows))
    assert (found[1000].k, found[1000].context) == (2, (1200 + 1000 + 300) / 3)
    unanswerable = replace(scored(0.1, "unanswerable"), passages=(Passage(1, 0.1, "d", 0, 5, 90_000, ()),))
    trial = sized(0, Point("words", 600, 0.0), rows)
    mixed = replace(trial, evaluation=replace(trial.evaluation, questions=(*trial.evaluation.questions, unanswerable)))
    assert (spent(mixed)[1000].context, spent(mixed)[1000].of) == (found[1000].context, 3)


def test_the_share_has_its_interval_over_groups():
    ranks = [1] * 30 + [0] * 10
    groups = {f"q{i}": f"g{i // 4}" for i in range(40)}
    hits = np.repeat([1.0, 0.0], (30, 10))
    assert spent(alike(0, 300, ranks))[1000].interval == stats.mean_interval(hits, np.arange(40))
    assert spent(alike(0, 300, ranks), groups=groups)[1000].interval == stats.mean_interval(hits, np.arange(40) // 4)


def test_a_setting_that_answers_nothing_within_a_budget_still_stands_for_it():
    found = spent(alike(0, 300, [0, 0]))[1000]
    assert (found.hits, found.of, found.k, found.interval.low) == (0, 2, 1, 0)


@st.composite
def settings_of_chunks(draw):
    """One to four settings on the same few questions; sizes collide and may be missing at the end."""
    questions = draw(st.integers(1, 4))
    size = st.sampled_from([0, 200, 500, 900, 1000, 1900, 2000, 4100])
    row = st.tuples(st.lists(size, min_size=1, max_size=4), st.integers(0, 5))
    of = draw(st.integers(1, 4))
    points = draw(st.permutations([Point("words", 100 * (i + 1), 0.0) for i in range(3)] + [BASELINE]))
    return [sized(i, points[i], draw(st.lists(row, min_size=questions, max_size=questions))) for i in range(of)]


@given(settings_of_chunks())
@law
def test_the_choice_is_the_best_of_every_setting_and_number_of_chunks(trials):
    for budget in BUDGETS:
        every = []
        for t in trials:
            questions = t.evaluation.questions
            depth = max(len(q.passages) for q in questions)
            for k in range(1, depth + 1):
                context = sum(sum(p.size for p in q.passages[:k]) for q in questions) / len(questions)
                hits = sum(q.hit_rank is not None and q.hit_rank <= k for q in questions)
                if context <= budget:
                    every.append((-hits, context, t.point, k, t.trial))
        found = spent(*trials).get(budget)
        if not every:
            assert found is None
            continue
        hits, context, _, k, number = min(every)
        assert (-found.hits, found.context, found.k, found.trial.trial) == (hits, context, k, number)
        assert found.tied == len({e[-1] for e in every if e[0] == hits}) - 1


@given(settings_of_chunks())
@law
def test_more_to_spend_never_answers_less(trials):
    hits = [s.hits for s in within_budgets(trials, {})]
    assert hits == sorted(hits)
