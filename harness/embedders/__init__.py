"""Embedders: texts to vectors with an identity; to add one, add a file with the protocol below and a line in `EMBEDDERS`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from pydantic import BaseModel

from harness.embedders import lexical, sentence_transformer
from harness.errors import Fault, HarnessError, nearest
from harness.records import BoolArray, EmbedderIdentity, IntArray, scoring_sha256
from harness.tokenizers import Tokenizer

Role = Literal["document", "query"]


class Embedder(Protocol):
    """Turns texts into vectors. A fitted one learns from the chunks first and never from questions."""

    @property
    def identity(self) -> EmbedderIdentity: ...

    @property
    def similarities(self) -> tuple[str, ...]:
        """Similarities that its vectors support."""
        ...

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The model's own tokens, where it has a tokenizer."""
        ...

    @property
    def max_tokens(self) -> int | None:
        """Longest text it reads whole, in tokens with special tokens; None: no limit."""
        ...

    @property
    def learns(self) -> bool:
        """Whether it learns from the chunks: then any of them changes the scores of all."""
        ...

    @property
    def fitted_state(self) -> str | None:
        """Digest of what was learnt from the chunks; None for one that learns nothing."""
        ...

    def fit(self, texts: Sequence[str]) -> Embedder:
        """Itself, or a fitted copy where it learns from the chunks."""
        ...

    def token_counts(self, texts: Sequence[str]) -> IntArray:
        """Tokens of each text as it would be embedded, special tokens included, before any truncation; shape (n,)."""
        ...

    def reach(self, text: str) -> int:
        """Characters of a text that the model reads; all of them when nothing is truncated."""
        ...

    def held(self, texts: Sequence[str], role: Role) -> BoolArray:
        """Which of the vectors are at hand already, so that `embed` computes nothing for them; shape (n,)."""
        ...

    def embed(self, texts: Sequence[str], role: Role) -> Any:
        """Vectors, shape (n, dimensions): a float32 array or a SciPy sparse array."""
        ...


class EmbedderType(Protocol):
    """What a registry entry offers before anything is loaded."""

    @property
    def Options(self) -> type[BaseModel]: ...

    @property
    def similarities(self) -> tuple[str, ...]: ...

    @property
    def has_tokenizer(self) -> bool: ...

    @property
    def needs_spaces(self) -> bool:
        """Whether it knows words by the spaces between them."""
        ...

    def find(self, options: Any) -> object:
        """Raises HarnessError when the model is not where the options say; loads and downloads nothing."""
        ...

    def read_tokenizer(self, options: Any) -> Tokenizer | None:
        """The model's own tokens without loading the model; None where it has none, or they are not on this machine yet."""
        ...

    def read_limit(self, options: Any) -> int | None:
        """Tokens of a text that the model reads, special ones not counted, without loading it; None: no limit, or not known."""
        ...

    def load(self, options: Any) -> Embedder:
        """Raises HarnessError when the model can't be loaded."""
        ...


EMBEDDERS: dict[str, EmbedderType] = {
    "tfidf": lexical.Tfidf,
    "term-frequency": lexical.TermFrequency,
    "sentence-transformers": sentence_transformer.SentenceTransformerEmbedder,
}


def resolve(name: str, where: str) -> EmbedderType:
    """The kind of embedder that a user named."""
    if name not in EMBEDDERS:
        raise HarnessError(Fault(where, f"unknown embedder '{name}'", nearest(name, EMBEDDERS)))
    return EMBEDDERS[name]


def scoring_fingerprint(embedder: Embedder, similarity: str) -> str:
    """Fingerprint of the scoring function that an embedder, fitted where it fits, makes with a similarity."""
    return scoring_sha256(embedder.identity, similarity, embedder.fitted_state)
