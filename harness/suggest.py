"""Optuna's side of a sweep: which point comes next and what the study is told; a sampler more is a branch of `_ask`.

The only module that imports optuna.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from harness.errors import Fault, HarnessError
from harness.experiment import Experiment
from harness.front import directions, metric_names
from harness.records import Point, TrialResult
from harness.space import MOST_POINTS, Axis, Choices, Space

if TYPE_CHECKING:
    import optuna

Objective = Callable[[TrialResult], tuple[float, ...] | None]  # what a study maximises or minimises; None: undefined
MOST_REPEATS = 50  # in a row, until a sampler that has nothing else to say is let have its way


class Suggestions:
    """Optuna's side of the sweep: which point comes next, and what it is told."""

    def __init__(self, experiment: Experiment, name: str, storage: str, total: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.optuna = optuna
        self.search = experiment.search
        self.only_points = experiment.search.sampler == "points"
        self.space = experiment.space
        self.baselines = experiment.baselines
        self.first = experiment.points
        self.whole = self._whole(total)
        self.budget = min(total, len(self.whole)) if self.whole is not None else total  # of settings; baselines come on top
        self.total = self.budget + len(self.baselines)
        # Points may be added to a study, and Optuna refuses a parameter whose choices change: they go as an attribute.
        self.distributions = {} if self.only_points else _distributions(self.space)
        self.several = tuple(experiment.selection.objective)
        self.study = _open_study(name, storage, self.several)

    def _whole(self, total: int) -> tuple[Point, ...] | None:
        """All points of the search in order when they are known beforehand: points, a grid, a space within the budget."""
        if self.only_points:
            return self.first
        grid = self.search.sampler == "grid"
        count = self.space.count()
        if grid:
            _require_grid(count)
        if count is None or count > (MOST_POINTS if grid else min(total, MOST_POINTS)):
            return None
        points = self.space.points()
        together = tuple(dict.fromkeys((*self.first, *points)))
        if grid and len(together) > total:
            rest = [p for p in points if p not in self.first]
            # A budget that cuts a grid short should still see all of its range.
            order = np.random.default_rng(self.search.seed).permutation(len(rest))
            return (*self.first, *(rest[i] for i in order))
        return together if grid or len(together) <= total else None

    @property
    def next_number(self) -> int:
        """The number that the next trial will have."""
        return len(self.study.get_trials(deepcopy=False))

    @property
    def learns(self) -> bool:
        """Whether what it suggests depends on results."""
        return self.whole is None and self.search.sampler == "tpe"

    def known(self, results: Mapping[int, TrialResult]) -> dict[int, Point]:
        """The points still to be tried under the numbers of their trials, where no result is needed to know them."""
        left, tried = max(0, self.budget - _settings(results)), {r.point for r in results.values()}
        baselines = [p for p in self.baselines if p not in tried]
        if self.whole is not None:
            settings = [p for p in self.whole if p not in tried][:left]
            return dict(enumerate((*settings, *baselines), self.next_number))
        if self.learns:
            return {}
        for point in [p for p in self.first if p not in tried][:left]:
            self._enqueue(point)
        found = dict(self._ask() for _ in range(left))
        for point in baselines:
            self._enqueue(point)
        return found | dict(self._ask() for _ in baselines)

    def ask(self, results: dict[int, TrialResult], objective: Objective) -> Iterator[tuple[int, Point]]:
        """Trial numbers and points until the budget is spent; `results` grows meanwhile.

        A point of a splitter that ignores an axis is not tried twice: Optuna is told again what is known of it.
        """
        repeats = 0
        planned = deque(self.whole if self.whole is not None else self.first)
        while self._plan(planned, results):
            number, point = self._ask()
            known = next((r for r in results.values() if r.point == point), None)
            if known and point.splitter in self.space.ignored and repeats < MOST_REPEATS:
                repeats += 1
                self.tell(replace(known, trial=number), objective)
                continue
            repeats = 0
            yield number, point

    def _plan(self, planned: deque[Point], results: Mapping[int, TrialResult]) -> bool:
        """Have the next point waiting, unless the sampler is to say it; False when all is tried. Baselines come last."""
        tried = {r.point for r in results.values()}
        while planned and planned[0] in tried:
            planned.popleft()
        if _settings(results) < self.budget and (planned or self.whole is None or self._waiting()):
            if planned and not self._waiting():
                self._enqueue(planned[0])
            return True
        left = [p for p in self.baselines if p not in tried]
        if left and not self._waiting():
            self._enqueue(left[0])
        return bool(left)

    def _enqueue(self, point: Point) -> None:
        if self.only_points or point.baseline:
            self.study.enqueue_trial({}, user_attrs={"point": point.as_params()})
        else:
            unprepended = {"prepend": ""} if "prepend" in self.distributions else {}
            self.study.enqueue_trial({**unprepended, **point.as_params()})

    def _ask(self) -> tuple[int, Point]:
        # A sampler of its own for every trial: a resumed sweep suggests what an uninterrupted one would have.
        number = self.next_number
        seed = int(np.random.SeedSequence([self.search.seed, number]).generate_state(1)[0])
        samplers = self.optuna.samplers
        self.study.sampler = samplers.RandomSampler(seed) if self.search.sampler == "random" else samplers.TPESampler(seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a point may lie beside the ranges' steps
            trial = self.study.ask(self.distributions)
        return trial.number, self._point(trial)

    def _point(self, trial: optuna.trial.Trial | optuna.trial.FrozenTrial) -> Point:
        if "point" in trial.user_attrs:
            return Point.of(trial.user_attrs["point"])
        return self.space.canonical(Point.of(trial.params))

    def tell(self, result: TrialResult, objective: Objective) -> None:
        state = self.optuna.trial.TrialState
        # A sampler has nothing to learn from a baseline, which has no size, nor from a trial without a figure.
        known = objective(result) if result.pruned or (result.complete and not result.point.baseline) else None
        if known is None or (result.pruned and self.several):  # several objectives have no place for a bound
            self.study.tell(result.trial, state=state.FAIL)
        elif result.pruned:
            # One value at step 0: TPE puts pruned trials of more steps first, which would favour small chunks.
            unfinished = next(t for t in self.study.get_trials(deepcopy=False) if t.number == result.trial)
            self.optuna.trial.Trial(self.study, unfinished._trial_id).report(known[0], step=0)
            self.study.tell(result.trial, state=state.PRUNED)
        else:
            self.study.tell(result.trial, list(known))

    def _in(self, state: Literal["WAITING", "RUNNING"]) -> list[optuna.trial.FrozenTrial]:
        return list(self.study.get_trials(deepcopy=False, states=(self.optuna.trial.TrialState[state],)))

    def _waiting(self) -> bool:
        return bool(self._in("WAITING"))

    def reconcile(self, results: Mapping[int, TrialResult], objective: Objective) -> tuple[int, int]:
        """Tell the study results that it missed, and close trials that have none so that their points are tried again.

        A study that lost its trials, that of other objectives, or another storage, is rebuilt from the results: they are the
        first of all truths.
        """
        self.total += len({r.point for r in results.values() if r.point.baseline}.difference(self.baselines))
        return self.catch_up(results, objective), self._close_running({r.point for r in results.values()})

    def catch_up(self, results: Mapping[int, TrialResult], objective: Objective) -> int:
        """Enter results under their numbers that the study does not know of, and tell it what it waits for; how many."""
        last = max(results, default=-1)
        if any(t.number <= last for t in self._in("WAITING")):
            self._start_waiting()
        for number in range(self.next_number, last + 1):
            if number in results:
                self._enqueue(results[number].point)
                self._ask()
            else:
                self.study.add_trial(self.optuna.trial.create_trial(state=self.optuna.trial.TrialState.FAIL))
        open_trials = [t for t in self._in("RUNNING") if t.number in results]
        elsewhere = [results[t.number] for t in open_trials if self._point(t) != results[t.number].point]
        for number in {t.number for t in open_trials}.difference(r.trial for r in elsewhere):
            self.tell(results[number], objective)
        self._learn(elsewhere, objective)
        return len(open_trials)

    def _learn(self, results: Sequence[TrialResult], objective: Objective) -> None:
        """Tell the sampler, under other numbers, results whose own the study had given to other points."""
        if not results or not self.learns:
            return
        self._start_waiting()
        for result in results:
            self._enqueue(result.point)
            number, _ = self._ask()
            self.tell(replace(result, trial=number), objective)

    def _start_waiting(self) -> None:
        """Take what waits out of the queue: what has no result is closed, and waits again under a later number."""
        while self._waiting():
            self._ask()

    def _close_running(self, tried: Collection[Point]) -> int:
        running = self._in("RUNNING")
        for trial in running:
            self.study.tell(trial.number, state=self.optuna.trial.TrialState.FAIL)
            whole = "point" not in trial.user_attrs and trial.params.keys() == self.distributions.keys()
            if self.whole is None and whole and self._point(trial) not in tried:
                self.study.enqueue_trial(trial.params)
        return len(running)


def _settings(results: Mapping[int, TrialResult]) -> int:
    """Trials that count towards the budget: all but baselines."""
    return sum(not r.point.baseline for r in results.values())


def _require_grid(count: int | None) -> None:
    """Raises HarnessError when a grid is endless or too long to list."""
    if count is None:
        raise HarnessError(Fault("[search] sampler", "a grid needs a step in every range", "add step = ... or use a list"))
    if count > MOST_POINTS:
        what = f"the grid has {count:,} points; {MOST_POINTS:,} at most can be listed"
        raise HarnessError(Fault("[search] sampler", what, "take larger steps, or sampler = 'tpe' or 'random'"))


def _distributions(space: Space) -> dict[str, Any]:
    from optuna.distributions import CategoricalDistribution

    return {
        "splitter": CategoricalDistribution(list(space.splitters)),
        "chunk_size": _distribution(space.chunk_size, whole=True),
        "overlap_ratio": _distribution(space.overlap_ratio, whole=False),
        **({"prepend": CategoricalDistribution(["+".join(p) for p in space.prepend])} if space.prepend != ((),) else {}),
    }


def _distribution(axis: Axis, whole: bool) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(axis, Choices):
        return CategoricalDistribution(list(axis.values))
    if whole:
        return IntDistribution(int(axis.low), int(axis.high), axis.log, int(axis.step or 1))
    return FloatDistribution(axis.low, axis.high, step=axis.step)


def require_storage(storage: str) -> None:
    """Raises HarnessError when a database can't be reached or is another program's, before anything is written to it."""
    from sqlalchemy import create_engine, inspect, make_url

    with _usable():
        url = make_url(storage)
        if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).exists():
            return
        engine = create_engine(url)
        try:
            tables = inspect(engine).get_table_names()
        finally:
            engine.dispose()
        if "alembic_version" in tables and "studies" not in tables:
            raise ValueError("it is another program's")


def _open_study(name: str, storage: str, several: Sequence[str]) -> optuna.Study:
    """The study of one number, or one beside it for several objectives: a study's directions can't change."""
    import optuna

    own = f"{name} by {', '.join(metric_names(several))}" if several else name
    ways = directions(several) if several else ("maximize",)
    with _usable():
        return optuna.create_study(study_name=own, storage=storage, directions=ways, load_if_exists=True)


@contextmanager
def _usable() -> Iterator[None]:
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except ModuleNotFoundError as error:
        fix = "for PostgreSQL: pip install 'chunking-harness[postgres]'; else the driver that the address names"
        raise HarnessError(Fault("--storage", f"its driver is not installed ({error.name})", fix)) from error
    except (SQLAlchemyError, ValueError, RuntimeError) as error:
        what = f"the study's database can't be used ({str(error).splitlines()[0]})"
        raise HarnessError(Fault("--storage", what, "check the address; MLflow needs a database of its own")) from error
