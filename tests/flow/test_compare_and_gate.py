"""Two measured settings side by side, and the gate that CI asks: on real sweeps, through the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from flow_project import QUESTIONS, Project

COARSE_AND_FINE = {
    "sampler": "points",
    "trials": 2,
    "unit": "words",
    "points": [{"splitter": "words", "chunk_size": 40}, {"splitter": "words", "chunk_size": 4}],
    "baselines": [],
}


def lock_file(project: Project) -> str:
    return project.file.with_suffix(".lock.toml").name


def test_two_trials_are_compared_on_every_question_that_both_were_asked(project: Project) -> None:
    project.ok("sweep")

    found = project.run("compare", "exp.toml:0", "exp.toml:3", "--json")

    assert found.code == 0, found.err
    first, second = (json.loads(path.read_text("utf-8"))["evaluation"] for path in (project.results()[0], project.results()[3]))
    rows = {row["metric"]: row for row in found.json["metrics"]}
    hit = {side: {q["question_id"]: q["hit_rank"] == 1 for q in e["questions"] if q["answerable"]} for side, e in
           (("first", first), ("second", second))}  # fmt: skip
    assert found.json["questions"] == len(hit["first"]) == 9
    assert rows["hit_at_1"]["first"] == pytest.approx(first["metrics"]["hit_at_1"])
    assert rows["hit_at_1"]["second"] == pytest.approx(second["metrics"]["hit_at_1"])
    assert found.json["won"] == [q for q, is_hit in hit["second"].items() if is_hit and not hit["first"][q]]
    assert found.json["lost"] == [q for q, is_hit in hit["first"].items() if is_hit and not hit["second"][q]]
    assert rows["hit_at_1"]["won"] - rows["hit_at_1"]["lost"] == round(9 * rows["hit_at_1"]["difference"])
    assert found.json["costs"]["index_ratio"]["second"] == pytest.approx(second["metrics"]["index_ratio"])
    assert found.json["reliable"] is False, "nine questions are few"


def test_a_run_stands_for_its_trial_and_an_experiment_for_its_choice(project: Project) -> None:
    swept = project.ok("sweep")
    by_number = project.run("compare", f"exp.toml:{swept['chosen']['trial']}", "exp.toml:0", "--json").json
    by_run = project.run("compare", swept["chosen"]["run_id"], "exp.toml:0", "--json").json
    by_name = project.run("compare", "exp.toml", "exp.toml:0", "--json").json

    assert by_run == by_number == by_name


def test_experiments_are_compared_on_the_questions_that_they_share(project: Project) -> None:
    project.ok("sweep")
    other = Project(project.root / "other", project.root / "mlflow.db")
    other.write_questions([q for q in QUESTIONS if q[0] not in ("D03", "D05")])
    other.configure(embedder={"type": "term-frequency"})
    other.ok("sweep")

    found = project.run("compare", "exp.toml", "other/exp.toml", "--json").json

    assert found["questions"] == 7
    assert any("2 questions" in remark and "left out" in remark for remark in found["remarks"])
    assert any("two models" in remark for remark in found["remarks"])


def test_what_can_t_be_compared_is_named(project: Project) -> None:
    project.ok("sweep")
    for arguments, words in (
        (("exp.toml:77", "exp.toml"), "trial 77 is not a complete trial"),
        (("0" * 32, "exp.toml"), "no run of a trial has this id"),
        (("nowhere.toml", "exp.toml"), "no such experiment file"),
    ):
        ran = project.run("compare", *arguments, "--json")
        assert ran.code == 2
        assert words in ran.json["errors"][0]["what"]


def test_results_of_other_labels_are_not_compared(project: Project) -> None:
    project.ok("sweep")
    project.write_questions([(*q[:4], "Spades hang in the green shed.") if q[0] == "D04" else q for q in QUESTIONS])

    ran = project.run("compare", "exp.toml:0", "exp.toml:1", "--json")

    assert ran.code == 3
    assert "evidence changed since the sweep" in ran.json["errors"][0]["what"]


def test_the_gate_opens_for_the_locked_setting_and_shuts_for_a_measurably_worse_one(project: Project) -> None:
    project.configure(search=COARSE_AND_FINE)
    swept = project.ok("sweep")
    project.ok("lock")
    coarse, fine = swept["chosen"]["trial"], 1 - swept["chosen"]["trial"]

    same = project.run("gate", "exp.toml", "--baseline", lock_file(project), "--json")
    worse = project.run("gate", "exp.toml", "--baseline", lock_file(project), "--trial", str(fine), "--json")

    assert (same.code, same.json["worse"], same.json["candidate"]["trial"]) == (0, False, coarse)
    assert (worse.code, worse.json["worse"]) == (1, True)
    assert worse.json["lost"] >= 5
    assert worse.json["p_value"] <= 0.05
    assert worse.json["threshold_applies"] is False, "TF-IDF of other chunks is another scoring function"


def test_the_checked_in_file_alone_is_enough_for_the_gate(project: Project) -> None:
    project.configure(search=COARSE_AND_FINE)
    project.ok("sweep")
    project.ok("lock")
    shutil.rmtree(project.state)
    project.ok("sweep")

    found = project.ok("gate", "--baseline", lock_file(project))

    assert found["questions"] == 9
    assert found["difference"] == 0


def test_a_lock_is_known_by_its_id_in_its_project(project: Project) -> None:
    project.ok("sweep")
    lock_id = project.ok("lock")["lock_id"]

    assert project.ok("gate", "--baseline", lock_id) == project.ok("gate", "--baseline", lock_file(project))


def test_the_gate_takes_no_baseline_that_it_can_t_compare_with(project: Project, tmp_path: Path) -> None:
    project.ok("sweep")
    project.ok("lock")
    made = (project.root / lock_file(project)).read_text("utf-8")
    old, broken = tmp_path / "old.lock.toml", tmp_path / "broken.lock.toml"
    old.write_text(made.partition("[dev]")[0], "utf-8")
    broken.write_text("value = ", "utf-8")

    assert "no scores" in project.refused("gate", "--baseline", str(old))["errors"][0]["what"]
    assert "not a lock file" in project.refused("gate", "--baseline", str(broken), code=2)["errors"][0]["what"]
    assert "neither a file nor a lock" in project.refused("gate", "--baseline", "abc", code=2)["errors"][0]["what"]


def test_edited_scores_of_the_file_to_check_in_are_found_by_the_audit(project: Project) -> None:
    project.ok("sweep")
    project.ok("lock")
    path = project.root / lock_file(project)
    head, _, scores = path.read_text("utf-8").partition("[dev.scores]")
    path.write_text(head + "[dev.scores]" + scores.replace("= 1.0", "= 0.0", 1), "utf-8")

    found = project.refused("audit", code=1)

    assert any("scores" in f["what"] for f in found["findings"])


def test_scores_that_no_metric_can_have_are_refused(project: Project) -> None:
    project.ok("sweep")
    project.ok("lock")
    path = project.root / lock_file(project)
    made = path.read_text("utf-8")
    for score in ("nan", "inf", "7.0", "0.5", "-1.0"):
        path.write_text(made.replace("= 1.0\n", f"= {score}\n", 1), "utf-8")
        (error,) = project.refused("gate", "--baseline", path.name, code=2)["errors"]
        assert "1 score is no hit_at_1" in error["what"], score


def test_a_gate_that_could_show_no_loss_is_refused(project: Project) -> None:
    project.ok("sweep")
    project.ok("lock")
    made = (project.root / lock_file(project)).read_text("utf-8")
    head, _, scores = made.partition("hash\n")
    few = project.root / "few.lock.toml"
    few.write_text(head + "hash\n" + "\n".join(scores.splitlines()[:3]) + "\n", "utf-8")

    (error,) = project.refused("gate", "--baseline", few.name)["errors"]

    assert "could show no loss at all" in error["what"]


def test_labels_that_changed_since_the_lock_are_told(project: Project) -> None:
    project.ok("sweep")
    project.ok("lock")
    assert project.ok("gate", "--baseline", lock_file(project))["labels_changed"] is False
    project.write_questions([(*q[:4], "The chainsaw is locked away") if q[0] == "D04" else q for q in QUESTIONS])
    project.ok("sweep", "--fresh")

    assert project.ok("gate", "--baseline", lock_file(project))["labels_changed"] is True


def test_with_several_objectives_the_locked_setting_is_what_the_gate_looks_at(project: Project) -> None:
    project.configure(selection={"objective": ["hit_at_1", "index_ratio"]})
    project.ok("sweep")
    locked = project.ok("lock", "--point", "words 24/0")

    assert project.ok("gate", "--baseline", lock_file(project))["candidate"]["trial"] == locked["trial"]
