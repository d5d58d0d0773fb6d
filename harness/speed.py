"""How fast an embedder is: seconds of a text by its tokens, measured on small samples of a corpus's own texts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from harness import measurement
from harness.embedders import Embedder, cache
from harness.embedders.batches import ON_CPU
from harness.embedders.cache import uncached
from harness.measurement import read_tokens
from harness.ranking import FloatArray
from harness.records import IntArray

REPEATS = 3  # of each sample, in turn: what disturbs one of them is no trend of length
BATCH = ON_CPU  # tokens; samples are of whole batches, for one that is not full takes nearly as long as one that is
MOST = 48 * BATCH  # tokens of a sample
SECONDS = 5.0  # that all measurements together are to take; one of each is made however long it takes
APART = 1.5  # times as long, for another length: nearer ones would tell noise from noise


@dataclass(frozen=True)
class Speed:
    """Seconds that embedding takes: of a text, of each of its tokens, and of each token for each other (attention)."""

    per_text: float
    per_token: float
    per_pair: float

    def seconds(self, tokens: IntArray) -> float:
        """Of some texts, by the tokens of each that the model reads; shape (n,)."""
        read = tokens.astype(np.float64)
        return float(self.per_text * len(read) + self.per_token * read.sum() + self.per_pair * (read**2).sum())


def measure(embedder: Embedder, samples: Sequence[Sequence[str]], clock: Callable[[], float] = time.perf_counter) -> Speed:
    """Fitted to the medians of a few embeddings of each sample, whose texts are to differ in length from sample to sample.

    Vectors that are at hand already are computed all the same.
    """
    computing = uncached(embedder)
    block = measurement.BLOCK if computing is embedder else cache.BLOCK  # as a sweep calls it: the last batch of each is short

    def embed(texts: Sequence[str]) -> float:
        began = clock()
        fitted = computing.fit(texts)
        for at in range(0, len(texts), block):
            fitted.embed(texts[at : at + block], "document")
        return max(clock() - began, 1e-9)

    read = [read_tokens(texts, computing)[0] for texts in samples]
    few = _beginning(read[0], BATCH)
    embed(samples[0][:few])  # the first call of a model is slower than those that follow
    speed = int(read[0][:few].sum()) / embed(samples[0][:few])
    enough = int(min(speed * SECONDS / len(samples) / REPEATS, MOST)) // BATCH * BATCH
    sizes = [_beginning(tokens, max(enough, BATCH)) for tokens in read]
    taken: list[list[float]] = []
    while not taken or (len(taken) < REPEATS and sum(map(sum, taken)) * (len(taken) + 1) / len(taken) < 1.5 * SECONDS):
        taken.append([embed(texts[:n]) for texts, n in zip(samples, sizes, strict=True)])
    return fitted([tokens[:n] for tokens, n in zip(read, sizes, strict=True)], np.median(taken, axis=0).tolist())


def fitted(tokens: Sequence[IntArray], seconds: Sequence[float]) -> Speed:
    """The speed at which some sets of texts take so many seconds, each by the tokens of its texts.

    Every set weighs the same, however long it took. Fewer than three lengths do not tell all three costs apart: of two, none is
    quadratic in the tokens; of one, all is by the token.
    """
    from scipy.optimize import nnls

    facts = np.array([[len(t), t.sum(), (t.astype(np.float64) ** 2).sum()] for t in tokens], dtype=np.float64)
    known = {1: [1], 2: [0, 1]}.get(_lengths(facts[:, 1] / facts[:, 0]), [0, 1, 2])
    rows = facts[:, known] / np.array(seconds)[:, None]
    scale = rows.max(axis=0)  # columns of like size, or the smallest would be lost in rounding
    found = np.zeros(3)
    found[known] = nnls(rows / scale, np.ones(len(rows)))[0] / scale
    return Speed(*found.tolist())


def _lengths(means: FloatArray) -> int:
    """How many of some lengths are apart."""
    number, last = 0, 0.0
    for mean in sorted(means.tolist()):
        if mean >= APART * last:
            number, last = number + 1, mean
    return number


def _beginning(tokens: IntArray, most: int) -> int:
    """How many of the first texts have at most so many tokens together; one at least."""
    return max(1, int(np.searchsorted(np.cumsum(tokens), most, side="right")))
