"""`harness check-splitter`: a splitter tried on awkward texts and on a corpus, at several sizes, against its contract."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness import corpora, splitters
from harness.errors import Fault, HarnessError
from harness.records import Corpus, Document
from harness.splitters import user
from harness.splitters.base import Splitter
from harness.splitters.contract import Cut, broken
from harness.splitters.user import UserSplitter
from harness.tokenizers import Ruler

SIZES = (1, 2, 7, 50, 400)
RATIOS = (0.0, 0.2, 0.5)
AWKWARD = {
    "empty": "",
    "white space": " \r\n\t\n ",
    "one word": "word",
    "a long word": "incomprehensibilities" * 40,
    "sentences": "The gate shuts at ten. Visitors sign the book! Is there a dog? Yes; it sleeps.\n\n" * 6,
    "line ends": "one\r\ntwo\r\n\r\nthree\rfour\n",
    "combining marks": "cafe\u0301 noir a\u0323\u0301 " * 9,
    "emoji": "\U0001f469\u200d\U0001f4bb codes \U0001f1e9\U0001f1ea \U0001f9ff " * 9,
    "Chinese": "博物馆每天上午九点开门，下午五点关门。门票价格是十二元。" * 5,
    "Arabic": "يفتح المتحف أبوابه في التاسعة صباحا. سعر التذكرة اثنا عشر درهما. " * 5,
    "special tokens": "<|endoftext|> [SEP] <s> text </s> " * 5,
    "Markdown": "# Head\n\nText of it.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode  here\n```\n\n- one\n- two\n" * 3,
    "repeats": "again and again and again and again. " * 30,
}


@dataclass(frozen=True)
class CheckedSplitter:
    """What became of every try: how many there were, and the first broken promise on each text."""

    splitter: Splitter
    unit: str
    tries: int
    faults: tuple[Fault, ...]

    def as_json(self) -> dict[str, Any]:
        found = {"splitter": self.splitter.name, "version": self.splitter.identity, "unit": self.unit, "tries": self.tries}
        return {**found, "errors": [f.as_json() for f in self.faults]}


def check_splitter(name: str, corpus: Path | None, unit: str | None) -> CheckedSplitter:
    """Try a splitter of the registry or a user's own (looked for in the working directory too).

    Raises HarnessError when the splitter, the unit or the corpus can't be had.
    """
    own = name.startswith(user.PREFIX)
    splitter = user.load(name, "SPLITTER", [Path.cwd()]) if own else splitters.resolve(name, "SPLITTER")
    documents = [Document(kind, text) for kind, text in AWKWARD.items()]
    documents += corpora.read_corpus(corpus).documents if corpus else ()
    unit = unit or ("cl100k_base" if splitter.atoms == "tokens" else "words")
    ruler = Ruler(Corpus(tuple(sorted(documents, key=lambda d: d.document_id))), unit)
    settings = list(_settings(splitter))
    found = [next(_broken(splitter, document, settings, ruler), None) for document in documents]
    return CheckedSplitter(splitter, unit, len(settings) * len(documents), tuple(fault for fault in found if fault))


def _settings(splitter: Splitter) -> Iterator[tuple[int, int]]:
    for size in SIZES[:1] if "chunk_size" in splitter.ignores else SIZES:
        for overlap in dict.fromkeys(int(ratio * size) for ratio in RATIOS):
            yield size, overlap


def _broken(splitter: Splitter, document: Document, settings: list[tuple[int, int]], ruler: Ruler) -> Iterator[Fault]:
    for size, overlap in settings:
        for what in _wrong(splitter, document, size, overlap, ruler):
            yield Fault(
                f"'{document.document_id}' at size {size}, overlap {overlap}", what, "see the contract in docs/splitters.md"
            )


def _wrong(splitter: Splitter, document: Document, size: int, overlap: int, ruler: Ruler) -> list[str]:
    """Broken promises of one try, a second time that gives other spans among them."""
    cut = splitter.cut if isinstance(splitter, UserSplitter) else splitter.split
    try:
        spans, again = (cut(document, size, overlap, ruler) for _ in range(2))
    except HarnessError as error:
        if not isinstance(splitter, UserSplitter):
            raise
        return [f.what for f in error.faults]
    if not np.array_equal(spans, again):
        return ["it gave other spans for the same text the second time"]
    if not document.text and len(spans):
        return ["it gave chunks of an empty text"]
    heeded = 0 if splitter.name in splitters.BASELINES or "chunk_size" in splitter.ignores else size
    return broken(Cut(document, spans, heeded, overlap, ruler, splitter.oversize, splitter.nested))
