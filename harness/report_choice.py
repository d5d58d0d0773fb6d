"""How sure the choice is, in sentences: interval, tie set, optimism, the holdout beside what was expected; computes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from harness import report_words as words
from harness.comparison import Beside, Comparison
from harness.records import TrialResult, hit_metric
from harness.report_facts import Facts
from harness.stats import CONFIDENCE, FEW_GROUPS, POWER, SIGNIFICANCE

LISTED = 40  # settings that a sentence names


@dataclass(frozen=True)
class Told:
    """A figure of the shown setting on dev; interval and expectation are of what the selection goes by first."""

    name: str
    meaning: str
    value: str
    interval: str | None
    expected: str | None


def told(facts: Facts) -> list[Told]:
    """The figures of the answer: hits at 1 and 3, before them the metric that the selection goes by first, if it is another."""
    shown, metric, name = facts.shown, facts.analysis.metric, facts.shown.hit_name
    hits = {1: words.FIRST[name], 3: "within three"}
    found = [_told(facts, hit_metric(name, k), meaning, words.hit(shown, k)) for k, meaning in hits.items()]
    if metric and metric not in [hit_metric(name, k) for k in hits]:
        found.insert(0, _told(facts, metric, "what the selection goes by first", words.value(metric, shown.metrics.get(metric))))
    return found


def _told(facts: Facts, metric: str, meaning: str, value: str) -> Told:
    first = metric == facts.analysis.metric
    span = _interval(facts, facts.shown) if first else None
    return Told(words.name_of(metric), meaning, value, span, expected(facts) if first else None)


def _interval(facts: Facts, trial: TrialResult) -> str | None:
    """The interval of a trial's first metric, `70 to 93 %`; None where there is none."""
    made = facts.analysis.comparison
    beside = made.of(trial) if made else None
    return words.between(made.metric, beside.interval) if made and beside and beside.interval else None


def expected(facts: Facts) -> str | None:
    """What to expect of fresh questions, where the shown setting is the rule's choice and its figure is a flattering one."""
    o = facts.analysis.optimism
    if o is None or o.shrinkage <= 0 or facts.shown.trial != facts.selected.chosen.trial:
        return None
    return words.value(o.metric, o.expected)


@dataclass(frozen=True)
class Held:
    """The metric that the selection goes by first: on dev, as it was expected of fresh questions, and on the holdout."""

    metric: str
    dev: str
    expected: str | None
    holdout: str

    @property
    def before(self) -> str:
        """What was known before it was opened."""
        return f"expected {self.expected}, {self.dev} on dev" if self.expected else f"{self.dev} on dev"


def held(facts: Facts) -> Held | None:
    """None until the holdout is opened for the current lock, and where nobody measured that metric there."""
    metric = facts.analysis.metric
    if not (facts.record and facts.record_is_of_this_lock and facts.lock_is_of_this_study and metric):
        return None
    found = facts.record.evaluation.metrics.get(metric)
    if found is None:
        return None
    dev = words.value(metric, facts.shown.metrics.get(metric))
    return Held(words.name_of(metric), dev, expected(facts), words.value(metric, found))


def withheld(facts: Facts) -> dict[str, list[str]]:
    """Reasons, and what can't be said for each."""
    found: dict[str, list[str]] = {}
    for name, why in facts.analysis.withheld.items():
        found.setdefault(why, []).append(name)
    return found


def opened(facts: Facts) -> list[tuple[str, str, str]]:
    """Name, expectation and figure of the opened holdout: hits at 1 and 3, before them the metric of the selection."""
    if facts.record is None:
        return []
    found, beside = facts.record.evaluation, held(facts)
    rows = [(f"{found.hit_name}@{k}", words.hit(found, k)) for k in (1, 3)]
    if beside and beside.metric not in [name for name, _ in rows]:
        rows.insert(0, (beside.metric, beside.holdout))
    return [(name, beside.before if beside and beside.metric == name else "", value) for name, value in rows]


def measured(facts: Facts) -> str:
    """`8 complete of 32 trials`."""
    return f"{facts.selected.complete:,} complete of {words.count(facts.selected.of, 'trial')}"


def test_of(made: Comparison) -> str:
    """How settings were compared, in a sentence."""
    how = "flipping the signs of the questions' differences"
    if made.groups < made.questions:
        how = f"flipping the signs of whole groups of questions that share evidence or a section ({made.groups} groups)"
    elif made.hits:
        how = "McNemar's exact test on the questions that only one of the two hits"
    level = words.whole_percent(SIGNIFICANCE)
    return (
        f"Each setting was compared with the leader on the same {words.count(made.questions, 'question')} by {how}. The test is "
        f"one-sided, that it is worse, at {level} divided by {words.count(made.candidates, 'candidate')}: out of so many "
        "the leader was picked."
    )


def tie_set(made: Comparison) -> str:
    """How many settings are in it and what that means."""
    name = words.name_of(made.metric)
    if made.compared == 1:
        return f"Only one setting was measured whole: there is nothing to compare its {name} with."
    if len(made.tie_set) == 1:
        return f"The leader stands alone: every other of {made.compared:,} settings is measurably worse in {name}."
    return f"{len(made.tie_set):,} of {made.compared:,} settings are not measurably worse than the leader in {name}: the tie set."


def needed(made: Comparison) -> str | None:
    """How many questions would decide; None where there is nothing to decide."""
    if len(made.tie_set) < 2:
        return None
    first, half = made.needed
    power = words.whole_percent(POWER)
    if half is not None:
        said = f"About {half:,} questions would tell half of the tie set from the leader"
        more = f", about {first:,} the next best" if first not in (None, half) else ""
        return f"{said}{more}, if the differences are as large as they look ({power} power). They look larger than they are."
    if first is not None:
        return f"About {first:,} questions would tell the next best from the leader, if the difference is as large as it looks."
    if made.alike:
        return "They score alike here, which more questions may not change: weigh the cost."
    return "How many questions could decide can't be said of so few groups."


def reliability(made: Comparison) -> str | None:
    """A warning where the groups of questions are few."""
    if made.reliable:
        return None
    groups = (
        f"{made.questions} questions in {made.groups} groups" if made.groups < made.questions else f"{made.questions} questions"
    )
    return f"{groups} are few: under {FEW_GROUPS} groups, intervals and tests are unreliable."


def members(made: Comparison) -> tuple[list[Beside], int]:
    """The tie set, as many as are named, and how many are not."""
    found = list(made.tie_set)
    return found[:LISTED], max(0, len(found) - LISTED)


def optimism(facts: Facts) -> str | None:
    """How much the choice flatters its own figure; None where that is withheld."""
    o = facts.analysis.optimism
    if o is None:
        return None
    if facts.selected.complete == 1:
        return "Only one trial is complete: nothing was picked, so nothing is flattered."
    failed = f" ({o.failed} of them could not be used)" if o.failed else ""
    done = f"The choice was made again, rule and all, on {o.resamples} resamples of the questions{failed}."
    dev = f"{words.name_of(o.metric)} {words.value(o.metric, o.dev)} on dev"
    if o.shrinkage <= 0:
        return f"{done} It did no better there than on the questions left out: nothing is to be taken off its {dev}."
    loss = words.difference(o.metric, o.shrinkage).lstrip("+")
    fresh = f"about {words.value(o.metric, o.expected)} to be expected of fresh questions"
    return f"{done} The best of many looks better than it is, here by about {loss}: {dev}, {fresh}."


CONFIDENT = words.whole_percent(CONFIDENCE)
