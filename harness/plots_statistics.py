"""Figures of what a search says: intervals, quality against cost, sensitivity; to add one, write a function here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from harness.comparison import Beside, Comparison
from harness.front import FrontPoint
from harness.importance import Bin, Sensitivity
from harness.plots import BOUND, FIRST, WITHIN, plain
from harness.records import TrialResult
from harness.report_words import name_of, plain_share

INTERVALS = 20  # settings in the figure of intervals
INK = "#111827"


def scaled(metric: str, value: float) -> float:
    return 100 * value if plain_share(metric) else value


def quality_axis(axes: Axes, metric: str, label: str | None = None) -> None:
    axes.set_ylim(*((-2, 104) if plain_share(metric) else (-0.02, 1.04)))
    axes.set_ylabel(f"{label or name_of(metric)}{', %' if plain_share(metric) else ''}")


def panelled(number: int, width: float = 8.4, height: float = 3.3, columns: int = 2) -> tuple[Figure, list[Axes]]:
    across = min(columns, number)
    down = -(-number // across)
    figure = Figure(figsize=(width, 1 + height * down), layout="constrained")
    return figure, [plain(figure.add_subplot(down, across, i + 1)) for i in range(number)]


def intervals(made: Comparison) -> Figure:
    """The leading settings: each with its interval, and the paired difference to the leader with its own."""
    shown = made.settings[:INTERVALS]
    tied = made.tie_set
    figure, (left, right) = panelled(2, height=0.4 + 0.24 * len(shown))
    for axes in (left, right):
        axes.grid(visible=False)
        axes.grid(axis="x", color="#e5e7eb", linewidth=0.8)
        axes.set_ylim(len(shown) - 0.4, -0.6)
    for at, beside in enumerate(shown):
        baseline = beside.trial.point.baseline and beside.trial.trial != made.leader.trial
        colour = INK if baseline else FIRST if beside in tied else BOUND
        face = "white" if baseline else colour
        _bar(left, at, made.metric, (beside.value, beside.interval), colour, face)
        if beside.trial.trial != made.leader.trial:
            _bar(right, at, made.metric, (beside.difference, beside.difference_interval), colour, face)
    right.axvline(0, color=INK, linewidth=0.8, linestyle="--")
    left.set_yticks(range(len(shown)), [_setting(b, made) for b in shown], fontsize=8, parse_math=False)
    right.set_yticks(range(len(shown)), [""] * len(shown))
    unit = ", %" if plain_share(made.metric) else ""
    left.set_xlabel(f"{name_of(made.metric)}{unit}")
    right.set_xlabel(f"beside the leader{', points' if unit else ''}")
    _tie_legend(figure, any(b.trial.point.baseline for b in shown))
    return figure


def _setting(beside: Beside, made: Comparison) -> str:
    return f"{beside.trial.point} (leads)" if beside.trial.trial == made.leader.trial else str(beside.trial.point)


def _bar(axes: Axes, at: int, metric: str, found: Any, colour: str, face: str) -> None:
    value, interval = found
    if interval:
        axes.plot([scaled(metric, interval.low), scaled(metric, interval.high)], [at, at], color=colour, linewidth=1.4)
    axes.plot(scaled(metric, value), at, marker="o", markersize=5, color=colour, markerfacecolor=face)


def _tie_legend(figure: Figure, baselines: bool) -> None:
    from matplotlib.lines import Line2D

    known = [("tie set", FIRST, FIRST), ("measurably worse", BOUND, BOUND)]
    known += [("baseline", INK, "white")] if baselines else []
    handles = [Line2D([], [], marker="o", color=colour, markerfacecolor=face, label=name) for name, colour, face in known]
    figure.legend(handles=handles, loc="outside upper left", ncols=3, frameon=False, fontsize=9)


def quality_and_cost(
    settings: Sequence[TrialResult],
    fronts: Mapping[str, Sequence[FrontPoint]],
    metric: str,
    chosen: TrialResult,
    pruned: Sequence[TrialResult] = (),
) -> Figure:
    """Quality against each cost, with the settings that nothing beats in both joined by a line."""
    figure, panels = panelled(len(fronts), height=3.6)
    for axes, (cost, points) in zip(panels, fronts.items(), strict=True):
        _cost_axis(axes, settings, cost)
        sized = [_at(r, metric, cost) for r in settings if metric in r.metrics and not r.point.baseline]
        axes.scatter([x for x, _ in sized], [y for _, y in sized], s=22, color=BOUND, alpha=0.6, linewidth=0)
        _baselines(axes, settings, metric, cost)
        _bounds(axes, pruned, metric, cost)
        on = sorted((p.values[cost], scaled(metric, p.values[metric])) for p in points)
        axes.plot([x for x, _ in on], [y for _, y in on], drawstyle="steps-post", color=FIRST, marker="o", markersize=5)
        if metric in chosen.metrics:
            star: dict[str, Any] = {"marker": "*", "s": 190, "color": WITHIN, "edgecolor": INK, "linewidth": 0.7, "zorder": 4}
            axes.scatter(*_at(chosen, metric, cost), **star)
        axes.set_xlabel(f"{name_of(cost)}{', ' + chosen.unit if cost == 'context_at_3' else ''}")
        quality_axis(axes, metric)
    _cost_legend(figure, settings, pruned)
    return figure


def _at(r: TrialResult, metric: str, cost: str) -> tuple[float, float]:
    return r.metrics[cost], scaled(metric, r.metrics[metric])


def _cost_axis(axes: Axes, settings: Sequence[TrialResult], cost: str) -> None:
    """Contexts differ manifold: a whole document would press all else together."""
    if cost == "context_at_3" and min(r.metrics[cost] for r in settings) > 0:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())


def _baselines(axes: Axes, settings: Sequence[TrialResult], metric: str, cost: str) -> None:
    for r in settings:
        if r.point.baseline and metric in r.metrics:
            at = _at(r, metric, cost)
            axes.scatter(*at, marker="D", s=34, facecolor="white", edgecolor=INK, linewidth=1.1, zorder=3)
            right = (axes.transData + axes.transAxes.inverted()).transform(at)[0] > 0.5
            shift, side = (-7, "right") if right else (7, "left")
            axes.annotate(str(r.point), at, xytext=(shift, 8), textcoords="offset points", fontsize=7.5, ha=side, va="center")


def _bounds(axes: Axes, pruned: Sequence[TrialResult], metric: str, cost: str) -> None:
    known = [r.bound.metrics for r in pruned if r.bound]
    at = [(m[cost], scaled(metric, m[metric])) for m in known if cost in m and metric in m]
    if at:
        axes.scatter([x for x, _ in at], [y for _, y in at], marker="v", s=30, facecolor="none", edgecolor=BOUND, linewidth=1)


def _cost_legend(figure: Figure, settings: Sequence[TrialResult], pruned: Sequence[TrialResult]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [], [], marker="*", markersize=12, color=WITHIN, markeredgecolor=INK, linestyle="", label="the setting of this page"
        ),
        Line2D([], [], marker="o", color=FIRST, label="nothing beats it in both"),
        Line2D([], [], marker="o", color=BOUND, alpha=0.6, linestyle="", label="other settings"),
    ]
    if any(r.point.baseline for r in settings):
        handles.append(Line2D([], [], marker="D", color=INK, markerfacecolor="white", linestyle="", label="baseline"))
    if pruned:
        handles.append(Line2D([], [], marker="v", color=BOUND, markerfacecolor="none", linestyle="", label="pruned: at most"))
    figure.legend(handles=handles, loc="outside upper left", ncols=5, frameon=False, fontsize=9)


def sensitivity(found: Sensitivity) -> Figure:
    """Importances as bars, and the mean score along each axis with its interval."""
    figure, panels = panelled(bool(found.importances) + len(found.marginals), height=2.9)
    if found.importances:
        _importances(panels.pop(0), found.importances)
    for axes, (name, bins) in zip(panels, found.marginals.items(), strict=True):
        _marginal(axes, found.metric, bins)
        axes.set_xlabel(name.replace("_", " "))
        quality_axis(axes, found.metric, f"mean {name_of(found.metric)}")
    return figure


def _importances(axes: Axes, shares: Mapping[str, float]) -> None:
    names = sorted(shares, key=lambda name: shares[name])
    axes.grid(visible=False)
    bars = axes.barh([n.replace("_", " ") for n in names], [100 * shares[n] for n in names], color=FIRST, height=0.55)
    axes.bar_label(bars, [f"{100 * shares[n]:.0f} %" for n in names], fontsize=8, padding=3)
    axes.set_xlim(0, 112)
    axes.set_xlabel("importance, % of the variance")


def _marginal(axes: Axes, metric: str, bins: Sequence[Bin]) -> None:
    for at, b in enumerate(bins):
        if b.interval:
            axes.plot([at, at], [scaled(metric, b.interval.low), scaled(metric, b.interval.high)], color=FIRST, linewidth=1.4)
        axes.plot(at, scaled(metric, b.value), marker="o", markersize=5, color=FIRST)
    rotated: dict[str, Any] = {"rotation": 25, "ha": "right"} if any(len(b.label) > 5 for b in bins) else {}
    axes.set_xticks(range(len(bins)), [b.label for b in bins], fontsize=8, parse_math=False, **rotated)
    axes.set_xlim(-0.5, len(bins) - 0.5)
