"""Seconds that each splitter takes over a corpus: a sweep's first trial, with all that is found once, and every trial after it.

    python benchmarks/splitter_speed.py [CORPUS] [--size 200] [--overlap-ratio 0.25] [--unit characters] [--unit cl100k_base]

CORPUS is a file, a folder or a glob; without it, the folder corpora in HARNESS_CHROMA. Below the splitters of the registry stand
libraries on the same text at the same size: langchain-text-splitters (start index off), semantic-text-splitter, and chonkie where
it is installed. Seconds are those of the processor, on one core; of several trials the fastest counts.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from harness.corpora import read_corpus
from harness.errors import HarnessError
from harness.records import Corpus, Point
from harness.splitters import SPLITTERS, chunk
from harness.tokenizers import Ruler, tiktoken

Trial = Callable[[], int]  # cuts the corpus and returns the number of chunks


def main() -> None:
    options = _options()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    corpus = read_corpus(options.corpus)
    overlap = round(options.overlap_ratio * options.size)
    characters = sum(len(d.text) for d in corpus.documents)
    print(f"{len(corpus.documents)} documents, {characters:,} characters; size {options.size}, overlap {overlap}")
    for unit in options.unit or ["characters", "cl100k_base"]:
        count = _counting(unit)  # an encoding's ranks are loaded here, on nobody's account
        print(f"\n{unit:<46}{'chunks':>8}{'first s':>9}{'trial s':>9}")
        for name in SPLITTERS:
            _show(name, partial(_ours, corpus, Point(name, options.size, options.overlap_ratio), unit), options.trials)
        for name, prepare in _libraries(corpus, unit, count, options.size, overlap):
            _show(name, prepare, options.trials)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    chroma = os.environ.get("HARNESS_CHROMA")
    parser.add_argument("corpus", type=Path, nargs="?", default=Path(chroma) / "corpora" if chroma else None)
    parser.add_argument("--size", type=int, default=200)
    parser.add_argument("--overlap-ratio", type=float, default=0.25)
    units = ["characters", "words", *tiktoken.ENCODINGS]
    parser.add_argument("--unit", action="append", choices=units, help="may be repeated; default: characters and cl100k_base")
    parser.add_argument("--trials", type=int, default=5)
    options = parser.parse_args()
    if options.corpus is None:
        parser.error("name a corpus, or set HARNESS_CHROMA")
    return options


def _show(name: str, prepare: Callable[[], Trial], trials: int) -> None:
    """One line: chunks, seconds of the first trial with its preparation, seconds of the fastest trial after it."""
    try:
        first, (trial, chunks) = _timed(lambda: (made := prepare(), made()))
        later = min(_timed(trial)[0] for _ in range(trials))
        print(f"{name:<46}{chunks:>8,}{first:>9.2f}{later:>9.2f}", flush=True)
    except HarnessError as error:
        print(f"{name:<46}{'-':>8}  {error.faults[0].what}")


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def _ours(corpus: Corpus, point: Point, unit: str) -> Trial:
    """A sweep's first step is its ruler: every splitter gets one of its own, so that none profits from another's boundaries."""
    ruler = Ruler(corpus, unit)
    return lambda: len(chunk(corpus, point, ruler))


def _libraries(
    corpus: Corpus, unit: str, count: Callable[[str], int], size: int, overlap: int
) -> Iterator[tuple[str, Callable[[], Trial]]]:
    """Each library as its users call it for the unit."""
    texts = [d.text for d in corpus.documents]

    def over(cut: Callable[[str], Any]) -> Trial:
        return lambda: sum(len(cut(text)) for text in texts)

    def langchain() -> Trial:
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        made = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap, length_function=count)
        return over(made.split_text)

    def semantic(kind: str) -> Trial:
        import semantic_text_splitter

        library = getattr(semantic_text_splitter, kind)
        models = {"cl100k_base": "gpt-4", "o200k_base": "gpt-4o"}
        if unit == "characters":
            return over(library(size, overlap).chunks)
        if unit in models:
            return over(library.from_tiktoken_model(models[unit], size, overlap).chunks)
        return over(library.from_callback(count, size, overlap).chunks)

    def chonkie(kind: str, **more: Any) -> Trial:
        import chonkie as library

        counter = "character" if unit == "characters" else count
        return over(getattr(library, kind)(tokenizer=counter, chunk_size=size, **more).chunk)

    yield "langchain RecursiveCharacterTextSplitter", langchain
    for kind in ("TextSplitter", "MarkdownSplitter"):
        yield f"semantic-text-splitter {kind}", partial(semantic, kind)
    if importlib.util.find_spec("chonkie"):
        yield "chonkie RecursiveChunker (has no overlap)", lambda: chonkie("RecursiveChunker")
        yield "chonkie SentenceChunker", lambda: chonkie("SentenceChunker", chunk_overlap=overlap)
    else:
        print("chonkie is not installed")


def _counting(unit: str) -> Callable[[str], int]:
    if unit == "characters":
        return len
    if unit == "words":
        return lambda text: len(text.split())
    encoding = tiktoken.load_encoding(unit)
    return lambda text: len(encoding.encode_ordinary(text))


if __name__ == "__main__":
    main()
