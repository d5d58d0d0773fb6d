"""Evidence is located once and in the original; everything doubtful about labels is said, all at once."""

from __future__ import annotations

import pytest
from making import one

from harness.formats.cells import parse_evidence
from harness.label_checks import ENOUGH_DEV, Subject, check_faults, check_warnings
from harness.labels import MOST_EXPLAINED, Quote, Quoted, RawQuestion, label
from harness.records import Corpus, Document, Section, Span
from harness.splits import SplitRule


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


def test_evidence_outside_the_expected_section_is_a_warning_that_quotes_nothing():
    (warning,) = label([raw(section="B", document="guide", evidence=(("Meet at",),))], CORPUS).warnings
    assert warning.what == "the evidence of 'Q1' stands outside the expected section 'B'"
    assert "Meet" not in str(warning)


def test_all_of_evidence_may_stand_in_other_sections_as_long_as_one_is_in_the_expected_one():
    labelling = label([raw(section="B", document="guide", evidence=(("Meet at", "at ten"),))], CORPUS)
    assert (len(labelling.questions), labelling.warnings) == (1, ())


def test_evidence_across_two_sections_is_one_place():
    ((_, question),) = label([raw(document="guide", section="A", evidence=(("gate. Late.",),))], CORPUS).questions
    assert [GUIDE.section_ids(p.span) for p in question.evidence.places()] == [("A", "B")]


def test_the_users_offset_wins_over_other_occurrences_which_are_counted():
    labelling = label([raw(evidence=((Quote("gate", "guide", 34),),))], CORPUS)
    ((_, question),) = labelling.questions
    assert [p.span for p in question.evidence.places()] == [Span(34, 38)]
    assert labelling.warnings == ()
    assert labelling.quoted == Quoted(quotes=1, repeated=1, with_offset=1)


def test_an_offset_that_agrees_up_to_quotes_and_case_is_kept_as_it_is():
    corpus = one("He said “Stop” twice: “stop”.")
    ((_, question),) = label([raw(evidence=((Quote('"stop"', "d", 8),),))], corpus).questions
    assert [p.span for p in question.evidence.places()] == [Span(8, 14)]


@pytest.mark.parametrize(
    ("text", "quote", "what", "fix"),
    [
        (GUIDE.text, Quote("gate", "d", 17), "at [17, 21) of document 'd' stands ' gat', not 'gate'", "it stands at 18, 34: "),
        (
            GUIDE.text,
            Quote("gate", "d", 50),
            "evidence [50, 54) lies outside document 'd' (52 characters)",
            "it stands at 18, 34",
        ),
        (GUIDE.text, Quote("gate", "d", -1), "evidence [-1, 3) lies outside document 'd' (52 characters)", "it stands at 18, 34"),
        (
            "\U0001f469 here",
            Quote("here", "d", 3),
            "evidence [3, 7) lies outside document 'd' (6 characters)",
            "the offsets count UTF-16 units",
        ),
        (
            "a\r\nhere",
            Quote("here", "d", 2),
            "at [2, 6) of document 'd' stands '\\nher', not 'here'",
            "the offsets count lines that end in one",
        ),
        (
            "ten at night",
            Quote("ten of night", "d", 0),
            "at [0, 12) of document 'd'",
            "it stands nowhere in the document; nearest text",
        ),
    ],
)
def test_an_offset_that_disagrees_is_a_fault_with_what_stands_there_and_the_way_out(text, quote, what, fix):
    (fault,) = label([raw(evidence=((quote,),))], one(text)).faults
    assert fault.what.startswith(what)
    assert fault.fix.startswith(fix)


def test_an_offset_without_a_document_is_a_fault_where_there_are_several():
    (fault,) = label([raw(evidence=((Quote("gate", start=18),),))], CORPUS).faults
    assert fault.what == "the offset 18 of 'gate' goes with no document"


def test_a_document_is_known_by_its_name_or_the_end_of_its_path():
    corpus = Corpus((Document("de/intro.md", "das Tor"), Document("en/intro.md", "the gate"), Document("en/rules.md", "no")))
    for name in ("en/intro.md", "en/intro"):
        ((_, question),) = label([raw(document=name)], corpus).questions
        assert [p.document_id for p in question.evidence.places()] == ["en/intro.md"]
    assert corpus.named("rules")[0].document_id == corpus.named("rules.md")[0].document_id == "en/rules.md"
    (fault,) = label([raw(document="intro.md")], corpus).faults
    assert fault.what == "'intro.md' may be any of 2 documents, such as 'de/intro.md' and 'en/intro.md'"


def test_evidence_that_is_nowhere_is_explained_for_the_first_and_asked_to_be_quoted_for_the_rest():
    faults = label([raw(f"Q{i}", f"Where {i}?", evidence=(("Meet near the gate",),)) for i in range(30)], CORPUS).faults
    assert sum("nearest text: 'Meet at the gate." in f.fix for f in faults) == MOST_EXPLAINED
    assert sum("for the first 20 only" in f.fix for f in faults) == 10


def test_a_condition_is_located_like_evidence_and_needs_evidence():
    ((_, question),) = label([raw(document="guide", condition=Quote("The gate shuts"))], CORPUS).questions
    assert [p.span for p in question.condition] == [Span(30, 44)]
    (fault,) = label([raw(evidence=(), condition=Quote("The gate shuts"))], CORPUS).faults
    assert fault.what == "a condition_span goes with evidence, and there is none"


def test_regions_are_documents_or_sections_that_a_chunk_need_only_touch():
    ((_, question),) = label([raw(evidence=(), regions=(("guide", ""), ("rules", "C")))], CORPUS).questions
    assert not question.evidence.whole
    assert [(p.document_id, p.span) for p in question.evidence.places()] == [("guide", Span(0, 52)), ("rules", Span(6, 19))]
    (fault,) = label([raw(evidence=(), regions=(("guide", "Z"),))], CORPUS).faults
    assert fault.what == "unknown section 'Z' of document 'guide'"


def test_source_date_and_review_of_a_question_are_kept():
    ((_, question),) = label([raw(source="real", date="2026-01-31", reviewed=False)], CORPUS).questions
    assert (question.source, question.date, question.reviewed) == ("real", "2026-01-31", False)


def test_questions_without_any_split_need_a_rule():
    (fault,) = label([raw(split=""), raw("Q2", "When?", split="")], CORPUS).faults
    assert fault.what == "no question says whether it is dev or holdout"
    assert "[data] split" in fault.fix
    assert [s for s, _ in label([raw(split="")], CORPUS, SplitRule(holdout=0.0)).questions] == ["dev"]


@pytest.mark.parametrize(
    ("text", "quote", "start", "stands"),
    [("x ab\r\nc d", "ab\nc", 2, "ab\r\nc"), ("a\u00adbc", "abc", 0, "a\u00adbc"), ("e\u0301t", "\u00e9t", 0, "e\u0301t")],
)
def test_an_offset_where_the_text_begins_is_right_however_long_the_stored_text_is(text, quote, start, stands):
    corpus = one(text)
    labelling = label([raw(evidence=((Quote(quote, start=start),),), document="d")], corpus)
    assert labelling.faults == ()
    ((_, question),) = labelling.questions
    ((place,),) = question.evidence.alternatives
    assert text[place.span.start : place.span.end] == stands


def test_no_more_offsets_than_a_reader_looks_at_are_sought_elsewhere():
    corpus = one("Meet at the gate. " + "It shuts at ten. " * 3)
    questions = [raw(f"Q{i}", f"Where is {i}?", evidence=((Quote("the gate", start=1),),)) for i in range(MOST_EXPLAINED + 2)]
    fixes = [f.fix for f in label(questions, corpus).faults]
    assert fixes[:MOST_EXPLAINED] == ["it stands at 8: correct the offset, or leave it out"] * MOST_EXPLAINED
    assert (
        fixes[MOST_EXPLAINED:]
        == [f"correct the offset, or leave it out (the first {MOST_EXPLAINED} are looked for elsewhere)"] * 2
    )


def test_an_unknown_section_is_told_with_the_one_that_was_meant():
    for written, fix in (("Late", "write its id, 'B'"), ("AA", "did you mean 'A'?"), ("Z", "known: A, B")):
        (fault,) = label([raw(section=written, document="guide")], CORPUS).faults
        assert (fault.what, fault.fix) == (f"unknown section '{written}'", fix)


def test_a_quote_of_another_document_and_a_condition_are_called_what_they_are():
    (fault,) = label([raw(document="guide", evidence=(("Hand them in",),))], CORPUS).faults
    assert fault.fix == "it stands in document 'rules': correct the document"
    (fault,) = label([raw(document="guide", condition=Quote("only if the sun shines"))], CORPUS).faults
    assert fault.what == "condition 'only if the sun shines' is not in document 'guide'"
