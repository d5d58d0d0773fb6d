"""The search: ask Optuna, evaluate on dev, write the result, tell Optuna, track."""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from harness import pruning, selection
from harness.diagnosis import diagnose
from harness.embedders import Embedder
from harness.errors import Fault, HarnessError, Refused, TrackingDown
from harness.experiment import Experiment
from harness.formats import Labelled
from harness.label_advice import advise, opened_in_dev, read_sound
from harness.measurement import Clock, Measurement
from harness.outcome import Silent, SweepOutcome, Watcher
from harness.pipeline import evaluate, read_tokens, size_metrics
from harness.pruning import Contender
from harness.records import Bound, Chunking, EmbedderIdentity, Evaluation, Point, TrialResult, questions_sha256
from harness.rivals import Rivals
from harness.sampled import sweep_seconds
from harness.state import State
from harness.study import open_study
from harness.suggest import Suggestions, require_storage
from harness.tables import by_source, trial_tables
from harness.tokenizers import Ruler
from harness.tracking import Context, Tracker, require_answer, without_password
from harness.version import code_version

WORTH_PRUNING = 600.0  # seconds of the whole sweep; below, trials that can all be compared are worth more
MOST_OPEN = 2_000_000  # chunks of the settings that are measured side by side: their offsets are held in memory


def sweep(
    experiment: Experiment,
    trials: int | None = None,
    storage: str | None = None,
    tracking_uri: str | None = None,
    fresh: bool = False,
    watcher: Watcher | None = None,
    complete: bool | Collection[int] = False,
) -> SweepOutcome:
    """Run or resume the search on dev until `trials` points are done in all.

    `complete`: measure whole what was pruned, all of it or the trials of these numbers.

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
        return _Sweep(experiment, inputs, total, storage, tracking_uri, fresh, watcher or Silent(), complete).run()


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
        complete: bool | Collection[int],
    ) -> None:
        self.experiment = experiment
        self.watcher = watcher
        self.labelled, self.embedder, self.ruler = inputs.labelled, inputs.embedder, inputs.ruler
        self.tracker = resolve_tracking(experiment, tracking_uri)
        self.files = open_study(experiment, self.labelled, self.embedder, fresh)
        self.name = self.files.name
        self.context = context_of(experiment, self.labelled, self.embedder.identity, self.name)
        self.results = {r.trial: r for r in self.files.read_results()}
        self.suggestions = Suggestions(experiment, self.name, storage or State(experiment).default_storage, total)
        if faults := opened_in_dev(experiment, self.labelled, self.tracker.claims()):
            raise HarnessError(faults)
        self.tracking_error: TrackingDown | None = None
        self.runs: dict[int, str] = {}
        self.complete = complete
        self.prunes = False
        self.rivals = Rivals(self.labelled.corpus, self.labelled.dev)

    def run(self) -> SweepOutcome:
        for warning in advise(self.experiment, self.labelled, self.ruler).warnings if not self.results else ():
            self.watcher.say(f"warning: {warning}")
        self._open_run()
        self._reconcile()
        self.watcher.begin(self.suggestions.total, len(self.results) - len(self._to_measure_again()))
        status = "KILLED"
        self.prunes = self._pruning()
        try:
            self._measure_again()
            if self.prunes:
                self._together(self.suggestions.known(self.results))
            for number, point in self.suggestions.ask(self.results, self._objective):
                self._record(self._measure(number, point))
                self.suggestions.tell(self.results[number], self._objective)
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

    def _pruning(self) -> bool:
        """Whether trials are given up that can't be chosen any more, which is said with the reason."""
        search, rule, scoring = self.experiment.search, self.experiment.selection, self.experiment.scoring
        done = len(self.results) >= self.suggestions.total and not selection.open_again(list(self.results.values()), rule)
        if search.prune == "none" or self.complete or done:
            return False
        why_not = selection.unbounded(rule, scoring.ks, scoring.char_k)
        if self.embedder.learns:
            why_not = f"{self.embedder.identity.name} learns from the chunks: all of them change every score"
        if why_not is None and search.prune == "auto":
            seconds = sweep_seconds(self.experiment, self.labelled, self.embedder, self.ruler, self.suggestions.total)
            if seconds < WORTH_PRUNING:
                why_not = f"the whole sweep is estimated at {seconds:.0f} s, under {WORTH_PRUNING / 60:.0f} minutes"
        if why_not is not None:
            if search.prune == "bound" or not self.embedder.learns:
                self.watcher.say(f"pruning is off, every trial is measured whole: {why_not}")
            return False
        beside = "" if self.suggestions.whole is not None else "; a sampler that learns suggests other points than without"
        self.watcher.say(f"pruning is on: a trial is measured until it can't be chosen any more{beside}")
        return True

    def _measure_again(self) -> None:
        """Measure pruned trials whole that are asked for, or that the rule, as it is now, could choose."""
        while again := self._to_measure_again():
            if not self.complete:
                self.watcher.say(f"{len(again)} pruned trials could be chosen by the rule as it is now: measured again")
            for result in again:
                self._replace(result)

    def _to_measure_again(self) -> list[TrialResult]:
        results = list(self.results.values())
        if self.complete is True:
            return [r for r in results if r.pruned]
        asked = [r for r in results if r.pruned and self.complete and r.trial in self.complete]
        return asked or selection.open_again(results, self.experiment.selection)

    def _replace(self, result: TrialResult) -> None:
        """Measure a pruned trial again; its number and what it has cost stay, its run gives way to another."""
        found = self._measure(result.trial, result.point)
        self._drop_run(result.trial)
        self._record(_with_cost(found, result.bound.tokens_embedded if result.bound else 0))

    def _drop_run(self, trial: int) -> None:
        run_id = self.runs.pop(trial, None)
        try:
            if run_id:
                self.tracker.withdraw(run_id, "its trial was pruned, and measured again later")
        except TrackingDown as error:
            self.tracking_error = error

    def _together(self, points: Sequence[Point]) -> None:
        """Measure points that are known beforehand side by side, the most promising first."""
        numbered = dict(enumerate(points, self.suggestions.next_number))
        waiting = list(numbered.items())
        while waiting:
            contenders, chunks = dict[int, Contender](), 0
            repeated = dict[int, Point]()
            while waiting and (not contenders or chunks < MOST_OPEN):
                number, point = waiting.pop(0)
                opened = self._open(number, point, {c.measurement.chunking.sha256 for c in contenders.values()})
                if opened is None:
                    repeated[number] = point
                elif isinstance(opened, TrialResult):
                    self._record(opened)
                else:
                    contenders[number] = opened
                    chunks += len(opened.measurement.chunking)
            started = time.time()
            for number, found in pruning.best_first(contenders, self._incumbent, self.watcher.progress):
                self._record(self._result(number, numbered[number], started, found))
            for number, point in repeated.items():
                self._record(self._measure(number, point))
        self.suggestions.catch_up(self.results, self._objective)

    def _open(self, number: int, point: Point, open_cuts: Collection[str]) -> Contender | TrialResult | None:
        """A setting ready to be measured; its result where that needs no measuring; None where another has the same chunks."""
        started = time.time()
        try:
            chunking = self._chunk(point)
            if chunking.sha256 in open_cuts:
                return None
            if point.baseline or self._same_cut(chunking):
                return self._measure(number, point)
            return self._contender(chunking)
        except Exception as raised:
            return self._result(number, point, started, raised)

    def _incumbent(self) -> TrialResult | None:
        return selection.incumbent(list(self.results.values()), self.experiment.selection)

    def _contender(self, chunking: Chunking) -> Contender:
        clock = Clock(self.experiment.search.trial_timeout)
        measurement = Measurement(chunking, self.labelled.dev, self.embedder, self.experiment.scoring, clock)
        return Contender(measurement, self.experiment.selection, self.rivals)

    def _record(self, result: TrialResult) -> None:
        """Write a result down, log it and show it."""
        self.files.write_result(result)
        self.results[result.trial] = result
        self._log_missing()
        rule = self.experiment.selection
        best = selection.ordered(selection.contenders(list(self.results.values()), rule), rule.key)
        self.watcher.trial(result, best[0] if best else None)

    def _measure(self, number: int, point: Point) -> TrialResult:
        started, reused = time.time(), None
        try:
            found, reused = self._evaluate(point)
        except Exception as raised:
            return self._result(number, point, started, raised)
        return self._result(number, point, started, found, reused)

    def _result(
        self, number: int, point: Point, started: float, found: Evaluation | Bound | Exception, reused: int | None = None
    ) -> TrialResult:
        unit, ended = self.ruler.unit, time.time()
        if isinstance(found, Exception):
            return TrialResult(number, point, unit, started, ended, error=_described(found))
        if isinstance(found, Bound):
            return TrialResult(number, point, unit, started, ended, bound=found, reused_from=reused)
        return TrialResult(number, point, unit, started, ended, found, reused_from=reused)

    def _chunk(self, point: Point) -> Chunking:
        """Raises HarnessError for a point that is infeasible."""
        chunking = self.experiment.chunk(self.labelled.corpus, point, self.ruler)
        self._refuse_truncation(point, chunking)
        return chunking

    def _same_cut(self, chunking: Chunking) -> TrialResult | None:
        """An earlier trial of the same chunks: one that is complete, else, where trials are pruned, one that still is beaten."""
        alike = [r for r in self.results.values() if r.chunking_sha256 == chunking.sha256]
        best, rule = self._incumbent() if self.prunes else None, self.experiment.selection
        beaten = (r for r in alike if r.bound and best and selection.beaten(r.bound, best, rule))
        return next((r for r in alike if r.complete), next(beaten, None))

    def _evaluate(self, point: Point) -> tuple[Evaluation | Bound, int | None]:
        """What a point gets, or what an earlier trial of the same chunks got, whose number comes with it."""
        chunking = self._chunk(point)
        if earlier := self._same_cut(chunking):
            return _as_of(earlier, chunking), earlier.trial
        if self.prunes and not point.baseline:
            return pruning.race(self._contender(chunking), self._incumbent()), None
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


def _as_of(earlier: TrialResult, chunking: Chunking) -> Evaluation | Bound:
    """The same chunks, but measured against another size."""
    found = earlier.evaluation or earlier.bound
    if found is None:
        raise ValueError(f"trial {earlier.trial} has nothing to reuse")
    metrics = {**found.metrics, **size_metrics(chunking)}
    if isinstance(found, Evaluation):
        metrics["tokens_embedded"] = 0.0
    return replace(found, tokens_embedded=0, seconds={}, metrics=metrics)


def _with_cost(result: TrialResult, tokens: int) -> TrialResult:
    """A result whose tokens embedded include those of an earlier try."""

    def more(found: Evaluation | Bound) -> dict[str, Any]:
        spent = found.tokens_embedded + tokens
        return {"tokens_embedded": spent, "metrics": {**found.metrics, "tokens_embedded": float(spent)}}

    if result.evaluation:
        return replace(result, evaluation=replace(result.evaluation, **more(result.evaluation)))
    return replace(result, bound=replace(result.bound, **more(result.bound))) if result.bound else result


def _described(error: Exception) -> str:
    if isinstance(error, HarnessError):
        return str(error)
    return f"{type(error).__name__}: {error}\n{''.join(traceback.format_exception(error))}"
