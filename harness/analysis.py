"""What a search says and what it can't: comparison, optimism, curve, budgets, sensitivity; a part more is a field and a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from harness import metrics, selection
from harness.budget import Spent, within_budgets
from harness.comparison import Comparison, candidates, compare
from harness.curve import Curve, read_curve
from harness.formats import Labelled
from harness.importance import Sensitivity, sensitivity
from harness.optimism import Optimism, optimism
from harness.records import TrialResult
from harness.scores import Groups, first_quality, scores
from harness.selection import Selected, Selection
from harness.splits import group_keys
from harness.stats import SIGNIFICANCE, Interval

T = TypeVar("T")


@dataclass(frozen=True)
class Analysis:
    """Statistics of a study's complete trials, of which there are `complete` of `of`.

    A part that can't be said is None, and `withheld` has the reason under its name.
    """

    complete: int
    of: int
    metric: str | None  # the key's first that is measured question by question
    comparison: Comparison | None = None
    optimism: Optimism | None = None
    curves: tuple[Curve, ...] = ()
    budgets: tuple[Spent, ...] = ()
    sensitivity: Sensitivity | None = None
    withheld: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """What scripts may read of it: intervals and the tie set by trial number."""
        found: dict[str, Any] = {"complete": self.complete, "of": self.of, "metric": self.metric, "withheld": dict(self.withheld)}
        if self.comparison:
            found |= _comparison_json(self.comparison)
        if self.optimism:
            o = self.optimism
            found["optimism"] = {"dev": o.dev, "shrinkage": o.shrinkage, "expected": o.expected, "resamples": o.resamples}
        found["budgets"] = [
            {"budget": s.budget, "trial": s.trial.trial, "k": s.k, "context": s.context, "hits": s.hits, "of": s.of}
            for s in self.budgets
        ]
        return found


def _comparison_json(made: Comparison) -> dict[str, Any]:
    return {
        "questions": made.questions,
        "groups": made.groups,
        "reliable": made.reliable,
        "tie_set": [s.trial.trial for s in made.tie_set],
        "compared": made.compared,
        "undecided": made.undecided,
        "questions_needed": dict(zip(("next", "half"), made.needed, strict=True)),
        "settings": [
            {
                "trial": s.trial.trial,
                "value": s.value,
                "interval": _bounds(s.interval),
                "difference": s.difference,
                "difference_interval": _bounds(s.difference_interval),
                "won": s.won,
                "lost": s.lost,
                "p_value": s.p_value,
                "corrected": s.corrected,
            }
            for s in made.settings
        ],
    }


def _bounds(interval: Interval | None) -> list[float] | None:
    return [interval.low, interval.high] if interval else None


def sentences(found: Analysis) -> list[str]:
    """What to know beside the answer: how sure it is, and how many settings may be as good."""
    said, made = [], found.comparison
    if made and made.compared > 1:
        said.append(
            f"{len(made.tie_set)} of {made.compared} settings are not measurably worse than the leader by {made.metric} "
            f"(one-sided, {SIGNIFICANCE:.0%} over all {made.candidates} together): the tie set, which chooses nothing."
        )
    if found.optimism and found.optimism.shrinkage > 0:
        o = found.optimism
        said.append(
            f"The best of many looks better than it is: {o.metric} {o.dev:.1%} on dev, about {o.expected:.1%} to be expected of "
            "fresh questions."
        )
    return said


def groups_of(labelled: Labelled) -> Groups:
    """The group of each dev question: those that share evidence or a section have one in common."""
    return dict(zip((q.question_id for q in labelled.dev), group_keys(labelled.dev, labelled.corpus), strict=True))


def analyse(results: Sequence[TrialResult], selected: Selected, rule: Selection, groups: Groups, seed: int) -> Analysis:
    """All that can be said of a study's results, as `selected` by `rule`."""
    withheld: dict[str, str] = {}
    settings = selection.ordered(selection.distinct(results), rule.key)
    open_to_choice = selection.affordable(results, rule)
    pruned = sum(r.pruned for r in results)

    def of_all(name: str, make: Callable[[], T | None], else_: str) -> T | None:
        """A part that needs every trial measured whole."""
        made = None if pruned else make()
        if made is None:
            needs = f"{pruned} of {selected.of} trials were pruned; `harness sweep --complete` measures them whole"
            withheld[name] = needs if pruned else else_
        return made

    metric = first_quality(rule.key)
    found = scores(settings, metric, groups) if metric else None
    allowed = rule.allow_baselines
    none = f"no part of the key ({', '.join(rule.key)}) is measured question by question"
    if metric is None or found is None:
        return Analysis(selected.complete, selected.of, None, withheld=dict.fromkeys(PARTS, none))
    return Analysis(
        complete=selected.complete,
        of=selected.of,
        metric=metric,
        comparison=compare(found, selected.leader, candidates(results, allowed), seed, allowed),
        optimism=of_all(
            "optimism",
            lambda: optimism(open_to_choice, selected.chosen, rule, metric, groups, seed),
            "there is one setting only, or the questions share one passage: there is nothing to resample",
        ),
        curves=of_all("curve", lambda: _curves(settings, rule, groups, seed), "no setting has a size") or (),
        budgets=within_budgets(selection.contenders(settings, rule), groups),
        sensitivity=of_all(
            "sensitivity",
            lambda: sensitivity(settings, metric, groups, seed),
            "fewer than ten settings that have a size were measured",
        ),
        withheld=withheld,
    )


PARTS = ("comparison", "optimism", "curve", "sensitivity")


def _curves(settings: Sequence[TrialResult], rule: Selection, groups: Groups, seed: int) -> tuple[Curve, ...] | None:
    names = [part for part in rule.key if part.removeprefix("-") not in metrics.COSTS]
    return tuple(c for name in names if (c := read_curve(settings, name, groups, seed))) or None
