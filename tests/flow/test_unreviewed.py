"""Unreviewed questions are said to be so wherever their figures are: check, sweep, MLflow, report, lock, holdout."""

from __future__ import annotations

import csv

from flow_project import QUESTIONS, Project


def drafted(project: Project, *unreviewed: str) -> None:
    """The project's questions with a source and a date each, some of them unreviewed."""
    columns = ("question_id", "question", "expected_section", "split", "evidence_span", "source", "date", "reviewed")
    with project.questions.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for i, row in enumerate(QUESTIONS):
            source, reviewed = ("real", "generated")[i % 2], "no" if row[0] in unreviewed else "yes"
            writer.writerow((*row, source, f"2026-0{1 + i % 9}-10", reviewed))


def test_dev_questions(project: Project) -> None:
    drafted(project, "D01", "D05")
    assert "2 of 17 questions are not reviewed: D01, D05" in [w["what"] for w in project.ok("check")["warnings"]]
    swept = project.ok("sweep")
    (finding,) = [f for f in swept["diagnosis"] if f["name"] == "unreviewed"]
    assert finding["sentence"].startswith("2 of 12 dev questions are unreviewed")
    assert {r.data.tags["questions.unreviewed"] for r in project.runs()} == {"2"}
    assert "2 dev questions are unreviewed" in project.run("lock", "exp.toml").out
    page = (project.ok("report")["path"] and (project.state / "small" / "report" / "index.html")).read_text("utf-8")
    assert "2 of 12 dev questions are unreviewed" in page


def test_holdout_questions_are_said_to_be_unreviewed_before_they_are_opened(project: Project) -> None:
    drafted(project, "H02")
    project.ok("sweep")
    assert "1 holdout questions are unreviewed" in project.run("lock", "exp.toml").out
    ran = project.run("holdout", "exp.toml")
    assert "1 of 5 holdout questions are unreviewed" in ran.err
    assert "1 of its questions are unreviewed" in ran.out
    assert project.refused("holdout")["unreviewed"] == 1


def test_results_are_shown_by_source_and_a_lock_says_how_old_its_questions_are(project: Project) -> None:
    drafted(project)
    rows = {row["source"]: row for row in project.ok("sweep")["by_source"]}
    assert set(rows) == {"real", "generated"}
    assert sum(row["answerable"] for row in rows.values()) == 9
    assert sum(row["unanswerable"] for row in rows.values()) == 3
    locked = project.ok("lock")["questions"]
    assert (locked["oldest"], locked["newest"], locked["undated"]) == ("2026-01-10", "2026-09-10", 0)
    assert 'oldest = "2026-01-10"' in (project.root / "exp.lock.toml").read_text("utf-8")
    assert "real questions at the chosen setting: hit@1" in project.run("run", "exp.toml").out


def test_results_are_shown_by_the_documents_that_hold_the_answers(swept: Project) -> None:
    (found,) = swept.ok("sweep")["breakdowns"]
    assert (found["by"], found["left_out"]) == ("document group", 3)
    rows = {row["name"]: row for row in found["rows"]}
    assert {name: row["answerable"] for name, row in rows.items()} == {"garden": 4, "kitchen": 3, "workshop": 2}
    garden = rows["garden"]["hits_at_1"]
    line = f"hit@1 of the chosen setting by document group: garden {garden}/4, kitchen "
    assert line in swept.run("sweep", "exp.toml").out
