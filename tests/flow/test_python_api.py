"""The verbs from Python: an experiment's trials and questions are data frames under the names of the runs."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from flow_project import GRID, Project

import harness
from harness import splitters
from harness.splitters.base import Splitter


@pytest.fixture
def experiment(swept: Project) -> Any:
    return harness.load(swept.file)


def test_trials_are_a_frame_with_a_row_a_trial_under_the_names_of_the_runs(swept: Project, experiment: Any) -> None:
    trials = experiment.trials()
    assert trials.index.name == "trial"
    assert list(trials.index) == [0, 1, 2, 3]
    assert list(trials.columns[:8]) == [
        "state",
        "error",
        "splitter",
        "chunk_size",
        "overlap_ratio",
        "overlap",
        "unit",
        "reused_from",
    ]
    assert list(trials.chunk_size) == [12, 12, 24, 24]
    assert set(trials.state) == {"complete"}
    assert trials.chunk_size.dtype == trials.overlap.dtype == "int64"
    assert trials.overlap_ratio.dtype == "float64"
    for run in swept.runs("trial"):
        row = trials.loc[int(run.data.tags["harness.trial"])]
        assert {name: row[name] for name in run.data.metrics} == pytest.approx(run.data.metrics)


def test_questions_are_a_frame_with_a_row_a_dev_question(experiment: Any) -> None:
    questions = experiment.questions(3)
    assert questions.index.name == "question_id"
    assert list(questions.index) == [f"D{n:02}" for n in range(1, 13)]
    assert questions.question["D06"] == "May copper pans go in the dishwasher?"
    assert questions.answerable.dtype == bool
    assert questions.answerable.sum() == 9
    assert questions.hit_rank.dtype == "Int64"
    assert questions.hit_rank["D12"] is pd.NA
    assert questions.hit_at_1.mean() == pytest.approx(experiment.trials()["dev/hit_at_1"][3])
    assert set(questions.cause.dropna()) <= {"cut", "outranked", "truncated", "no match"}
    assert set(questions.first_document.dropna()) <= {"garden", "kitchen", "workshop"}
    first = questions.loc["D06"]
    assert first.first_end > first.first_start >= 0


def test_failed_trials_are_rows_with_their_error_and_no_score(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    words = splitters.SPLITTERS["words"]

    def breaks(self: Any, document: Any, size: int, overlap: int, ruler: Any) -> Any:
        if size == 12:
            raise RuntimeError("no twelve")
        return words.split(document, size, overlap, ruler)

    breaking = type("Breaks", (Splitter,), {"name": "words", "atoms": "words", "split": breaks})
    monkeypatch.setitem(splitters.SPLITTERS, "words", breaking())
    project.ok("sweep")
    experiment = harness.load(project.file)
    trials = experiment.trials()
    assert list(trials.state) == ["failed", "failed", "complete", "complete"]
    assert trials.error[0].startswith("RuntimeError: no twelve")
    assert trials["dev/hit_at_1"].isna().tolist() == [True, True, False, False]
    with pytest.raises(harness.HarnessError, match="complete are: 2, 3"):
        experiment.questions(0)


def test_reused_trials_name_the_one_they_have_their_score_from(project: Project) -> None:
    project.configure(search={**GRID, "chunk_size": [500, 600], "overlap_ratio": [0.0]})
    project.ok("sweep")
    trials = harness.load(project.file).trials()
    assert trials.reused_from[1] == 0
    assert pd.isna(trials.reused_from[0])


def test_before_a_sweep_trials_say_what_to_run(bare: Project) -> None:
    with pytest.raises(harness.HarnessError, match="run `harness sweep` first"):
        harness.load(bare.file).trials()
    assert not bare.state.exists()


def test_an_unknown_trial_is_answered_with_the_known_ones(experiment: Any) -> None:
    with pytest.raises(harness.HarnessError, match="9 is not a complete trial"):
        experiment.questions(9)


def test_every_verb_is_a_function_behind_the_command_line(project: Project) -> None:
    experiment = harness.load(str(project.file))
    assert experiment.check().as_json() == project.ok("check")
    assert experiment.estimate().trials == 4
    outcome = experiment.sweep()
    assert outcome.as_json() == project.ok("sweep")
    assert experiment.lock().lock.lock_id == project.ok("lock")["lock_id"]
    opened = experiment.holdout()
    assert opened.already_opened is False
    with pytest.raises(harness.Refused) as refused:
        experiment.holdout()
    assert refused.value.record["run_id"] == opened.record.run_id
    assert experiment.audit().findings == ()
    assert experiment.report().exists()
    assert repr(experiment) == f"<experiment 'small' of {project.file}>"


def test_chunks_and_ranking_of_a_corpus_without_an_experiment(bare: Project) -> None:
    from harness.corpora import read_corpus
    from harness.records import Point

    cut = harness.chunks(read_corpus(bare.sections), Point("words", 24, 0.25))
    assert len(cut) == 16
    assert cut.index_ratio > 1
    with pytest.raises(harness.HarnessError, match="unknown splitter 'wrods'"):
        harness.chunks(cut.corpus, Point("wrods", 24, 0.25))
