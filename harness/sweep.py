"""The search: ask Optuna, evaluate on dev, write the result, tell Optuna, track."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from harness import front, selection
from harness.analysis import Analysis, analyse, groups_of, sentences
from harness.diagnosis import diagnose
from harness.errors import Fault, HarnessError, Refused, TrackingDown
from harness.experiment import Experiment
from harness.formats import Labelled
from harness.label_advice import advise, opened_in_dev, read_sound
from harness.outcome import Silent, SweepOutcome, Watcher
from harness.pipeline import run_metrics
from harness.records import Bound, EmbedderIdentity, Evaluation, TrialResult, hit_metric, questions_sha256
from harness.sampled import sweep_seconds
from harness.state import State, sqlite
from harness.study import open_study
from harness.suggest import Suggestions, require_storage
from harness.tables import breakdowns, trial_tables
from harness.tracking import Context, Tracker, compared, require_answer, without_password
from harness.trials import Inputs, Trials
from harness.version import code_version

WORTH_PRUNING = 600.0  # seconds of the whole sweep; below, trials that can all be compared are worth more


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
    watcher = watcher or Silent()
    inputs = _read_inputs(experiment, watcher)
    if storage:
        if storage == _tracking_uri(experiment, tracking_uri):
            fix = "MLflow needs a database of its own"
            raise HarnessError(Fault("--storage", "Optuna and MLflow can't share one database", fix))
        require_storage(storage)
    require_answer(_tracking_uri(experiment, tracking_uri))
    with _alone(State(experiment).exclusive(f"sweep-{experiment.name}"), experiment):
        total = trials or experiment.search.trials
        return _Sweep(experiment, inputs, total, storage, tracking_uri, fresh, watcher, complete).run()


def _read_inputs(experiment: Experiment, watcher: Watcher) -> Inputs:
    labelled = read_sound(experiment)
    embedder = experiment.load_embedder(watcher.say)
    return Inputs(labelled, embedder, experiment.ruler(labelled, embedder))


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
    return given or tracking_of_project(experiment.root)


def tracking_of_project(root: Path) -> str:
    """The MLflow store of a project, whatever the experiment."""
    return os.environ.get("MLFLOW_TRACKING_URI") or sqlite(root / "mlflow.db")


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
        inputs: Inputs,
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
        self.aside = [r for r in self.files.read_baselines() if r.point in experiment.aside]
        self.suggestions = Suggestions(experiment, self.name, storage or State(experiment).default_storage, total)
        if faults := opened_in_dev(experiment, self.labelled, self.tracker.claims()):
            raise HarnessError(faults)
        self.tracking_error: TrackingDown | None = None
        self.runs: dict[int, str] = {}
        self.complete = complete
        self.analysis: Analysis | None = None
        self.trials = Trials(experiment, inputs, self.results, watcher)

    def run(self) -> SweepOutcome:
        for warning in advise(self.experiment, self.labelled, self.ruler).warnings if not self.results else ():
            self.watcher.say(f"warning: {warning}")
        self._open_run()
        self._reconcile()
        self.watcher.begin(self.suggestions.total, len(self.results) - len(self._to_measure_again()))
        status = "KILLED"
        self.trials.prunes = self._pruning()
        try:
            self._measure_again()
            if isinstance(self.complete, bool):
                self._search()
                self._measure_aside()
            status = "FINISHED"
        finally:
            self._finish(status)
        if self.tracking_error:
            raise self.tracking_error
        return self._outcome()

    def _search(self) -> None:
        if self.trials.prunes:
            for result in self.trials.side_by_side(self.suggestions.known(self.results)):
                self._record(result)
            self.suggestions.catch_up(self.results, self._objective)
        for number, point in self.suggestions.ask(self.results, self._objective):
            self._record(self.trials.measure(number, point))
            self.suggestions.tell(self.results[number], self._objective)

    def _measure_aside(self) -> None:
        """Measure the baselines that the file does not name: to be compared with, and no trials."""
        known = {r.point for r in self.aside}
        missing = [point for point in self.experiment.aside if point not in known]
        if missing:
            self.watcher.say(f"baselines to compare with, beside the trials: {', '.join(map(str, missing))}")
        for point in missing:
            result = self.trials.measure(-1 - self.experiment.aside.index(point), point)
            self.files.write_baseline(result)
            self.aside.append(result)

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
        for trial in self.tracker.pruned_runs(self.parent):
            if trial in self.results and not self.results[trial].pruned:
                self._drop_run(trial)
        logged = self._log_missing()
        if told or dropped or closed or (self.results and logged):
            self.watcher.say(
                f"resumed: {len(self.results)} finished trials found, {dropped} interrupted ones to be tried again under new "
                f"numbers, {logged} results logged that MLflow did not have"
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
        beside = "; a sampler that learns suggests other points than without" if self.suggestions.learns else ""
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
        rule = self.experiment.selection
        return asked or selection.open_again(results, rule) or front.undecided(results, rule)

    def _replace(self, result: TrialResult) -> None:
        """Measure a pruned trial again; its number and what it has cost stay, its run gives way to another."""
        found = self.trials.measure(result.trial, result.point)
        self._drop_run(result.trial)
        self._record(_with_cost(found, result.bound.tokens_embedded if result.bound else 0))

    def _drop_run(self, trial: int) -> None:
        run_id = self.runs.pop(trial, None)
        try:
            if run_id:
                self.tracker.withdraw(run_id, "its trial was pruned, and measured again later")
        except TrackingDown as error:
            self.tracking_error = error

    def _record(self, result: TrialResult) -> None:
        """Write a result down, log it and show it."""
        self.files.write_result(result)
        self.results[result.trial] = result
        self._log_missing()
        rule = self.experiment.selection
        best = selection.ordered(selection.contenders(list(self.results.values()), rule), rule.key)
        self.watcher.trial(result, best[0] if best else None)

    def _objective(self, result: TrialResult) -> tuple[float, ...] | None:
        rule = self.experiment.selection
        return front.values(result, rule.objective) if rule.objective else (selection.objective(result, rule.key),)

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
        self.analysis = self._analyse(selected)
        chosen, pruned = selected.chosen, sum(r.pruned for r in self.results.values())
        points = front.front(list(self.results.values()), self.experiment.selection)
        note = (
            f"**{self.experiment.question or self.experiment.name}**\n\n"
            f"{'By its key' if points else 'Chosen'}: **{chosen.point}** ({self.ruler.unit}), {selected.why}; "
            f"{chosen.hits(1)} of {len(self.labelled.answerable)} dev questions have their complete evidence in the first chunk, "
            f"{chosen.hits(3)} within three; "
            f"index ratio {chosen.metrics['index_ratio']:.3f}. {selected.complete} complete of {selected.of} trials"
            f"{f' ({pruned} pruned)' if pruned else ''}."
        )
        if len(selected.tied) > 1:
            note += f" {len(selected.tied)} settings tie on the whole key."
        if points:
            note += f" Several objectives have no single best setting; the front: {front.listing(points)}."
        note += "".join(f" {sentence}" for sentence in sentences(self.analysis))
        if self.aside:
            found = {str(r.point): run_metrics(r.evaluation, "dev") for r in self.aside if r.evaluation}
            self._tracked(lambda: self.tracker.log_json(self.parent, "baselines.json", found))
        tags = {"harness.chosen_trial": str(chosen.trial), "harness.chosen": str(chosen.point)}
        self._end_run(status, note, {"trials_complete": float(selected.complete), "trials_pruned": float(pruned)}, tags)

    def _analyse(self, selected: selection.Selected) -> Analysis:
        experiment = self.experiment
        results = [*self.results.values(), *self.aside]
        return analyse(results, selected, experiment.selection, groups_of(self.labelled), experiment.search.seed)

    def _end_run(self, status: str, note: str, metrics: dict[str, float], tags: dict[str, str]) -> None:
        self._tracked(lambda: self.tracker.finish_parent(self.parent, status, note, metrics, tags))

    def _tracked(self, write: Callable[[], None]) -> None:
        """Write to the store; that it does not answer is told at the end."""
        try:
            write()
        except TrackingDown as error:
            self.tracking_error = error

    def _outcome(self) -> SweepOutcome:
        results, rule = tuple(self.results[n] for n in sorted(self.results)), self.experiment.selection
        selected = selection.select(results, rule)
        command, url = self.tracker.ui(f"dev/{hit_metric(selected.leader.hit_name, 1)}")
        analysis = self.analysis or self._analyse(selected)
        studies = State(self.experiment).identities()
        return SweepOutcome(
            self.name,
            self.parent,
            results,
            tuple(self.aside),
            selected,
            analysis,
            diagnosis=diagnose(results, selected, self.labelled, analysis, studies, rule.target_by == "lower_bound"),
            front=front.front(results, rule),
            breakdowns=breakdowns(selected.chosen.evaluation, self.labelled.dev, self.labelled.corpus),
            runs=dict(self.runs),
            ui_command=command,
            ui_url=url,
            compare_url=self.tracker.compare_link(self.parent, compared(selected.leader, [*rule.objective, *rule.key])),
        )


def _with_cost(result: TrialResult, tokens: int) -> TrialResult:
    """A result whose tokens embedded include those of an earlier try."""

    def more(found: Evaluation | Bound) -> dict[str, Any]:
        spent = found.tokens_embedded + tokens
        return {"tokens_embedded": spent, "metrics": {**found.metrics, "tokens_embedded": float(spent)}}

    if result.evaluation:
        return replace(result, evaluation=replace(result.evaluation, **more(result.evaluation)))
    return replace(result, bound=replace(result.bound, **more(result.bound))) if result.bound else result
