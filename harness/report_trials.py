"""The report's tables of trials: what decides first, what they cost in a second one; a column more is a line in `_COSTS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.comparison import Beside
from harness.metrics import COSTS
from harness.records import TrialResult, hit_metric
from harness.report_facts import Facts
from harness.report_words import (
    COMPLETE,
    FIRST,
    UNDEFINED,
    between,
    chance,
    difference,
    difference_between,
    hit,
    name_of,
    number,
    numbered,
    percent,
    value,
)

MOST = 100  # rows of a table: all of them are in trials.csv
HITS = ("hit_at_1", "document_hit_at_1")


@dataclass(frozen=True)
class Cell:
    """A figure, and below it in small what goes with it."""

    figure: str
    small: str = ""


@dataclass(frozen=True)
class Column:
    """A heading and what it means."""

    name: str
    meaning: str


CEILING = Column("Ceiling, upper bound", "questions that any ranking of these chunks could answer")


def _has_ceiling(facts: Facts) -> bool:
    """Whether any question has one: evidence that is a region is never cut."""
    return any("ceiling" in r.metrics for r in facts.settings)


@dataclass(frozen=True)
class Row:
    """One setting of the table of trials: its cells, and in words what it is."""

    trial: str
    setting: str
    notes: tuple[str, ...]
    cells: tuple[Cell, ...]
    emphasised: bool


def columns(facts: Facts) -> list[Column]:
    """The headings of the leading table."""
    name, metric = facts.shown.hit_name, facts.analysis.metric
    complete = COMPLETE[name]
    interval = "; below it its 95 % interval"
    known = [
        Column(f"{name}@1", f"{FIRST[name]}{interval if metric in HITS else ''}"),
        Column(f"{name}@3", f"{complete} within the first three chunks"),
        Column("MRR", f"mean of 1 / the first rank with {complete}"),
        *([CEILING] if _has_ceiling(facts) else []),
        Column("Index ratio", "units stored per unit in the source"),
        Column("context@3", f"mean total size of a question's first three chunks, in {facts.unit}"),
    ]
    if metric and metric not in HITS:
        known.insert(0, Column(name_of(metric), f"what the selection goes by first{interval}"))
    if facts.analysis.comparison:
        figures = "the mean difference on the same questions; below it its 95 % interval, the questions won and lost"
        known.append(Column("Beside the leader", f"{figures}, and the one-sided p-value, corrected for the number of candidates"))
    return known


def rows(facts: Facts) -> list[Row]:
    """The distinct complete settings, best first, as many as are shown, and those that are locked or chosen."""
    return [_row(facts, r) for r in shown(facts)]


def shown(facts: Facts) -> list[TrialResult]:
    """The settings that have a row."""
    marked = {facts.shown.trial, facts.selected.chosen.trial}
    return [r for at, r in enumerate(facts.settings) if at < MOST or r.trial in marked]


def _row(facts: Facts, r: TrialResult) -> Row:
    m, made, metric = r.metrics, facts.analysis.comparison, facts.analysis.metric
    beside = made.of(r) if made else None
    span = between(metric, beside.interval) if metric and beside else ""
    cells = [
        Cell(hit(r, 1), span if metric in HITS else ""),
        Cell(hit(r, 3)),
        Cell(number(r.mrr)),
        *([Cell(f"≤ {percent(m['ceiling'])}" if "ceiling" in m else UNDEFINED)] if _has_ceiling(facts) else []),
        Cell(number(m.get("index_ratio"))),
        Cell(number(m.get("context_at_3"), 0)),
    ]
    if metric and metric not in HITS:
        cells.insert(0, Cell(value(metric, m.get(metric)), span))
    if made and metric:
        cells.append(_beside(metric, r.trial == made.leader.trial, beside))
    notes = _notes(facts, r, beside)
    return Row(numbered(r), str(r.point), notes, tuple(cells), bool({"chosen", "locked"} & set(notes)))


def _beside(metric: str, leads: bool, beside: Beside | None) -> Cell:
    if beside is None:
        return Cell(UNDEFINED)
    if leads:
        return Cell("leads")
    span = difference_between(metric, beside.difference_interval)
    counts = f"won {beside.won}, lost {beside.lost}, p {chance(beside.corrected)}"
    return Cell(difference(metric, beside.difference), f"{span}; {counts}")


def _notes(facts: Facts, r: TrialResult, beside: Beside | None) -> tuple[str, ...]:
    made, tied = facts.analysis.comparison, facts.selected.tied
    first = "first by the key" if facts.experiment.selection.objective else "chosen"
    known = {
        first: r.trial == facts.selected.chosen.trial,
        "locked": facts.lock is not None and facts.lock_is_of_this_study and r.trial == facts.lock.trial,
        "tied for first": r.trial in tied and len(tied) > 1,
        "tie set": made is not None and made.compared > 1 and beside in made.tie_set and not (r.trial in tied and len(tied) > 1),
        "baseline": r.point.baseline,
        f"same chunks as trial {r.reused_from}": r.reused_from is not None,
    }
    return tuple(note for note, holds in known.items() if holds)


def _of(metric: str, tell: Callable[[float | None], str]) -> Callable[[TrialResult], str]:
    return lambda r: tell(r.metrics.get(metric))


def _whole(found: float | None) -> str:
    return number(found, 0)


def _tenths(found: float | None) -> str:
    return number(found, 1)


def _spread(r: TrialResult) -> str:
    low, high = (r.metrics.get(f"chunk_size_{at}") for at in ("p05", "p95"))
    return UNDEFINED if low is None or high is None else f"{low:,.0f} to {high:,.0f}"


_COSTS: tuple[tuple[str, str, Callable[[TrialResult], str]], ...] = (
    ("Chunks", "number of chunks", _of("chunks", _whole)),
    ("Mean size", "mean chunk size in {unit}", _of("mean_chunk_size", _tenths)),
    ("5 to 95 %", "sizes of the middle nine tenths of the chunks, in {unit}", _spread),
    ("Mean overlap", "units that a chunk shares with the one before, in {unit}", _of("mean_overlap", _tenths)),
    ("Truncated", "share of chunks that the model reads only in part", _of("truncated_share", percent)),
    ("Embedded", "tokens that this trial sent to the model: not what was cached or shared", _of("tokens_embedded", _whole)),
    ("Seconds", "wall time of the trial", lambda r: f"{r.ended - r.started:.2f}"),
)  # fmt: skip


def cost_columns(facts: Facts) -> list[Column]:
    """The headings of the second table: costs, then every further metric that the trials have."""
    costs = [Column(name, meaning.format(unit=facts.unit)) for name, meaning, _ in _COSTS]
    return [*costs, *(Column(name_of(metric), "") for metric in _further(facts))]


def cost_rows(facts: Facts) -> list[tuple[str, str, list[str]]]:
    """Trial, setting and cells of each setting that has a row."""
    further = _further(facts)
    rows = []
    for r in shown(facts):
        cells = [*(tell(r) for _, _, tell in _COSTS), *(value(m, r.metrics.get(m)) for m in further)]
        rows.append(("" if r.aside else str(r.trial), str(r.point), cells))
    return rows


def _further(facts: Facts) -> list[str]:
    """Quality metrics that the leading table does not have, in the order in which they are measured."""
    return [m for m in dict.fromkeys(m for r in facts.settings for m in r.metrics) if m not in (*_led(facts), *COSTS)]


def _led(facts: Facts) -> tuple[str, ...]:
    hits = (hit_metric(facts.shown.hit_name, k) for k in (1, 3))
    metric = facts.analysis.metric or ""
    return (*hits, "mrr", "document_mrr", "ceiling", metric)
