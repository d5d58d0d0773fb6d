"""What size, overlap and splitter matter, on spaces where it is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import law
from making_trials import ranked

from harness import stats
from harness.importance import ENOUGH, MOST_BINS, sensitivity
from harness.records import Point

SIZES, RATIOS, SPLITTERS = (64, 128, 256, 512), (0.0, 0.1, 0.2, 0.3), ("recursive", "words")
SPACE = [Point(name, size, ratio) for name in SPLITTERS for size in SIZES for ratio in RATIOS]


def of(score, points=SPACE, questions=100, groups=None):
    """The sensitivity of settings that hit as many of some questions as `score` says of their point."""
    counts = [score(p) for p in points]
    return sensitivity(ranked([[int(i < n) for n in counts] for i in range(questions)], points), "hit_at_1", groups or {}, 7)


def by_size(point):
    return 20 + 20 * SIZES.index(point.chunk_size)


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("chunk_size", by_size),
        ("overlap_ratio", lambda p: 30 + round(100 * p.overlap_ratio)),
        ("splitter", lambda p: 40 + 20 * SPLITTERS.index(p.splitter)),
    ],
)
def test_what_alone_matters_has_nearly_all_of_the_importance(name, score):
    found = of(score)
    assert found.importances.keys() == {"chunk_size", "overlap_ratio", "splitter"}
    assert found.importances[name] > 0.9
    assert sum(found.importances.values()) == pytest.approx(1)


def test_of_two_that_matter_each_has_its_share_of_the_variance():
    """Along size as four steps of 6, along the splitter two of 10: variances of 45 and 25."""
    found = of(lambda p: 30 + 6 * SIZES.index(p.chunk_size) + 10 * SPLITTERS.index(p.splitter))
    assert found.importances["chunk_size"] == pytest.approx(45 / 70, abs=0.1)
    assert found.importances["splitter"] == pytest.approx(25 / 70, abs=0.1)
    assert found.importances["overlap_ratio"] < 0.05


def test_sizes_drawn_at_random_among_many_settings_are_weighed_likewise():
    rng = np.random.default_rng(5)
    points = [
        Point("words", int(size), float(ratio)) for size, ratio in zip(rng.integers(64, 1025, 200), rng.random(200), strict=True)
    ]
    found = of(lambda p: 30 + round(15 * np.log2(p.chunk_size / 64)), points)
    assert found.importances["chunk_size"] > 0.95
    assert "splitter" not in found.importances, "it does not vary"


def test_the_shares_are_the_same_for_the_same_seed():
    assert of(by_size) == of(by_size)


def test_settings_that_all_score_alike_have_no_importances_but_their_means():
    found = of(lambda p: 50)
    assert found.importances == {}
    assert {b.value for bins in found.marginals.values() for b in bins} == {0.5}


def test_under_ten_settings_or_without_the_metric_nothing_is_said():
    assert of(by_size, SPACE[: ENOUGH - 1]) is None
    assert of(by_size, SPACE[:ENOUGH]).settings == ENOUGH
    baselines = [Point("whole-section", 0, 0.0), Point("whole-document", 0, 0.0)]
    counts = [[1] * (ENOUGH + 1), [0] * (ENOUGH + 1)]
    assert sensitivity(ranked(counts, [*baselines, *SPACE[: ENOUGH - 1]]), "hit_at_1", {}, 7) is None
    assert sensitivity(ranked(counts, SPACE[: ENOUGH + 1]), "recall_at_5", {}, 7) is None


def test_one_setting_on_every_axis_has_no_marginal():
    found = of(lambda p: p.chunk_size, [Point("words", 10 + i, 0.0) for i in range(ENOUGH)])
    assert found.marginals.keys() == {"chunk_size"}
    assert found.importances == {"chunk_size": 1.0}


def test_few_values_are_a_bin_each_with_the_mean_of_all_that_have_it_and_an_interval_over_questions():
    found = of(by_size, questions=100)
    bins = found.marginals["chunk_size"]
    assert [(b.label, b.settings, round(b.value, 6)) for b in bins] == [
        ("64", 8, 0.2),
        ("128", 8, 0.4),
        ("256", 8, 0.6),
        ("512", 8, 0.8),
    ]
    assert bins[1].interval == stats.mean_interval(np.repeat([1.0, 0.0], (40, 60)), np.arange(100))
    assert [b.label for b in found.marginals["overlap_ratio"]] == ["0", "0.1", "0.2", "0.3"]
    assert {round(b.value, 6) for b in found.marginals["overlap_ratio"]} == {0.5}, "all sizes alike are in each"
    assert [b.label for b in found.marginals["splitter"]] == list(SPLITTERS)


def test_intervals_of_marginals_are_over_groups():
    groups = {f"q{i}": f"g{i // 5}" for i in range(100)}
    bins = of(by_size, groups=groups).marginals["chunk_size"]
    assert bins[1].interval == stats.mean_interval(np.repeat([1.0, 0.0], (40, 60)), np.arange(100) // 5)


def test_what_is_prepended_is_an_axis_and_nothing_is_called_so():
    points = [Point("words", size, 0.0, before) for size in range(10, 15) for before in ((), ("title", "heading"))]
    found = of(lambda p: 40 + 20 * bool(p.prepend), points)
    assert [b.label for b in found.marginals["prepend"]] == ["nothing", "title+heading"]
    assert found.importances["prepend"] > 0.9


@given(st.lists(st.integers(16, 4096), min_size=ENOUGH, max_size=40, unique=True))
@law
def test_many_sizes_are_cut_into_few_bins_in_order_that_have_each_setting_once(sizes):
    found = of(lambda p: 5, [Point("words", s, 0.0) for s in sizes], questions=10)
    bins = found.marginals["chunk_size"]
    assert 1 < len(bins) <= MOST_BINS
    ends = [[int(end) for end in b.label.split(" to ")] for b in bins]
    flat = [end for pair in ends for end in pair]
    assert flat == sorted(flat), "no two bins overlap"
    assert [b.settings for b in bins] == [sum(e[0] <= s <= e[-1] for s in sizes) for e in ends]
    assert sum(b.settings for b in bins) == len(sizes)
    assert max(b.settings for b in bins) - min(b.settings for b in bins) <= 2
