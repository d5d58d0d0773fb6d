"""From finished trials to the leader and the chosen one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import law, one, scored
from pydantic import ValidationError

from harness.analysis import analyse
from harness.diagnosis import diagnose
from harness.errors import HarnessError
from harness.formats import Labelled, SealedHoldout
from harness.labels import Quoted
from harness.records import Evaluation, Point, Question, QuestionScore, TrialResult
from harness.selection import Selection, key_values, objective, select

QUESTIONS = 10
DEV = tuple(Question(f"q{i}", f"Question {i}?", reviewed=i > 0) for i in range(QUESTIONS))
LABELLED = Labelled(one("text"), DEV[1:], SealedHoldout(0, 0, "none", "none", (), None), (), Quoted())


def trial(number, hits=5, hits3=None, size=50, context=150.0, ratio=1.0, questions=None, point=None, truncated=0.0):
    """A complete trial of ten answerable questions, so many of them hit at once and within three."""
    hits3 = hits if hits3 is None else hits3
    ranks = [1] * hits + [2] * (hits3 - hits) + [None] * (QUESTIONS - hits3)
    scores = questions or tuple(
        replace(scored(0.5), question_id=f"q{i}", hit_rank=r, values=hit_values(r)) for i, r in enumerate(ranks)
    )
    metrics = {
        "hit_at_1": hits / QUESTIONS,
        "hit_at_3": hits3 / QUESTIONS,
        "ceiling": 1.0,
        "context_at_3": context,
        "index_ratio": ratio,
        "chunks": 100.0,
        "truncated_share": truncated,
    }
    evaluation = Evaluation(metrics, scores, f"{size}", "s", {"count": 0}, 1, 1, {})
    return TrialResult(number, point or Point("words", size, 0.0), "words", 0.0, 1.0, evaluation)


def hit_values(rank):
    return {f"hit_at_{k}": float(rank is not None and rank <= k) for k in (1, 3)}


def failed(number, error="out of memory"):
    return TrialResult(number, Point("words", 1, 0.0), "words", 0.0, 1.0, error=error)


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
    assert key_values(trial(0), ["hit_at_1", "mrr", "-index_ratio"]) == (0.5, float("-inf"), -1.0)


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


def diagnosed(trials, studies=()):
    rule = Selection()
    selected = select(trials, rule)
    return diagnose(trials, selected, LABELLED, analyse(trials, selected, rule, {}, 7), studies)


def names(trials):
    return {finding.name for finding in diagnosed(trials)}


def test_questions_that_every_setting_answers_are_too_easy():
    assert "too easy" in names([trial(0, 10, size=30), trial(1, 10, size=60)])
    assert "too easy" not in names([trial(0, 10, size=30), trial(1, 9, size=60)])


def test_a_sweep_that_answers_next_to_nothing_is_poor():
    assert "poor" in names([trial(0, 3)])
    assert "poor" not in names([trial(0, 4)])


def test_ties_and_leads_of_one_question_are_said():
    assert "tie" in names([trial(0, size=30), trial(1, size=60)])
    assert "one question" in names([trial(0, 6, size=30), trial(1, 5, size=60)])
    assert not {"tie", "one question"} & names([trial(0, 7, size=30), trial(1, 5, size=60)])


def test_cut_answers_and_truncated_chunks_of_the_leader_are_said():
    cut = QuestionScore("q", True, None, hit_values(None), "cut", True, None, ())
    trials = [trial(0, 5, questions=(replace(scored(0.5), values=hit_values(1)), cut), truncated=0.25)]
    found = {f.name: f.sentence for f in diagnosed(trials)}
    assert found["cut"] == "1 of 2 answers are cut at the leader (1 with the right section first)"
    assert found["truncation"] == "the model cuts 25.0% of the leader's chunks"
