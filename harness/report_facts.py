"""What a report is about: the newest study, its lock and its holdout, read from the records; a further fact is a field here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness import lock as locks
from harness import selection
from harness.analysis import Analysis, analyse, groups_of
from harness.diagnosis import Finding, diagnose
from harness.errors import HarnessError
from harness.experiment import Experiment
from harness.formats import Labelled
from harness.holdout import recorded
from harness.records import Claim, HoldoutRecord, Lock, QuestionScore, TrialResult, labels_sha256, provenance, questions_sha256
from harness.selection import Selected
from harness.state import State, StudyFiles
from harness.tables import Breakdown, breakdowns


@dataclass(frozen=True)
class Facts:
    """Everything that the page shows. `foreign` is the holdout's claim where another experiment or nobody's result has it."""

    experiment: Experiment
    labelled: Labelled
    files: StudyFiles
    study: dict[str, Any]
    results: tuple[TrialResult, ...]
    aside: tuple[TrialResult, ...]  # baselines that are no trials
    selected: Selected
    analysis: Analysis
    diagnosis: tuple[Finding, ...]
    lock: Lock | None
    locked: TrialResult | None
    record: HoldoutRecord | None
    foreign: Claim | None

    @property
    def name(self) -> str:
        return self.files.name

    @property
    def lock_is_of_this_study(self) -> bool:
        return self.lock is not None and self.lock.study == self.name

    @property
    def record_is_of_this_lock(self) -> bool:
        return bool(self.record and self.lock and self.record.claim.lock_id == self.lock.lock_id)

    @property
    def shown(self) -> TrialResult:
        """The trial that the page is about: the locked one, without a lock of this study the rule's choice."""
        return self.locked if self.locked and self.lock_is_of_this_study else self.selected.chosen

    @property
    def unit(self) -> str:
        return self.selected.chosen.unit

    @cached_property
    def breakdowns(self) -> tuple[Breakdown, ...]:
        """Hits of the shown trial by groups of dev questions: where they come from, in which documents their answers are."""
        return () if self.changed else breakdowns(self.shown.evaluation, self.labelled.dev, self.labelled.corpus)

    @property
    def provenance(self) -> dict[str, Any]:
        return provenance(self.labelled.dev)

    @cached_property
    def settings(self) -> list[TrialResult]:
        """Complete trials of distinct points, best key first; a repeated point stands for its first trial."""
        return selection.ordered(selection.distinct((*self.results, *self.aside)), self.experiment.selection.key)

    @property
    def sized(self) -> int:
        """How many of the settings are no baselines."""
        return sum(not r.point.baseline for r in self.settings)

    @property
    def level(self) -> list[TrialResult]:
        """Settings with as many hits at 1 and at 3 as the leader, leader included."""
        leader = self.selected.leader
        open_to_choice = selection.contenders(self.settings, self.experiment.selection)
        return [r for r in open_to_choice if (r.hits(1), r.hits(3)) == (leader.hits(1), leader.hits(3))]

    @property
    def failed(self) -> list[TrialResult]:
        return [r for r in self.results if r.error]

    @property
    def pruned(self) -> list[TrialResult]:
        """Pruned trials, the one that could have reached most first."""
        key = self.experiment.selection.key
        found = [(selection.key_of(r.bound.metrics, key), r) for r in self.results if r.bound]
        return [r for _, r in sorted(found, key=lambda pair: pair[0], reverse=True)]

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """What of the data is no longer the sweep's: offsets into it would point at other words."""
        return _changed(self.study, self.labelled)


def _changed(study: Mapping[str, Any], labelled: Labelled) -> tuple[str, ...]:
    known = study.get("identity", {})
    now = {
        "corpus": labelled.corpus.sha256,
        "dev questions": questions_sha256(labelled.dev),
        "evidence": labels_sha256(labelled.dev),
    }
    return tuple(name for name, digest in now.items() if known.get(name, digest) != digest)


def gather(experiment: Experiment) -> Facts:
    """Read the records. Raises HarnessError without a sweep, or when no trial of it is complete."""
    state = State(experiment)
    files = state.current()
    results, aside = tuple(files.read_results()), tuple(files.read_baselines())
    selected = selection.select(results, experiment.selection)
    labelled = experiment.read_labels()
    made = _current_lock(experiment)
    study = files.read()
    # Of changed data the groups can't be known any more: every question is one of its own then.
    groups = {} if _changed(study, labelled) else groups_of(labelled)
    analysis = analyse((*results, *aside), selected, experiment.selection, groups, experiment.search.seed)
    opened = recorded(experiment)
    return Facts(
        experiment=experiment,
        labelled=labelled,
        files=files,
        study=study,
        results=results,
        aside=aside,
        selected=selected,
        analysis=analysis,
        diagnosis=diagnose(
            results, selected, labelled, analysis, state.identities(), experiment.selection.target_by == "lower_bound"
        ),
        lock=made,
        locked=_locked_result(state, made) if made else None,
        record=opened.record if opened else None,
        foreign=None if opened else _claim(state, labelled.holdout.sha256),
    )


def _current_lock(experiment: Experiment) -> Lock | None:
    return locks.current(experiment) if State(experiment).read_locks() else None


def _locked_result(state: State, made: Lock) -> TrialResult | None:
    """The result that was locked, also from an earlier study; None when its file is gone, which the audit reports."""
    files = state.study(made.generation)
    try:
        return next((r for r in files.read_results() if r.trial == made.trial and r.complete), None)
    except HarnessError:
        return None


def _claim(state: State, holdout_sha256: str) -> Claim | None:
    record = state.read_holdout(holdout_sha256)
    return record.claim if record else state.read_claim(holdout_sha256)


def questions_of(result: TrialResult) -> tuple[QuestionScore, ...]:
    return result.evaluation.questions if result.evaluation else ()
