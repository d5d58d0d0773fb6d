"""One chunking under measurement: chunks are embedded in any order, ranked for all questions and forgotten.

What is kept of a chunk once its questions have seen it: a place among the best of each, a count, nothing else. So memory grows
with the questions and with the chunks that hold evidence, not with the corpus.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from harness import metrics, ranking
from harness.embedders import Embedder
from harness.errors import Fault, TrialTimeout
from harness.ranking import FloatArray, Leaders
from harness.records import BoolArray, Chunking, IntArray, Question
from harness.spread import Spread

BLOCK = 512  # chunks that are scored at once, and between two looks at the clock


@dataclass(frozen=True)
class Scoring:
    """How rankings are made and scored: the similarity and the k of the metrics."""

    similarity: str
    ks: tuple[int, ...]
    char_k: int = metrics.CHAR_K

    @property
    def depth(self) -> int:
        """How many passages of each question are kept."""
        return max(*self.ks, self.char_k, 3)


class Clock:
    """Seconds by step, and the most that they may come to together."""

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Adds to a step's seconds; raises TrialTimeout afterwards once the limit has passed."""
        start = time.perf_counter()
        yield
        self.seconds[step] = round(self.seconds.get(step, 0.0) + time.perf_counter() - start, 4)
        if self.limit is not None and sum(self.seconds.values()) > self.limit:
            raise TrialTimeout(
                Fault("[search] trial_timeout", "the trial passed its time limit", "raise it, or use larger chunks")
            )


def read_tokens(texts: Sequence[str], embedder: Embedder) -> tuple[IntArray, IntArray]:
    """Tokens of each text that the model reads, and tokens beyond these that it cuts off; both of shape (n,)."""
    counts = embedder.token_counts(texts)
    read = counts if embedder.max_tokens is None else np.minimum(counts, embedder.max_tokens)
    return read, counts - read


@dataclass(frozen=True)
class Wanted:
    """Where the evidence of some questions lies under a chunking, as flat arrays: a row of `owner` is a place.

    `alternatives` and `conditions` have the rows of each question's places; `held` pairs rows with the chunks that satisfy
    them, `complete` pairs questions with the chunks that alone hold an alternative whole.
    """

    owner: IntArray  # question of each place
    alternatives: tuple[tuple[tuple[int, ...], ...], ...]
    conditions: tuple[tuple[int, ...], ...]
    held: tuple[IntArray, IntArray]
    complete: tuple[IntArray, IntArray]
    together: tuple[tuple[bool, ...], ...]  # whether one chunk holds the whole alternative

    @classmethod
    def of(cls, questions: Sequence[Question], chunking: Chunking) -> Wanted:
        owner: list[int] = []
        rows: list[int] = []
        chunks: list[IntArray] = []
        alternatives, conditions, together, complete = [], [], [], []

        def place(question: int, holding: IntArray) -> int:
            owner.append(question)
            rows.extend([len(owner) - 1] * len(holding))
            chunks.append(holding)
            return len(owner) - 1

        for i, question in enumerate(questions):
            wanted: list[tuple[int, ...]] = []
            whole: list[bool] = []
            for alternative in question.evidence.alternatives if question.evidence else ():
                holding = [chunking.answering(p, question.evidence) for p in alternative] if question.evidence else []
                wanted.append(tuple(place(i, h) for h in holding))
                alone = set.intersection(*(set(h.tolist()) for h in holding))
                whole.append(bool(alone))
                complete += [(i, c) for c in alone]
            alternatives.append(tuple(wanted))
            together.append(tuple(whole))
            conditions.append(tuple(place(i, chunking.holding(p)) for p in question.condition))
        pairs = np.array(complete, dtype=np.int64).reshape(-1, 2)
        held = np.concatenate(chunks) if chunks else np.zeros(0, dtype=np.int64)
        return cls(
            np.array(owner, dtype=np.int64),
            tuple(alternatives),
            tuple(conditions),
            (np.array(rows, dtype=np.int64), held),
            (pairs[:, 0], pairs[:, 1]),
            tuple(together),
        )


@dataclass
class _Evidence:
    """The best chunk that holds each place so far, how many rank above it, and how many that hold it are still to come."""

    best: FloatArray
    best_chunk: IntArray
    above: IntArray
    to_come: IntArray
    settled: BoolArray  # every chunk that holds the place is embedded: `best` is final, and `above` counts

    @classmethod
    def of(cls, wanted: Wanted) -> _Evidence:
        n = len(wanted.owner)
        to_come = np.bincount(wanted.held[0], minlength=n).astype(np.int64)
        none = np.full(n, Leaders.NONE, dtype=np.int64)
        return cls(np.full(n, -np.inf), none, np.zeros(n, dtype=np.int64), to_come, to_come == 0)


@dataclass
class Measurement:
    """A chunking and how far its measurement has come; questions that share a text are embedded once.

    Every chunk is known by its text: identical ones are embedded once. `texts` numbers in all methods index the distinct texts.
    """

    chunking: Chunking
    questions: Sequence[Question]
    embedder: Embedder
    scoring: Scoring
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        with self.clock.timed("fit"):
            self.fitted = self.embedder.fit(_Texts(self.chunking))
        with self.clock.timed("split"):
            self.text_of, self._first = _distinct(self.chunking)
            self._order = np.argsort(self.text_of, kind="stable")
            self._bounds = np.searchsorted(self.text_of[self._order], np.arange(len(self._first) + 1))
            self.wanted = Wanted.of(self.questions, self.chunking)
        self.embedded: BoolArray = np.zeros(len(self._first), dtype=np.bool_)
        self.leaders = Leaders(len(self.questions), self.scoring.depth)
        self.evidence = _Evidence.of(self.wanted)
        self.best_wrong: FloatArray = np.full(len(self.questions), -np.inf)
        self.irrelevant = Spread()
        self.index_bytes = 0
        self.tokens_embedded = 0
        self._kept: list[tuple[IntArray, Any]] = []  # chunks and vectors that unsettled places still have to be held against
        self._near = _Near(self.chunking, self.questions)

    @cached_property
    def _asked(self) -> Any:
        with self.clock.timed("embed"):
            return self.fitted.embed([q.text for q in self.questions], "query")

    @cached_property
    def tokens(self) -> tuple[IntArray, IntArray]:
        """Of each distinct text: tokens that the model reads, and those that it cuts off."""
        with self.clock.timed("count"):
            found = [read_tokens(self._texts(block), self.fitted) for block in _blocks(np.arange(len(self._first)), 8 * BLOCK)]
            return np.concatenate([read for read, _ in found]), np.concatenate([beyond for _, beyond in found])

    @property
    def bytes_by_chunk(self) -> int:
        """Bytes of what has an entry a chunk, beside the chunking's own offsets: all that grows with the corpus."""
        arrays = (self.text_of, self._first, self._order, self._bounds, self.embedded, *self.tokens)
        return sum(a.nbytes for a in arrays)

    @property
    def complete(self) -> bool:
        return bool(self.embedded.all())

    @cached_property
    def evidence_texts(self) -> IntArray:
        """Texts of the chunks that hold a place of some question's evidence."""
        return np.unique(self.text_of[self.wanted.held[1]])

    def texts_touching(self, document: int, start: int, end: int) -> list[int]:
        """Texts of the chunks that share a character with [start, end) of a document, by its index, most shared first."""
        cut = self.chunking
        low, high = np.searchsorted(cut.document, [document, document + 1])
        shared = np.minimum(cut.end[low:high], end) - np.maximum(cut.start[low:high], start)
        found = np.flatnonzero(shared > 0)
        return self.text_of[low + found[np.argsort(-shared[found], kind="stable")]].tolist()  # type: ignore[no-any-return]

    def embed_all(self) -> None:
        """Embed what is not embedded yet, evidence first: then nothing need be kept of any block."""
        waiting = self.evidence_texts[~self.embedded[self.evidence_texts]]
        for block in _blocks(waiting):
            self.embed(block)
        waiting = np.flatnonzero(~self.embedded)
        # By length: texts of one length fill a batch without padding.
        for block in _blocks(waiting[np.argsort(self.tokens[0][waiting], kind="stable")]):
            self.embed(block)

    def embed_held(self) -> None:
        """Take in the texts whose vectors the embedder has at hand: they cost nothing."""
        for block in _blocks(np.flatnonzero(~self.embedded), 8 * BLOCK):
            found = block[self.fitted.held(self._texts(block), "document")]
            for part in _blocks(found):
                self.embed(part)

    def embed(self, texts: IntArray) -> None:
        """Embed some texts that were not embedded before, and rank their chunks for every question."""
        found = self._texts(texts)
        asked = self._asked
        read = self.tokens[0][texts]
        with self.clock.timed("embed"):
            held = self.fitted.held(found, "document")
            vectors = self.fitted.embed(found, "document")
        self.tokens_embedded += int(read[~held].sum())
        self.embedded[texts] = True
        with self.clock.timed("score"):
            chunks = [self._order[self._bounds[t] : self._bounds[t + 1]] for t in texts.tolist()]
            repeats = np.repeat(np.arange(len(texts)), [len(c) for c in chunks])
            self.index_bytes += _bytes(vectors, repeats)
            self._rank(np.concatenate(chunks), vectors[repeats] if len(repeats) > len(texts) else vectors, asked)

    def _texts(self, texts: IntArray) -> list[str]:
        return [self.chunking.stored_text(c) for c in self._first[texts].tolist()]

    def _rank(self, chunks: IntArray, vectors: Any, asked: Any) -> None:
        compare = ranking.SIMILARITIES[self.scoring.similarity]
        scores = ranking.rounded(compare(asked, vectors))
        position = np.full(len(self.chunking), -1, dtype=np.int64)
        position[chunks] = np.arange(len(chunks))
        self.leaders.add(chunks, scores)
        self.irrelevant.add(scores[self._near.away(chunks, position) & (scores > -np.inf)])
        wrong = scores.copy()
        question, chunk = self.wanted.complete
        there = position[chunk] >= 0
        wrong[question[there], position[chunk[there]]] = -np.inf
        np.maximum(self.best_wrong, wrong.max(axis=1, initial=-np.inf), out=self.best_wrong)
        self._hold_against_evidence(chunks, vectors, scores, position)

    def _hold_against_evidence(self, chunks: IntArray, vectors: Any, scores: FloatArray, position: IntArray) -> None:
        """Count what ranks above the evidence; where its last chunk has just come, among all that came before, too."""
        state, owner = self.evidence, self.wanted.owner
        before = np.flatnonzero(state.settled)
        state.above[before] += ranking.above(scores[owner[before]], chunks, state.best[before], state.best_chunk[before])
        rows, holders = self.wanted.held
        there = position[holders] >= 0
        for row, chunk in zip(rows[there].tolist(), holders[there].tolist(), strict=True):
            score = scores[owner[row], position[chunk]]
            state.to_come[row] -= 1
            if score > -np.inf and (-score, chunk) < (-state.best[row], state.best_chunk[row]):
                state.best[row], state.best_chunk[row] = score, chunk
        settling = np.flatnonzero((state.to_come == 0) & ~state.settled)
        if len(state.settled) and not state.settled.all():
            self._kept.append((chunks, vectors))
        if len(settling):
            state.settled[settling] = True
            self._count_above(settling)
        if state.settled.all():
            self._kept = []

    def _count_above(self, settling: IntArray) -> None:
        compare, state = ranking.SIMILARITIES[self.scoring.similarity], self.evidence
        questions, at = np.unique(self.wanted.owner[settling], return_inverse=True)
        for chunks, vectors in self._kept:
            scores = ranking.rounded(compare(self._asked[questions], vectors))[at]
            state.above[settling] += ranking.above(scores, chunks, state.best[settling], state.best_chunk[settling])

    @property
    def ranks(self) -> IntArray:
        """The best rank that a chunk which holds each place can still have; final once all is embedded. 0: none is retrieved.

        It never falls while more is embedded.
        """
        state = self.evidence
        found = np.where(state.settled, state.above + 1, 1)
        possible = np.where(state.settled, state.best > -np.inf, True)
        if self.complete:
            possible &= np.array([self.leaders.retrieves(q) for q in range(len(self.questions))], dtype=np.bool_)[
                self.wanted.owner
            ]
        return np.where(possible, found, 0)


class _Texts(Sequence[str]):
    """The texts of all chunks, cut when they are asked for: an embedder that does not read them costs no memory."""

    def __init__(self, chunking: Chunking) -> None:
        self._chunking = chunking

    def __len__(self) -> int:
        return len(self._chunking)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._chunking.stored_text(c) for c in range(*index.indices(len(self)))]
        return self._chunking.stored_text(range(len(self))[index])


def _distinct(chunking: Chunking) -> tuple[IntArray, IntArray]:
    """The number of each chunk's text among the distinct ones, and the first chunk that has each."""
    digests = np.empty(len(chunking), dtype="V16")
    for chunk in range(len(chunking)):
        text = chunking.stored_text(chunk).encode("utf-8", "surrogatepass")
        digests[chunk] = np.void(hashlib.blake2b(text, digest_size=16).digest())
    _, first, of = np.unique(digests, return_index=True, return_inverse=True)
    order = np.argsort(first)  # numbered as they come
    number = np.empty(len(first), dtype=np.int64)
    number[order] = np.arange(len(first))
    return number[of], first[order].astype(np.int64)


def _blocks(texts: IntArray, size: int = BLOCK) -> Iterator[IntArray]:
    for at in range(0, len(texts), size):
        yield texts[at : at + size]


def _bytes(vectors: Any, repeats: IntArray) -> int:
    """Bytes of some rows as an index stores them, a row as often as it is repeated."""
    if hasattr(vectors, "indptr"):
        entries = np.diff(vectors.indptr)[repeats].sum()
        return int(entries * (vectors.data.itemsize + vectors.indices.itemsize) + len(repeats) * vectors.indptr.itemsize)
    return int(len(repeats) * vectors.shape[1] * vectors.itemsize)


class _Near:
    """Which chunks clearly do not answer: those of documents without evidence; where every document has some, those that
    touch neither the evidence nor the expected section."""

    def __init__(self, chunking: Chunking, questions: Sequence[Question]) -> None:
        self._document = chunking.document
        self._answerable = np.array([q.answerable for q in questions], dtype=np.bool_)
        documents: list[tuple[int, int]] = []
        chunks: list[tuple[int, int]] = []
        for i, question in enumerate(questions):
            if question.evidence is None:
                continue
            holding = {chunking.corpus.index[p.document_id] for p in question.evidence.places()}
            if len(holding) < len(chunking.corpus.documents):
                documents += [(i, d) for d in holding]
            else:
                chunks += [(i, c) for c in _touching(question, chunking)]
        self._documents = np.array(documents, dtype=np.int64).reshape(-1, 2)
        self._chunks = np.array(chunks, dtype=np.int64).reshape(-1, 2)

    def away(self, chunks: IntArray, position: IntArray) -> BoolArray:
        """Shape (questions, chunks); `position` has the column of each chunk, -1 for those that are not among them."""
        found = np.repeat(self._answerable[:, None], len(chunks), axis=1)
        documents, column = np.unique(self._document[chunks], return_inverse=True)
        question, document = self._documents[:, 0], self._documents[:, 1]
        at = np.minimum(np.searchsorted(documents, document), len(documents) - 1)
        there = documents[at] == document
        near = np.zeros((len(found), len(documents)), dtype=np.bool_)
        near[question[there], at[there]] = True
        found &= ~near[:, column]
        question, chunk = self._chunks[:, 0], self._chunks[:, 1]
        there = position[chunk] >= 0
        found[question[there], position[chunk[there]]] = False
        return found


def _touching(question: Question, chunking: Chunking) -> set[int]:
    """Chunks that touch the evidence or the expected section."""
    places = [(p.document_id, p.span) for p in question.evidence.places()] if question.evidence else []
    if question.expected_section:
        document_id, section_id = question.expected_section
        places += [(document_id, s.span) for s in chunking.corpus[document_id].sections if s.section_id == section_id]
    return {c for document_id, span in places for c in chunking.touching(document_id, span).tolist()}
