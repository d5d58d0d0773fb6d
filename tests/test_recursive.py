"""`recursive` gives LangChain's own chunks, each with the offset that it was cut at."""

from __future__ import annotations

from itertools import pairwise

import published
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from langchain_text_splitters import RecursiveCharacterTextSplitter
from making import awkward_text, law, one
from pydantic import ValidationError

from harness import experiment
from harness.errors import HarnessError
from harness.records import Document
from harness.splitters.recursive import Recursive, RecursiveOptions
from harness.tokenizers import Ruler, tiktoken

CHROMAS = ["\n\n", "\n", ".", "?", "!", " ", ""]
DOCUMENTS = ["chatlogs", "finance", "pubmed", "state_of_the_union", "wikitexts"]

kept = st.sampled_from([True, "start", "end"])
literals = st.lists(st.sampled_from(["\n\n", "\n", " ", ".", "a", "ab", "漢", "\r\n"]), max_size=4).map(lambda s: [*s, ""])
patterns = st.lists(
    st.sampled_from([r"\n+", r"(?=[A-Z])", r"(?<=\.)\s", r"\b", r"\s", r"[.!?] ", "x*", r"^.", r"$"]), max_size=4
).map(lambda s: [*s, ""])
sized = st.integers(2, 40).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


def spans(text, size, overlap, unit="characters", **options):
    made = Recursive(RecursiveOptions(**options)).split(Document("d", text), size, overlap, Ruler(one(text), unit))
    return [tuple(pair) for pair in made.tolist()]


def texts(text, size, overlap, **options):
    return [text[start:end] for start, end in spans(text, size, overlap, **options)]


def langchains(text, size, overlap, **options):
    return RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap, **options).split_text(text)


def without_repeats(chunks):
    """Chunks short of those of white space, and of those that are the same as the one before."""
    seen = [c for c in chunks if not c.isspace()]
    return [c for at, c in enumerate(seen) if at == 0 or c != seen[at - 1]]


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("size", [200, 400, 800])
@pytest.mark.parametrize("share", [0, 0.25])
def test_chunks_of_published_documents_are_langchains_to_the_character(document, size, share):
    text = (published.folder("chroma") / "corpora" / f"{document}.md").read_text("utf-8")
    overlap = int(share * size)
    assert texts(text, size, overlap) == langchains(text, size, overlap)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_chunks_of_published_documents_in_openais_tokens_are_those_that_langchain_counts(document):
    text = (published.folder("chroma") / "corpora" / f"{document}.md").read_text("utf-8")
    encoding = tiktoken.load_encoding("cl100k_base")
    for options in ({}, {"separators": CHROMAS}):
        expected = langchains(text, 200, 50, length_function=lambda t: len(encoding.encode_ordinary(t)), **options)
        assert [text[start:end] for start, end in spans(text, 200, 50, "cl100k_base", **options)] == expected


def test_chunks_of_the_handbook_are_langchains_to_the_character(repository):
    text = (repository / "data" / "handbook" / "sections.csv").read_text("utf-8")
    for size, overlap in [(60, 0), (60, 15), (200, 50), (1000, 400)]:
        for options in ({}, {"separators": CHROMAS}, {"separators": CHROMAS, "keep_separator": "end"}):
            assert texts(text, size, overlap, **options) == langchains(text, size, overlap, **options)


@given(text=awkward_text, how=sized)
@law
def test_chunks_of_any_text_are_langchains(text, how):
    assert without_repeats(texts(text, *how)) == without_repeats(langchains(text, *how))


@given(text=awkward_text, how=sized, separators=literals, keep=kept, strip=st.booleans())
@law
def test_chunks_are_langchains_with_separators_of_ones_own(text, how, separators, keep, strip):
    options = {"separators": separators, "keep_separator": keep, "strip_whitespace": strip}
    assert without_repeats(texts(text, *how, **options)) == without_repeats(langchains(text, *how, **options))


@given(text=st.text("aAxB. \n!", max_size=60), how=sized, separators=patterns, keep=kept)
@law
def test_chunks_are_langchains_with_patterns(text, how, separators, keep):
    options = {"separators": separators, "keep_separator": keep, "is_separator_regex": True}
    assert without_repeats(texts(text, *how, **options)) == without_repeats(langchains(text, *how, **options))


@given(text=awkward_text, how=sized, separators=literals)
@law
def test_chunks_are_langchains_without_a_last_resort_where_its_own_keep_the_size(text, how, separators):
    options = {"separators": separators[:-1] or ["\n"]}
    expected = langchains(text, *how, **options)
    assume(all(len(c) <= how[0] for c in expected))
    assert without_repeats(texts(text, *how, **options)) == without_repeats(expected)


@given(
    words=st.lists(st.sampled_from(["a", "word", "漢字", "don't", "incomprehensibilities"]), min_size=1, max_size=40),
    joints=st.lists(st.sampled_from(["\n\n", "\n", " "]), min_size=40, max_size=40),
    how=sized,
)
@law
def test_dropped_separators_give_langchains_chunks_where_no_two_follow_each_other(words, joints, how):
    text = "".join(w + j for w, j in zip(words, joints, strict=False))
    assert without_repeats(texts(text, *how, keep_separator=False)) == without_repeats(
        langchains(text, *how, keep_separator=False)
    )


@given(text=awkward_text, how=sized, separators=literals)
@law
def test_no_visible_character_is_lost_with_a_dropped_separator_and_no_chunk_is_above_the_size(text, how, separators):
    size, overlap = how
    found = spans(text, size, overlap, separators=separators, keep_separator=False)
    covered = {i for start, end in found for i in range(start, end)}
    assert {i for i, c in enumerate(text) if not c.isspace()} <= covered
    assert all(end - start <= size for start, end in found)
    assert all(end - start <= overlap for (_, end), (start, _) in pairwise(found))


def test_a_repeated_word_has_the_offset_that_it_was_cut_at_where_langchains_start_index_has_another():
    text = "no no no no"
    splitter = RecursiveCharacterTextSplitter(chunk_size=8, chunk_overlap=2, add_start_index=True)
    theirs = [(d.metadata["start_index"], d.page_content) for d in splitter.create_documents([text])]
    assert theirs == [(0, "no no no"), (6, "no")]
    assert spans(text, 8, 2) == [(0, 8), (9, 11)]


@given(text=st.lists(st.sampled_from(["no", "yes", "\n", "\n\n"]), max_size=60).map(" ".join), how=sized)
@law
def test_offsets_in_a_repetitive_text_are_those_of_one_without_repeats(text, how):
    """Against LangChain on a text of the same shape in which no two visible characters are the same: there, looking is safe."""
    marked = "".join(c if c.isspace() else chr(0x4E00 + i) for i, c in enumerate(text))
    expected = [(marked.index(c), marked.index(c) + len(c)) for c in langchains(marked, *how)]
    assert spans(text, *how) == sorted(set(expected))


def test_a_chunk_that_langchain_repeats_inside_its_neighbour_is_kept():
    text = "\n\nOne line.\nAnother line."
    assert langchains(text, 24, 12) == ["One line.", "One line.\nAnother line."]
    assert spans(text, 24, 12) == [(2, 11), (2, 25)]


def test_a_piece_that_no_separator_brings_down_to_the_size_is_cut_by_windows():
    text = "short\n\n" + "x" * 25 + "\n\nend"
    assert max(map(len, langchains(text, 10, 0, separators=["\n\n"]))) > 10
    assert texts(text, 10, 0, separators=["\n\n"]) == ["short", "\n\n" + "x" * 8, "x" * 10, "x" * 7, "end"]


def test_a_visible_separator_that_is_dropped_stays_with_the_chunk_before_it():
    text = "We open at nine. On Sundays we open at noon. Not in winter."
    options = {"separators": [". "], "keep_separator": False}
    assert langchains(text, 30, 0, **options) == ["We open at nine", "On Sundays we open at noon", "Not in winter."]
    assert texts(text, 30, 0, **options) == ["We open at nine.", "On Sundays we open at noon.", "Not in winter."]


def test_of_separators_in_a_row_none_is_left_out_of_the_text():
    text = "one\n\n\n\ntwo"
    assert langchains(text, 20, 0, keep_separator=False) == ["one\n\ntwo"]
    assert texts(text, 20, 0, keep_separator=False) == [text]


@given(text=awkward_text, how=sized)
@law
def test_chunks_sized_in_words_are_langchains_with_a_function_that_counts_words(text, how):
    expected = langchains(text, *how, length_function=lambda t: len(t.split()))
    assert without_repeats([text[start:end] for start, end in spans(text, *how, unit="words")]) == without_repeats(expected)


def test_a_token_that_lies_in_two_pieces_counts_in_both():
    text = "One.\n\nTwo.\n\nThree."  # the tokens are One, .LF LF, Two, .LF LF, Three, .
    assert Ruler(one(text), "cl100k_base").source_units == 6
    assert [text[s:e] for s, e in spans(text, 5, 0, "cl100k_base")] == ["One.\n\nTwo.", "Three."]
    assert [text[s:e] for s, e in spans(text, 4, 0, "cl100k_base")] == ["One.", "Two.", "Three."]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"separators": ["("], "is_separator_regex": True}, r"separator '\(' is no regular expression"),
        ({"separators": ["(?i)a"], "is_separator_regex": True}, "global flags not at the start"),
        ({"separators": ["(a|b)"], "is_separator_regex": True}, r"separator '\(a\|b\)' has a group"),
        ({"separators": ["a"], "is_separator_regex": True, "keep_separator": False}, "writes its pattern into the chunks"),
        ({"separators": []}, "at least 1 item"),
        ({"keep_separator": "both"}, "keep_separator"),
        ({"seperators": ["a"]}, "seperators"),
    ],
)
def test_options_that_langchain_would_turn_into_other_text_are_refused(options, message):
    with pytest.raises(ValidationError, match=message):
        RecursiveOptions(**options)


TABLE = """
[experiment]
name = "e"
[data]
corpus = "c"
questions = "q"
[embedder]
type = "tfidf"
[search]
splitter = "recursive"
chunk_size = [40]
[splitters.recursive]
"""


def loaded(tmp_path, keys):
    (tmp_path / "e.toml").write_text(TABLE + keys, "utf-8")
    return experiment.load(tmp_path / "e.toml").splitters["recursive"]


def test_an_experiment_file_sets_the_options_and_they_make_it_another_study(tmp_path):
    configured = loaded(tmp_path, 'separators = ["\\n", " "]\nkeep_separator = "end"')
    assert configured.options == RecursiveOptions(separators=["\n", " "], keep_separator="end")
    assert configured.identity != loaded(tmp_path, "").identity == 1


def test_a_wrong_option_is_refused_with_its_line(tmp_path):
    with pytest.raises(HarnessError, match=r"e.toml line 14.*separator '\(' is no regular expression"):
        loaded(tmp_path, 'is_separator_regex = true\nseparators = ["("]')
