"""Metrics of one question's ranking against its evidence; to add one, add a function and a line in `METRICS`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from harness.records import Chunking, Passage, Place, Question, Span

CHAR_K = 5
MOST_WAYS = 1_000  # of holding some places of a question, until they are no longer counted
HIT = 1  # the bit of a hit in a set of places
Score = Callable[["Judgement", int], float | None]


@dataclass(frozen=True)
class Judgement:
    """One answerable question under one chunking: everything that its metrics may look at.

    `place_ranks` has, for each alternative and each of its places, the best rank of a chunk that holds it whole, or touches it
    where it is a region (0: no retrieved chunk does); `held`, likewise, whether any chunk does. `condition_rank` is the best
    rank of a chunk that holds the question's condition.
    """

    question: Question
    passages: tuple[Passage, ...]
    place_ranks: tuple[tuple[int, ...], ...]
    held: tuple[tuple[bool, ...], ...]
    chunking: Chunking
    condition_rank: int = 0

    @property
    def whole(self) -> bool:
        """Whether its evidence must be whole in a chunk; False: it is a region."""
        return self.question.evidence is not None and self.question.evidence.whole

    @property
    def hit_rank(self) -> int | None:
        """The smallest k at which some alternative's places each lie whole in one of the first k chunks."""
        ranks = [max(a) for a in self.place_ranks if all(a)]
        return min(ranks) if ranks else None

    @property
    def containable(self) -> bool:
        """Whether the chunking could answer it at all."""
        return any(all(a) for a in self.held)

    @cached_property
    def kinds(self) -> tuple[Counter[int], tuple[int, ...]]:
        """How many chunks there are of each kind, and what a hit takes: both sets of places, as bits.

        A kind is what a chunk holds of alternatives of several places; `HIT` alone where it is a hit by itself. Chunks that
        hold nothing are left out.
        """
        evidence, cut = self.question.evidence, self.chunking
        places = [[cut.answering(p, evidence).tolist() for p in a] for a in self.alternatives] if evidence else []
        held, takes, bit = dict.fromkeys((c for a in places if len(a) == 1 for c in a[0]), HIT), list[int](), HIT
        for alternative in (a for a in places if len(a) > 1 and all(a)):
            takes.append(0)
            for chunks in alternative:
                bit <<= 1
                takes[-1] |= bit
                for chunk in chunks:
                    held[chunk] = held.get(chunk, 0) | bit
        return Counter(hit_or(some, takes) for some in held.values()), tuple(takes)

    @cached_property
    def chars(self) -> dict[int, list[tuple[int, int, int, int]]]:
        """What `_chars` found, by k: three metrics ask for it."""
        return {}

    @property
    def alternatives(self) -> tuple[tuple[Place, ...], ...]:
        return self.question.evidence.alternatives if self.question.evidence else ()


def of_spans(function: Score) -> Score:
    """A metric that is defined for evidence that must be whole."""
    return lambda judged, k: function(judged, k) if judged.whole else None


def of_regions(function: Score) -> Score:
    """A metric that is defined for evidence that is a document or a section."""
    return lambda judged, k: None if judged.whole else function(judged, k)


def hit(judged: Judgement, k: int) -> float:
    """1 when some alternative is complete within the first k chunks."""
    rank = judged.hit_rank
    return float(rank is not None and rank <= k)


def hit_with_condition(judged: Judgement, k: int) -> float | None:
    """1 when some alternative and the sentence that qualifies it are complete within the first k; undefined without one."""
    if not judged.question.condition:
        return None
    return hit(judged, k) if 0 < judged.condition_rank <= k else 0.0


def recall(judged: Judgement, k: int) -> float:
    """The best alternative's share of places that lie whole in one of the first k chunks."""
    return max(sum(0 < r <= k for r in ranks) / len(ranks) for ranks in judged.place_ranks)


def region_recall(judged: Judgement, k: int) -> float:
    """Share of the relevant regions that one of the first k chunks touches."""
    ranks = [r for alternative in judged.place_ranks for r in alternative]
    return sum(0 < r <= k for r in ranks) / len(ranks)


def reciprocal_rank(judged: Judgement, k: int) -> float:
    """1 / the smallest k that is a hit, uncut; 0 when there is none."""
    rank = judged.hit_rank
    return 1 / rank if rank else 0.0


def section_hit(judged: Judgement, k: int) -> float | None:
    """1 when one of the first k chunks touches the expected section; undefined without one."""
    target = judged.question.expected_section
    if target is None:
        return None
    return float(any(p.document_id == target[0] and target[1] in p.section_ids for p in judged.passages[:k]))


def ceiling(judged: Judgement, k: int) -> float:
    """1 when the chunking holds some alternative's places whole, wherever they rank."""
    return float(judged.containable)


def random_hit(judged: Judgement, k: int) -> float | None:
    """The probability of a hit when the chunks come in an order of pure chance: what any ranking should be held against.

    Exact: of all sets of k chunks, the share that are a hit. Undefined where they hold places in too many ways to count.
    """
    kinds, takes = judged.kinds
    ways = {(0, 0): 1}  # chunks drawn of the kinds so far, and what they hold: in how many ways
    drawn = min(k, len(judged.chunking))
    for kind, chunks in kinds.items():
        for (taken, held), number in list(ways.items()):
            for more in range(1, min(chunks, drawn - taken) + 1):
                state = (taken + more, hit_or(held | kind, takes))
                ways[state] = ways.get(state, 0) + number * math.comb(chunks, more)
        if len(ways) > MOST_WAYS:
            return None
    others = len(judged.chunking) - kinds.total()
    hits = sum(number * math.comb(others, drawn - taken) for (taken, held), number in ways.items() if held == HIT)
    return hits / math.comb(len(judged.chunking), drawn)


def hit_or(held: int, takes: Iterable[int]) -> int:
    """A set of places as bits, or `HIT` alone where it is one."""
    return HIT if held & HIT or any(held & all_of == all_of for all_of in takes) else held


def _overlaps(alternative: Sequence[Place], passages: Iterable[tuple[str, Span]]) -> list[tuple[str, Span]]:
    return [
        (document_id, Span(max(span.start, p.span.start), min(span.end, p.span.end)))
        for document_id, span in passages
        for p in alternative
        if p.document_id == document_id and p.span.touches(span)
    ]


def union_length(spans: Iterable[tuple[str, Span]]) -> int:
    """Characters covered by spans of documents, each counted once."""
    total, document, reached = 0, None, 0
    for document_id, span in sorted(spans):
        if document_id != document:
            document, reached = document_id, 0
        total += max(0, span.end - max(span.start, reached))
        reached = max(reached, span.end)
    return total


def _chars(judged: Judgement, k: int) -> list[tuple[int, int, int, int]]:
    """For each alternative: characters of it retrieved (once), its own, its own not retrieved (both place by place), and
    all retrieved ones (repeats counted)."""
    if k in judged.chars:
        return judged.chars[k]
    first = [(p.document_id, Span(p.start, p.end)) for p in judged.passages[:k]]
    retrieved = sum(span.length for _, span in first)
    rows = []
    for alternative in judged.alternatives:
        needed = sum(p.span.length for p in alternative)
        missed = needed - sum(union_length(_overlaps([p], first)) for p in alternative)
        rows.append((union_length(_overlaps(alternative, first)), needed, missed, retrieved))
    judged.chars[k] = rows
    return rows


def char_recall(judged: Judgement, k: int) -> float:
    """Share of the best alternative's characters within the first k chunks (Smith & Troynikov, Evaluating Chunking, 2024)."""
    return max(found / needed for found, needed, _, _ in _chars(judged, k))


def char_precision(judged: Judgement, k: int) -> float:
    """Share of the first k chunks' characters, repeats counted, that are evidence; 0 when nothing is retrieved, so that
    silence can't raise the average (same source)."""
    return max(found / retrieved if retrieved else 0.0 for found, _, _, retrieved in _chars(judged, k))


def char_iou(judged: Judgement, k: int) -> float:
    """Evidence characters found over retrieved characters, repeats counted, plus those not found (same source)."""
    return max(found / (retrieved + missed) for found, _, missed, retrieved in _chars(judged, k))


def precision_omega(judged: Judgement, k: int) -> float:
    """Character precision if exactly the chunks that touch the evidence were retrieved, overlaps counted once (same source)."""
    best = 0.0
    cut = judged.chunking
    for alternative in judged.alternatives:
        chunks = [(p.document_id, cut.span(c)) for p in alternative for c in cut.touching(p.document_id, p.span).tolist()]
        if chunks:
            best = max(best, union_length(_overlaps(alternative, chunks)) / union_length(chunks))
    return best


@dataclass(frozen=True)
class Metric:
    """A function of a judgement and k; `at` says at which k it is taken: each of the experiment's, the character k, or some.

    `bounded`: it looks at places' ranks alone and never rises when one does, so that of the best ranks that are still possible
    it is an upper bound of what it will be. `by_chance`: it is what a result is held against, and nothing to choose by.
    """

    function: Score
    at: Literal["each k", "char k"] | tuple[int, ...] | None = None
    bounded: bool = False
    by_chance: bool = False

    def names(self, name: str, ks: Sequence[int], char_k: int) -> dict[str, int]:
        """Full names with their k."""
        if self.at is None:
            return {name: 0}
        at = {"each k": ks, "char k": [char_k]}[self.at] if isinstance(self.at, str) else self.at
        return {f"{name}_at_{k}": k for k in at}


METRICS: dict[str, Metric] = {
    "hit": Metric(of_spans(hit), "each k", bounded=True),
    "hit_with_condition": Metric(of_spans(hit_with_condition), "each k", bounded=True),
    "recall": Metric(of_spans(recall), "each k", bounded=True),
    "mrr": Metric(of_spans(reciprocal_rank), bounded=True),
    "document_hit": Metric(of_regions(hit), "each k", bounded=True),
    "document_recall": Metric(of_regions(region_recall), "each k", bounded=True),
    "document_mrr": Metric(of_regions(reciprocal_rank), bounded=True),
    "random_hit": Metric(of_spans(random_hit), (1, 3), by_chance=True),
    "random_document_hit": Metric(of_regions(random_hit), (1, 3), by_chance=True),
    "section_hit": Metric(section_hit, (1,)),
    "ceiling": Metric(of_spans(ceiling), bounded=True),
    "char_recall": Metric(of_spans(char_recall), "char k"),
    "char_precision": Metric(of_spans(char_precision), "char k"),
    "char_iou": Metric(of_spans(char_iou), "char k"),
    "precision_omega": Metric(of_spans(precision_omega)),
}

# Of the chunking, not of its answers: lower is cheaper.
COSTS = (
    "index_ratio",
    "chunks",
    "mean_chunk_size",
    "chunk_size_p05",
    "chunk_size_p50",
    "chunk_size_p95",
    "chunk_size_max",
    "oversize_share",
    "undersize_share",
    "mean_overlap",
    "context_at_3",
    "truncated_share",
    "truncated_tokens",
    "tokens_embedded",
    "index_bytes",
)


def names(ks: Sequence[int], char_k: int, by_chance: bool = False) -> list[str]:
    """Names of an experiment's metrics of quality, or of what chance gets of it."""
    kept = {name: metric for name, metric in METRICS.items() if metric.by_chance is by_chance}
    return [full for name, metric in kept.items() for full in metric.names(name, ks, char_k)]


def values(judged: Judgement, ks: Sequence[int], char_k: int, only: Collection[str] | None = None) -> dict[str, float]:
    """Every metric that is defined for this question; of `only` some names in `METRICS`."""
    results = {
        full: metric.function(judged, k)
        for name, metric in METRICS.items()
        if only is None or name in only
        for full, k in metric.names(name, ks, char_k).items()
    }
    return {name: float(value) for name, value in results.items() if value is not None}


def means(per_question: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of each metric over the questions for which it is defined; absent where there is none."""
    found = [name for question in per_question for name in question]
    return {
        name: sum(scores) / len(scores)
        for name in dict.fromkeys(found)
        if (scores := [q[name] for q in per_question if name in q])
    }
