"""The report's tables and sentences, from facts to words; to add a column, add a line in `_row` and its name in `COLUMNS`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from harness import threshold
from harness.records import Evaluation, HoldoutRecord, TrialResult
from harness.report_facts import Facts

UNDEFINED = "undefined"
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


def share(part: int, of: int) -> str:
    """`29 of 40, 72.5 %`; a share of nothing is undefined."""
    return f"{part} of {of}, {part / of:.1%}".replace("%", " %") if of else f"{UNDEFINED} (no questions)"


def percent(value: float | None) -> str:
    return UNDEFINED if value is None else f"{100 * value:.1f} %"


def number(value: float | None, digits: int = 3) -> str:
    return UNDEFINED if value is None else f"{value:.{digits}f}"


def hit(scored: Evaluation | TrialResult, k: int) -> str:
    return share(scored.hits(k), scored.answerable)


def time_of(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


COLUMNS = (
    ("Trial", "number of the trial"),
    ("Setting", "splitter size/overlap"),
    ("{hit}@1", "{complete} in the first chunk"),
    ("{hit}@3", "{complete} within the first three chunks"),
    ("MRR", "mean of 1 / the first rank with {complete}"),
    ("Ceiling", "upper bound: questions that any ranking of these chunks could answer"),
    ("char recall@{char_k}", "share of the evidence's characters within the first {char_k} chunks"),
    ("Index ratio", "units stored per unit in the source"),
    ("Chunks", "number of chunks"),
    ("Mean size", "mean chunk size in {unit}"),
    ("context@3", "mean total size of a question's first three chunks, in {unit}"),
    ("Truncated", "share of chunks that the model reads only in part"),
    ("Seconds", "wall time of the trial"),
)

# What a hit of either kind has in the first chunks.
COMPLETE = {"hit": "complete evidence", "document hit": "a chunk of the right document or section"}


@dataclass(frozen=True)
class Row:
    """One setting of the table of trials: its cells, and in words what it is."""

    trial: int
    cells: tuple[str, ...]
    notes: tuple[str, ...]
    emphasised: bool


def columns(facts: Facts) -> list[tuple[str, str]]:
    known = {"char_k": facts.experiment.scoring.char_k, "unit": facts.unit}
    known |= {"hit": facts.shown.hit_name, "complete": COMPLETE[facts.shown.hit_name]}
    return [(name.format(**known), meaning.format(**known)) for name, meaning in COLUMNS]


def trial_rows(facts: Facts) -> list[Row]:
    """The distinct complete settings, best first."""
    return [_row(facts, r) for r in facts.settings]


def _row(facts: Facts, r: TrialResult) -> Row:
    m = r.metrics
    cells = (
        str(r.point),
        hit(r, 1),
        hit(r, 3),
        number(r.mrr),
        f"≤ {percent(m['ceiling'])}" if "ceiling" in m else UNDEFINED,
        percent(m.get(f"char_recall_at_{facts.experiment.scoring.char_k}")),
        number(m.get("index_ratio")),
        number(m.get("chunks"), 0),
        number(m.get("mean_chunk_size"), 1),
        number(m.get("context_at_3"), 0),
        percent(m.get("truncated_share")),
        f"{r.ended - r.started:.2f}",
    )
    notes = _notes(facts, r)
    return Row(r.trial, cells, notes, bool({"chosen", "locked"} & set(notes)))


def _notes(facts: Facts, r: TrialResult) -> tuple[str, ...]:
    notes = []
    if r.trial == facts.selected.chosen.trial:
        notes.append("chosen")
    if facts.lock and facts.lock_is_of_this_study and r.trial == facts.lock.trial:
        notes.append("locked")
    if r.trial in facts.selected.tied and len(facts.selected.tied) > 1:
        notes.append("tied for first")
    if r.point.baseline:
        notes.append("baseline")
    if r.reused_from is not None:
        notes.append(f"same chunks as trial {r.reused_from}")
    return tuple(notes)


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
    made = facts.lock
    by_hand = f" --trial {made.trial} --because {shlex.quote(made.because)}" if made and made.because else ""
    sweep = f"harness sweep {path} --trials {len(facts.results)}"
    steps = [f"harness check {path}", sweep, f"harness lock {path}{by_hand}", f"harness holdout {path}"]
    return [*steps, f"harness audit {path}", f"harness report {path}"]
