"""How trials are measured: one point, or points that are known beforehand side by side; nothing is written here."""

from __future__ import annotations

import time
import traceback
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from harness import pruning, selection
from harness.embedders import Embedder
from harness.errors import Fault, HarnessError
from harness.experiment import Experiment
from harness.formats import Labelled
from harness.measurement import Clock, Measurement
from harness.outcome import Watcher
from harness.pipeline import evaluate, read_tokens, size_metrics
from harness.pruning import Contender
from harness.records import Bound, Chunking, Evaluation, Point, TrialResult
from harness.rivals import Rivals
from harness.tokenizers import Ruler

MOST_OPEN = 2_000_000  # chunks of the settings that are measured side by side: their offsets are held in memory


@dataclass(frozen=True)
class Inputs:
    """All that a sweep reads, found sound before anything is written."""

    labelled: Labelled
    embedder: Embedder
    ruler: Ruler


class Trials:
    """Measures points on dev. `results` are all trials so far, which the caller keeps up to date; `prunes` may be set."""

    def __init__(self, experiment: Experiment, inputs: Inputs, results: Mapping[int, TrialResult], watcher: Watcher) -> None:
        self._experiment = experiment
        self._labelled, self._embedder, self._ruler = inputs.labelled, inputs.embedder, inputs.ruler
        self._results = results
        self._watcher = watcher
        self._rivals = Rivals(inputs.labelled.corpus, inputs.labelled.dev)
        self.prunes = False

    def measure(self, number: int, point: Point) -> TrialResult:
        """One trial: whole, or until it can't be chosen; what goes wrong with it is its result."""
        started = time.time()
        try:
            found, reused = self._evaluate(point)
        except Exception as raised:
            return self._result(number, point, started, raised)
        return self._result(number, point, started, found, reused)

    def side_by_side(self, numbered: Mapping[int, Point]) -> Iterator[TrialResult]:
        """Trials of points known beforehand, the most promising first; each must be among the results when the next is asked."""
        waiting = list(numbered.items())
        while waiting:
            contenders, repeated = dict[int, Contender](), dict[int, Point]()
            while waiting and sum(len(c.measurement.chunking) for c in contenders.values()) < MOST_OPEN:
                number, point = waiting.pop(0)
                opened = self._open(number, point, {c.measurement.chunking.sha256 for c in contenders.values()})
                if opened is None:
                    repeated[number] = point
                elif isinstance(opened, TrialResult):
                    yield opened
                else:
                    contenders[number] = opened
            for number, found in pruning.best_first(contenders, self._incumbent, self._watcher.progress):
                # What it took, though others were measured meanwhile.
                spent = 0.0 if isinstance(found, Exception) else sum(found.seconds.values())
                yield self._result(number, numbered[number], time.time() - spent, found)
            for number, point in repeated.items():
                yield self.measure(number, point)

    def _open(self, number: int, point: Point, open_cuts: Collection[str]) -> Contender | TrialResult | None:
        """A setting ready to be measured; its result where that needs no measuring; None where another has the same chunks."""
        started = time.time()
        try:
            chunking = self._chunk(point)
            if chunking.sha256 in open_cuts:
                return None
            if point.baseline or self._same_cut(chunking):
                return self.measure(number, point)
            return self._contender(chunking)
        except Exception as raised:
            return self._result(number, point, started, raised)

    def _incumbent(self) -> TrialResult | None:
        return selection.incumbent(list(self._results.values()), self._experiment.selection)

    def _contender(self, chunking: Chunking) -> Contender:
        clock = Clock(self._experiment.search.trial_timeout)
        measurement = Measurement(chunking, self._labelled.dev, self._embedder, self._experiment.scoring, clock)
        return Contender(measurement, self._experiment.selection, self._rivals)

    def _evaluate(self, point: Point) -> tuple[Evaluation | Bound, int | None]:
        """What a point gets, or what an earlier trial of the same chunks got, whose number comes with it."""
        chunking = self._chunk(point)
        if same := self._same_cut(chunking):
            return same
        if self.prunes and not point.baseline:
            return pruning.race(self._contender(chunking), self._incumbent()), None
        limit = self._experiment.search.trial_timeout
        return evaluate(chunking, self._labelled.dev, self._embedder, self._experiment.scoring, limit), None

    def _chunk(self, point: Point) -> Chunking:
        """Raises HarnessError for a point that is infeasible."""
        chunking = self._experiment.chunk(self._labelled.corpus, point, self._ruler)
        if self._experiment.search.truncation == "refuse":
            _, beyond = read_tokens(chunking.texts(), self._embedder)
            if cut := np.count_nonzero(beyond):
                what = f"infeasible: the model would cut {cut} of {len(chunking)} chunks"
                raise HarnessError(Fault(str(point), what, 'use smaller chunks, or truncation = "warn"'))
        return chunking

    def _same_cut(self, chunking: Chunking) -> tuple[Evaluation | Bound, int] | None:
        """What an earlier trial of the same chunks got: a whole one, else, where trials are pruned, one that still is beaten."""
        alike = [r for r in self._results.values() if r.chunking_sha256 == chunking.sha256]
        for earlier in alike:
            if earlier.evaluation:
                metrics = {**earlier.evaluation.metrics, **size_metrics(chunking), "tokens_embedded": 0.0}
                return replace(earlier.evaluation, tokens_embedded=0, seconds={}, metrics=metrics), earlier.trial
        best = self._incumbent() if self.prunes else None
        for earlier in alike:
            if earlier.bound and best:
                metrics = {**earlier.bound.metrics, **size_metrics(chunking), "tokens_embedded": 0.0}
                again = replace(earlier.bound, tokens_embedded=0, seconds={}, metrics=metrics)
                if selection.beaten(again, best, self._experiment.selection):
                    return again, earlier.trial
        return None

    def _result(
        self, number: int, point: Point, started: float, found: Evaluation | Bound | Exception, reused: int | None = None
    ) -> TrialResult:
        unit, ended = self._ruler.unit, time.time()
        if isinstance(found, Exception):
            return TrialResult(number, point, unit, started, ended, error=_described(found))
        if isinstance(found, Bound):
            return TrialResult(number, point, unit, started, ended, bound=found, reused_from=reused)
        return TrialResult(number, point, unit, started, ended, found, reused_from=reused)


def _described(error: Exception) -> str:
    if isinstance(error, HarnessError):
        return str(error)
    return f"{type(error).__name__}: {error}\n{''.join(traceback.format_exception(error))}"
