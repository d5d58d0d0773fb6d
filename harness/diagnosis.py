"""What a careful reader would notice before trusting a leader; to notice more, add a function and a line in `LOOKS`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness.analysis import Analysis
from harness.curve import drops
from harness.errors import counted
from harness.formats import Labelled
from harness.records import Evidence, QuestionScore, TrialResult
from harness.selection import Selected, distinct
from harness.stats import FEW_GROUPS

NEAR_ALL, POOR, NEAR_EDGE = 0.95, 0.3, 0.95
AS_LONG = 0.8  # of its section: such evidence is no passage of it


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
    analysis: Analysis
    studies: Sequence[Mapping[str, Any]]
    by_lower_bound: bool

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
    def questions(self) -> Sequence[QuestionScore]:
        return self.leader.asked

    @cached_property
    def rates(self) -> list[float]:
        return [t.hits(1) / len(self.questions) for t in self.settings]


def _too_easy(sweep: _Sweep) -> Finding | None:
    if len(sweep.rates) < 2 or min(sweep.rates) < NEAR_ALL or sweep.pruned:
        return None
    what = f"every one of {len(sweep.rates)} settings has at least {NEAR_ALL:.0%} of its answers first"
    return Finding("too easy", what, "the questions are too easy: add boundary cases, look-alike sections and other wordings")


def _long_labels(sweep: _Sweep) -> Finding | None:
    evidence = [q.evidence for q in sweep.labelled.dev if q.evidence and q.evidence.whole]
    long = sum(_fills_a_section(e, sweep.labelled) for e in evidence)
    if not evidence or 2 * long < len(evidence):
        return None
    what = f"the evidence of {long} of {len(evidence)} dev questions is about as long as its section"
    return Finding("long labels", what, "label the shortest text that answers: whole sections say nothing of where to cut")


def _fills_a_section(evidence: Evidence, labelled: Labelled) -> bool:
    """Whether some place is most of one of several sections of its document."""
    for place in evidence.places():
        sections = labelled.corpus[place.document_id].sections
        own = [s.span.length for s in sections if s.span.touches(place.span)]
        if len(sections) > 1 and own and place.span.length >= AS_LONG * sum(own):
            return True
    return False


def _poor(sweep: _Sweep) -> Finding | None:
    if not sweep.rates or max(sweep.rates) > POOR:
        return None
    causes = Counter(q.cause for q in sweep.questions if q.cause)
    why = ", ".join(f"{n} {cause}" for cause, n in causes.most_common())
    what = f"no setting has more than {max(sweep.rates):.0%} of its answers first (misses of the leader: {why or 'none'})"
    fix = "look at the scores of the first chunks, for documents that are missing, at the labels and at the retriever"
    return Finding("poor", what, f"{fix} before the chunk size")


def _undecided(sweep: _Sweep) -> Finding | None:
    made = sweep.analysis.comparison
    if made is None or not made.undecided or _alike(sweep):
        return None
    what = (
        f"{len(made.tie_set)} of {made.compared} settings are not measurably worse than the leader in {made.metric}: "
        f"these {made.questions} questions can't decide between them"
    )
    first, half = made.needed
    if half is not None:
        return Finding("undecided", what, f"about {half} questions would tell half of them apart; till then weigh the cost")
    if first is not None:
        return Finding("undecided", what, f"about {first} questions would tell the next best apart; till then weigh the cost")
    if made.alike:
        return Finding("undecided", what, "they score alike, which more questions may not change: weigh the cost")
    return Finding(
        "undecided", what, "how many questions could can't be said of so few groups: label questions about other passages"
    )


def _few_groups(sweep: _Sweep) -> Finding | None:
    made = sweep.analysis.comparison
    if made is None or made.reliable:
        return None
    shared = made.groups < made.questions
    groups = f", which share evidence or sections: {made.groups} groups" if shared else ""
    what = f"the statistics rest on {made.questions} questions{groups}; under {FEW_GROUPS} their intervals are unreliable"
    return Finding("few groups", what, "label questions about other passages")


def _bound_of_groups(sweep: _Sweep) -> Finding | None:
    made = sweep.analysis.comparison
    if made is None or not sweep.by_lower_bound or made.groups == made.questions:
        return None
    what = (
        f"the lower bound takes the {made.questions} questions as independent, and they are {made.groups} groups: it is too high"
    )
    return Finding("bound of groups", what, "raise the target, or label questions about other passages")


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
    return Finding("cut", what, "more overlap or larger chunks would keep them whole, or cuts at structure")


def _truncation(sweep: _Sweep) -> Finding | None:
    share = sweep.leader.metrics["truncated_share"]
    if not share:
        return None
    return Finding("truncation", f"the model cuts {share:.1%} of the leader's chunks", "choose a smaller chunk size")


def _largest_worse(sweep: _Sweep) -> Finding | None:
    curve = next(iter(sweep.analysis.curves), None)
    worse = [(line, last) for line in (curve.lines if curve else ()) if (last := drops(line))]
    if curve is None or not worse:
        return None
    line, last = max(worse, key=lambda pair: pair[0].points[-2].value - pair[1].value)
    before = line.points[-2]
    more = f" (and {counted(len(worse) - 1, 'more line', 'more lines')})" if len(worse) > 1 else ""
    what = (
        f"the largest size of {line.splitter} with {line.overlap_ratio:.0%} overlap, {last.size}, has {curve.metric} "
        f"{last.value:.1%}, the one below it, {before.size}, {before.value:.1%}{more}"
    )
    return Finding("largest worse", what, "such chunks cover several topics and match none sharply: stay below")


def _edited_labels(sweep: _Sweep) -> Finding | None:
    """Evidence of the same dev questions that was another in an earlier study, whose results were seen."""
    if not sweep.studies:
        return None
    now, before = sweep.studies[-1], sweep.studies[:-1]
    same = [study for study in before if study.get("dev questions") == now.get("dev questions")]
    edited = sum(study.get("evidence") != now.get("evidence") for study in same)
    if not edited:
        return None
    earlier = counted(edited, "earlier study", "earlier studies")
    what = f"the labels of these dev questions were edited after results were seen: {earlier} had others"
    return Finding("edited labels", what, "say why, and trust the holdout only if its labels were not")


def _uncut(sweep: _Sweep) -> Finding | None:
    if sweep.leader.metrics["chunks"] > len(sweep.labelled.corpus.documents):
        return None
    what = "the leader does not cut at all: every document is one chunk"
    return Finding("uncut", what, "whole documents always hold the answer; compare context_at_3, or set max_context_at_3")


def _edge(sweep: _Sweep) -> Finding | None:
    sizes = sweep.sizes
    size = sweep.leader.point.chunk_size
    if sweep.leader.point.baseline or len(sizes) < 3 or not (size >= NEAR_EDGE * max(sizes) or size * NEAR_EDGE <= min(sizes)):
        return None
    end = "largest" if size >= NEAR_EDGE * max(sizes) else "smallest"
    what = f"the leader's chunk size, {size}, is at the {end} end of what was tried"
    return Finding("edge", what, "widen chunk_size there if the model can read it, or weigh what it costs (context_at_3)")


def _alike(sweep: _Sweep) -> Finding | None:
    settings = [*sweep.settings, *sweep.pruned]
    cuts = {t.chunking_sha256 for t in settings}
    if not settings or 2 * len(cuts) > len(settings):
        return None
    what = f"{len(settings)} settings cut the documents in only {counted(len(cuts), 'way', 'different ways')}"
    return Finding("alike", what, "the documents are short for these sizes; try smaller ones")


def _unreviewed(sweep: _Sweep) -> Finding | None:
    number, of = sweep.labelled.unreviewed, len(sweep.labelled.dev)
    if not number:
        return None
    what = f"{number} of {of} dev questions are unreviewed: what the figures say of them, they say of a draft"
    return Finding("unreviewed", what, "walk through them with `harness questions review`, then sweep again")


LOOKS: tuple[Callable[[_Sweep], Finding | None], ...] = (
    _too_easy,
    _long_labels,
    _poor,
    _undecided,
    _few_groups,
    _bound_of_groups,
    _ties,
    _near_ties,
    _one_question,
    _cut,
    _truncation,
    _largest_worse,
    _edited_labels,
    _uncut,
    _edge,
    _alike,
    _unreviewed,
)


def diagnose(
    results: Sequence[TrialResult],
    selected: Selected,
    labelled: Labelled,
    analysis: Analysis,
    studies: Sequence[Mapping[str, Any]] = (),
    by_lower_bound: bool = False,
) -> tuple[Finding, ...]:
    """Findings about a sweep on labelled dev questions; `studies` are the identities of those under its name, its own last.

    `by_lower_bound`: whether the choice goes by a bound that takes questions as independent.
    """
    sweep = _Sweep(results, selected, labelled, analysis, studies, by_lower_bound)
    return tuple(finding for look in LOOKS if (finding := look(sweep)))
