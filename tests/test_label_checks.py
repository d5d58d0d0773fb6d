"""What is wrong or doubtful about a question set is said with its number and its ids, once a kind."""

from __future__ import annotations

import pytest
from making import one

from harness.label_checks import Subject, check_faults, check_warnings
from harness.labels import Quote, RawQuestion, label
from harness.records import Corpus, Document, Section, Span

TEXT = (
    "The gate shuts at ten. Visitors sign the book at the desk. A lost key costs twelve pounds.\n\n"
    "Dogs are welcome in the yard. The kiln reaches cone six overnight. Parcels wait on the shelf by the door."
)


def raw(number, text, evidence="", split="dev", **more):
    quoted = ((Quote(evidence),),) if evidence else ()
    return RawQuestion(f"line {number}", f"Q{number}", text, split, evidence=quoted, **more)


def found(check, questions, corpus):
    return [f"{f.where}: {f.what}" for f in check(Subject(label(questions, corpus), corpus))]


def warnings(questions, corpus=None):
    return found(check_warnings, questions, corpus or one(TEXT))


def faults(questions, corpus=None):
    return found(check_faults, questions, corpus or one(TEXT))


SOUND = [raw(1, "Until when may I come in?", "shuts at ten"), raw(2, "Is there parking?")]


def test_sound_questions_have_no_fault_and_only_the_doubts_of_a_small_set():
    assert faults(SOUND) == []
    assert warnings([*SOUND, raw(3, "What if I misplace mine?", "twelve pounds", "holdout")]) == [
        "questions: only 1 answerable dev question: one moves hit at 1 by 100 points",
        "questions: the holdout has 1 answerable and 0 unanswerable questions",
    ]


@pytest.mark.parametrize(
    ("questions", "said"),
    [
        (
            [raw(3, "What does a lost key cost?", "A lost key costs twelve pounds")],
            "questions: 1 of 2 questions (50%) take at least 80% of their content words from their evidence's sentence: Q3",
        ),
        (
            [raw(3, "Where do parcels wait?", "Parcels wait"), raw(4, "Where do the parcels wait", "by the door")],
            "questions: 1 pair of questions of one split is nearly the same: Q3 and Q4",
        ),
        (
            [raw(3, "Where do parcels wait?", "Parcels wait"), raw(4, "Where do the parcels wait", "by the door", "holdout")],
            "questions: 1 pair of a dev and a holdout question is nearly the same: Q3 and Q4",
        ),
        (
            [raw(3, "Closing time?", "gate shuts", "holdout")],
            "questions: 1 pair of a dev and a holdout question shares evidence: Q1 and Q3",
        ),
        (
            [raw(3, "Until when may I come in?", "Dogs are welcome")],
            "questions: 2 dev questions share their wording with another that has other evidence: Q1, Q3",
        ),
        (
            [raw(3, "May I bring a hound?", "Dogs are welcome", reviewed=False)],
            "questions: 1 of 3 questions are not reviewed: Q3",
        ),
    ],
    ids=["copied", "near-duplicate", "near-duplicate across", "shared evidence", "same wording", "unreviewed"],
)
def test_each_doubt_is_one_warning_with_its_ids(questions, said):
    assert said in warnings([*SOUND, *questions])


def test_copied_wording_is_judged_by_content_words_in_any_language():
    chinese = one("博物馆每天上午九点开门。门票价格是十二元。")
    copied = [raw(1, "博物馆每天上午几点开门？", "九点开门"), raw(2, "进去要花多少钱？", "十二元")]
    said = [w for w in warnings(copied, chinese) if "content words" in w]
    assert said == [] or said[0].endswith(": Q1")
    spanish = one("La entrada cuesta doce euros. El museo abre a las nueve.")
    said = [w for w in warnings([raw(1, "¿Cuánto cuesta la entrada?", "doce euros")], spanish) if "content words" in w]
    assert said == []  # two of four words: "cuánto" and "la" are its own


def test_two_questions_that_differ_in_a_number_are_no_near_duplicates():
    text = one("In 2015 the prize went to Ada. In 2016 the prize went to Ben.")
    questions = [raw(1, "Who won the prize in 2015?", "to Ada"), raw(2, "Who won the prize in 2016?", "to Ben")]
    assert not any("nearly the same" in w for w in warnings(questions, text))


def test_one_wording_with_the_same_evidence_or_with_and_without_any_is_a_fault():
    again = [raw(3, "until WHEN may I come in?", "shuts at ten"), raw(4, "Until when may I come in?")]
    assert faults([*SOUND, *again]) == [
        "line 3: dev question 'Q3' is the same as 'Q1'",
        "line 4: dev question 'Q4' is the same as 'Q1'",
    ]


def test_quotes_and_regions_in_one_set_are_a_fault():
    mixed = [*SOUND, RawQuestion("line 3", "Q3", "What of dogs?", "dev", regions=(("d", ""),))]
    (fault,) = faults(mixed)
    assert "which can't be averaged" in fault


def test_evidence_as_long_as_a_section_of_several_sentences_is_a_warning():
    half = TEXT.index("\n\n")
    corpus = Corpus((Document("d", TEXT, (Section("A", "", Span(0, half)), Section("B", "", Span(half + 2, len(TEXT))))),))
    whole = [raw(1, "What are the rules?", TEXT[:half]), raw(2, "What of the yard?", "Dogs are welcome")]
    assert "questions: the evidence of 1 question is as long as its section: Q1" in warnings(whole, corpus)


def test_entries_beside_manuals_are_a_warning():
    documents = tuple(Document(f"d{i}", "A line of text." if i < 8 else TEXT * 20) for i in range(10))
    said = [w for w in warnings([raw(1, "What is it?", "line of text")], Corpus(documents)) if w.startswith("corpus")]
    assert len(said) == 1 and "a tenth has at most 15 characters, a tenth at least" in said[0]


def test_no_warning_quotes_the_text_of_a_holdout_question_or_of_its_evidence():
    held = [
        raw(3, "What does a lost key cost?", "A lost key costs twelve pounds", "holdout", section_id=""),
        raw(4, "Where do parcels wait?", "the", "holdout"),  # stands five times
        raw(5, "Where do the parcels wait", "Parcels wait", "holdout", reviewed=False),
    ]
    said = "\n".join(warnings([*SOUND, *held]))
    assert "Q3" in said and "Q4" in said and "Q5" in said
    assert not any(text in said for text in ("lost key", "parcels", "Parcels", "twelve"))
