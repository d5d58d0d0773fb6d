"""The report's plots with what is said of them; a plot more is a function in `plots` and an entry in `drawn`."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass

from matplotlib.figure import Figure

from harness import plots, plots_curve, plots_statistics, report_costs
from harness import report_words as words
from harness.curve import Curve
from harness.report_facts import Facts
from harness.stats import CONFIDENCE

INTERVALS = f"{words.whole_percent(CONFIDENCE)} intervals"


@dataclass(frozen=True)
class Plot:
    """A figure's file and what is said of it: caption for all, `alt` for those who can't see it."""

    file: str
    title: str
    caption: str
    alt: str
    png: bytes

    @property
    def data_uri(self) -> str:
        return f"data:image/png;base64,{base64.b64encode(self.png).decode()}"


def drawn(facts: Facts) -> list[Plot]:
    """Every plot that these facts can fill."""
    return [*_settings(facts), *_sure(facts), *_sizes(facts), *_costs(facts), _scores(facts)]


def _plot(file: str, title: str, caption: str, alt: str, figure: Figure) -> Plot:
    return Plot(file, title, caption, alt, plots.png(figure))


def curve_file(curve: Curve) -> str:
    return f"curve_{curve.metric}.png"


def _pruned_note(facts: Facts, done: str) -> str:
    number = len(facts.pruned)
    return f" {words.count(number, 'pruned trial')} {'is' if number == 1 else 'are'} {done}." if number else ""


def _settings(facts: Facts) -> Iterator[Plot]:
    """Hits and index ratio by setting: what every report has."""
    settings, name = facts.settings, facts.shown.hit_name
    number = min(len(settings), plots.LEADING)
    every = words.count(facts.sized, "setting") + (" and the baselines" if len(settings) > facts.sized else "")
    leading = f"the {number} leading of {every}" if number > 1 else "the one setting"
    left_out = _pruned_note(facts, "left out: only upper bounds are known")
    yield _plot(
        "hits_by_setting.png",
        "Hits by setting",
        f"{leading[0].upper()}{leading[1:]}, best first; the numbers on the bars are counts of questions.{left_out}",
        f"Bars of {name}@1 and {name}@3 for {leading}. {_best(facts)}",
        plots.hits_by_setting(settings),
    )
    low, high = (f(r.metrics["index_ratio"] for r in settings[: plots.LEADING]) for f in (min, max))
    yield _plot(
        "index_by_setting.png",
        "Index ratio by setting",
        "What the overlap costs: units stored per unit in the source. The dashed line, 1, is an index without repetition.",
        f"Bars of the index ratio for {leading}, from {low:.2f} to {high:.2f}.",
        plots.index_by_setting(settings),
    )


def _best(facts: Facts) -> str:
    leader, name = facts.selected.leader, facts.shown.hit_name
    return f"The leader, {leader.point}, has {name}@1 {words.hit(leader, 1)} and {name}@3 {words.hit(leader, 3)}."


def _sure(facts: Facts) -> Iterator[Plot]:
    made = facts.analysis.comparison
    if made is None or made.compared < 2:
        return
    name, shown = words.name_of(made.metric), min(len(made.settings), plots_statistics.INTERVALS)
    yield _plot(
        "intervals.png",
        "Intervals of the leading settings",
        f"Left, {name} of each setting; right, its difference to the leader on the same questions; {INTERVALS}, not corrected "
        "for their number. The right side tells more: what is hard for all settings alike drops out of it.",
        f"Intervals of {name} for {shown} leading settings, and of their differences to {made.leader.point}; "
        f"{len(made.tie_set)} of {made.compared} are in the tie set.",
        plots_statistics.intervals(made),
    )


def _sizes(facts: Facts) -> Iterator[Plot]:
    """What there is to see against chunk size; nothing of a single setting."""
    if facts.sized + len(facts.pruned) < 2:
        return
    for curve in facts.analysis.curves:
        name, points = words.name_of(curve.metric), sum(len(line.points) for line in curve.lines)
        without = f"; without intervals where a panel has more than {plots_curve.CROWDED} points"
        yield _plot(
            curve_file(curve),
            f"{name} by chunk size",
            f"A panel a splitter, a colour an overlap, {INTERVALS}{without if plots_curve.crowded(curve) else ''}. Lines join "
            "sizes of one overlap where three or more were measured; points of one size are drawn side by side. The "
            "vertical axis begins below the lowest interval.",
            f"{name} against chunk size for {words.count(points, 'setting')} in {words.count(len(curve.lines), 'line')}.",
            plots_curve.curve(curve, facts.unit),
        )
    cut = any(r.metrics.get("truncated_share", 0) > 0 for r in facts.settings if not r.point.baseline)
    hollow = " Hollow points: the model reads some chunks only in part." if cut else ""
    bounds = _pruned_note(facts, "drawn as what they could have had at most, an upper bound")
    yield _plot(
        "hits_by_size.png",
        "Hits and ceilings by chunk size",
        "One marker style a splitter. The ceiling is an upper bound: no ranking of the same chunks can exceed it."
        f"{hollow}{bounds}",
        f"Scatter plot of {facts.shown.hit_name}@1 and @3 against chunk size for {len(facts.settings)} settings, with ceilings. "
        f"{_best(facts)}",
        plots.hits_by_size(facts.settings, facts.pruned),
    )
    found = facts.analysis.sensitivity
    if found and found.marginals:
        axes = ", ".join(f"{axis.replace('_', ' ')} {share:.0%}" for axis, share in found.importances.items())
        yield _plot(
            "sensitivity.png",
            "What matters over the whole search",
            f"Importance: share of the variance of {words.name_of(found.metric)} over {found.settings} settings (fANOVA). The "
            f"other panels: the mean along each axis, whatever else was tried there, with {INTERVALS} over questions.",
            f"Importances: {axes or 'none, for all settings score alike'}; and the mean along each axis.",
            plots_statistics.sensitivity(found),
        )


def _costs(facts: Facts) -> Iterator[Plot]:
    metric = report_costs.quality(facts)
    fronts = {cost: report_costs.against(facts, cost) for cost in report_costs.COST_AXES}
    if not any(fronts.values()) or len(facts.settings) < 2:
        return
    number = {cost: words.count(len(points), "setting") for cost, points in fronts.items()}
    names = " and ".join(f"{number[cost]} in {words.name_of(cost)}" for cost in fronts)
    bounds = _pruned_note(facts, "drawn at an upper bound of quality where the cost is known")
    yield _plot(
        "quality_and_cost.png",
        "Quality against cost",
        f"Up is better, left is cheaper. The line joins the settings that none beats in both.{bounds}",
        f"{words.name_of(metric)} against context@3 and index ratio; on the line lie {names}.",
        plots_statistics.quality_and_cost(facts.settings, fronts, metric, facts.shown, facts.pruned),
    )


def _scores(facts: Facts) -> Plot:
    """Scores with the threshold where one is locked; of the trial that the threshold belongs to."""
    result = facts.locked or facts.shown
    tuned = facts.lock.threshold if facts.lock and facts.locked else None
    model = tuned.embedder if tuned else facts.study["embedder"]["name"]
    similarity = tuned.similarity if tuned else facts.study["identity"]["similarity"]
    line = (
        f"The dashed line is the threshold {tuned.value}." if tuned else "No threshold is drawn: none is locked for this trial."
    )
    return _plot(
        "scores.png",
        "Scores of the first chunks",
        f"Dev questions of trial {result.trial} ({result.point}), {similarity} scores of {model}; boxes are quartiles. {line}",
        f"Box plots of first-chunk {similarity} scores of {model}: positives, wrong first chunks, unanswerable questions. {line}",
        plots.score_distributions(result, similarity, model, tuned),
    )
