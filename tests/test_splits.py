"""Dev and holdout go by group and hash, so that what belongs together stays together and nothing moves later."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import law

from harness import splits
from harness.errors import HarnessError
from harness.records import Corpus, Document, Evidence, Place, Question, Section, Span
from harness.splits import SplitRule, assign, group_keys

SECTIONS = 12
SECTIONED = Document("s", "x" * SECTIONS * 10, tuple(Section(f"S{i}", "", Span(i * 10, i * 10 + 10)) for i in range(SECTIONS)))
PARAGRAPHS = Document("p", "\n\n".join(["A paragraph of text."] * 12))
CORPUS = Corpus((PARAGRAPHS, SECTIONED))
places = st.builds(
    lambda section, start, length: Place("s", Span(section * 10 + start, section * 10 + start + length)),
    st.integers(0, SECTIONS - 1),
    st.integers(0, 6),
    st.integers(1, 3),
)
evidence = st.lists(places, min_size=1, max_size=1).map(lambda found: Evidence((tuple(found),)))


def ask(number, *found):
    return Question(f"q{number}", f"Question {number}?", Evidence(tuple((p,) for p in found)) if found else None)


def section(number):
    return Place("s", Span(number * 10, number * 10 + 4))


@given(st.lists(evidence, max_size=20), evidence, st.integers(0, 99), st.sampled_from([0.0, 0.3, 0.7]))
@law
def test_an_added_question_moves_no_other(known, added, seed, holdout):
    questions = [Question(f"q{i}", f"Question {i}?", e) for i, e in enumerate(known)]
    rule = SplitRule(holdout, seed)
    before = assign(questions, [None] * len(questions), CORPUS, rule)
    after = assign([*questions, Question("new", "A new one?", added)], [None] * (len(questions) + 1), CORPUS, rule)
    assert after[:-1] == before


@given(st.lists(st.lists(places, min_size=1, max_size=3), max_size=15), st.integers(0, 99), st.randoms())
@law
def test_questions_of_one_section_never_part_and_their_order_does_not_matter(found, seed, random):
    questions = [ask(i, *p) for i, p in enumerate(found)]
    rule = SplitRule(0.5, seed)
    split = dict(zip([q.question_id for q in questions], assign(questions, [None] * len(questions), CORPUS, rule), strict=True))
    by_section: dict[str, set[str]] = {}
    for q in questions:
        for p in q.evidence.places():
            by_section.setdefault(SECTIONED.section_ids(p.span)[0], set()).add(split[q.question_id])
    assert all(len(s) == 1 for s in by_section.values())
    shuffled = random.sample(questions, len(questions))
    assert [split[q.question_id] for q in shuffled] == assign(shuffled, [None] * len(shuffled), CORPUS, rule)


def test_without_sections_a_paragraph_is_what_keeps_questions_together():
    first, same, other = (Place("p", Span(a, b)) for a, b in ((0, 5), (12, 19), (22, 30)))
    keys = group_keys([ask(1, first), ask(2, same), ask(3, other)], CORPUS)
    assert keys[0] == keys[1] != keys[2]


def test_a_question_that_needs_two_sections_joins_their_groups():
    both = Question("q3", "Both?", Evidence(((section(1), section(2)),)))
    assert len(set(group_keys([ask(1, section(1)), ask(2, section(2)), both], CORPUS))) == 1


def test_one_wording_is_one_group_whatever_its_evidence():
    twins = [Question("a", "Where?", Evidence(((section(1),),))), Question("b", "where?", Evidence(((section(5),),)))]
    assert len(set(group_keys(twins, CORPUS))) == 1


def test_questions_without_evidence_go_alone():
    assert len(set(group_keys([ask(1), ask(2)], CORPUS))) == 2


def test_about_the_asked_share_of_groups_is_held_out_and_none_at_zero():
    questions = [ask(i) for i in range(2000)]
    held = assign(questions, [None] * 2000, CORPUS, SplitRule(0.3, 7)).count("holdout")
    assert 540 < held < 660
    assert assign(questions, [None] * 2000, CORPUS, SplitRule(0.0, 7)).count("holdout") == 0


def test_a_group_with_a_given_split_takes_its_others_along_and_one_in_both_is_dev():
    questions = [ask(1, section(1)), ask(2, section(1)), ask(3, section(2)), ask(4, section(2)), ask(5, section(2))]
    given_splits = ["holdout", None, "dev", "holdout", None]
    assert assign(questions, given_splits, CORPUS, SplitRule(0.0, 7)) == ["holdout", "holdout", "dev", "holdout", "dev"]


def test_what_was_written_stays_and_what_was_retired_is_dev_whatever_its_row_says():
    questions = [ask(i, section(i)) for i in range(4)]
    written = {questions[0].sha256: "holdout", questions[1].sha256: "dev"}
    rule = SplitRule(1.0, 7, written, frozenset({questions[2].sha256}))
    assert assign(questions, [None, None, "holdout", None], CORPUS, rule) == ["holdout", "dev", "dev", "holdout"]


def facts(**changed):
    known = {"holdout": 0.3, "seed": 7, "questions": {"ab": "dev"}, "retired": []} | changed
    return known | {"digest": splits.digest(known)}


def test_a_written_split_is_read_as_it_was_written(tmp_path):
    (tmp_path / "split.json").write_text(json.dumps(facts()), "utf-8")
    assert splits.read(tmp_path / "split.json") == SplitRule(0.3, 7, {"ab": "dev"}, frozenset())


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("", "not a split that `harness split` wrote"),
        ("[]", "not a split that `harness split` wrote"),
        ("[" * 100_000, "not a split that `harness split` wrote (RecursionError"),
        (json.dumps(facts() | {"holdout": 10**400}), "not a split that `harness split` wrote (OverflowError"),
        (json.dumps(facts() | {"seed": float("inf")}), "not a split that `harness split` wrote (OverflowError"),
        (json.dumps({"holdout": 0.3}), "not a split that `harness split` wrote (KeyError: 'seed')"),
        (json.dumps(facts() | {"seed": 8}), "the split was edited after it was written"),
        (json.dumps(facts(questions={"ab": "train"})), "not a split that `harness split` wrote"),
    ],
)
def test_a_split_that_is_not_as_written_is_refused(tmp_path, content, what):
    (tmp_path / "split.json").write_text(content, "utf-8")
    with pytest.raises(HarnessError) as caught:
        splits.read(tmp_path / "split.json")
    (fault,) = caught.value.faults
    assert fault.where == str(tmp_path / "split.json")
    assert fault.what.startswith(what)
