"""From finished trials to the leader and the chosen one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from making import law
from making_trials import failed, pruned, ranked, trial
from pydantic import ValidationError
from scipy.stats import binom

from harness.errors import HarnessError
from harness.records import Point
from harness.selection import Selection, key_values, objective, open_again, select
from harness.stats import least_rate


def numbers(found):
    return found.leader.trial, found.chosen.trial


def test_the_leader_is_best_by_each_part_of_the_key_in_turn():
    trials = [trial(0, 5, 9, 30), trial(1, 6, 6, 40, ratio=1.2), trial(2, 6, 8, 50, ratio=1.3), trial(3, 6, 8, 60, ratio=1.1)]
    assert numbers(select(trials, Selection())) == (3, 3)


def test_a_full_tie_goes_to_the_smaller_point_and_is_reported():
    trials = [trial(0, size=80), trial(1, size=40), failed(2), trial(3, hits=4, size=20)]
    found = select(trials, Selection())
    assert (numbers(found), found.tied, found.complete, found.of) == ((1, 1), (0, 1), 3, 4)


def test_a_full_tie_goes_to_the_smaller_point_in_whichever_order_they_were_tried():
    assert numbers(select([trial(0, size=40), trial(1, size=80)], Selection())) == (0, 0)


def test_an_undefined_part_of_the_key_is_the_worst():
    assert key_values(trial(0), ["hit_at_1", "section_hit_at_1", "-index_ratio"]) == (0.5, float("-inf"), -1.0)


def test_a_point_measured_twice_counts_once_under_its_first_trial():
    again = replace(trial(1), reused_from=0)
    assert select([trial(0), again], Selection()).tied == (0,)


def test_within_chooses_the_cheapest_of_those_at_most_so_many_questions_behind():
    trials = [trial(0, 8, size=90, context=300.0), trial(1, 7, size=60, context=200.0), trial(2, 6, size=30, context=100.0)]
    assert numbers(select(trials, Selection(rule="within", margin=1))) == (0, 1)
    assert numbers(select(trials, Selection(rule="within", margin=2))) == (0, 2)
    assert numbers(select(trials, Selection(rule="within", margin=0))) == (0, 0)


def test_target_chooses_the_cheapest_that_reaches_it_and_refuses_one_that_none_does():
    trials = [trial(0, 9, size=90, context=300.0), trial(1, 8, size=60, context=200.0)]
    assert numbers(select(trials, Selection(rule="target", target=0.8))) == (0, 1)
    with pytest.raises(HarnessError, match=r"no trial reaches hit_at_1 >= 0.95; the leader has 0.900"):
        select(trials, Selection(rule="target", target=0.95))


@pytest.mark.parametrize("given", [{"rule": "target"}, {"target": 0.9}])
def test_rule_target_and_a_target_go_together(given):
    with pytest.raises(ValidationError, match="go together"):
        Selection(**given)


def test_a_constraint_leaves_out_the_expensive_and_refuses_when_nothing_is_left():
    trials = [trial(0, 9, size=90, context=300.0), trial(1, 7, size=30, context=90.0)]
    assert numbers(select(trials, Selection(max_context_at_3=100.0))) == (1, 1)
    with pytest.raises(HarnessError, match="no trial has context_at_3 <= 50"):
        select(trials, Selection(max_context_at_3=50.0))


def test_a_key_whose_first_part_is_undefined_for_every_trial_is_refused_by_its_name():
    with pytest.raises(HarnessError, match="'section_hit_at_1' is undefined for every complete trial"):
        select([trial(0), trial(1, 6)], Selection(key=["section_hit_at_1", "hit_at_1"]))
    known = trial(1, 6, size=60)
    known.evaluation.metrics["section_hit_at_1"] = 0.5
    assert numbers(select([trial(0, 9), known], Selection(key=["section_hit_at_1"]))) == (1, 1)


def test_a_sweep_without_a_complete_trial_says_why():
    with pytest.raises(HarnessError, match=r"no trial is complete \(out of memory; no words\)"):
        select([failed(0), failed(1), failed(2, "no words")], Selection())
    with pytest.raises(HarnessError, match="no trial has been measured yet"):
        select([], Selection())


@given(st.tuples(st.integers(0, 10), st.integers(0, 10)), st.tuples(st.integers(0, 10), st.integers(0, 10)))
@law
def test_the_samplers_number_orders_trials_as_their_hit_rates_do_in_turn(a, b):
    first, second = ((min(pair), max(pair)) for pair in (a, b))
    key = Selection().key
    numbers = [objective(trial(0, *hits), key) for hits in (first, second)]
    assert (numbers[0] < numbers[1]) == (first < second)
    assert (numbers[0] == numbers[1]) == (first == second)


def test_a_key_without_hit_rates_is_maximised_by_its_first_part():
    assert objective(trial(0, ratio=1.3), ["-index_ratio", "chunks"]) == -1.3


# Laws of the rules


COSTS = ("context_at_3", "index_ratio", "chunks")


@st.composite
def searches(draw):
    """Two to seven settings, baselines among them, of whichever ranks and costs, and a constraint that some of them meet."""
    number, of = draw(st.integers(1, 12)), draw(st.integers(2, 7))
    rank = st.integers(0, 4)
    ranks = draw(st.lists(st.lists(rank, min_size=of, max_size=of), min_size=number, max_size=number))
    points = [Point("words", 10 * (i + 1), 0.0) for i in range(of - 1)] + [Point("whole-section", 0, 0.0)]
    cost = st.fixed_dictionaries(dict.fromkeys(COSTS, st.sampled_from([1.0, 2.0, 3.0])))
    costs = draw(st.lists(cost, min_size=of, max_size=of))
    limit = draw(st.none() | st.sampled_from([1.0, 2.0, 3.0]))
    allow = draw(st.booleans())
    trials = ranked(ranks, points, costs)
    open_to_choice = [t for t in trials if allow or not t.point.baseline]
    allowed = [t for t in open_to_choice if limit is None or t.metrics["context_at_3"] <= limit]
    assume(allowed)
    return trials, allowed, {"max_context_at_3": limit, "allow_baselines": allow}


def earned(trial, metric):
    """The sum of a metric over questions; of hits, how many."""
    return math.fsum(q.values[metric] for q in trial.evaluation.questions)


def cheapest(trials):
    return min(trials, key=lambda t: (*(t.metrics[name] for name in COSTS), t.point))


@given(searches(), st.integers(0, 3), st.sampled_from(["hit_at_1", "hit_at_3", "mrr"]))
@law
def test_within_never_gives_up_more_than_its_margin_and_takes_the_cheapest_that_is_left(search, margin, metric):
    trials, allowed, more = search
    found = select(trials, Selection(key=[metric], rule="within", margin=margin, **more))
    most = max(earned(t, metric) for t in allowed)
    assert found.chosen in allowed
    assert earned(found.leader, metric) == most
    assert earned(found.chosen, metric) >= most - margin - 1e-9
    assert found.chosen == cheapest([t for t in allowed if earned(t, metric) >= most - margin - 1e-9])


def test_within_gives_up_no_fraction_more_of_reciprocal_ranks():
    """5.33 and 3.75 both round to whole numbers that are one apart, and yet lie more than one apart."""
    ranks = [[1, 1]] * 3 + [[2, 2], [2, 4], [2, 0], [2, 0], [3, 0], [0, 0]]
    dear, cheap = ranked(ranks, costs=[{"context_at_3": 200.0}, {"context_at_3": 100.0}])
    assert earned(dear, "mrr") - earned(cheap, "mrr") == pytest.approx(5.3333 - 3.75, abs=1e-3)
    assert select([dear, cheap], Selection(key=["mrr"], rule="within", margin=1)).chosen == dear
    assert select([dear, cheap], Selection(key=["mrr"], rule="within", margin=2)).chosen == cheap


@given(st.integers(0, 10), st.integers(0, 10), st.integers(0, 4))
@law
def test_a_pruned_setting_is_opened_again_if_and_only_if_within_could_choose_it(most, best, margin):
    rule = Selection(rule="within", margin=margin)
    assert bool(open_again([trial(0, best), pruned(1, 20, most)], rule)) == (most >= best - margin)


@given(searches(), st.sampled_from([0.0, 0.3, 0.5, 0.75, 1.0]), st.sampled_from(["hit_at_1", "hit_at_3", "mrr"]))
@law
def test_target_never_chooses_below_the_target_and_takes_the_cheapest_above(search, target, metric):
    trials, allowed, more = search
    rule = Selection(key=[metric], rule="target", target=target, **more)
    reaching = [t for t in allowed if t.metrics[metric] >= target]
    if not reaching:
        with pytest.raises(HarnessError, match=f"no trial reaches {metric} >= {target:g}"):
            select(trials, rule)
        return
    chosen = select(trials, rule).chosen
    assert chosen.metrics[metric] >= target
    assert chosen == cheapest(reaching)


@given(searches(), st.sampled_from(["best", "within"]), st.randoms(use_true_random=False))
@law
def test_the_order_of_trials_changes_no_choice(search, rule, random):
    trials, _, more = search
    shuffled = random.sample(trials, len(trials))
    assert numbers(select(trials, Selection(rule=rule, **more))) == numbers(select(shuffled, Selection(rule=rule, **more)))


# The target by lower bound


def of_forty(*counts):
    return ranked([[int(i < count) for count in counts] for i in range(40)])


def surely(target, **more):
    return Selection(rule="target", target=target, target_by="lower_bound", **more)


def test_a_target_by_lower_bound_is_reached_by_the_bound_of_a_rate_and_not_by_the_rate():
    trials = of_forty(36, 38, 40)
    assert numbers(select(trials, Selection(rule="target", target=0.85))) == (2, 0)
    shared = 1 - 0.05 / 3
    assert [least_rate(hits, 40, shared) >= 0.8 for hits in (36, 38, 40)] == [False, True, True]
    found = select(trials, surely(0.8))
    assert numbers(found) == (2, 1)
    assert found.why == ("the cheapest of 2 trials whose lower bound of hit_at_1 (exact, 95% for all 3 together) is >= 0.8")


def test_a_target_that_no_lower_bound_reaches_is_refused_with_the_highest():
    highest = least_rate(36, 40, 1 - 0.05 / 2)
    with pytest.raises(HarnessError, match=rf"no trial's lower bound of hit_at_1 reaches 0.8; the highest is {highest:.3f}"):
        select(of_forty(36, 20), surely(0.8))


@pytest.mark.parametrize(("target", "settings"), [(0.93, 1), (0.93, 3), (0.99, 3)])
def test_a_target_that_so_few_questions_can_not_show_is_refused_with_the_number_that_can(target, settings):
    needed = next(n for n in range(1, 2000) if least_rate(n, n, 1 - 0.05 / settings) >= target)
    with pytest.raises(HarnessError) as refused:
        select(of_forty(*[40] * settings), surely(target))
    assert f"40 questions can't show hit_at_1 >= {target:g} for one of {settings} trials" in str(refused.value)
    assert f"label at least {needed} questions" in str(refused.value)


def test_no_number_of_questions_shows_that_nothing_is_ever_missed():
    with pytest.raises(HarnessError, match="no number of questions can show 1"):
        select(of_forty(40, 40), surely(1.0))


@pytest.mark.parametrize("settings", [1, 4, 20])
def test_of_settings_that_truly_miss_the_target_one_is_chosen_in_one_of_twenty_sets_at_most(settings):
    """Exactly, by the binomial distribution; settings whose errors have nothing in common are the worst case."""
    reaching = next(h for h in range(41) if least_rate(h, 40, 1 - 0.05 / settings) >= 0.7)
    one_reaches = binom.sf(reaching - 1, 40, 0.7 - 1e-9)
    assert 1 - (1 - one_reaches) ** settings <= 0.05
    made = np.full(settings, reaching - 1)
    with pytest.raises(HarnessError, match="no trial's lower bound"):
        select(of_forty(*made), surely(0.7))
    made[-1] = reaching
    assert select(of_forty(*made), surely(0.7)).chosen.trial == settings - 1


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"target_by": "lower_bound"}, "needs rule 'target'"),
        ({"rule": "target", "target": 0.5, "target_by": "lower_bound", "key": ["mrr"]}, "goes by hits, not by 'mrr'"),
        ({"objective": ["hit_at_1"]}, "at least two different metrics"),
        ({"objective": ["hit_at_1", "hit_at_1"]}, "at least two different metrics"),
    ],
)
def test_what_does_not_go_together_in_a_selection_is_told(given, what):
    with pytest.raises(ValidationError, match=what):
        Selection(**given)
