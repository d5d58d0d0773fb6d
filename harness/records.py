"""The frozen facts that travel between the steps; a new fact is a new frozen dataclass here.

Spans are half-open character offsets into a document's stored text. Sizes are in the chunking's unit.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from harness.errors import Fault

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
ROWS = 4096  # of a table that are written out at once
Cause = Literal["cut", "outranked", "truncated", "no match"]
Quantiles = dict[str, int | float]  # count, and min to max where there is anything to count


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sha256_json(value: Any) -> str:
    """SHA-256 of a value's canonical JSON (sorted keys, no spaces, UTF-8)."""
    return hashlib.sha256(_canonical(value)).hexdigest()


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters [start, end) of a document; never empty."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"a span needs 0 <= start < end, not [{self.start}, {self.end})")

    @property
    def length(self) -> int:
        return self.end - self.start

    def contains(self, other: Span) -> bool:
        return self.start <= other.start and other.end <= self.end

    def touches(self, other: Span) -> bool:
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Section:
    """A named part of a document, heading included in its span."""

    section_id: str
    heading: str
    span: Span


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its sections; every offset in the project points into `text`."""

    document_id: str
    text: str
    sections: tuple[Section, ...] = ()
    title: str = ""

    def section_ids(self, span: Span) -> tuple[str, ...]:
        return tuple(s.section_id for s in self.sections if s.span.touches(span))


@dataclass(frozen=True)
class Corpus:
    """The documents, ordered by id: that order is the ranking's tie-break; `remarks` is what reading them left to say."""

    documents: tuple[Document, ...]
    remarks: tuple[Fault, ...] = ()

    def __post_init__(self) -> None:
        ids = [d.document_id for d in self.documents]
        if ids != sorted(set(ids)):
            raise ValueError("documents must be sorted by id, each id once")

    @cached_property
    def index(self) -> dict[str, int]:
        return {d.document_id: i for i, d in enumerate(self.documents)}

    def __getitem__(self, document_id: str) -> Document:
        return self.documents[self.index[document_id]]

    def named(self, name: str) -> tuple[Document, ...]:
        """The documents that a name may mean: the one of that id, else those whose path ends so, with or without suffix."""
        if name in self.index:
            return (self[name],)
        return self._by_name.get(name, ())

    @cached_property
    def _by_name(self) -> dict[str, tuple[Document, ...]]:
        """Documents by every shorter name of their path."""
        names: dict[str, tuple[Document, ...]] = {}
        for d in self.documents:
            parts = d.document_id.split("/")
            endings = ["/".join(parts[i:]) for i in range(len(parts))]
            for ending in dict.fromkeys(short for e in endings for short in (e, e.rpartition(".")[0]) if short):
                names[ending] = (*names.get(ending, ()), d)
        return names

    @cached_property
    def sha256(self) -> str:
        """Digest of ids, texts, sections and, where there are any, titles."""
        digest = hashlib.sha256()
        for d in self.documents:
            sections = [(s.section_id, s.heading, s.span.start, s.span.end) for s in d.sections]
            titled = [d.title] if d.title else []
            digest.update(sha256_json([d.document_id, d.text, sections, *titled]).encode())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A span of one document that a question needs whole."""

    document_id: str
    span: Span


@dataclass(frozen=True, slots=True)
class Evidence:
    """Any one alternative suffices; within an alternative every place is required: whole, or, of regions, touched."""

    alternatives: tuple[tuple[Place, ...], ...]
    whole: bool = True  # False: places are regions (a document, a section), which a chunk need only touch

    def __post_init__(self) -> None:
        if not self.alternatives or not all(self.alternatives):
            raise ValueError("evidence needs at least one alternative of at least one place")

    def places(self) -> Iterator[Place]:
        for alternative in self.alternatives:
            yield from alternative


@dataclass(frozen=True, slots=True)
class Question:
    """A labelled question; one without evidence is one that the corpus does not answer."""

    question_id: str
    text: str
    evidence: Evidence | None = None
    expected_section: tuple[str, str] | None = None  # document id, section id
    condition: tuple[Place, ...] = ()  # where the sentence stands that changes the evidence's meaning; any one of them
    source: str = ""  # real, written, generated, or as the question set says
    date: str = ""  # ISO date on which it was asked or written
    reviewed: bool = True  # a person has read it against its document

    @property
    def answerable(self) -> bool:
        return self.evidence is not None

    @property
    def sha256(self) -> str:
        """Digest of the wording after NFC, case folding and whitespace collapse: what makes it the same question."""
        return hashlib.sha256(" ".join(unicodedata.normalize("NFC", self.text).casefold().split()).encode()).hexdigest()


def questions_sha256(questions: Iterable[Question]) -> str:
    """A split's digest: that of its sorted question hashes, or `none` when it is empty."""
    hashes = sorted(q.sha256 for q in questions)
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest() if hashes else "none"


def provenance(questions: Sequence[Question]) -> dict[str, Any]:
    """Where questions come from: how many of each source, the oldest and newest date, how many lack a date or a review."""
    dates = sorted(q.date for q in questions if q.date)
    return {
        "sources": dict(sorted(Counter(q.source or "unnamed" for q in questions).items())),
        "oldest": dates[0] if dates else None,
        "newest": dates[-1] if dates else None,
        "undated": len(questions) - len(dates),
        "unreviewed": sum(not q.reviewed for q in questions),
    }


def labels_sha256(questions: Iterable[Question]) -> str:
    """Digest of the located evidence and expected sections: what makes them the same labels."""
    rows = []
    for q in questions:
        places = [[[p.document_id, p.span.start, p.span.end] for p in a] for a in q.evidence.alternatives] if q.evidence else None
        regions = ["regions"] if q.evidence and not q.evidence.whole else []
        condition = [[[p.document_id, p.span.start, p.span.end] for p in q.condition]] if q.condition else []
        rows.append([q.sha256, places, list(q.expected_section or ()), *regions, *condition])
    return sha256_json(sorted(rows, key=str))


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """One setting of the search space; its order is the canonical one that settles full ties."""

    splitter: str
    chunk_size: int  # units; 0: a baseline, which has neither size nor overlap
    overlap_ratio: float
    prepend: tuple[str, ...] = ()  # what is embedded before each chunk: title, heading

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Point:
        """The point of such parameters as `as_params` gives."""
        ratio, prepend = round(float(params.get("overlap_ratio", 0)), 10), str(params.get("prepend", ""))
        return cls(params["splitter"], int(params.get("chunk_size", 0)), ratio, tuple(prepend.split("+")) if prepend else ())

    @property
    def baseline(self) -> bool:
        """Whether it has no size: whole documents or sections, to compare with."""
        return self.chunk_size == 0

    @property
    def overlap(self) -> int:
        """Overlap in units of the chunk size."""
        return round(self.overlap_ratio * self.chunk_size)

    @property
    def feasible(self) -> bool:
        return self.baseline or self.overlap < self.chunk_size

    def __str__(self) -> str:
        sized = self.splitter if self.baseline else f"{self.splitter} {self.chunk_size}/{self.overlap}"
        return f"{sized} +{'+'.join(self.prepend)}" if self.prepend else sized

    def as_params(self) -> dict[str, Any]:
        """What Optuna stores and MLflow logs, short of the unit; what a point does not have is left out."""
        sized = {} if self.baseline else {"chunk_size": self.chunk_size, "overlap_ratio": self.overlap_ratio}
        return {"splitter": self.splitter, **sized, **({"prepend": "+".join(self.prepend)} if self.prepend else {})}


@dataclass(frozen=True)
class Chunking:
    """A corpus cut into chunks, ordered by document, then start. Arrays have one entry a chunk."""

    corpus: Corpus
    document: IntArray  # index into corpus.documents
    start: IntArray  # characters
    end: IntArray  # characters, exclusive
    size: IntArray  # units
    source_units: int  # units in the whole corpus
    target: int = 0  # units that a chunk was to have at most; 0: no such size
    shared: IntArray | None = None  # units that a chunk shares with the one before it in its document
    prefixes: tuple[str, ...] = ()  # what is embedded before each chunk; none at all when empty
    prefix_size: IntArray | None = None  # units of the prefixes

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def sha256(self) -> str:
        """Digest of all spans with their documents' ids: that of their canonical JSON, which is never held whole."""
        digest = hashlib.sha256(b"[[" if self.prefixes else b"[")
        for at in range(0, len(self), ROWS):
            block = slice(at, at + ROWS)
            spans = zip(*(array[block].tolist() for array in (self.document, self.start, self.end)), strict=True)
            rows = [[self.corpus.documents[d].document_id, start, end] for d, start, end in spans]
            digest.update((b"," if at else b"") + _canonical(rows)[1:-1])
        digest.update(b"]," + _canonical(list(self.prefixes)) + b"]" if self.prefixes else b"]")
        return digest.hexdigest()

    @property
    def stored(self) -> IntArray:
        """Units of each chunk as it is stored and embedded, what is put before it included."""
        return self.size if self.prefix_size is None else self.size + self.prefix_size

    @property
    def index_ratio(self) -> float:
        """Units stored per unit in the source."""
        return float(self.stored.sum()) / self.source_units

    def span(self, chunk: int) -> Span:
        return Span(int(self.start[chunk]), int(self.end[chunk]))

    def document_of(self, chunk: int) -> Document:
        return self.corpus.documents[int(self.document[chunk])]

    def text(self, chunk: int) -> str:
        return self.document_of(chunk).text[int(self.start[chunk]) : int(self.end[chunk])]

    def prefix(self, chunk: int) -> str:
        """What is embedded before a chunk's text."""
        return self.prefixes[chunk] if self.prefixes else ""

    def stored_text(self, chunk: int) -> str:
        """A chunk's text as it is stored and embedded."""
        return self.prefix(chunk) + self.text(chunk)

    def texts(self) -> list[str]:
        """The text of every chunk as it is embedded, in order."""
        return [self.stored_text(c) for c in range(len(self))]

    def section_ids(self, chunk: int) -> tuple[str, ...]:
        return self.document_of(chunk).section_ids(self.span(chunk))

    def holding(self, place: Place) -> IntArray:
        """The chunks that hold a place whole, in order."""
        low, high = np.searchsorted(self.document, [i := self.corpus.index[place.document_id], i + 1])
        inside = (self.start[low:high] <= place.span.start) & (self.end[low:high] >= place.span.end)
        return np.asarray(np.flatnonzero(inside) + low, dtype=np.int64)

    def answering(self, place: Place, evidence: Evidence) -> IntArray:
        """The chunks that satisfy a place of some evidence: those that hold it whole, or that touch it where it is a region."""
        return self.holding(place) if evidence.whole else self.touching(place.document_id, place.span)

    def touching(self, document_id: str, span: Span) -> IntArray:
        """The chunks that share a character with a span of a document, in order."""
        low, high = np.searchsorted(self.document, [i := self.corpus.index[document_id], i + 1])
        inside = (self.start[low:high] < span.end) & (self.end[low:high] > span.start)
        return np.asarray(np.flatnonzero(inside) + low, dtype=np.int64)


@dataclass(frozen=True)
class EmbedderIdentity:
    """Which model made a vector. `parts` is all that changes a vector; `beside` is recorded, not identity."""

    type: str
    name: str
    parts: dict[str, Any]
    beside: dict[str, Any] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of type and parts; independent of path, name, hub, library versions, device, threads, batch size."""
        return sha256_json({"type": self.type, "parts": self.parts})

    def as_json(self) -> dict[str, Any]:
        """All of it with the fingerprint, as files and runs record it."""
        return {**vars(self), "fingerprint": self.fingerprint}


def scoring_sha256(identity: EmbedderIdentity, similarity: str, fitted_state: str | None) -> str:
    """The scoring function's fingerprint: the embedder, the similarity and, for fitted scorers, the fitted state."""
    return sha256_json({"embedder": identity.fingerprint, "similarity": similarity, "fitted": fitted_state})


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrieved chunk: rank from 1, score rounded to 6 decimals."""

    rank: int
    score: float
    document_id: str
    start: int
    end: int
    size: int
    section_ids: tuple[str, ...]
    complete: bool = False  # holds some alternative of the question's evidence whole


@dataclass(frozen=True)
class QuestionScore:
    """What one question got under one chunking; `values` leaves out what is undefined for it."""

    question_id: str
    answerable: bool
    hit_rank: int | None  # smallest k that is a hit; None: no k is
    values: dict[str, float]
    cause: Cause | None  # why the first chunk alone is no hit
    right_section_first: bool | None
    best_wrong_score: float | None  # best score of a chunk that does not hold the evidence
    passages: tuple[Passage, ...]

    @property
    def first_score(self) -> float | None:
        """Score of the first chunk; None when nothing was retrieved."""
        return self.passages[0].score if self.passages else None

    @property
    def positive(self) -> bool:
        """The gate should let it through: answerable, and the first chunk holds the evidence."""
        return self.hit_rank == 1


def hit_metric(hit_name: str, k: int) -> str:
    """The metric that a kind of hit has at k: `document_hit_at_3` of a `document hit`."""
    return f"{hit_name.replace(' ', '_')}_at_{k}"


@dataclass(frozen=True)
class Evaluation:
    """One chunking scored on one set of questions."""

    metrics: dict[str, float]
    questions: tuple[QuestionScore, ...]
    chunking_sha256: str
    scoring_fingerprint: str
    irrelevant_quantiles: Quantiles  # scores of chunks from documents without any evidence of the question
    tokens_embedded: int
    tokens_full: int  # tokens of all chunks, repeats counted
    seconds: dict[str, float]

    @property
    def answerable(self) -> int:
        """How many of the questions have evidence: what hits are counted out of."""
        return sum(q.answerable for q in self.questions)

    @property
    def hit_name(self) -> str:
        """What its hits are of: `document hit` where evidence is a region, which a chunk need only touch."""
        return "document hit" if any(name.startswith("document_hit_") for name in self.metrics) else "hit"

    @property
    def mrr(self) -> float | None:
        """Mean reciprocal rank of what is hit; None without answerable questions."""
        return self.metrics.get("mrr", self.metrics.get("document_mrr"))

    def hits(self, k: int) -> int:
        """Questions hit within the first k chunks: an integer, so that comparisons are exact."""
        return sum(q.hit_rank is not None and q.hit_rank <= k for q in self.questions)


@dataclass(frozen=True)
class Bound:
    """How far a trial was measured until it could no longer win.

    `metrics` are upper bounds of its quality, for those that have one, and its costs, which are exact.
    """

    metrics: dict[str, float]
    answerable: int
    hit_name: str
    chunks_embedded: int
    chunking_sha256: str
    scoring_fingerprint: str
    tokens_embedded: int
    tokens_full: int
    seconds: dict[str, float]

    def hits(self, k: int) -> int | None:
        """At most so many questions are hit within the first k chunks; None where no bound was taken at that k."""
        share = self.metrics.get(hit_metric(self.hit_name, k))
        return None if share is None else round(share * self.answerable)


@dataclass(frozen=True)
class TrialResult:
    """A finished trial as its result file keeps it: an evaluation, a bound where it was pruned, or what went wrong."""

    trial: int
    point: Point
    unit: str
    started: float  # seconds since the epoch
    ended: float
    evaluation: Evaluation | None = None
    error: str | None = None
    reused_from: int | None = None
    bound: Bound | None = None

    def __post_init__(self) -> None:
        if sum(outcome is not None for outcome in (self.evaluation, self.error, self.bound)) != 1:
            raise ValueError("a finished trial has an evaluation, a bound or an error, one of the three")

    @property
    def complete(self) -> bool:
        return self.evaluation is not None

    @property
    def aside(self) -> bool:
        """Whether it is a baseline that was measured beside the search: no trial of it, so that it has no number."""
        return self.trial < 0

    @property
    def pruned(self) -> bool:
        return self.bound is not None

    @property
    def state(self) -> Literal["complete", "pruned", "failed"]:
        return "complete" if self.complete else "pruned" if self.pruned else "failed"

    @property
    def chunking_sha256(self) -> str | None:
        """Of which chunks; None for a trial that failed."""
        found = self.evaluation or self.bound
        return found.chunking_sha256 if found else None

    @property
    def metrics(self) -> dict[str, float]:
        """What was measured; nothing of a pruned trial, which has bounds only."""
        return self.evaluation.metrics if self.evaluation else {}

    @property
    def params(self) -> dict[str, Any]:
        """The setting as runs and locks record it."""
        overlap = {} if self.point.baseline else {"overlap": self.point.overlap}
        return {**self.point.as_params(), **overlap, "unit": self.unit}

    @property
    def asked(self) -> tuple[QuestionScore, ...]:
        """What each answerable question got; none where it was not measured whole."""
        return tuple(q for q in self.evaluation.questions if q.answerable) if self.evaluation else ()

    @property
    def answerable(self) -> int:
        found = self.evaluation or self.bound
        return found.answerable if found else 0

    @property
    def hit_name(self) -> str:
        found = self.evaluation or self.bound
        return found.hit_name if found else "hit"

    @property
    def mrr(self) -> float | None:
        return self.evaluation.mrr if self.evaluation else None

    def hits(self, k: int) -> int:
        """Raises ValueError for a trial that was not measured whole: it has bounds, or nothing."""
        if self.evaluation is None:
            raise ValueError(f"trial {self.trial} ({self.state}) was not measured whole")
        return self.evaluation.hits(k)


@dataclass(frozen=True)
class Threshold:
    """A gate's number with the model and the scoring function that it belongs to; useless without them."""

    value: float
    rule: str
    how: str  # which branch of the rule set the value, in words
    proxy: bool  # no unanswerable question has a score: negatives are each question's best wrong chunk
    embedder: str
    embedder_fingerprint: str
    scoring_fingerprint: str
    similarity: str
    distributions: dict[str, Quantiles]
    at_threshold: dict[str, Any]  # outcomes on dev


@dataclass(frozen=True)
class Lock:
    """The frozen choice. `lock_id` is derived from every field that states the choice, not from time or user."""

    experiment: str
    study: str
    trial: int
    because: str | None
    params: dict[str, Any]
    metrics: dict[str, float]
    threshold: Threshold
    embedder: EmbedderIdentity
    similarity: str
    scoring_fingerprint: str
    chunking_sha256: str
    corpus_sha256: str
    dev_sha256: str
    labels_sha256: str
    holdout_sha256: str
    holdout_labels_sha256: str
    holdout_count: dict[str, int]
    selection: dict[str, Any]
    result_sha256: str
    run_id: str | None
    code_version: str
    created: str
    created_by: str
    questions: dict[str, Any] = field(default_factory=dict)  # of dev: sources, oldest and newest date, undated, unreviewed
    dev_metric: str | None = None  # that the selection goes by first, with each answerable question's score by its short hash
    dev_scores: dict[str, float] = field(default_factory=dict)

    @property
    def point(self) -> Point:
        """The locked setting."""
        return Point.of(self.params)

    @property
    def generation(self) -> int:
        """Which of the studies under the experiment's name it was made from."""
        return int(self.study.rpartition("#")[2])

    @property
    def lock_id(self) -> str:
        facts = asdict(self)
        for circumstance in ("created", "created_by", "run_id", "code_version"):
            facts.pop(circumstance)
        facts["embedder"].pop("beside")
        for later in ("questions", "dev_metric", "dev_scores"):
            if not facts[later]:  # made before it was recorded
                facts.pop(later)
        return sha256_json(facts)[:16]


@dataclass(frozen=True)
class Claim:
    """The right to open one holdout, given once, before any of its questions is read."""

    holdout_sha256: str
    lock_id: str
    experiment: str
    claimed: str  # ISO time, UTC
    claimed_by: str
    host: str
    project: str  # a digest of its folder: a copy of the project is another place
    questions: tuple[str, ...]  # short hashes, by which a part of them is known again

    @property
    def place(self) -> tuple[str, str]:
        """Where an interrupted opening may be finished."""
        return self.host, self.project


@dataclass(frozen=True)
class HoldoutRecord:
    """The one result of an opened holdout."""

    claim: Claim
    threshold: Threshold  # of the lock that it was opened for
    run_id: str | None
    evaluation: Evaluation
    at_threshold: dict[str, Any]
    verdict: dict[str, Any]
    started: float  # seconds since the epoch
    ended: float
    unreviewed: int | None = None  # questions that no person had read; None: made before it was recorded
