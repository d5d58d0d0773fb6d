"""Exact search: similarities of every question with every chunk, ranked with a stated tie-break.

A similarity more is a line in `SIMILARITIES`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.errors import Fault, HarnessError, nearest
from harness.records import IntArray

DECIMALS = 6

FloatArray = npt.NDArray[np.float64]


def _dense(matrix: Any) -> FloatArray:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64)


def _norms(vectors: Any) -> FloatArray:
    squares = vectors.multiply(vectors) if hasattr(vectors, "multiply") else np.square(vectors, dtype=np.float64)
    return np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64).ravel())


def dot(questions: Any, chunks: Any) -> FloatArray:
    """Inner products; sparse ones over the columns that the questions use (a hashed vocabulary has 2**31 of them)."""
    if not hasattr(questions, "indptr"):
        # In double precision a pair's product does not depend on what is multiplied beside it.
        return np.asarray(questions, dtype=np.float64) @ np.asarray(chunks, dtype=np.float64).T
    columns = np.unique(questions.indices)
    return _dense(_narrowed(questions, columns) @ _narrowed(chunks, columns).T)


def _narrowed(vectors: Any, columns: IntArray) -> Any:
    """Only some columns of CSR vectors, in order; memory grows with the entries, not with the columns there could be."""
    from scipy.sparse import csr_array

    at = np.searchsorted(columns, vectors.indices)
    kept = np.isin(vectors.indices, columns)
    rows = np.concatenate([[0], np.cumsum(kept)])[vectors.indptr]
    return csr_array((vectors.data[kept], at[kept], rows), shape=(vectors.shape[0], len(columns)))


def cosine(questions: Any, chunks: Any) -> FloatArray:
    """Inner products over the product of the lengths; NaN where a length is zero."""
    lengths = _norms(questions)[:, None] * _norms(chunks)[None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(lengths > 0, dot(questions, chunks) / lengths, np.nan)


def jaccard(questions: Any, chunks: Any) -> FloatArray:
    """Shared terms over all terms of both, counts ignored; NaN where either has no term. Sparse vectors only."""
    a, b = (questions != 0).astype(np.float64), (chunks != 0).astype(np.float64)
    shared = dot(a, b)
    terms_a, terms_b = (np.asarray(m.sum(axis=1)).ravel() for m in (a, b))
    defined = (terms_a[:, None] > 0) & (terms_b[None, :] > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(defined, shared / (terms_a[:, None] + terms_b[None, :] - shared), np.nan)


SIMILARITIES: dict[str, Callable[[Any, Any], FloatArray]] = {"cosine": cosine, "dot": dot, "jaccard": jaccard}


def resolve(name: str, supported: tuple[str, ...], where: str) -> str:
    """A similarity that exists and that the embedder's vectors support."""
    if name not in SIMILARITIES:
        raise HarnessError(Fault(where, f"unknown similarity '{name}'", nearest(name, SIMILARITIES)))
    if name not in supported:
        raise HarnessError(
            Fault(where, f"similarity '{name}' does not apply to this embedder's vectors", f"use {' or '.join(supported)}")
        )
    return name


def rounded(similarities: FloatArray) -> FloatArray:
    """Similarities as they are ranked: rounded to 6 decimals, no negative zero, minus infinity where undefined."""
    scores = np.round(similarities, DECIMALS) + 0.0
    return np.where(np.isfinite(scores), scores, -np.inf)


class Leaders:
    """The best chunks of each question so far, whatever the order in which chunks come; ties go to the earlier chunk.

    `scores` and `chunks` have shape (questions, depth), best first; where fewer were retrieved, minus infinity and `NONE`.
    """

    NONE = np.iinfo(np.int64).max

    def __init__(self, questions: int, depth: int) -> None:
        self.scores: FloatArray = np.full((questions, depth), -np.inf)
        self.chunks: IntArray = np.full((questions, depth), self.NONE, dtype=np.int64)
        self._matched = np.zeros(questions, dtype=np.bool_)

    def add(self, chunks: IntArray, scores: FloatArray) -> None:
        """Rounded scores of some more chunks, shape (questions, chunks)."""
        self._matched |= ((scores != 0) & (scores > -np.inf)).any(axis=1)
        questions, depth = self.scores.shape
        worst, last = self.scores[:, -1:], self.chunks[:, -1:]
        enters = (scores > worst) | ((scores == worst) & (chunks < last) & (scores > -np.inf))
        if len(chunks) > depth:  # nor can anything that is not among the best of its own block
            at = len(chunks) - depth
            enters &= scores >= np.partition(scores, at, axis=1)[:, at : at + 1]
        row, column = np.nonzero(enters)
        if not len(row):
            return
        rows = np.concatenate([np.repeat(np.arange(questions), depth), row])
        every_score = np.concatenate([self.scores.ravel(), scores[row, column]])
        every_chunk = np.concatenate([self.chunks.ravel(), chunks[column]])
        order = np.lexsort((every_chunk, -every_score, rows))
        first = np.searchsorted(rows[order], np.arange(questions))
        kept = order[first[:, None] + np.arange(depth)]
        self.scores, self.chunks = every_score[kept], every_chunk[kept]

    def retrieves(self, question: int) -> bool:
        """Whether anything is retrieved at all: where every similarity is zero, nothing is."""
        return bool(self._matched[question])

    def of(self, question: int) -> tuple[IntArray, FloatArray]:
        """A question's best chunks and their scores, best first; empty when nothing is retrieved."""
        found = self.chunks[question] != self.NONE if self.retrieves(question) else np.zeros(0, dtype=np.bool_)
        return self.chunks[question][: found.sum()], self.scores[question][: found.sum()]


def above(scores: FloatArray, chunks: IntArray, best: FloatArray, best_chunk: IntArray) -> IntArray:
    """How many of some chunks rank above a given one: scores of shape (n, chunks) against `best` and `best_chunk`, shape (n,)."""
    higher = scores > best[:, None]
    higher |= (scores == best[:, None]) & (chunks < best_chunk[:, None])
    return np.asarray(np.count_nonzero(higher, axis=1), dtype=np.int64)
