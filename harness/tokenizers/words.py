"""Words: runs of anything but white space, as `str.split` finds them; a finer notion of word is another file."""

from __future__ import annotations

import re

import numpy as np

from harness.records import IntArray

WORD = re.compile(r"\S+")


def words(text: str) -> IntArray:
    """Offsets of the white-space separated words, shape (n, 2)."""
    return np.array([m.span() for m in WORD.finditer(text)], dtype=np.int64).reshape(-1, 2)
