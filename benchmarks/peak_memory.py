"""Peak memory of one trial over a corpus once, four and sixteen times: what grows should be its text and its offsets alone.

    python benchmarks/peak_memory.py [--words 100000] [--questions 40] [--json FILE]

Each size runs in a process of its own, over made-up words and with made-up vectors of 384 numbers, so that neither a model nor a
network is needed. `peak` is what Python and NumPy allocate while the trial is measured (tracemalloc), beyond corpus and chunking;
`by_chunk` is the part of it that has an entry a chunk, as offsets have; `ratio` compares the rest. `at_once` is what all vectors
and similarities would take if they were held together.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measuring import machine, table, write

from harness.measurement import Measurement, Scoring
from harness.pipeline import complete
from harness.records import Corpus, Document, EmbedderIdentity, Evidence, Place, Point, Question, Span
from harness.splitters import chunk
from harness.tokenizers import Ruler

TIMES = (1, 4, 16)
DIMENSIONS = 384


class Made:
    """Vectors that depend on the text alone and mean nothing."""

    similarities = ("cosine", "dot")
    identity = EmbedderIdentity("made", "made", {"dimensions": DIMENSIONS})
    tokenizer = None
    max_tokens = None
    fitted_state = None
    learns = False

    def fit(self, texts: Sequence[str]) -> Made:
        return self

    def token_counts(self, texts: Sequence[str]) -> Any:
        return np.array([text.count(" ") + 1 for text in texts], dtype=np.int64)

    def reach(self, text: str) -> int:
        return len(text)

    def held(self, texts: Sequence[str], role: str) -> Any:
        return np.zeros(len(texts), dtype=np.bool_)

    def embed(self, texts: Sequence[str], role: str) -> Any:
        seeds = (int.from_bytes(text.encode()[:8].ljust(8), "little") ^ len(text) for text in texts)
        return np.stack([np.random.default_rng(seed).standard_normal(DIMENSIONS, dtype=np.float32) for seed in seeds])


def made(words: int, times: int, questions: int) -> tuple[Corpus, list[Question]]:
    """A corpus of so many words, and questions about its first part: the same ones at every size."""
    rng = np.random.default_rng(7)
    documents = []
    for i in range(10 * times):
        text = " ".join(f"w{n}" for n in rng.integers(0, 50_000, words // 10))
        documents.append(Document(f"d{i:05d}", text))
    asked = []
    for i in range(questions):
        start = int(rng.integers(0, len(documents[i % 10].text) - 40))
        asked.append(Question(f"q{i}", f"what of {i}", Evidence(((Place(f"d{i % 10:05d}", Span(start, start + 30)),),))))
    return Corpus(tuple(documents)), asked


def one(words: int, times: int, questions: int) -> dict[str, Any]:
    corpus, asked = made(words, times, questions)
    cut = chunk(corpus, Point("words", 40, 0.2), Ruler(corpus, "words"))
    tracemalloc.start()
    measurement = Measurement(cut, asked, Made(), Scoring("cosine", (1, 3, 5, 10)))
    complete(measurement)
    _, peak = tracemalloc.get_traced_memory()
    at_once = len(cut) * DIMENSIONS * 4 + len(asked) * len(cut) * 8
    found = {"times": times, "words": words * times, "chunks": len(cut), "at_once_bytes": at_once, "peak_bytes": peak}
    return {**found, "by_chunk_bytes": measurement.bytes_by_chunk}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--words", type=int, default=100_000, help="of the corpus once")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--times", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.times:
        print(json.dumps(one(options.words, options.times, options.questions)))
        return
    rows = []
    for times in TIMES:
        command = [sys.executable, __file__, "--words", options.words, "--questions", options.questions, "--times", times]
        rows.append(json.loads(subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout))
    for row in rows:
        rest, first = (r["peak_bytes"] - r["by_chunk_bytes"] for r in (row, rows[0]))
        row["ratio"] = round(rest / first, 3)
    print(table(rows))
    if options.json:
        write(options.json, "peak_memory", rows, machine())


if __name__ == "__main__":
    main()
