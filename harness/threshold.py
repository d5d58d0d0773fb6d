"""The gate: a threshold chosen on dev scores and applied to others; to add a rule, add a function and a line in `RULES`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from harness.errors import Fault, HarnessError
from harness.label_checks import ENOUGH_OF_A_KIND
from harness.records import Quantiles, QuestionScore
from harness.spread import quantiles

ENOUGH_OF_A_CLASS = ENOUGH_OF_A_KIND
SIGNIFICANCE = 0.05
OUTCOMES = ("correct", "wrong", "false_answer", "rightly_abstained", "wrongly_abstained")


@dataclass(frozen=True)
class GateScores:
    """First chunks' scores by what the gate should do with them. Questions that retrieved nothing have none."""

    positives: tuple[float, ...]  # answerable, and the first chunk holds the evidence
    wrong: tuple[float, ...]  # answerable, and it does not
    unanswerable: tuple[float, ...]
    best_wrong: tuple[float, ...]  # each answerable question's best chunk without the evidence
    proxy: bool  # nothing that should be rejected has a score, or no question is unanswerable: best wrong chunks stand in
    silent: int  # negatives that retrieved nothing: rejected at any threshold

    @property
    def negatives(self) -> tuple[float, ...]:
        return self.best_wrong if self.proxy else self.wrong + self.unanswerable

    def distributions(self) -> dict[str, Quantiles]:
        named = {"positives": self.positives, "wrong_first_chunks": self.wrong, "unanswerable": self.unanswerable}
        return {name: quantiles(scores) for name, scores in named.items()}


@dataclass(frozen=True)
class Choice:
    """A threshold's value, and how it came about."""

    value: float
    how: str


def gate_scores(questions: Sequence[QuestionScore]) -> GateScores:
    """Sort dev's first scores into the classes of the gate."""

    def first(wanted: Callable[[QuestionScore], bool]) -> tuple[float, ...]:
        return tuple(q.first_score for q in questions if wanted(q) and q.first_score is not None)

    wrong, unanswerable = first(lambda q: q.answerable and not q.positive), first(lambda q: not q.answerable)
    return GateScores(
        positives=first(lambda q: q.positive),
        wrong=wrong,
        unanswerable=unanswerable,
        best_wrong=tuple(q.best_wrong_score for q in questions if q.answerable and q.best_wrong_score is not None),
        proxy=all(q.answerable for q in questions) or not (wrong or unanswerable),
        silent=sum(not q.positive and q.first_score is None for q in questions),
    )


def gap(scores: GateScores) -> Choice:
    """The middle of the gap between positives and negatives; where they overlap, the value of best balanced accuracy."""
    low, high = max(scores.negatives), min(scores.positives)
    if low < high:
        return Choice(
            _between(low, high),
            f"middle of the gap between {low:.6f} (highest negative) and {high:.6f} (lowest positive)",
        )
    overlap = sum(high <= n for n in scores.negatives) + sum(p <= low for p in scores.positives)
    begin = f"no gap: {overlap} of {len(scores.positives) + len(scores.negatives)} scores overlap"
    best = _best_balanced_accuracy(scores)
    if best is None:
        lowest = min(*scores.positives, *scores.negatives)
        how = f"{begin}; no threshold does better than answering whatever matches at all: the lowest score, {lowest:.6f}"
        return Choice(lowest, how)
    below, above, accuracy = best
    return Choice(
        _between(below, above),
        f"{begin}; best balanced accuracy {accuracy:.3f}, the same from above {below:.6f} up to {above:.6f}: the middle",
    )


def _between(low: float, high: float) -> float:
    # One decimal more than scores have: the middle of two neighbouring scores must stay between them.
    return round((low + high) / 2, 7)


def _best_balanced_accuracy(scores: GateScores) -> tuple[float, float, float] | None:
    """The widest interval (below, above] of equally good, best thresholds, and its balanced accuracy; None when answering
    everything is as good."""
    from sklearn.metrics import confusion_matrix_at_thresholds

    truth = [1] * len(scores.positives) + [0] * len(scores.negatives)
    tn, _, _, tp, at = confusion_matrix_at_thresholds(truth, [*scores.positives, *scores.negatives])
    silent = 0 if scores.proxy else scores.silent
    accuracy = (tp / len(scores.positives) + (tn + silent) / (len(scores.negatives) + silent)) / 2
    levels = sorted((float(t), float(a)) for t, a in zip(at, accuracy, strict=True) if np.isfinite(t))
    # A threshold above one score and up to the next answers alike; the lowest answers everything and is no gate.
    intervals = [(below, above, a) for (below, _), (above, a) in pairwise(levels)]
    best = max((a for *_, a in intervals), default=0.0)
    if best <= levels[0][1]:
        return None
    plateaus: list[tuple[float, float, float]] = []
    for below, above, a in intervals:
        if not np.isclose(a, best):
            continue
        if plateaus and plateaus[-1][1] == below:  # one question of each class between them: equally good
            plateaus[-1] = (plateaus[-1][0], above, a)
        else:
            plateaus.append((below, above, a))
    return max(plateaus, key=lambda p: (p[1] - p[0], p[1]))


RULES: dict[str, Callable[[GateScores], Choice]] = {"gap": gap}


def choose(questions: Sequence[QuestionScore], rule: str) -> tuple[Choice, GateScores]:
    """Tune a threshold on dev. Raises HarnessError when one of the two classes is empty: then there is none."""
    scores = gate_scores(questions)
    if not scores.positives:
        fix = "choose another trial, or look at the misses first"
        raise HarnessError(Fault("threshold", "no dev question has its evidence in the first chunk, so none can be tuned", fix))
    if not scores.negatives:
        fix = "add unanswerable dev questions that the documents come close to"
        raise HarnessError(Fault("threshold", "no question retrieves a wrong chunk, so none can be tuned", fix))
    return RULES[rule](scores), scores


def outcome(question: QuestionScore, value: float) -> str:
    """What the gate does with one question: it answers when the first chunk's score is at least the threshold."""
    answers = question.first_score is not None and question.first_score >= value
    if answers:
        return "correct" if question.positive else "wrong" if question.answerable else "false_answer"
    return "wrongly_abstained" if question.positive else "rightly_abstained"


def apply(questions: Sequence[QuestionScore], value: float) -> dict[str, Any]:
    """Outcomes at a threshold as counts, and the two rates that users feel; a rate of nothing is None."""
    found = [(q, outcome(q, value)) for q in questions]
    counts = {name: sum(o == name for _, o in found) for name in OUTCOMES}
    answerable = sum(q.answerable for q in questions)
    unanswerable = len(questions) - answerable
    return {
        **counts,
        "rightly_abstained_unanswerable": sum(o == "rightly_abstained" and not q.answerable for q, o in found),
        "rightly_abstained_wrong_first": sum(o == "rightly_abstained" and q.answerable for q, o in found),
        "answerable": answerable,
        "unanswerable": unanswerable,
        "right_answer_rate": counts["correct"] / answerable if answerable else None,
        "false_answer_rate": counts["false_answer"] / unanswerable if unanswerable else None,
    }


def verdict(dev: dict[str, Any], holdout: dict[str, Any]) -> dict[str, Any]:
    """Whether holdout rejects dev's rates of right and of false answers (one-sided exact binomial tests, 5 %).

    Strict: dev's rate is taken as known, though it too is an estimate, and one that was chosen as the best of many.
    """
    from scipy.stats import binomtest

    tests: dict[str, Any] = {}
    for name, event, of, worse in (
        ("right_answers", "correct", "answerable", "less"),
        ("false_answers", "false_answer", "unanswerable", "greater"),
    ):
        rate = dev["right_answer_rate"] if name == "right_answers" else dev["false_answer_rate"]
        n = holdout[of]
        p = float(binomtest(holdout[event], n, rate, alternative=worse).pvalue) if n and rate is not None else None
        tests[name] = {"dev_rate": rate, "holdout": holdout[event], "of": n, "p_value": p}
    # A class of few can neither confirm nor contradict.
    enough = [t for t in tests.values() if t["of"] >= ENOUGH_OF_A_CLASS and t["p_value"] is not None]
    if any(t["p_value"] < SIGNIFICANCE for t in enough):
        word = "not verified"
    else:
        word = "verified" if len(enough) == len(tests) else "too few to verify"
    return {"verdict": word, "tests": tests}
