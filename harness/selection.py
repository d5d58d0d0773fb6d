"""From finished trials to the leader, its ties and the chosen one; to add a rule, add a function and a line in `RULES`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from harness.bounds import has_bound
from harness.errors import Fault, HarnessError, counted
from harness.label_checks import listed
from harness.records import Bound, Point, TrialResult
from harness.stats import SIGNIFICANCE, TOLERANCE, least_rate

CHEAP = ("context_at_3", "index_ratio", "chunks")  # less of the first is cheaper, then of the second, then of the third
# What experiments go by whose questions name whole documents or sections.
REGION_KEY = 'write [selection] key = ["document_hit_at_1", "document_hit_at_3", "-index_ratio"]'


class Selection(BaseModel):
    """`[selection]`; `rule` is a name in `RULES`, `margin` is in questions, `target` a value of the key's first metric.

    `target_by`: what must reach the target, the value as measured or its lower bound.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    key: list[str] = Field(default=["hit_at_1", "hit_at_3", "-index_ratio"], min_length=1)
    rule: str = "best"
    margin: int = Field(default=1, ge=0)
    target: float | None = None
    target_by: Literal["value", "lower_bound"] = "value"
    max_context_at_3: float | None = Field(default=None, gt=0)
    allow_baselines: bool = False
    objective: list[str] = []  # several: their Pareto front, of which a lock names a point

    @model_validator(mode="after")
    def _several(self) -> Selection:
        if len(self.objective) == 1 or len(set(self.objective)) < len(self.objective):
            raise ValueError("objective names at least two different metrics; a single one goes first in key")
        return self

    @model_validator(mode="after")
    def _target(self) -> Selection:
        if (self.rule == "target") != (self.target is not None):
            raise ValueError("rule 'target' and target = ... go together")
        if self.target_by == "lower_bound" and self.target is None:
            raise ValueError("target_by = 'lower_bound' needs rule 'target' and target = ...")
        if self.target_by == "lower_bound" and not self.key[0].startswith(("hit_at_", "document_hit_at_")):
            raise ValueError(f"target_by = 'lower_bound' goes by hits, not by '{self.key[0]}'")
        return self


TARGET_FIX = "lower the target or widen the search space; rule = 'best' shows what was reached"


class Candidate(Protocol):
    """What a rule looks at: a complete trial, or what one would have been on other questions."""

    @property
    def metrics(self) -> Mapping[str, float]: ...

    @property
    def answerable(self) -> int: ...

    @property
    def point(self) -> Point: ...


C = TypeVar("C", bound=Candidate)
Rule = Callable[[Sequence[C], C, "Selection"], tuple[C, str]]


@dataclass(frozen=True)
class Selected:
    """`tied` are the trials whose key equals the leader's, leader included; `of` and `complete` say out of how many.

    Baselines are counted only where they may be chosen.
    """

    leader: TrialResult
    chosen: TrialResult
    tied: tuple[int, ...]
    why: str
    complete: int
    of: int


def key_values(trial: Candidate, key: Sequence[str]) -> tuple[float, ...]:
    """A trial's key, each part so that higher is better; an undefined part is the worst."""
    return key_of(trial.metrics, key)


def key_of(metrics: Mapping[str, float], key: Sequence[str]) -> tuple[float, ...]:
    """The key that metrics, or upper bounds of them, make."""
    values = []
    for part in key:
        value = metrics.get(part.removeprefix("-"))
        values.append(float("-inf") if value is None else -value if part.startswith("-") else value)
    return tuple(values)


def objective(trial: TrialResult, key: Sequence[str]) -> float:
    """The one number that a sampler maximises: the key's hit rates in their order, each weighing less than one question
    of the one before it. A key without hit rates: its first part. Of a pruned trial, its upper bound."""
    metrics = trial.bound.metrics if trial.bound else trial.metrics
    hits = [part for part in key if part.startswith(("hit_at_", "document_hit_at_")) and part in metrics]
    if not hits:
        return key_of(metrics, key)[0]
    questions = trial.answerable
    return math.fsum(metrics[part] / (questions + 1) ** i for i, part in enumerate(hits))


def _cheapness(trial: Candidate) -> tuple[float, ...]:
    return tuple(trial.metrics[name] for name in CHEAP)


def _cheapest(trials: Sequence[C]) -> C:
    return min(trials, key=lambda t: (_cheapness(t), t.point))


def _best(trials: Sequence[C], leader: C, rule: Selection) -> tuple[C, str]:
    return leader, f"best by {', then '.join(rule.key)}"


def _within(trials: Sequence[C], leader: C, rule: Selection) -> tuple[C, str]:
    """The cheapest trial that has at most `margin` questions less than the leader in the key's first metric."""
    name, questions = rule.key[0], leader.answerable
    floor = leader.metrics[name] * questions - rule.margin - TOLERANCE
    near = [t for t in trials if name in t.metrics and t.metrics[name] * questions >= floor]
    margin = counted(rule.margin, "question", "questions")
    return _cheapest(near), f"the cheapest of {len(near)} trials at most {margin} below the leader in {name}"


def _target(trials: Sequence[C], leader: C, rule: Selection) -> tuple[C, str]:
    """The cheapest trial that reaches the target in the key's first metric. Raises HarnessError when none does."""
    name, target = rule.key[0], rule.target or 0.0
    if rule.target_by == "lower_bound":
        return _surely_target(trials, leader, rule)
    reaching = [t for t in trials if t.metrics.get(name, -1.0) >= target]
    if not reaching:
        what = f"no trial reaches {name} >= {target:g}; the leader has {leader.metrics.get(name, float('nan')):.3f}"
        raise HarnessError(Fault("[selection] target", what, TARGET_FIX))
    return _cheapest(reaching), f"the cheapest of {len(reaching)} trials with {name} >= {target:g}"


def _surely_target(trials: Sequence[C], leader: C, rule: Selection) -> tuple[C, str]:
    """The same by the lower bound of a rate, shared among all trials, for the search looks at every one.

    Raises HarnessError also when the questions are too few for any rate to have such a bound.
    """
    name, target, questions = rule.key[0], rule.target or 0.0, leader.answerable
    confidence = 1 - SIGNIFICANCE / len(trials)
    highest = least_rate(questions, questions, confidence)
    if highest < target:
        needed = math.ceil(math.log(1 - confidence) / math.log(target)) if target < 1 else None
        what = (
            f"{questions} questions can't show {name} >= {target:g} for one of {len(trials)} trials: "
            f"all of them hit have a lower bound of {highest:.3f}"
        )
        more = f"label at least {needed} questions" if needed else "no number of questions can show 1"
        raise HarnessError(Fault("[selection] target", what, f'{more}, lower the target, or leave out target_by = "lower_bound"'))
    bounds = {t.point: least_rate(round(t.metrics.get(name, 0.0) * questions), questions, confidence) for t in trials}
    reaching = [t for t in trials if bounds[t.point] >= target]
    if not reaching:
        best = max(bounds.values())
        what = f"no trial's lower bound of {name} reaches {target:g}; the highest is {best:.3f}"
        raise HarnessError(Fault("[selection] target", what, f"label more questions, or {TARGET_FIX}"))
    return _cheapest(reaching), (
        f"the cheapest of {len(reaching)} trials whose lower bound of {name} (exact, {1 - SIGNIFICANCE:.0%} for all "
        f"{len(trials)} together) is >= {target:g}"
    )


def apply(trials: Sequence[C], rule: Selection) -> tuple[list[C], C, str]:
    """The leaders in canonical order, the chosen one and why; trials that may be chosen, at least one, in any order."""
    in_order = sorted(trials, key=lambda t: t.point)
    values = [key_values(t, rule.key) for t in in_order]
    best = max(values)
    leaders = [t for t, value in zip(in_order, values, strict=True) if value == best]
    return leaders, *RULES[rule.rule](in_order, leaders[0], rule)


RULES: dict[str, Rule[Any]] = {"best": _best, "within": _within, "target": _target}


def _below(bound: Bound, best: TrialResult, rule: Selection) -> bool:
    """Under `best`: its whole key stays below. A full tie is not: it is to be told as a tie."""
    return key_of(bound.metrics, rule.key) < key_values(best, rule.key)


def _out_of_reach(bound: Bound, best: TrialResult, rule: Selection) -> bool:
    """Under `within`: more than the margin below the best, whatever else comes."""
    name, questions = rule.key[0], best.answerable
    return bound.metrics.get(name, -1.0) * questions < best.metrics.get(name, -1.0) * questions - rule.margin - TOLERANCE


# Rules under which a setting can be known not to be chosen, with the parts of the key that must have a bound.
BEATEN: dict[str, Callable[[Bound, TrialResult, Selection], bool]] = {"best": _below, "within": _out_of_reach}


def beaten(bound: Bound, best: TrialResult, rule: Selection) -> bool:
    """Whether what a setting can still reach no longer suffices beside the best complete trial."""
    return BEATEN[rule.rule](bound, best, rule)


def unbounded(rule: Selection, ks: tuple[int, ...], char_k: int) -> str | None:
    """Why no setting can be known not to be chosen before it is measured whole; None when it can."""
    if rule.objective:
        return f"several objectives ({', '.join(rule.objective)}) have no bound together"
    if rule.rule not in BEATEN:
        return f"rule '{rule.rule}' has no bound"
    deciding = rule.key[:1] if rule.rule == "within" else rule.key
    lacking = [part for part in deciding if not has_bound(part, ks, char_k)]
    return f"the key's '{lacking[0]}' has no bound" if lacking else None


def incumbent(results: Sequence[TrialResult], rule: Selection) -> TrialResult | None:
    """The best complete trial so far of those that may be chosen."""
    allowed = affordable(results, rule)
    return ordered(allowed, rule.key)[0] if allowed else None


def open_again(results: Sequence[TrialResult], rule: Selection) -> list[TrialResult]:
    """Pruned trials that could be chosen under the rule as it is now: it was another when they were pruned."""
    pruned, best = [t for t in results if t.bound], incumbent(results, rule)
    if not pruned or best is None or rule.rule not in BEATEN:
        return pruned
    return [t for t in pruned if t.bound and not beaten(t.bound, best, rule)]


def _affordable(trial: TrialResult, rule: Selection) -> bool:
    return rule.max_context_at_3 is None or trial.metrics["context_at_3"] <= rule.max_context_at_3


def distinct(results: Sequence[TrialResult]) -> list[TrialResult]:
    """The complete trials, of every point the earliest only."""
    return list({t.point: t for t in sorted(results, key=lambda t: -t.trial) if t.complete}.values())


def contenders(results: Sequence[TrialResult], rule: Selection) -> list[TrialResult]:
    """The distinct complete trials that may be chosen: baselines only where the rule allows them."""
    return [t for t in distinct(results) if not t.aside and (rule.allow_baselines or not t.point.baseline)]


def out_of(results: Sequence[TrialResult], rule: Selection) -> list[TrialResult]:
    """The trials that figures are out of: baselines only where they may be chosen."""
    return [t for t in results if not t.aside and (rule.allow_baselines or not t.point.baseline)]


def affordable(results: Sequence[TrialResult], rule: Selection) -> list[TrialResult]:
    """Those that may be chosen and meet the constraint."""
    return [t for t in contenders(results, rule) if _affordable(t, rule)]


def select(results: Sequence[TrialResult], rule: Selection) -> Selected:
    """Raises HarnessError when no trial is complete or none meets the constraint.

    Full ties of the key go to the smaller point in canonical order, and are reported as ties.
    """
    complete = [t for t in results if t.complete]
    open_to_choice = contenders(complete, rule)
    if not open_to_choice:
        if not results:
            raise HarnessError(Fault("sweep", "no trial has been measured yet", "run `harness sweep`"))
        errors = "; ".join(dict.fromkeys((t.error or "pruned").partition("\n")[0] for t in results))
        raise HarnessError(Fault("sweep", f"no trial is complete ({errors[:500]})", "mend the cause and run the sweep again"))
    if all(key_values(t, rule.key[:1])[0] == float("-inf") for t in open_to_choice):
        what = f"'{rule.key[0]}' is undefined for every complete trial: no question has what it measures"
        regions = complete[0].hit_name != "hit"
        fix = REGION_KEY if regions else "put another metric first"
        raise HarnessError(Fault("[selection] key", what, fix))
    if reopened := open_again(results, rule):
        numbers = listed([str(t.trial) for t in reopened])
        what = (
            f"{len(reopened)} pruned trials ({numbers}) could be chosen by this rule, which is not the one they were pruned under"
        )
        raise HarnessError(Fault("[selection]", what, "run `harness sweep`: it measures them"))
    allowed = [t for t in open_to_choice if _affordable(t, rule)]
    if not allowed:
        what = f"no trial has context_at_3 <= {rule.max_context_at_3:g}"
        raise HarnessError(Fault("[selection] max_context_at_3", what, "raise it or add smaller chunk sizes"))
    leaders, chosen, why = apply(allowed, rule)
    of = out_of(results, rule)
    done = sum(t.complete for t in of)
    return Selected(leaders[0], chosen, tuple(sorted(t.trial for t in leaders)), why, done, len(of))


def ordered(results: Sequence[TrialResult], key: Sequence[str]) -> list[TrialResult]:
    """Complete trials, best key first, full ties in canonical order."""
    complete = [r for r in results if r.complete]
    return sorted(complete, key=lambda r: (*(-v if math.isfinite(v) else math.inf for v in key_values(r, key)), r.point))
