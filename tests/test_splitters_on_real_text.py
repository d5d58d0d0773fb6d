"""The laws of every splitter on real Chinese and Arabic, which put no spaces between words, or write from right to left."""

from __future__ import annotations

import numpy as np
import published
import pytest

from harness import tokenizers
from harness.formats import squad
from harness.records import Corpus
from harness.splitters import SPLITTERS
from harness.tokenizers import Ruler

SIZES = {"characters": (60, 400), "cl100k_base": (32, 256)}


@pytest.fixture(scope="module", params=["zh", "ar"])
def corpus(request) -> Corpus:
    file = published.folder("xquad") / f"xquad.{request.param}.json"
    if not file.exists():
        pytest.skip(f"{file.name} is not there")
    return squad.read_corpus(file, "utf-8")


@pytest.fixture(scope="module", params=SIZES)
def ruler(request, corpus) -> Ruler:
    return Ruler(corpus, request.param, tokenizers.resolve("cl100k_base", None, "test"))


@pytest.mark.parametrize("name", SPLITTERS)
def test_the_laws_hold_on_real_text(name: str, corpus: Corpus, ruler: Ruler) -> None:
    splitter = SPLITTERS[name]
    for size in SIZES[ruler.unit]:
        for document in corpus.documents:
            spans = splitter.split(document, size, size // 5, ruler)
            steps = np.diff(spans, axis=0)
            assert (steps >= 0).all() if splitter.nested else (steps > 0).all()
            assert spans.min() >= 0
            assert spans.max() <= len(document.text)
            assert (ruler.sizes(document, spans) <= size).all()  # no table or code is in these texts
            shared = np.column_stack([spans[1:, 0], np.maximum(spans[1:, 0], spans[:-1, 1])])
            shared = shared[shared[:, 0] < shared[:, 1]]
            assert (ruler.sizes(document, shared) <= size // 5).all()
            covered = np.zeros(len(document.text), dtype=bool)
            for start, end in spans.tolist():
                covered[start:end] = True
            assert not "".join(np.array(list(document.text))[~covered]).strip()
