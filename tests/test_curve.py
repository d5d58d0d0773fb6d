"""Reading quality against chunk size: where it flattens, what overlap buys, structure, and a reranker's depth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import law
from making_trials import asked, drawn_groups, measured, ranked

from harness import stats
from harness.curve import FLAT, RERANKED, drops, read_curve
from harness.records import Point


def by_size(*lines, of=100, metric="hit_at_1", sizes=(256, 512, 1024, 2048, 4096), **more):
    """A curve of settings that hit the first so many of some questions: a line of counts per splitter and overlap ratio."""
    points = [Point(name, size, ratio) for name, ratio, counts in lines for size, _ in zip(sizes, counts, strict=False)]
    ranks = np.array([[int(i < n) for _, _, counts in lines for n in counts] for i in range(of)])
    costs = [{"index_ratio": 1 / (1 - p.overlap_ratio), "context_at_3": 3.0 * p.chunk_size} for p in points]
    return read_curve(ranked(ranks, points, costs), metric, more.get("groups", {}), 7)


def only(*counts, of=100):
    (line,) = by_size(("words", 0.0, counts), of=of).lines
    return line


# Where a line flattens


@pytest.mark.parametrize(
    ("counts", "reading", "at"),
    [
        ((50, 80), "few", None),
        ((50, 78, 80, 79), "flattens", 512),
        ((50, 78, 81, 79), "flattens", 1024),
        ((50, 70, 78, 80, 79), "flattens", 1024),
        ((50, 90, 70, 50), "flattens", 512),
        ((50, 70, 60, 72), "flattens", 512),
        ((50, 70, 60, 73), "climbing", None),
        ((50, 60, 70, 80), "climbing", None),
        ((80, 81, 82, 80), "flat", None),
        ((80, 79, 83, 80), "flattens", 1024),
        ((90, 70, 50), "flat", None),
        ((70, 70, 70), "flat", None),
    ],
)
def test_a_line_flattens_at_its_first_size_after_which_none_gains_more_than_two_points(counts, reading, at):
    line = only(*counts)
    assert line.reading == reading
    assert (line.flat_at and line.flat_at.size) == at


def test_two_points_are_one_question_where_questions_are_few():
    assert only(50, 60, 62, of=100).step == FLAT
    assert only(10, 20, 21, of=25).step == 1 / 25
    assert only(10, 20, 21, of=25).flat_at.size == 512, "one question more is no gain"
    assert only(10, 20, 22, of=25).reading == "climbing"


@given(st.lists(st.integers(0, 100), min_size=1, max_size=5))
@law
def test_where_a_line_flattens_is_what_the_rule_says(counts):
    line = only(*counts)
    beyond = [max(later - n for later in counts[i:]) <= 2 for i, n in enumerate(counts)]
    first = beyond.index(True)
    if len(counts) < 3:
        assert line.reading == "few"
    else:
        assert line.reading == ("flat" if first == 0 else "climbing" if first == len(counts) - 1 else "flattens")
    assert (line.flat_at is not None) == (line.reading == "flattens")


def test_the_tutorials_sweep_is_read_as_it_reads_itself():
    """Steep, then flat at 512, worse at 2048; overlap pays at the small end and not at the large; structure beats both."""
    curve = by_size(
        ("structure", 0.0, (93,)),
        ("words", 0.0, (60, 85, 86, 80)),
        ("words", 0.2, (72, 87, 86, 80)),
    )
    _, plain, overlapped = curve.lines
    assert [line.reading for line in (plain, overlapped)] == ["flattens", "flattens"]
    assert [line.flat_at.size for line in (plain, overlapped)] == [512, 512]
    assert [drops(line).size for line in (plain, overlapped)] == [2048, 2048]
    assert [(p.first.point.chunk_size, round(100 * p.difference)) for p in curve.overlap] == [
        (256, 12),
        (512, 2),
        (1024, 0),
        (2048, 0),
    ]
    assert [p.p_value < 0.05 for p in curve.overlap] == [True, False, False, False]
    assert all(p.cost == pytest.approx(0.25) for p in curve.overlap)
    assert str(curve.structure.first.point) == "words 512/102"
    assert (curve.structure.won, curve.structure.lost) == (6, 0)


@pytest.mark.parametrize(
    ("counts", "worse"),
    [((50, 80, 77), True), ((50, 80, 78), False), ((50, 80, 81), False), ((80, 50), False), ((50, 80, 70, 75), False)],
)
def test_the_largest_size_is_worse_where_it_has_two_points_less_than_the_one_before(counts, worse):
    assert (drops(only(*counts)) is not None) == worse


def test_lines_go_by_splitter_overlap_and_what_is_prepended_and_leave_baselines_out():
    points = [
        Point("words", 200, 0.0),
        Point("words", 100, 0.0),
        Point("words", 100, 0.0, ("title",)),
        Point("words", 100, 0.2),
        Point("tokens", 100, 0.0),
        Point("whole-section", 0, 0.0),
    ]
    curve = read_curve(ranked([[1] * 6, [0] * 6], points), "hit_at_1", {}, 7)
    found = [(line.splitter, line.overlap_ratio, line.prepend, [p.size for p in line.points]) for line in curve.lines]
    assert found == [
        ("tokens", 0.0, (), [100]),
        ("words", 0.0, (), [100, 200]),
        ("words", 0.2, (), [100]),
        ("words", 0.0, ("title",), [100]),
    ]
    assert read_curve(ranked([[1], [0]], points[-1:]), "hit_at_1", {}, 7) is None
    assert read_curve(ranked([[1], [0]], points[:1]), "recall_at_5", {}, 7) is None


def test_points_have_their_values_with_intervals_over_groups():
    groups = {f"q{i}": f"g{i // 4}" for i in range(40)}
    (line,) = by_size(("words", 0.0, (10, 30)), of=40, groups=groups).lines
    values = np.repeat([1.0, 0.0], (10, 30))
    assert line.points[0].value == 0.25
    assert line.points[0].interval == stats.mean_interval(values, np.arange(40) // 4)


# Pairs


def test_each_larger_overlap_is_held_against_the_least_of_the_same_size_splitter_and_prefix():
    points = [
        *(Point("words", size, ratio) for size in (100, 200) for ratio in (0.3, 0.1, 0.2)),
        Point("tokens", 100, 0.4),
        Point("words", 100, 0.0, ("title",)),
    ]
    curve = read_curve(ranked([[1] * 8, [0] * 8], points), "hit_at_1", {}, 7)
    assert [(str(p.first.point), str(p.second.point)) for p in curve.overlap] == [
        ("words 100/10", "words 100/20"),
        ("words 100/10", "words 100/30"),
        ("words 200/20", "words 200/40"),
        ("words 200/20", "words 200/60"),
    ]


def test_overlaps_that_round_to_as_many_units_are_no_pair():
    points = [Point("words", 10, 0.0), Point("words", 10, 0.04), Point("words", 10, 0.1)]
    curve = read_curve(ranked([[1] * 3, [0] * 3], points), "hit_at_1", {}, 7)
    assert [p.second.point.overlap for p in curve.overlap] == [1]


def test_a_pair_has_the_difference_of_its_questions_and_its_own_two_sided_test():
    ranks = np.array([[1, 0]] * 3 + [[0, 1]] * 12 + [[1, 1]] * 25)
    (pair,) = read_curve(ranked(ranks, [Point("words", 100, r) for r in (0.0, 0.2)]), "hit_at_1", {}, 7).overlap
    difference = (ranks[:, 1] - ranks[:, 0]).astype(float)
    assert (pair.won, pair.lost, pair.difference) == (12, 3, pytest.approx(9 / 40))
    assert pair.interval == stats.difference_interval(difference, np.arange(40))
    assert pair.p_value == pytest.approx(stats.either(difference, np.arange(40), 7))


def test_many_pairs_are_tested_together_and_have_the_p_values_that_they_have_alone():
    """But for the chance of flips that are drawn."""
    rng = np.random.default_rng(3)
    groups = drawn_groups(rng, 25)
    points = [Point("words", 100 * (1 + i // 2), 0.2 * (i % 2)) for i in range(12)]
    ranks = rng.choice([0, 1, 2, 3], size=(len(groups), 12), p=[0.2, 0.5, 0.2, 0.1])
    named = {f"q{i}": str(g) for i, g in enumerate(groups)}
    curve = read_curve(ranked(ranks, points), "mrr", named, 7)
    assert len(curve.overlap) == 6
    numbers = stats.numbered([str(g) for g in groups])
    for pair in curve.overlap:
        of = [np.array([q.values["mrr"] for q in t.evaluation.questions]) for t in (pair.first, pair.second)]
        alone = stats.either(of[1] - of[0], numbers, 8)
        assert pair.p_value == pytest.approx(alone, abs=8 * np.sqrt(alone / stats.RESAMPLES) + 1e-3)


def test_structure_is_held_against_the_best_fixed_window_and_of_equals_against_the_cheapest():
    points = [
        Point("words", 100, 0.0),
        Point("characters", 900, 0.0),
        Point("tokens", 100, 0.2),
        Point("recursive", 100, 0.0),
        Point("structure", 100, 0.0),
        Point("structure", 200, 0.0),
    ]
    costs = [{"index_ratio": r} for r in (1.0, 1.2, 1.1, 1.0, 1.0, 1.0)]
    ranks = np.array([[int(i < n) for n in (10, 20, 20, 40, 25, 30)] for i in range(50)])
    pair = read_curve(ranked(ranks, points, costs), "hit_at_1", {}, 7).structure
    assert (pair.first.point, pair.second.point) == (points[2], points[5])
    assert pair.difference == pytest.approx(0.2)
    assert pair.cost == pytest.approx(1.0 / 1.1 - 1)
    assert read_curve(ranked(ranks[:, :4], points[:4], costs), "hit_at_1", {}, 7).structure is None


# A reranker's depth


def reranked(*columns, metric="hit_at_1", **costs):
    """Settings by the ranks of their answers."""
    settings = [measured(i, asked(ranks), Point("words", 100 * (i + 1), 0.0), **costs) for i, ranks in enumerate(columns)]
    return read_curve(settings, metric, {}, 7).reranked


def test_hits_within_a_rerankers_depth_are_counted_at_any_rank():
    found = reranked([1, 50, 51, 0], [1, 1, 2, 3])
    assert (found.k, found.of) == (1, 4)
    assert (found.least, found.most, found.least_deep, found.most_deep) == (1, 2, 2, 4)
    assert [t.trial for t in found.leaders] == [t.trial for t in found.leaders_deep] == [1]
    assert not found.changes, "the same leads, by as much"


def test_the_picture_changes_where_another_leads_or_where_size_stops_to_matter():
    other = reranked([1, 1, 0, 0], [1, 9, 9, 9])
    assert [t.trial for t in other.leaders_deep] == [1]
    assert other.changes
    close = reranked([1, 1, 1, 1, 1, 0], [1, 9, 9, 9, 9, 0])
    assert [t.trial for t in close.leaders_deep] == [0, 1]
    assert close.changes, "four apart at 1, not apart at fifty"
    assert not reranked([1, 1, 2, 2], [1, 1, 2, 2]).changes, "not apart at all"
    half = reranked([1, 1, 1, 1, 0, 0], [60, 60, 9, 9, 0, 0])
    assert (half.most - half.least, half.most_deep - half.least_deep, half.changes) == (4, 2, True)
    more = reranked([1, 1, 1, 1, 0, 0], [60, 60, 60, 9, 0, 0])
    assert (more.most_deep - more.least_deep, more.changes) == (3, False)


def test_settings_with_no_more_chunks_than_the_depth_are_counted():
    assert reranked([1, 2], [1, 1], chunks=float(RERANKED)).shallow == 2
    assert reranked([1, 2], [1, 1], chunks=float(RERANKED + 1)).shallow == 0


def test_a_metric_without_a_k_below_the_depth_has_no_reranker():
    assert reranked([1, 2], [1, 1], metric="mrr") is None
    settings = [measured(0, asked([1, 2]), Point("words", 100, 0.0))]
    deep = [replace(q, values={"hit_at_50": 1.0}) for q in settings[0].evaluation.questions]
    settings = [replace(settings[0], evaluation=replace(settings[0].evaluation, questions=tuple(deep)))]
    assert read_curve(settings, "hit_at_50", {}, 7).reranked is None
