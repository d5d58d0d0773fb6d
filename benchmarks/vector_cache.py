"""Vectors a second of the vector cache: written, read by the process that wrote them and by a new one, and looked for.

    python benchmarks/vector_cache.py [--vectors 50000] [--dimensions 384] [--times 5] [--json FILE]

The embedder costs nothing: it hands out rows of a random array, so what is measured is the cache with its keys and checksums.
`written` is by the cache's own blocks of 128, each a transaction. `cold` is a new process with a new connection, whose file the
operating system still has in memory. Every figure is the median of several runs, each on a file of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measuring import line, machine, write

from harness.embedders.cache import Cached
from harness.embedders.vector_file import disk_bytes
from harness.embedders.vector_store import VectorStore
from harness.records import BoolArray, EmbedderIdentity, IntArray

CHUNK = "The reading room opens at nine and closes at six, except on the first Monday of a month. " * 8
FEW = 10_000
UNITS = {"bytes a vector": "bytes", f"{FEW:,} vectors read": "s"}


class Rows:
    """An embedder that gives rows of an array, for nothing."""

    similarities = ("cosine", "dot")
    fitted_state = None
    learns = False
    tokenizer = None
    max_tokens = None

    def __init__(self, dimensions: int) -> None:
        self.identity = EmbedderIdentity("rows", "rows", {"dimensions": dimensions})
        self._rows = np.random.default_rng(0).standard_normal((1024, dimensions), dtype=np.float32)

    def fit(self, texts: Sequence[str]) -> Rows:
        return self

    def token_counts(self, texts: Sequence[str]) -> IntArray:
        return np.zeros(len(texts), dtype=np.int64)

    def reach(self, text: str) -> int:
        return len(text)

    def held(self, texts: Sequence[str], role: str) -> BoolArray:
        return np.zeros(len(texts), dtype=np.bool_)

    def embed(self, texts: Sequence[str], role: str) -> Any:
        return self._rows[: len(texts)]


def main() -> None:
    options = _options()
    runs = []
    for _ in range(options.times):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            runs.append(_run(Path(folder) / "vectors.db", options.vectors, options.dimensions))
    of = machine()
    print(line(of))
    print(f"{options.vectors:,} vectors of {options.dimensions} numbers, texts of {len(CHUNK)} characters")
    print(f"median of {options.times} runs (lowest to highest)\n")
    rows = []
    for name in runs[0]:
        values = [run[name] for run in runs]
        unit = UNITS.get(name, "vectors/s")
        rows.append(
            {"name": name, "unit": unit, "median": statistics.median(values), "lowest": min(values), "highest": max(values)}
        )
        shown = [f"{rows[-1][k]:,.3f}" if unit == "s" else f"{rows[-1][k]:,.0f}" for k in ("median", "lowest", "highest")]
        print(f"{name:<24}{shown[0]:>12} {unit:<10}({shown[1]} to {shown[2]})")
    if options.json:
        set_up = {"vectors": options.vectors, "dimensions": options.dimensions, "times": options.times}
        write(options.json, "vector_cache", [{**row, **set_up} for row in rows], of)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--vectors", type=int, default=50_000)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="folder to measure in [default: the system's for temporary files]")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.vectors < FEW:
        parser.error(f"--vectors must be {FEW} at least")
    return options


def _run(path: Path, vectors: int, dimensions: int) -> dict[str, float]:
    """Each figure once, on a new file."""
    texts = [f"{i} {CHUNK}" for i in range(vectors)]
    store = VectorStore(path)
    cached = _cached(store, dimensions)
    written = _seconds(lambda: cached.embed(texts, "document"))
    warm = _seconds(lambda: cached.embed(texts, "document"))
    looked = _seconds(lambda: cached.held(texts, "document"))
    few = _seconds(lambda: cached.embed(texts[:FEW], "document"))
    store.close()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        cold = pool.apply(_cold, (path, texts, dimensions))
    return {
        "written": vectors / written,
        "read warm": vectors / warm,
        "read cold": vectors / cold,
        "held": vectors / looked,
        f"{FEW:,} vectors read": few,
        "bytes a vector": disk_bytes(path) / vectors,
    }


def _cold(path: Path, texts: list[str], dimensions: int) -> float:
    cached = _cached(VectorStore(path), dimensions)
    return _seconds(lambda: cached.embed(texts, "document"))


def _cached(store: VectorStore, dimensions: int) -> Cached:
    return Cached(Rows(dimensions), store, _fail)


def _fail(message: str) -> None:
    raise SystemExit(message)


def _seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
