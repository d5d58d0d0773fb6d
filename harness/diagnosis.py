"""What a careful reader would notice before trusting a leader; to notice more, add a function and a line in `LOOKS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.formats import Labelled
from harness.records import QuestionScore, TrialResult
from harness.selection import Selected, distinct

NEAR_ALL, POOR, NEAR_EDGE = 0.95, 0.3, 0.95


@dataclass(frozen=True)
class Finding:
    """One sentence about a sweep and what to do about it."""

    name: str
    sentence: str
    remedy: str


@dataclass(frozen=True)
class _Sweep:
    results: Sequence[TrialResult]
    selected: Selected
    labelled: Labelled

    @property
    def leader(self) -> TrialResult:
        return self.selected.leader

    @cached_property
    def settings(self) -> list[TrialResult]:
        """The settings to choose from; a baseline has none."""
        return [t for t in distinct(self.results) if not t.point.baseline]

    @cached_property
    def pruned(self) -> list[TrialResult]:
        """Trials of which only upper bounds are known: none of them beats the leader."""
        return [t for t in self.results if t.pruned]

    @cached_property
    def sizes(self) -> set[int]:
        """Chunk sizes that were tried, pruned ones too."""
        return {t.point.chunk_size for t in (*self.settings, *self.pruned) if not t.point.baseline}

    @cached_property
    def most_pruned(self) -> int:
        """Hits at 1 that some pruned trial may have at most."""
        return max((t.bound.hits(1) or 0 for t in self.pruned if t.bound), default=0)

    @cached_property
    def questions(self) -> list[QuestionScore]:
        return [q for q in self.leader.evaluation.questions if q.answerable] if self.leader.evaluation else []

    @cached_property
    def rates(self) -> list[float]:
        return [t.hits(1) / len(self.questions) for t in self.settings]


def _too_easy(sweep: _Sweep) -> Finding | None:
    if min(sweep.rates) < NEAR_ALL or len(sweep.rates) == 1 or sweep.pruned:
        return None
    what = f"every one of {len(sweep.rates)} settings has at least {NEAR_ALL:.0%} of its answers first"
    return Finding("too easy", what, "add boundary cases, look-alike sections and other wordings")


def _poor(sweep: _Sweep) -> Finding | None:
    if max(sweep.rates) > POOR:
        return None
    what = f"no setting has more than {max(sweep.rates):.0%} of its answers first"
    return Finding("poor", what, "look at the scores, the labels and the retriever before the chunk size")


def _ties(sweep: _Sweep) -> Finding | None:
    if len(sweep.selected.tied) == 1:
        return None
    tied = [t for t in sweep.settings if t.trial in sweep.selected.tied]
    if len({t.chunking_sha256 for t in tied}) == 1:
        what = f"{len(tied)} settings tie because they cut the documents alike: no question could tell them apart"
        return Finding("tie", what, "take any of them")
    what = f"{len(sweep.selected.tied)} of {len(sweep.settings) + len(sweep.pruned)} settings tie on the whole key"
    return Finding("tie", what, "take the one that is easiest to run, or label more questions")


def _near_ties(sweep: _Sweep) -> Finding | None:
    best = (sweep.leader.hits(1), sweep.leader.hits(3))
    near = [t for t in sweep.settings if t.trial not in sweep.selected.tied and (t.hits(1), t.hits(3)) == best]
    if not near:
        return None
    number = len(near) + len(sweep.selected.tied)
    least = "at least " if sweep.most_pruned >= best[0] else ""
    what = f"{least}{number} settings have the leader's hits at 1 and at 3: only the rest of the key sets them apart"
    return Finding("near tie", what, "take the cheapest to run, or label more questions")


def _one_question(sweep: _Sweep) -> Finding | None:
    others = [t.hits(1) for t in sweep.settings if t.trial not in sweep.selected.tied]
    if not others or sweep.leader.hits(1) - max(others) != 1 or sweep.most_pruned >= sweep.leader.hits(1):
        return None
    return Finding("one question", "the leader is one question ahead of the next", "label more questions before you rely on it")


def _cut(sweep: _Sweep) -> Finding | None:
    cut = [q for q in sweep.questions if q.cause == "cut"]
    if not cut:
        return None
    right = sum(bool(q.right_section_first) for q in cut)
    what = f"{len(cut)} of {len(sweep.questions)} answers are cut at the leader ({right} with the right section first)"
    return Finding("cut", what, "more overlap or larger chunks would keep them whole")


def _truncation(sweep: _Sweep) -> Finding | None:
    share = sweep.leader.metrics["truncated_share"]
    if not share:
        return None
    return Finding("truncation", f"the model cuts {share:.1%} of the leader's chunks", "choose a smaller chunk size")


def _uncut(sweep: _Sweep) -> Finding | None:
    if sweep.leader.metrics["chunks"] > len(sweep.labelled.corpus.documents):
        return None
    what = "the leader does not cut at all: every document is one chunk"
    return Finding("uncut", what, "whole documents always hold the answer; compare context_at_3, or set max_context_at_3")


def _edge(sweep: _Sweep) -> Finding | None:
    sizes = sweep.sizes
    size = sweep.leader.point.chunk_size
    if len(sizes) < 3 or not (size >= NEAR_EDGE * max(sizes) or size * NEAR_EDGE <= min(sizes)):
        return None
    end = "largest" if size >= NEAR_EDGE * max(sizes) else "smallest"
    what = f"the leader's chunk size, {size}, is at the {end} end of what was tried"
    return Finding("edge", what, "widen chunk_size there if the model can read it, or weigh what it costs (context_at_3)")


def _alike(sweep: _Sweep) -> Finding | None:
    settings = [*sweep.settings, *sweep.pruned]
    cuts = {t.chunking_sha256 for t in settings}
    if 2 * len(cuts) > len(settings):
        return None
    what = f"{len(settings)} settings cut the documents in only {len(cuts)} different ways"
    return Finding("alike", what, "the documents are short for these sizes; try smaller ones")


def _unreviewed(sweep: _Sweep) -> Finding | None:
    number, of = sweep.labelled.unreviewed, len(sweep.labelled.dev)
    if not number:
        return None
    what = f"{number} of {of} dev questions are unreviewed: what the figures say of them, they say of a draft"
    return Finding("unreviewed", what, "walk through them with `harness questions review`, then sweep again")


LOOKS: tuple[Callable[[_Sweep], Finding | None], ...] = (
    _too_easy,
    _poor,
    _ties,
    _near_ties,
    _one_question,
    _cut,
    _truncation,
    _uncut,
    _edge,
    _alike,
    _unreviewed,
)


def diagnose(results: Sequence[TrialResult], selected: Selected, labelled: Labelled) -> tuple[Finding, ...]:
    """Findings about a sweep on labelled dev questions."""
    sweep = _Sweep(results, selected, labelled)
    return tuple(finding for look in LOOKS if (finding := look(sweep)))
