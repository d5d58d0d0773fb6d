"""Fixed windows over atoms (words, tokens): the most whole atoms that fit, then the next window; last short one kept.

Another kind of atom is another entry in the registry, over the tokenizer that finds it.
"""

from __future__ import annotations

import numpy as np

from harness.records import Document, IntArray
from harness.splitters.base import Splitter
from harness.tokenizers import Ruler, as_offsets, count_touched


class Windows(Splitter):
    """Windows over the atoms of one tokenizer."""

    def __init__(self, name: str, atoms: str, version: int = 1) -> None:
        self.name = name
        self.atoms: str = atoms
        self.version = version

    def split(self, document: Document, size: int, overlap: int, ruler: Ruler) -> IntArray:
        """Spans of at most `size` units that share whole atoms of at most `overlap` units; shape (n, 2)."""
        units = ruler.units(document)
        atoms = ruler.offsets(self.atoms, document)
        if atoms is units and _apart(units):
            return _equal_windows(units, size, overlap)
        return fitted(atoms, units, size, overlap)


def fitted(atoms: IntArray, units: IntArray, size: int, overlap: int) -> IntArray:
    """Windows of the most whole atoms that fit; an atom above the size is cut between units."""
    return _measured_windows(refined(_merged(atoms), units, size), units, size, overlap)


def _apart(units: IntArray) -> bool:
    return bool(np.all(units[1:, 0] >= units[:-1, 1]))


def _equal_windows(units: IntArray, size: int, overlap: int) -> IntArray:
    """Atom = unit: ceil(max(n - overlap, 0) / (size - overlap)) windows, by arithmetic alone."""
    n, step = len(units), size - overlap
    count = -(-max(n - overlap, 0) // step) if n > overlap else min(n, 1)
    first = np.arange(count) * step
    last = np.minimum(first + size, n) - 1
    return np.column_stack([units[first, 0], units[last, 1]]).reshape(-1, 2)


def _merged(atoms: IntArray) -> IntArray:
    """Atoms that share a character become one, so that no window cuts inside a character."""
    if _apart(atoms):
        return atoms
    begins = np.concatenate([[True], atoms[1:, 0] >= np.maximum.accumulate(atoms[:-1, 1])])
    group = np.flatnonzero(begins)
    return np.column_stack([atoms[group, 0], np.maximum.reduceat(atoms[:, 1], group)])


def refined(atoms: IntArray, units: IntArray, size: int) -> IntArray:
    """Atoms with every one that is above the size cut into pieces of at most `size` units."""
    long = count_touched(units, atoms) > size
    if not long.any():
        return atoms
    pieces = [atoms[~long]]
    first = np.searchsorted(units[:, 1], atoms[long, 0], side="right")
    behind = np.searchsorted(units[:, 0], atoms[long, 1], side="left")
    for (start, end), low, high in zip(atoms[long].tolist(), first, behind, strict=True):
        inside = _merged(np.clip(units[low:high], start, end))
        pieces.append(_measured_windows(inside, units, size, 0))
    together = np.concatenate(pieces)
    return together[np.argsort(together[:, 0])]


def _measured_windows(atoms: IntArray, units: IntArray, size: int, overlap: int) -> IntArray:
    """Atom and unit differ: each window takes atoms while the units it touches stay within the size."""
    starts, ends = atoms[:, 0], atoms[:, 1]
    over = np.searchsorted(units[:, 1], starts, side="right")  # units that end before each atom
    begun = np.searchsorted(units[:, 0], ends, side="left")  # units that begin before each atom's end
    windows, first, n = [], 0, len(atoms)
    while first < n:
        fit = int(np.searchsorted(begun, over[first] + size, side="right"))
        last = max(fit, first + 1)
        windows.append((int(starts[first]), int(ends[last - 1])))
        if last >= n:
            break
        # Without overlap not even atoms of no unit, such as white space in words, are in two windows.
        back = int(np.searchsorted(over, begun[last - 1] - overlap, side="left")) if overlap else last
        # From further back the next atom would not fit, and the window would lie whole in this one.
        room = int(np.searchsorted(over, begun[last] - size, side="left"))
        first = min(max(back, room, first + 1), last)
    return as_offsets(windows)
