"""What the report says of holdout, gate, identities and how to reproduce it; to add an identity, add a line in `identities`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from harness import threshold
from harness.records import HoldoutRecord
from harness.report_facts import Facts
from harness.report_words import number, percent, share, time_of

QUANTILE_NAMES = ("min", "p05", "p25", "p50", "p75", "p95", "max")
OUTCOME_WORDS = {
    "correct": ("Correct", "answered, and the first chunk holds the evidence"),
    "wrong": ("Wrong", "answered, but the first chunk does not hold the evidence"),
    "false_answer": ("False answer", "answered a question that the corpus does not answer"),
    "rightly_abstained": ("Rightly abstained", "declined; the first chunk would not have answered"),
    "wrongly_abstained": ("Wrongly abstained", "declined, although the first chunk holds the evidence"),
}
VERDICT_WORDS = {
    "verified": "dev's rates of right and of false answers at the threshold were not contradicted",
    "not verified": "a rate of right or of false answers at the threshold did not carry over from dev",
    "too few to verify": "too few questions of a kind to contradict dev",
}
DISTRIBUTION_WORDS = {
    "positives": "Positives: the first chunk holds the evidence",
    "wrong_first_chunks": "Wrong first chunks of answerable questions",
    "unanswerable": "First chunks of unanswerable questions",
    "irrelevant_chunks": "All chunks away from the evidence",
}


def holdout_state(facts: Facts) -> str:
    """Where the holdout stands when there is no result of this experiment's to show."""
    if facts.labelled.holdout.sha256 == "none":
        return "There are no holdout questions: the choice stays unverified."
    claim = facts.foreign
    if claim is None:
        return "Not opened yet."
    if claim.experiment != facts.experiment.name:
        return f"Opened under another experiment, '{claim.experiment}', for lock {claim.lock_id}: spent, without a result here."
    return f"Claimed at {claim.claimed} for lock {claim.lock_id}, but no result was recorded: an opening was interrupted."


def outcome_rows(facts: Facts) -> list[tuple[str, str, str, str]]:
    """Name, meaning, dev and holdout counts of every outcome at the threshold."""
    if facts.lock is None:
        return []
    dev, held = facts.lock.threshold.at_threshold, _at_holdout(facts)
    rows = [(*OUTCOME_WORDS[o], str(dev[o]), str(held[o]) if held else "not opened") for o in threshold.OUTCOMES]
    for name, meaning, part, of in (
        ("Right answers", "correct, of the answerable questions", "correct", "answerable"),
        ("False answers", "answered, of the unanswerable questions", "false_answer", "unanswerable"),
    ):
        rows.append((name, meaning, share(dev[part], dev[of]), share(held[part], held[of]) if held else "not opened"))
    return rows


def _at_holdout(facts: Facts) -> Mapping[str, Any] | None:
    return facts.record.at_threshold if facts.record and facts.record_is_of_this_lock else None


def quantile_rows(distributions: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Words, count and quantiles of each distribution; one of nothing has none."""
    rows = []
    for name, words in DISTRIBUTION_WORDS.items():
        found = distributions.get(name, {"count": 0})
        cells = tuple(number(found[q], 4) if q in found else "none" for q in QUANTILE_NAMES)
        rows.append((words, str(found.get("count", 0)), cells))
    return rows


def test_rows(record: HoldoutRecord) -> list[tuple[str, str, str, str]]:
    """Each test of the verdict: its name, dev's rate, the holdout's count, the p-value."""
    words = {"right_answers": "Right answers not fewer than on dev", "false_answers": "False answers not more than on dev"}
    return [
        (words.get(name, name), percent(t["dev_rate"]), share(t["holdout"], t["of"]), number(t["p_value"]))
        for name, t in record.verdict["tests"].items()
    ]


def identities(facts: Facts) -> list[tuple[str, list[tuple[str, str]]]]:
    """Groups of names and values: what was measured with what, on what."""
    study, made = facts.study.get("identity", {}), facts.lock
    model = facts.study.get("embedder", {})
    evaluation = facts.shown.evaluation
    known = {
        "Model": [
            ("Name", model.get("name")),
            ("Type", model.get("type")),
            ("Fingerprint", model.get("fingerprint")),
            ("Similarity", study.get("similarity")),
            ("Scoring fingerprint", evaluation.scoring_fingerprint if evaluation else None),
        ],
        "Data": [
            ("Corpus", study.get("corpus")),
            ("Dev questions", study.get("dev questions")),
            ("Dev labels", study.get("evidence")),
            ("Holdout questions", facts.labelled.holdout.sha256),
            (f"Chunking of trial {facts.shown.trial}", evaluation.chunking_sha256 if evaluation else None),
        ],
        "Runs": [
            ("Study", facts.name),
            ("Trials run", f"{time_of(min(r.started for r in facts.results))} to {time_of(max(r.ended for r in facts.results))}"),
            ("Sweep's run", facts.study.get("run_id")),
            ("Lock", made.lock_id if made else None),
            ("Locked", f"{made.created} by {made.created_by}" if made else None),
            ("Locked with code", made.code_version if made else None),
            ("Holdout's run", facts.record.run_id if facts.record else None),
        ],
        "Environment, recorded beside": list(model.get("beside", {}).items()),
    }
    return [(group, [(name, str(value) if value else "none") for name, value in rows]) for group, rows in known.items() if rows]


def commands(facts: Facts) -> list[str]:
    """The commands that lead to this page, from the project's root."""
    path = shlex.quote(str(facts.study.get("path") or facts.experiment.path))
    sweep = f"harness sweep {path} --trials {len(facts.results)}"
    steps = [f"harness check {path}", sweep, f"harness lock {path}{_named(facts)}", f"harness holdout {path}"]
    return [*steps, f"harness audit {path}", f"harness report {path}"]


def _named(facts: Facts) -> str:
    """How the locked trial is named to `lock`; nothing where it is the rule's choice."""
    made = facts.lock
    if made is None:
        return " --point NAME" if facts.experiment.selection.objective else ""
    named = made.selection.get("named", {"trial": made.trial} if made.because else {})
    options = [f" --{option} {shlex.quote(str(value))}" for option, value in named.items()]
    return "".join([*options, f" --because {shlex.quote(made.because)}" if made.because else ""])
