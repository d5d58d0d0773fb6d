"""What is read from quality against chunk size, in words: flattening, overlap, structure, reranker; it computes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from harness import report_words as words
from harness.curve import FEW_SIZES, RERANKED, Curve, Line, Pair, Reranked, drops

MOST = 60  # rows of the table of overlaps


@dataclass(frozen=True)
class Read:
    """One line of a curve: what it is of, its sizes and what it does."""

    name: str
    sizes: str
    reading: str


def name_of_line(line: Line) -> str:
    """`words, overlap 20 %, with title`."""
    before = f", with {' and '.join(line.prepend)}" if line.prepend else ""
    return f"{line.splitter}, overlap {words.whole_percent(line.overlap_ratio)}{before}"


def readings(curve: Curve) -> list[Read]:
    """The lines with sizes enough to be read."""
    return [_read(curve, line) for line in curve.lines if line.reading != "few"]


def _read(curve: Curve, line: Line) -> Read:
    sizes = ", ".join(f"{p.size:,}" for p in line.points)
    return Read(name_of_line(line), sizes, f"{_flattening(curve, line)}{_drop(curve, line)}.")


def _flattening(curve: Curve, line: Line) -> str:
    step = _step(curve, line)
    if line.reading == "flat":
        first = line.points[0]
        return f"flat: no size gains more than {step} on the smallest, {first.size:,} ({words.value(curve.metric, first.value)})"
    at = line.flat_at
    if at is None:
        before, last = line.points[-2:]
        gain = words.difference(curve.metric, last.value - before.value)
        return f"still climbing at the largest, {last.size:,} ({gain} on {before.size:,}): where it flattens is not known"
    gained = words.value(curve.metric, at.value)
    return f"flattens at {at.size:,} ({gained}): no larger size gains more than {step}"


def _drop(curve: Curve, line: Line) -> str:
    last = drops(line)
    if last is None:
        return ""
    before = line.points[-2]
    loss = words.difference(curve.metric, last.value - before.value)
    return f"; the largest, {last.size:,}, has less than {before.size:,} ({loss})"


def _step(curve: Curve, line: Line) -> str:
    """The step of the rule, in the metric's measure."""
    return words.difference(curve.metric, line.step).lstrip("+")


def rule(curve: Curve) -> str:
    """How flattening is defined here."""
    step = _step(curve, curve.lines[0])
    return (
        f"A line flattens at its first size after which no larger one gains more than {step} (two points, or one question where "
        "that is more). That is the setting worth taking: more context is paid with every answer."
    )


def few(curve: Curve) -> str | None:
    """What is said of lines with too few sizes; None where there is none."""
    number, of = sum(line.reading == "few" for line in curve.lines), len(curve.lines)
    if not number:
        return None
    if number == of:
        return f"No splitter was measured at {FEW_SIZES} sizes of one overlap, so no line can be read; the plot shows the points."
    return f"{number} of {of} lines have fewer than {FEW_SIZES} sizes, too few to be read; the plot shows their points."


def overlaps(curve: Curve) -> tuple[list[Pair], int]:
    """What overlap buys at each size, as many rows as are shown, and how many are not."""
    return list(curve.overlap[:MOST]), max(0, len(curve.overlap) - MOST)


def pair_cells(metric: str, pair: Pair) -> tuple[str, str, str, str]:
    """Difference, its interval, won and lost, p-value."""
    span = words.difference_between(metric, pair.interval)
    return words.difference(metric, pair.difference), span, f"{pair.won} won, {pair.lost} lost", words.chance(pair.p_value)


def overlap_name(pair: Pair) -> tuple[str, str, str]:
    """Splitter, size, and from which overlap to which, in units."""
    p, q = pair.first.point, pair.second.point
    before = f" +{'+'.join(p.prepend)}" if p.prepend else ""
    return f"{p.splitter}{before}", f"{p.chunk_size:,}", f"{p.overlap} to {q.overlap}"


def structure(curve: Curve) -> str | None:
    """Structure against the best fixed window of the same run."""
    pair = curve.structure
    if pair is None:
        return None
    change, span, counts, p_value = pair_cells(curve.metric, pair)
    stands = "is ahead of" if pair.difference > 0 else "is behind" if pair.difference < 0 else "is level with"
    return (
        f"The best setting cut at structure, {pair.second.point}, {stands} the best fixed window, {pair.first.point}: {change} "
        f"in {words.name_of(curve.metric)} ({span}), {counts}, two-sided p {p_value}. Each is the best of its kind: p flatters."
    )


def reranked(found: Reranked) -> str:
    """What a reranker's depth would change."""
    counts = (found.least, found.most, found.least_deep, found.most_deep)
    least, most, deep, deepest = (words.share(n, found.of) for n in counts)
    first = "the first chunk" if found.k == 1 else f"the first {found.k} chunks"
    at = f"Within {first} the settings hit {least} to {most}"
    said = [f"{at}; within {RERANKED}, a reranker's depth, {deep} to {deepest}."]
    if found.shallow:
        said.append(f"{words.count(found.shallow, 'setting has', 'settings have')} no more chunks than that.")
    if not found.changes:
        return " ".join((*said, "A reranker would not change the picture."))
    leads = any(t.trial == u.trial for t in found.leaders for u in found.leaders_deep)
    why = "chunk size nearly stops to matter there" if leads else f"other settings lead there ({_names(found)})"
    return " ".join((*said, f"With a reranker the picture is another: {why}. Then measure at its depth, not at {found.k}."))


def _names(found: Reranked) -> str:
    return words.listed([str(t.point) for t in found.leaders_deep], 3)
