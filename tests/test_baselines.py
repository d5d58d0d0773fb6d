"""Baselines are measured and shown; they have no size, and are not chosen unless that is allowed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import awkward_text, law, one

from harness.records import Corpus, Document, Point, Section, Span
from harness.splitters import BASELINES, SPLITTERS, chunk
from harness.splitters.baselines import Conventional, ConventionalOptions
from harness.splitters.prepend import prefix
from harness.tokenizers import Ruler
from harness.tokenizers.words import words

GUIDE = Document(
    "guide",
    "Preface.\n\nGate\nMeet at the gate at ten.\n\nLate\nIt shuts at noon.\n",
    (Section("A", "Gate", Span(10, 39)), Section("B", "Late", Span(41, 63))),
    "The guide",
)


@pytest.mark.parametrize("name", list(BASELINES))
@given(text=awkward_text, borders=st.sets(st.integers(0, 60), max_size=4))
@law
def test_spans_of_a_baseline_are_disjoint_and_cover_every_visible_character(name, text, borders):
    starts = sorted(b for b in borders if b < len(text))
    document = Document("d", text, tuple(Section(str(b), "", Span(b, len(text))) for b in starts))
    spans = BASELINES[name].split(document, 0, 0, Ruler(one(text), "words"))
    assert all(0 <= s < e <= len(text) for s, e in spans.tolist())
    assert (spans[1:, 0] >= spans[:-1, 1]).all()
    covered = {i for s, e in spans.tolist() for i in range(s, e)}
    assert {i for i, c in enumerate(text) if not c.isspace()} <= covered


def cut(point):
    corpus = Corpus((GUIDE,))
    return chunk(corpus, point, Ruler(corpus, "words"))


def test_whole_sections_begin_where_sections_do_and_the_text_before_is_one_too():
    assert [t.split()[0] for t in cut(Point("whole-section", 0, 0.0)).texts()] == ["Preface.", "Gate", "Late"]
    assert len(cut(Point("whole-document", 0, 0.0))) == 1
    assert cut(Point("whole-document", 0, 0.0)).index_ratio == 1.0


def test_a_point_of_a_baseline_has_no_size_to_show_or_to_log():
    point = Point("whole-document", 0, 0.0)
    assert str(point) == "whole-document"
    assert point.as_params() == {"splitter": "whole-document"}
    assert Point.of(point.as_params()) == point


@given(
    st.builds(
        Point,
        st.sampled_from(["words", "tokens"]),
        st.integers(1, 999),
        st.integers(0, 19).map(lambda n: n / 20),
        st.sampled_from([(), ("title",), ("title", "heading")]),
    )
)
@law
def test_a_point_is_the_same_after_its_parameters(point):
    assert Point.of(point.as_params()) == point


def test_title_and_heading_are_embedded_before_a_chunk_and_are_no_part_of_its_span():
    plain, titled = (cut(Point("words", 4, 0.0, parts)) for parts in ((), ("title", "heading")))
    assert np.array_equal(plain.start, titled.start)
    assert [titled.text(c) for c in range(len(titled))] == plain.texts()
    assert titled.texts()[1] == "The guide\nGate\nthe gate at ten."
    assert titled.texts()[0] == "The guide\nPreface.\n\nGate\nMeet at", "a chunk that begins before a heading has not got it"
    assert titled.index_ratio > plain.index_ratio == 1.0
    assert titled.index_ratio == sum(len(t.split()) for t in titled.texts()) / plain.source_units
    assert titled.sha256 != plain.sha256


def test_a_chunk_that_begins_with_its_heading_does_not_get_it_twice():
    assert prefix(GUIDE, 10, ("heading",)) == ""
    assert prefix(GUIDE, 15, ("heading",)) == "Gate\n"
    assert prefix(Document("d", "text"), 0, ("title", "heading")) == ""


def test_units_that_neighbours_share_and_the_size_they_were_to_have_are_kept():
    made = cut(Point("words", 4, 0.5))
    assert made.target == 4
    assert made.shared.tolist() == [0, *[2] * (len(made) - 1)]


@pytest.mark.parametrize(
    ("unit", "limit", "size"),
    [
        ("model-tokens", 254, 254),
        ("model-tokens", None, 500),
        ("cl100k_base", 8192, 500),
        ("words", 254, 190),
        ("words", None, 375),
        ("characters", None, 2000),
        ("characters", 254, 1016),
    ],
)
def test_the_conventional_setting_is_500_tokens_or_what_the_model_reads_in_the_searchs_unit(unit, limit, size):
    options = Conventional().held_by(unit, limit).options
    assert options.size == size
    assert options.overlap == round(0.2 * size)


@pytest.mark.parametrize(
    ("unit", "atoms"), [("words", "words"), ("characters", "characters"), ("cl100k_base", "tokens"), ("model-tokens", "tokens")]
)
def test_the_conventional_setting_cuts_as_windows_of_its_size_do(unit, atoms):
    document = Document("d", " ".join(f"word{i}" for i in range(400)))
    ruler = Ruler(Corpus((document,)), unit, words)
    setting = Conventional().held_by(unit, 60)
    size, overlap = setting.options.size, setting.options.overlap
    cut = setting.split(document, 0, 0, ruler)
    assert len(cut) > 1
    assert cut.tolist() == SPLITTERS[atoms].split(document, size, overlap, ruler).tolist()


@pytest.mark.parametrize(("limit", "size"), [(60, 60), (None, 500)])
def test_a_conventional_setting_that_was_left_open_goes_by_what_the_ruler_says_the_model_reads(limit, size):
    document = Document("d", " ".join(f"word{i}" for i in range(900)))
    ruler = Ruler(Corpus((document,)), "model-tokens", words, limit)
    opened, held = Conventional(), Conventional().held_by("model-tokens", limit)
    assert opened.options == ConventionalOptions()
    assert opened.split(document, 0, 0, ruler).tolist() == held.split(document, 0, 0, ruler).tolist()
    assert held.options.size == size
