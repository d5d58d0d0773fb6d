"""Batches of a model: texts of like length together, up to a fixed number of tokens; what another device likes is a line here."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from harness.records import IntArray

# Tokens with their padding. Fixed, for other batches move vectors by up to 1e-7.
ON_CPU = 2_048  # measured: larger ones are slower, however many texts they hold
ON_GPU = 16_384  # the library's own 32 texts at 512 tokens, so no more memory than its users reckon with


def batch_tokens(device: str) -> int:
    """Tokens that a batch may have, with its padding, on a type of device."""
    return ON_CPU if device == "cpu" else ON_GPU


def batches(lengths: IntArray, budget: int) -> Iterator[IntArray]:
    """Positions of the texts of each batch, longest first: as many as stay within the budget once padded, and at least one."""
    order = np.argsort(-lengths, kind="stable")
    at = 0
    while at < len(order):
        number = max(1, budget // max(1, int(lengths[order[at]])))
        yield order[at : at + number]
        at += number
