"""Peak memory of loading a corpus of many files, and of labelling questions about it, as a multiple of its size.

    python benchmarks/corpus_memory.py [--megabytes 200] [--files 2000] [--kind .md] [--questions 40]

The folder is made in a temporary place, of ASCII text; each measurement is the growth of a fresh process's peak resident memory.
Half of the questions quote the text as it stands, the other half so that only the normalisation finds it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from harness.corpora import read_corpus
from harness.labels import Quote, RawQuestion, label
from harness.records import Corpus

ROOT = Path(__file__).resolve().parent.parent
WORDS = [
    "the",
    "gate",
    "opens",
    "at",
    "nine",
    "and",
    "closes",
    "when",
    "its",
    "last",
    "guests",
    "have",
    "left",
    "unless",
    "it",
    "rains",
]


def main() -> None:
    options = _options()
    if options.load:
        print(json.dumps(_load(options.load, options.questions)))
        return
    with tempfile.TemporaryDirectory() as folder:
        size = write(Path(folder), options.megabytes * 1_000_000, options.files, options.kind)
        print(f"{options.files:,} {options.kind} files, {size / 1e6:,.1f} MB of ASCII text")
        for what, questions in (("read_corpus", 0), (f"with {options.questions} questions labelled", options.questions)):
            found = measure(Path(folder), questions)
            ratio = found["grown"] / size
            print(
                f"{what}: peak grows by {found['grown'] / 1e6:,.1f} MB, {ratio:.2f} times the text, in {found['seconds']:.1f} s"
            )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--kind", default=".md")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def write(folder: Path, size: int, files: int, kind: str) -> int:
    """Files of paragraphs of about 500 characters, every fourth with a heading; returns the bytes written."""
    chance = random.Random(0)
    pool = ["\n".join(" ".join(chance.choices(WORDS, k=16)) for _ in range(6)) for _ in range(500)]
    written = 0
    for number in range(files):
        parts, length = [f"# Document {number}"], 0
        while length < size // files:
            parts += [f"## Part {len(parts)}", *(f"{chance.random():.9f} {p}" for p in chance.choices(pool, k=4))]
            length += sum(len(p) + 2 for p in parts[-5:])
        written += (folder / f"{number:06}{kind}").write_bytes("\n\n".join(parts).encode("ascii"))
    return written


def measure(folder: Path, questions: int = 0) -> dict[str, float]:
    """Growth of peak memory in bytes, and seconds, of a process that loads a folder."""
    command = [sys.executable, __file__, "--load", str(folder), "--questions", str(questions)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout)


def _load(folder: Path, questions: int) -> dict[str, float]:
    before, begun = _peak(), time.perf_counter()
    corpus = read_corpus(folder)
    if questions:
        faults = label(list(_questions(corpus, questions)), corpus).faults
        assert not faults, faults
    return {"grown": _peak() - before, "seconds": time.perf_counter() - begun}


def _peak() -> int:
    """Peak resident memory in bytes. The kernel's own count begins anew with a program; that of getrusage may be the parent's."""
    try:
        (kib,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))
        return int(kib) * 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _questions(corpus: Corpus, number: int) -> Iterator[RawQuestion]:
    chance = random.Random(1)
    for i in range(number):
        document = chance.choice(corpus.documents)
        start = chance.randrange(len(document.text) - 600)
        text = document.text[start : start + 400].strip()
        quote = text if i % 2 else text.replace("\n", " ").upper()
        yield RawQuestion(f"question {i}", str(i), f"What about {i}?", "dev", evidence=((Quote(quote),),))


if __name__ == "__main__":
    main()
