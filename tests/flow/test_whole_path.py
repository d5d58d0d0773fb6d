"""All verbs in their order on a small project: exit codes, JSON, and what stands on which stream."""

from __future__ import annotations

from pathlib import Path

from flow_project import HOLDOUT_WORD, QUESTIONS, SECTIONS, Project


def test_every_verb_in_order_ends_with_0_and_gives_the_keys_of_the_contract(project: Project) -> None:
    checked = project.ok("check")
    assert checked["documents"] == 3
    assert checked["questions"] == {"dev": 9, "holdout": 3, "unanswerable": {"dev": 3, "holdout": 2}}
    assert checked["errors"] == []
    assert checked["warnings"][0]["what"].startswith("only 9 answerable dev questions")
    assert checked["evidence"] == {"quotes": 13, "repeated": 0, "with_offset": 0}

    estimated = project.ok("estimate", "--price-per-million", "0.1")
    assert {(p["chunk_size"], p["overlap_ratio"]) for p in estimated["points"]} == {(12, 0.0), (12, 0.25), (24, 0.0), (24, 0.25)}
    assert estimated["tokens_per_pass"] > 100
    assert estimated["seconds"] >= 0
    assert estimated["bytes"] > 0
    assert estimated["price"] > 0

    swept = project.ok("sweep")
    assert swept["study"] == "small#1"
    assert swept["trials"] == {"complete": 4, "pruned": 0, "failed": 0}
    assert swept["leader"]["metrics"]["dev/hit_at_1"] >= max(r.data.metrics["dev/hit_at_1"] for r in project.runs("trial"))
    assert swept["chosen"]["params"].keys() == {"splitter", "chunk_size", "overlap_ratio", "overlap", "unit"}
    assert swept["chosen"]["run_id"] in {r.info.run_id for r in project.runs("trial")}
    assert swept["tokens"]["embedded"] == swept["tokens"]["full"] > 0
    assert isinstance(swept["diagnosis"], list)
    assert "workflowType=machine_learning" in swept["ui_url"]
    assert swept["run_id"] == project.runs("sweep")[0].info.run_id

    locked = project.ok("lock")
    assert locked["trial"] == swept["chosen"]["trial"]
    assert locked["params"] == swept["chosen"]["params"]
    assert locked["threshold"]["rule"] == "gap"
    assert 0 < locked["threshold"]["value"] < 1
    assert locked["embedder"]["name"].startswith("TF-IDF")
    assert len(locked["embedder"]["fingerprint"]) == len(locked["scoring_fingerprint"]) == 64
    assert len(locked["holdout_digest"]) == 64
    assert Path(locked["path"]) == project.root / "exp.lock.toml"
    assert str(locked["threshold"]["value"]) in Path(locked["path"]).read_text()

    opened = project.ok("holdout")
    assert opened["already_opened"] is False
    assert opened["lock_id"] == locked["lock_id"]
    assert opened["metrics"]["holdout/hit_at_1"] in (0, 1 / 3, 2 / 3, 1)
    assert (
        sum(opened["at_threshold"][o] for o in ("correct", "wrong", "false_answer", "rightly_abstained", "wrongly_abstained"))
        == 5
    )
    assert opened["at_threshold"]["threshold"] == locked["threshold"]["value"]
    assert opened["verdict"] in ("verified", "not verified", "too few to verify")
    assert opened["run_id"] == project.runs("holdout")[0].info.run_id

    audited = project.ok("audit")
    assert audited["findings"] == []
    (row,) = audited["thresholds"]
    assert row["value"] == locked["threshold"]["value"]
    assert row["fingerprint"] == locked["embedder"]["fingerprint"]
    assert (row["similarity"], row["lock_id"], row["run_id"]) == ("cosine", locked["lock_id"], swept["run_id"])
    assert row["status"] == opened["verdict"]

    assert Path(project.ok("report")["path"]).suffix == ".html"


def test_the_order_in_which_documents_stand_in_the_file_changes_nothing(project: Project) -> None:
    first = project.ok("sweep")
    project.write_sections(sorted(SECTIONS, key=lambda row: -ord(row[0][0])))
    assert project.ok("sweep") == first


def test_run_does_everything_and_run_again_shows_the_recorded_result(project: Project) -> None:
    first = project.run("run", "exp.toml", "--json")
    again = project.run("run", "exp.toml", "--json")

    assert (first.code, again.code) == (0, 0), again.err
    assert first.json.keys() >= {"sweep", "lock", "holdout", "audit", "report"}
    assert first.json["holdout"]["already_opened"] is False
    assert again.json["holdout"] == {**first.json["holdout"], "already_opened": True}
    assert again.json["lock"] == {**first.json["lock"], "existed": True}
    assert again.json["sweep"]["chosen"] == first.json["sweep"]["chosen"]
    assert len(project.runs("sweep")) == len(project.runs("holdout")) == 1
    assert len(project.runs("trial")) == 4


def test_run_tells_people_the_choice_its_figures_the_threshold_with_its_model_and_where_to_look(project: Project) -> None:
    ran = project.process("run", "exp.toml")

    assert ran.code == 0, ran.err
    assert "Traceback" not in ran.out + ran.err
    for shown in ("chosen", "dev", "holdout", "threshold", "TF-IDF", " ui --backend-store-uri", "http://127.0.0.1:5000/#/"):
        assert shown in ran.out
    assert "4 of 4: trial 3, words 24/6" in ran.err
    assert "INFO" not in ran.err, "no library logs"
    assert HOLDOUT_WORD not in ran.out + ran.err


def test_run_without_holdout_questions_ends_well_and_says_that_nothing_is_verified(project: Project) -> None:
    project.write_questions([q for q in QUESTIONS if q[3] == "dev"])

    ran = project.run("run", "exp.toml", "--json")

    assert ran.code == 0, ran.err
    assert ran.json["holdout"] is None
    assert "no holdout questions" in ran.err
    assert [t["status"] for t in ran.json["audit"]["thresholds"]] == ["no holdout"]


def test_a_process_prints_its_json_alone_on_standard_output_and_all_else_on_standard_error(project: Project) -> None:
    ran = project.process("sweep", "exp.toml", "--json")

    assert ran.code == 0, ran.err
    assert ran.json["trials"]["complete"] == 4
    assert "4 of 4: trial 3, words 24/6" in ran.err


def test_run_for_a_holdout_that_was_opened_under_another_experiment_ends_with_3(opened: Project) -> None:
    opened.configure(experiment={"name": "second"})

    ran = opened.run("run", "exp.toml", "--json")

    assert ran.code == 3
    assert ran.json["holdout"] is None
    assert len(opened.runs("holdout", "small")) == 1
    assert opened.runs("holdout", "second") == []


def test_an_experiment_in_a_folder_below_keeps_its_state_in_the_projects_root(project: Project) -> None:
    (project.root / "experiments").mkdir()
    moved = project.file.rename(project.root / "experiments" / "exp.toml")
    moved.write_text(
        moved.read_text().replace('"sections.csv"', '"../sections.csv"').replace('"questions.csv"', '"../questions.csv"')
    )

    ran = project.run("sweep", "experiments/exp.toml", "--json")

    assert ran.code == 0, ran.err
    assert len(project.results()) == 4
    assert not (moved.parent / ".harness").exists()
