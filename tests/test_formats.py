"""Files are read as they are, refused with their place, and the holdout stays sealed."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import replace

import pytest

from harness import formats
from harness.errors import HarnessError, Refused
from harness.formats import DataSource, SealedHoldout
from harness.records import Claim, questions_sha256

SECTIONS = (
    "document_id,section_id,heading,text\nb,B1,Late,The gate shuts at ten.\na,A1,Gate,Meet at the gate.\na,A2,,No heading here.\n"
)
QUESTIONS = (
    "question_id,question,expected_section,split,evidence_span\n"
    "Q1,Where do we meet?,A1,dev,at the gate\n"
    "Q2,When does it shut?,B1,test,at ten\n"
    "Q3,Who has the secret key?,,holdout,\n"
)


@pytest.fixture
def write(tmp_path):
    """Write a corpus and questions, as text or bytes, and say where they are."""

    def write(sections=SECTIONS, questions=QUESTIONS, encoding="utf-8"):
        for name, content in (("sections.csv", sections), ("questions.csv", questions)):
            (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return DataSource("handbook", tmp_path / "sections.csv", tmp_path / "questions.csv", encoding)

    return write


def faults_of(source):
    with pytest.raises(HarnessError) as caught:
        formats.load(source).sound()
    return caught.value.faults


def test_a_document_is_its_sections_in_file_order_with_headings_joined_by_a_blank_line(write):
    corpus = write().read_corpus()
    assert [(d.document_id, d.text) for d in corpus.documents] == [
        ("a", "Gate. Meet at the gate.\n\nNo heading here."),
        ("b", "Late. The gate shuts at ten."),
    ]
    (gate, rest), (late,) = (d.sections for d in corpus.documents)
    assert [corpus["a"].text[s.span.start : s.span.end] for s in (gate, rest)] == ["Gate. Meet at the gate.", "No heading here."]
    assert (late.section_id, late.heading) == ("B1", "Late")


def test_dev_questions_are_read_and_test_counts_as_holdout(write):
    labelled = formats.load(write()).sound()
    assert [q.question_id for q in labelled.dev] == ["Q1"]
    assert (labelled.holdout.answerable, labelled.holdout.unanswerable) == (1, 1)


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.rstrip("\n").encode(),
    ],
    ids=["byte-order mark", "CRLF", "no last line break"],
)
def test_other_ways_to_write_the_same_table_read_the_same(write, rewrite):
    plain = formats.load(write())
    other = formats.load(write(rewrite(SECTIONS), rewrite(QUESTIONS)))
    assert (other.corpus.sha256, other.dev, other.holdout.sha256) == (plain.corpus.sha256, plain.dev, plain.holdout.sha256)


def test_columns_may_stand_in_any_order_and_line_breaks_within_cells_are_text(write):
    corpus = write('text,heading,section_id,document_id\n"one\r\ntwo",H,S,d\n').read_corpus()
    assert corpus["d"].text == "H. one\r\ntwo"


def test_a_byte_of_another_encoding_is_named_with_its_offset(write):
    bad = SECTIONS.encode().replace(b"Late", b"Caf\xe9")
    (fault,) = faults_of(write(bad))
    assert fault.where.endswith(f"sections.csv byte {bad.index(0xE9)}")
    assert fault.what == "0xe9 is not utf-8"
    assert "[data] encoding" in fault.fix


def test_a_named_encoding_is_used_and_an_unknown_one_refused(write):
    latin = SECTIONS.replace("Late", "Café").encode("cp1252")
    assert "Café" in write(latin, encoding="cp1252").read_corpus()["b"].text
    (fault,) = faults_of(write(encoding="utf-9"))
    assert (fault.where, fault.what) == ("[data] encoding", "unknown encoding 'utf-9'")


def refused(source):
    """The faults of a corpus; none when it can be read."""
    try:
        source.read_corpus()
    except HarnessError as error:
        return error.faults
    return ()


@pytest.mark.parametrize("encoding", ["undefined", "punycode", "idna", "hex", "rot13", "utf\0-8", "", "unicode_escape", "\ud800"])
@pytest.mark.parametrize("data", [b"\xff", SECTIONS.encode(), rb"\ud800"], ids=["0xff", "table", "surrogate"])
def test_no_encoding_makes_a_traceback(write, encoding, data):
    assert all(f.where and f.what and f.fix for f in refused(write(data, encoding=encoding)))


def test_a_column_that_stands_twice_is_named(write):
    (fault,) = faults_of(write("document_id,section_id,heading,text,text\nd,S,,alpha,beta\n"))
    assert fault.where.endswith("sections.csv line 1")
    assert fault.what == "column 'text' stands twice"


def test_a_path_with_a_nul_is_refused(write, tmp_path):
    (fault,) = faults_of(replace(write(), corpus=tmp_path / "a\0b"))
    assert "can't be read" in fault.what


def test_every_missing_column_is_named(write):
    faults = faults_of(write(questions="question_id,question,split\n"))
    assert [f.what for f in faults] == [
        "column 'expected_section' is missing (columns: question_id, question, split)",
        "column 'evidence_span' is missing (columns: question_id, question, split)",
    ]
    assert all(f.where.endswith("questions.csv line 1") for f in faults)


@pytest.mark.parametrize(
    ("row", "cells"),
    [("a,A3,Torn,half, a row\n", 5), ("a,A3\n", 2)],
    ids=["long", "short"],
)
def test_a_torn_row_is_named_with_its_line(write, row, cells):
    (fault,) = faults_of(write(SECTIONS + row))
    assert fault.where.endswith("sections.csv line 5")
    assert fault.what == f"{cells} cells where the header names 4"


@pytest.mark.parametrize("row", ['a,A3,"never closed\n', 'a,A3,"half" quoted,text\n'])
def test_a_quote_that_is_out_of_place_is_named_with_its_line(write, row):
    (fault,) = faults_of(write(SECTIONS + row))
    assert fault.where.endswith("sections.csv line 5")
    assert fault.what.startswith("not CSV")


def test_blank_lines_and_cells_of_several_lines_do_not_shift_the_line_of_a_fault(write):
    sections = 'document_id,section_id,heading,text\n\na,A1,Open,"Two\n\nparagraphs\n"\n\na,A2\n'
    (fault,) = faults_of(write(sections))
    assert fault.where.endswith("sections.csv line 8")


@pytest.mark.parametrize("sections", ["document_id,section_id,heading,text\n", "document_id,section_id,heading,text\nd,S,,\n"])
def test_an_empty_corpus_is_refused(write, sections):
    (fault,) = faults_of(write(sections))
    assert fault.what == "the corpus is empty"


def test_an_empty_file_is_told_its_columns(write):
    (fault,) = faults_of(write(""))
    assert fault.what == "the file is empty"
    assert "document_id, section_id, heading, text" in fault.fix


@pytest.mark.parametrize(("separator", "word"), [(";", "semicolons"), ("\t", "tabs")])
def test_another_separator_is_named(write, separator, word):
    (fault,) = faults_of(write(SECTIONS.replace(",", separator)))
    assert fault.what == f"the cells are separated by {word}"


def test_every_faulty_section_is_named(write):
    faults = faults_of(write(SECTIONS + "a,A1,Again,text\n,X,No document,text\n"))
    assert [f.what for f in faults] == ["section 'A1' of document 'a' stands twice", "document_id or section_id is empty"]


@pytest.mark.parametrize("key", ["corpus", "questions"])
def test_a_missing_file_is_refused_with_its_path(write, tmp_path, key):
    (fault,) = faults_of(replace(write(), **{key: tmp_path / "nowhere.csv"}))
    assert (fault.where, fault.what) == (str(tmp_path / "nowhere.csv"), "no such file")


def test_a_section_may_be_longer_than_the_csv_modules_default(write):
    corpus = write(f"document_id,section_id,heading,text\nd,S,,{'word ' * 40_000}\n").read_corpus()
    assert len(corpus["d"].text) == 199_999


def test_evidence_that_is_a_list_of_anything_else_is_named_with_its_line(write):
    (fault,) = faults_of(write(questions=QUESTIONS + "Q4,Which?,,dev,[1]\n"))
    assert fault.where.endswith("questions.csv line 5")
    assert fault.what.startswith("evidence is no list of texts")


def test_every_wrong_cell_of_a_row_is_a_fault_of_its_own(write):
    header, *rows = QUESTIONS.splitlines()
    questions = "\n".join(
        [f"{header},date,reviewed", *(f"{row},2026-03-01,yes" for row in rows), "Q4,Which?,,dev,[1],1.3.26,so so"]
    )
    faults = faults_of(write(questions=questions))
    assert [f.what.split(",")[0] for f in faults] == [
        "evidence is no list of texts",
        "the date is '1.3.26'",
        "reviewed is 'so so'",
    ]
    assert all(f.where.endswith("questions.csv line 5") for f in faults)


def test_label_faults_are_returned_and_raised_all_together(write):
    labelled = formats.load(write(questions=QUESTIONS + "Q1,,A1,never,at the gate\nQ5,Lost?,Z9,dev,at ten\n"))
    assert len(labelled.faults) == 5
    with pytest.raises(HarnessError) as caught:
        labelled.sound()
    assert caught.value.faults == labelled.faults


SECRETS = ("When does it shut", "secret key", "at ten", "Q2", "Q3")


def test_a_sealed_holdout_shows_counts_and_a_digest_and_holds_no_question(write):
    sealed = formats.load(write()).holdout
    shown = repr(sealed) + str(vars(sealed)) + pickle.dumps(sealed).decode("latin-1")
    assert not any(secret in shown for secret in SECRETS)
    assert (sealed.answerable, sealed.unanswerable, len(sealed.sha256)) == (1, 1, 64)


def a_claim(digest: str) -> Claim:
    return Claim(digest, "lock", "experiment", "2026-01-01T00:00:00+00:00", "someone", "somewhere", "folder", ())


def test_the_holder_of_a_claim_on_exactly_these_questions_gets_them(write):
    labelled = formats.load(write())
    opened = labelled.holdout.unseal(a_claim(labelled.holdout.sha256), labelled.corpus)
    assert [q.question_id for q in opened] == ["Q2", "Q3"]
    assert questions_sha256(opened) == labelled.holdout.sha256


def test_a_claim_on_another_holdout_opens_nothing(write):
    labelled = formats.load(write())
    with pytest.raises(Refused, match="the claim is for holdout ffffffffffff"):
        labelled.holdout.unseal(a_claim("f" * 64), labelled.corpus)


def test_a_holdout_that_changed_since_it_was_sealed_stays_closed(write):
    labelled = formats.load(write())
    write(questions=QUESTIONS.replace("When does it shut?", "When does it open?"))
    with pytest.raises(Refused, match="the holdout changed while it was being opened"):
        labelled.holdout.unseal(a_claim(labelled.holdout.sha256), labelled.corpus)


def test_without_holdout_questions_the_digest_is_none(write):
    sealed = formats.load(write(questions="\n".join(QUESTIONS.splitlines()[:2]))).holdout
    assert isinstance(sealed, SealedHoldout)
    assert (sealed.answerable, sealed.unanswerable, sealed.sha256) == (0, 0, "none")


def test_the_shipped_handbook_has_40_and_24_answerable_14_and_12_unanswerable_questions(repository):
    home = repository / "data" / "handbook"
    labelled = formats.load(DataSource("handbook", home / "sections.csv", home / "questions.csv")).sound()
    dev, holdout = labelled.dev, labelled.holdout
    assert (len(labelled.answerable), holdout.answerable) == (40, 24)
    assert (len(dev) - len(labelled.answerable), holdout.unanswerable) == (14, 12)


def test_the_shipped_data_are_those_of_their_checksums(repository):
    home = repository / "data" / "handbook"
    listed = [line.split() for line in (home / "SHA256SUMS").read_text("utf-8").splitlines()]
    assert sorted(name for _, name in listed) == ["questions.csv", "sections.csv"]
    for digest, name in listed:
        assert hashlib.sha256((home / name).read_bytes()).hexdigest() == digest


def test_what_can_t_be_read_of_some_rows_is_told_together_with_what_is_wrong_about_the_others(write):
    rows = "Q4,Torn?,A1\nQ5,When?,,dev,[[]]\nQ6,Lost?,Z9,dev,at ten\nQ7,Torn too?,A1,dev\n"
    assert [(f.where.rpartition(" ")[2], f.what.split("(")[0].strip()) for f in faults_of(write(questions=QUESTIONS + rows))] == [
        ("6", "evidence has an empty list of texts"),
        ("5", "3 cells where the header names 5"),
        ("8", "4 cells where the header names 5"),
        ("7", "unknown section 'Z9'"),
    ]
