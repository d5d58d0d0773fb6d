"""A user's own splitter, `python:package.module:function`: its spans are held to the contract wherever it is used."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

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
        """Its spans as they are. Raises HarnessError when they are no pairs of whole numbers."""
        found = self.function(document.text, size, overlap, ruler.count)
        try:
            pairs = np.array([tuple(map(int, pair)) for pair in found], dtype=np.int64)
            return pairs.reshape(-1, 2)
        except (TypeError, ValueError, OverflowError) as error:
            what = f"it gave no pairs of whole numbers for document '{document.document_id}' ({error})"
            raise HarnessError(Fault(self.name, what, "return an iterable of (start, end)")) from error


def load(name: str, where: str, folders: Sequence[Path]) -> UserSplitter:
    """The function that a name means; its module is looked for in some folders before those of Python.

    Raises HarnessError when it can't be had. The version is the digest of its module's source.
    """
    module_name, _, function_name = name.removeprefix(PREFIX).partition(":")
    fix = f"write {PREFIX}package.module:function, the module on Python's path or beside the experiment file"
    if not module_name or not function_name:
        raise HarnessError(Fault(where, f"'{name}' names no function", fix))
    searched = [str(f) for f in folders]
    try:
        sys.path[:0] = searched
        module = importlib.import_module(module_name)
        function = getattr(module, function_name)
    except Exception as error:  # whatever its import may raise
        raise HarnessError(Fault(where, f"'{name}' can't be imported ({type(error).__name__}: {error})", fix)) from error
    finally:
        del sys.path[: len(searched)]
    if not callable(function):
        raise HarnessError(Fault(where, f"'{name}' is no function", fix))
    if unknown := set(getattr(function, "ignores", ())) - set(AXES):
        what = f"'{name}' says that it ignores {', '.join(sorted(unknown))}"
        raise HarnessError(Fault(where, what, f"it may ignore {' and '.join(AXES)}"))
    file = getattr(module, "__file__", None)
    source = hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else "unknown"
    return UserSplitter(name, function, source)
