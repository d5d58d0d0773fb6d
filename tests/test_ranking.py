"""Similarities against their definitions, and ranking against Python's own sort."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import law
from scipy.sparse import csr_array

from harness.errors import HarnessError
from harness.ranking import DECIMALS, SIMILARITIES, Leaders, above, resolve, rounded

scores = st.lists(
    st.one_of(
        st.floats(-2, 2),
        st.sampled_from([0.0, -0.0, 1.0, 0.5, 0.5000001, 0.4999999, math.nan, math.inf, -math.inf, 1e-7, -1e-7]),
    ),
    min_size=1,
    max_size=20,
)


def ranked(row, depth=None):
    """Chunks and scores of a row of similarities, best first."""
    leaders = Leaders(1, depth or len(row))
    leaders.add(np.arange(len(row)), rounded(np.array([row])))
    return [a.tolist() for a in leaders.of(0)]


def expected(row):
    near = [float(np.round(s, DECIMALS)) for s in row]
    defined = [i for i, s in enumerate(near) if math.isfinite(s)]
    order = sorted(defined, key=lambda i: (-near[i], i)) if any(near[i] for i in defined) else []
    return [order, [near[i] for i in order]]


@given(scores)
@law
def test_a_ranking_is_the_sorted_list_of_rounded_scores_in_order_of_chunks_where_tied(similarities):
    assert ranked(similarities) == expected(similarities)


@given(st.data(), st.lists(scores, min_size=1, max_size=3), st.integers(1, 8))
@law
def test_blocks_in_any_order_give_the_best_of_the_whole(data, rows, depth):
    width = min(map(len, rows))
    matrix = rounded(np.array([row[:width] for row in rows]))
    order = data.draw(st.permutations(range(width)))
    cuts = sorted(data.draw(st.sets(st.integers(1, width), max_size=4)) | {0, width})
    leaders = Leaders(len(rows), depth)
    for start, end in itertools.pairwise(cuts):
        block = np.array(order[start:end])
        leaders.add(block, matrix[:, block])
    for question, row in enumerate(rows):
        assert [a.tolist() for a in leaders.of(question)] == [part[:depth] for part in expected(row[:width])]


@given(scores, st.integers(0, 19))
@law
def test_what_ranks_above_a_chunk_is_what_stands_before_it(similarities, chunk):
    order, _ = expected(similarities)
    row = rounded(np.array([similarities]))
    if chunk in order:
        found = above(row, np.arange(len(similarities)), row[:, chunk], np.array([chunk]))
        assert found.tolist() == [order.index(chunk)]


def test_scores_that_differ_beyond_the_sixth_decimal_tie():
    assert ranked([0.1234561, 0.1234564])[0] == [0, 1]
    assert ranked([0.123456, 0.123457])[0] == [1, 0]


@pytest.mark.parametrize("row", [[math.nan, math.nan], [0.0, -0.0, 0.0], [1e-9, math.nan]])
def test_an_undefined_or_all_zero_row_retrieves_nothing(row):
    assert ranked(row) == [[], []]


def test_an_undefined_score_leaves_the_others_ranked():
    assert ranked([math.nan, 0.0, 0.3])[0] == [2, 1]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def cosine(a, b):
    lengths = math.sqrt(dot(a, a)) * math.sqrt(dot(b, b))
    return dot(a, b) / lengths if lengths else math.nan


def jaccard(a, b):
    mine, yours = ({i for i, x in enumerate(v) if x} for v in (a, b))
    return len(mine & yours) / len(mine | yours) if mine and yours else math.nan


DEFINITIONS = {"dot": dot, "cosine": cosine, "jaccard": jaccard}
vectors = st.lists(st.lists(st.integers(0, 4), min_size=5, max_size=5), min_size=1, max_size=5)


@pytest.mark.parametrize("name", SIMILARITIES)
@given(questions=vectors, chunks=vectors)
@law
def test_a_similarity_of_sparse_vectors_is_that_of_its_definition(name, questions, chunks):
    found = SIMILARITIES[name](csr_array(np.array(questions, float)), csr_array(np.array(chunks, float)))
    expected = [[DEFINITIONS[name](q, c) for c in chunks] for q in questions]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["dot", "cosine"])
@given(questions=vectors, chunks=vectors)
@law
def test_a_similarity_of_dense_vectors_is_that_of_its_definition(name, questions, chunks):
    found = SIMILARITIES[name](np.array(questions, np.float32), np.array(chunks, np.float32))
    expected = [[DEFINITIONS[name](q, c) for c in chunks] for q in questions]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_sparse_vectors_of_an_open_vocabulary_take_memory_by_their_entries():
    columns = 2**31 - 1
    questions = csr_array(([2.0, 1.0], ([0, 0], [7, columns - 1])), shape=(1, columns))
    chunks = csr_array(([3.0, 1.0, 5.0], ([0, 1, 1], [7, columns - 1, 9])), shape=(3, columns))
    np.testing.assert_allclose(SIMILARITIES["dot"](questions, chunks), [[6.0, 1.0, 0.0]])
    np.testing.assert_allclose(SIMILARITIES["jaccard"](questions, chunks), [[1 / 2, 1 / 3, math.nan]])


def test_an_unknown_similarity_and_one_that_does_not_apply_are_refused():
    with pytest.raises(HarnessError, match=r"unknown similarity 'cosin'; did you mean 'cosine'\? Known: cosine, dot, jaccard"):
        resolve("cosin", ("cosine",), "here")
    with pytest.raises(HarnessError, match="'jaccard' does not apply to this embedder's vectors; use cosine or dot"):
        resolve("jaccard", ("cosine", "dot"), "here")
