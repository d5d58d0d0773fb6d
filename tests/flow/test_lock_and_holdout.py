"""The lock is frozen, and the holdout is opened once: by whomever, from wherever, under whatever name."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from flow_project import GRID, HOLDOUT_WORD, QUESTIONS, Project, finished


def locks(project: Project) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in (project.state / "small" / "locks").glob("*.json")}


def claims(project: Project) -> dict[str, bytes]:
    folder = project.state / "claims"
    return {p.name: p.read_bytes() for p in folder.glob("*")} if folder.exists() else {}


def another_trial(project: Project) -> str:
    chosen = json.loads(next(iter(locks(project).values())))["trial"]
    return "0" if chosen else "1"


def test_locking_again_changes_nothing(swept: Project) -> None:
    first = swept.ok("lock")
    before = {**swept.tree()}
    again = swept.ok("lock")
    assert again == {**first, "existed": True}
    assert first["existed"] is False
    assert swept.tree() == before


def test_the_file_to_check_in_holds_the_number_beside_its_model_and_scoring_function(locked: Project) -> None:
    (lock,) = (json.loads(content) for content in locks(locked).values())
    small = tomllib.loads((locked.root / "exp.lock.toml").read_text())
    assert small["threshold"]["value"] == lock["threshold"]["value"]
    assert small["model"]["name"] == lock["embedder"]["name"]
    assert small["model"]["fingerprint"] == lock["threshold"]["embedder_fingerprint"]
    assert small["scoring"] == {"similarity": "cosine", "fingerprint": lock["scoring_fingerprint"]}
    assert small["lock"]["id"] == Path(next(iter(locks(locked)))).stem
    assert set(lock["threshold"]["distributions"]) == {"positives", "wrong_first_chunks", "unanswerable", "irrelevant_chunks"}


def test_another_trial_needs_a_reason_which_is_recorded_wherever_the_lock_is(locked: Project) -> None:
    other = another_trial(locked)
    refused = locked.refused("lock", "--trial", other, code=2)
    assert refused["errors"][0]["where"] == "--because"
    assert len(locks(locked)) == 1

    made = locked.ok("lock", "--trial", other, "--because", 'the "indexing" budget')

    assert (made["trial"], made["because"]) == (int(other), 'the "indexing" budget')
    assert len(locks(locked)) == 2
    assert tomllib.loads((locked.root / "exp.lock.toml").read_text())["lock"]["because"] == 'the "indexing" budget'
    assert [t["in_force"] for t in locked.ok("audit")["thresholds"]].count(True) == 1


def test_a_trial_that_does_not_exist_can_not_be_locked(swept: Project) -> None:
    (error,) = swept.refused("lock", "--trial", "17", "--because", "it is a prime", code=2)["errors"]
    assert "complete are: 0, 1, 2, 3" in error["fix"]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("corpus", "The dough rises for twelve hours", "The dough rises for eleven hours"),
        ("evidence", "the mill in Altdorf.", "the mill in Altdorf"),
        ("dev questions", "Where does the flour come from?", "Whence the flour?"),
    ],
)
def test_a_lock_is_refused_after_corpus_or_labels_changed(swept: Project, name: str, old: str, new: str) -> None:
    file = swept.sections if name == "corpus" else swept.questions
    file.write_bytes(file.read_bytes().replace(old.encode(), new.encode()))
    (error,) = swept.refused("lock")["errors"]
    assert name in error["what"]
    assert "changed since the sweep" in error["what"]
    assert locks(swept) == {}
    assert not (swept.root / "exp.lock.toml").exists()


def test_the_holdout_is_refused_a_second_time_with_the_recorded_result(locked: Project) -> None:
    first = locked.ok("holdout")
    before = locked.tree()
    again = locked.refused("holdout")
    assert {k: v for k, v in again.items() if k != "errors"} == {**first, "already_opened": True}
    (error,) = again["errors"]
    assert first["lock_id"] in error["what"]
    assert locked.tree() == before


def test_people_are_told_the_recorded_result_too(opened: Project) -> None:
    ran = opened.run("holdout", "exp.toml")
    assert ran.code == 3
    assert "it was opened by" in ran.err
    assert "hit@1" in ran.out + ran.err, "the recorded result"


def test_another_process_is_refused_with_the_recorded_result(opened: Project) -> None:
    ran = opened.process("holdout", "exp.toml", "--json")
    assert ran.code == 3
    assert ran.json["already_opened"] is True
    assert ran.json["metrics"] == {k: v for k, v in opened.runs("holdout")[0].data.metrics.items() if "gate_" not in k}


def test_another_file_name_of_the_same_questions_does_not_open_them_again(opened: Project) -> None:
    opened.questions.rename(opened.root / "other.csv")
    opened.configure(data={"questions": "other.csv"})
    assert opened.refused("holdout")["already_opened"] is True


def test_the_same_questions_in_other_case_spacing_and_order_do_not_open_them_again(opened: Project) -> None:
    held = [(q[0] + "x", q[1].upper().replace(" ", "  "), *q[2:]) for q in QUESTIONS if q[3] == "holdout"]
    opened.write_questions([*held[::-1], *(q for q in QUESTIONS if q[3] == "dev")])
    assert opened.refused("holdout")["already_opened"] is True


def test_another_experiment_name_does_not_open_them_again(opened: Project) -> None:
    opened.configure(experiment={"name": "second"})
    opened.ok("sweep")
    opened.ok("lock")
    again = opened.refused("holdout")
    assert again["already_opened"] is True
    assert "of 'small'" in again["errors"][0]["what"]
    assert opened.runs("holdout", "second") == []


def test_another_lock_does_not_open_them_again_and_is_shown_as_not_verified(opened: Project) -> None:
    opened.ok("lock", "--trial", another_trial(opened), "--because", "a second thought")
    assert opened.refused("holdout")["already_opened"] is True
    statuses = [t["status"] for t in opened.ok("audit")["thresholds"]]
    assert len([s for s in statuses if s.startswith("not verified: the holdout was opened for lock")]) == 1


def test_another_clone_that_shares_the_mlflow_store_does_not_open_them_again(opened: Project, tmp_path: Path) -> None:
    clone = Project(tmp_path / "clone", None)
    shared = ("--tracking-uri", opened.tracking_uri)
    clone.ok("sweep", *shared)
    clone.ok("lock", "--trial", another_trial(opened), "--because", "another choice")
    again = clone.refused("holdout", *shared)
    assert again["already_opened"] is True
    assert again["metrics"] == opened.runs("holdout")[0].data.metrics
    assert len(opened.runs("holdout")) == 1


def test_holdout_questions_edited_after_the_lock_are_refused_before_a_claim(locked: Project) -> None:
    edited = [(q[0], q[1].replace("Danish", "Finnish"), *q[2:]) for q in QUESTIONS]
    locked.write_questions(edited)
    (error,) = locked.refused("holdout")["errors"]
    assert "holdout: locked" in error["what"]
    assert claims(locked) == {}
    locked.write_questions(QUESTIONS)
    assert locked.ok("holdout")["already_opened"] is False


def test_holdout_questions_edited_after_the_opening_are_foreign_to_the_lock_that_opened_it(opened: Project) -> None:
    opened.write_questions([(q[0], q[1].replace("Danish", "Finnish"), *q[2:]) for q in QUESTIONS])
    opened.refused("holdout")
    assert len(opened.runs("holdout")) == 1


def test_an_edited_question_and_a_new_lock_do_not_open_the_others_again(opened: Project, tmp_path: Path) -> None:
    opened.write_questions([(q[0], q[1].replace("Danish", "Finnish"), *q[2:]) for q in QUESTIONS])
    opened.ok("lock")
    again = opened.refused("holdout")
    assert (again["seen"], again["already_opened"]) == (4, True)
    assert "4 of its 5 questions were in a holdout opened at" in again["errors"][0]["what"]
    shutil.rmtree(opened.state / "claims")  # the store knows as well
    assert opened.refused("holdout")["seen"] == 4
    assert len(opened.runs("holdout")) == 1


def test_fresh_questions_open_after_another_holdout_was(opened: Project) -> None:
    fresh = [q if q[3] == "dev" else (f"{q[0]}b", f"And then, {q[1].lower()}", *q[2:]) for q in QUESTIONS]
    opened.write_questions(fresh)
    opened.ok("lock")
    assert opened.ok("holdout")["already_opened"] is False
    assert len(opened.runs("holdout")) == 2


def test_holdout_evidence_edited_after_the_lock_is_refused_before_a_claim(locked: Project) -> None:
    locked.write_questions([(*q[:4], q[4].replace("keeps three weeks in the fridge.", "keeps three weeks")) for q in QUESTIONS])
    (error,) = locked.refused("holdout")["errors"]
    assert "holdout labels: locked" in error["what"]
    assert claims(locked) == {}


def test_a_lock_made_again_is_in_force_again_and_the_one_that_is_opened(locked: Project) -> None:
    first = locked.ok("lock")
    second = locked.ok("lock", "--trial", another_trial(locked), "--because", "a second thought")
    assert locked.ok("lock")["lock_id"] == first["lock_id"] != second["lock_id"]
    assert {t["lock_id"]: t["in_force"] for t in locked.ok("audit")["thresholds"]} == {
        first["lock_id"]: True,
        second["lock_id"]: False,
    }
    assert locked.ok("holdout")["lock_id"] == first["lock_id"]


def test_run_keeps_a_lock_that_was_made_by_hand(locked: Project) -> None:
    by_hand = locked.ok("lock", "--trial", another_trial(locked), "--because", "a second thought")
    done = locked.ok("run")
    assert done["lock"]["lock_id"] == by_hand["lock_id"] == done["holdout"]["lock_id"]


@pytest.mark.parametrize(
    ("changes", "name"),
    [({"embedder": {"type": "term-frequency"}}, "embedder"), ({"embedder": {"similarity": "dot"}}, "similarity")],
)
def test_a_foreign_model_is_refused_naming_both_and_claims_nothing(locked: Project, changes: dict[str, Any], name: str) -> None:
    (lock,) = (json.loads(content) for content in locks(locked).values())
    before = locked.tree()
    locked.configure(**changes)
    (error,) = locked.refused("holdout")["errors"]
    was, is_now = (lock["threshold"]["embedder_fingerprint"][:16], "found ") if name == "embedder" else ("cosine", "found dot")
    assert f"{name}: locked {was}" in error["what"]
    assert is_now in error["what"]
    assert claims(locked) == {}
    assert not [e for e in locked.client().search_experiments() if e.name.startswith("holdout claim")]
    after = locked.tree()
    assert {k for k in before if before[k] != after[k]} <= {"exp.toml", "mlflow.db"}
    locked.configure(embedder={"type": "tfidf", "similarity": "cosine"})
    assert locked.ok("holdout")["already_opened"] is False


def test_a_changed_corpus_is_refused_before_a_claim(locked: Project) -> None:
    locked.sections.write_bytes(locked.sections.read_bytes().replace(b"twelve hours", b"eleven hours"))
    (error,) = locked.refused("holdout")["errors"]
    assert "corpus: locked" in error["what"]
    assert claims(locked) == {}


def test_without_holdout_questions_there_is_nothing_to_open(project: Project) -> None:
    project.write_questions([q for q in QUESTIONS if q[3] == "dev"])
    project.ok("sweep")
    assert project.ok("lock")["holdout_digest"] == "none"
    assert "no holdout questions" in project.refused("holdout", code=2)["errors"][0]["what"]


def test_the_threshold_is_applied_to_the_holdout_and_not_tuned_on_it(locked: Project) -> None:
    tuned = tomllib.loads((locked.root / "exp.lock.toml").read_text())["threshold"]["value"]
    assert locked.ok("holdout")["at_threshold"]["threshold"] == tuned
    assert tomllib.loads((locked.root / "exp.lock.toml").read_text())["threshold"]["value"] == tuned


def test_of_eight_processes_that_open_one_holdout_one_does_and_seven_are_refused(locked: Project) -> None:
    racers = [locked.start("holdout", "exp.toml", "--json") for _ in range(8)]
    ran = [finished(r) for r in racers]
    assert sorted(r.code for r in ran) == [0, 3, 3, 3, 3, 3, 3, 3], [r.err for r in ran]
    assert len(locked.runs("holdout")) == 1
    assert locked.runs("holdout")[0].info.status == "FINISHED"
    assert HOLDOUT_WORD not in "".join(r.out for r in ran)
    assert len(claims(locked)) == 2, "a claim and a record"


def test_the_trial_of_a_study_begun_anew_can_be_locked_but_not_opened_twice(opened: Project) -> None:
    opened.configure(search={**GRID, "chunk_size": [16, 32]})
    opened.ok("sweep", "--fresh")
    made = opened.ok("lock")
    assert made["params"]["chunk_size"] in (16, 32)
    assert opened.refused("holdout")["already_opened"] is True


def test_a_lost_record_does_not_open_the_holdout_again(opened: Project) -> None:
    shutil.rmtree(opened.state / "claims")
    again = opened.refused("holdout")
    assert again["already_opened"] is True
    assert again["metrics"] == opened.runs("holdout")[0].data.metrics


def test_a_copy_of_the_project_can_neither_open_again_nor_finish_what_the_other_began(locked: Project, tmp_path: Path) -> None:
    store = ("--tracking-uri", locked.tracking_uri)
    shutil.copytree(locked.root, tmp_path / "copy")
    copy = Project(tmp_path / "copy", None)
    locked.ok("holdout")
    again = copy.refused("holdout", *store)
    assert again["metrics"] == locked.runs("holdout")[0].data.metrics
    assert len(locked.runs("holdout")) == 1


def test_run_does_not_take_another_locks_holdout_for_its_own(opened: Project) -> None:
    opened.configure(selection={"key": ["chunks"]})
    ran = opened.run("run", "exp.toml", "--json")
    assert ran.code == 3
    assert ran.json["holdout"]["lock_id"] != ran.json["lock"]["lock_id"]
    shown = opened.run("run", "exp.toml")
    assert f"of lock {ran.json['holdout']['lock_id']}, not of this one" in shown.out


def test_an_edited_lock_opens_nothing(locked: Project) -> None:
    (path,) = (locked.state / "small" / "locks").glob("*.json")
    path.write_text(path.read_text().replace('"value": 0.', '"value": 1.', 1))
    (error,) = locked.refused("holdout")["errors"]
    assert "the lock was edited" in error["what"]
    assert claims(locked) == {}


def test_another_embedder_than_the_sweeps_can_not_be_locked(swept: Project) -> None:
    swept.configure(embedder={"type": "term-frequency"})
    (error,) = swept.refused("lock")["errors"]
    assert "embedder fingerprint changed since the sweep" in error["what"]


def test_a_holdout_of_unanswerable_questions_only_is_shown_without_figures_that_it_lacks(project: Project) -> None:
    project.write_questions([q for q in QUESTIONS if q[3] == "dev" or not q[4]])
    project.ok("sweep")
    project.ok("lock")
    ran = project.run("holdout", "exp.toml")
    assert ran.code == 0, ran.err
    assert "hit@1 undefined" in ran.out
    assert "MRR undefined" in ran.out
