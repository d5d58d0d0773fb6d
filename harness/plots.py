"""Figures from finished trials, drawn without global state; to add one, write a function and an entry in `report._plots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from harness.records import Threshold, TrialResult
from harness.threshold import gate_scores

LEADING, FEWEST = 12, 4  # settings in a chart of bars, and for how many it has room at least
MANY = 100  # settings, above which markers are small
MARKERS = "osD^P*X<>hd"  # "v" is an upper bound
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


def plain(axes: Axes) -> Axes:
    """Axes without a frame, with faint lines to read values by."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    return axes


def _figure(width: float = 8.4, height: float = 4.4) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, plain(figure.add_subplot())


def _rate(result: TrialResult, k: int) -> float:
    questions = result.answerable
    return 100 * result.hits(k) / questions if questions else float("nan")


def _percent_axis(axes: Axes) -> None:
    axes.set_ylim(-2, 104)
    axes.set_ylabel("dev questions, %")


def hits_by_size(settings: Sequence[TrialResult], pruned: Sequence[TrialResult] = ()) -> Figure:
    """hit@1 and hit@3 against chunk size, a marker a splitter; hollow where the model cuts chunks; the ceiling above, and
    what a pruned trial could have had at most."""
    figure, axes = _figure()
    name = settings[0].hit_name
    _baseline_lines(axes, settings, name)
    sized = [r for r in settings if not r.point.baseline]
    marker = {s: MARKERS[i % len(MARKERS)] for i, s in enumerate(sorted({r.point.splitter for r in sized}))}
    ceilings = [100 * r.metrics.get("ceiling", float("nan")) for r in sized]
    axes.scatter([r.point.chunk_size for r in sized], ceilings, marker="_", s=90, color=BOUND, linewidth=1.2)
    area = 38 if len(sized) <= MANY else 12
    for (splitter, cut), alike in _alike(sized).items():
        for k, colour in ((3, WITHIN), (1, FIRST)):
            face = "white" if cut else colour
            x, y = [r.point.chunk_size for r in alike], [_rate(r, k) for r in alike]
            axes.scatter(x, y, marker=marker[splitter], s=area, facecolor=face, edgecolor=colour, linewidth=1.2)
    bounds = [(r.point.chunk_size, 100 * n / r.answerable) for r in pruned if r.bound and (n := r.bound.hits(1)) is not None]
    if bounds:
        axes.scatter(
            [x for x, _ in bounds], [y for _, y in bounds], marker="v", s=34, facecolor="none", edgecolor=BOUND, linewidth=1
        )
    handles = _size_legend(name, marker, any(map(_cut, sized)), bool(bounds))
    figure.legend(handles=handles, loc="outside upper left", ncols=4, frameon=False, fontsize=9)
    axes.set_xlabel(f"chunk size, {settings[0].unit}")
    _percent_axis(axes)
    return figure


def _cut(r: TrialResult) -> bool:
    return r.metrics.get("truncated_share", 0) > 0


def _alike(settings: Sequence[TrialResult]) -> dict[tuple[str, bool], list[TrialResult]]:
    """Settings that are drawn alike: of one splitter, whole for the model or not."""
    found: dict[tuple[str, bool], list[TrialResult]] = {}
    for r in settings:
        found.setdefault((r.point.splitter, _cut(r)), []).append(r)
    return found


def _baseline_lines(axes: Axes, settings: Sequence[TrialResult], name: str) -> None:
    """Baselines have no size, only hits."""
    at: dict[float, list[str]] = {}
    for r in settings:
        if r.point.baseline:
            at.setdefault(_rate(r, 1), []).append(str(r.point))
    for rate, names in at.items():
        axes.axhline(rate, color=FIRST, linewidth=1, linestyle=":")
        words = "\n".join((*names, f"{name}@1"))
        beside: dict[str, Any] = {"xytext": (4, 0), "textcoords": "offset points", "ha": "left", "va": "center"}
        axes.annotate(words, (1, rate), xycoords=("axes fraction", "data"), fontsize=7, linespacing=0.95, **beside)


def _size_legend(name: str, marker: Mapping[str, str], cut: bool, pruned: bool) -> list[Any]:
    from matplotlib.lines import Line2D

    def entry(shape: str, colour: str, label: str, **more: Any) -> Line2D:
        return Line2D([], [], marker=shape, color=colour, label=label, linestyle="", markersize=7, **more)

    return [
        entry("o", FIRST, f"{name}@1"),
        entry("o", WITHIN, f"{name}@3"),
        entry("_", BOUND, "ceiling (upper bound)"),
        *(entry(shape, "#111827", splitter) for splitter, shape in marker.items()),
        *([entry("o", "#111827", "hollow: model cuts chunks", markerfacecolor="white")] if cut else []),
        *([entry("v", BOUND, f"pruned: {name}@1 at most", markerfacecolor="none")] if pruned else []),
    ]


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
    axes.set_ylim(0, 104)
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
    axes.set_xlim(-0.6, max(len(shown), FEWEST) - 0.4)
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
