"""Where a corpus' files lie: a file, all files below a folder, or those of a glob; hidden ones are left out."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.errors import Fault, HarnessError
from harness.files import read_bytes


@dataclass(frozen=True)
class Found:
    """Files of any kind in the order of their paths, the folder that they are named from, and linked folders in it.

    Links that lead nowhere are among the files: reading them says so.
    """

    base: Path
    files: tuple[Path, ...]
    linked: tuple[Path, ...] = ()


def find(path: Path) -> Found:
    """The files that a path means; one that exists is taken literally, whatever is in its name.

    Raises HarnessError for a path that does not exist, or a folder that can't be read.
    """
    try:
        if path.is_dir():
            return _below(path)
        if glob.has_magic(str(path)) and not path.exists():
            return _matching(path)
        if not path.is_file():
            read_bytes(path)  # which says why it can't be
    except OSError as error:
        raise HarnessError(Fault(str(path), f"can't be read ({error.strerror})", "give a file, a folder or a glob")) from error
    return Found(path.parent, (path,))


def _below(folder: Path) -> Found:
    """Linked folders are not followed: they may lead back, or to the same files again."""
    errors: list[OSError] = []
    files, linked = [], []
    for place, folders, names in os.walk(folder, onerror=errors.append):
        folders[:] = [name for name in folders if not _is_hidden(name)]
        linked += [p for name in folders if (p := Path(place, name)).is_symlink()]
        files += [Path(place, name) for name in names if not _is_hidden(name)]
    if errors:
        fix = "change its permissions, or leave it out by a glob"
        raise HarnessError([Fault(str(e.filename), f"the folder can't be read ({e.strerror})", fix) for e in errors])
    return Found(folder, _readable(files), tuple(sorted(linked)))


def _matching(path: Path) -> Found:
    base, parts = _fixed(path)
    try:
        found = list(base.glob("/".join([*parts, "*"] if parts[-1] == "**" else parts)))
    except ValueError as error:
        raise HarnessError(Fault(str(path), f"not a glob ({error})", "write ** as a part of its own: docs/**/*.md")) from error
    if not any(map(_is_hidden, parts)):
        found = [p for p in found if not any(map(_is_hidden, p.relative_to(base).parts))]
    return Found(base, _readable(p for p in found if not p.is_dir()))


def _fixed(path: Path) -> tuple[Path, tuple[str, ...]]:
    """The part of a glob that is a folder as it stands, and the parts that are a pattern."""
    base = Path(path.anchor)
    parts = path.relative_to(base).parts
    for i, part in enumerate(parts):
        if glob.has_magic(part) and not (base / part).exists():
            return base, parts[i:]
        base /= part
    return base.parent, parts[-1:]


def _readable(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Files and links, without pipes, sockets and devices."""
    return tuple(sorted(p for p in paths if p.is_file() or p.is_symlink()))


def _is_hidden(name: str) -> bool:
    return name.startswith(".") and name not in (".", "..")
