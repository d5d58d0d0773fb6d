"""Tokenizers: text to the character offsets of its units, found once per document.

To add one, add a file and a line in `TOKENIZERS`.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from harness.errors import Fault, HarnessError, nearest
from harness.records import Corpus, Document, IntArray
from harness.text import sentences
from harness.tokenizers import characters, hugging_face, tiktoken, words

MODEL_TOKENS = "model-tokens"
T = TypeVar("T")


class Tokenizer(Protocol):
    """Cuts a text into units."""

    def __call__(self, text: str, /) -> IntArray:
        """Offsets, shape (units, 2), half-open characters, starts ascending; units that share a character repeat it.

        Together they cover every visible character, lest a chunk lose one.
        """
        ...


TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {
    "words": lambda: words.words,
    "characters": lambda: characters.characters,
    **{encoding: partial(tiktoken.load, encoding) for encoding in tiktoken.ENCODINGS},
}

# What splitters may keep whole beside units.
ATOMS: dict[str, Tokenizer] = {"sentences": sentences}

# A view, so that an entry that is added later is known too.
UNITS: ChainMap[str, Any] = ChainMap({MODEL_TOKENS: None}, TOKENIZERS)


def resolve(name: str, model_tokens: Tokenizer | None, where: str) -> Tokenizer:
    """The tokenizer that a user named; `model-tokens` is the embedding model's own."""
    if name == MODEL_TOKENS:
        if model_tokens is None:
            fix = f"choose another unit: {', '.join(sorted(TOKENIZERS))}"
            raise HarnessError(Fault(where, f"'{MODEL_TOKENS}' needs an embedding model with a tokenizer of its own", fix))
        return model_tokens
    if name.startswith(hugging_face.PREFIX):
        return hugging_face.load(name, where)
    if name not in TOKENIZERS:
        raise HarnessError(Fault(where, f"unknown unit '{name}'", nearest(name, UNITS)))
    return TOKENIZERS[name]()


def counts_tokens(unit: str | None) -> bool:
    """Whether a unit is the tokens of some tokenizer that is named, be it an encoding or a file."""
    return unit in tiktoken.ENCODINGS or (unit or "").startswith(hugging_face.PREFIX)


def unit_name(unit: str) -> str:
    """How results name a unit: as it is, or a tokenizer's file by its content."""
    return hugging_face.name_of(unit) if unit.startswith(hugging_face.PREFIX) else unit


def token_source(unit: str, model_tokens: Tokenizer | None) -> str | None:
    """Which tokenizer `tokens` means: the unit where it counts tokens, else the model's own; None: there is none."""
    if counts_tokens(unit):
        return unit
    return MODEL_TOKENS if model_tokens is not None else None


class Ruler:
    """Every document's units and atoms of one sweep, each found once.

    `unit` is how chunk size is counted, `limit` how many tokens of a text the model reads; None: any number, or not known.
    """

    def __init__(self, corpus: Corpus, unit: str, model_tokens: Tokenizer | None = None, limit: int | None = None) -> None:
        """Raises HarnessError when the unit is unknown, or is `model-tokens` and the model has no tokenizer."""
        self.limit = limit
        self._unit = unit
        self.unit = unit_name(unit)
        self._model_tokens = model_tokens
        self._loaded: dict[str, Tokenizer] = {unit: resolve(unit, model_tokens, "unit")}
        self._offsets: dict[tuple[str, str], IntArray] = {}
        self._once: dict[tuple[str, str], Any] = {}
        self.source_units = sum(len(self.units(d)) for d in corpus.documents)

    def offsets(self, name: str, document: Document) -> IntArray:
        """Offsets of a document under a named tokenizer, shape (n, 2); the same array at every call."""
        if name == "tokens":
            source = token_source(self._unit, self._model_tokens)
            if source is None:
                fix = f"use a unit of tokens ({', '.join(tiktoken.ENCODINGS)}), name an embedding model, or take another splitter"
                raise HarnessError(Fault("splitter 'tokens'", "there is no tokenizer whose tokens it could keep whole", fix))
            name = source
        if name not in self._loaded:
            self._loaded[name] = ATOMS.get(name) or resolve(name, self._model_tokens, "splitter")
        key = (name, document.document_id)
        if key not in self._offsets:
            self._offsets[key] = self._loaded[name](document.text)
        return self._offsets[key]

    def once(self, name: str, document: Document, find: Callable[[Document], T]) -> T:
        """What `find` finds in a document, found at the first call under that name; nothing of it may hang on the size."""
        key = (name, document.document_id)
        if key not in self._once:
            self._once[key] = find(document)
        found: T = self._once[key]
        return found

    def units(self, document: Document) -> IntArray:
        return self.offsets(self._unit, document)

    def count(self, text: str) -> int:
        """Units of a text that is no part of a document."""
        return len(self._loaded[self._unit](text))

    def sizes(self, document: Document, spans: IntArray) -> IntArray:
        """Units that each span of a document touches; spans has shape (n, 2)."""
        return count_touched(self.units(document), spans)

    def shared(self, document: Document, spans: IntArray) -> IntArray:
        """Units that each span, in order, shares with the one before it, shape (n,); the first shares none."""
        between = np.column_stack([spans[1:, 0], np.maximum(spans[1:, 0], spans[:-1, 1])])
        found = np.where(between[:, 1] > between[:, 0], self.sizes(document, between), 0)
        return np.concatenate([np.zeros(min(len(spans), 1), dtype=np.int64), found])


def count_touched(units: IntArray, spans: IntArray) -> IntArray:
    """How many units share a character with each span; both have ascending starts and ends, shape (n, 2)."""
    if not len(units):
        return np.zeros(len(spans), dtype=np.int64)
    begun = np.searchsorted(units[:, 0], spans[:, 1], side="left")
    over = np.searchsorted(units[:, 1], spans[:, 0], side="right")
    return np.asarray(np.maximum(begun - over, 0), dtype=np.int64)


def as_offsets(pairs: Iterable[tuple[int, int]]) -> IntArray:
    """Pairs as an array of shape (n, 2), also when there is none."""
    return np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
