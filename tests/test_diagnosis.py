"""What a careful reader would notice before trusting a leader."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from making import one, place, scored
from making_trials import asked, measured, pruned, ranked, trial, values_at

from harness.analysis import analyse
from harness.diagnosis import diagnose
from harness.formats import Labelled, SealedHoldout
from harness.labels import Quoted
from harness.records import Corpus, Document, Evidence, Point, Question, QuestionScore, Section, Span
from harness.selection import Selection, select

DEV = tuple(Question(f"q{i}", f"Question {i}?") for i in range(10))


def labels(corpus=None, dev=DEV):
    return Labelled(corpus or one("text"), tuple(dev), SealedHoldout(0, 0, "none", "none", (), None), (), Quoted())


def diagnosed(trials, studies=(), labelled=None, groups=None, rule=None):
    rule = rule or Selection()
    selected = select(trials, rule)
    analysis = analyse(trials, selected, rule, groups or {}, 7)
    return {f.name: f for f in diagnose(trials, selected, labelled or labels(), analysis, studies)}


def hits(*counts, of=40):
    """Settings that hit the first so many of some questions, smallest first."""
    return np.array([[int(i < count) for count in counts] for i in range(of)])


def test_questions_that_every_setting_answers_are_too_easy():
    assert "too easy" in diagnosed([trial(0, 10, size=30), trial(1, 10, size=60)])
    assert "too easy" not in diagnosed([trial(0, 10, size=30), trial(1, 9, size=60)])
    assert "too easy" not in diagnosed([trial(0, 10, size=30), trial(1, 10, size=60), pruned(2, 90, 9)])


def test_a_sweep_that_answers_next_to_nothing_is_poor():
    assert "poor" in diagnosed([trial(0, 3)])
    assert "poor" not in diagnosed([trial(0, 4)])


def test_a_poor_sweep_counts_the_causes_of_its_leaders_misses_and_says_what_to_look_at_before_the_size():
    ranks = [1, 1, 2, 0, 0, 0, 0, 0, 0, 0]
    causes = [None, None, "outranked", *["no match"] * 4, "cut", "truncated", "truncated"]
    questions = tuple(replace(q, cause=c) for q, c in zip(asked(ranks), causes, strict=True))
    found = diagnosed([measured(0, questions, Point("words", 50, 0.0)), trial(1, 1, size=60)])["poor"]
    assert found.sentence == (
        "no setting has more than 20% of its answers first (misses of the leader: 4 no match, 2 truncated, 1 outranked, 1 cut)"
    )
    for what in ("the scores", "documents that are missing", "the labels", "the retriever"):
        assert what in found.remedy
    assert found.remedy.endswith("before the chunk size")


def test_ties_and_leads_of_one_question_are_said():
    assert "tie" in diagnosed([trial(0, size=30), trial(1, size=60)])
    assert "one question" in diagnosed([trial(0, 6, size=30), trial(1, 5, size=60)])
    assert not {"tie", "one question"} & diagnosed([trial(0, 7, size=30), trial(1, 5, size=60)]).keys()
    assert "one question" not in diagnosed([trial(0, 6, size=30), trial(1, 5, size=60), pruned(2, 90, 6)])


def test_cut_answers_and_truncated_chunks_of_the_leader_are_said():
    cut = QuestionScore("q", True, None, values_at(0), "cut", True, None, ())
    found = diagnosed([trial(0, 5, questions=(replace(scored(0.5), values=values_at(1)), cut), truncated=0.25)])
    assert found["cut"].sentence == "1 of 2 answers are cut at the leader (1 with the right section first)"
    assert "more overlap" in found["cut"].remedy and "structure" in found["cut"].remedy
    assert found["truncation"].sentence == "the model cuts 25.0% of the leader's chunks"
    assert not {"cut", "truncation"} & diagnosed([trial(0)]).keys()


# Long labels

TEXT = "Hours\nThe gate opens at ten and shuts at noon.\nLamps\nThere are ten lamps in the attic, all of them lit."
SPLIT = TEXT.index("Lamps")
SECTIONED = Document("d", TEXT, (Section("a", "Hours", Span(0, SPLIT)), Section("b", "Lamps", Span(SPLIT, len(TEXT)))))
WHOLE, SHORT = place(SECTIONED, TEXT[:SPLIT].strip()), place(SECTIONED, "at ten")


def labelled_by(*places, document=SECTIONED, whole=True):
    dev = [Question(f"q{i}", f"Question {i}?", Evidence(((p,),), whole)) for i, p in enumerate(places)]
    return labels(Corpus((document,)), dev)


def test_evidence_that_is_as_long_as_its_section_is_said_from_half_of_the_questions_up():
    found = diagnosed([trial(0)], labelled=labelled_by(WHOLE, WHOLE, SHORT, SHORT))["long labels"]
    assert found.sentence == "the evidence of 2 of 4 dev questions is about as long as its section"
    assert "long labels" not in diagnosed([trial(0)], labelled=labelled_by(WHOLE, SHORT, SHORT))


def test_evidence_fills_no_section_where_a_document_has_only_one_or_a_region_is_meant():
    single = replace(SECTIONED, sections=(Section("a", "Hours", Span(0, len(TEXT))),))
    everything = place(single, TEXT)
    assert "long labels" not in diagnosed([trial(0)], labelled=labelled_by(everything, document=single))
    assert "long labels" not in diagnosed([trial(0)], labelled=labelled_by(WHOLE, whole=False))
    assert "long labels" in diagnosed([trial(0)], labelled=labelled_by(place(SECTIONED, TEXT))), "two whole sections"


# What the questions can tell


def test_a_field_that_ties_is_undecided_and_told_the_number_of_questions_that_would_tell_half_of_it_apart():
    trials = ranked(hits(30, 28, 27, 5))
    selected = select(trials, Selection())
    needed = analyse(trials, selected, Selection(), {}, 7).comparison.needed
    found = diagnosed(trials)["undecided"]
    assert found.sentence == (
        "3 of 4 settings are not measurably worse than the leader in hit_at_1: these 40 questions can't decide between them"
    )
    assert found.remedy == f"about {needed[1]} questions would tell half of them apart; till then weigh the cost"


def test_a_field_that_mostly_answers_the_same_questions_is_told_the_number_for_the_next_best():
    trials = ranked(hits(30, 30, 30, 30, 28))
    next_best, half = analyse(trials, select(trials, Selection()), Selection(), {}, 7).comparison.needed
    assert half is None
    assert diagnosed(trials)["undecided"].remedy.startswith(f"about {next_best} questions would tell the next best apart")


def test_a_field_that_scores_alike_is_told_no_number():
    same = np.roll(hits(20, 20, 20), 3, axis=1)
    same[:, 1], same[:, 2] = np.roll(same[:, 1], 4), np.roll(same[:, 1], 8)
    assert diagnosed(ranked(same))["undecided"].remedy.startswith("they score alike, which more questions may not change")


def test_a_field_that_is_told_apart_is_not_undecided_nor_is_one_that_cuts_alike():
    assert "undecided" not in diagnosed(ranked(hits(35, 10, 5)))
    alike = [trial(i, size=50, point=Point("words", 50 + i, 0.0)) for i in range(4)]
    found = diagnosed(alike)
    assert found["alike"].sentence == "4 settings cut the documents in only 1 way"
    assert "undecided" not in found, "there is nothing between them to decide"


def test_under_twenty_groups_are_few_and_named_where_they_are_shared():
    found = diagnosed([trial(0)])["few groups"]
    assert found.sentence == "the statistics rest on 10 questions; under 20 their intervals are unreliable"
    assert "few groups" not in diagnosed(ranked(hits(20, 10)))
    shared = {f"q{i}": f"g{i % 19}" for i in range(40)}
    found = diagnosed(ranked(hits(20, 10)), groups=shared)["few groups"]
    assert "rest on 40 questions, which share evidence or sections: 19 groups; under 20" in found.sentence


# Shapes of the curve


def by_size(*lines, of=50):
    """Settings of 256, 512, 1024 ... units: a line of hits at 1 per overlap ratio."""
    points = [Point("words", 256 * 2**i, ratio) for ratio, line in lines for i in range(len(line))]
    counts = [n for _, line in lines for n in line]
    return ranked(hits(*counts, of=of), points)


def test_a_largest_size_that_is_worse_than_the_one_below_it_is_said():
    found = diagnosed(by_size((0.0, (20, 30, 31, 26))))["largest worse"]
    assert found.sentence == "the largest size of words with 0% overlap, 2048, has hit_at_1 52.0%, the one below it, 1024, 62.0%"
    assert found.remedy.startswith("such chunks cover several topics")


def test_of_several_lines_whose_largest_size_is_worse_the_steepest_is_named():
    found = diagnosed(by_size((0.0, (20, 30, 31, 26)), (0.2, (22, 31, 32, 20)), (0.4, (20, 21, 22, 23))))["largest worse"]
    assert found.sentence.startswith("the largest size of words with 20% overlap, 2048, has hit_at_1 40.0%")
    assert found.sentence.endswith("(and 1 more line)")


@pytest.mark.parametrize("line", [(20, 30, 31, 30), (20, 30, 31, 31), (20, 25, 30, 35), (30, 20)])
def test_a_largest_size_that_is_as_good_but_for_a_question_or_that_only_one_is_below_is_not_said(line):
    assert "largest worse" not in diagnosed(by_size((0.0, line)))


def test_a_leader_at_an_end_of_the_sizes_is_said_and_a_baseline_lies_at_none():
    sized = [trial(0, 5, size=30), trial(1, 6, size=60), trial(2, 8, size=120)]
    assert "at the largest end" in diagnosed(sized)["edge"].sentence
    assert "at the smallest end" in diagnosed([trial(0, 9, size=30), *sized[1:]])["edge"].sentence
    assert "edge" not in diagnosed([sized[0], trial(1, 9, size=60), sized[2]])
    leading = trial(3, 10, point=Point("whole-section", 0, 0.0))
    assert "edge" not in diagnosed([*sized, leading], rule=Selection(allow_baselines=True))


def test_settings_that_only_a_later_part_of_the_key_sets_apart_are_near_ties():
    near = diagnosed([trial(0, 6, 8, size=30), trial(1, 6, 8, size=60, ratio=1.5), trial(2, 3, size=90)])["near tie"]
    assert near.sentence == "2 settings have the leader's hits at 1 and at 3: only the rest of the key sets them apart"
    lost = [trial(0, 6, 8, size=30), trial(1, 6, 8, size=60, ratio=1.5), pruned(2, 90, 6)]
    assert diagnosed(lost)["near tie"].sentence.startswith("at least 2 settings")


def test_a_leader_that_does_not_cut_is_said():
    corpus = Corpus(tuple(Document(f"d{i:03}", "text") for i in range(100)))
    assert "uncut" in diagnosed([trial(0)], labelled=labels(corpus))
    assert "uncut" not in diagnosed([trial(0)])


# Labels


def study(evidence, questions="these"):
    return {"dev questions": questions, "evidence": evidence}


def test_labels_that_were_edited_after_results_were_seen_are_said():
    found = diagnosed([trial(0)], [study("before"), study("after")])["edited labels"]
    assert found.sentence == ("the labels of these dev questions were edited after results were seen: 1 earlier study had others")
    several = [study("first"), study("now"), study("second"), study("other", "those"), study("now")]
    assert diagnosed([trial(0)], several)["edited labels"].sentence.endswith("2 earlier studies had others")


@pytest.mark.parametrize("studies", [(), (study("now"),), (study("now"), study("now")), (study("before", "those"), study("now"))])
def test_the_same_labels_or_those_of_other_questions_are_no_edit(studies):
    assert "edited labels" not in diagnosed([trial(0)], studies)


def test_unreviewed_questions_are_counted():
    drafted = [replace(q, reviewed=i > 2) for i, q in enumerate(DEV)]
    assert diagnosed([trial(0)], labelled=labels(dev=drafted))["unreviewed"].sentence.startswith("3 of 10 dev questions are unre")
    assert "unreviewed" not in diagnosed([trial(0)])


def test_a_sweep_that_measured_only_baselines_is_diagnosed():
    baseline = trial(0, 10, point=Point("whole-section", 0, 0.0))
    found = diagnosed([baseline], rule=Selection(allow_baselines=True))
    assert not {"too easy", "poor", "alike", "edge", "undecided"} & found.keys()
