"""Evidence is located once and in the original; everything doubtful about labels is said, all at once."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from making import awkward_text, law, one

from harness.formats.cells import parse_evidence
from harness.label_checks import ENOUGH_DEV, Subject, check_faults, check_warnings
from harness.labels import Quote, RawQuestion, label
from harness.locate import nearest_text, normalised, occurrences
from harness.records import Corpus, Document, Section, Span


def quotes(evidence):
    """Texts to quotes, alternative by alternative."""
    return tuple(tuple(Quote(q) if isinstance(q, str) else q for q in a) for a in evidence)


def raw(question_id="Q1", text="Where?", split="dev", evidence=(("the gate",),), section="", document="", **more):
    return RawQuestion(f"q.csv line {question_id}", question_id, text, split, section, document, quotes(evidence), **more)


def faults_of(questions, corpus):
    return check_faults(Subject(label(questions, corpus), corpus))


def warnings_of(questions, corpus):
    return check_warnings(Subject(label(questions, corpus), corpus))


GUIDE = Document(
    "guide",
    "Gate. Meet at the gate. Late. The gate shuts at ten.",
    (Section("A", "Gate", Span(0, 23)), Section("B", "Late", Span(24, 52))),
)
RULES = Document("rules", "Keys. Hand them in.", (Section("A", "Keys", Span(0, 19)), Section("C", "More", Span(6, 19))))
CORPUS = Corpus((GUIDE, RULES))


@pytest.mark.parametrize(
    ("cell", "alternatives"),
    [
        ("", ()),
        ("  ", ()),
        (" a text ", (("a text",),)),
        ('["one", "other"]', (("one",), ("other",))),
        ('[["both", "of these"], "or this"]', (("both", "of these"), ("or this",))),
        ("[sic] a text", (("[sic] a text",),)),
        ('[" spaced "]', (("spaced",),)),
    ],
)
def test_an_evidence_cell_is_a_text_or_alternatives_with_all_of_lists(cell, alternatives):
    assert parse_evidence(cell) == quotes(alternatives)


@pytest.mark.parametrize("cell", ["[]", "[[]]", '[""]', "[1]", '["a", null]', '[["a", " "]]', '[{"a": 1}]'])
def test_a_json_list_of_anything_but_texts_is_refused(cell):
    with pytest.raises(ValueError, match="evidence"):
        parse_evidence(cell)


@pytest.mark.parametrize(
    ("text", "evidence", "found"),
    [
        ("Within 12\n  MINUTES of its start", "within 12 minutes", "Within 12\n  MINUTES"),
        ("die Straße entlang", "STRASSE", "Straße"),
        ("the ﬁnal word", "final", "ﬁnal"),
        ("a\r\nb", "a b", "a\r\nb"),
    ],
)
def test_evidence_is_found_up_to_case_and_white_space_at_its_original_offsets(text, evidence, found):
    (span,) = occurrences(Document("d", text), evidence)
    assert text[span.start : span.end] == found


def test_evidence_that_stands_verbatim_is_not_sought_in_another_case():
    assert occurrences(Document("d", "Gate gate GATE"), "gate") == [Span(5, 9)]


@pytest.mark.parametrize(("text", "evidence"), [("große", "s"), ("groß e", "S E"), ("o\ufb01 X", "I x"), ("abc", "d"), ("", "a")])
def test_half_of_a_folded_character_is_no_evidence(text, evidence):
    assert occurrences(Document("d", text), evidence) == []


@given(text=awkward_text, data=st.data())
@law
def test_a_found_slice_folds_to_what_was_sought_and_a_slice_of_the_text_is_found(text, data):
    visible = [i for i, c in enumerate(text) if not c.isspace()]
    assume(visible)
    start, end = sorted((data.draw(st.sampled_from(visible)), data.draw(st.sampled_from(visible))))
    evidence = " \n ".join(text[start : end + 1].split()).upper()
    needle = normalised(evidence)
    assume(needle == normalised(text[start : end + 1]))  # upper case of some letters folds to others
    found = occurrences(Document("d", text), evidence)
    assert all(normalised(text[s.start : s.end]) == needle for s in found)
    assert Span(start, end + 1) in found or any(text[s.start : s.end] == evidence for s in found)


def test_repeated_evidence_in_the_expected_section_is_that_section_alone():
    labelling = label([raw(section="B", document="guide", evidence=(("gate",),))], CORPUS)
    ((_, question),) = labelling.questions
    assert [p.span for p in question.evidence.places()] == [Span(34, 38)]
    assert not any("stands" in w.what for w in labelling.warnings)


def test_repeated_evidence_without_a_section_counts_everywhere_with_a_warning():
    labelling = label([raw(evidence=(("gate",),))], CORPUS)
    ((_, question),) = labelling.questions
    assert [a[0].span for a in question.evidence.alternatives] == [Span(18, 22), Span(34, 38)]
    (warning,) = [w for w in labelling.warnings if w.where.startswith("q.csv")]
    assert warning.what == "the evidence of 'Q1' stands 2 times; each counts"


def test_alternatives_and_all_of_sets_are_located_in_one_document_or_several():
    evidence = (("Meet at", "shuts at ten"), ("Hand them in",))
    ((_, question),) = label([raw(evidence=evidence)], CORPUS).questions
    placed = [[(p.document_id, p.span.start) for p in a] for a in question.evidence.alternatives]
    assert placed == [[("guide", 6), ("guide", 39)], [("rules", 6)]]


ECHO = one("alpha beta. gamma. alpha beta. delta. alpha beta.")


def starts(question):
    return [[p.span.start for p in a] for a in question.evidence.alternatives]


def test_an_all_of_text_that_stands_several_times_may_be_any_of_them():
    ((_, question),) = label([raw(evidence=(("alpha beta", "delta"),))], ECHO).questions
    assert starts(question) == [[0, 31], [19, 31], [38, 31]]


def test_an_all_of_text_in_the_expected_section_is_that_one_alone():
    ((_, question),) = label([raw(section="B", document="guide", evidence=(("gate", "at ten"),))], CORPUS).questions
    assert starts(question) == [[34, 45]]


def test_a_text_named_twice_in_one_all_of_list_needs_two_places():
    ((_, question),) = label([raw(evidence=(("alpha beta", "alpha beta"),))], ECHO).questions
    assert starts(question) == [[0, 19], [0, 38], [19, 38]]
    fault = label([raw(evidence=(("gamma", "Gamma"),))], ECHO).faults[0]
    assert fault.what == "the all-of list 'gamma', 'Gamma' asks for the same place more than once"


def test_an_all_of_list_of_too_many_places_is_asked_for_longer_quotes():
    corpus = one("a b " * 9)
    fault = label([raw(evidence=(("a", "b"),))], corpus).faults[0]
    assert fault.what == "the 2 texts of an all-of list stand in 81 combinations of places"
    assert fault.fix == "quote more of each, so that at most 64 are left"


def test_the_same_question_twice_in_one_split_is_a_fault_that_names_both():
    questions = [raw("Q1"), raw("Q2", " where? "), raw("Q3", "When?", "holdout"), raw("Q4", "WHEN?", "test", ())]
    faults = {f.where: f.what for f in faults_of(questions, CORPUS)}
    assert faults == {
        "q.csv line Q2": "dev question 'Q2' is the same as 'Q1'",
        "q.csv line Q4": "holdout question 'Q4' is the same as 'Q3'",
    }


@pytest.mark.parametrize("cell", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '["\\ud800"]'])
def test_json_that_no_text_can_come_of_is_refused(cell):
    with pytest.raises(ValueError, match=r"nested too deeply|half of a surrogate pair"):
        parse_evidence(cell)


def test_evidence_that_is_nowhere_is_shown_with_the_nearest_text():
    (fault,) = [f for f in label([raw(evidence=(("The gate closes at ten",),))], CORPUS).faults if f.where.startswith("q.csv")]
    assert fault.what == "evidence 'The gate closes at ten' is not in any document"
    assert fault.fix.startswith("nearest text: '")
    assert "gate shuts at ten" in fault.fix
    assert "document 'guide'" in fault.fix


def test_evidence_of_another_document_than_expected_is_said_to_stand_there():
    (fault,) = [f for f in label([raw(section="B", evidence=(("Hand them in",),))], CORPUS).faults if f.where.startswith("q.csv")]
    assert fault.what == "evidence 'Hand them in' is not in document 'guide'"
    assert fault.fix == "it stands in document 'rules': correct the expected section"


def test_nothing_alike_has_no_nearest_text():
    assert nearest_text([Document("d", "zzzz")], "a question of quite other letters") == ""


BAD = [
    (raw("Q1"), None),
    (raw("Q1", "Another?"), "question id 'Q1' is used 2 times"),
    (raw("", "No id?"), "question_id is empty"),
    (raw("Q3", "Lost?", section="Z"), "unknown section 'Z'"),
    (raw("Q4", "Which A?", section="A"), "section 'A' exists in several documents (guide, rules)"),
    (raw("Q5", "In what?", document="atlas"), "unknown document 'atlas'"),
    (raw("Q5b", "Not in what?", document="almanac", evidence=()), "unknown document 'almanac'"),
    (raw("Q6", "Which split?", split="train"), "unknown split 'train'"),
    (raw("Q7", " "), "the question is empty"),
    (raw("Q8", "No quote?", evidence=(), section="B"), "section 'B' is expected but there is no evidence"),
    (raw("Q9", "WHERE?", split="holdout"), "holdout question 'Q9' is also the dev question 'Q1'"),
    (raw("Q10", "Not there?", evidence=(("quite absent words",),)), "evidence 'quite absent words' is not in any document"),
]


@pytest.mark.parametrize("what", [what for _, what in BAD if what])
def test_every_fault_of_every_question_is_reported_at_once(what):
    faults = faults_of([question for question, _ in BAD], CORPUS)
    assert what in [f.what for f in faults]
    assert all(f.where and f.fix for f in faults)


def test_the_split_test_is_the_holdout_in_any_case():
    splits = [
        split
        for split, _ in label(
            [raw("Q1", split="test"), raw("Q2", "B?", split=" HoldOut "), raw("Q3", "C?", split="Dev")], CORPUS
        ).questions
    ]
    assert splits == ["holdout", "holdout", "dev"]


def test_an_unanswerable_question_is_kept_without_evidence():
    ((_, question),) = label([raw(evidence=())], CORPUS).questions
    assert not question.answerable


def test_no_answerable_dev_question_is_a_fault_and_few_are_a_warning():
    assert "no answerable dev questions" in [f.what for f in faults_of([raw(evidence=())], CORPUS)]
    few = warnings_of([raw(f"Q{i}", f"Question {i}?") for i in range(10)], CORPUS)
    assert "only 10 answerable dev questions: one moves hit at 1 by 10 points" in [w.what for w in few]
    enough = warnings_of([raw(f"Q{i}", f"Question {i}?") for i in range(ENOUGH_DEV)], CORPUS)
    assert not any("answerable dev questions:" in w.what for w in enough)


def test_missing_kinds_of_questions_are_warnings():
    whats = [w.what for w in warnings_of([raw()], CORPUS)]
    assert "no unanswerable dev questions" in whats
    assert "no answerable holdout questions" in whats


def test_the_section_is_kept_where_it_is_named_and_only_then():
    ((_, named),) = label([raw(section="B")], CORPUS).questions
    ((_, unnamed),) = label([raw(document="guide")], CORPUS).questions
    assert named.expected_section == ("guide", "B")
    assert unnamed.expected_section is None


def test_evidence_across_a_line_break_in_a_document_of_windows_lines_is_found():
    corpus = one("first line\r\nsecond line")
    ((_, question),) = label([raw(evidence=(("line second",),))], corpus).questions
    assert question.evidence.alternatives[0][0].span == Span(6, 18)
