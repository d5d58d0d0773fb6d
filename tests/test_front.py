"""The Pareto front of several objectives, held against its definition, and how its points are named."""

from __future__ import annotations

from itertools import product

import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import law
from making_trials import trial

from harness.errors import HarnessError
from harness.front import decided, directions, front, named, undecided, values
from harness.records import Bound, Point, TrialResult
from harness.selection import Selection

TWO = Selection(objective=["hit_at_1", "index_ratio"])
THREE = Selection(objective=["hit_at_1", "hit_at_3", "-index_ratio"])


def pruned(number, hits, ratio, size=70, **more):
    """A trial given up when at most so many questions could still be hit."""
    metrics = {"hit_at_1": hits / 10, "hit_at_3": 1.0, "index_ratio": ratio, "chunks": 100.0, **more}
    bound = Bound(metrics, 10, "hit", 5, f"p{number}", "s", 1, 9, {})
    return TrialResult(number, Point("words", size, 0.0), "words", 0.0, 1.0, bound=bound)


def numbers(points):
    return [p.trial.trial for p in points]


@st.composite
def trials(draw):
    """Trials whose few different values make ties and repeats."""
    rows = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 3), st.integers(1, 40)), max_size=14))
    return [
        trial(n, hits=a, hits3=a + b, size=size, ratio=1 + c / 4, context=float(size)) for n, (a, b, c, size) in enumerate(rows)
    ]


def earliest(found):
    """Of each point the trial that came first."""
    return list({t.point: t for t in found[::-1]}.values())


def as_defined(found, objective, most=None):
    """Every trial, of each point the first, that no other beats in one objective without losing in another: pair by pair."""
    allowed = [t for t in earliest(found) if most is None or t.metrics["context_at_3"] <= most]

    def beats(a, b):
        pairs = [
            (b.metrics[name], a.metrics[name]) if way == "minimize" else (a.metrics[name], b.metrics[name])
            for name, way in zip((o.removeprefix("-") for o in objective), directions(objective), strict=True)
        ]
        return all(x >= y for x, y in pairs) and any(x > y for x, y in pairs)

    return {t.trial for t in allowed if not any(beats(other, t) for other in allowed)}


@given(trials(), st.sampled_from([TWO, THREE]), st.sampled_from([None, 20.0]))
@law
def test_the_front_is_what_its_definition_says_whatever_the_order(found, rule, most):
    rule = rule.model_copy(update={"max_context_at_3": most})
    points = front(found, rule)
    assert set(numbers(points)) == as_defined(found, rule.objective, most)
    assert [str(p) for p in front(found[::-1], rule)] == [str(p) for p in points]


@given(trials())
@law
def test_the_front_is_the_one_that_optuna_finds(found):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(directions=directions(THREE.objective))
    for t in earliest(found):
        made = optuna.trial.create_trial(values=values(t, THREE.objective), user_attrs={"number": t.trial})
        study.add_trial(made)
    assert set(numbers(front(found, THREE))) == {t.user_attrs["number"] for t in study.best_trials}


@given(trials())
@law
def test_points_that_are_equal_in_all_objectives_are_told_as_ties_of_each_other(found):
    points = front(found, TWO)
    for a, b in product(points, points):
        assert (b.trial.trial in a.ties) == (a is not b and a.values == b.values)


def test_the_best_in_the_first_objective_comes_first_and_ties_in_canonical_order():
    found = [trial(0, 5, ratio=1.0, size=90), trial(1, 8, ratio=1.5), trial(2, 5, ratio=1.0, size=20), trial(3, 4, ratio=1.2)]
    points = front(found, TWO)
    assert [(p.name, p.ties) for p in points] == [("words 50/0", ()), ("words 20/0", (0,)), ("words 90/0", (2,))]
    assert numbers(front(found, Selection(objective=["-index_ratio", "hit_at_1"]))) == [2, 0, 1]
    assert str(points[1]) == "words 20/0 (trial 2): hit_at_1 0.5, index_ratio 1; best index_ratio; ties with trial 0"


def test_a_baseline_is_on_the_front_only_where_it_may_be_chosen():
    whole = trial(0, 9, point=Point("whole-section", 0, 0.0))
    found = [whole, trial(1, 5)]
    assert numbers(front(found, TWO)) == [1]
    assert numbers(front(found, TWO.model_copy(update={"allow_baselines": True}))) == [0]


def test_a_trial_in_which_an_objective_is_undefined_is_not_on_the_front():
    known = trial(1, 3)
    known.evaluation.metrics["section_hit_at_1"] = 0.2
    rule = Selection(objective=["hit_at_1", "section_hit_at_1"])
    assert numbers(front([trial(0, 9, size=20), known], rule)) == [1]
    assert values(trial(0), rule.objective) is None
    with pytest.raises(HarnessError, match="section_hit_at_1 is undefined for every complete trial; name other metrics"):
        decided([trial(0, 9)], rule)


def test_other_objectives_than_the_rules_can_be_looked_at():
    found = [trial(0, 5, ratio=1.0), trial(1, 8, ratio=1.5, size=60)]
    assert numbers(front(found, Selection(), ["hit_at_1", "index_ratio"])) == [1, 0]
    assert front(found, Selection()) == ()


def test_the_knee_lies_farthest_beyond_the_line_between_the_ends():
    found = [trial(0, 9, ratio=2.0, size=10), trial(1, 8, ratio=1.2, size=20), trial(2, 5, ratio=1.1, size=30), trial(3, 1)]
    assert {p.name: p.labels for p in front(found, TWO)} == {
        "words 10/0": ("best hit_at_1",),
        "words 20/0": ("knee",),
        "words 30/0": (),
        "words 50/0": ("best index_ratio",),
    }


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([(9, 2.0), (1, 1.0)], "two points have no middle"),
        ([(9, 2.0), (5, 1.5), (1, 1.0)], "on the line"),
        ([(9, 2.0), (4, 1.75), (1, 1.0)], "before the line"),
        ([(9, 2.0), (8, 1.375), (6, 1.125), (1, 1.0)], "two as far"),
    ],
)
def test_where_no_single_point_stands_out_there_is_no_knee(rows, why):
    found = [trial(n, hits, ratio=ratio, size=10 + n) for n, (hits, ratio) in enumerate(rows)]
    points = front(found, TWO)
    assert len(points) == len(rows)
    assert not [p for p in points if "knee" in p.labels], why


@given(trials())
@law
def test_the_best_of_each_objective_is_on_the_front_and_says_so(found):
    points = front(found, THREE)
    for name, sign in (("hit_at_1", 1), ("hit_at_3", 1), ("index_ratio", -1)):
        best = max((sign * t.metrics[name] for t in earliest(found)), default=None)
        marked = [p for p in points if f"best {name}" in p.labels]
        assert {sign * p.values[name] for p in marked} == ({best} if found else set())


def test_a_point_is_named_by_its_setting_or_by_a_label():
    points = front([trial(0, 9, ratio=2.0, size=10), trial(1, 8, ratio=1.2, size=20), trial(2, 1)], TWO)
    assert numbers([named(points, name) for name in ("words 10/0", "knee", " best  index_ratio ")]) == [0, 1, 2]
    with pytest.raises(HarnessError, match=r"'words 10/1' is no point of the front; did you mean 'words 10/0'\?"):
        named(points, "words 10/1")


def test_a_label_of_several_points_names_the_smallest_of_a_tie_and_is_refused_where_they_differ():
    tie = [trial(0, 5, size=40), trial(1, 5, size=20)]
    assert named(front(tie, TWO), "best hit_at_1").trial.trial == 1
    differ = [trial(0, 5, 5, size=40, ratio=1.0), trial(1, 5, 8, size=20, ratio=1.5)]
    with pytest.raises(HarnessError, match=r"'best hit_at_1' are 2 points of the front that differ: .*; name the setting"):
        named(front(differ, THREE), "best hit_at_1")


def test_settings_that_are_printed_alike_are_the_same_chunks_and_one_is_taken():
    found = [trial(0, 5, point=Point("words", 80, 0.19)), trial(1, 5, point=Point("words", 80, 0.1875))]
    points = front(found, TWO)
    assert [p.name for p in points] == ["words 80/15", "words 80/15"]
    assert named(points, "words 80/15").trial.point == Point("words", 80, 0.1875)


def test_a_pruned_trial_may_lie_on_the_front_unless_what_it_can_still_reach_is_dominated():
    found = [trial(0, 5, ratio=1.2)]
    assert undecided([*found, pruned(1, 5, 1.3), pruned(2, 4, 1.2)], TWO) == []
    for hits, ratio in ((5, 1.2), (6, 2.0), (1, 1.1)):
        waiting = pruned(1, hits, ratio)
        assert undecided([*found, waiting], TWO) == [waiting], "as good in both, better in one"
        with pytest.raises(HarnessError, match=r"1 pruned trial \(1\) may lie on the front; run `harness sweep`"):
            decided([*found, waiting], TWO)
    assert undecided([*found, pruned(1, 1, 1.1, size=50)], TWO) == [], "the same setting was measured whole"
    assert undecided([pruned(1, 1, 1.1)], Selection()) == []


def test_an_objective_without_a_bound_excludes_no_pruned_trial():
    rule = Selection(objective=["hit_at_1", "context_at_3"])
    waiting = pruned(1, 1, 1.0)
    assert undecided([trial(0, 9), waiting], rule) == [waiting]


def test_costs_are_minimised_with_and_without_a_minus():
    assert directions(["hit_at_1", "index_ratio", "-chunks", "mrr"]) == ("maximize", "minimize", "minimize", "maximize")
    found = [trial(0, 5, ratio=1.0), trial(1, 8, ratio=1.5, size=60), trial(2, 7, ratio=1.7, size=70)]
    assert numbers(front(found, TWO)) == numbers(front(found, Selection(objective=["hit_at_1", "-index_ratio"]))) == [1, 0]
    assert [dict(p.values) for p in front(found, TWO)] == [
        {"hit_at_1": 0.8, "index_ratio": 1.5},
        {"hit_at_1": 0.5, "index_ratio": 1.0},
    ]
