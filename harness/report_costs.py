"""What quality costs: the best within a budget of context, and the settings that nothing beats in both; it computes nothing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from harness import report_words as words
from harness.budget import BUDGETS, Spent
from harness.front import FrontPoint, front, metric_names, undecided
from harness.metrics import COSTS
from harness.records import hit_metric
from harness.report_facts import Facts

COST_AXES = ("context_at_3", "index_ratio")
MOST = 30  # rows of a front


@dataclass(frozen=True)
class Budget:
    """One row: so much context, and what answers most within it; without a setting nothing fits."""

    budget: str
    setting: str
    chunks: str
    context: str
    hits: str
    interval: str
    remark: str


def budgets(facts: Facts) -> list[Budget]:
    """A row for each budget; those of which a smaller one has all share its row."""
    fitting = {spent.budget for spent in facts.analysis.budgets}
    none = [f"{budget:,}" for budget in BUDGETS if budget not in fitting]
    rows = [Budget(", ".join(none), "none", "", "", "", "", "no first chunk is so small on average")] if none else []
    for _, alike in groupby(facts.analysis.budgets, key=lambda spent: (spent.trial.trial, spent.k)):
        spent, *more = alike
        cells = (f"{spent.k:,}", f"{spent.context:,.0f}", words.share(spent.hits, spent.of), words.between("hit", spent.interval))
        name = ", ".join(f"{s.budget:,}" for s in (spent, *more))
        rows.append(Budget(name, str(spent.trial.point), *cells, _remark(spent)))
    return rows


def _remark(spent: Spent) -> str:
    others = words.count(spent.tied, "other setting answers", "other settings answer")
    remarks = [f"{others} as many with more context"] if spent.tied else []
    if spent.deepest:
        remarks.append("the deepest rank that was kept: more might fit")
    return "; ".join(remarks)


def quality(facts: Facts) -> str:
    """The metric that costs are weighed against: what the selection goes by first, else hits at 1."""
    return facts.analysis.metric or hit_metric(facts.shown.hit_name, 1)


def against(facts: Facts, cost: str) -> tuple[FrontPoint, ...]:
    """The settings that nothing beats in quality without costing more."""
    return front(facts.results, facts.experiment.selection, (quality(facts), cost))


def objectives(facts: Facts) -> tuple[str, ...]:
    """The metrics of `[selection] objective`; none where there is a single goal."""
    return metric_names(facts.experiment.selection.objective)


def named_front(facts: Facts) -> tuple[FrontPoint, ...]:
    """The front of the experiment's own objectives, of which a lock names a point."""
    return front(facts.results, facts.experiment.selection) if objectives(facts) else ()


def may_be_on_it(facts: Facts) -> int:
    """Pruned trials that might lie on the named front."""
    return len(undecided(facts.results, facts.experiment.selection)) if objectives(facts) else 0


def front_cells(point: FrontPoint) -> list[str]:
    """Its objectives as they are read."""
    return [cost(name, found) if name in COSTS else words.value(name, found) for name, found in point.values.items()]


def cost(name: str, found: float) -> str:
    """A cost's value: sizes and counts without decimals."""
    return words.number(found, 3 if name.endswith(("ratio", "share")) else 0)


def better(name: str) -> str:
    """`hit@1, more is better`."""
    return f"{words.name_of(name)}, {'less' if name in COSTS else 'more'} is better"


def lock_command(facts: Facts, point: FrontPoint) -> str:
    """How to lock one point of the front."""
    path = str(facts.study.get("path") or facts.experiment.path)
    return f"harness lock {shlex.quote(path)} --point {shlex.quote(point.name)}"


def shown(points: Sequence[FrontPoint]) -> tuple[Sequence[FrontPoint], int]:
    """As many points as have a row, and how many have none."""
    return points[:MOST], max(0, len(points) - MOST)
