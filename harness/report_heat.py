"""Which setting answers which question, from the recorded hit ranks; another shade is a branch of `_cell` and a line of CSS."""

from __future__ import annotations

from dataclasses import dataclass

from harness.records import QuestionScore, TrialResult
from harness.report_facts import Facts, questions_of

LEADING, HARDEST = 20, 300  # columns and rows that are shown
Row = tuple[str, int, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Heat:
    """Questions by leading settings. `rows` has, for each question, its cells and its count over all settings."""

    settings: tuple[TrialResult, ...]
    of: int
    rows: tuple[Row, ...]

    @property
    def shown(self) -> tuple[Row, ...]:
        """The hardest questions, as many as have a row on the page."""
        return self.rows[:HARDEST]

    def counted(self, low: int, high: int) -> tuple[str, ...]:
        return tuple(q for q, first, _ in self.rows if low <= first <= high)

    @property
    def never(self) -> tuple[str, ...]:
        return self.counted(0, 0)

    @property
    def flips(self) -> tuple[str, ...]:
        return self.counted(1, self.of - 1)

    @property
    def always(self) -> tuple[str, ...]:
        return self.counted(self.of, self.of)


def heat(facts: Facts) -> Heat:
    """Which setting answers which dev question, hardest first; baselines only where nothing else was measured."""
    every = [r for r in facts.settings if not r.point.baseline] or facts.settings
    by_question: dict[str, list[QuestionScore]] = {}
    for r in every:
        for q in questions_of(r):
            if q.answerable:
                by_question.setdefault(q.question_id, []).append(q)
    rows = [(name, sum(q.positive for q in found), tuple(map(_cell, found[:LEADING]))) for name, found in by_question.items()]
    return Heat(tuple(every[:LEADING]), len(every), tuple(sorted(rows, key=lambda row: (row[1], row[0]))))


def _cell(q: QuestionScore) -> tuple[str, str]:
    """A cell's class and its words: the rank at which the evidence is complete, else why it never is."""
    if q.hit_rank is None:
        return "none", "cut" if q.cause == "cut" else "none"
    return ("first" if q.hit_rank == 1 else "third" if q.hit_rank <= 3 else "later"), str(q.hit_rank)
