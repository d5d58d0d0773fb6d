"""How the report writes figures: counts, rates, intervals, differences, names of metrics; nothing undefined is written as 0."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from harness.errors import counted
from harness.metrics import COSTS
from harness.records import Evaluation, TrialResult
from harness.stats import Interval

UNDEFINED = "undefined"
PERCENT = "\u00a0%"  # which is never alone on a line
# What a hit of either kind has in the first chunks.
COMPLETE = {"hit": "complete evidence", "document hit": "a chunk of the right document or section"}
FIRST = {
    "hit": "complete evidence in the first chunk",
    "document hit": "the first chunk is of the right document or section",
}
NO_SHARES = ("mrr", "document_mrr")  # means that are no share of questions: told as numbers


def share(part: int, of: int) -> str:
    """`29 of 40, 72.5 %`; a share of nothing is undefined."""
    return f"{part} of {of}, {percent(part / of)}" if of else f"{UNDEFINED} (no questions)"


def percent(value: float | None) -> str:
    return UNDEFINED if value is None else f"{100 * value:.1f}{PERCENT}"


def whole_percent(ratio: float) -> str:
    """`20 %`; a tenth is shown where it is not a whole one."""
    return f"{round(100 * ratio, 1):g}{PERCENT}"


def number(value: float | None, digits: int = 3) -> str:
    return UNDEFINED if value is None else f"{value:,.{digits}f}"


def hit(scored: Evaluation | TrialResult, k: int) -> str:
    return share(scored.hits(k), scored.answerable)


def numbered(trial: TrialResult) -> str:
    """`trial 7`; a baseline that was measured beside the search has no number."""
    return "beside the search" if trial.aside else f"trial {trial.trial}"


def time_of(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def name_of(part: str) -> str:
    """A metric of a key or a run as it is read: `hit@1`, `document hit@3`, `MRR`, `less index ratio`."""
    name, at, k = part.removeprefix("-").rpartition("_at_")
    words = (name if at else k).replace("_", " ")
    read = f"{words}@{k}" if at else words.replace("mrr", "MRR")
    return f"less {read}" if part.startswith("-") else read


def key_of(parts: Sequence[str]) -> str:
    return ", then ".join(map(name_of, parts))


def plain_share(metric: str) -> bool:
    """Whether a metric is told in percent."""
    name = metric.removeprefix("-")
    return name not in NO_SHARES and name not in COSTS


def value(metric: str, found: float | None) -> str:
    """A metric's value, in percent where it is a share of questions or of characters."""
    return percent(found) if plain_share(metric) else number(found)


def between(metric: str, interval: Interval | None) -> str:
    """`70 to 93 %`, or `0.79 to 0.95`; an interval that can't be said is undefined."""
    if interval is None:
        return UNDEFINED
    if plain_share(metric):
        return f"{100 * interval.low:.0f} to {100 * interval.high:.0f}{PERCENT}"
    return f"{interval.low:.2f} to {interval.high:.2f}"


def difference(metric: str, found: float) -> str:
    """`-2.5 points`, or `-0.023`, with a true minus sign."""
    return f"{_signed(100 * found, 1)} points" if plain_share(metric) else _signed(found, 3)


def difference_between(metric: str, interval: Interval | None) -> str:
    """`-9.9 to +5.2`, in points or in the metric's own measure."""
    if interval is None:
        return UNDEFINED
    factor, digits = (100, 1) if plain_share(metric) else (1, 3)
    return f"{_signed(factor * interval.low, digits)} to {_signed(factor * interval.high, digits)}"


def _signed(found: float, digits: int) -> str:
    shown = f"{found:+.{digits}f}"
    return shown.lstrip("+-") if not float(shown) else shown.replace("-", "\u2212")


def chance(p_value: float) -> str:
    """A p-value as it is printed."""
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def capital(text: str) -> str:
    """With its first letter large, and the others as they are."""
    return text[:1].upper() + text[1:]


def listed(items: Sequence[object], most: int = 12) -> str:
    """Items with commas between, the first of them."""
    more = f" and {len(items) - most:,} more" if len(items) > most else ""
    return ", ".join(map(str, items[:most])) + more


def count(number_of: int, one: str, more: str | None = None) -> str:
    """`1 setting`, `1,002 settings`."""
    return counted(number_of, one, more or f"{one}s")
