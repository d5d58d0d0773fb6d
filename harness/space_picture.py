"""A picture of the space before anything is embedded: a column a splitter, a line an overlap; a row more is a line in `ROWS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator, StrMethodFormatter

from harness.errors import Fault, HarnessError
from harness.estimated import Estimate, PointEstimate
from harness.plots import png

MOST_COLUMNS = 12
MOST_IN_LEGEND, PER_LINE = 12, 6
TICKS = 6  # about so many of the sizes are named
PERCENT = (-4.0, 104.0)  # with room for the markers at either end
Column = tuple[str, tuple[str, ...]]  # splitter, prepend


@dataclass(frozen=True)
class Row:
    """One figure of a point, drawn against chunk size."""

    label: str
    of: Callable[[PointEstimate], float | None]
    limits: tuple[float, float] | None  # of the axis; None: as the values are


ROWS = (
    Row("ceiling,\n% of dev questions", lambda p: None if p.ceiling is None else 100 * p.ceiling, PERCENT),
    Row("index ratio, units stored\nper unit in the source", lambda p: p.index_ratio, None),
    Row("truncated,\n% of chunks", lambda p: None if p.truncated_share is None else 100 * p.truncated_share, PERCENT),
)


def space_picture(found: Estimate) -> Figure:
    """Ceiling, index ratio and truncated share against chunk size. Raises HarnessError when no point has a size."""
    points = [p for p in found.points if p.index_ratio is not None and not p.point.baseline]
    if not points:
        raise HarnessError(Fault("--picture", "no point of the space can be drawn: none has a size and is feasible", "add one"))
    columns = sorted({(p.point.splitter, p.point.prepend) for p in points})[:MOST_COLUMNS]
    rows = [row for row in ROWS if any(row.of(p) for p in points)]
    overlaps = sorted({p.point.overlap_ratio for p in points})
    norm = Normalize(0, max(overlaps[-1], 0.01))
    width = max(6.4, 1.6 + 2.5 * len(columns))
    figure = Figure(figsize=(width, 1.5 + 2.0 * len(rows)), layout="constrained")
    panels = figure.subplots(len(rows), len(columns), squeeze=False, sharex=True, sharey="row")
    for row, axes_of_row in zip(rows, panels, strict=True):
        for column, axes in zip(columns, axes_of_row, strict=True):
            _draw(axes, row, [p for p in points if (p.point.splitter, p.point.prepend) == column], norm)
    for column, axes in zip(columns, panels[0], strict=True):
        axes.set_title(_name(column), fontsize=10, loc="left", parse_math=False)
    for row, axes in zip(rows, panels[:, 0], strict=True):
        axes.set_ylabel(row.label, fontsize=9)
    _size_axis(panels[-1], points, found.unit)
    _explain_colours(figure, panels, overlaps, norm, any(not p.feasible for p in points))
    figure.suptitle(_title(found, rows), fontsize=11, x=0.01, ha="left", parse_math=False)
    return figure


def write_picture(found: Estimate, path: Path) -> None:
    """Raises HarnessError when the file can't be written."""
    content = png(space_picture(found))
    try:
        path.write_bytes(content)
    except OSError as error:
        fix = "name a file in a folder that is there and may be written to"
        raise HarnessError(Fault("--picture", f"'{path}' can't be written ({error.strerror})", fix)) from error


def _name(column: Column) -> str:
    splitter, prepend = column
    return f"{splitter}\n+ {', '.join(prepend)}" if prepend else splitter


def _title(found: Estimate, rows: Sequence[Row]) -> str:
    every = found.of is not None and found.of <= len(found.points)
    which = "every point" if every else f"a lattice of {len(found.points)} points"
    whole = "" if ROWS[2] in rows else "; the model reads every chunk whole"
    return f"The space before anything is embedded: {which}{whole}"


def _colour(norm: Normalize, overlap: float) -> Any:
    # Even to every kind of colour blindness, and never so light that white swallows it.
    return colormaps["cividis"](0.9 * float(norm(overlap)))


def _draw(axes: Axes, row: Row, points: Sequence[PointEstimate], norm: Normalize) -> None:
    """Lines of one panel, more overlap behind less, so that where they meet the least is seen."""
    for overlap in sorted({p.point.overlap_ratio for p in points}, reverse=True):
        line = sorted(
            (p.point.chunk_size, y, p.feasible)
            for p in points
            if p.point.overlap_ratio == overlap and (y := row.of(p)) is not None
        )
        colour = _colour(norm, overlap)
        axes.plot([x for x, _, _ in line], [y for _, y, _ in line], color=colour, linewidth=1.3, zorder=2)
        for feasible, face in ((True, colour), (False, "white")):
            some = [(x, y) for x, y, f in line if f == feasible]
            axes.scatter(
                [x for x, _ in some], [y for _, y in some], s=16, facecolor=face, edgecolor=colour, linewidth=1, zorder=3
            )
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8)
    if row.limits is not None:
        axes.set_ylim(row.limits)


def _size_axis(axes_of_row: Sequence[Axes], points: Sequence[PointEstimate], unit: str) -> None:
    named = _apart(sorted({p.point.chunk_size for p in points}))
    for axes in axes_of_row:
        axes.set_xscale("log")
        axes.set_xlabel(f"chunk size, {unit}", fontsize=9)
        axes.xaxis.set_major_locator(FixedLocator(named))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())


def _apart(sizes: Sequence[int]) -> list[int]:
    """The first size, the last, and those between that leave room for each other's names."""
    room = (sizes[-1] / sizes[0]) ** (1 / TICKS)
    named = [sizes[0]]
    for size in sizes[1:-1]:
        if size >= room * named[-1] and sizes[-1] >= room * size:
            named.append(size)
    return list(dict.fromkeys((*named, sizes[-1])))


def _explain_colours(figure: Figure, panels: Any, overlaps: Sequence[float], norm: Normalize, refused: bool) -> None:
    plain: dict[str, Any] = {"marker": "o", "markersize": 4, "linewidth": 1.3}
    handles = []
    if len(overlaps) <= MOST_IN_LEGEND:
        handles = [Line2D([], [], color=_colour(norm, o), label=f"{o:.4g}", **plain) for o in overlaps]
    else:
        figure.colorbar(ScalarMappable(norm, colormaps["cividis"]), ax=panels, label="overlap, share of the size", shrink=0.6)
    if refused:
        hollow: dict[str, Any] = {"linestyle": "", "marker": "o", "markerfacecolor": "white", "color": "#111827"}
        handles.append(Line2D([], [], label="refused: the model cuts chunks", **hollow))
    if handles:
        title = "overlap, share of the size" if len(overlaps) <= MOST_IN_LEGEND else None
        style: dict[str, Any] = {"frameon": False, "fontsize": 9, "title_fontsize": 9, "alignment": "left"}
        figure.legend(handles=handles, title=title, loc="outside lower left", ncols=min(len(handles), PER_LINE), **style)
