"""Settings beside the leader, and what the tie set claims, by drawing question sets whose truth is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import law
from making_trials import drawn_groups, drawn_ranks, pruned, ranked

from harness import stats
from harness.comparison import candidates, compare
from harness.records import Point
from harness.scores import first_quality, scores

BASELINE = Point("whole-section", 0, 0.0)


def named(groups):
    """Groups by question id, as they are numbered."""
    return {f"q{i}": f"g{g}" for i, g in enumerate(groups)}


def compared(trials, metric="hit_at_1", groups=(), seed=7, baselines=False):
    """Settings beside the first of those that have the most; of these, the first in canonical order."""
    found = scores(trials, metric, named(groups))
    open_to_choice = [t for t in trials if t.complete and (baselines or not t.point.baseline)]
    leader = min(open_to_choice, key=lambda t: (-found.column(t).mean(), t.point))
    return compare(found, leader, candidates(trials, baselines), seed, baselines)


def hits(*counts, of=40):
    """Ranks of settings that hit the first so many of some questions."""
    return np.array([[int(i < count) for count in counts] for i in range(of)])


def tied(made):
    return [s.trial.trial for s in made.tie_set]


# What is said


def test_each_setting_stands_beside_the_leader_with_what_it_wins_and_loses():
    ranks = hits(30, 20, 30)
    ranks[30:33, 1] = 1
    made = compared(ranked(ranks))
    leader, second, copy = made.settings
    assert (made.leader.trial, made.questions, made.groups, made.reliable, made.hits) == (0, 40, 40, True, True)
    assert (leader.difference, leader.p_value, leader.corrected, leader.identical) == (0, 1, 1, True)
    assert (second.won, second.lost, second.value) == (3, 10, 23 / 40)
    assert second.difference == pytest.approx(-7 / 40)
    assert second.p_value == pytest.approx(sum(math.comb(13, i) for i in range(4)) / 2**13)
    assert second.corrected == pytest.approx(3 * second.p_value), "one of three could have led"
    assert copy.identical and copy.p_value == copy.corrected == 1
    values = np.repeat([1.0, 0.0], (30, 10))
    assert leader.interval == stats.mean_interval(values, np.arange(40))
    assert second.difference_interval == stats.difference_interval((ranks[:, 1] - ranks[:, 0]).astype(float), np.arange(40))
    assert made.of(ranked(ranks)[1]) is second and made.of(pruned(9, 90, 3)) is None


def test_the_tie_set_has_what_is_not_measurably_worse():
    made = compared(ranked(hits(35, 34, 20, 5)))
    assert tied(made) == [0, 1]
    assert (made.compared, made.undecided) == (4, False)
    assert compared(ranked(hits(35, 34, 33, 5))).undecided, "three of four"
    assert not compared(ranked(hits(35))).undecided, "there is nothing to decide"


def test_questions_of_one_group_count_as_one():
    """Eight questions lost are enough where they share nothing, and not where they share two passages."""
    trials = ranked(hits(20, 12))
    assert tied(compared(trials)) == [0]
    made = compared(trials, groups=[*range(12), *[12] * 4, *[13] * 4, *range(14, 34)])
    assert tied(made) == [0, 1]
    assert made.groups == 34
    assert made.settings[1].p_value == 1 / 4


def test_pruned_settings_were_candidates_and_settings_that_cut_alike_are_one():
    trials = ranked(hits(20, 14))
    alike = replace(trials[1], trial=2, point=Point("words", 999, 0.0))
    lost = [pruned(3 + i, 100 + i, 1) for i in range(5)]
    baseline = replace(trials[1], trial=9, point=BASELINE, evaluation=replace(trials[1].evaluation, chunking_sha256="sections"))
    assert candidates([*trials, alike, *lost, baseline]) == 7
    assert candidates([*trials, alike, *lost, baseline], baselines=True) == 8
    made = compare(scores([*trials, alike, baseline], "hit_at_1", {}), trials[0], 7, 1)
    assert [s.corrected for s in made.settings] == pytest.approx([1, 7 / 64, 7 / 64, 7 / 64])
    assert tied(made) == [0, 1, 2], "a baseline is compared, and in no tie set"
    assert made.compared == 3


def test_a_baseline_is_in_the_tie_set_where_it_may_be_chosen():
    trials = ranked(hits(20, 14), points=[BASELINE, Point("words", 50, 0.0)])
    made = compared(trials, baselines=True)
    assert (made.leader.trial, made.candidates, tied(made)) == (0, 2, [0])
    assert tied(compared(ranked(hits(14, 20), points=[BASELINE, Point("words", 50, 0.0)]))) == [1]


def test_that_most_of_a_search_was_pruned_hides_no_loss():
    """Reciprocal ranks are compared by flips that are drawn: enough of them for the hundreds of candidates."""
    ranks = np.where(hits(40, 0) == 1, 1, 2)
    trials = [*ranked(ranks), *(pruned(2 + i, 100 + i, 1) for i in range(1500))]
    found = scores(trials[:2], "mrr", {})
    made = compare(found, trials[0], candidates(trials), 1)
    assert made.candidates == 1502
    assert made.settings[1].measurably_worse


def test_the_number_of_questions_that_would_decide_is_that_of_the_next_best_and_of_half_of_the_tie_set():
    ranks = hits(30, 28, 27, 26, 25)
    made = compared(ranked(ranks))
    assert tied(made) == [0, 1, 2, 3, 4]
    each = [stats.questions_needed((ranks[:, i] - ranks[:, 0]).astype(float), np.arange(40), 0.05 / 5) for i in range(1, 5)]
    assert each == sorted(each, reverse=True)
    assert made.needed == (each[0], each[2]), "two of four take as many as the second easiest"


def test_settings_that_score_alike_need_no_number_of_questions():
    same = np.roll(hits(20, 20), 3, axis=1)
    same[:, 1] = np.roll(same[:, 1], 4)
    assert compared(ranked(same)).needed == (None, None), "other questions, as many"
    assert compared(ranked(hits(20, 20))).needed == (None, None), "the same questions"
    assert compared(ranked(hits(30, 10))).needed == (None, None), "told apart already"
    three = np.column_stack([same, hits(19)])
    next_best, half = compared(ranked(three)).needed
    assert next_best is None, "no number tells the next best, which has as many"
    assert half is not None, "though it is told how many tell the third"
    four = np.column_stack([same, np.roll(same[:, 1], 3), hits(19)])
    assert compared(ranked(four)).needed == (None, None), "less than half of the tie set loses at all"


def test_half_of_the_tie_set_is_counted_with_those_that_no_number_tells_apart():
    ranks = hits(30, 30, 30, 28, 27, 26)
    made = compared(ranked(ranks))
    each = [stats.questions_needed((ranks[:, i] - ranks[:, 0]).astype(float), np.arange(40), 0.05 / 6) for i in range(3, 6)]
    assert made.needed[1] == max(each), "three of five take as many as the hardest of the three"


def test_scores_are_of_answerable_questions_that_have_the_metric_under_every_setting():
    trials = ranked([[1, 0], [2, 1], [0, 3]])
    first, second = (t.evaluation.questions for t in trials)
    no_answer = replace(first[1], answerable=False)
    undefined = replace(second[2], values={"hit_at_1": 0.0})
    one = replace(trials[0], evaluation=replace(trials[0].evaluation, questions=(first[0], no_answer, first[2])))
    two = replace(trials[1], evaluation=replace(trials[1].evaluation, questions=(second[0], no_answer, undefined)))
    found = scores([one, two], "mrr", {})
    assert (found.questions, found.values.tolist()) == (("q0",), [[1.0, 0.0]])
    assert scores([one, two], "hit_at_1", {"q0": "s", "q2": "s"}).group_count == 1
    assert scores([one, two], "recall_at_5", {}) is None
    assert scores([], "mrr", {}) is None
    other = replace(trials[1], evaluation=replace(trials[1].evaluation, questions=second[:2]))
    with pytest.raises(ValueError, match="trials of one study have the same questions"):
        scores([trials[0], other], "mrr", {})


def test_the_first_part_of_a_key_that_is_no_cost_is_compared():
    assert first_quality(["-index_ratio", "mrr", "hit_at_1"]) == "mrr"
    assert first_quality(["-index_ratio", "chunks"]) is None


# Laws


@st.composite
def any_ranks(draw):
    """Ranks of two to five settings on two to thirty questions, and their groups."""
    number, of = draw(st.integers(2, 30)), draw(st.integers(2, 5))
    rank = st.sampled_from(draw(st.sampled_from([[0, 1], [0, 1, 2, 3, 5]])))
    rows = draw(st.lists(st.lists(rank, min_size=of, max_size=of), min_size=number, max_size=number))
    groups = draw(st.just(list(range(number))) | st.lists(st.integers(0, 9), min_size=number, max_size=number))
    return np.array(rows), groups


@given(any_ranks(), st.sampled_from(["hit_at_1", "hit_at_3", "mrr"]))
@law
def test_a_leader_is_in_its_tie_set_and_so_is_every_copy_of_it(drawn, metric):
    ranks, groups = drawn
    lead = compared(ranked(ranks), metric, groups).leader.trial
    made = compared(ranked(np.column_stack([ranks, ranks[:, lead]])), metric, groups)
    assert {lead, ranks.shape[1]} <= set(tied(made))
    for s in made.settings:
        assert 0 < s.p_value <= s.corrected <= 1
        assert s.difference <= 1e-12
        assert s.won + s.lost <= len(ranks)


@given(any_ranks(), st.randoms(use_true_random=False))
@law
def test_the_order_of_settings_changes_nothing_that_is_said_of_them(drawn, random):
    ranks, groups = drawn
    trials = ranked(ranks)
    shuffled = random.sample(trials, len(trials))
    one, other = (
        {s.trial.trial: (s.won, s.lost, s.p_value, s.corrected) for s in compared(t, "mrr", groups).settings}
        for t in (trials, shuffled)
    )
    assert one == other


# What is claimed


def drawn_comparisons(seed, runs, rates, metric, grouped):
    """Comparisons on question sets drawn anew: forty questions, or twenty-five groups of one to six."""
    rng = np.random.default_rng(seed)
    for run in range(runs):
        groups = drawn_groups(rng, 25) if grouped else np.arange(40)
        shares = {"alike": 0.3, "together": 0.2, "drift": 0.15} if grouped else {"alike": 0.4}
        yield compared(ranked(drawn_ranks(rng, rates, groups, **shares)), metric, groups, seed=run)


def at_most_a_twentieth(times, runs):
    """Give or take three standard errors of the simulation."""
    return times / runs <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


KINDS = pytest.mark.parametrize(("metric", "grouped"), [("hit_at_1", False), ("hit_at_1", True), ("mrr", False), ("mrr", True)])


@KINDS
@pytest.mark.parametrize(("of", "runs"), [(2, 700), (3, 100), (8, 40), (30, 15)])
def test_of_settings_that_are_equally_good_a_leader_stands_alone_in_one_of_twenty_sets_at_most(of, runs, metric, grouped):
    alone = [len(made.tie_set) == 1 for made in drawn_comparisons(of, runs, [0.7] * of, metric, grouped)]
    assert at_most_a_twentieth(sum(alone), runs)


@KINDS
@pytest.mark.parametrize(
    ("rates", "runs"),
    [([0.7] * 8, 100), ([0.71, *[0.7] * 7], 100), ([0.85, 0.8], 150), (np.linspace(0.8, 0.5, 12), 60), ([0.95] * 30, 20)],
)
def test_the_tie_set_has_the_truly_best_setting_in_nineteen_of_twenty_sets(rates, runs, metric, grouped):
    missed = [0 not in tied(made) for made in drawn_comparisons(5, runs, list(rates), metric, grouped)]
    assert at_most_a_twentieth(sum(missed), runs)


@KINDS
def test_a_setting_that_is_far_better_stands_alone_nearly_always(metric, grouped):
    alone = [tied(made) == [0] for made in drawn_comparisons(6, 40, [0.95, 0.5, 0.45, 0.4], metric, grouped)]
    assert sum(alone) >= 36
