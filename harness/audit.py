"""Re-derive every claim from the records; to look for another kind of tampering, add a function to `CHECKS`."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from harness import front, selection, threshold
from harness import lock as locks
from harness.embedders import Embedder
from harness.errors import Fault, HarnessError
from harness.experiment import Experiment, find_root
from harness.experiment import load as load_experiment
from harness.formats import Labelled
from harness.pipeline import run_metrics
from harness.records import HoldoutRecord, Lock, TrialResult, labels_sha256, questions_sha256
from harness.splitters import user
from harness.state import State, StudyFiles, read_record
from harness.sweep import resolve_tracking
from harness.tracking import Tracker


@dataclass(frozen=True)
class ThresholdRow:
    """One threshold with what it belongs to, and how far its lock has been verified."""

    value: float
    embedder: str
    fingerprint: str
    similarity: str
    scoring_fingerprint: str
    lock_id: str
    run_id: str | None
    status: str
    in_force: bool
    experiment: str
    created: str
    created_by: str


@dataclass(frozen=True)
class Audit:
    """Every threshold found, and everything that does not agree with its records. No findings: all of it does."""

    thresholds: tuple[ThresholdRow, ...] = ()
    findings: tuple[Fault, ...] = ()


def audit(experiment: Experiment | None = None, tracking_uri: str | None = None, folder: Path | None = None) -> Audit:
    """Audit one experiment, or all that have locks below the project's root (found upward from `folder`)."""
    if experiment is not None:
        return _audit_one(experiment, tracking_uri)
    root = find_root((folder or Path.cwd()).resolve())
    audits: list[Audit] = []
    findings: list[Fault] = []
    for locked in sorted((root / ".harness").glob("*/locks")):
        try:
            audits.append(_audit_one(load_experiment(root / _experiment_path(locked.parent)), tracking_uri))
        except HarnessError as error:
            findings += error.faults
    rows = tuple(row for one in audits for row in one.thresholds)
    return Audit(rows, (*findings, *(f for one in audits for f in one.findings)))


def _experiment_path(folder: Path) -> str:
    """Where an experiment's file lies, as its newest study says. Raises HarnessError when no study says so."""
    studies = [p for p in (folder / "studies").glob("*") if p.name.isdigit()]
    for study in sorted(studies, key=lambda p: int(p.name), reverse=True):
        if facts := StudyFiles(study).read():
            return str(facts["path"])
    raise HarnessError(Fault(str(folder), "it has locks, but no study that they could belong to", "restore it from a backup"))


@dataclass(frozen=True)
class _Case:
    """One lock, and what it is held against."""

    experiment: Experiment
    state: State
    path: Path
    lock: Lock
    tracker: Tracker
    labelled: Labelled
    models: _Models
    in_force: bool

    def fault(self, what: str, fix: str, where: str | None = None) -> Fault:
        return Fault(where or f"lock {self.path.stem}", what, fix)

    @property
    def study(self) -> StudyFiles:
        return self.state.study(self.lock.generation)

    @property
    def result_path(self) -> Path:
        return self.study.result_path(self.lock.trial)

    @cached_property
    def record(self) -> HoldoutRecord | None:
        return self.state.read_holdout(self.lock.holdout_sha256)


@dataclass
class _Models:
    """The experiment's embedder, loaded once, or why it can't be."""

    experiment: Experiment
    error: HarnessError | None = None
    _loaded: list[Embedder] = field(default_factory=list)

    def get(self) -> Embedder | None:
        if not self._loaded and self.error is None:
            try:
                self._loaded.append(self.experiment.load_embedder())
            except HarnessError as error:
                self.error = error
        return self._loaded[0] if self._loaded else None


def _audit_one(experiment: Experiment, tracking_uri: str | None) -> Audit:
    state = State(experiment)
    paths = sorted(state.locks.glob("*.json"))
    if not paths:
        return Audit(findings=tuple(_claims_without_lock(experiment, state)))
    tracker = resolve_tracking(experiment, tracking_uri)
    labelled, models = experiment.read_labels(), _Models(experiment)
    rows, findings = [], [*labelled.faults]
    readable = []
    for path in paths:
        try:
            readable.append((path, read_record(path, Lock)))
        except HarnessError as error:
            findings += error.faults
    ordered = state.in_order(made for _, made in readable)
    for path, made in readable:
        case = _Case(experiment, state, path, made, tracker, labelled, models, made is ordered[-1])
        try:
            rows.append(_row(case))
        except HarnessError as error:
            findings += error.faults
        for check in _checks(case):
            try:
                findings += check(case)
            except HarnessError as error:
                findings += error.faults
    return Audit(tuple(sorted(rows, key=lambda row: row.created)), tuple(dict.fromkeys(findings)))


def _claims_without_lock(experiment: Experiment, state: State) -> Iterator[Fault]:
    for claim in state.read_claims():
        if claim.experiment == experiment.name:
            what = f"its holdout was claimed at {claim.claimed} for lock {claim.lock_id}, which is gone"
            yield Fault(f"experiment '{experiment.name}'", what, "restore the lock from a backup")


def _row(case: _Case) -> ThresholdRow:
    made, tuned = case.lock, case.lock.threshold
    return ThresholdRow(
        value=tuned.value,
        embedder=tuned.embedder,
        fingerprint=tuned.embedder_fingerprint,
        similarity=tuned.similarity,
        scoring_fingerprint=tuned.scoring_fingerprint,
        lock_id=case.path.stem,
        run_id=made.run_id,
        status=_status(case),
        in_force=case.in_force,
        experiment=made.experiment,
        created=made.created,
        created_by=made.created_by,
    )


def _status(case: _Case) -> str:
    try:
        return _verified(case)
    except HarnessError:  # its own finding says what is wrong with the record
        return "unknown: the holdout's record can't be read"


def _verified(case: _Case) -> str:
    if case.record is None:
        return "holdout not opened" if case.lock.holdout_sha256 != "none" else "no holdout"
    if case.record.claim.lock_id == case.lock.lock_id:
        return str(case.record.verdict["verdict"])
    return f"not verified: the holdout was opened for lock {case.record.claim.lock_id}"


def _lock_file(case: _Case) -> Iterator[Fault]:
    if case.lock.lock_id != case.path.stem:
        yield case.fault("its file was edited: the content no longer has this id", "restore it from a backup", str(case.path))


def _checked_in_file(case: _Case) -> Iterator[Fault]:
    path = case.state.lock_file_to_check_in
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        yield case.fault(f"the file to check in can't be read ({error})", "run `harness lock` again", str(path))
        return
    expected = tomllib.loads(locks.to_toml(case.lock))
    for section, values in expected.items():
        for key, value in values.items():
            is_now = found.get(section, {}).get(key)
            if is_now != value:
                what = f"[{section}] {key} is {is_now!r}, the lock says {value!r}"
                yield case.fault(what, "run `harness lock` again to restore it", str(path))


def _data(case: _Case) -> Iterator[Fault]:
    made, labelled = case.lock, case.labelled
    for name, locked, found, file in (
        ("corpus", made.corpus_sha256, labelled.corpus.sha256, case.experiment.source.corpus),
        ("dev questions", made.dev_sha256, questions_sha256(labelled.dev), case.experiment.source.questions),
        ("dev labels", made.labels_sha256, labels_sha256(labelled.dev), case.experiment.source.questions),
        ("holdout questions", made.holdout_sha256, labelled.holdout.sha256, case.experiment.source.questions),
        ("holdout labels", made.holdout_labels_sha256, labelled.holdout.labels_sha256, case.experiment.source.questions),
    ):
        if locked != found:
            what = f"the {name} changed since the lock ({locked[:12]} is now {found[:12]})"
            yield case.fault(what, "sweep and lock anew", str(file))


def _model(case: _Case) -> Iterator[Fault]:
    embedder = case.models.get()
    if embedder is None:
        yield from case.models.error.faults if case.models.error else ()
        return
    locked, found = case.lock.embedder.fingerprint, embedder.identity.fingerprint
    if locked != found:
        what = f"the model '{case.lock.embedder.name}' is not the one it was tuned on ({locked[:12]} is now {found[:12]})"
        yield case.fault(what, "restore the model; the threshold does not carry over to another")
    if case.lock.threshold.similarity != case.experiment.similarity:
        locked, found = case.lock.threshold.similarity, case.experiment.similarity
        what = f"the experiment's similarity is now '{found}', the threshold's is '{locked}'"
        yield case.fault(what, "restore it; the threshold does not carry over to another")


def _chunking(case: _Case) -> Iterator[Fault]:
    embedder = case.models.get()
    if embedder is None or case.lock.corpus_sha256 != case.labelled.corpus.sha256:
        return  # the cause has a finding of its own
    if changed := locks.changed_options(case.experiment, case.lock):
        yield changed
        return
    ruler = case.experiment.ruler(case.labelled, embedder)
    found = case.experiment.chunk(case.labelled.corpus, case.lock.point, ruler)
    if found.sha256 != case.lock.chunking_sha256:
        own = case.lock.point.splitter.startswith(user.PREFIX)
        fix = "restore the function as it was" if own else "use the code version of the lock"
        yield case.fault("its chunks can't be derived again: the splitter cuts differently now", fix)


def _result(case: _Case) -> Iterator[Fault]:
    path = case.result_path
    if not path.exists():
        yield case.fault(f"the result of its trial {case.lock.trial} is gone", "restore it from a backup", str(path))
        return
    if locks.file_sha256(path) != case.lock.result_sha256:
        yield case.fault("the result that was locked was edited", "restore it from a backup", str(path))
        return
    result = read_record(path, TrialResult)
    if result.evaluation is None:
        return
    choice, _ = threshold.choose(result.evaluation.questions, case.lock.threshold.rule)
    if choice.value != case.lock.threshold.value:
        what = f"the rule gives {choice.value} from its scores, the lock says {case.lock.threshold.value}"
        yield case.fault(what, "lock anew")
    results, rule = case.study.read_results(), case.experiment.selection
    if case.lock.because is None and case.lock.selection["of"] == len(selection.out_of(results, rule)):
        yield from _choice(case, results, rule)


def _choice(case: _Case, results: Sequence[TrialResult], rule: selection.Selection) -> Iterator[Fault]:
    """Whether the choice of the lock in force would still be made, as long as it is chosen by the same metrics."""
    trial, objective = case.lock.trial, case.lock.selection.get("objective", [])
    if not case.in_force or objective != list(front.metric_names(rule.objective)):
        return
    if objective:
        if trial not in (on := [p.trial.trial for p in front.front(results, rule)]):
            what = f"trial {trial} is no longer on the front of {', '.join(objective)}, which is trials {', '.join(map(str, on))}"
            yield case.fault(what, "lock anew")
    elif case.lock.selection["key"] == list(rule.key) and (again := selection.select(results, rule).chosen.trial) != trial:
        yield case.fault(f"the rule now chooses trial {again}, not {trial}", "lock anew")


def _runs(case: _Case) -> Iterator[Fault]:
    if case.lock.run_id is None:
        return
    if case.tracker.read_run(case.lock.run_id) is None:
        yield case.fault(f"its sweep's run {case.lock.run_id} is gone from MLflow", "restore the run, or sweep anew")
        return
    run_id = case.tracker.trial_runs(case.lock.run_id).get(case.lock.trial)
    if run_id is None:
        yield case.fault(f"the run of its trial {case.lock.trial} is gone from MLflow", "run `harness sweep` to log it again")
        return
    if case.result_path.exists():
        result = read_record(case.result_path, TrialResult)
        if result.evaluation:
            yield from _run_agrees(case, run_id, run_metrics(result.evaluation, "dev"), _identity_tags(case.lock))


def _holdout(case: _Case) -> Iterator[Fault]:
    claim = case.state.read_claim(case.lock.holdout_sha256)
    record = case.record
    if record is None:
        if claim:
            what = f"its holdout was claimed at {claim.claimed} and no result was recorded: an opening was interrupted"
            yield case.fault(what, "run `harness holdout` to finish it")
        return
    if record.claim.lock_id != case.lock.lock_id:
        return
    tuned = case.lock.threshold
    for agrees, what in (
        (record.threshold == tuned, "its threshold is not the lock's"),
        (
            threshold.apply(record.evaluation.questions, tuned.value) == record.at_threshold,
            "its outcomes do not follow from its scores",
        ),
        (
            threshold.verdict(tuned.at_threshold, record.at_threshold) == record.verdict,
            "its verdict does not follow from its outcomes",
        ),
    ):
        if not agrees:
            yield case.fault(f"the holdout's record was edited: {what}", "restore it from a backup")
    if record.run_id is None:
        yield case.fault("the holdout's result is not in MLflow", "run `harness holdout` to log it")
        return
    yield from _run_agrees(case, record.run_id, run_metrics(record.evaluation, "holdout"), _identity_tags(case.lock))


def _identity_tags(made: Lock) -> dict[str, str]:
    return {
        "embedder.fingerprint": made.embedder.fingerprint,
        "scoring.fingerprint": made.scoring_fingerprint,
        "scoring.similarity": made.similarity,
        "corpus.sha256": made.corpus_sha256,
        "questions.dev.sha256": made.dev_sha256,
        "chunking.sha256": made.chunking_sha256,
    }


def _run_agrees(case: _Case, run_id: str, metrics: dict[str, float], tags: dict[str, str]) -> Iterator[Fault]:
    run = case.tracker.read_run(run_id)
    if run is None:
        yield case.fault(f"run {run_id} is gone from MLflow", "restore the run")
        return
    for name, value in metrics.items():
        logged = run["metrics"].get(name)
        if logged is None or not math.isclose(logged, value, rel_tol=1e-9, abs_tol=1e-9):
            yield case.fault(
                f"metric {name} is {logged} in MLflow, the result says {value}", "the run was edited", f"run {run_id}"
            )
    for name, text in tags.items():
        if run["tags"].get(name) != text:
            what = f"tag {name} is {run['tags'].get(name)} in MLflow, the lock says {text}"
            yield case.fault(what, "the run was edited", f"run {run_id}")


CHECKS: list[Callable[[_Case], Iterator[Fault]]] = [
    _lock_file,
    _checked_in_file,
    _data,
    _model,
    _chunking,
    _result,
    _runs,
    _holdout,
]


# What is held against today's files and model: a lock that another has superseded is of what was then.
OF_TODAY = (_checked_in_file, _data, _model, _chunking)


def _checks(case: _Case) -> list[Callable[[_Case], Iterator[Fault]]]:
    if case.lock.lock_id != case.path.stem:
        return [_lock_file]  # nothing follows from an edited lock
    return [check for check in CHECKS if case.in_force or check not in OF_TODAY]


def as_json(found: Audit) -> dict[str, Any]:
    return {"thresholds": [vars(row) for row in found.thresholds], "findings": [f.as_json() for f in found.findings]}
