"""Contexts to read by eye: the same questions every time, evidence and what the chunk lost shown for what they are."""

from __future__ import annotations

from dataclasses import replace

from harness.records import Corpus, Document, Evidence, Passage, Place, Question, QuestionScore, Section, Span
from harness.report_pieces import KEPT, MOST, Marks, Passaged, around, pieces
from harness.report_reading import CHUNKS, QUESTIONS, contexts, drawn

TEXT = "Members only. The gate opens at nine; visitors ring twice. The cat sleeps."


def at(text: str, of: str = TEXT) -> Span:
    start = of.index(text)
    return Span(start, start + len(text))


def passage(span: Span, rank: int = 1) -> Passage:
    return Passage(rank, 0.5, "d", span.start, span.end, 7, ())


def scored(name: str, *passages: Passage, answerable: bool = True) -> QuestionScore:
    return QuestionScore(name, answerable, 1, {}, None, None, None, passages)


def shown(place: Passaged) -> list[tuple[str, str]]:
    return [(p.kind, p.text) for p in place.pieces]


def test_twenty_answerable_questions_are_drawn_and_the_same_ones_for_the_same_seed() -> None:
    scores = [scored(f"q{i:03}", answerable=i % 3 > 0) for i in range(90)]
    first, again, other = drawn(scores, 7), drawn(scores[::-1], 7), drawn(scores, 8)
    assert [s.question_id for s in first] == [s.question_id for s in again]
    assert first != other
    assert len(first) == len({s.question_id for s in first}) == QUESTIONS
    assert all(s.answerable for s in first)


def test_under_another_setting_the_same_questions_are_read() -> None:
    scores = [scored(f"q{i:03}") for i in range(60)]
    missed = [replace(s, hit_rank=None, cause="cut") for s in scores]
    assert [s.question_id for s in drawn(scores, 1)] == [s.question_id for s in drawn(missed, 1)]


def test_of_few_questions_all_are_read() -> None:
    assert len(drawn([scored("a"), scored("b"), scored("c", answerable=False)], 0)) == 2


def test_a_condition_that_the_chunk_lost_is_shown_before_it() -> None:
    corpus = Corpus((Document("d", TEXT),))
    evidence = Evidence(((Place("d", at("The gate opens at nine")),),))
    question = Question("q", "When?", evidence, condition=(Place("d", at("Members only.")),))
    ((context),) = contexts([scored("q", passage(at("The gate opens at nine; visitors")))], [question], corpus, (), True, 0)
    assert shown(context.chunks[0].place) == [
        ("lost", "Members only."),
        ("around", " "),
        ("cut", "the chunk begins here"),
        ("mark", "The gate opens at nine"),
        ("plain", "; visitors"),
        ("cut", "the chunk ends here"),
        ("around", " ring twice. The cat sleeps."),
    ]


def test_a_condition_in_the_chunk_and_evidence_beyond_it_are_told_apart() -> None:
    corpus = Corpus((Document("d", TEXT),))
    evidence = Evidence(((Place("d", at("The gate opens at nine")),),))
    question = Question("q", "When?", evidence, condition=(Place("d", at("Members only.")),))
    ((context),) = contexts([scored("q", passage(at("Members only. The gate")))], [question], corpus, (), True, 0)
    assert [kind for kind, _ in shown(context.chunks[0].place)] == ["condition", "plain", "mark", "cut", "beyond", "around"]


def test_as_many_chunks_are_shown_as_a_context_at_three_has() -> None:
    corpus = Corpus((Document("d", TEXT),))
    passages = [passage(Span(i, i + 5), rank=i + 1) for i in range(5)]
    question = Question("q", "?", Evidence(((Place("d", Span(0, 3)),),)))
    ((context),) = contexts([scored("q", *passages)], [question], corpus, (), True, 0)
    assert [c.passage.rank for c in context.chunks] == list(range(1, CHUNKS + 1))


def test_what_is_embedded_before_a_chunk_is_shown_before_it() -> None:
    document = Document("d", TEXT, (Section("s", "Opening hours", Span(0, len(TEXT))),), title="Guide")
    question = Question("q", "?", Evidence(((Place("d", Span(0, 3)),),)))
    found = contexts([scored("q", passage(at("visitors ring")))], [question], Corpus((document,)), ("title", "heading"), True, 0)
    assert found[0].chunks[0].prefix == "Guide\nOpening hours\n"


def test_without_texts_nothing_but_places_is_kept() -> None:
    corpus = Corpus((Document("d", TEXT, title="Guide"),))
    question = Question("q", "When?", Evidence(((Place("d", Span(0, 3)),),)))
    ((context),) = contexts([scored("q", passage(Span(0, 9)))], [question], corpus, ("title",), False, 0)
    assert context.question is None
    assert context.chunks[0].prefix == "" and context.chunks[0].place == Passaged("d", 0, 9, ())


def test_a_region_is_not_marked_for_it_is_the_whole_document() -> None:
    corpus = Corpus((Document("d", TEXT),))
    question = Question("q", "?", Evidence(((Place("d", Span(0, len(TEXT))),),), whole=False))
    ((context),) = contexts([scored("q", passage(at("visitors ring")))], [question], corpus, (), True, 0)
    assert "mark" not in [kind for kind, _ in shown(context.chunks[0].place)]


def test_text_around_a_chunk_begins_and_ends_with_whole_words() -> None:
    whole = around(TEXT, at("visitors ring"), 12)
    assert TEXT[whole.start : whole.end] == "at nine; visitors ring twice. The"
    assert around(TEXT, at("Members"), 5) == Span(0, len("Members"))
    assert around("abc", Span(0, 3), 10) == Span(0, 3)


def test_very_long_text_without_a_mark_is_shown_by_its_ends() -> None:
    text = "a" * 5_000 + "THE ANSWER" + "b" * MOST
    found = pieces(text, Span(0, len(text)), Span(0, len(text)), Marks([at("THE ANSWER", text)]), {})
    assert [(p.kind, len(p.text)) for p in found] == [
        ("plain", KEPT),
        ("left out", len("2,600 characters left out")),
        ("plain", KEPT),
        ("mark", 10),
        ("plain", MOST),
    ]
    assert found[1].text == "2,600 characters left out"
