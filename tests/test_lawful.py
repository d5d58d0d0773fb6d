"""Whatever spans a library gives, what comes of them keeps the laws; sound ones stay as they are."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import awkward_text, law, one

from harness.records import Document
from harness.splitters.lawful import lawful
from harness.splitters.windows import Windows
from harness.tokenizers import Ruler


def made_of(spans, text, size, overlap, unit="characters", nested=False):
    made = lawful(spans, Document("d", text), size, overlap, Ruler(one(text), unit), nested)
    return [tuple(pair) for pair in made.tolist()]


@st.composite
def cut(draw):
    """A text with spans anywhere in it, in any order."""
    text = draw(awkward_text)
    offset = st.integers(0, len(text))
    pairs = draw(st.lists(st.tuples(offset, offset), max_size=12))
    size = draw(st.integers(1, 40))
    return [(a, b) for a, b in pairs if a < b], text, size, draw(st.integers(0, size - 1))


@pytest.mark.parametrize("unit", ["characters", "words", "cl100k_base"])
@pytest.mark.parametrize("nested", [False, True])
@given(how=cut())
@law
def test_any_spans_become_lawful_ones(unit, nested, how):
    _, text, size, overlap = how
    document, ruler = Document("d", text), Ruler(one(text), unit)
    made = lawful(*how[:1], document, size, overlap, ruler, nested)
    pairs = [tuple(pair) for pair in made.tolist()]
    assert {i for i, c in enumerate(text) if not c.isspace()} <= {i for start, end in pairs for i in range(start, end)}
    assert pairs == sorted(set(pairs))
    for (a, b), (c, d) in pairwise(pairs):
        assert (a <= c and b <= d) if nested else (a < c and b < d)
    units = ruler.units(document).tolist()
    for start, end in pairs:
        touched = [(s, e) for s, e in units if s < end and e > start]
        assert len(touched) <= size or all(s < e2 and e > s2 for (s, e), (s2, e2) in pairwise(touched))
    for (_, end), (start, _) in pairwise(pairs):
        assert start >= end or (overlap and len([1 for s, e in units if s < end and e > start]) <= overlap)


@pytest.mark.parametrize("unit", ["characters", "words", "cl100k_base"])
@given(text=awkward_text, size=st.integers(1, 40), share=st.floats(0, 0.99))
@law
def test_lawful_spans_stay_as_they_are(unit, text, size, share):
    overlap = int(share * size)
    ruler = Ruler(one(text), unit)
    cut = [tuple(s) for s in Windows("words", atoms="words").split(Document("d", text), size, overlap, ruler).tolist()]
    assert made_of(cut, text, size, overlap, unit) == cut


def test_a_span_above_the_size_is_cut_and_white_space_alone_is_none():
    assert made_of([(0, 3), (3, 5), (5, 17)], "one  two three 4", 6, 0) == [(0, 3), (5, 11), (11, 16)]


def test_what_lies_inside_its_neighbour_is_left_out_unless_that_is_allowed():
    text = "one two three"
    assert made_of([(0, 3), (0, 7), (4, 7), (8, 13)], text, 9, 4) == [(0, 7), (8, 13)]
    assert made_of([(0, 3), (0, 7), (4, 7), (4, 7), (8, 13)], text, 9, 4, nested=True) == [(0, 3), (0, 7), (4, 7), (8, 13)]


def test_an_overlap_beyond_the_limit_is_shortened_up_to_the_next_visible_character():
    assert made_of([(0, 7), (2, 13)], "one two three", 11, 4) == [(0, 7), (4, 13)]


def test_visible_text_between_spans_goes_to_the_one_before_it_or_is_one_of_its_own():
    assert made_of([(0, 3), (6, 9)], "one . two", 6, 0) == [(0, 5), (6, 9)]
    assert made_of([(0, 3), (6, 9)], "one . two", 4, 0) == [(0, 3), (4, 5), (6, 9)]
    assert made_of([(4, 5)], "one . two", 4, 0) == [(0, 3), (4, 5), (6, 9)]
    assert made_of([], "one", 4, 0) == [(0, 3)]
