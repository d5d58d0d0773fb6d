"""Lexical embedders by scikit-learn: TF-IDF fitted on the chunks, and plain term counts; both read texts of any length."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from harness.errors import Fault, HarnessError
from harness.records import BoolArray, EmbedderIdentity, IntArray, sha256_json
from harness.tokenizers.words import words
from harness.version import environment


class NoOptions(BaseModel):
    """These embedders have no options: their settings are their identity."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Lexical:
    """What both share: words for tokens, and no limit on length."""

    Options: ClassVar[type[BaseModel]] = NoOptions
    has_tokenizer = False
    needs_spaces = True
    tokenizer = None
    max_tokens = None
    learns = False
    fitted_state: str | None = None

    @classmethod
    def find(cls, options: NoOptions) -> None:
        """There is nothing to find."""

    @classmethod
    def read_limit(cls, options: NoOptions) -> None:
        """They read texts of any length."""

    @classmethod
    def read_tokenizer(cls, options: NoOptions) -> None:
        """They have no tokens of their own."""

    def token_counts(self, texts: Sequence[str]) -> IntArray:
        return np.array([len(words(text)) for text in texts], dtype=np.int64)

    def reach(self, text: str) -> int:
        return len(text)

    def held(self, texts: Sequence[str], role: str) -> BoolArray:
        return np.zeros(len(texts), dtype=np.bool_)


class Tfidf(_Lexical):
    """TF-IDF over word 1-2-grams without English stop words (scikit-learn's TfidfVectorizer)."""

    SETTINGS: ClassVar[dict[str, Any]] = {"ngram_range": (1, 2), "stop_words": "english"}
    learns = True
    similarities = ("cosine", "dot", "jaccard")

    def __init__(self, vectorizer: Any = None) -> None:
        self._vectorizer = vectorizer

    @classmethod
    def load(cls, options: NoOptions) -> Tfidf:
        return cls()

    @property
    def identity(self) -> EmbedderIdentity:
        parts = {
            "vectorizer": "TfidfVectorizer",
            **{k: list(v) if isinstance(v, tuple) else v for k, v in self.SETTINGS.items()},
        }
        return EmbedderIdentity("tfidf", "TF-IDF, word 1-2-grams, English stop words", parts, environment("scikit-learn"))

    def fit(self, texts: Sequence[str]) -> Tfidf:
        """A copy fitted on the chunks. Raises HarnessError when they hold stop words only."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        try:
            return Tfidf(TfidfVectorizer(**self.SETTINGS).fit(texts))
        except ValueError as error:
            what = f"tfidf finds no word that it counts in {len(texts)} chunks ({str(error).partition(';')[0]})"
            raise HarnessError(Fault("[embedder] type", what, "use type = 'term-frequency', or another corpus")) from error

    @cached_property
    def fitted_state(self) -> str | None:  # type: ignore[override]
        if self._vectorizer is None:
            return None
        names = self._vectorizer.get_feature_names_out()
        # Rounded, so that the last bits of another processor's logarithm do not make another scoring function.
        weights = np.round(self._vectorizer.idf_, 9).astype("<f8").tobytes()
        return hashlib.sha256(sha256_json(list(names)).encode() + weights).hexdigest()

    def embed(self, texts: Sequence[str], role: str) -> Any:
        return self._vectorizer.transform(texts)


class TermFrequency(_Lexical):
    """Counts of lower-case words of the letters a to z."""

    SETTINGS: ClassVar[dict[str, Any]] = {"token_pattern": "[a-z]+", "lowercase": True}
    similarities = ("cosine", "dot", "jaccard")

    @classmethod
    def load(cls, options: NoOptions) -> TermFrequency:
        return cls()

    @property
    def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity("term-frequency", "term frequency, [a-z]+", dict(self.SETTINGS), environment("scikit-learn"))

    def fit(self, texts: Sequence[str]) -> TermFrequency:
        return self

    def embed(self, texts: Sequence[str], role: str) -> Any:
        return self._hasher.transform(texts)

    @cached_property
    def _hasher(self) -> Any:
        # A hash space of 2**31 columns stands for an open vocabulary: texts may come one batch at a time.
        from sklearn.feature_extraction.text import HashingVectorizer

        return HashingVectorizer(**self.SETTINGS, n_features=2**31 - 1, norm=None, alternate_sign=False)
