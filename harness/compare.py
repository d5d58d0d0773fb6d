"""Any two measured settings on the questions that they share; a metric that every question has is compared by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from harness import selection, stats
from harness.errors import Fault, HarnessError, Refused, counted
from harness.experiment import Experiment, find_root
from harness.experiment import load as load_experiment
from harness.formats import Labelled
from harness.metrics import COSTS
from harness.ranking import FloatArray
from harness.records import Question, QuestionScore, TrialResult, labels_sha256, questions_sha256
from harness.splits import group_keys
from harness.state import State, StudyFiles
from harness.stats import Interval
from harness.sweep import tracking_of_project
from harness.tracking import read_tags

RUN_ID = re.compile(r"[0-9a-f]{32}")
NUMBERED = re.compile(r"(?P<path>.+):(?P<trial>\d+)")
SHOWN_COSTS = ("index_ratio", "context_at_3", "chunks")


@dataclass(frozen=True)
class Side:
    """One complete trial, and the questions that it was measured on."""

    experiment: Experiment
    study: str
    result: TrialResult
    labelled: Labelled
    embedder: str

    @property
    def name(self) -> str:
        return f"{self.experiment.name} trial {self.result.trial}, {self.result.point}"

    @cached_property
    def asked(self) -> Mapping[str, Question]:
        """Answerable questions by their hash: the same wording is the same question, whatever its id."""
        return {q.sha256: q for q in self.labelled.dev if q.answerable}

    @cached_property
    def scored(self) -> Mapping[str, QuestionScore]:
        """What each answerable question got, by its hash."""
        by_id = {q.question_id: q for q in self.result.evaluation.questions} if self.result.evaluation else {}
        return {h: by_id[q.question_id] for h, q in self.asked.items() if q.question_id in by_id}

    def as_json(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment.name,
            "study": self.study,
            "trial": self.result.trial,
            "params": self.result.params,
            "embedder": self.embedder,
        }


@dataclass(frozen=True)
class Row:
    """One metric on the shared questions: means, their difference (second minus first), questions won and lost by the second.

    `p_value` is two-sided and of this row alone: nothing corrects it for how the two were picked.
    """

    metric: str
    first: float
    second: float
    difference: float
    interval: Interval | None
    won: int
    lost: int
    p_value: float
    questions: int

    def as_json(self) -> dict[str, Any]:
        interval = [self.interval.low, self.interval.high] if self.interval else None
        return {**vars(self), "interval": interval}


@dataclass(frozen=True)
class Compared:
    """Two sides, metric by metric; `remarks` say what keeps them from being a like-for-like comparison."""

    first: Side
    second: Side
    rows: tuple[Row, ...]
    costs: Mapping[str, tuple[float, float]]
    shared: int
    groups: int
    reliable: bool
    won: tuple[str, ...]  # ids, in the second, of questions that it alone has first
    lost: tuple[str, ...]  # ids, in the second, of questions that the first alone has first
    remarks: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "first": self.first.as_json(),
            "second": self.second.as_json(),
            "questions": self.shared,
            "groups": self.groups,
            "reliable": self.reliable,
            "metrics": [row.as_json() for row in self.rows],
            "costs": {name: {"first": a, "second": b} for name, (a, b) in self.costs.items()},
            "won": list(self.won),
            "lost": list(self.lost),
            "remarks": list(self.remarks),
        }


def compare(first: str, second: str, tracking_uri: str | None = None) -> Compared:
    """Compare two settings, each given as `EXP`, `EXP:TRIAL` or the id of a trial's run.

    An experiment stands for its locked trial, without a lock of its present study for the rule's choice.
    Raises HarnessError when one can't be found or they share no question, Refused when data changed since its sweep.
    """
    sides = [resolve(name, tracking_uri) for name in (first, second)]
    return _compared(*sides)


def resolve(name: str, tracking_uri: str | None = None) -> Side:
    """The measured setting that a name stands for."""
    if RUN_ID.fullmatch(name) and not Path(name).exists():
        return _of_run(name, tracking_uri)
    numbered = None if Path(name).exists() else NUMBERED.fullmatch(name)
    if numbered is None and not Path(name).exists() and re.fullmatch(r"[0-9a-f]+", name):
        what = f"'{name}' is no experiment file, and no run's id, which has 32 digits"
        raise HarnessError(Fault("compare", what, "give an experiment, EXP:TRIAL, or the whole id of a trial's run"))
    experiment = load_experiment(numbered["path"] if numbered else name)
    files = State(experiment).current()
    return side(experiment, files, int(numbered["trial"]) if numbered else None)


def side(experiment: Experiment, files: StudyFiles, trial: int | None = None) -> Side:
    """A trial of a study, without a number the locked or else the chosen one."""
    results = files.read_results()
    if trial is None:
        made = [known for known in State(experiment).read_locks() if known.study == files.name]
        trial = made[-1].trial if made else selection.select(results, experiment.selection).chosen.trial
    found = next((r for r in results if r.trial == trial and r.complete), None)
    if found is None:
        complete = ", ".join(str(r.trial) for r in results if r.complete)
        what = f"trial {trial} is not a complete trial of {files.name}"
        raise HarnessError(Fault(str(experiment.path), what, f"complete are: {complete or 'none'}"))
    facts = files.read()
    labelled = experiment.read_labels()
    _refuse_changed(experiment, facts.get("identity", {}), labelled)
    return Side(experiment, files.name, found, labelled, str(facts["embedder"].get("name")))


def _refuse_changed(experiment: Experiment, identity: Mapping[str, Any], labelled: Labelled) -> None:
    """Raises Refused when questions or labels are no longer those that the results are of."""
    now = {"dev questions": questions_sha256(labelled.dev), "evidence": labels_sha256(labelled.dev)}
    changed = [name for name, digest in now.items() if identity.get(name, digest) != digest]
    if changed:
        what = f"{' and '.join(changed)} changed since the sweep, so its results are of other questions"
        raise Refused(Fault(str(experiment.path), what, "restore what changed, or run `harness sweep --fresh`"))


def _of_run(run_id: str, tracking_uri: str | None) -> Side:
    """The trial that a run logged; its result must lie in the project that the command runs in."""
    root = find_root(Path.cwd())
    uri = tracking_uri or tracking_of_project(root)
    tags = read_tags(uri, run_id)
    name, _, generation = (tags or {}).get("harness.study", "").rpartition("#")
    trial = (tags or {}).get("harness.trial") or (tags or {}).get("harness.chosen_trial")
    if not tags or not name or trial is None:
        what = "no run of a trial has this id there" if not tags else "the run is of no trial that was measured"
        raise HarnessError(Fault(f"run '{run_id}'", what, "give the id of a trial's run, an experiment, or EXP:TRIAL"))
    files = StudyFiles(root / ".harness" / name / "studies" / generation)
    facts = files.read()
    if not facts:
        what = f"its study {name}#{generation} is not below {root / '.harness'}"
        raise HarnessError(Fault(f"run '{run_id}'", what, "run the command in the project that measured it"))
    return side(load_experiment(root / str(facts["path"])), files, int(trial))


def _compared(first: Side, second: Side) -> Compared:
    shared = [h for h in second.scored if h in first.scored]
    if not shared:
        what = f"{first.name} and {second.name} share no answerable dev question"
        raise HarnessError(Fault("compare", what, "compare settings that were measured on the same questions"))
    keys = group_keys([second.asked[h] for h in shared], second.labelled.corpus)
    groups = stats.numbered(keys)
    return Compared(
        first=first,
        second=second,
        rows=tuple(_rows(first, second, shared, groups)),
        costs={name: (first.result.metrics[name], second.result.metrics[name]) for name in SHOWN_COSTS},
        shared=len(shared),
        groups=len(set(keys)),
        reliable=not stats.few(groups),
        won=_only(second, first, second, shared),
        lost=_only(first, second, second, shared),
        remarks=tuple(_remarks(first, second, shared)),
    )


def _rows(first: Side, second: Side, shared: list[str], groups: Any) -> list[Row]:
    names = [n for n in second.result.metrics if n in first.result.metrics and n not in COSTS and not n.startswith("random_")]
    lead = [part for part in second.experiment.selection.key if part in names]
    return [row for name in dict.fromkeys((*lead, *names)) if (row := _row(name, first, second, shared, groups))]


def _row(name: str, first: Side, second: Side, shared: list[str], groups: Any) -> Row | None:
    defined = [i for i, h in enumerate(shared) if name in first.scored[h].values and name in second.scored[h].values]
    if not defined:
        return None
    a, b = (_values(side, name, [shared[i] for i in defined]) for side in (first, second))
    return row(name, a, b, groups[defined])


def row(name: str, first: FloatArray, second: FloatArray, groups: Any) -> Row:
    """One metric of the same questions, both of shape (n,)."""
    difference = second - first
    return Row(
        metric=name,
        first=float(first.mean()),
        second=float(second.mean()),
        difference=float(difference.mean()),
        interval=stats.difference_interval(difference, groups),
        won=int((difference > stats.TOLERANCE).sum()),
        lost=int((difference < -stats.TOLERANCE).sum()),
        p_value=stats.either(difference, groups, SEED),
        questions=len(difference),
    )


SEED = 7  # of sign flips, where there are too many to try all


def _values(side: Side, name: str, hashes: list[str]) -> FloatArray:
    return np.array([side.scored[h].values[name] for h in hashes], dtype=np.float64)


def _only(has: Side, has_not: Side, named_by: Side, shared: list[str]) -> tuple[str, ...]:
    found = [h for h in shared if has.scored[h].positive and not has_not.scored[h].positive]
    return tuple(named_by.asked[h].question_id for h in found)


def _remarks(first: Side, second: Side, shared: list[str]) -> list[str]:
    remarks = []
    for one in (first, second):
        if left := len(one.scored) - len(shared):
            remarks.append(
                f"{counted(left, 'question', 'questions')} of {one.experiment.name} left out: the other has none of them"
            )
    if first.labelled.corpus.sha256 != second.labelled.corpus.sha256:
        remarks.append("the documents are not the same")
    elif other := sum(first.asked[h].evidence != second.asked[h].evidence for h in shared):
        remarks.append(f"{counted(other, 'shared question is', 'shared questions are')} labelled otherwise on the two sides")
    if first.embedder != second.embedder:
        remarks.append(f"two models: {first.embedder} and {second.embedder}")
    if first.result.unit != second.result.unit:
        remarks.append(f"sizes are in {first.result.unit} and in {second.result.unit}: costs can't be compared")
    return remarks
