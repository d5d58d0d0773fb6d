"""Vectors that are computed once for a model and a text, and kept on this machine; it wraps any embedder with dense vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.embedders import Embedder, Role
from harness.records import BoolArray, EmbedderIdentity, IntArray
from harness.tokenizers import Tokenizer


class Cached:
    """An embedder whose vectors are looked up before they are computed."""

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner

    @property
    def identity(self) -> EmbedderIdentity:
        return self.inner.identity

    @property
    def similarities(self) -> tuple[str, ...]:
        return self.inner.similarities

    @property
    def tokenizer(self) -> Tokenizer | None:
        return self.inner.tokenizer

    @property
    def max_tokens(self) -> int | None:
        return self.inner.max_tokens

    @property
    def fitted_state(self) -> str | None:
        return self.inner.fitted_state

    def fit(self, texts: Sequence[str]) -> Embedder:
        return self.inner.fit(texts)

    def token_counts(self, texts: Sequence[str]) -> IntArray:
        return self.inner.token_counts(texts)

    def reach(self, text: str) -> int:
        return self.inner.reach(text)

    def held(self, texts: Sequence[str], role: Role) -> BoolArray:
        return self.inner.held(texts, role)

    def embed(self, texts: Sequence[str], role: Role) -> Any:
        return self.inner.embed(texts, role)


def uncached(embedder: Embedder) -> Embedder:
    """The embedder that computes: what a cache wraps, else the embedder itself."""
    return embedder.inner if isinstance(embedder, Cached) else embedder
