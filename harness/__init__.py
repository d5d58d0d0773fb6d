"""Chunking harness: choose how documents are cut for retrieval by measurement, and keep thresholds with their models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.api import LoadedExperiment, chunks, inspect, load
    from harness.errors import HarnessError, Refused

__all__ = ["HarnessError", "LoadedExperiment", "Refused", "chunks", "inspect", "load"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: `harness --help` should not wait for pandas.
    if name in ("HarnessError", "Refused"):
        from harness import errors

        return getattr(errors, name)
    if name in __all__:
        from harness import api

        return getattr(api, name)
    raise AttributeError(f"module 'harness' has no attribute '{name}'")
