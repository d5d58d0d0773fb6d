"""Published figures that anyone can check by hand: chunk counts, index ratios and scores."""

from __future__ import annotations

import json
from math import ceil
from pathlib import Path

import pytest
from making import ask, one, place

from harness import ranking, splitters
from harness.embedders import lexical
from harness.pipeline import Scoring, evaluate
from harness.records import Chunking, Corpus, Document, Point
from harness.tokenizers import Ruler

EXAMPLE = json.loads(Path(__file__).with_name("worked_example.json").read_text("utf-8"))


def in_words(corpus: Corpus, size: int, overlap: int) -> Chunking:
    return splitters.chunk(corpus, Point("words", size, overlap / size), Ruler(corpus, "words"))


def test_the_document_has_285_words():
    assert len(EXAMPLE["words"].split()) == 285


@pytest.mark.parametrize(("size", "overlap", "chunks"), [(60, 15, 6), (30, 15, 18)])
def test_the_document_has_as_many_chunks_as_printed_and_as_the_formula_says(size, overlap, chunks):
    assert len(in_words(one(EXAMPLE["words"]), size, overlap)) == chunks == ceil((285 - overlap) / (size - overlap))


@pytest.mark.parametrize("similarity", ["cosine", "jaccard"])
def test_term_frequency_gives_the_printed_scores_to_three_decimals(similarity):
    chunking = in_words(one(EXAMPLE["words"]), 60, 15)
    embedder = lexical.TermFrequency.load(lexical.NoOptions())
    chunks = embedder.embed([chunking.text(c) for c in range(len(chunking))], "document")
    (scores,) = ranking.SIMILARITIES[similarity](embedder.embed([EXAMPLE["query"]], "query"), chunks)
    assert [f"{s:.3f}" for s in scores] == [f"{s:.3f}" for s in EXAMPLE[similarity]]


def test_an_evaluation_ranks_the_third_chunk_first_as_printed():
    corpus = one(EXAMPLE["words"])
    chunking = in_words(corpus, 60, 15)
    question = ask(EXAMPLE["query"], place(corpus["d"], chunking.text(2)))
    found = evaluate(chunking, [question], lexical.TermFrequency.load(lexical.NoOptions()), Scoring("cosine", (1,)))
    first = found.questions[0].passages[0]
    assert (first.start, first.end) == (chunking.start[2], chunking.end[2])
    assert f"{first.score:.3f}" == "0.256"
    assert found.metrics["hit_at_1"] == 1.0


@pytest.mark.parametrize(
    ("size", "overlap", "chunks", "index_ratio"),
    [(30, 0, 29, "1.000"), (50, 10, 22, "1.228"), (80, 15, 14, "1.198"), (120, 30, 9, "1.216")],
)
def test_three_documents_of_268_276_and_291_words_give_the_printed_table(size, overlap, chunks, index_ratio):
    corpus = Corpus(tuple(Document(f"d{n}", " ".join(["word"] * n)) for n in (268, 276, 291)))
    chunking = in_words(corpus, size, overlap)
    assert len(chunking) == chunks
    assert f"{chunking.index_ratio:.3f}" == index_ratio
