"""Vectors that are computed once for a model and a text, and kept on this machine; it wraps any embedder with dense vectors."""

from __future__ import annotations

import errno
import hashlib
import logging
import math
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from harness.embedders import Embedder, Role
from harness.embedders.vector_file import is_busy
from harness.embedders.vector_store import Model, VectorStore, shared
from harness.errors import Fault, HarnessError
from harness.files import cache_folder
from harness.mounts import network_file_system
from harness.records import BoolArray, EmbedderIdentity, IntArray
from harness.tokenizers import Tokenizer

FILE = "vectors.db"
FOLDER_VARIABLE, LIMIT_VARIABLE = "HARNESS_CACHE_DIR", "HARNESS_CACHE_GB"
DEFAULT_GB = 8
BLOCK = 128  # texts that are embedded and then written: as much is lost when a process is killed
ELSEWHERE = f"name another folder in {FOLDER_VARIABLE}, or set {LIMIT_VARIABLE}=0"
FULL = f"free space there, or {ELSEWHERE}"
DAMAGED = "`harness cache --clear` deletes it, and a new one is begun"
OF_THE_DISK = (sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
T = TypeVar("T")
Say = Callable[[str], None]
_warn: Say = logging.getLogger(__name__).warning


class Cached:
    """An embedder whose vectors are looked up before they are computed. Trouble with the store ends the looking, never the work.

    A vector is found by the model's fingerprint, role, prompt and text; every similarity reads the same ones.
    """

    def __init__(self, inner: Embedder, store: VectorStore, say: Say) -> None:
        """`say` is told, once, why the store is done without."""
        self.inner = inner
        self._store: VectorStore | None = store
        self._say = say

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
    def learns(self) -> bool:
        return self.inner.learns

    @property
    def fitted_state(self) -> str | None:
        return self.inner.fitted_state

    def fit(self, texts: Sequence[str]) -> Embedder:
        """Itself; what learns from the chunks is another model for each set of them, and is not kept."""
        fitted = self.inner.fit(texts)
        return self if fitted is self.inner else fitted

    def token_counts(self, texts: Sequence[str]) -> IntArray:
        return self.inner.token_counts(texts)

    def reach(self, text: str) -> int:
        return self.inner.reach(text)

    def held(self, texts: Sequence[str], role: Role) -> BoolArray:
        keys = self._keys(texts, role)
        there = self._asked(lambda store: store.held(keys)) or set()
        return self.inner.held(texts, role) | np.array([key in there for key in keys], dtype=np.bool_)

    def embed(self, texts: Sequence[str], role: Role) -> Any:
        """Float32 vectors as they are kept, shape (n, dimensions); what is missing is computed, once, and written in blocks."""
        keys = self._keys(texts, role)
        found = self._asked(lambda store: store.read(keys)) or {}
        if self._store is None or not texts:
            return self.inner.embed(texts, role)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        for block in _blocks(missing):
            found |= self._computed(block, role)
        return np.frombuffer(b"".join(found[key] for key in keys), dtype="<f4").reshape(len(keys), -1).astype(np.float32)

    def _computed(self, block: Mapping[bytes, str], role: Role) -> dict[bytes, bytes]:
        vectors = np.asarray(self.inner.embed(list(block.values()), role), dtype="<f4")
        made = {key: vector.tobytes() for key, vector in zip(block, vectors, strict=True)}
        # What a processor got wrong once is not to be read for ever.
        sound = {key: made[key] for key, good in zip(block, np.isfinite(vectors).all(axis=1), strict=True) if good}
        return made | (self._asked(lambda store: store.keep(self._model, sound)) or {})

    @property
    def _model(self) -> Model:
        return Model(self.identity.fingerprint, self.identity.name, self.identity.parts["dimensions"])

    def _keys(self, texts: Sequence[str], role: Role) -> list[bytes]:
        return keys(self.identity, role, texts)

    def _asked(self, question: Callable[[VectorStore], T]) -> T | None:
        """The store's answer; None in trouble, after which it is asked no more."""
        if self._store is None:
            return None
        try:
            return question(self._store)
        except (sqlite3.Error, OSError) as error:
            _say_once(self._say, f"vector cache off: {self._store.path}: {what_is_wrong(error)}; {remedy(error)}")
            self._store = None
            return None


def keys(identity: EmbedderIdentity, role: Role, texts: Sequence[str]) -> list[bytes]:
    """What a model's vectors of texts are found by: SHA-256 of fingerprint, role, prompt and text, the first three by length."""
    known = hashlib.sha256()
    for part in (identity.fingerprint, role, str(identity.parts.get(f"{role}_prompt", ""))):
        encoded = part.encode("utf-8", "surrogatepass")
        known.update(len(encoded).to_bytes(8, "little") + encoded)
    found = []
    for text in texts:
        digest = known.copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        found.append(digest.digest())
    return found


def _blocks(missing: Mapping[bytes, str]) -> Iterator[dict[bytes, str]]:
    """Texts of about one length together: a model pads a batch to its longest."""
    ordered = sorted(missing.items(), key=lambda item: len(item[1]))
    return (dict(ordered[at : at + BLOCK]) for at in range(0, len(ordered), BLOCK))


def uncached(embedder: Embedder) -> Embedder:
    """The embedder that computes: what a cache wraps, else the embedder itself."""
    return embedder.inner if isinstance(embedder, Cached) else embedder


def cached(embedder: Embedder, say: Say = _warn) -> Embedder:
    """An embedder with the machine's vector cache before it; itself, where there is nothing to gain or no place for one.

    Only dense vectors are kept, which an embedder has whose identity states their `dimensions`: sparse ones are sooner counted
    than read. Raises HarnessError for a limit that is no number and for a folder, named by the user, on a network file system.
    """
    limit = limit_bytes()
    if not limit or "dimensions" not in embedder.identity.parts:
        return embedder
    if (kind := network_file_system(cache_folder())) is None:
        return Cached(embedder, shared(path(), limit), say)
    what = f"a network file system ({kind}), where locks of a database can't be relied on"
    fix = f"name a folder on a disk of this machine in {FOLDER_VARIABLE}, or set {LIMIT_VARIABLE}=0 to go without"
    if os.environ.get(FOLDER_VARIABLE):
        raise HarnessError(Fault(f"{FOLDER_VARIABLE}={cache_folder()}", f"the vector cache would lie on {what}", fix))
    _say_once(say, f"vector cache off: {cache_folder()} lies on {what}; {fix}")
    return embedder


def path() -> Path:
    """The file that holds the vectors."""
    return cache_folder() / FILE


def limit_bytes() -> int:
    """Bytes that the vectors may take on disk, 0 for no cache: HARNESS_CACHE_GB. Raises HarnessError when that is no number."""
    given = os.environ.get(LIMIT_VARIABLE, "").strip() or str(DEFAULT_GB)
    try:
        gigabytes = float(given)
    except ValueError:
        gigabytes = math.nan
    if not 0 <= gigabytes < math.inf:
        fix = f"give gigabytes, such as {DEFAULT_GB}, or 0 to go without a vector cache"
        raise HarnessError(Fault(LIMIT_VARIABLE, f"'{given}' is no number of gigabytes", fix))
    return int(gigabytes * 1e9)


def what_is_wrong(error: Exception) -> str:
    """A store's trouble in a few words."""
    return getattr(error, "strerror", None) or str(error)


def remedy(error: Exception) -> str:
    """What to do about a store's trouble."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or getattr(error, "errno", None) == errno.ENOSPC:
        return FULL
    if is_busy(error):
        return "wait for the process that writes to it, or end it"
    damaged = isinstance(error, sqlite3.Error) and code not in OF_THE_DISK
    return DAMAGED if damaged else f"mend the folder's disk or rights, or {ELSEWHERE}"


_SAID: set[str] = set()


def _say_once(say: Say, message: str) -> None:
    if message not in _SAID:
        _SAID.add(message)
        say(message)
