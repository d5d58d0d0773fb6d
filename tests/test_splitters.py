"""Laws that every splitter keeps for every unit, and the fast paths against slow, obvious ones."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import awkward_text, law, one

from harness.errors import HarnessError
from harness.records import Corpus, Document, Point
from harness.splitters import EVERY, SPLITTERS, blocks, chunk, default_unit, resolve
from harness.tokenizers import MODEL_TOKENS, Ruler
from harness.tokenizers.words import words

UNITS = ["words", "characters", "cl100k_base", MODEL_TOKENS]
every_splitter_and_unit = pytest.mark.parametrize(("splitter", "unit"), [(s, u) for s in SPLITTERS for u in UNITS])
sizes = st.integers(1, 40)
shares = st.floats(0, 0.99)


class Cut:
    """A text cut by a splitter, with the ruler that it was cut by."""

    def __init__(self, text, splitter, unit, size, share, model):
        self.document = Document("d", text)
        self.size, self.overlap = size, int(share * size)
        self.ruler = Ruler(one(text), unit, model.tokenizer)
        self.units = self.ruler.units(self.document)
        self.spans = SPLITTERS[splitter].split(self.document, size, self.overlap, self.ruler)
        self.pairs = [tuple(pair) for pair in self.spans.tolist()]

    def touched(self, start, end):
        return [(s, e) for s, e in self.units.tolist() if s < end and e > start]

    def is_kept_whole(self, start, end):
        """Whether a chunk is exactly one table or one piece of code."""
        found = blocks.find(self.document)
        return (start, end, blocks.WHOLE) in zip(found.start, found.end, found.kind, strict=True)


@pytest.fixture(scope="session")
def cut(minilm):
    return lambda *how: Cut(*how, minilm)


def indivisible(units):
    """The units, those that share a character joined."""
    groups = []
    for start, end in units:
        if groups and start < groups[-1][1]:
            groups[-1][1] = max(groups[-1][1], end)
        else:
            groups.append([start, end])
    return groups


@every_splitter_and_unit
@given(text=awkward_text, size=sizes, share=shares)
@law
def test_spans_lie_in_the_document_and_their_starts_and_ends_ascend_strictly(cut, splitter, unit, text, size, share):
    made = cut(text, splitter, unit, size, share)
    assert all(0 <= start < end <= len(text) for start, end in made.pairs)
    steps = np.diff(made.spans, axis=0)
    if SPLITTERS[splitter].nested:
        assert (steps >= 0).all()
        assert len(set(made.pairs)) == len(made.pairs)
    else:
        assert (steps > 0).all()


@every_splitter_and_unit
@given(text=awkward_text, size=sizes, share=shares)
@law
def test_every_visible_character_is_in_some_chunk(cut, splitter, unit, text, size, share):
    made = cut(text, splitter, unit, size, share)
    visible = {i for i, c in enumerate(text) if not c.isspace()}
    assert visible <= {i for start, end in made.pairs for i in range(start, end)}


@every_splitter_and_unit
@given(text=awkward_text, size=sizes, share=shares)
@law
def test_no_chunk_is_above_the_size_unless_its_units_share_characters(cut, splitter, unit, text, size, share):
    made = cut(text, splitter, unit, size, share)
    measured = made.ruler.sizes(made.document, made.spans).tolist()
    for (start, end), units in zip(made.pairs, measured, strict=True):
        assert units == len(made.touched(start, end))
        excepted = SPLITTERS[splitter].oversize and made.is_kept_whole(start, end)
        assert units <= size or excepted or len(indivisible(made.touched(start, end))) == 1


@every_splitter_and_unit
@given(text=awkward_text, size=sizes, share=shares)
@law
def test_neighbours_share_at_most_the_overlap_and_without_overlap_nothing(cut, splitter, unit, text, size, share):
    made = cut(text, splitter, unit, size, share)
    for (_, end), (start, _) in zip(made.pairs, made.pairs[1:], strict=False):
        if start < end:
            assert made.overlap > 0
            assert len(made.touched(start, end)) <= made.overlap


@every_splitter_and_unit
@given(text=awkward_text, size=sizes, share=shares)
@law
def test_the_same_input_gives_the_same_spans(cut, splitter, unit, text, size, share):
    assert cut(text, splitter, unit, size, share).pairs == cut(text, splitter, unit, size, share).pairs


@every_splitter_and_unit
@pytest.mark.parametrize("text", ["", " \r\n\t "])
def test_a_text_without_anything_visible_has_no_words_to_cut(cut, splitter, unit, text):
    made = cut(text, splitter, unit, 5, 0.2)
    assert made.spans.shape[1] == 2
    atoms = SPLITTERS[splitter].atoms
    assert not text or (atoms and made.ruler.offsets(atoms, made.document).size) or made.pairs == []
    assert text or made.pairs == []


@given(text=awkward_text, size=st.integers(1, 6))
@law
def test_tokens_that_share_a_character_are_never_separated(cut, text, size):
    made = cut(text, "tokens", "cl100k_base", size, 0.0)
    for start, end in made.pairs:
        assert all(start <= s and e <= end for s, e in made.touched(start, end))


def test_an_emoji_of_three_tokens_is_a_chunk_of_its_own_however_small_the_size(cut):
    made = cut("a\U0001f9ffb", "tokens", "cl100k_base", 1, 0.0)
    assert made.pairs == [(0, 1), (1, 2), (2, 3)]
    assert made.ruler.sizes(made.document, made.spans).tolist() == [1, 3, 1]


@given(n=st.integers(0, 200), size=sizes, share=shares)
@law
def test_where_atom_is_unit_the_number_of_chunks_is_that_of_the_formula(cut, n, size, share):
    made = cut(" ".join(["w"] * n), "words", "words", size, share)
    formula = ceil(max(n - made.overlap, 0) / (size - made.overlap))
    assert len(made.pairs) == (formula if n > made.overlap else min(n, 1))


@given(text=awkward_text, size=sizes, share=shares)
@law
def test_windows_by_arithmetic_are_those_of_moving_a_window_word_by_word(cut, text, size, share):
    made = cut(text, "words", "words", size, share)
    offsets, start, expected = words(text).tolist(), 0, []
    while start < len(offsets):
        window = offsets[start : start + size]
        expected.append((window[0][0], window[-1][1]))
        if start + size >= len(offsets):
            break
        start += size - made.overlap
    assert made.pairs == expected


@pytest.mark.parametrize("unit", ["characters", "cl100k_base", MODEL_TOKENS])
@given(
    text=st.lists(st.sampled_from(["a", "word", "Ünïcode", "\n\n", "\r\n", "don't", "漢字", "1,234.5"]), max_size=30).map(
        " ".join
    ),
    size=st.integers(12, 40),
    share=shares,
)
@law
def test_measured_windows_take_word_by_word_what_fits_and_step_back_what_overlap_allows(cut, unit, text, size, share):
    made = cut(text, "words", unit, size, share)
    atoms, first, expected = words(text).tolist(), 0, []
    while first < len(atoms):
        last = first
        while last + 1 < len(atoms) and len(made.touched(atoms[first][0], atoms[last + 1][1])) <= size:
            last += 1
        expected.append((atoms[first][0], atoms[last][1]))
        following = last + 1
        if following == len(atoms):
            break
        while (
            following - 1 > first
            and len(made.touched(atoms[following - 1][0], atoms[last][1])) <= made.overlap
            and len(made.touched(atoms[following - 1][0], atoms[last + 1][1])) <= size
        ):
            following -= 1
        first = following
    assert made.pairs == expected


def test_an_overlap_that_leaves_no_room_for_the_next_word_is_shortened(cut):
    text = "aa bb cc ddddddd ee"
    made = cut(text, "words", "characters", 10, 0.5)
    assert [text[s:e] for s, e in made.pairs] == ["aa bb cc", "cc ddddddd", "ee"]


def test_a_word_longer_than_the_size_is_cut_and_its_neighbours_are_not(cut):
    text = "ab " + "x" * 12 + " cd"
    made = cut(text, "words", "characters", 5, 0.0)
    assert [text[s:e] for s, e in made.pairs] == ["ab", "xxxxx", "xxxxx", "xx cd"]


def test_a_window_ends_where_its_last_word_ends_whatever_follows(cut):
    text = "one two\r\n\r\nthree  four"
    assert [text[s:e] for s, e in cut(text, "words", "words", 2, 0.0).pairs] == ["one two", "three  four"]


def test_chunks_of_a_corpus_are_in_order_of_document_then_start_with_sizes_and_ratio():
    corpus = Corpus((Document("a", "one two three"), Document("b", "four five")))
    chunking = chunk(corpus, Point("words", 2, 0.5), Ruler(corpus, "words"))
    assert [(chunking.document_of(c).document_id, chunking.text(c)) for c in range(len(chunking))] == [
        ("a", "one two"),
        ("a", "two three"),
        ("b", "four five"),
    ]
    assert chunking.size.tolist() == [2, 2, 2]
    assert chunking.index_ratio == 6 / 5


def test_an_overlap_as_long_as_the_chunk_is_refused_with_its_numbers():
    corpus = one("one two")
    with pytest.raises(HarnessError, match=r"words 10/10: overlap 10 is not below chunk size 10; lower overlap_ratio"):
        chunk(corpus, Point("words", 10, 0.99), Ruler(corpus, "words"))


def test_a_corpus_of_white_space_is_refused():
    corpus = one(" \n ")
    with pytest.raises(HarnessError, match="no document has any text to cut"):
        chunk(corpus, Point("words", 10, 0.0), Ruler(corpus, "words"))


def test_an_unknown_splitter_lists_those_that_there_are():
    with pytest.raises(
        HarnessError, match=rf"unknown splitter 'token'; did you mean 'tokens'\? Known: {', '.join(sorted(EVERY))}"
    ):
        resolve("token", "here")


@pytest.mark.parametrize(
    ("splitters", "has_model_tokens", "unit"),
    [
        (["words"], True, "words"),
        (["tokens"], True, MODEL_TOKENS),
        (["tokens"], False, "words"),
        (["tokens", "words"], True, "words"),
    ],
)
def test_the_unit_is_the_splitters_own_where_they_agree_else_words(splitters, has_model_tokens, unit):
    assert default_unit(splitters, has_model_tokens) == unit
