"""What the vector cache holds, to show and to clear; a fact more about it is a field of `Contents`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.embedders import cache
from harness.embedders.vector_file import disk_bytes, files_of, is_busy
from harness.embedders.vector_store import Kept, VectorStore
from harness.errors import Fault, HarnessError


@dataclass(frozen=True)
class Contents:
    """The cache's file and what is in it, after what was cleared."""

    path: Path
    bytes: int  # on disk
    limit_bytes: int  # 0: no vectors are kept
    models: tuple[Kept, ...] = ()
    cleared: int = 0  # vectors

    def as_json(self) -> dict[str, Any]:
        return {
            "path": str(self.path),
            "bytes": self.bytes,
            "limit_bytes": self.limit_bytes,
            "models": [
                {
                    "name": kept.model.name,
                    "fingerprint": kept.model.fingerprint,
                    "vectors": kept.vectors,
                    "bytes": kept.bytes,
                    "last_used": kept.last_used.isoformat(),
                }
                for kept in self.models
            ],
            "cleared": self.cleared,
        }


def contents(clear: bool = False, model: str = "") -> Contents:
    """What the cache holds, of models whose fingerprint begins so; cleared first, if that is wanted.

    Raises HarnessError when no model's does, when several do that are to be cleared, and for a file that can't be used.
    """
    path, limit = cache.path(), cache.limit_bytes()
    if not path.exists():
        _chosen((), model, clear)
        return Contents(path, 0, limit)
    try:
        with closing(VectorStore(path)) as store:
            chosen = _chosen(store.models(), model, clear)
            cleared = store.clear([kept.model.fingerprint for kept in chosen] if model else None) if clear else 0
            left = store.models() if clear else chosen
        return Contents(path, disk_bytes(path), limit, tuple(left), cleared)
    except (sqlite3.Error, OSError) as error:
        if clear and not model and isinstance(error, sqlite3.Error) and not is_busy(error):
            return _deleted(path, limit)
        what = f"the vector cache can't be used ({cache.what_is_wrong(error)})"
        raise HarnessError(Fault(str(path), what, cache.remedy(error))) from error


def _deleted(path: Path, limit: int) -> Contents:
    """What no database can be read from is deleted as files; how many vectors it had is not known."""
    for file in files_of(path):
        file.unlink(missing_ok=True)
    return Contents(path, 0, limit)


def _chosen(models: Sequence[Kept], prefix: str, only_one: bool) -> Sequence[Kept]:
    """Those whose fingerprint begins so. Raises HarnessError for none, and for several where one is meant."""
    chosen = [kept for kept in models if kept.model.fingerprint.startswith(prefix)]
    if not prefix or (chosen and not (only_one and len(chosen) > 1)):
        return chosen
    known = ", ".join(f"{kept.model.fingerprint[:16]} ({kept.model.name})" for kept in chosen or models)
    what = f"{len(chosen)} models' fingerprints begin with" if chosen else "no model's fingerprint begins with"
    raise HarnessError(Fault("--model", f"{what} '{prefix}'", f"known: {known or 'none, the cache is empty'}"))
