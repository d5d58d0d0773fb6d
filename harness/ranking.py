"""Exact search: similarities of every question with every chunk, ranked with a stated tie-break.

A similarity more is a line in `SIMILARITIES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
        return _dense(questions @ chunks.T)
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


@dataclass(frozen=True)
class Ranking:
    """Chunks retrieved for one question, best first. Shapes (retrieved,); `rank_of` has shape (chunks,), 0: not retrieved."""

    chunks: IntArray
    scores: FloatArray
    rank_of: IntArray


def rank(similarities: FloatArray) -> Ranking:
    """Rank one question's similarities, shape (chunks,) in (document, start) order, which also settles ties.

    Scores are rounded to 6 decimals first. An undefined similarity retrieves nothing, nor does an all-zero row.
    """
    scores = np.round(similarities, DECIMALS) + 0.0  # no negative zero
    defined = np.flatnonzero(np.isfinite(scores))
    if not scores[defined].any():
        defined = defined[:0]
    order = defined[np.argsort(-scores[defined], kind="stable")]
    rank_of = np.zeros(len(scores), dtype=np.int64)
    rank_of[order] = np.arange(1, len(order) + 1)
    return Ranking(order, scores[order], rank_of)
