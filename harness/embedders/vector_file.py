"""The SQLite file that vectors lie in: opened, made, written to as a whole; what changes its tables raises `VERSION`."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

VERSION = 1
PATIENCE = 20  # seconds that a process waits while another one writes
KEYS_A_QUERY = 500
PAGE = 8192  # bytes: five vectors of 384 numbers fill it, where two fit in SQLite's own 4096
BESIDE = ("-wal", "-shm")  # files that SQLite keeps beside its database while it is in use
MOST_LOGGED = 2**26  # bytes that the log of writes keeps on disk once its content is in the database
# Keys stand apart from vectors: looking for one, or noting that it was used, reads and writes no vector.
TABLES = """
CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, fingerprint TEXT UNIQUE, name TEXT, dimensions INTEGER);
CREATE TABLE IF NOT EXISTS keys (key BLOB PRIMARY KEY, id INTEGER, model INTEGER, day INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, checksum BLOB, vector BLOB);
"""


def files_of(path: Path) -> list[Path]:
    """A store's file and those that SQLite keeps beside it."""
    return [path, *(path.with_name(path.name + end) for end in BESIDE)]


def disk_bytes(path: Path) -> int:
    """What a store takes on disk."""
    return sum(p.stat().st_size for p in files_of(path) if p.exists())


def is_busy(error: Exception) -> bool:
    """Whether another process was in the way, and for longer than it is waited for."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def connect(path: Path) -> sqlite3.Connection:
    """A connection; SQLite itself does not wait while another process makes the file or closes it as the last."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return _opened(path)
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)


def _opened(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # the files beside it get the same mode
    db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        if not path.stat().st_size:  # only an empty file takes these
            db.execute(f"PRAGMA page_size = {PAGE}")
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version == 0:
            _make_tables(db)
        elif version != VERSION:
            raise sqlite3.DatabaseError(f"written by another version of the harness ({version}, not {VERSION})")
        db.execute("PRAGMA journal_mode = WAL").fetchall()
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(f"PRAGMA journal_size_limit = {MOST_LOGGED}").fetchall()
    except BaseException:
        db.close()
        raise
    return db


def _make_tables(db: sqlite3.Connection) -> None:
    with writing(db):
        for statement in TABLES.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {VERSION}")


@contextmanager
def writing(db: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing, whatever interrupts it."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def rows_of(db: sqlite3.Connection, statement: str, keys: Iterable[bytes]) -> list[Any]:
    """What a statement that ends in `IN` gives for keys, some hundreds at a time."""
    distinct, rows = list(dict.fromkeys(keys)), []
    for at in range(0, len(distinct), KEYS_A_QUERY):
        some = distinct[at : at + KEYS_A_QUERY]
        rows += db.execute(f"{statement} ({marks(some)})", some).fetchall()
    return rows


def marks(values: Sequence[Any]) -> str:
    return ",".join("?" * len(values))


def pages(db: sqlite3.Connection) -> tuple[int, int]:
    """Pages of the file, and how many of these are free."""
    return int(db.execute("PRAGMA page_count").fetchone()[0]), int(db.execute("PRAGMA freelist_count").fetchone()[0])


def used_pages(db: sqlite3.Connection) -> int:
    whole, free = pages(db)
    return whole - free


def give_back(db: sqlite3.Connection, free: int) -> None:
    """Shorten the file by so many free pages."""
    if free > 0:
        db.executescript(f"PRAGMA incremental_vacuum({free})")  # `execute` would step once, which frees one page


def page_bytes(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA page_size").fetchone()[0])
