"""The figure of quality against chunk size: a panel a splitter, a line an overlap; what it shows is read by `curve`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.curve import Curve, Line
from harness.plots import WITHIN
from harness.plots_statistics import panelled, quality_axis, scaled
from harness.report_words import whole_percent

CROWDED = 40  # points of a panel, above which intervals would hide them
FEW_OVERLAPS = 6  # that colours of a legend tell apart
Panel = tuple[str, tuple[str, ...]]  # splitter, and what is put before chunks


def _by_panel(read: Curve) -> dict[Panel, list[Line]]:
    of: dict[Panel, list[Line]] = {}
    for line in read.lines:
        of.setdefault((line.splitter, line.prepend), []).append(line)
    return of


def _crowded(lines: Sequence[Line]) -> bool:
    return sum(len(line.points) for line in lines) > CROWDED


def crowded(read: Curve) -> bool:
    """Whether some panel has too many points for their intervals."""
    return any(map(_crowded, _by_panel(read).values()))


def curve(read: Curve, unit: str) -> Figure:
    """Quality against chunk size: a panel a splitter, a line an overlap, intervals, and a ring where a line flattens."""
    of = _by_panel(read)
    ratios = sorted({line.overlap_ratio for line in read.lines})
    colours = _colours(ratios)
    low = _floor(read)
    figure, panels = panelled(len(of))
    for axes, ((splitter, prepend), lines) in zip(panels, of.items(), strict=True):
        _panel(axes, read.metric, lines, colours)
        title = f"{splitter} with {' and '.join(prepend)}" if prepend else splitter
        axes.set_title(title, fontsize=10, loc="left", parse_math=False)
        axes.set_xlabel(f"chunk size, {unit}")
        quality_axis(axes, read.metric)
        axes.set_ylim(bottom=low)
    _overlap_legend(figure, panels, colours, any(line.flat_at for line in read.lines))
    return figure


def _floor(read: Curve) -> float:
    """Where the axis begins: below every point and interval, at a round value, so that a step can be seen."""
    least = min(p.interval.low if p.interval else p.value for line in read.lines for p in line.points)
    return scaled(read.metric, max(-0.02, (10 * least // 1 - 1) / 10))


def _colours(ratios: Sequence[float]) -> dict[float, Any]:
    if len(ratios) > FEW_OVERLAPS:
        scale = _scale()
        return {r: scale(r / max(ratios)) for r in ratios}
    return {r: _scale()(i / max(1, len(ratios) - 1)) for i, r in enumerate(ratios)}


def _scale() -> Any:
    """Viridis without its yellow end, which is hardly seen on white."""
    import matplotlib
    from matplotlib.colors import ListedColormap

    viridis = matplotlib.colormaps["viridis"]
    return ListedColormap([viridis(0.85 * i / 255) for i in range(256)])


def _panel(axes: Axes, metric: str, lines: Sequence[Line], colours: Mapping[float, Any]) -> None:
    ratios, apart = sorted(colours), 1.03 if 1 < len(colours) <= FEW_OVERLAPS else 1.0
    intervals = not _crowded(lines)
    for line in lines:
        # Lines of the same sizes side by side, not on each other.
        shift = apart ** (ratios.index(line.overlap_ratio) - (len(ratios) - 1) / 2)
        if intervals or line.reading != "few":
            _line(axes, metric, line, colours[line.overlap_ratio], shift, intervals)
    alone = [(line, p) for line in lines if not intervals and line.reading == "few" for p in line.points]
    x, y = [p.size for _, p in alone], [scaled(metric, p.value) for _, p in alone]
    axes.scatter(x, y, s=14, color=[colours[line.overlap_ratio] for line, _ in alone], linewidth=0)
    axes.set_xscale("log", base=2)
    shown = _apart(sorted({p.size for line in lines for p in line.points}))
    axes.set_xticks(shown, [f"{s:,}" for s in shown], fontsize=9)
    axes.minorticks_off()


def _line(axes: Axes, metric: str, line: Line, colour: Any, shift: float, intervals: bool) -> None:
    x, y = [p.size * shift for p in line.points], [scaled(metric, p.value) for p in line.points]
    errors: dict[str, Any] = {"yerr": _errors(metric, line), "elinewidth": 1, "capsize": 2.5} if intervals else {}
    style = "-" if line.reading != "few" else ""
    axes.errorbar(x, y, color=colour, marker="o", markersize=4.5, linestyle=style, **errors)
    if at := line.flat_at:
        ring: dict[str, Any] = {"facecolor": "none", "edgecolor": WITHIN, "linewidth": 2}
        axes.scatter(at.size * shift, scaled(metric, at.value), s=130, zorder=3, **ring)


def _apart(sizes: Sequence[int]) -> list[int]:
    """Sizes whose labels don't touch on a logarithmic axis; the first is among them."""
    least = (sizes[-1] / sizes[0]) ** (1 / 7) if sizes else 1.0
    shown: list[int] = []
    for size in sizes:
        if not shown or size >= least * shown[-1]:
            shown.append(size)
    return shown


def _errors(metric: str, line: Line) -> list[list[float]]:
    """How far each interval reaches below and above its value; nowhere where there is none."""
    known = [(p.value, p.interval) for p in line.points]
    below = [max(0.0, value - found.low) if found else 0.0 for value, found in known]
    above = [max(0.0, found.high - value) if found else 0.0 for value, found in known]
    return [[scaled(metric, length) for length in lengths] for lengths in (below, above)]


def _overlap_legend(figure: Figure, panels: Sequence[Axes], colours: Mapping[float, Any], flattens: bool) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.lines import Line2D

    ring: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": WITHIN, "markeredgewidth": 2, "markersize": 10}
    handles = [Line2D([], [], marker="o", linestyle="", label="flattens here", **ring)] if flattens else []
    if len(colours) <= FEW_OVERLAPS:
        lines = [Line2D([], [], marker="o", color=c, label=f"overlap {whole_percent(r)}") for r, c in colours.items()]
        handles = [*lines, *handles]
    else:
        mapped = ScalarMappable(Normalize(0, 100 * max(colours)), _scale())
        figure.colorbar(mapped, ax=list(panels), label="overlap, % of chunk size", shrink=0.6)
    if handles:
        figure.legend(handles=handles, loc="outside upper left", ncols=5, frameon=False, fontsize=9)
