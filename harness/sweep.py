"""The search: ask Optuna, evaluate on dev, write the result, tell Optuna, track."""

from __future__ import annotations

import json
import os
import time
import traceback
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from filelock import FileLock, Timeout

from harness import selection, tokenizers
from harness.diagnosis import Finding, diagnose
from harness.embedders import Embedder
from harness.errors import Fault, HarnessError, Refused, TrackingDown
from harness.experiment import Experiment, differences
from harness.formats import Labelled
from harness.label_advice import advise, opened_in_dev, read_sound
from harness.pipeline import evaluate, read_tokens, run_metrics, size_metrics
from harness.records import Chunking, EmbedderIdentity, Evaluation, Point, TrialResult, questions_sha256
from harness.selection import Selected
from harness.state import State, StudyFiles
from harness.suggest import Suggestions, require_storage
from harness.tables import SourceRow, by_source, trial_tables
from harness.tokenizers import Ruler
from harness.tracking import Context, Tracker, require_answer, without_password
from harness.version import code_version


class Watcher(Protocol):
    """Is told how the sweep goes; the command line draws a bar with it."""

    def begin(self, total: int, done: int) -> None: ...

    def trial(self, result: TrialResult, best: TrialResult | None) -> None: ...

    def say(self, message: str) -> None: ...


class Silent:
    """A watcher that shows nothing."""

    def begin(self, total: int, done: int) -> None: ...

    def trial(self, result: TrialResult, best: TrialResult | None) -> None: ...

    def say(self, message: str) -> None: ...


@dataclass(frozen=True)
class SweepOutcome:
    """A sweep as it stands: its study, its run, all results, and what was selected from them."""

    study: str
    run_id: str
    results: tuple[TrialResult, ...]
    selected: Selected
    diagnosis: tuple[Finding, ...]
    sources: tuple[SourceRow, ...]  # of the chosen trial
    runs: dict[int, str]
    ui_command: str | None
    ui_url: str

    @property
    def tokens(self) -> dict[str, int]:
        """Tokens embedded, and what embedding every point whole would have taken."""
        done = [r for r in self.results if r.evaluation]
        return {
            "embedded": sum(r.evaluation.tokens_embedded for r in done if r.evaluation and r.reused_from is None),
            "full": sum(r.evaluation.tokens_full for r in done if r.evaluation),
        }

    def as_json(self) -> dict[str, Any]:
        complete = self.selected.complete
        return {
            "study": self.study,
            "run_id": self.run_id,
            "trials": {"complete": complete, "pruned": 0, "failed": len(self.results) - complete},
            "leader": self._trial_json(self.selected.leader),
            "chosen": self._trial_json(self.selected.chosen),
            "tied": list(self.selected.tied),
            "why": self.selected.why,
            "tokens": self.tokens,
            "diagnosis": [vars(finding) for finding in self.diagnosis],
            "by_source": [vars(row) for row in self.sources],
            "ui_url": self.ui_url,
            "ui_command": self.ui_command,
        }

    def _trial_json(self, result: TrialResult) -> dict[str, Any]:
        metrics = run_metrics(result.evaluation, "dev") if result.evaluation else {}
        return {"trial": result.trial, "run_id": self.runs.get(result.trial), "params": result.params, "metrics": metrics}


def sweep(
    experiment: Experiment,
    trials: int | None = None,
    storage: str | None = None,
    tracking_uri: str | None = None,
    fresh: bool = False,
    watcher: Watcher | None = None,
) -> SweepOutcome:
    """Run or resume the search on dev until `trials` points are done in all.

    Raises HarnessError for what the user can mend, Refused when another study has the name, TrackingDown at the end when
    results could not be logged; they are on disk, and the next call logs them.
    """
    inputs = _read_inputs(experiment)
    if storage:
        if storage == _tracking_uri(experiment, tracking_uri):
            fix = "MLflow needs a database of its own"
            raise HarnessError(Fault("--storage", "Optuna and MLflow can't share one database", fix))
        require_storage(storage)
    require_answer(_tracking_uri(experiment, tracking_uri))
    with _alone(State(experiment).exclusive(f"sweep-{experiment.name}"), experiment):
        total = trials or experiment.search.trials
        return _Sweep(experiment, inputs, total, storage, tracking_uri, fresh, watcher or Silent()).run()


@dataclass(frozen=True)
class _Inputs:
    """All that a sweep reads, found sound before anything is written."""

    labelled: Labelled
    embedder: Embedder
    ruler: Ruler


def _read_inputs(experiment: Experiment) -> _Inputs:
    labelled = read_sound(experiment)
    embedder = experiment.load_embedder()
    return _Inputs(labelled, embedder, experiment.ruler(labelled, embedder))


def _alone(lock: FileLock, experiment: Experiment) -> FileLock:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        fix = "wait for it, or stop it"
        raise Refused(Fault(str(experiment.path), f"a sweep of '{experiment.name}' is running already", fix)) from None
    return lock


def resolve_tracking(experiment: Experiment, tracking_uri: str | None) -> Tracker:
    """The MLflow store: as given, else as MLFLOW_TRACKING_URI says, else the project's own database."""
    state = State(experiment)
    uri = _tracking_uri(experiment, tracking_uri)
    parent = state.current().read().get("run_id") if state.generations() else None
    return Tracker(uri, experiment.name, state.artifacts, parent)


def _tracking_uri(experiment: Experiment, given: str | None) -> str:
    return given or os.environ.get("MLFLOW_TRACKING_URI") or State(experiment).default_tracking


def context_of(experiment: Experiment, labelled: Labelled, identity: EmbedderIdentity, study: str) -> Context:
    """What every run of an experiment carries."""
    corpus, dev = labelled.corpus.sha256, questions_sha256(labelled.dev)
    tags = {
        "embedder.name": identity.name,
        "embedder.fingerprint": identity.fingerprint,
        "scoring.similarity": experiment.similarity,
        "corpus.sha256": corpus,
        "questions.dev.sha256": dev,
        "questions.holdout.sha256": labelled.holdout.sha256,
        "questions.unreviewed": str(labelled.unreviewed),
        "code.version": code_version(),
        "harness.study": study,
        "harness.text": experiment.tracking_text,
        **_options_tags(experiment),
    }
    source = experiment.source
    datasets = [("corpus", corpus, source.corpus.name, "dev"), ("questions", dev, source.questions.name, "dev")]
    return Context(tags, datasets, identity)


def _options_tags(experiment: Experiment) -> dict[str, str]:
    """The splitters' options where they are not the defaults, as JSON: a trial's parameters are the same for all splitters."""
    changed = {name: s.options.model_dump(exclude_defaults=True, mode="json") for name, s in experiment.splitters.items()}
    return {f"splitter.{name}.options": json.dumps(options, sort_keys=True) for name, options in changed.items() if options}


class _Sweep:
    """One call of `sweep`; the state between the steps of its loop."""

    def __init__(
        self,
        experiment: Experiment,
        inputs: _Inputs,
        total: int,
        storage: str | None,
        tracking_uri: str | None,
        fresh: bool,
        watcher: Watcher,
    ) -> None:
        self.experiment = experiment
        self.watcher = watcher
        self.labelled, self.embedder, self.ruler = inputs.labelled, inputs.embedder, inputs.ruler
        self.tracker = resolve_tracking(experiment, tracking_uri)
        self.files = _study_files(experiment, self.labelled, self.embedder, fresh)
        self.name = self.files.name
        self.context = context_of(experiment, self.labelled, self.embedder.identity, self.name)
        self.results = {r.trial: r for r in self.files.read_results()}
        self.suggestions = Suggestions(experiment, self.name, storage or State(experiment).default_storage, total)
        if faults := opened_in_dev(experiment, self.labelled, self.tracker.claims()):
            raise HarnessError(faults)
        self.tracking_error: TrackingDown | None = None
        self.runs: dict[int, str] = {}

    def run(self) -> SweepOutcome:
        for warning in advise(self.experiment, self.labelled, self.ruler).warnings if not self.results else ():
            self.watcher.say(f"warning: {warning}")
        self._open_run()
        self._reconcile()
        self.watcher.begin(self.suggestions.total, len(self.results))
        status = "KILLED"
        try:
            for number, point in self.suggestions.ask(self.results, self._objective):
                self._try(number, point)
            status = "FINISHED"
        finally:
            self._finish(status)
        if self.tracking_error:
            raise self.tracking_error
        return self._outcome()

    def _open_run(self) -> None:
        facts = self.files.read()
        note = self.experiment.question or f"Search for the chunking of '{self.experiment.name}'."
        self.parent = self.tracker.open_parent(facts.get("run_id"), f"sweep {self.name}", self.context, note)
        self.files.write({**facts, "run_id": self.parent, "tracking_uri": without_password(self.tracker.uri)})

    def _reconcile(self) -> None:
        """Make study and MLflow agree with the result files, and say what an earlier call left undone."""
        told, dropped = self.suggestions.reconcile(self.results, self._objective)
        closed = self.tracker.close_orphans(self.parent, "the process that ran it ended before it did")
        self.runs = self.tracker.trial_runs(self.parent)
        logged = self._log_missing()
        if told or dropped or closed or (self.results and logged):
            self.watcher.say(
                f"resumed: {len(self.results)} finished trials found, {dropped} interrupted ones to be tried again, "
                f"{logged} results logged that MLflow did not have"
            )

    def _try(self, number: int, point: Point) -> None:
        result = self._measure(number, point)
        self.files.write_result(result)
        self.results[number] = result
        self.suggestions.tell(result, self._objective)
        self._log_missing()
        rule = self.experiment.selection
        best = selection.ordered(selection.contenders(list(self.results.values()), rule), rule.key)
        self.watcher.trial(result, best[0] if best else None)

    def _measure(self, number: int, point: Point) -> TrialResult:
        started = time.time()
        evaluation, error, reused = None, None, None
        try:
            evaluation, reused = self._evaluate(point)
        except Exception as raised:
            error = _described(raised)
        return TrialResult(number, point, self.ruler.unit, started, time.time(), evaluation, error, reused)

    def _evaluate(self, point: Point) -> tuple[Evaluation, int | None]:
        """An evaluation, or that of an earlier trial with the same point or the same chunks, whose number comes with it."""
        chunking = self.experiment.chunk(self.labelled.corpus, point, self.ruler)
        for earlier in self.results.values():
            if earlier.evaluation and earlier.evaluation.chunking_sha256 == chunking.sha256:
                # The same chunks, but measured against another size.
                metrics = {**earlier.evaluation.metrics, **size_metrics(chunking), "tokens_embedded": 0.0}
                return replace(earlier.evaluation, tokens_embedded=0, seconds={}, metrics=metrics), earlier.trial
        self._refuse_truncation(point, chunking)
        limit = self.experiment.search.trial_timeout
        return evaluate(chunking, self.labelled.dev, self.embedder, self.experiment.scoring, limit), None

    def _refuse_truncation(self, point: Point, chunking: Chunking) -> None:
        if self.experiment.search.truncation == "refuse":
            _, beyond = read_tokens(chunking.texts(), self.embedder)
            if cut := np.count_nonzero(beyond):
                what = f"infeasible: the model would cut {cut} of {len(chunking)} chunks"
                raise HarnessError(Fault(str(point), what, 'use smaller chunks, or truncation = "warn"'))

    def _objective(self, result: TrialResult) -> float:
        return selection.objective(result, self.experiment.selection.key)

    def _log_missing(self) -> int:
        """Log every result that has no run yet; a store that does not answer is asked again at the next trial."""
        missing = [r for n, r in sorted(self.results.items()) if n not in self.runs]
        try:
            for result in missing:
                tables = (
                    trial_tables(result.evaluation, self.labelled.dev, self.labelled.corpus, self.experiment.tracking_text)
                    if result.evaluation
                    else {}
                )
                self.runs[result.trial] = self.tracker.log_trial(self.parent, result, self.context, tables)
            self.tracking_error = None
        except TrackingDown as error:
            if self.tracking_error is None:
                self.watcher.say(f"{error}")
            self.tracking_error = error
        return len(missing)

    def _finish(self, status: str) -> None:
        if not any(r.complete for r in self.results.values()):
            self._end_run("FAILED" if status == "FINISHED" else status, "No trial is complete.", {}, {})
            return
        try:
            selected = selection.select(list(self.results.values()), self.experiment.selection)
        except HarnessError as error:  # no trial meets the constraint; the outcome says so again
            self._end_run(status, str(error), {}, {})
            return
        chosen = selected.chosen
        note = (
            f"**{self.experiment.question or self.experiment.name}**\n\n"
            f"Chosen: **{chosen.point}** ({self.ruler.unit}), {selected.why}; "
            f"{chosen.hits(1)} of {len(self.labelled.answerable)} dev questions have their complete evidence in the first chunk, "
            f"{chosen.hits(3)} within three; "
            f"index ratio {chosen.metrics['index_ratio']:.3f}. {selected.complete} complete of {selected.of} trials."
        )
        if len(selected.tied) > 1:
            note += f" {len(selected.tied)} settings tie on the whole key."
        tags = {"harness.chosen_trial": str(chosen.trial), "harness.chosen": str(chosen.point)}
        self._end_run(status, note, {"trials_complete": float(selected.complete)}, tags)

    def _end_run(self, status: str, note: str, metrics: dict[str, float], tags: dict[str, str]) -> None:
        try:
            self.tracker.finish_parent(self.parent, status, note, metrics, tags)
        except TrackingDown as error:
            self.tracking_error = error

    def _outcome(self) -> SweepOutcome:
        results = tuple(self.results[n] for n in sorted(self.results))
        selected = selection.select(results, self.experiment.selection)
        command, url = self.tracker.ui(f"dev/{selected.leader.hit_name.replace(' ', '_')}_at_1")
        diagnosis = diagnose(results, selected, self.labelled)
        sources = by_source(selected.chosen.evaluation, self.labelled.dev)
        return SweepOutcome(self.name, self.parent, results, selected, diagnosis, sources, dict(self.runs), command, url)


def _described(error: Exception) -> str:
    if isinstance(error, HarnessError):
        return str(error)
    return f"{type(error).__name__}: {error}\n{''.join(traceback.format_exception(error))}"


def _study_files(experiment: Experiment, labelled: Labelled, embedder: Embedder, fresh: bool) -> StudyFiles:
    """The study's files, begun when new. Raises Refused when the name belongs to a study that differs."""
    state = State(experiment)
    generations = state.generations()
    identity = experiment.identity(labelled, embedder)
    if generations and not fresh:
        files = state.study(generations[-1])
        recorded = files.read().get("identity", {})
        differs = differences(recorded, identity)
        if differs:
            shown = "; ".join(_difference(n, recorded.get(n), identity[n]) for n in differs)
            fix = "run with --fresh to start a new study, or give the experiment another name"
            raise Refused(
                Fault(
                    str(experiment.path),
                    f"'{experiment.name}' is the name of another study, which differs in {shown}",
                    fix,
                )
            )
        return files
    files = state.study((generations or [0])[-1] + 1)
    if files.read_results():
        fix = "restore study.json, or move the folder away"
        raise HarnessError(Fault(str(files.folder), "it holds results, but the study.json that says of what is gone", fix))
    files.write(
        {
            "identity": identity,
            "embedder": embedder.identity.as_json(),
            "unit": tokenizers.unit_name(experiment.unit(embedder)),
            "code_version": code_version(),
            "path": experiment.path.relative_to(experiment.root).as_posix(),
            "experiment_file": experiment.source_text,
        }
    )
    return files


def _difference(name: str, was: Any, is_now: Any) -> str:
    """What changed of a part of the identity; of a table of several, the entries that did."""
    if isinstance(was, dict) and isinstance(is_now, dict):
        keys = [k for k in dict.fromkeys((*was, *is_now)) if was.get(k) != is_now.get(k)]
        inner = ", ".join(f"{k} {_brief(was.get(k, 'none'))} is now {_brief(is_now.get(k, 'none'))}" for k in keys)
        return f"{name}: {inner}"
    return f"{name}: {_brief(was)} is now {_brief(is_now)}"


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
