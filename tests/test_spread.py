"""Quantiles in bounded memory against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import law

from harness.spread import Spread, quantiles


@given(st.lists(st.lists(st.floats(-50, 50).map(lambda x: round(x, 6) + 0.0), max_size=20), max_size=5))
@law
def test_a_spread_of_few_values_has_their_quantiles(blocks):
    spread = Spread()
    for block in blocks:
        spread.add(np.array(block))
    assert spread.quantiles() == pytest.approx(quantiles([x for block in blocks for x in block]), abs=2e-6)


def test_a_spread_of_many_values_has_their_quantiles_to_the_fourth_decimal_and_exact_ends():
    rng = np.random.default_rng(7)
    values = np.round(rng.uniform(-1, 1, 1_000_000), 6)
    spread = Spread()
    for block in np.array_split(values, 9):
        spread.add(block)
    found, exact = spread.quantiles(), quantiles(values)
    assert found == pytest.approx(exact, abs=1e-4)
    assert (found["count"], found["min"], found["max"]) == (1_000_000, exact["min"], exact["max"])


def test_what_a_spread_keeps_does_not_grow_with_what_it_was_given():
    spread = Spread()
    for seed in range(8):
        spread.add(np.round(np.random.default_rng(seed).normal(0, 1000, Spread.BUFFER), 6))
    assert len(spread._keys) <= Spread.MOST
    assert spread.quantiles()["count"] == 8 * Spread.BUFFER


def test_nothing_has_no_quantiles():
    assert Spread().quantiles() == quantiles([]) == {"count": 0}
