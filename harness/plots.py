"""Figures from finished trials, drawn without global state; to add one, write a function and an entry in `report._plots`."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.records import Threshold, TrialResult
from harness.threshold import gate_scores

LEADING = 12
MARKERS = "osD^vP*X<>hd"
FIRST, WITHIN, BOUND, INDEX = "#1d5b8f", "#e08a1e", "#6b7280", "#4b7f6a"
CLASSES = (
    ("positives", "first chunk holds\nthe evidence", "#1d5b8f", "o"),
    ("wrong", "wrong first\nchunk", "#b4461f", "s"),
    ("unanswerable", "unanswerable\nquestion", "#6b4c9a", "^"),
)


def png(figure: Figure) -> bytes:
    """A figure as PNG; the same figure gives the same bytes."""
    FigureCanvasAgg(figure)
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=144, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


def _figure(width: float = 8.4, height: float = 4.4) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def _rate(result: TrialResult, k: int) -> float:
    questions = result.answerable
    return 100 * result.hits(k) / questions if questions else float("nan")


def _percent_axis(axes: Axes) -> None:
    axes.set_ylim(0, 104)
    axes.set_ylabel("dev questions, %")


def hits_by_size(settings: Sequence[TrialResult]) -> Figure:
    """hit@1 and hit@3 against chunk size, a marker a splitter; hollow where the model cuts chunks; the ceiling above."""
    from matplotlib.lines import Line2D

    figure, axes = _figure()
    name = settings[0].hit_name
    splitters = sorted({r.point.splitter for r in settings if not r.point.baseline})
    for r in settings:
        if r.point.baseline:  # it has no size, only hits
            axes.axhline(_rate(r, 1), color=FIRST, linewidth=1, linestyle=":")
            axes.annotate(
                f"{r.point}, {name}@1", (1, _rate(r, 1)), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8
            )
    settings = [r for r in settings if not r.point.baseline]
    marker = {s: MARKERS[i % len(MARKERS)] for i, s in enumerate(splitters)}
    for r in settings:
        x = r.point.chunk_size
        axes.scatter(x, 100 * r.metrics.get("ceiling", float("nan")), marker="_", s=90, color=BOUND, linewidth=1.2)
        for k, colour in ((3, WITHIN), (1, FIRST)):
            face = "white" if r.metrics.get("truncated_share", 0) > 0 else colour
            axes.scatter(x, _rate(r, k), marker=marker[r.point.splitter], s=38, facecolor=face, edgecolor=colour, linewidth=1.4)
    plain: dict[str, Any] = {"linestyle": "", "markersize": 7}
    handles = [
        Line2D([], [], marker="o", color=FIRST, label=f"{name}@1", **plain),
        Line2D([], [], marker="o", color=WITHIN, label=f"{name}@3", **plain),
        Line2D([], [], marker="_", color=BOUND, label="ceiling (upper bound)", **plain),
        *(Line2D([], [], marker=marker[s], color="#111827", label=s, **plain) for s in splitters),
    ]
    if any(r.metrics.get("truncated_share", 0) > 0 for r in settings):
        hollow: dict[str, Any] = {"markerfacecolor": "white", "label": "hollow: model cuts chunks"}
        handles.append(Line2D([], [], marker="o", color="#111827", **hollow, **plain))
    figure.legend(handles=handles, loc="outside upper left", ncols=4, frameon=False, fontsize=9)
    axes.set_xlabel(f"chunk size, {settings[0].unit}")
    _percent_axis(axes)
    return figure


def hits_by_setting(settings: Sequence[TrialResult]) -> Figure:
    """hit@1 and hit@3 of the leading settings as pairs of bars."""
    figure, axes = _figure()
    shown = settings[:LEADING]
    for offset, k, colour in ((-0.2, 1, FIRST), (0.2, 3, WITHIN)):
        bars = axes.bar(
            [i + offset for i in range(len(shown))],
            [_rate(r, k) for r in shown],
            0.38,
            color=colour,
            label=f"{shown[0].hit_name}@{k}",
        )
        axes.bar_label(bars, [str(r.hits(k)) for r in shown], fontsize=8, padding=2)
    _setting_axis(axes, shown)
    _percent_axis(axes)
    figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=9)
    return figure


def index_by_setting(settings: Sequence[TrialResult]) -> Figure:
    """Index ratio of the leading settings as bars, with the line of no repetition."""
    figure, axes = _figure()
    shown = settings[:LEADING]
    bars = axes.bar(range(len(shown)), [r.metrics["index_ratio"] for r in shown], 0.6, color=INDEX)
    axes.bar_label(bars, [f"{r.metrics['index_ratio']:.2f}" for r in shown], fontsize=8, padding=2)
    axes.axhline(1, color="#111827", linewidth=0.8, linestyle="--")
    _setting_axis(axes, shown)
    axes.set_ylabel("units stored per unit in the source")
    return figure


def _setting_axis(axes: Axes, shown: Sequence[TrialResult]) -> None:
    axes.set_xticks(range(len(shown)), [str(r.point) for r in shown], rotation=35, ha="right", fontsize=9)
    axes.set_xlabel(f"setting (splitter size/overlap, {shown[0].unit})")


def score_distributions(result: TrialResult, similarity: str, model: str, tuned: Threshold | None) -> Figure:
    """First chunks' scores by class, each question a point, with the threshold as a line."""
    figure, axes = _figure(height=4.6)
    scores = gate_scores(result.evaluation.questions if result.evaluation else ())
    axes.grid(visible=False)
    for at, (name, _, colour, marker) in enumerate(CLASSES):
        values = sorted(getattr(scores, name))
        if values:
            style: dict[str, Any] = {
                "medianprops": {"color": colour, "linewidth": 1.6},
                "boxprops": {"color": colour},
                "showfliers": False,
            }
            axes.boxplot(values, positions=[at], widths=0.5, orientation="horizontal", **style)
            # Spread by rank, not by chance: the same scores give the same picture.
            spread = [at + 0.16 * ((i * 0.618034) % 1 - 0.5) for i in range(len(values))]
            axes.scatter(values, spread, s=22, marker=marker, color=colour, alpha=0.55, linewidth=0)
        else:
            axes.annotate("none", (0.5, at), xycoords=("axes fraction", "data"), ha="center", va="center", color=BOUND)
    names = [f"{label}\n({len(getattr(scores, name))})" for name, label, _, _ in CLASSES]
    axes.set_yticks(range(len(CLASSES)), names, fontsize=9)
    axes.set_ylim(len(CLASSES) - 0.5, -0.5)
    if tuned:
        axes.axvline(tuned.value, color="#111827", linewidth=1.4, linestyle="--", label=f"threshold {tuned.value}")
        figure.legend(loc="outside lower left", frameon=False, fontsize=9)
    axes.set_xlabel(f"score of the first chunk ({similarity})")
    # A model's name may hold a dollar sign, which would otherwise begin a formula.
    axes.set_title(f"{model}, {similarity}", fontsize=10, loc="left", parse_math=False)
    return figure
