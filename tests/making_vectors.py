"""An embedder to test the vector cache with: every vector is a digest of who made it and of what, so a wrong one shows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.records import EmbedderIdentity


class Digests:
    """Vectors of 64 numbers that depend on model, role and text; it remembers what it was asked to embed."""

    similarities = ("cosine", "dot")
    fitted_state = None
    learns = False
    tokenizer = None
    max_tokens = None

    def __init__(self, model: str = "m", **prompts: str) -> None:
        self.model = model
        self.asked: list[str] = []
        self.identity = EmbedderIdentity("digests", model, {"dimensions": 64, "model": model, **prompts})

    def fit(self, texts: Sequence[str]) -> Digests:
        return self

    def token_counts(self, texts: Sequence[str]) -> Any:
        return np.array([len(t.split()) for t in texts], dtype=np.int64)

    def reach(self, text: str) -> int:
        return len(text)

    def held(self, texts: Sequence[str], role: str) -> Any:
        return np.zeros(len(texts), dtype=np.bool_)

    def embed(self, texts: Sequence[str], role: str) -> Any:
        self.asked += texts
        rows = [self._digest(text, role) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), 64)

    def _digest(self, text: str, role: str) -> list[int]:
        made_of = f"{self.model}\0{role}\0{text}".encode("utf-8", "surrogatepass")
        return [b - 128 for b in hashlib.blake2b(made_of, digest_size=64).digest()]
