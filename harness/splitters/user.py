"""A user's own splitter, `python:package.module:function`: its spans are held to the contract wherever it is used."""

from __future__ import annotations

import hashlib
import importlib
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from harness.errors import Fault, HarnessError
from harness.records import Document, IntArray
from harness.splitters.base import Splitter
from harness.splitters.contract import Cut, broken
from harness.tokenizers import Ruler

PREFIX = "python:"
AXES = ("chunk_size", "overlap_ratio")
# text, size, overlap (in units), and how many units a text has: to spans of characters.
Function = Callable[[str, int, int, Callable[[str], int]], Iterable[Sequence[int]]]


class UserSplitter(Splitter):
    """Wraps a function; its attributes `ignores` (axes) and `oversize` say what it does not heed."""

    def __init__(self, name: str, function: Function, source: str) -> None:
        self.name = name
        self.function = function
        self.version = source
        self.ignores = frozenset(getattr(function, "ignores", ()))
        self.oversize = bool(getattr(function, "oversize", False))

    def split(self, document: Document, size: int, overlap: int, ruler: Ruler) -> IntArray:
        """Its spans. Raises HarnessError with every promise that they break."""
        spans = self.cut(document, size, overlap, ruler)
        heeded = 0 if "chunk_size" in self.ignores else size
        if wrong := broken(Cut(document, spans, heeded, overlap, ruler, self.oversize)):
            fix = "mend the function; `harness check-splitter` tries it on more texts"
            raise HarnessError([Fault(self.name, what, fix) for what in wrong])
        return spans

    def cut(self, document: Document, size: int, overlap: int, ruler: Ruler) -> IntArray:
        """Its spans as they are. Raises HarnessError when it fails, or when they are endless or no pairs of whole numbers."""
        about = f"for document '{document.document_id}'"
        most = max(len(document.text), 1)
        pairs: list[tuple[int, int]] = []
        try:
            for found in self._found(document, size, overlap, ruler):
                start, end = found
                pairs.append((_whole(start), _whole(end)))
                if len(pairs) > most:
                    what = f"it gave more spans than characters {about}"
                    raise HarnessError(Fault(self.name, what, "each has to begin after the one before it"))
            return np.array(pairs, dtype=np.int64).reshape(-1, 2)
        except (TypeError, ValueError, OverflowError) as error:
            what = f"it gave no pairs of whole numbers {about} ({error})"
            raise HarnessError(Fault(self.name, what, "return an iterable of (start, end)")) from error

    def _found(self, document: Document, size: int, overlap: int, ruler: Ruler) -> Iterator[Any]:
        """What the function gives, one by one. Raises HarnessError for whatever it raises, the end of the program too."""
        try:
            found = self.function(document.text, size, overlap, ruler.count)
            yield from found if isinstance(found, Iterable) else [found]
        except (Exception, SystemExit) as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            what = f"it raised {type(error).__name__}: {error} ({Path(last.filename).name} line {last.lineno})"
            fix = "mend the function; `harness check-splitter` tries it on more texts"
            raise HarnessError(Fault(self.name, f"{what}, for document '{document.document_id}'", fix)) from error


def load(name: str, where: str, folders: Sequence[Path]) -> UserSplitter:
    """The function that a name means; its module is looked for in some folders before those of Python.

    Raises HarnessError when it can't be had. The version is the digest of its module's source.
    """
    module_name, _, function_name = name.removeprefix(PREFIX).partition(":")
    fix = f"write {PREFIX}package.module:function, the module on Python's path or beside the experiment file"
    if not module_name or module_name.startswith(".") or not function_name:
        raise HarnessError(Fault(where, f"'{name}' names no function", fix))
    try:
        module = _imported(module_name, [str(f) for f in folders])
        function = getattr(module, function_name)
    except (Exception, SystemExit) as error:  # whatever its import may raise
        raise HarnessError(Fault(where, f"'{name}' can't be imported ({type(error).__name__}: {error})", fix)) from error
    if not callable(function):
        raise HarnessError(Fault(where, f"'{name}' is no function", fix))
    if unknown := set(getattr(function, "ignores", ())) - set(AXES):
        what = f"'{name}' says that it ignores {', '.join(sorted(unknown))}"
        raise HarnessError(Fault(where, what, f"it may ignore {' and '.join(AXES)}"))
    file = getattr(module, "__file__", None)
    source = hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else "unknown"
    return UserSplitter(name, function, source)


def _whole(value: Any) -> int:
    """A number without its fraction of zero. Raises ValueError for any other, and for text."""
    number = int(value)
    if number != value:
        raise ValueError(f"{value!r} is no whole number")
    return number


def _imported(name: str, searched: list[str]) -> ModuleType:
    """A module as it is on disk now, from the searched folders before those of Python, its bytecode not kept."""
    kept = sys.dont_write_bytecode
    try:
        sys.path[:0] = searched
        sys.dont_write_bytecode = True
        importlib.invalidate_caches()
        with _name_free(name.partition(".")[0], searched):
            return importlib.import_module(name)
    finally:
        sys.dont_write_bytecode = kept
        del sys.path[: len(searched)]


@contextmanager
def _name_free(top: str, searched: list[str]) -> Iterator[None]:
    """Another module that was imported under this name steps aside meanwhile, if the searched folders have one."""
    spec, known = PathFinder.find_spec(top, searched), sys.modules.get(top)
    taken = spec and known and (spec.origin or not getattr(known, "__file__", None)) and top != __name__.partition(".")[0]
    aside = {n: m for n, m in sys.modules.items() if taken and (n == top or n.startswith(f"{top}."))}
    for module in aside:
        del sys.modules[module]
    try:
        yield
    finally:
        if aside:
            for module in [n for n in sys.modules if n == top or n.startswith(f"{top}.")]:
                del sys.modules[module]
            sys.modules.update(aside)
