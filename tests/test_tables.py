"""Results by groups of questions: by source, by kind of document, by group of documents."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from making import law, scored

from harness.records import Corpus, Document, Evaluation, Evidence, Place, Question, Span
from harness.tables import MOST_DOCUMENTS, breakdowns, by_source


def corpus(*ids):
    return Corpus(tuple(Document(i, "some text") for i in sorted(ids)))


def question(number, *documents, source="", alternatives=False):
    """A question whose evidence needs a place in each document, or in any of them; without documents, an unanswerable one."""
    places = tuple(Place(d, Span(0, 4)) for d in documents)
    evidence = Evidence(tuple((p,) for p in places) if alternatives else (places,)) if places else None
    return Question(f"q{number}", f"Question {number}?", evidence, source=source)


def evaluation(questions, ranks=()):
    """What the questions got, by the rank of each one's answer; None: nowhere, which is what is not given."""
    found = [
        replace(scored(0.5, "positive" if q.answerable else "unanswerable"), question_id=q.question_id, hit_rank=None)
        for q in questions
    ]
    ranked = [replace(s, hit_rank=r) for s, r in zip(found, ranks, strict=False)]
    return Evaluation({}, (*ranked, *found[len(ranked) :]), "c", "s", {"count": 0}, 1, 1, {})


def rows(questions, documents, ranks=(), by="document group"):
    """Rows of one breakdown as plain tuples, with what it leaves out; None where there is no such breakdown."""
    found = {b.by: b for b in breakdowns(evaluation(questions, ranks), questions, documents)}
    if by not in found:
        return None
    return [(r.name, r.hits_at_1, r.hits_at_3, r.answerable) for r in found[by].rows], found[by].left_out


def test_questions_count_in_the_folder_that_their_evidence_lies_in():
    documents = corpus("law/a.md", "law/deep/b.md", "tax/c.md")
    asked = [question(0, "law/a.md"), question(1, "law/deep/b.md"), question(2, "tax/c.md"), question(3)]
    assert rows(asked, documents, [1, 3, 4, None]) == ([("law", 1, 2, 2), ("tax", 0, 0, 1)], 1)


def test_documents_outside_any_folder_are_a_group_of_their_own_named_last():
    asked = [question(0, "a.md"), question(1, "tax/c.md")]
    assert rows(asked, corpus("a.md", "tax/c.md"), [1, 1]) == ([("tax", 1, 1, 1), ("(no folder)", 1, 1, 1)], 0)


def test_without_folders_each_document_is_a_group_as_long_as_they_are_few():
    few = [f"d{n}" for n in range(MOST_DOCUMENTS)]
    asked = [question(0, "d0"), question(1, "d1")]
    assert rows(asked, corpus(*few), [1]) == ([("d0", 1, 1, 1), ("d1", 0, 0, 1)], 0)
    assert rows(asked, corpus(*few, "one more"), [1]) is None


def test_kinds_are_the_suffixes_of_files_and_a_tables_row_has_none():
    documents = corpus("a.md", "b.PDF", "c", "v1.2")
    asked = [question(0, "a.md"), question(1, "b.PDF"), question(2, "c"), question(3, "v1.2")]
    expected = [(".md", 1, 1, 1), (".pdf", 0, 1, 1), ("(no kind)", 1, 1, 2)]
    assert rows(asked, documents, [1, 2, 1], by="document kind") == (expected, 0)


def test_evidence_in_several_groups_is_told_apart_whether_all_or_any_of_it_is_needed():
    documents = corpus("law/a.md", "law/b.md", "tax/c.md")
    asked = [
        question(0, "law/a.md", "law/b.md"),
        question(1, "law/a.md", "tax/c.md"),
        question(2, "law/a.md", "tax/c.md", alternatives=True),
        question(3, "tax/c.md"),
    ]
    expected = [("law", 1, 1, 1), ("tax", 0, 0, 1), ("(several)", 1, 2, 2)]
    assert rows(asked, documents, [1, 1, 2]) == (expected, 0)


def test_a_breakdown_of_one_row_tells_nothing_and_is_left_out():
    asked = [question(0, "law/a.md", source="real"), question(1, "law/b.md", source="real"), question(2, source="real")]
    assert breakdowns(evaluation(asked), asked, corpus("law/a.md", "law/b.md", "tax/c.md")) == ()
    assert by_source(evaluation(asked), asked) == ()
    assert breakdowns(None, asked, corpus("law/a.md", "law/b.md")) == ()


def test_sources_count_unanswerable_questions_too():
    asked = [question(0, "d", source="real"), question(1, "d", source="generated"), question(2, source="real"), question(3)]
    found = by_source(evaluation(asked, [1, 2]), asked)
    assert [(r.name, r.answerable, r.unanswerable, r.hits_at_1, r.hits_at_3) for r in found] == [
        ("generated", 1, 0, 0, 1),
        ("real", 1, 1, 1, 1),
        ("unnamed", 0, 1, 0, 0),
    ]


@given(st.lists(st.tuples(st.sampled_from(["x/a.md", "x/b.pdf", "y/c.md", "d.md", "e"]), st.integers(0, 5)), max_size=12))
@law
def test_every_answerable_question_is_in_one_row_and_no_hit_is_lost(drawn):
    documents = corpus("x/a.md", "x/b.pdf", "y/c.md", "d.md", "e")
    asked = [question(n, document) for n, (document, _) in enumerate(drawn)]
    asked.append(question(len(asked)))
    found = evaluation(asked, [rank or None for _, rank in drawn])
    for b in breakdowns(found, asked, documents):
        assert sum(r.answerable for r in b.rows) == found.answerable
        assert (sum(r.hits_at_1 for r in b.rows), sum(r.hits_at_3 for r in b.rows)) == (found.hits(1), found.hits(3))
        assert all(r.unanswerable is None for r in b.rows)
        assert b.left_out == 1
