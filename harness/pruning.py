"""Settings measured no further than it takes to know that they can't be chosen.

Whether a setting can still be chosen, `selection` says; what it can still reach, `bounds`; what to embed next, `rivals`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from harness import selection
from harness.bounds import bound
from harness.measurement import Measurement
from harness.metrics import Judgement
from harness.pipeline import complete, judge
from harness.records import Bound, Evaluation, TrialResult
from harness.rivals import Hunt, Rivals
from harness.selection import Selection


@dataclass
class Contender:
    """A setting under measurement, with what it can still reach."""

    measurement: Measurement
    rule: Selection
    rivals: Rivals

    def __post_init__(self) -> None:
        self._hunt = Hunt(self.measurement, self.rivals)
        self.measurement.embed_held()
        self._judge()

    def _judge(self) -> None:
        self._judged = judge(self.measurement)
        self.bound = bound(self.measurement, self._judged)

    @property
    def key(self) -> tuple[float, ...]:
        """The best key that it can still have."""
        return selection.key_of(self.bound.metrics, self.rule.key)

    def beaten_by(self, best: TrialResult | None) -> bool:
        """Whether it can no longer be chosen beside the best complete trial."""
        return best is not None and selection.beaten(self.bound, best, self.rule)

    def advance(self) -> bool:
        """Embed a little more, where it may lower the bound; False when only all of it will do."""
        for part in self.rule.key:
            texts = self._hunt.next(self._open(part))
            if len(texts):
                self.measurement.embed(texts)
                self._judge()
                self._hunt.learn([i for i, j in enumerate(self._judged) if j and j.hit_rank != 1])
                return True
        return False

    def _open(self, part: str) -> list[int]:
        """Questions that a part of the key can still count."""
        _, at, k = part.rpartition("_at_")
        within = int(k) if at else None

        def counts(judged: Judgement | None) -> bool:
            rank = judged.hit_rank if judged else None
            return rank is not None and (within is None or rank <= within)

        return [i for i, judged in enumerate(self._judged) if counts(judged)]

    def finish(self) -> Evaluation:
        """Measure it whole."""
        found = complete(self.measurement)
        for question in range(len(self.measurement.questions)):
            self.rivals.learn(self.measurement, question)
        return found


def race(contender: Contender, best: TrialResult | None) -> Evaluation | Bound:
    """Measure one setting whole, or until it can't be chosen any more beside the best so far."""
    while best is not None and not contender.measurement.complete:
        if contender.beaten_by(best):
            return contender.bound
        if not contender.advance():
            break
    return contender.finish()


def best_first(
    contenders: Mapping[int, Contender],
    incumbent: Callable[[], TrialResult | None],
    watch: Callable[[int, Bound], None] = lambda alive, bound: None,
) -> Iterator[tuple[int, Evaluation | Bound | Exception]]:
    """Measure settings together, always the one that can still reach most, until none can be chosen but what is whole.

    Gives each number with what became of it as soon as that is known; `incumbent` is asked for the best complete trial after
    each, and must know of it then. `watch` is told how many are left, and what the most promising one can still reach.
    """
    alive = dict(contenders)
    while alive:
        best = incumbent()
        for number in [n for n, c in alive.items() if c.beaten_by(best) and not c.measurement.complete]:
            yield number, alive.pop(number).bound
        if not alive:
            return
        number = max(alive, key=lambda n: (alive[n].key, -n))
        watch(len(alive), alive[number].bound)
        try:
            if not alive[number].measurement.complete and alive[number].advance():
                continue
            found: Evaluation | Exception = alive[number].finish()
        except Exception as error:  # of one setting: the others go on
            found = error
        del alive[number]
        yield number, found
