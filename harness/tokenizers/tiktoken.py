"""OpenAI's byte-pair encodings by the tiktoken package; another encoding is a name more in `ENCODINGS`.

The ranks are downloaded by tiktoken on first use, unless TIKTOKEN_CACHE_DIR holds them. Without a network, the
copy that the package llama-index-core carries is used (copied first: tiktoken deletes what it distrusts).
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import platformdirs

from harness.errors import Fault, HarnessError
from harness.records import IntArray

if TYPE_CHECKING:
    import tiktoken

ENCODINGS = ("cl100k_base", "o200k_base")


def load(encoding: str) -> Callable[[str], IntArray]:
    """The tokenizer of an encoding, for the registry."""
    return tokenizer(load_encoding(encoding))


@cache
def load_encoding(name: str) -> tiktoken.Encoding:
    """Load an encoding's ranks. Raises HarnessError when they are neither at hand nor to be had."""
    import tiktoken

    _offer_packaged_ranks()
    try:
        return tiktoken.get_encoding(name)
    except Exception as error:
        fix = "connect once, set TIKTOKEN_CACHE_DIR to a folder that holds them, or `pip install llama-index-core`"
        raise HarnessError(Fault(f"unit '{name}'", f"the encoding's ranks can't be loaded ({error})", fix)) from error


def _offer_packaged_ranks() -> None:
    """Point tiktoken at a private copy of the ranks that llama-index-core carries, unless the user chose a folder."""
    if "TIKTOKEN_CACHE_DIR" in os.environ or "DATA_GYM_CACHE_DIR" in os.environ:
        return
    try:
        package = importlib.util.find_spec("llama_index.core")
    except ModuleNotFoundError:
        return
    for root in package.submodule_search_locations or () if package else ():
        packaged = Path(root) / "_static" / "tiktoken_cache"
        if packaged.is_dir():
            copy = Path(platformdirs.user_cache_dir("chunking-harness")) / "tiktoken"
            copy.mkdir(parents=True, exist_ok=True)
            for ranks in packaged.iterdir():
                if ranks.is_file() and not (copy / ranks.name).exists():
                    shutil.copy(ranks, copy / ranks.name)
            os.environ["TIKTOKEN_CACHE_DIR"] = str(copy)


def tokenizer(encoding: tiktoken.Encoding) -> Callable[[str], IntArray]:
    """Offsets of an encoding's tokens, shape (n, 2); special-token text is text, and tokens that share a character
    both span it (a token may hold only some of a character's bytes)."""

    def offsets(text: str) -> IntArray:
        tokens = encoding.encode_ordinary(text)
        lengths = np.fromiter((len(encoding.decode_single_token_bytes(t)) for t in tokens), np.int64, len(tokens))
        ends = np.cumsum(lengths)
        character = _character_of_byte(text)
        if not len(tokens):
            return np.zeros((0, 2), dtype=np.int64)
        return np.column_stack([character[ends - lengths], character[ends - 1] + 1])

    return offsets


def _character_of_byte(text: str) -> IntArray:
    """For each byte of the UTF-8 form, the index of its character."""
    code = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    width = 1 + (code >= 0x80).astype(np.int64) + (code >= 0x800) + (code >= 0x10000)
    return np.repeat(np.arange(len(code), dtype=np.int64), width)
