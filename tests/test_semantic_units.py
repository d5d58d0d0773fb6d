"""`semantic-units` gives the chunks of `semantic-text-splitter`, held to the project's own sizes."""

from __future__ import annotations

import numpy as np
import published
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import awkward_text, law, one
from pydantic import ValidationError
from semantic_text_splitter import MarkdownSplitter, TextSplitter

from harness.records import Corpus, Document
from harness.splitters.semantic_units import SemanticOptions, SemanticUnits
from harness.tokenizers import MODEL_TOKENS, Ruler

MARKDOWN = "It shuts\nat ten.\n# Attic\nBring a lamp.\n"

sized = st.integers(1, 40).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


def spans(text, size, overlap, unit="characters", document_id="d", tokenizer=None, **options):
    document = Document(document_id, text)
    ruler = Ruler(Corpus((document,)), unit, tokenizer)
    made = SemanticUnits(SemanticOptions(**options)).split(document, size, overlap, ruler)
    return [tuple(pair) for pair in made.tolist()]


def libraries(splitter, text):
    return [(start, start + len(chunk)) for start, chunk in splitter.chunk_indices(text) if not chunk.isspace()]


@given(text=awkward_text, how=sized)
@law
def test_chunks_in_characters_are_the_librarys_at_its_own_offsets(text, how):
    assert spans(text, *how) == libraries(TextSplitter(*how), text)


@given(text=awkward_text, size=st.integers(1, 40))
@law
def test_chunks_of_markdown_without_overlap_are_the_librarys(text, size):
    assert spans(text, size, 0, markdown=True) == libraries(MarkdownSplitter(size), text)


@given(text=awkward_text, how=sized)
@law
def test_chunks_in_words_are_the_librarys_with_a_function_that_counts_words(text, how):
    assert spans(text, *how, unit="words") == libraries(TextSplitter.from_callback(lambda t: len(t.split()), *how), text)


@pytest.mark.parametrize("document", ["chatlogs", "finance", "pubmed", "state_of_the_union", "wikitexts"])
def test_chunks_of_published_documents_are_the_librarys(document):
    text = (published.folder("chroma") / "corpora" / f"{document}.md").read_text("utf-8")
    for size, overlap in [(200, 50), (800, 0)]:
        assert spans(text, size, overlap) == libraries(TextSplitter(size, overlap), text)


def test_chunks_in_the_models_tokens_are_those_that_the_library_counts_with_its_tokenizer(minilm, repository):
    text = (repository / "docs" / "questions.md").read_text("utf-8")
    for size, overlap in [(40, 10), (200, 0)]:
        expected = libraries(TextSplitter.from_huggingface_tokenizer(minilm._tokenizer, size, overlap), text)
        assert spans(text, size, overlap, MODEL_TOKENS, tokenizer=minilm.tokenizer) == expected


def test_a_token_that_the_document_shares_with_its_neighbours_makes_no_chunk_too_large():
    """OpenAI's tokens of a chunk alone and of the chunk in its document differ at the edges."""
    text = "".join(f"Item {n}.\n\n  Next: {n * n}%;\n" for n in range(300))
    document, ruler = Document("d", text), Ruler(one(text), "cl100k_base")
    for size in range(3, 30):
        assert (ruler.sizes(document, SemanticUnits().split(document, size, size // 4, ruler)) <= size).all()


@pytest.mark.parametrize(
    ("document_id", "options", "blocks"),
    [
        ("guide.md", {}, True),
        ("guide.MARKDOWN", {}, True),
        ("folder/guide.md.gz", {}, True),
        ("guide.txt", {}, False),
        ("guide", {}, False),
        ("guide.md", {"markdown": False}, False),
        ("guide", {"markdown": True}, True),
    ],
)
def test_markdown_is_told_by_the_documents_name_unless_the_options_say(document_id, options, blocks):
    plain, markdown = (libraries(kind(30), MARKDOWN) for kind in (TextSplitter, MarkdownSplitter))
    assert plain != markdown
    assert spans(MARKDOWN, 30, 0, document_id=document_id, **options) == (markdown if blocks else plain)


def test_an_overlap_that_the_library_exceeds_in_markdown_is_shortened():
    text = "- a\n" * 3 + "  - " + "bb " * 20 + "\n\n" + "| x | y |\n| --- | --- |\n| 1 | 2 |\n" * 4
    for size in range(8, 60):
        for overlap in range(1, size):
            made = np.array(spans(text, size, overlap, markdown=True))
            assert (made[:-1, 1] - made[1:, 0] <= overlap).all()


def test_an_unknown_option_is_refused():
    with pytest.raises(ValidationError, match="trim"):
        SemanticOptions(trim=True)
    with pytest.raises(ValidationError, match="markdown"):
        SemanticOptions(markdown="yes")
