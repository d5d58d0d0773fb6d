"""Tokens of a Hugging Face tokenizer (`tokenizer.json`), of a model or of a file that the user names: `tokenizer:PATH`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import Fault, HarnessError
from harness.records import IntArray

PREFIX = "tokenizer:"
KEPT_COUNTS = 200_000
COUNTED_AT_ONCE = 64  # texts; a thread is not worth fewer


def whole_texts(serialised: str) -> Any:
    """A tokenizer that reads texts of any length."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(serialised)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def offsets(tokenizer: Any, text: str) -> IntArray:
    """Offsets of the tokens without special ones, shape (n, 2); special-token text is text.

    A visible character that the model drops, such as a combining mark, belongs to the token before it.
    """
    tokenizer.encode_special_tokens = True
    pairs = np.array(tokenizer.encode(text, add_special_tokens=False).offsets, dtype=np.int64).reshape(-1, 2)
    return _with_dropped(text, pairs[pairs[:, 1] > pairs[:, 0]])


def as_read(tokenizer: Any) -> Any:
    """The tokenizer, reading special-token text as its model does, whatever `offsets` last asked of it."""
    tokenizer.encode_special_tokens = False
    return tokenizer


class Counts:
    """Tokens of texts as a model reads them, special ones included. Remembered: a sweep counts a text more than once."""

    def __init__(self, tokenizer: Any, threads: int) -> None:
        self._tokenizer = tokenizer
        self._threads = threads
        self._kept: dict[bytes, int] = {}  # by the text's digest

    def of(self, texts: Sequence[str]) -> IntArray:
        """Tokens of each text, shape (n,)."""
        digests = [hashlib.blake2b(t.encode(), digest_size=16).digest() for t in texts]
        known = {d: self._kept[d] for d in digests if d in self._kept}
        new = {d: t for d, t in zip(digests, texts, strict=True) if d not in known}
        known.update(zip(new, self._count(list(new.values())), strict=True))
        if len(self._kept) + len(new) > KEPT_COUNTS:
            self._kept.clear()
        self._kept.update((d, known[d]) for d in islice(new, KEPT_COUNTS))
        return np.array([known[d] for d in digests], dtype=np.int64)

    def _count(self, texts: list[str]) -> list[int]:
        if not texts:
            return []
        # Threads of our own, for they end here: those of the library live on, and a process that forks then may hang.
        share = max(COUNTED_AT_ONCE, -(-len(texts) // self._threads))
        shares = [texts[at : at + share] for at in range(0, len(texts), share)]
        with ThreadPoolExecutor(len(shares)) as pool:
            return [len(e) for encoded in pool.map(as_read(self._tokenizer).encode_batch_fast, shares) for e in encoded]


def load(unit: str, where: str) -> Callable[[str], IntArray]:
    """The tokenizer of a unit `tokenizer:PATH`. Raises HarnessError when the file is none."""
    path = Path(unit.removeprefix(PREFIX))
    try:
        return partial(offsets, whole_texts(path.read_text("utf-8")))
    except FileNotFoundError:
        raise HarnessError(Fault(where, f"no file '{path}'", "give the path of a tokenizer.json")) from None
    except Exception as error:  # the library raises bare ones
        fix = "give the tokenizer.json of a model of the Hugging Face hub"
        raise HarnessError(Fault(where, f"'{path}' is no tokenizer ({str(error).splitlines()[0]})", fix)) from error


def name_of(unit: str) -> str:
    """How results name such a unit: its file and a digest of what is in it, for a path says neither. Raises HarnessError."""
    path = Path(unit.removeprefix(PREFIX))
    try:
        return f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()[:12]}"
    except OSError as error:
        fix = "give the path of a tokenizer.json"
        raise HarnessError(Fault("unit", f"'{path}' can't be read ({error.strerror})", fix)) from error


def _with_dropped(text: str, offsets: IntArray) -> IntArray:
    """Offsets widened over the visible characters between them (and before the first), so that a chunk never loses one;
    of a text that the model drops altogether, one unit."""
    if not len(offsets):
        whole = (len(text) - len(text.lstrip()), len(text.rstrip()))
        return np.array([whole] if text.strip() else [], dtype=np.int64).reshape(-1, 2)
    starts, ends = offsets[:, 0].copy(), offsets[:, 1].copy()
    before = text[: starts[0]]
    starts[0] = len(before) - len(before.lstrip())
    following = [*starts[1:].tolist(), len(text)]
    ends += [len(text[end:start].rstrip()) for end, start in zip(ends.tolist(), following, strict=True)]
    return np.column_stack([starts, ends])
