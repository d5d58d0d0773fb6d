"""Chroma's chunking evaluation: every reference is where it says, and the published recall comes out."""

from __future__ import annotations

import json
from pathlib import Path

import published
import pytest
from flow_project import Project

from harness import formats
from harness.formats import DataSource, Labelled
from harness.splits import SplitRule

PUBLISHED = 0.766  # character recall of 200 cl100k tokens, no overlap, five chunks, all-MiniLM-L6-v2


@pytest.fixture(scope="module")
def chroma() -> Path:
    return published.folder("chroma")


@pytest.fixture(scope="module")
def labelled(chroma: Path) -> Labelled:
    source = DataSource("chroma", chroma / "corpora", chroma / "questions_df.csv", split=SplitRule(0, 7))
    return formats.load(source).sound()


@pytest.fixture
def shipped(project: Project, chroma: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The example of the repository in a folder of its own."""
    monkeypatch.setenv("HARNESS_CHROMA", str(chroma))
    project.file.write_bytes((repository / "experiments" / "chroma.toml").read_bytes())
    return project


def test_all_472_questions_are_dev_and_each_of_790_references_agrees_with_its_offset(labelled: Labelled) -> None:
    assert len(labelled.dev) == len(labelled.answerable) == 472
    assert (labelled.holdout.answerable, labelled.holdout.unanswerable) == (0, 0)
    assert (labelled.quoted.quotes, labelled.quoted.with_offset) == (790, 790)


def test_a_question_needs_all_of_its_references(labelled: Labelled) -> None:
    sets = [q.evidence.alternatives for q in labelled.dev if q.evidence]
    assert {len(alternatives) for alternatives in sets} == {1}
    assert sum(len(alternatives[0]) for alternatives in sets) == 790


def test_97_references_stand_more_than_once_and_are_counted(labelled: Labelled) -> None:
    assert labelled.quoted.repeated == 97


def test_check_has_all_questions_in_dev_and_no_fault(shipped: Project) -> None:
    checked = shipped.ok("check")
    assert checked["questions"]["dev"] == 472
    assert checked["errors"] == []


@pytest.mark.slow
def test_200_tokens_without_overlap_reach_the_published_character_recall(shipped: Project) -> None:
    text = shipped.file.read_text("utf-8")
    others = [line for line in text.splitlines() if "chunk_size = 250" in line]
    assert others
    for line in others:
        text = text.replace(f"{line}\n", "")
    shipped.file.write_text(text, "utf-8")
    assert shipped.ok("sweep")["trials"]["complete"] == 1
    (result,) = [json.loads(p.read_bytes()) for p in shipped.results("chroma")]
    assert result["point"] == {"splitter": "tokens", "chunk_size": 200, "overlap_ratio": 0.0, "prepend": []}
    assert result["evaluation"]["metrics"]["char_recall_at_5"] == pytest.approx(PUBLISHED, abs=0.015)
