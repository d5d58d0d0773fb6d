"""Evidence is found under a normalisation and kept as the original's slice, or it is not found; never a wrong place."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from making import awkward_text, law

from harness.locate import FEW, agrees, at, find, fold, nearest_text, normalised, occurrences, other_count, repeated
from harness.records import Document, Place, Span
from harness.text import characters


@pytest.mark.parametrize(
    ("text", "evidence", "found"),
    [
        ("Within 12\n  MINUTES of its start", "within 12 minutes", "Within 12\n  MINUTES"),
        ("die Straße entlang", "STRASSE", "Straße"),
        ("the ﬁnal word", "final", "ﬁnal"),
        ("a\r\nb", "a b", "a\r\nb"),
        ("le cafe\u0301 noir", "café", "cafe\u0301"),
        ("le café noir", "cafe\u0301 noir", "café noir"),
        ("“Don’t,” he said", '"don\'t," he', "“Don’t,” he"),
        ("„Nein“, sagte sie", '"Nein"', "„Nein“"),
        ("pages 5–10, or −3", "5-10, or -3", "5–10, or −3"),
        ("12\u00a0km\u2009/\u202fh", "12 km / h", "12\u00a0km\u2009/\u202fh"),
        ("Donau\u00addampf\u00adschiff", "Donaudampfschiff", "Donau\u00addampf\u00adschiff"),
        ("wait… what", "wait... what", "wait… what"),
        ("\u1112\u1161\u11ab\u1100\u116e\u11a8 a", "한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8"),
        ("نصّ\u200f عربي", "نصّ عربي", "نصّ\u200f عربي"),
        ("a \U0001f469\u200d\U0001f4bb  codes", "\U0001f469\u200d\U0001f4bb codes", "\U0001f469\u200d\U0001f4bb  codes"),
    ],
)
def test_evidence_is_found_under_the_normalisation_at_its_original_offsets(text, evidence, found):
    (span,) = occurrences(Document("d", text), evidence)
    assert text[span.start : span.end] == found


def test_evidence_that_stands_verbatim_is_not_sought_in_another_case():
    assert occurrences(Document("d", "Gate gate GATE"), "gate") == [Span(5, 9)]


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("große", "s"),
        ("groß e", "S E"),
        ("o\ufb01 X", "I x"),
        ("abc", "d"),
        ("", "a"),
        ("a", ""),
        ("a", "\u00ad"),
        ("cafe\u0301", "cafe"),
        ("한국어", "\u1112\u1161"),
        ("\u1112\u1161\u11ab", "하"),
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469"),
        ("10²", "102"),
        ("…", "."),
    ],
)
def test_half_of_a_character_and_what_only_looks_alike_is_no_evidence(text, evidence):
    assert occurrences(Document("d", text), evidence) == []


def respelt(draw, text):
    """The same text as people and programs spell it otherwise."""
    text = unicodedata.normalize(draw(st.sampled_from(["NFC", "NFD"])), text)
    if draw(st.booleans()):
        text = text.replace("'", "’").replace('"', "“").replace("-", "–")
    if draw(st.booleans()):
        text = " ".join(text.split())
    return text.casefold() if draw(st.booleans()) else text


@given(text=st.one_of(awkward_text, st.text(max_size=60)), data=st.data())
@law
def test_whatever_is_found_is_the_evidence_and_a_respelt_slice_is_found_where_it_stands(text, data):
    visible = [(a, b) for a, b in characters(text).tolist() if normalised(text[a:b])]
    assume(visible)
    (start, _), (_, end) = sorted((data.draw(st.sampled_from(visible)), data.draw(st.sampled_from(visible))))
    assume(normalised(text[start:end]))
    evidence = respelt(data.draw, text[start:end])
    found = occurrences(Document("d", text), evidence)
    borders = {0, *(b for _, b in characters(text).tolist())}
    for span in found:
        assert normalised(text[span.start : span.end]) == normalised(evidence)
        assert span.start in borders and span.end in borders, "it cuts no character"
    exact = [s for s in found if text[s.start : s.end] == evidence]
    # Spelt like the text it may stand elsewhere verbatim, and those places alone count.
    if normalised(evidence) == normalised(text[start:end]) and not exact:
        assert any((s.start >= start and s.end <= end) or s == Span(start, end) for s in found)


@given(text=st.one_of(awkward_text, st.text(max_size=60)))
@law
def test_pieces_of_a_folded_text_map_back_to_the_original_in_order(text):
    folded = fold(text)
    spans = [folded.original(i, i + 1) for i in range(len(folded.text))]
    known = [s for s in spans if s]
    assert all(a.start <= b.start and a.end <= b.end for a, b in pairwise(known))
    assert all(s.end <= len(text) for s in known)
    assert normalised(folded.text) == folded.text.strip()


@given(texts=st.lists(awkward_text, min_size=1, max_size=3), data=st.data())
@law
def test_many_texts_are_found_at_once_where_each_alone_is(texts, data):
    documents = [Document(f"d{i}", t) for i, t in enumerate(texts)]
    wanted = [data.draw(st.text(alphabet="aew \n漢e\u0301.", max_size=4)) for _ in range(3)]
    together = find([(w, documents) for w in wanted])
    for text, places in zip(wanted, together, strict=True):
        verbatim = [Place(d.document_id, s) for d in documents for s in occurrences(d, text) if d.text[s.start : s.end] == text]
        alone = [Place(d.document_id, s) for d in documents for s in occurrences(d, text)]
        assert places == (verbatim or alone)


@given(
    texts=st.lists(st.text("ab é\u0301\U0001f469", max_size=60), min_size=1, max_size=3),
    evidence=st.lists(st.text("ab é\u0301\U0001f469", max_size=16), min_size=FEW + 1, max_size=3 * FEW),
)
@law
def test_very_many_texts_are_found_in_one_pass_where_each_alone_is(texts, evidence):
    documents = [Document(str(i), text) for i, text in enumerate(texts)]
    together = find([(text, documents) for text in evidence])
    assert together == [places for text in evidence for places in find([(text, documents)])]
    assert repeated([(text, documents[0]) for text in evidence]) == [
        texts[0].count(text) > 1 if text else False for text in evidence
    ]


def test_a_text_behind_the_end_of_a_block_of_a_long_document_is_found_once(monkeypatch):
    monkeypatch.setattr("harness.locate.BLOCK", 16)
    text = "".join(f"sentence {i} of many. " for i in range(40))
    evidence = [f"sentence {i} of" for i in range(40)]
    found = find([(e, (Document("d", text),)) for e in evidence])
    assert [[p.span.start for p in places] for places in found] == [[text.index(e)] for e in evidence]


def test_a_combining_mark_belongs_to_the_blank_before_it():
    for text in ("a  \u0301b", "é  \u0301b", "é \u0301 \u0301b"):
        borders = {0, *(b for _, b in characters(text).tolist())}
        for sought in ("\u0301b", "\u0301", " \u0301b"):
            assert all(s.start in borders for s in occurrences(Document("d", text), sought))


@pytest.mark.parametrize(
    ("text", "quote", "start", "found"),
    [
        ("x ab\r\nc d", "ab\nc", 2, "ab\r\nc"),
        ("x a\u00adbc d", "abc", 2, "a\u00adbc"),
        ("x e\u0301t d", "ét", 2, "e\u0301t"),
        ("x a   b d", "a b", 2, "a   b"),
        ("x a b d", "a b", 2, "a b"),
        ("x a b d", "a b", 0, None),
        ("x a b d", "a b", -5, None),
        ("x a b d", "a b", 99, None),
        ("x straße d", "stras", 2, None),
        ("x e\u0301", "e\u00ad\u0301", 3, None),
        ("\u00ad d", "\u00ad\u00ad", 0, None),
    ],
)
def test_a_text_at_an_offset_goes_as_far_as_the_stored_text_does(text, quote, start, found):
    span = at(Document("d", text), quote, start)
    assert (text[span.start : span.end] if span else None) == found


def test_an_offset_agrees_with_what_stands_there_up_to_the_normalisation():
    document = Document("d", "Say “yes” now")
    assert agrees(document, "“yes”", Span(4, 9))
    assert agrees(document, '"yes"', Span(4, 9))
    assert not agrees(document, "yes", Span(4, 9))


@pytest.mark.parametrize(
    ("text", "quote", "start", "way"),
    [
        ("\U0001f469\U0001f469 then here", "here", 10, "UTF-16 units"),
        ("ééé then here", "here", 12, "bytes"),
        ("one\r\ntwo\r\nhere", "here", 8, "lines that end in one character"),
        ("plain here", "here", 3, ""),
    ],
)
def test_another_way_of_counting_is_recognised(text, quote, start, way):
    assert other_count(Document("d", text), quote, start) == way


def test_the_nearest_text_is_given_in_whole_words():
    near = nearest_text([Document("d", "The gate shuts at ten every night.")], "the gate closes at ten")
    assert near.startswith("'The gate shuts at ten") and near.endswith("in document 'd'")


def test_nothing_alike_has_no_nearest_text():
    assert nearest_text([Document("d", "zzzz")], "a question of quite other letters") == ""
