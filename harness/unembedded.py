"""What a chunking is and would cost, as far as that is known without embedding it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness import ranking
from harness.embedders import Embedder
from harness.measurement import read_tokens
from harness.ranking import Leaders
from harness.records import BoolArray, Chunking, IntArray, Question
from harness.spread import Spread

DENSE_BYTES = 4  # of a number in a vector
SCORED_CHUNKS, SCORED_QUESTIONS = 200, 500  # that the speed of scoring is measured on
DEPTH = 10  # chunks that are kept of each question meanwhile


@dataclass(frozen=True)
class Look:
    """One chunking; arrays have one entry a distinct text."""

    sha256: str
    ceiling: float | None
    index_ratio: float
    chunks: int
    truncated_share: float  # of the chunks
    keys: IntArray  # the beginnings of the texts' digests
    read: IntArray  # tokens, as the model reads them
    held: BoolArray  # whose vectors are at hand
    seconds: float  # of a trial, short of embedding
    bytes: int  # of the index

    @property
    def tokens(self) -> int:
        return int(self.read.sum())

    @property
    def tokens_held(self) -> int:
        return int(self.read[self.held].sum())

    def unread(self) -> Look:
        """The same, of which nothing is embedded."""
        return replace(self, keys=self.keys[:0], read=self.read[:0], held=self.held[:0])


def look(chunking: Chunking, questions: Sequence[Question], embedder: Embedder, similarity: str, every: int = 1) -> Look:
    """What is known of a chunking without embedding it; its `seconds` are short of cutting the corpus.

    Tokens are counted of one text in `every`, and follow from the length of the others.
    """
    rows: dict[str, int] = {}
    row_of = np.array([rows.setdefault(text, len(rows)) for text in chunking.texts()], dtype=np.int64)
    texts = list(rows)
    began = time.perf_counter()
    read, beyond = read_tokens(texts[::every], embedder)
    counting = (time.perf_counter() - began) * every
    counted = row_of[row_of % every == 0]
    truncated_share = np.count_nonzero(beyond[counted // every]) / len(counted)
    if every > 1:
        read = _by_length(texts, read + beyond, every, embedder.max_tokens)
    bytes_, scoring = _index(chunking, texts, questions, embedder, similarity)
    return Look(
        chunking.sha256,
        ceiling_of(chunking, questions),
        chunking.index_ratio,
        len(chunking),
        truncated_share,
        np.array([int.from_bytes(_digest(t), "little", signed=True) for t in texts], dtype=np.int64),
        read,
        embedder.held(texts, "document"),
        counting + scoring,
        bytes_,
    )


def ceiling_of(chunking: Chunking, questions: Sequence[Question]) -> float | None:
    """Share of the questions of which some alternative's places each lie whole in some chunk.

    None without a question whose evidence is spans: a region is touched wherever the cuts fall.
    """
    spans = [q.evidence for q in questions if q.evidence and q.evidence.whole]
    reachable = [any(all(len(chunking.holding(place)) for place in a) for a in e.alternatives) for e in spans]
    return sum(reachable) / len(reachable) if reachable else None


def _by_length(texts: Sequence[str], counted: IntArray, every: int, most: int | None) -> IntArray:
    """Tokens of all texts as the model reads them: those counted of one in `every`; of the others by a line through these."""
    lengths = np.array([len(t) for t in texts], dtype=np.float64)
    spread = len(counted) > 1 and np.ptp(lengths[::every]) > 0
    slope, base = np.polyfit(lengths[::every], counted, 1) if spread else (0.0, float(counted.mean()))
    tokens = np.maximum(np.rint(base + slope * lengths), 1).astype(np.int64)
    tokens[::every] = counted
    return tokens if most is None else np.minimum(tokens, most)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _index(
    chunking: Chunking, texts: Sequence[str], questions: Sequence[Question], embedder: Embedder, similarity: str
) -> tuple[int, float]:
    """Bytes of the index, and seconds of ranking it for the questions: by arithmetic and a try, of sparse vectors by a sample."""
    every = max(1, len(texts) // SCORED_CHUNKS)
    asked = [q.text for q in questions][:SCORED_QUESTIONS]
    dimensions = embedder.identity.parts.get("dimensions")
    if dimensions:
        draw = np.random.default_rng(0)
        vectors: Any = draw.random((len(texts[::every]), int(dimensions)), dtype=np.float32)
        queries: Any = draw.random((len(asked), int(dimensions)), dtype=np.float32)
        bytes_ = len(chunking) * int(dimensions) * DENSE_BYTES
    else:
        sample = texts[::every]
        fitted = embedder.fit(sample)
        vectors, queries = fitted.embed(sample, "document"), fitted.embed(asked, "query")
        entry = vectors.data.itemsize + vectors.indices.itemsize
        bytes_ = round(len(chunking) * (vectors.nnz / len(sample) * entry + vectors.indptr.itemsize))
    began = time.perf_counter()
    scores = ranking.rounded(ranking.SIMILARITIES[similarity](queries, vectors))
    Leaders(len(asked), DEPTH).add(np.arange(scores.shape[1]), scores)
    Spread().add(scores[scores > -np.inf])
    taken = time.perf_counter() - began
    return bytes_, taken * len(chunking) / scores.shape[1] * len(questions) / max(len(asked), 1)
