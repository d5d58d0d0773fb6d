"""Intervals and tests: against scipy, by their laws, and by drawing question sets whose truth is known.

The simulations are seeded. A share that they find is held against its claim give or take three standard errors of the simulation.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from making import law
from making_trials import drawn_groups, drawn_ranks, reciprocal, true_mrr
from scipy.stats import binom, binomtest, multinomial, permutation_test, ttest_1samp

from harness import stats

RATES = (0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95)


def array(*values):
    return np.array(values, dtype=np.float64)


def alone(values):
    """Groups of questions that share nothing."""
    return np.arange(len(values))


def counted(won, lost, of):
    """Differences of hits, so many questions won and lost."""
    return np.repeat(array(1, -1, 0), (won, lost, of - won - lost))


def bounds(interval):
    return interval.low, interval.high


hits = st.sampled_from([0.0, 1.0])
reciprocals = st.sampled_from([0.0, 0.2, 0.25, 1 / 3, 0.5, 1.0])
anything = st.floats(0, 1, allow_subnormal=False)


@st.composite
def scored_questions(draw, least=2, most=30):
    """Scores of one kind, and groups that may be shared; two of these at least."""
    number = draw(st.integers(least, most))
    kind = draw(st.sampled_from([hits, reciprocals, anything]))
    values = np.array(draw(st.lists(kind, min_size=number, max_size=number)))
    groups = np.array(draw(st.just(list(range(number))) | st.lists(st.integers(0, 8), min_size=number, max_size=number)))
    assume(len(np.unique(groups)) >= 2)
    return values, groups


@st.composite
def compared_questions(draw):
    """Scores of some settings on the same questions, shape (questions, settings), and groups."""
    first, groups = draw(scored_questions())
    kind = hits if np.isin(first, (0, 1)).all() else reciprocals
    others = [draw(st.lists(kind, min_size=len(first), max_size=len(first))) for _ in range(draw(st.integers(1, 4)))]
    return np.column_stack([first, *others]), groups


# Against scipy, and against the formulas as they were published


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_the_interval_of_hits_that_share_nothing_is_wilsons(confidence):
    for of in (2, 3, 10, 25, 41):
        for hit in range(of + 1):
            found = stats.mean_interval(np.repeat(array(1, 0), (hit, of - hit)), np.arange(of), confidence)
            known = binomtest(hit, of).proportion_ci(confidence, "wilson")
            assert bounds(found) == pytest.approx((known.low, known.high), abs=1e-12), (hit, of)
            assert found.confidence == confidence


def test_the_interval_of_differences_of_hits_is_agresti_and_mins_with_students_quantile():
    """Half a question added to each cell of the table (Agresti and Min 2005, formula 3), then Wald's interval."""
    for of in (4, 25, 60):
        for won in range(0, of + 1, 3):
            for lost in range(0, of + 1 - won, 3):
                b, c, n = won + 0.5, lost + 0.5, of + 2
                error = math.sqrt((b + c) - (b - c) ** 2 / n) / n
                half = stats._student(0.95, of - 1) * error
                expected = max(-1, (b - c) / n - half), min(1, (b - c) / n + half)
                assert bounds(stats.difference_interval(counted(won, lost, of), np.arange(of))) == pytest.approx(expected)


def test_the_interval_of_other_differences_is_students():
    differences = np.random.default_rng(1).choice(array(-0.5, -0.25, 0, 0.5, 2 / 3), 30)
    for confidence in (0.8, 0.95):
        known = ttest_1samp(differences, 0).confidence_interval(confidence)
        assert bounds(stats.difference_interval(differences, alone(differences), confidence)) == pytest.approx(known)


def test_hits_that_share_nothing_are_compared_by_mcnemars_exact_test():
    for won in range(12):
        for lost in range(12):
            differences = counted(won, lost, 25)
            discordant = max(won + lost, 1)
            known = binomtest(won, discordant, alternative="less").pvalue if won + lost else 1
            assert stats.worse(differences[:, None], np.arange(25), 1)[0] == pytest.approx(known)
            both = binomtest(won, discordant).pvalue if won + lost else 1
            assert stats.either(differences, np.arange(25), 1) == pytest.approx(both)


@given(st.lists(st.sampled_from([-1.0, -0.75, -0.5, -0.125, 0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=11))
@example([0.5, -0.5])
@law
def test_few_other_differences_are_compared_by_every_flip_of_their_signs(differences):
    column = np.array([*differences, 0.5])  # one that is no hit
    known = permutation_test(
        (column,), lambda x, axis: x.sum(axis=axis), permutation_type="samples", n_resamples=np.inf, alternative="less"
    )
    assert stats.worse(column[:, None], alone(column), 1)[0] == pytest.approx(known.pvalue)


@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from([-1.0, 0.0, 1.0])), min_size=2, max_size=24))
@law
def test_signs_of_whole_groups_are_flipped_together(rows):
    groups, column = np.array([g for g, _ in rows]), np.array([d for _, d in rows])
    assume(len(np.unique(groups)) < len(groups))
    sums = np.array([column[groups == g].sum() for g in np.unique(groups)])
    if len(sums) == 1:
        sums = np.array([sums[0], 0])  # scipy wants two
    known = permutation_test(
        (sums,), lambda x, axis: x.sum(axis=axis), permutation_type="samples", n_resamples=np.inf, alternative="less"
    )
    assert stats.worse(column[:, None], groups, 1)[0] == pytest.approx(known.pvalue)


@pytest.mark.parametrize(("won", "lost"), [(10, 20), (14, 16), (6, 21), (3, 22)])
def test_many_flips_are_drawn_and_come_near_to_all_of_them(won, lost):
    """Halves in place of ones: the same signs, but no hits, so that flips are drawn; the exact value is McNemar's."""
    exact = binom.cdf(won, won + lost, 0.5)
    drawn = stats.worse(counted(won, lost, 40)[:, None] / 2, np.arange(40), 1)[0]
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact / stats.RESAMPLES) + 1 / stats.RESAMPLES)


def test_as_many_flips_are_drawn_as_a_correction_for_many_comparisons_needs():
    """One that loses every question is still found among ten thousand candidates."""
    differences = np.full((30, 1), -0.5)
    assert stats.worse(differences, np.arange(30), 1, comparisons=10_000)[0] <= 0.05 / 10_000
    assert stats.worse(differences, np.arange(30), 1)[0] == 1 / (stats.RESAMPLES + 1)


def test_the_lower_bound_of_a_rate_leaves_a_twentieth_to_as_many_hits_or_more():
    for of in (1, 10, 40, 100):
        assert stats.least_rate(0, of) == 0
        for hit in range(1, of + 1):
            low = stats.least_rate(hit, of)
            assert binom.sf(hit - 1, of, low) == pytest.approx(0.05)
            assert stats.least_rate(hit, of, 0.999) < low < hit / of


# Laws


@given(scored_questions(), st.sampled_from([0.8, 0.95, 0.99]))
@example((np.full(25, 0.1), np.arange(25)), 0.95)
@example((np.full(3, 1 / 3), np.arange(3)), 0.95)
@example((np.ones(4), np.array([0, 0, 1, 1])), 0.95)
@law
def test_an_interval_holds_its_mean_lies_in_0_to_1_and_always_has_a_width(scores, confidence):
    values, groups = scores
    found = stats.mean_interval(values, groups, confidence)
    mean = values.mean()
    assert 0 <= found.low <= mean + 1e-12
    assert mean - 1e-12 <= found.high <= 1
    assert found.high - found.low > 1e-4


@given(scored_questions(), scored_questions())
@example((np.full(7, 0.3), np.arange(7)), (np.zeros(7), np.arange(7)))
@law
def test_an_interval_of_differences_lies_in_minus_1_to_1_and_turns_round_with_them(first, second):
    number = min(len(first[0]), len(second[0]))
    differences, groups = first[0][:number] - second[0][:number], first[1][:number]
    assume(len(np.unique(groups)) >= 2)
    found, back = stats.difference_interval(differences, groups), stats.difference_interval(-differences, groups)
    assert -1 <= found.low < found.high <= 1
    assert bounds(back) == pytest.approx((-found.high, -found.low), abs=1e-9)
    if not np.isin(differences, (-1, 0, 1)).all():
        assert found.low - 1e-9 <= differences.mean() <= found.high + 1e-9


@given(scored_questions(), st.randoms(use_true_random=False))
@law
def test_the_order_of_questions_and_the_names_of_groups_change_no_interval(scores, random):
    values, groups = scores
    order = random.sample(range(len(values)), len(values))
    renamed = np.array(random.sample(range(100), 9 + len(groups)))[groups]
    for interval in (stats.mean_interval, stats.difference_interval):
        assert bounds(interval(values[order], renamed[order])) == pytest.approx(bounds(interval(values, groups)), abs=1e-9)


@given(scored_questions())
@law
def test_more_confidence_is_a_wider_interval(scores):
    for interval in (stats.mean_interval, stats.difference_interval):
        narrow, wide = interval(*scores, 0.8), interval(*scores, 0.99)
        assert wide.low <= narrow.low <= narrow.high <= wide.high


def test_more_confidence_is_a_wider_interval_of_grouped_scores_as_it_is_of_students():
    """Where the mean is one half and scores are alike, Wilson's interval at the effective size is nearly Student's."""
    values, groups = np.tile(array(0.49, 0.5, 0.51), 6), np.repeat(np.arange(6), 3)
    values = values + np.repeat(array(-0.01, 0.01, 0, 0, 0.01, -0.01), 3)
    for confidence in (0.8, 0.95, 0.99):
        found = stats.mean_interval(values, groups, confidence)
        known = ttest_1samp(values.reshape(6, 3).mean(axis=1), 0).confidence_interval(confidence)
        assert bounds(found) == pytest.approx(known, abs=1e-5)


@given(st.lists(st.tuples(hits, st.integers(0, 8)), min_size=3, max_size=30))
@example([(1.0, 0), (0.0, 0), (1.0, 1), (1.0, 1), (0.0, 1), (0.0, 2), (1.0, 2)])
@law
def test_groups_never_make_hits_tell_more_than_as_many_questions_that_share_nothing(rows):
    values, groups = np.array([v for v, _ in rows]), np.array([g for _, g in rows])
    assume(len(np.unique(groups)) >= 2)
    shared, unshared = stats.mean_interval(values, groups), stats.mean_interval(values, alone(values))
    assert shared.low <= unshared.low + 1e-12
    assert unshared.high - 1e-12 <= shared.high


@given(compared_questions(), st.randoms(use_true_random=False))
@law
def test_p_values_are_in_0_to_1_and_a_copy_of_the_other_has_1(scores, random):
    values, groups = scores
    leader = random.randrange(values.shape[1])
    p_values = stats.worse(values - values[:, [leader]], groups, 7)
    assert ((p_values > 0) & (p_values <= 1)).all()
    assert p_values[leader] == 1
    for column in (values - values[:, [leader]]).T:
        assert 0 < stats.either(column, groups, 7) <= 1
        assert stats.either(column, groups, 7) == stats.either(-column, groups, 7)


@given(compared_questions(), st.randoms(use_true_random=False))
@law
def test_the_order_of_questions_and_of_settings_changes_no_p_value(scores, random):
    values, groups = scores
    differences = values - values[:, [0]]
    p_values = stats.worse(differences, groups, 7)
    rows = random.sample(range(len(values)), len(values))
    assert stats.worse(differences[rows], groups[rows], 7) == pytest.approx(p_values, abs=1e-12)
    columns = random.sample(range(values.shape[1]), values.shape[1])
    assert stats.worse(differences[:, columns], groups, 7) == pytest.approx(p_values[columns], abs=1e-12)


@given(compared_questions(), st.randoms(use_true_random=False))
@law
def test_the_names_of_groups_change_no_p_value_where_all_flips_are_tried(scores, random):
    values, groups = scores[0][:12], scores[1][:12]
    renamed = np.array(random.sample(range(100), 9 + len(groups)))[groups]
    differences = values - values[:, [0]]
    assert stats.worse(differences, renamed, 7) == pytest.approx(stats.worse(differences, groups, 7), abs=1e-12)


@given(scored_questions(least=3, most=12), scored_questions(least=3, most=12))
@law
def test_asking_every_question_twice_tells_nothing_more(first, second):
    """Both copies are of one group. Only Wilson's interval of hits differs, by the degrees of freedom that groups lack."""
    number = min(len(first[0]), len(second[0]))
    values, other = first[0][:number], second[0][:number]
    groups = np.arange(number)
    twice = np.repeat(groups, 2)
    once = stats.mean_interval(values, groups)
    again = stats.mean_interval(np.repeat(values, 2), twice)
    if np.isin(values, (0, 1)).all():
        assert again.low <= once.low + 1e-9
        assert once.high - 1e-9 <= again.high
    else:
        assert bounds(again) == pytest.approx(bounds(once))
    differences = values - other
    assert bounds(stats.difference_interval(np.repeat(differences, 2), twice)) == pytest.approx(
        bounds(stats.difference_interval(differences, groups))
    )
    assert stats.worse(np.repeat(differences, 2)[:, None], twice, 1) == pytest.approx(
        stats.worse(differences[:, None], groups, 1), abs=1e-12
    )


def test_one_group_has_no_interval_and_no_number_of_questions():
    values, groups = array(0, 1, 1), np.zeros(3, dtype=np.int64)
    assert stats.mean_interval(values, groups) is None
    assert stats.difference_interval(values, groups) is None
    assert stats.questions_needed(-values, groups, 0.05) is None
    assert stats.detectable(values, groups, 0.05) is None


def test_groups_are_numbered_by_name_and_fewer_than_twenty_are_few():
    assert stats.numbered(["b", "a", "b"]).tolist() == [1, 0, 1]
    assert stats.few(np.arange(19)) and not stats.few(np.arange(20))
    assert stats.few(np.repeat(np.arange(19), 5)), "a hundred questions about nineteen passages"


def test_all_hit_is_no_certainty_and_groups_make_it_less_of_one():
    found = stats.mean_interval(np.ones(40), np.arange(40))
    assert (found.low, found.high) == (pytest.approx(0.912, abs=5e-4), 1)
    shared = stats.mean_interval(np.ones(40), np.repeat(np.arange(10), 4))
    assert shared.low == pytest.approx(stats.mean_interval(np.ones(10), np.arange(10)).low)


# Coverage


def share_within(share, runs, low, high=1.0):
    """Whether a simulated share is in a range, give or take three standard errors."""
    error = 3 * math.sqrt(0.95 * 0.05 / runs)
    return low - error <= share <= high + error


@cache
def wilson(of):
    return [bounds(stats.mean_interval(np.repeat(array(1, 0), (k, of - k)), np.arange(of))) for k in range(of + 1)]


@pytest.mark.parametrize("of", [25, 40, 100])
def test_intervals_of_hit_rates_cover_them(of):
    """Exactly, by the binomial distribution, at every rate from 5 to 95 %."""
    rates = np.linspace(0.05, 0.95, 91)
    low, high = np.array(wilson(of)).T
    covered = [binom.pmf(np.arange(of + 1), of, p)[(low <= p) & (p <= high)].sum() for p in rates]
    assert 0.945 <= np.mean(covered) <= 0.96
    assert min(covered) >= 0.92


@cache
def agresti_min(of):
    """Counts of questions won, lost and the same, and the ends of their intervals."""
    counts = [(won, lost) for won in range(of + 1) for lost in range(of + 1 - won)]
    ends = [bounds(stats.difference_interval(counted(*c, of), np.arange(of))) for c in counts]
    return np.array([(won, lost, of - won - lost) for won, lost in counts]), *np.array(ends).T


def covered_difference(of, won, lost):
    """Exactly, by the multinomial distribution."""
    cells, low, high = agresti_min(of)
    true = won - lost
    return multinomial.pmf(cells, of, (won, lost, 1 - won - lost))[(low <= true) & (true <= high)].sum()


@pytest.mark.parametrize("of", [25, 40, 100])
def test_intervals_of_differences_of_hit_rates_cover_them(of):
    """From two questions in a hundred that differ to six in ten."""
    rates = (0.01, 0.03, 0.05, 0.1, 0.2, 0.3)
    covered = [covered_difference(of, won, lost) for won in rates for lost in rates if lost <= won]
    assert 0.95 <= np.mean(covered) <= 0.975
    assert min(covered) >= 0.92


@pytest.mark.parametrize("of", [25, 40, 100])
def test_the_difference_from_a_setting_that_never_wins_is_covered_on_average_though_not_at_every_rate(of):
    """What is not claimed: counts are whole, and where only one of the two ever wins they are few: 87 % at the worst."""
    covered = [covered_difference(of, won, 0.0) for won in np.linspace(0.03, 0.4, 38)]
    assert 0.935 <= np.mean(covered) <= 0.965
    assert min(covered) >= 0.87


def coverage(rng, runs, groups_of, rate, score, **shares):
    """How often the interval of a mean holds what is true: hit rate or mean reciprocal rank."""
    true = rate if score is first else true_mrr(rate)
    held = 0
    for _ in range(runs):
        groups = groups_of(rng)
        low, high = bounds(stats.mean_interval(score(drawn_ranks(rng, [rate], groups, **shares)[:, 0]), groups))
        held += low <= true <= high
    return held / runs


def first(ranks):
    return (ranks == 1).astype(np.float64)


@pytest.mark.parametrize("of", [25, 40, 100])
def test_intervals_of_mean_reciprocal_ranks_cover_them(of):
    rng, runs = np.random.default_rng(11), 500
    found = [coverage(rng, runs, lambda _: np.arange(of), rate, reciprocal) for rate in RATES]
    assert share_within(np.mean(found), runs * len(found), 0.94, 0.97)
    assert all(share_within(share, runs, 0.93, 0.98) for share in found), found


@pytest.mark.parametrize("score", [first, reciprocal])
@pytest.mark.parametrize("number", [15, 25, 40])
def test_intervals_of_grouped_questions_cover_what_is_true(number, score):
    """Groups of one to six questions that share nothing, a third, or half of what decides."""
    rng, runs = np.random.default_rng(number), 250
    found = {
        (rate, together): coverage(rng, runs, lambda r: drawn_groups(r, number), rate, score, alike=0.0, together=together)
        for rate in RATES
        for together in (0.0, 0.3, 0.5)
    }
    assert share_within(np.mean(list(found.values())), runs * len(found), 0.94, 0.975)
    assert all(share_within(share, runs, 0.92) for share in found.values()), found


def test_groups_that_rise_and_fall_as_one_near_0_or_1_are_covered_nine_times_in_ten_only():
    """What is not claimed: few whole groups that miss say little of how groups vary."""
    rng, runs = np.random.default_rng(3), 600
    found = [
        coverage(rng, runs, lambda r: drawn_groups(r, 40), rate, score, alike=0.0, together=0.99)
        for rate in (0.05, 0.95)
        for score in (first, reciprocal)
    ]
    assert all(share_within(share, runs, 0.9) for share in found), found


def paired(rng, runs, groups_of, rates, score, **shares):
    """How often the interval of a difference holds what is true."""
    true = rates[0] - rates[1] if score is first else true_mrr(rates[0]) - true_mrr(rates[1])
    held = 0
    for _ in range(runs):
        groups = groups_of(rng)
        values = score(drawn_ranks(rng, rates, groups, **shares))
        low, high = bounds(stats.difference_interval(values[:, 0] - values[:, 1], groups))
        held += low <= true <= high
    return held / runs


PAIRS = [(0.5, 0.5), (0.9, 0.9), (0.8, 0.6), (0.95, 0.7), (0.1, 0.1)]


@pytest.mark.parametrize("of", [25, 40, 100])
def test_intervals_of_differences_of_reciprocal_ranks_cover_them(of):
    rng, runs = np.random.default_rng(12), 500
    found = [paired(rng, runs, lambda _: np.arange(of), pair, reciprocal, alike=alike) for pair in PAIRS for alike in (0.3, 0.7)]
    assert share_within(np.mean(found), runs * len(found), 0.94, 0.97)
    assert all(share_within(share, runs, 0.925) for share in found), found


@pytest.mark.parametrize(("score", "most"), [(first, 1.0), (reciprocal, 0.965)])
@pytest.mark.parametrize("number", [15, 25, 40])
def test_intervals_of_differences_of_grouped_questions_cover_them(number, score, most):
    """Of hits they are cautious: whole groups are added, so that no width is zero."""
    rng, runs = np.random.default_rng(number), 250
    shares = ({"alike": 0.3, "together": 0.3}, {"alike": 0.3, "together": 0.2, "drift": 0.3})
    found = [paired(rng, runs, lambda r: drawn_groups(r, number), pair, score, **s) for pair in PAIRS for s in shares]
    assert share_within(np.mean(found), runs * len(found), 0.94, most)
    assert all(share_within(share, runs, 0.92) for share in found), found


# Errors of the tests, and the number of questions


def found_worse(rng, runs, groups_of, rates, score, level, comparisons=1, **shares):
    """How often the second of two settings is found to score below the first."""
    found = 0
    for at in range(runs):
        groups = groups_of(rng)
        values = score(drawn_ranks(rng, rates, groups, **shares))
        found += stats.worse(values[:, [1]] - values[:, [0]], groups, at, comparisons)[0] <= level
    return found / runs


@pytest.mark.parametrize("score", [first, reciprocal])
@pytest.mark.parametrize("grouped", [False, True])
def test_of_two_settings_that_are_as_good_one_is_found_worse_in_one_of_twenty_sets_at_most(score, grouped):
    rng, runs = np.random.default_rng(4), 150
    shares = {"together": 0.2, "drift": 0.15} if grouped else {}

    def groups_of(r):
        return drawn_groups(r, 25) if grouped else np.arange(40)

    found = [found_worse(rng, runs, groups_of, (rate, rate), score, 0.05, **shares) for rate in (0.3, 0.7, 0.9)]
    assert share_within(np.mean(found), runs * len(found), 0.0, 0.05), found


@pytest.mark.parametrize("of", [1, 2, 8, 30])
@pytest.mark.parametrize(("won", "lost", "asked"), [(0.05, 0.2, 40), (0.02, 0.1, 100), (0.1, 0.2, 100), (0.2, 0.5, 40)])
def test_so_many_questions_as_are_said_show_a_loss_of_hits_about_four_times_in_five(won, lost, asked, of):
    """Exactly, by the multinomial distribution: the normal approximation is a little short for an exact test."""
    level = 0.05 / of
    needed = stats.questions_needed(counted(round(won * asked), round(lost * asked), asked), np.arange(asked), level)
    discordant = np.arange(needed + 1)
    power = 0.0
    for number, likely in zip(discordant, binom.pmf(discordant, needed, won + lost), strict=True):
        rejected = binom.cdf(np.arange(number + 1), number, 0.5) <= level
        power += likely * binom.pmf(np.arange(number + 1), number, won / (won + lost))[rejected].sum()
    assert 0.7 <= power <= 0.9


@pytest.mark.parametrize(("grouped", "of"), [(False, 1), (False, 8), (True, 8)])
def test_so_many_questions_as_are_said_show_a_loss_of_mrr_about_four_times_in_five(grouped, of):
    rng, rates, runs, level = np.random.default_rng(6), (0.8, 0.6), 150, 0.05 / of
    shares = {"together": 0.2, "drift": 0.15} if grouped else {}
    many = drawn_groups(rng, 6000) if grouped else np.arange(20_000)
    values = reciprocal(drawn_ranks(rng, rates, many, **shares))
    # What so many would need, from a loss that is known as well as from twenty thousand questions.
    error = stats._standard_error(values[:, 1] - values[:, 0] + true_mrr(0.8) - true_mrr(0.6), many)
    detectable = stats.detectable(values[:, 1] - values[:, 0], many, level)
    needed = math.ceil(len(many) * (detectable / (true_mrr(0.8) - true_mrr(0.6))) ** 2)
    assert detectable == pytest.approx(error * 2.4865 if of == 1 else error * 3.3386, rel=0.01)

    def groups_of(r):
        return drawn_groups(r, round(needed / 3.5)) if grouped else np.arange(needed)

    assert 0.65 <= found_worse(rng, runs, groups_of, rates, reciprocal, level, of, **shares) <= 0.93


def test_the_number_needed_is_read_off_the_loss_and_never_less_than_was_not_enough():
    level = 0.05
    seen = counted(2, 6, 40)
    loss, error = 0.1, stats._standard_error(seen + 0.1, np.arange(40))
    assert stats.questions_needed(seen, np.arange(40), level) == math.ceil(40 * ((1.6449 + 0.8416) * error / loss) ** 2)
    assert stats.questions_needed(counted(0, 4, 40), np.arange(40), level) > 40
    assert stats.questions_needed(counted(3, 3, 40), np.arange(40), level) is None
    assert stats.questions_needed(counted(4, 3, 40), np.arange(40), level) is None
    tenths = np.tile(array(0.7, -0.6, -0.1), 10)
    assert -1e-15 < tenths.mean() < 0
    assert stats.questions_needed(tenths, np.arange(30), level) is None, "a mean of zero but for rounding is no loss"
    assert stats.detectable(np.full(30, 0.1), np.arange(30), level) is None, "nothing varies"
