"""Tokens of a Hugging Face tokenizer (`tokenizer.json`), of a model or of a file that the user names: `tokenizer:PATH`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import Fault, HarnessError
from harness.records import IntArray

PREFIX = "tokenizer:"


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
