"""Vectors by key, shared by the processes of a machine and bounded in size; what it keeps of a model is a field of `Kept`."""

from __future__ import annotations

import atexit
import functools
import hashlib
import math
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from harness.embedders.vector_file import connect, give_back, marks, page_bytes, pages, rows_of, used_pages, writing

KEPT = 0.9  # of the limit, once it was passed: rows go a tenth at a time


@dataclass(frozen=True)
class Model:
    """Whose vectors they are."""

    fingerprint: str
    name: str
    dimensions: int


@dataclass(frozen=True)
class Kept:
    """What is kept of a model; bytes are of the numbers alone."""

    model: Model
    vectors: int
    last_used: date

    @property
    def bytes(self) -> int:
        return 4 * self.model.dimensions * self.vectors


@dataclass
class _Found:
    """Rows of a query: sound vectors, keys whose row is damaged, keys that were not used today yet."""

    vectors: dict[bytes, bytes]
    damaged: list[bytes]
    unused: list[bytes]


class VectorStore:
    """Little-endian float32 vectors by key.

    Every method may raise sqlite3.Error or OSError. A process that is forked, and any thread, may go on with the same store.
    """

    def __init__(self, path: Path, limit: int | None = None) -> None:
        """`limit`: bytes that the file may have; None: as it is."""
        self.path = path
        self._limit = limit
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._open: sqlite3.Connection | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return shared, (self.path, self._limit)

    def read(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The vectors that are there and whole; a damaged one is dropped."""
        with self._connected() as db:
            found = self._rows(db, keys)
            if found.damaged or found.unused:
                with writing(db):
                    _drop(db, found.damaged)
                    rows_of(db, f"UPDATE keys SET day = {_today()} WHERE key IN", found.unused)
            return found.vectors

    def held(self, keys: Iterable[bytes]) -> set[bytes]:
        """Keys that are there; no vector is read."""
        with self._connected() as db:
            return {key for (key,) in rows_of(db, "SELECT key FROM keys WHERE key IN", keys)}

    def keep(self, model: Model, vectors: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """Write vectors at once or not at all, and return what is kept: where another process was first, its vector."""
        with self._connected() as db:
            with writing(db):
                found = self._rows(db, vectors)
                _drop(db, found.damaged)
                new = [(key, vector) for key, vector in vectors.items() if key not in found.vectors]
                (first,) = db.execute("SELECT coalesce(max(id), 0) + 1 FROM vectors").fetchone()
                of, today = _model_id(db, model), _today()
                db.executemany(
                    "INSERT INTO vectors VALUES (?, ?, ?)", [(first + i, _checksum(k, v), v) for i, (k, v) in enumerate(new)]
                )
                rows = [(key, first + i, of, today) for i, (key, _) in enumerate(new)]
                db.executemany("INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?)", rows)
            self._bound(db)
            return {**vectors, **found.vectors}

    def models(self) -> list[Kept]:
        """What is kept of each model, the last used first."""
        query = """SELECT fingerprint, name, dimensions, count(*), CAST(max(day) AS INTEGER)
                   FROM keys JOIN models ON models.id = model GROUP BY model ORDER BY max(day) DESC, name, fingerprint"""
        with self._connected() as db:
            rows = db.execute(query).fetchall()
            return [Kept(Model(*whose), vectors, date.fromordinal(day)) for *whose, vectors, day in rows]

    def clear(self, fingerprints: Sequence[str] | None = None) -> int:
        """Drop the vectors of models, or all; returns how many they were and gives their space back."""
        with self._connected() as db:
            with writing(db):
                these = "1" if fingerprints is None else f"fingerprint IN ({marks(fingerprints)})"
                which = "" if fingerprints is None else f"WHERE model IN (SELECT id FROM models WHERE {these})"
                dropped = _drop_where(db, which, fingerprints or ())
                db.execute(f"DELETE FROM models WHERE {these}", fingerprints or ())
            give_back(db, pages(db)[1])
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return dropped

    def close(self) -> None:
        if self._open is not None and self._process == os.getpid():
            self._open.close()
            self._open = None

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        if self._process != os.getpid():  # forked: the parent's connection is not for the child to use, nor to close
            _PARENTS.append(self._open)
            self._begin()
        with self._lock:
            try:
                if self._open is None:
                    self._open = connect(self.path)
                    self._bound(self._open)
                yield self._open
            except (ValueError, OverflowError) as error:  # a name or a message with bytes of no text, a day of no calendar
                raise sqlite3.DatabaseError(f"the file is damaged ({type(error).__name__})") from error

    def _rows(self, db: sqlite3.Connection, keys: Iterable[bytes]) -> _Found:
        found, today = _Found({}, [], []), _today()
        query = "SELECT key, day, checksum, vector FROM keys JOIN vectors USING (id) WHERE key IN"
        for key, day, checksum, vector in rows_of(db, query, keys):
            # A damaged row may not even give bytes.
            if not isinstance(vector, bytes) or checksum != _checksum(key, vector):
                found.damaged.append(key)
                continue
            found.vectors[key] = vector
            if day != today:
                found.unused.append(key)
        return found

    def _bound(self, db: sqlite3.Connection) -> None:
        """Above the limit, drop the rows that were not used for the longest time, and give back what is too much."""
        if self._limit is None or pages(db)[0] * page_bytes(db) <= self._limit:
            return
        with writing(db):
            (rows,) = db.execute("SELECT count(*) FROM keys").fetchone()
            # More than once where few pages get free: the keys that go are scattered over theirs.
            while rows and (used := used_pages(db) * page_bytes(db)) > self._limit:
                rows -= _drop_where(db, "ORDER BY day, id LIMIT ?", (math.ceil(rows * (1 - KEPT * self._limit / used)),))
        too_many = pages(db)[0] - self._limit // page_bytes(db)
        give_back(db, too_many)


_PARENTS: list[sqlite3.Connection | None] = []


@functools.cache
def shared(path: Path, limit: int | None) -> VectorStore:
    """A process's one store for a file."""
    store = VectorStore(path, limit)
    atexit.register(store.close)
    return store


def _drop(db: sqlite3.Connection, keys: Iterable[bytes]) -> None:
    db.executemany("DELETE FROM vectors WHERE id = ?", rows_of(db, "SELECT id FROM keys WHERE key IN", keys))
    rows_of(db, "DELETE FROM keys WHERE key IN", keys)


def _drop_where(db: sqlite3.Connection, which: str, values: Sequence[Any]) -> int:
    """Drop the rows whose keys a clause picks, and return how many they were."""
    db.execute(f"CREATE TEMP TABLE gone AS SELECT key, id FROM keys {which}", values)
    db.execute("DELETE FROM vectors WHERE id IN (SELECT id FROM gone)")
    dropped = db.execute("DELETE FROM keys WHERE key IN (SELECT key FROM gone)").rowcount
    db.execute("DROP TABLE gone")
    return dropped


def _model_id(db: sqlite3.Connection, model: Model) -> int:
    whose = (model.fingerprint, model.name, model.dimensions)
    db.execute("INSERT OR IGNORE INTO models (fingerprint, name, dimensions) VALUES (?, ?, ?)", whose)
    (found,) = db.execute("SELECT id FROM models WHERE fingerprint = ?", whose[:1]).fetchone()
    return int(found)


def _checksum(key: bytes, vector: bytes) -> bytes:
    return hashlib.blake2b(key + vector, digest_size=16).digest()


def _today() -> int:
    return date.today().toordinal()
