"""The chosen setting beside what needs no search: whole documents, whole sections, what tutorials say, pure chance."""

from __future__ import annotations

from dataclasses import dataclass

from harness import report_words as words
from harness.records import TrialResult, hit_metric
from harness.report_facts import Facts

MEANINGS = {
    "whole-document": "each document is one chunk: what cutting is worth",
    "whole-section": "each section is one chunk: what the search is worth where documents have sections",
    "conventional": "windows of 500 tokens that share a fifth, as tutorials have them; smaller where the model reads less",
}


@dataclass(frozen=True)
class Row:
    """A baseline or the shown setting; cells are hit@1, hit@3, MRR, index ratio, context@3, difference to the leader."""

    name: str
    meaning: str
    cells: tuple[str, ...]
    emphasised: bool = False


def rows(facts: Facts) -> list[Row]:
    """The shown setting first, then the baselines that were measured, then chance."""
    measured = {r.point.splitter: r for r in facts.settings if r.point.baseline}
    known = [name for name in MEANINGS if name in measured]
    others = [name for name in measured if name not in MEANINGS]
    found = [_row(facts, str(facts.shown.point), "the setting that this page is about", facts.shown, True)]
    found += [_row(facts, name, MEANINGS.get(name, ""), measured[name]) for name in (*known, *others)]
    return [*found, _chance(facts)]


def missing(facts: Facts) -> list[str]:
    """Baselines that this sweep did not measure."""
    measured = {r.point.splitter for r in facts.settings if r.point.baseline}
    return [name for name in MEANINGS if name not in measured]


def _row(facts: Facts, name: str, meaning: str, r: TrialResult, emphasised: bool = False) -> Row:
    m, made = r.metrics, facts.analysis.comparison
    beside = made.of(r) if made else None
    apart = ""
    if made and beside:
        span = words.difference_between(made.metric, beside.difference_interval)
        leads = r.trial == made.leader.trial
        apart = "leads" if leads else f"{words.difference(made.metric, beside.difference)} ({span})"
    cells = (
        words.hit(r, 1),
        words.hit(r, 3),
        words.number(r.mrr),
        words.number(m.get("index_ratio")),
        words.number(m.get("context_at_3"), 0),
        apart,
    )
    return Row(name, meaning, cells, emphasised)


def _chance(facts: Facts) -> Row:
    """The same chunks in a random order; results made before it was measured have none."""
    names = (f"random_{hit_metric(facts.shown.hit_name, k)}" for k in (1, 3))
    first, third = (words.percent(facts.shown.metrics.get(name)) for name in names)
    meaning = f"the chunks of {facts.shown.point} in a random order: what is expected of pure chance"
    if first == third == words.UNDEFINED:
        meaning += "; not measured when this sweep ran"
    return Row("random ranking", meaning, (first, third, "", "", "", ""))
