"""The space's points: all of them where it is finite, a lattice where it is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import law

from harness.records import Point
from harness.space import Choices, Range, Space


def test_a_range_with_steps_has_both_ends_without_floating_dust():
    assert Range(0.0, 0.4, 0.05).grid() == (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
    assert Range(0.0, 0.3, 0.1).grid() == (0.0, 0.1, 0.2, 0.3)
    assert Range(10, 20, 4).grid() == (10, 14, 18)
    assert all(isinstance(v, int) for v in Range(10, 20, 4).grid())


def test_a_range_without_steps_has_no_grid_unless_it_is_one_value():
    assert Range(0.0, 0.4, None).grid() is None
    assert Range(0.2, 0.2, None).grid() == (0.2,)


def test_a_log_range_is_sampled_evenly_in_the_logarithm():
    assert Range(1, 1000, 1, log=True).sample(4) == (1, 10, 100, 1000)
    assert Range(0, 1000, 1).sample(3) == (0, 500, 1000)


@given(low=st.integers(1, 50), width=st.integers(0, 200), step=st.integers(1, 9), most=st.integers(2, 12), log=st.booleans())
@law
def test_a_sample_is_of_the_grid_in_order_with_both_ends_and_no_more_than_asked(low, width, step, most, log):
    axis = Range(low, low + width, step, log)
    found, whole = axis.sample(most), axis.grid()
    assert set(found) <= set(whole)
    assert list(found) == sorted(set(found))
    assert (found[0], found[-1]) == (whole[0], whole[-1])
    assert len(found) <= most or len(found) == len(whole) <= most
    assert axis.count() == len(whole)


@pytest.mark.parametrize(
    ("space", "count"),
    [
        (Space(("words",), Range(1, 10**9, 1), Choices((0.0, 0.5))), 2 * 10**9),
        (Space(("words",), Choices((20,)), Range(0.0, 0.9, 1e-9)), 900_000_001),
    ],
    ids=["sizes", "ratios"],
)
def test_a_huge_space_is_counted_and_sampled_but_never_listed(space, count):
    assert space.count() == count
    assert 5 <= len(list(space.sample(5))) <= 10
    with pytest.raises(ValueError, match="can't be listed"):
        space.points()


def test_a_finite_space_is_every_combination_in_canonical_order():
    space = Space(("words", "tokens"), Choices((80, 40)), Choices((0.0, 0.1)))
    assert space.points() == tuple(Point(s, n, r) for s in ("tokens", "words") for n in (40, 80) for r in (0.0, 0.1))


def test_a_continuous_space_has_no_list_of_points_but_a_lattice():
    space = Space(("words",), Choices((40,)), Range(0.0, 0.5, None))
    assert space.count() is None
    with pytest.raises(ValueError, match="endlessly many points"):
        space.points()
    assert list(space.sample(3)) == [Point("words", 40, 0.0), Point("words", 40, 0.25), Point("words", 40, 0.5)]


def test_points_off_a_list_are_named_and_points_off_a_ranges_steps_are_not():
    space = Space(("words",), Choices((40, 80)), Range(0.0, 0.4, 0.05))
    points = [Point("words", 80, 0.1875), Point("tokens", 50, 0.1), Point("tokens", 40, 0.1)]
    assert space.off_lists(points) == [("splitter", "splitter tokens"), ("chunk_size", "chunk_size 50")]


@pytest.mark.parametrize("other", [Choices((40, 81)), Range(40, 80, 40), Range(40, 80, 40, log=True)])
def test_another_axis_is_another_space(other):
    ratios = Choices((0.0,))
    assert Space(("words",), Choices((40, 80)), ratios).as_json() != Space(("words",), other, ratios).as_json()
