"""The gate: where the threshold comes to lie, what it does, and when holdout confirms it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import law, scored

from harness import threshold
from harness.errors import HarnessError


def questions(positives=(), wrong=(), unanswerable=()):
    return [
        *(scored(s, "positive") for s in positives),
        *(scored(s, "wrong", best_wrong=s) for s in wrong),
        *(scored(s, "unanswerable") for s in unanswerable),
    ]


def test_where_there_is_a_gap_the_threshold_is_its_middle():
    choice, scores = threshold.choose(questions([0.8, 0.6, 0.9], [0.3], [0.4, 0.1]), "gap")
    assert choice.value == 0.5
    assert choice.how == "middle of the gap between 0.400000 (highest negative) and 0.600000 (lowest positive)"
    assert scores.negatives == (0.3, 0.4, 0.1)
    assert not scores.proxy


def test_the_middle_of_two_neighbouring_scores_stays_between_them():
    choice, _ = threshold.choose(questions([0.400001], [], [0.4]), "gap")
    assert 0.4 < choice.value < 0.400001


def test_a_score_that_is_both_is_no_gap():
    choice, _ = threshold.choose(questions([0.5, 0.9], [], [0.5, 0.1]), "gap")
    assert choice.how.startswith("no gap: 2 of 4 scores overlap; best balanced accuracy 0.750")


hundredths = st.lists(st.integers(0, 100), min_size=1, max_size=12).map(lambda n: tuple(i / 100 for i in n))


def balanced_accuracy(positives, negatives, value):
    return (sum(p >= value for p in positives) / len(positives) + sum(n < value for n in negatives) / len(negatives)) / 2


@given(positives=hundredths, negatives=hundredths)
@law
def test_the_threshold_is_the_middle_of_the_widest_stretch_of_best_balanced_accuracy_over_a_fine_grid(positives, negatives):
    everything = {*positives, *negatives}
    grid = [i / 200 for i in range(-1, 203) if min(everything) < i / 200 <= max(everything)]
    accuracy = [balanced_accuracy(positives, negatives, value) for value in grid]
    best = max(accuracy, default=0.5)
    choice, _ = threshold.choose(questions(positives, (), negatives), "gap")
    if best <= 0.5:
        assert choice.value == min(everything)
        assert "no threshold does better than answering whatever matches at all" in choice.how
        return
    assert balanced_accuracy(positives, negatives, choice.value) == pytest.approx(best)
    stretches = [[]]
    for value, a in zip(grid, accuracy, strict=True):
        if a == pytest.approx(best):
            stretches[-1].append(value)
        elif stretches[-1]:
            stretches.append([])
    (mine,) = [values for values in stretches if values and values[0] - 0.006 < choice.value <= values[-1]]
    assert len(mine) == max(map(len, stretches))
    assert choice.value == pytest.approx((mine[0] - 0.005 + mine[-1]) / 2)


@given(positives=hundredths, negatives=hundredths)
@law
def test_what_the_threshold_says_of_itself_is_what_it_does(positives, negatives):
    asked = questions(positives, (), negatives)
    choice, _ = threshold.choose(asked, "gap")
    at = threshold.apply(asked, choice.value)
    assert at["correct"] == sum(p >= choice.value for p in positives)
    assert at["false_answer"] == sum(n >= choice.value for n in negatives)
    assert sum(at[name] for name in threshold.OUTCOMES) == len(asked)
    if "answering whatever matches at all" in choice.how:
        assert (at["correct"], at["false_answer"]) == (len(positives), len(negatives))
    elif "balanced accuracy" in choice.how:
        claimed = float(choice.how.split("balanced accuracy ")[1].split(",")[0])
        assert balanced_accuracy(positives, negatives, choice.value) == pytest.approx(claimed, abs=0.0006)
    else:
        assert (at["correct"], at["false_answer"]) == (len(positives), 0)


@pytest.mark.parametrize(
    ("question", "outcome"),
    [
        (scored(0.5, "positive"), "correct"),
        (scored(0.49, "positive"), "wrongly_abstained"),
        (scored(0.5, "wrong"), "wrong"),
        (scored(0.49, "wrong"), "rightly_abstained"),
        (scored(0.5, "unanswerable"), "false_answer"),
        (scored(0.49, "unanswerable"), "rightly_abstained"),
        (scored(None, "wrong"), "rightly_abstained"),
        (scored(None, "unanswerable"), "rightly_abstained"),
    ],
)
def test_the_gate_answers_at_the_threshold_and_above(question, outcome):
    assert threshold.outcome(question, 0.5) == outcome


def test_outcomes_are_counted_with_abstentions_apart_and_rates_of_their_class():
    at = threshold.apply(questions([0.9, 0.8, 0.2], [0.7, 0.1], [0.6, 0.1, 0.1, 0.1]), 0.5)
    assert {name: at[name] for name in threshold.OUTCOMES} == {
        "correct": 2,
        "wrong": 1,
        "false_answer": 1,
        "rightly_abstained": 4,
        "wrongly_abstained": 1,
    }
    assert (at["rightly_abstained_unanswerable"], at["rightly_abstained_wrong_first"]) == (3, 1)
    assert (at["right_answer_rate"], at["false_answer_rate"]) == (2 / 5, 1 / 4)


def test_a_rate_of_nothing_is_none_not_zero():
    assert threshold.apply(questions([0.9]), 0.5)["false_answer_rate"] is None
    assert threshold.apply(questions([], [], [0.9]), 0.5)["right_answer_rate"] is None


def test_without_positives_there_is_no_threshold():
    with pytest.raises(HarnessError, match="no dev question has its evidence in the first chunk"):
        threshold.choose(questions([], [0.5], [0.4]), "gap")


def test_without_negatives_there_is_no_threshold():
    with pytest.raises(HarnessError, match="no question retrieves a wrong chunk"):
        threshold.choose(questions([0.5, 0.6]), "gap")


def test_without_unanswerable_questions_each_questions_best_wrong_chunk_stands_for_them():
    asked = [
        scored(0.9, "positive", best_wrong=0.4),
        scored(0.8, "positive", best_wrong=0.5),
        scored(0.3, "wrong", best_wrong=0.3),
    ]
    choice, scores = threshold.choose(asked, "gap")
    assert scores.proxy
    assert scores.negatives == (0.4, 0.5, 0.3)
    assert choice.value == 0.65


def test_questions_that_retrieved_nothing_have_no_score_to_tune_on():
    scores = threshold.gate_scores([scored(None, "wrong"), scored(None, "unanswerable"), scored(0.5)])
    assert (scores.positives, scores.wrong, scores.unanswerable) == ((0.5,), (), ())


def test_negatives_that_retrieve_nothing_are_rejected_at_any_threshold_and_weigh_in_the_balance():
    asked = questions([0.3, 0.5, 0.8], (), [0.4, 0.7])
    strict, _ = threshold.choose(asked, "gap")
    assert strict.value == 0.75  # both negatives rejected, for two positives
    lenient, scores = threshold.choose([*asked, *(scored(None, "unanswerable") for _ in range(8))], "gap")
    assert scores.silent == 8
    assert lenient.value == 0.3  # of ten negatives, two are not worth two of three positives
    assert "no threshold does better than answering whatever matches at all" in lenient.how


def test_unanswerable_questions_that_retrieve_nothing_are_still_no_reason_for_a_proxy():
    asked = [*questions([0.9], [0.4], []), scored(None, "unanswerable")]
    choice, scores = threshold.choose(asked, "gap")
    assert not scores.proxy
    assert choice.value == 0.65


def test_distributions_are_kept_by_class():
    named = threshold.gate_scores(questions([0.9, 0.7], [0.4], [])).distributions()
    assert {name: q["count"] for name, q in named.items()} == {"positives": 2, "wrong_first_chunks": 1, "unanswerable": 0}


def outcomes(correct, answerable, false_answer, unanswerable):
    return {
        "correct": correct,
        "answerable": answerable,
        "false_answer": false_answer,
        "unanswerable": unanswerable,
        "right_answer_rate": correct / answerable if answerable else None,
        "false_answer_rate": false_answer / unanswerable if unanswerable else None,
    }


@pytest.mark.parametrize(
    ("dev", "holdout", "word"),
    [
        (outcomes(32, 40, 2, 20), outcomes(20, 25, 1, 20), "verified"),
        (outcomes(20, 40, 2, 20), outcomes(25, 25, 1, 20), "verified"),
        (outcomes(32, 40, 10, 20), outcomes(20, 25, 0, 20), "verified"),
        (outcomes(32, 40, 2, 20), outcomes(10, 25, 1, 20), "not verified"),
        (outcomes(32, 40, 2, 20), outcomes(20, 25, 8, 20), "not verified"),
        (outcomes(32, 40, 2, 20), outcomes(2, 12, 1, 20), "too few to verify"),
        (outcomes(32, 40, 2, 20), outcomes(10, 12, 1, 20), "too few to verify"),
        (outcomes(32, 40, 2, 20), outcomes(20, 25, 1, 5), "too few to verify"),
        (outcomes(32, 40, 2, 20), outcomes(20, 25, 0, 0), "too few to verify"),
        (outcomes(32, 40, 0, 0), outcomes(20, 25, 1, 20), "too few to verify"),
    ],
)
def test_the_verdict_is_not_verified_where_holdout_rejects_a_rate_and_verified_only_with_enough_of_both(dev, holdout, word):
    assert threshold.verdict(dev, holdout)["verdict"] == word


def test_a_verdict_shows_what_it_rests_on():
    tests = threshold.verdict(outcomes(32, 40, 2, 20), outcomes(10, 25, 1, 20))["tests"]
    assert tests["right_answers"]["dev_rate"] == 0.8
    assert (tests["right_answers"]["holdout"], tests["right_answers"]["of"]) == (10, 25)
    assert tests["right_answers"]["p_value"] < 0.05 < tests["false_answers"]["p_value"]
