"""Published data sets that are not part of the repository: beside it, or where an environment variable says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def folder(name: str) -> Path:
    """The data set's folder; the test is skipped where it is absent."""
    variable = f"HARNESS_{name.upper()}"
    found = Path(os.environ.get(variable, BESIDE / name))
    if not found.is_dir():
        pytest.skip(f"the data set {name} is not here; {variable} names its folder")
    return found
