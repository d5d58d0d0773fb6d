"""What the best of many is said to be worth, by drawing question sets whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from making_trials import drawn_groups, drawn_ranks, ranked, true_mrr

from harness.errors import HarnessError
from harness.optimism import LEFT_OUT, RESAMPLES, optimism
from harness.selection import Selection, select

FIELDS = {
    "equal": [0.7] * 15,
    "slope": list(np.linspace(0.5, 0.8, 15)),
    "near the top": [0.9] * 15,
    "two": [0.7, 0.7],
    "one clear winner": [0.9, *[0.5] * 14],
}
BEST, WITHIN = Selection(), Selection(rule="within", margin=2)


def estimated(trials, rule=BEST, metric="hit_at_1", groups=(), seed=7):
    named = {f"q{i}": f"g{g}" for i, g in enumerate(groups)}
    return optimism(trials, select(trials, rule).chosen, rule, metric, named, seed)


def errors(rates, rule, metric="hit_at_1", of=40, runs=60, grouped=False):
    """How far off the raw and the expected figure are in each of some question sets, shape (runs, 2)."""
    rng, found = np.random.default_rng(of + len(rates)), []
    for run in range(runs):
        groups = drawn_groups(rng, of) if grouped else np.arange(of)
        shares = {"alike": 0.2, "together": 0.2, "drift": 0.15} if grouped else {"alike": 0.4}
        trials = ranked(drawn_ranks(rng, rates, groups, **shares))
        chosen = select(trials, rule).chosen
        named = {f"q{i}": f"g{g}" for i, g in enumerate(groups)}
        made = optimism(trials, chosen, rule, metric, named, run)
        true = rates[chosen.trial] if metric == "hit_at_1" else true_mrr(rates[chosen.trial])
        found.append((made.dev - true, made.expected - true))
    return np.array(found)


def surely_nearer(raw, expected):
    """Whether the expected figure is nearer to the truth on average, by more than two standard errors of the simulation."""
    gain = np.abs(raw) - np.abs(expected)
    return gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(len(gain))


@pytest.mark.parametrize("metric", ["hit_at_1", "mrr"])
@pytest.mark.parametrize("field", ["equal", "slope", "near the top"])
def test_the_expected_figure_is_nearer_to_the_truth_than_the_raw_one_and_about_as_often_above_as_below(field, metric):
    key = ["mrr"] if metric == "mrr" else BEST.key
    raw, expected = errors(FIELDS[field], Selection(key=key), metric).T
    assert surely_nearer(raw, expected)
    assert raw.mean() > 0.03
    assert abs(expected.mean()) < 0.4 * raw.mean()


def test_so_it_is_with_questions_in_groups():
    raw, expected = errors(FIELDS["equal"], BEST, of=25, grouped=True).T
    assert surely_nearer(raw, expected)
    raw, expected = errors(FIELDS["slope"], BEST, of=25, grouped=True).T
    assert raw.mean() > 0.03
    assert abs(expected.mean()) < 0.4 * raw.mean(), "too high as often as too low"
    assert not surely_nearer(expected, raw), "so few sets can't show that it is nearer by half a point, as it is in many"


@pytest.mark.parametrize("field", ["equal", "slope"])
def test_so_it_is_with_a_rule_that_gives_up_questions_for_cost(field):
    raw, expected = errors(FIELDS[field], WITHIN).T
    assert surely_nearer(raw, expected)
    assert abs(expected.mean()) < abs(raw.mean())


@pytest.mark.parametrize("of", [25, 100])
def test_so_it_is_with_few_questions_and_with_many(of):
    raw, expected = errors(FIELDS["equal"], BEST, of=of, runs=40).T
    assert surely_nearer(raw, expected)
    assert np.abs(expected).mean() < 0.6 * np.abs(raw).mean(), "by far"


@pytest.mark.parametrize("field", ["one clear winner", "two"])
@pytest.mark.parametrize("rule", [BEST, WITHIN], ids=["best", "within"])
def test_where_there_was_little_to_choose_it_does_next_to_no_harm(field, rule):
    """By half a point on average: of what is off by four or five points anyhow."""
    raw, expected = errors(FIELDS[field], rule, runs=100).T
    assert np.abs(expected).mean() < np.abs(raw).mean() + 0.005


def test_a_search_that_could_choose_only_one_setting_flatters_nothing():
    assert estimated(ranked(drawn_ranks(np.random.default_rng(1), [0.7], np.arange(40)))) is None


def test_copies_of_a_setting_have_next_to_nothing_to_shrink_however_many():
    ranks = drawn_ranks(np.random.default_rng(1), [0.7], np.arange(40))
    two, many = (estimated(ranked(np.repeat(ranks, n, axis=1))) for n in (2, 20))
    assert two.dev == float((ranks == 1).mean())
    assert 0 <= two.shrinkage == many.shrinkage < 0.02, "resamples alone"
    assert (two.resamples, two.failed) == (RESAMPLES, 0)


def test_a_choice_never_looks_worse_than_it_is():
    """By chance alone resamples would say so of every second search of two copies."""
    trials = ranked(np.repeat(drawn_ranks(np.random.default_rng(1), [0.7], np.arange(40)), 2, axis=1))
    made = [estimated(trials, seed=seed) for seed in range(12)]
    assert all(m.expected <= m.dev for m in made)
    assert any(m.expected == m.dev for m in made)


def test_the_estimate_is_the_same_for_the_same_seed_and_in_any_order_of_trials():
    trials = ranked(drawn_ranks(np.random.default_rng(1), [0.7] * 5, np.arange(30)))
    assert estimated(trials) == estimated(trials[::-1])
    assert estimated(trials, seed=8) != estimated(trials)


def test_the_estimate_is_that_of_a_plain_loop_over_the_same_resamples():
    """The rule chooses on trials that are made anew of the questions that were drawn."""
    ranks = drawn_ranks(np.random.default_rng(2), [0.6, 0.7, 0.65], np.arange(12))
    trials, rng, gains = ranked(ranks), np.random.default_rng(7), []
    for _ in range(RESAMPLES):
        drawn = rng.multinomial(12, [1 / 12] * 12)
        inside, outside = ranked(np.repeat(ranks, drawn, axis=0)), ranked(ranks[drawn == 0])
        chosen = select(inside, BEST).chosen
        gains.append(chosen.metrics["hit_at_1"] - outside[chosen.trial].metrics["hit_at_1"])
    assert estimated(trials).shrinkage == pytest.approx(LEFT_OUT * np.mean(gains))


def test_what_is_expected_stays_a_rate():
    trials = ranked(drawn_ranks(np.random.default_rng(2), [0.6, 0.7], np.arange(12)))
    made = estimated(trials)
    assert made.expected == pytest.approx(made.dev - made.shrinkage)
    assert replace(made, dev=0.05, shrinkage=0.2).expected == 0


def test_resamples_where_no_setting_reaches_the_target_are_counted():
    trials = ranked(drawn_ranks(np.random.default_rng(3), [0.7] * 4, np.arange(30)))
    rule = Selection(rule="target", target=max(t.metrics["hit_at_1"] for t in trials))
    made = estimated(trials, rule)
    assert 0 < made.failed < RESAMPLES
    with pytest.raises(HarnessError):
        estimated(trials, Selection(rule="target", target=1.0))


def test_one_group_of_questions_has_no_estimate_nor_has_a_metric_that_is_undefined():
    trials = ranked(drawn_ranks(np.random.default_rng(3), [0.7] * 4, np.arange(30)))
    assert estimated(trials, groups=[0] * 30) is None
    assert estimated(trials, metric="recall_at_5") is None
