"""What a search says and what it can't."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import ask, law, place
from making_trials import drawn_ranks, failed, pruned, ranked

from harness.analysis import PARTS, analyse, groups_of, sentences
from harness.errors import HarnessError
from harness.formats import Labelled, SealedHoldout
from harness.labels import Quoted
from harness.optimism import optimism
from harness.records import Corpus, Document, Point
from harness.selection import Selection, select


def analysed(trials, rule=None, groups=None):
    rule = rule or Selection()
    return analyse(trials, select(trials, rule), rule, groups or {}, 7)


def drawn(*rates, of=40, seed=1):
    """Settings of such true rates on questions drawn from a seed."""
    return ranked(drawn_ranks(np.random.default_rng(seed), rates, np.arange(of)))


def test_a_complete_search_has_every_part():
    trials = drawn(*np.linspace(0.5, 0.9, 12))
    found = analysed(trials)
    assert (found.complete, found.of, found.metric) == (12, 12, "hit_at_1")
    assert found.withheld == {}
    assert found.comparison.leader == select(trials, Selection()).leader
    assert found.optimism.metric == "hit_at_1"
    assert [c.metric for c in found.curves] == ["hit_at_1", "hit_at_3"], "a cost has no curve"
    assert len(found.budgets) == 3
    assert found.sensitivity.settings == 12


def test_what_needs_every_trial_measured_whole_is_withheld_while_some_are_pruned_and_told_how_to_get_it():
    trials = [*drawn(*np.linspace(0.5, 0.9, 12)), pruned(12, 900, 0), pruned(13, 910, 0)]
    found = analysed(trials)
    assert (found.complete, found.of) == (12, 14)
    assert found.withheld.keys() == {"optimism", "curve", "sensitivity"}
    assert set(found.withheld.values()) == {"2 of 14 trials were pruned; `harness sweep --complete` measures them whole"}
    assert (found.optimism, found.curves, found.sensitivity) == (None, (), None)
    assert found.comparison.candidates == 14
    assert found.budgets


def test_each_part_that_can_not_be_said_has_its_reason():
    found = analysed(drawn(0.5, 0.9), groups={f"q{i}": "one" for i in range(40)})
    assert found.optimism is None
    assert (
        found.withheld["optimism"]
        == "there is one setting only, or the questions share one passage: there is nothing to resample"
    )
    assert found.withheld["sensitivity"] == "fewer than ten settings that have a size were measured"
    assert found.comparison.settings[0].interval is None
    only = ranked([[1], [0]], [Point("whole-section", 0, 0.0)])
    assert analysed(only, Selection(allow_baselines=True)).withheld["curve"] == "no setting has a size"


def test_a_key_of_costs_alone_has_nothing_that_is_measured_question_by_question():
    found = analysed(drawn(0.5, 0.9), Selection(key=["-index_ratio", "chunks"]))
    assert found.metric is None
    assert found.withheld.keys() == set(PARTS)
    assert set(found.withheld.values()) == {"no part of the key (-index_ratio, chunks) is measured question by question"}
    assert sentences(found) == []


def test_failed_trials_count_as_tried_and_are_no_candidates():
    found = analysed([*drawn(0.5, 0.9), failed(2)])
    assert (found.complete, found.of, found.comparison.candidates) == (2, 3, 2)


def test_the_constraint_holds_for_the_choice_and_for_its_optimism_but_everything_is_compared():
    trials = drawn(0.5, 0.6, 0.9)  # at 30, 60 and 90 units of context
    found = analysed(trials, Selection(max_context_at_3=60.0))
    assert found.comparison.leader.trial in (0, 1)
    assert len(found.comparison.settings) == 3
    assert found.optimism == optimism(trials[:2], found.comparison.leader, Selection(), "hit_at_1", {}, 7)


def test_the_sentences_count_the_tie_set_and_say_what_to_expect():
    found = analysed(drawn(*[0.7] * 12))
    tie, expected = sentences(found)
    number = len(found.comparison.tie_set)
    assert tie.startswith(
        f"{number} of 12 settings are not measurably worse than the leader by hit_at_1 (one-sided, 5% over all 12"
    )
    assert f"{found.optimism.dev:.1%} on dev, about {found.optimism.expected:.1%} to be expected" in expected
    assert len(sentences(analysed(drawn(0.7)))) <= 1, "a search of one has no tie set"


def test_scripts_read_intervals_and_the_tie_set_by_trial_number():
    trials = drawn(0.95, 0.9, 0.2)
    found = analysed(trials)
    read = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert read["tie_set"] == [s.trial.trial for s in found.comparison.tie_set]
    assert read["settings"][0]["interval"] == [
        found.comparison.settings[0].interval.low,
        found.comparison.settings[0].interval.high,
    ]
    assert read["questions_needed"].keys() == {"next", "half"}
    assert read["optimism"]["expected"] == found.optimism.expected
    assert [b["budget"] for b in read["budgets"]] == [1000, 2000, 4000]


def test_questions_that_share_a_passage_or_a_section_are_one_group():
    document = Document("d", "The gate opens at ten.\n\nThe lamps are lit at noon.")
    gate, lamps = place(document, "gate opens"), place(document, "lamps")
    dev = (
        ask("When does it open?", gate, question_id="a"),
        ask("Which opens at ten?", place(document, "at ten"), question_id="b"),
        ask("What is lit?", lamps, question_id="c"),
    )
    groups = groups_of(Labelled(Corpus((document,)), dev, SealedHoldout(0, 0, "none", "none", (), None), (), Quoted()))
    assert groups.keys() == {"a", "b", "c"}
    assert groups["a"] == groups["b"] != groups["c"]


@st.composite
def searches(draw):
    """Any search, small as it may be: ranks, groups, baselines, pruned and failed trials, and a rule."""
    number, of = draw(st.integers(1, 8)), draw(st.integers(1, 12))
    ranks = draw(st.lists(st.lists(st.sampled_from([0, 1, 2, 5]), min_size=of, max_size=of), min_size=number, max_size=number))
    splitters, ratio = st.sampled_from(["words", "tokens", "structure"]), st.sampled_from([0.0, 0.2])
    sized = st.builds(Point, splitters, st.sampled_from([50, 100, 200, 400]), ratio)
    points = draw(st.lists(sized | st.just(Point("whole-section", 0, 0.0)), min_size=of, max_size=of, unique=True))
    more = [pruned(of, 900, 0, number)] * draw(st.integers(0, 1)) + [failed(of + 1)] * draw(st.integers(0, 1))
    groups = {f"q{i}": draw(st.sampled_from("abc")) for i in range(number)} if draw(st.booleans()) else {}
    key = draw(st.sampled_from([["hit_at_1", "hit_at_3", "-index_ratio"], ["mrr"], ["-chunks", "hit_at_3"]]))
    rules = [{}, {"allow_baselines": True}, {"max_context_at_3": 600.0}]
    if key[0] != "-chunks":
        rules += [{"rule": "within", "margin": 1}, {"rule": "target", "target": 0.5}]
    return [*ranked(ranks, points), *more], Selection(key=key, **draw(st.sampled_from(rules))), groups


@given(searches())
@law
def test_whatever_was_searched_can_be_analysed_and_no_figure_is_undefined_or_out_of_its_range(search):
    trials, rule, groups = search
    try:
        found = analysed(trials, rule, groups)
    except HarnessError:  # nothing to choose
        return
    read = json.loads(json.dumps(found.as_json(), allow_nan=False))
    for s in read["settings"]:
        assert 0 < s["p_value"] <= s["corrected"] <= 1
        assert s["interval"] is None or 0 <= s["interval"][0] <= s["value"] + 1e-9 <= s["interval"][1] + 2e-9 <= 1 + 2e-9
        assert s["difference_interval"] is None or -1 <= s["difference_interval"][0] <= s["difference_interval"][1] <= 1
    assert found.comparison.leader.trial in read["tie_set"]
    if found.optimism:
        assert 0 <= found.optimism.expected <= found.optimism.dev <= 1
    for part, made in (("optimism", found.optimism), ("curve", found.curves or None), ("sensitivity", found.sensitivity)):
        assert (made is None) == (part in found.withheld)
    assert all(isinstance(s, str) for s in sentences(found))


@given(searches(), st.randoms(use_true_random=False))
@law
def test_the_order_in_which_trials_were_measured_changes_nothing_that_is_said(search, random):
    trials, rule, groups = search
    try:
        found = analysed(trials, rule, groups)
    except HarnessError as error:
        with pytest.raises(HarnessError, match=re.escape(str(error))):
            analysed(random.sample(trials, len(trials)), rule, groups)
        return
    assert analysed(random.sample(trials, len(trials)), rule, groups) == found
