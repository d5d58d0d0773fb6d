"""What statistics look like in a terminal: intervals, the tie set, two settings side by side, the gate; it computes nothing."""

from __future__ import annotations

from itertools import groupby

from rich.text import Text

from harness.analysis import Analysis
from harness.compare import Compared, Row
from harness.console import out, plain_table
from harness.gate import Gated
from harness.stats import CONFIDENCE, SIGNIFICANCE, Interval


def between(interval: Interval | None) -> str:
    """An interval of a rate in percent: `70-93`; a question mark where there is none."""
    return f"{100 * interval.low:.0f}-{100 * interval.high:.0f}" if interval else "?"


def points(difference: float, interval: Interval | None) -> str:
    """A difference in points, with its interval."""
    shown = f"{100 * difference:+.1f}"
    return f"{shown} ({100 * interval.low:+.1f} to {100 * interval.high:+.1f})" if interval else shown


def chance(p_value: float) -> str:
    """A p-value as it is printed."""
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def show_analysis(found: Analysis) -> None:
    """Under the table of a sweep: what its figures can carry."""
    for name, why in found.withheld.items():
        out().print(Text(f"{name}: not said, for {why}"))
    made = found.comparison
    if made and made.compared > 1:
        out().print(
            f"tie set: {len(made.tie_set)} of {made.compared} settings are not measurably worse than the leader in {made.metric}"
        )
    if found.optimism:
        o, few = found.optimism, "" if made is None or made.reliable else " (unreliable: few groups of questions)"
        out().print(
            f"{o.metric} of the choice: {o.dev:.1%} on dev; the best of many looks better than it is: expect about "
            f"{o.expected:.1%} of fresh questions{few}"
        )
    for (_, k), alike in groupby(found.budgets, key=lambda s: (s.trial.trial, s.k)):
        spent, *more = alike
        tie = f"; as many by {spent.tied} others" if spent.tied else ""
        share = f"{spent.hits}/{spent.of} ({between(spent.interval)} %)"
        out().print(
            f"for {spent.budget:,} {spent.trial.unit} of context{' or more' if more else ''}: {_first(k)} of "
            f"{spent.trial.point} ({spent.context:.0f} on average) answer {share}{tie}"
        )


def _first(k: int) -> str:
    return "the first chunk" if k == 1 else f"the first {k} chunks"


def show_compared(found: Compared) -> None:
    out().print(Text(f"first:  {found.first.name}"))
    out().print(Text(f"second: {found.second.name}"))
    table = plain_table("metric", "first", "second", "difference in points", "won", "lost", "p", left=("metric",))
    for row in found.rows:
        table.add_row(row.metric, *_row(row))
    for name, (first, second) in found.costs.items():
        table.add_row(name, f"{first:.6g}", f"{second:.6g}", f"{second - first:+.4g}", "", "", "")
    out().print(table)
    groups = f" in {found.groups} groups that share evidence" if found.groups < found.shared else ""
    unreliable = "; so few that the intervals are unreliable" if not found.reliable else ""
    out().print(
        f"{found.shared} shared questions{groups}{unreliable}; differences are second minus first, with {CONFIDENCE:.0%} "
        "intervals; p: two-sided, of each row alone, not corrected for how the two were picked"
    )
    for name, ids in (("only the second has first", found.won), ("only the first has first", found.lost)):
        if ids:
            out().print(Text(f"{name}: {', '.join(ids)}"))
    for remark in found.remarks:
        out().print(Text(f"note: {remark}", style="yellow"))


def _row(row: Row) -> tuple[str, ...]:
    difference = points(row.difference, row.interval)
    return (f"{row.first:.1%}", f"{row.second:.1%}", difference, str(row.won), str(row.lost), chance(row.p_value))


def show_gated(found: Gated) -> None:
    row, p_value = found.row, chance(found.p_value)
    word, style = ("measurably worse", "bold red") if found.worse else ("not measurably worse", "bold green")
    out().print(Text.assemble((word, style), f" than lock {found.baseline.lock_id}: {found.candidate.name}"))
    out().print(
        f"{row.metric}: {row.first:.1%} then, {row.second:.1%} now, {points(row.difference, row.interval)} points; "
        f"{row.won} questions won, {row.lost} lost of {row.questions}; one-sided p {p_value} (worse: {SIGNIFICANCE:g} or less)"
    )
    if not found.worse and found.detectable is not None:
        out().print(f"a loss of about {100 * found.detectable:.0f} points would have been seen four times in five")
    if not found.reliable:
        out().print(Text(f"note: {found.groups} groups of questions are few: the test is unreliable", style="yellow"))
    if found.relabelled:
        out().print(Text("note: evidence or questions of dev are not those of the lock", style="yellow"))
    if found.left_out:
        out().print(Text(f"note: {found.left_out} questions of the lock are no longer asked", style="yellow"))
    if found.foreign:
        what = "another scoring function than the lock's: its threshold does not carry over, tune a new one"
        out().print(Text(f"note: {what}", style="yellow"))
