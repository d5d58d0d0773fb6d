"""`harness split` writes a split once; a retired holdout becomes dev, and only what is added later can be held out."""

from __future__ import annotations

import csv
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from flow_project import QUESTIONS, Project

from harness import api, split_file
from harness.errors import Refused

UNSPLIT = [(i, q, s, "", e) for i, q, s, _, e in QUESTIONS]


@pytest.fixture
def unsplit(project: Project) -> Project:
    """A project whose questions say nothing of dev and holdout."""
    project.write_questions(UNSPLIT)
    return project


def kept(project: Project, reference: str) -> dict[str, int]:
    """Answerable dev and holdout questions as `check` counts them under a split."""
    project.configure(data={"split": reference})
    found = project.run("check", "exp.toml", "--json").json
    return {split: found["questions"][split] + found["questions"]["unanswerable"][split] for split in ("dev", "holdout")}


def test_questions_without_a_split_need_one_and_are_told_how(unsplit):
    (error,) = [e for e in unsplit.refused("check", code=1)["errors"] if "dev or holdout" in e["what"]]
    assert "[data] split = { holdout = 0.3, seed = 7 }" in error["fix"]


def test_a_split_is_written_once_and_is_what_the_experiment_then_has(unsplit):
    written = unsplit.ok("split", "--holdout", "0.4")
    assert written["reference"] == "questions.split.json"
    assert sum(written["questions"].values()) == len(QUESTIONS)
    assert 0 < written["questions"]["holdout"] < len(QUESTIONS)
    assert kept(unsplit, "questions.split.json") == written["questions"]

    refused = unsplit.refused("split", "--seed", "3")
    assert "the split was written before" in refused["errors"][0]["what"]
    assert refused["seed"] == written["seed"]


def test_the_file_and_the_rule_in_the_experiment_file_split_alike(unsplit):
    written = unsplit.ok("split", "--holdout", "0.4", "--seed", "11", "--out", "by-file.json")
    unsplit.configure(data={"split": {"holdout": 0.4, "seed": 11}})
    found = unsplit.ok("check")["questions"]
    assert found["dev"] + found["unanswerable"]["dev"] == written["questions"]["dev"]
    before = json.loads((unsplit.root / "by-file.json").read_text())["questions"]

    added = [("N1", "What else is said of tomatoes?", "G1", "", "In a heat wave the beds get a second round at dusk.")]
    unsplit.write_questions([*UNSPLIT, *added])
    unsplit.configure(data={"split": "by-file.json"})
    assert sum(kept(unsplit, "by-file.json").values()) == len(QUESTIONS) + 1
    again = unsplit.ok("split", "--holdout", "0.4", "--seed", "11", "--out", "again.json")["reference"]
    after = json.loads((unsplit.root / again).read_text())["questions"]
    assert {sha: after[sha] for sha in before} == before, "an added question moves no other"


def test_without_a_seed_the_shares_of_sources_are_near_to_what_was_asked(unsplit):
    rows = [("question_id", "question", "expected_section", "evidence_span", "source")]
    rows += [(f"Q{i}", f"Unlike question {i} of {kind}?", "", "", kind) for kind in ("real", "generated") for i in range(50)]
    rows = [rows[0], *((f"{r[4]}-{r[0]}", *r[1:]) for r in rows[1:])]
    rows.append(("A", "When do tomatoes get their water?", "G1", "every morning before eight", "real"))
    with unsplit.questions.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    written = unsplit.ok("split", "--holdout", "0.3")
    for source in ("real", "generated"):
        row = written["by_source"][source]
        assert 13 <= row["holdout"] <= 17, "30 % of 50 is 15"


def test_questions_that_all_have_a_split_are_not_split(project):
    (error,) = project.refused("split", code=2)["errors"]
    assert error["what"] == "every question has a split in its own row"


def test_a_holdout_that_was_never_opened_is_not_retired(locked):
    (error,) = locked.refused("split", "--retire", code=2)["errors"]
    assert "no holdout of these questions was opened" in error["what"]


def test_a_retired_holdout_is_dev_and_what_is_added_is_the_new_holdout(opened):
    moved = [(i, q, s, "dev", e) for i, q, s, _, e in QUESTIONS]
    opened.write_questions(moved)
    (error,) = opened.refused("check", code=1)["errors"]
    assert "5 dev questions are of the holdout opened at" in error["what"]
    assert "harness split --retire" in error["fix"]
    assert opened.refused("sweep", "--fresh", code=2)["errors"] == [error]

    opened.write_questions(QUESTIONS)
    written = opened.ok("split", "--retire")
    assert written["retired"] == 5
    assert written["questions"] == {"dev": len(QUESTIONS), "holdout": 0}
    assert kept(opened, written["reference"]) == {"dev": len(QUESTIONS), "holdout": 0}

    fresh = [
        ("N1", "When are the shears sharpened?", "G3", "", "on the first Saturday of the month"),  # a section that dev knows
        ("N2", "What becomes of burnt bread?", "K1", "", "Burnt loaves are fed to the neighbour's hens."),  # so is this
        ("N3", "Does a tram stop near?", "", "", ""),
    ]
    opened.write_questions([*QUESTIONS, *fresh])
    assert kept(opened, written["reference"]) == {"dev": len(QUESTIONS) + 2, "holdout": 1}
    assert opened.ok("sweep", "--fresh")["trials"]["complete"] == 4


def test_the_split_is_shown_to_people_with_the_line_to_write(unsplit):
    ran = unsplit.run("split", "exp.toml")
    assert ran.code == 0
    assert '[data] split = "questions.split.json"' in ran.out
    assert "unanswerable" in ran.out


def test_without_any_holdout_there_is_no_lock_and_a_whole_run_says_so(unsplit):
    unsplit.configure(data={"split": {"holdout": 0.0, "seed": 7}})
    ran = unsplit.ok("run")
    assert ran["lock"] is None and ran["holdout"] is None
    assert ran["audit"] == {"thresholds": [], "findings": []}
    (error,) = unsplit.refused("lock")["errors"]
    assert error["what"].startswith("holdout = 0 leaves every question in dev")
    shown = unsplit.run("run", "exp.toml")
    assert shown.code == 0
    assert "not locked: every question is dev" in shown.out


def test_retiring_again_is_refused_with_the_file_that_did_it(opened):
    first = opened.ok("split", "--retire")["path"]
    refused = opened.refused("split", "--retire")
    assert refused["path"] == first


def test_after_a_retirement_the_lock_of_before_is_history_and_no_finding(opened):
    opened.configure(data={"split": opened.ok("split", "--retire")["reference"]})
    fresh = [(f"N{i}", f"Does tram {i} stop near?", "", "", "") for i in range(3)]
    opened.write_questions([*QUESTIONS, *fresh])
    opened.ok("sweep", "--fresh")
    opened.ok("lock")
    audited = opened.ok("audit")
    assert audited["findings"] == []
    assert [row["in_force"] for row in audited["thresholds"]] == [False, True]


def test_of_splits_that_are_written_at_once_one_is_and_the_others_are_refused(unsplit, monkeypatch):
    experiment = api.load(unsplit.root / "exp.toml").experiment
    ready = threading.Barrier(3)
    made = split_file._nearest_seed
    monkeypatch.setattr(split_file, "_nearest_seed", lambda *given: (made(*given), ready.wait())[0])

    def write(number: int) -> object:
        try:
            return split_file.write_split(experiment, 0.2 + number / 10, None, None).facts["digest"]
        except Refused as refused:
            return refused.record["holdout"]

    with ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(write, range(3)))
    (digest,) = [o for o in outcomes if isinstance(o, str)]
    written = json.loads((unsplit.root / "questions.split.json").read_text("utf-8"))
    assert written["digest"] == digest
    assert [o for o in outcomes if o != digest] == [written["holdout"]] * 2
