"""What a sweep leaves in MLflow: names, datasets and artifacts, and only the text that `[tracking] text` allows."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from flow_project import GRID, HOLDOUT_WORD, SECTIONS, Project

METRICS = {
    *(f"dev/{name}_at_{k}" for name in ("hit", "recall") for k in (1, 3)),
    *("dev/mrr", "dev/section_hit_at_1", "dev/char_recall_at_5", "dev/char_precision_at_5", "dev/char_iou_at_5"),
    *("dev/precision_omega", "dev/ceiling", "index_ratio", "chunks", "mean_chunk_size", "context_at_3", "truncated_share"),
    *("tokens_embedded", "truncated_tokens", "index_bytes", "oversize_share", "undersize_share", "mean_overlap"),
    *(f"chunk_size_{name}" for name in ("p05", "p50", "p95", "max")),
}
TAGS = {
    *("embedder.name", "embedder.fingerprint", "scoring.fingerprint", "scoring.similarity", "corpus.sha256"),
    *("questions.dev.sha256", "questions.holdout.sha256", "chunking.sha256", "code.version"),
    *("mlflow.user", "mlflow.source.name", "mlflow.source.type", "mlflow.parentRunId"),
}


def artifact(project: Project, run_id: str, name: str, tmp_path: Path, client: Any = None) -> Any:
    client = client or project.client()
    return json.loads(Path(client.download_artifacts(run_id, name, str(tmp_path))).read_text("utf-8"))


def rows(table: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]


def test_every_trial_has_the_params_metrics_and_tags_of_the_contract(swept: Project) -> None:
    runs = swept.runs("trial")
    assert len(runs) == 4
    for run in runs:
        assert run.data.params.keys() == {"splitter", "chunk_size", "overlap_ratio", "overlap", "unit"}
        assert run.data.metrics.keys() >= METRICS
        assert all(name.startswith("seconds_") for name in run.data.metrics.keys() - METRICS)
        assert run.data.tags.keys() >= TAGS
        assert run.info.status == "FINISHED"
        assert run.info.end_time >= run.info.start_time
    first = runs[1].data
    assert first.params == {"splitter": "words", "chunk_size": "12", "overlap_ratio": "0.25", "overlap": "3", "unit": "words"}
    assert len({r.data.tags["chunking.sha256"] for r in runs}) == 4
    for tag in (
        "embedder.fingerprint",
        "scoring.fingerprint",
        "corpus.sha256",
        "questions.dev.sha256",
        "questions.holdout.sha256",
    ):
        assert len(first.tags[tag]) == 64


def test_datasets_carry_the_harness_own_digests(swept: Project) -> None:
    tags = swept.runs("trial")[0].data.tags
    for run in (*swept.runs("trial"), *swept.runs("sweep")):
        found = {i.dataset.name: i.dataset.digest for i in run.inputs.dataset_inputs}
        assert found == {"corpus": tags["corpus.sha256"][:36], "questions": tags["questions.dev.sha256"][:36]}


def test_every_ranked_chunk_up_to_the_largest_k_is_logged_with_its_score(swept: Project, tmp_path: Path) -> None:
    run = swept.runs("trial")[0]
    ranked = rows(artifact(swept, run.info.run_id, "ranked_chunks.json", tmp_path))
    by_question: dict[str, list[dict[str, Any]]] = {}
    for row in ranked:
        by_question.setdefault(row["question_id"], []).append(row)
    assert "D01" in by_question
    assert max(len(r) for r in by_question.values()) == 5, "character measures look at five"
    for found in by_question.values():
        assert [r["rank"] for r in found] == list(range(1, len(found) + 1))
        assert [r["score"] for r in found] == sorted((r["score"] for r in found), reverse=True)
        assert found[0]["score"] > 0
    texts = {d: "\n\n".join(f"{h}. {t}" for doc, _, h, t in SECTIONS if doc == d) for d in ("garden", "kitchen", "workshop")}
    assert all(r["text"] == texts[r["document_id"]][r["start"] : r["end"]] for r in ranked)
    complete_first = {q for q, found in by_question.items() if found[0]["complete"]}
    assert len(complete_first) == round(run.data.metrics["dev/hit_at_1"] * 9)


def test_every_miss_is_logged_with_its_cause(swept: Project, tmp_path: Path) -> None:
    for run in swept.runs("trial"):
        misses = rows(artifact(swept, run.info.run_id, "misses.json", tmp_path))
        assert len(misses) == 9 - round(run.data.metrics["dev/hit_at_1"] * 9)
        assert {m["cause"] for m in misses} <= {"cut", "outranked", "truncated", "no match"}
        assert all(m["evidence"] and m["question"] for m in misses)
    small, large = (artifact(swept, swept.runs("trial")[i].info.run_id, "misses.json", tmp_path) for i in (0, 3))
    assert [m["cause"] for m in rows(small)].count("cut") > [m["cause"] for m in rows(large)].count("cut")


def test_the_embedder_is_an_artifact_with_its_environment_beside_it(swept: Project, tmp_path: Path) -> None:
    for run in swept.runs():
        identity = artifact(swept, run.info.run_id, "embedder.json", tmp_path)
        assert identity["fingerprint"] == run.data.tags["embedder.fingerprint"]
        assert identity["type"] == "tfidf"
        assert "scikit-learn" in identity["beside"]
        assert "scikit-learn" not in json.dumps(identity["parts"])


def test_the_sweeps_run_tells_the_answer(swept: Project) -> None:
    (parent,) = swept.runs("sweep")
    note = parent.data.tags["mlflow.note.content"]
    assert parent.info.status == "FINISHED"
    assert "Which window?" in note
    assert "Chosen: **words" in note
    assert {r.data.tags["mlflow.parentRunId"] for r in swept.runs("trial")} == {parent.info.run_id}


@pytest.mark.parametrize("text", ["spans", "none"])
def test_no_text_of_corpus_or_questions_reaches_mlflow_when_it_should_not(project: Project, text: str, tmp_path: Path) -> None:
    project.configure(tracking={"text": text})
    for verb in ("sweep", "lock", "holdout"):
        project.ok(verb)

    words = [b"chainsaw", b"Altdorf", b"linseed", b"swimming", HOLDOUT_WORD.encode()]
    artifacts = {n: c for n, c in project.tree().items() if "/artifacts/" in n or n == "mlflow.db"}
    assert len(artifacts) > 5
    assert [(name, word) for name, content in artifacts.items() for word in words if word in content] == []
    tables = [n for n in artifacts if n.endswith("ranked_chunks.json")]
    assert len(tables) == (5 if text == "spans" else 0)
    if text == "spans":
        run_id = project.runs("trial")[0].info.run_id
        row = rows(artifact(project, run_id, "ranked_chunks.json", tmp_path))[0]
        assert row.keys() == {"question_id", "rank", "score", "document_id", "start", "end", "sections", "complete"}


def test_with_text_full_the_same_search_finds_the_words(swept: Project) -> None:
    artifacts = [c for n, c in swept.tree().items() if "/artifacts/" in n]
    assert any(b"chainsaw" in content for content in artifacts)


def test_the_holdouts_run_has_its_own_metrics_threshold_and_tables(opened: Project, tmp_path: Path) -> None:
    (run,) = opened.runs("holdout")
    assert {f"holdout/{m.removeprefix('dev/')}" for m in METRICS if m.startswith("dev/")} <= run.data.metrics.keys()
    assert float(run.data.params["threshold"]) == opened.ok("audit")["thresholds"][0]["value"]
    assert {r["question_id"][0] for r in rows(artifact(opened, run.info.run_id, "ranked_chunks.json", tmp_path))} == {"H"}


def test_a_given_run_becomes_the_sweeps_run_and_is_not_passed_on(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    client = project.client()
    given = client.create_run(client.create_experiment("by mlflow run"), run_name="main").info.run_id
    monkeypatch.setenv("MLFLOW_RUN_ID", given)

    assert project.ok("sweep")["run_id"] == given

    assert "MLFLOW_RUN_ID" not in os.environ
    assert client.get_run(given).info.status == "FINISHED"
    children = project.runs("trial", "by mlflow run")
    assert {r.data.tags["mlflow.parentRunId"] for r in children} == {given}
    assert len(children) == 4
    for verb in ("lock", "holdout", "audit"):
        project.ok(verb)


def test_a_second_given_run_points_to_the_sweep_that_was_resumed(swept: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    client = swept.client()
    given = client.create_run(swept.runs("sweep")[0].info.experiment_id).info.run_id
    monkeypatch.setenv("MLFLOW_RUN_ID", given)
    parent = swept.runs("sweep")[0].info.run_id

    assert swept.ok("sweep")["run_id"] == parent

    assert client.get_run(given).data.tags["harness.sweep_run_id"] == parent
    assert client.get_run(given).info.status == "FINISHED"


def test_telemetry_is_off_unless_asked_for_and_mlflow_is_loaded_after_that(project: Project) -> None:
    code = """
import builtins
real = builtins.__import__
def watched(name, *args, **kwargs):
    if name.partition(".")[0] == "mlflow" and not hasattr(builtins, "seen"):
        builtins.seen = os.environ.get("MLFLOW_DISABLE_TELEMETRY")
        print("telemetry disabled:", builtins.seen, file=sys.stderr)
    return real(name, *args, **kwargs)
builtins.__import__ = watched
"""
    script = project.driver("watch.py", code)
    assert "telemetry disabled: true" in project.process("sweep", "exp.toml", script=script).err
    asked = project.process("sweep", "exp.toml", script=script, MLFLOW_DISABLE_TELEMETRY="false")
    assert "telemetry disabled: false" in asked.err


def test_the_environment_names_the_store_and_the_option_beats_it(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere, option = (f"sqlite:///{project.root / name}" for name in ("elsewhere.db", "option.db"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", elsewhere)
    assert elsewhere in project.ok("sweep")["ui_command"]
    assert project.runs() == []
    assert option in project.ok("sweep", "--tracking-uri", option)["ui_command"]


def test_hit_rates_need_not_include_the_first(project: Project) -> None:
    project.configure(scoring={"k": [2, 4]}, selection={"key": ["hit_at_2", "mrr"]}, search={**GRID, "chunk_size": [12]})
    ran = project.run("run", "exp.toml", "--json")
    assert ran.code == 0, ran.err
    assert project.run("sweep", "exp.toml").code == 0
