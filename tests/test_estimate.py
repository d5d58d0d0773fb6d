"""What an estimate says: figures that are computed by hand, the laws of its parts, and the picture."""

from __future__ import annotations

import csv
import json
import math
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import ask, chunked, law, one, place
from matplotlib.figure import Figure

import harness
from harness import sampled
from harness.embedders.lexical import TermFrequency, Tfidf
from harness.errors import HarnessError
from harness.estimated import Estimate, PointEstimate
from harness.experiment import Experiment
from harness.plots import png
from harness.records import Corpus, Document, Evidence, IntArray, Point, Question, Section, Span
from harness.space_picture import space_picture, write_picture
from harness.speed import Speed, fitted, measure
from harness.unembedded import ceiling_of, look

SECTIONS = [("a", "S1", "", "one two three four five six seven eight nine ten eleven twelve")]
QUESTIONS = [("q1", "Which come first?", "one two"), ("q2", "Which are in the middle?", "six seven")]


def make(
    folder: Path, sections: list[tuple[str, str, str, str]], questions: list[tuple[str, str, str]], **search: object
) -> Path:
    """An experiment on words, with dev questions of the given evidence."""
    folder.mkdir(exist_ok=True)
    (folder / "pyproject.toml").touch()
    with (folder / "sections.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("document_id", "section_id", "heading", "text"), *sections])
    with (folder / "questions.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [(name, text, "S1", "dev", evidence) for name, text, evidence in questions]
        csv.writer(file).writerows([("question_id", "question", "expected_section", "split", "evidence_span"), *rows])
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in search.items())
    (folder / "exp.toml").write_text(
        '[experiment]\nname = "e"\n[data]\ncorpus = "sections.csv"\nquestions = "questions.csv"\n'
        '[embedder]\ntype = "term-frequency"\nsimilarity = "cosine"\n'
        f'[search]\nsampler = "grid"\nunit = "words"\nsplitter = ["words"]\n{lines}',
        "utf-8",
    )
    return folder / "exp.toml"


def estimated(point: Point, ceiling: float | None, index_ratio: float, feasible: bool = True) -> PointEstimate:
    return PointEstimate(point, feasible, ceiling, index_ratio, 4, 0.0, 100, 0, 1.0, 400)


def an_estimate(*points: PointEstimate) -> Estimate:
    return Estimate(points, len(points), "words", 50, 100.0, len(points), True, 1.0, 100, 0, 1.0, 400, None, None)


def test_eight_settings_over_two_million_tokens_are_about_eighteen_million(tmp_path: Path) -> None:
    words, sizes = 2_000_000, (256, 512, 1024, 2048)
    of_a_section = 20_000
    numbered = (" ".join(f"{i:x}" for i in range(at, at + of_a_section)) for at in range(0, words, of_a_section))
    sections = [("book", f"S{i}", "", text) for i, text in zip(count(1), numbered, strict=False)]
    file = make(tmp_path, sections, [("q", "Which?", "64 65 66")], trials=8, chunk_size=sizes, overlap_ratio=[0.0, 0.2])
    found = harness.load(file).estimate(price_per_million=0.02)
    by_hand = 0
    for size in sizes:
        overlap = round(0.2 * size)
        windows = math.ceil((words - overlap) / (size - overlap))
        by_hand += words + (words + (windows - 1) * overlap)  # each window but the first repeats the overlap
    assert (found.tokens_per_pass, found.trials, found.exact) == (words, 8, True)
    assert found.tokens == by_hand
    assert found.tokens == pytest.approx(18e6, rel=0.002)
    assert found.price == pytest.approx(0.36, rel=0.002)
    assert [round(p.index_ratio or 0, 2) for p in found.points] == [1.0, 1.25] * 4


def test_the_least_overlap_reaches_all_that_any_overlap_of_its_size_reaches(tmp_path: Path) -> None:
    # Windows of 6: 1-6 7-12 cut 'six seven'; sharing 2 words 1-6 5-10 9-12, they do not. Windows of 2 without overlap hold
    # 'one two' alone, sharing one word 'six seven' too; of 1 hold none.
    file = make(tmp_path, SECTIONS, QUESTIONS, trials=12, chunk_size=[1, 2, 6, 12], overlap_ratio=[0.0, 0.34, 0.5])
    found = harness.load(file).estimate()
    rows = [(r.chunk_size, r.overlap_ratio, r.ceiling, r.full, r.index_ratio, r.index_ratio_without) for r in found.least_overlap]
    assert rows == [
        (1, 0.0, 0.0, False, 1.0, 1.0),
        (2, 0.34, 1.0, True, 22 / 12, 1.0),
        (6, 0.34, 1.0, True, 16 / 12, 1.0),
        (12, 0.0, 1.0, True, 1.0, 1.0),
    ]
    told = found.as_json()["least_overlap"][2]
    assert (told["splitter"], told["chunk_size"], told["prepend"], told["full"]) == ("words", 6, "", True)
    assert (told["ceiling_without"], told["tried"]) == (0.5, 3)


def test_settings_that_cut_the_same_chunks_are_counted_once(tmp_path: Path) -> None:
    file = make(tmp_path, SECTIONS, QUESTIONS, trials=4, chunk_size=[12, 20], overlap_ratio=[0.0, 0.5])
    found = harness.load(file).estimate()
    assert [p.tokens for p in found.points] == [12] * 4
    assert [p.same_as for p in found.points] == [None, "words 12/0", "words 12/0", "words 12/0"]
    assert found.tokens == 12


def test_a_sweep_that_draws_from_a_larger_space_is_the_mean_of_a_lattice(tmp_path: Path) -> None:
    search = {"sampler": "tpe", "trials": 5, "chunk_size": {"low": 3, "high": 12}, "overlap_ratio": [0.0]}
    text = make(tmp_path, SECTIONS, QUESTIONS, **search).read_text("utf-8").replace('sampler = "grid"\n', "")
    as_toml = text.replace('{"low": 3, "high": 12}', "{ low = 3, high = 12 }")
    (tmp_path / "exp.toml").write_text(as_toml, "utf-8")
    found = harness.load(tmp_path / "exp.toml").estimate()
    assert not found.exact
    assert found.tokens == 5 * 12


def test_a_ceiling_is_undefined_where_no_evidence_is_a_span() -> None:
    corpus = one("abcdef")
    region = Question("q", "Which?", Evidence(((place(corpus.documents[0], "bcd"),),), whole=False))
    spans = Question("r", "Which?", Evidence(((place(corpus.documents[0], "bcd"),),)))
    cut = chunked(corpus, (0, 0, 2), (0, 2, 6))
    assert ceiling_of(cut, [region, Question("u", "Is it?")]) is None
    assert ceiling_of(cut, []) is None
    assert ceiling_of(cut, [region, spans]) == 0.0
    assert an_estimate(estimated(Point("words", 5, 0.0), None, 1.0)).least_overlap == ()


def test_infeasible_settings_have_no_least_overlap() -> None:
    cut, kept = Point("words", 5, 0.4), Point("words", 5, 0.2)
    (row,) = an_estimate(estimated(cut, 1.0, 1.6, feasible=False), estimated(kept, 0.5, 1.25)).least_overlap
    assert (row.overlap_ratio, row.full, row.index_ratio_without) == (0.2, False, None)


def test_the_index_of_sparse_vectors_is_predicted_to_the_byte_where_all_chunks_are_sampled() -> None:
    corpus = one("red green blue red green blue")
    question = Question("q", "Which?", Evidence(((place(corpus.documents[0], "green"),),)))
    cut = chunked(corpus, (0, 0, 9), (0, 10, 29))
    for embedder in (TermFrequency(), Tfidf()):
        vectors = embedder.fit(cut.texts()).embed(cut.texts(), "document")
        exact = vectors.data.nbytes + vectors.indices.nbytes + len(cut) * vectors.indptr.itemsize
        assert look(cut, [question], embedder, "cosine").bytes == exact


def test_tokens_that_are_counted_in_a_sample_of_the_chunks_come_near_those_of_all() -> None:
    texts = [" ".join(f"word{i}" for i in range(at, at + 3 + at % 7)) for at in range(0, 4_000, 10)]
    corpus = one("\n".join(texts))
    starts = np.cumsum([0, *(len(t) + 1 for t in texts)])[:-1]
    cut = chunked(corpus, *((0, int(start), int(start) + len(text)) for start, text in zip(starts, texts, strict=True)))
    whole, sampled_ = (look(cut, [ask("Which?")], TermFrequency(), "cosine", every) for every in (1, 5))
    assert whole.tokens == sum(len(t.split()) for t in texts)
    assert sampled_.read[::5].tolist() == whole.read[::5].tolist()
    assert sampled_.tokens == pytest.approx(whole.tokens, rel=0.02)


class Ticking:
    """An embedder that takes as long as it is told, by a clock of its own."""

    def __init__(self, per_text: float, per_token: float, per_pair: float) -> None:
        self.now = 0.0
        self.speed = Speed(per_text, per_token, per_pair)
        self.max_tokens = None

    def fit(self, texts: list[str]) -> Ticking:
        return self

    def token_counts(self, texts: list[str]) -> IntArray:
        return np.array([len(t) for t in texts], dtype=np.int64)

    def embed(self, texts: list[str], role: str) -> None:
        self.now += self.speed.seconds(self.token_counts(texts))


@given(st.floats(0, 1), st.floats(1e-6, 1e-2), st.floats(0, 1e-5))
@law
def test_a_speed_is_found_again_from_what_texts_of_three_lengths_took(per_text: float, per_token: float, per_pair: float) -> None:
    model = Ticking(per_text, per_token, per_pair)
    found = measure(model, [["a" * n] * 40 for n in (20, 80, 240)], clock=lambda: model.now)  # type: ignore[arg-type]
    for length in (20, 50, 120, 240):
        lengths = np.full(7, length)
        assert found.seconds(lengths) == pytest.approx(model.speed.seconds(lengths), rel=1e-3)


def test_one_length_tells_the_seconds_of_a_token_and_nothing_else() -> None:
    found = fitted([np.full(10, 50), np.full(10, 60)], [5.0, 6.0])
    assert (found.per_text, found.per_pair) == (0.0, 0.0)
    assert found.per_token == pytest.approx(0.01)


def test_a_part_of_the_corpus_is_the_beginnings_of_documents_over_all_of_it() -> None:
    long = Document("l", "word " * 10_000, (Section("S1", "", Span(0, 30_000)), Section("S2", "", Span(30_000, 50_000))))
    part = sampled.part_of(Corpus((long,)), 20_000)
    assert part.documents[0].text == long.text[:20_000]
    assert part.documents[0].sections == (Section("S1", "", Span(0, 20_000)),)
    many = Corpus(tuple(Document(f"{i:04}", f"text {i} " * 4_000) for i in range(50)))
    chosen = [d.document_id for d in sampled.part_of(many, 40_000).documents]
    assert (len(chosen), chosen[0], chosen[-1]) == (4, "0000", "0049")
    assert all(len(d.text) == 10_000 for d in sampled.part_of(many, 40_000).documents)


def test_a_sweep_s_seconds_grow_with_its_points_and_its_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled, "speed_of", lambda *_: Speed(0.0, 0.001, 0.0))
    search = {"trials": 2, "chunk_size": [4], "overlap_ratio": [0.0, 0.5]}
    experiment: Experiment = harness.load(make(tmp_path, SECTIONS, QUESTIONS, **search)).experiment
    labelled, embedder = experiment.read_labels(), experiment.load_embedder()
    seconds = sampled.sweep_seconds(experiment, labelled, embedder, experiment.ruler(labelled, embedder), 10)
    assert seconds == pytest.approx(10 * 0.001 * (12 + (12 + 4 * 2)) / 2)  # windows 1-4 3-6 5-8 7-10 9-12 share 2 words each


def a_space(refused: bool = False) -> Estimate:
    return an_estimate(
        *(
            estimated(Point(s, size, overlap), 0.5 + overlap, 1 / (1 - overlap), feasible=not refused or size < 100)
            for s in ("tokens", "words")
            for size in (32, 64, 128)
            for overlap in (0.0, 0.25)
        )
    )


def test_the_picture_has_a_panel_a_splitter_a_line_an_overlap_and_names_its_units() -> None:
    figure = space_picture(a_space())
    assert isinstance(figure, Figure)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["tokens", "words", "", ""], "no row for what is zero everywhere"
    assert all(len(axes.lines) == 2 for axes in figure.axes)
    assert figure.axes[0].get_ylabel() == "ceiling,\n% of dev questions"
    assert figure.axes[-1].get_xlabel() == "chunk size, words"
    assert [t.get_text() for t in figure.legends[0].texts] == ["0", "0.25"]
    assert "the model reads every chunk whole" in figure.get_suptitle()
    refused = space_picture(a_space(refused=True)).legends[0].texts
    assert refused[-1].get_text() == "refused: the model cuts chunks"


def test_the_same_space_gives_the_same_picture(tmp_path: Path) -> None:
    write_picture(a_space(), tmp_path / "space.png")
    assert (tmp_path / "space.png").read_bytes() == png(space_picture(a_space()))
    with pytest.raises(HarnessError, match="can't be written"):
        write_picture(a_space(), tmp_path / "nowhere" / "space.png")
    with pytest.raises(HarnessError, match="no point of the space can be drawn"):
        write_picture(an_estimate(PointEstimate(Point("words", 5, 0.9), False)), tmp_path / "none.png")
