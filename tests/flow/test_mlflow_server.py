"""A real `mlflow server` as tracking store, and what happens when it dies in the middle of a sweep."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flow_project import GRID, Project, Server, finished, wait_until

pytestmark = pytest.mark.slow


def client_of(server: Server) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=server.uri)


def test_everything_works_with_a_server_as_store(project: Project, mlflow_server: Callable[..., Server], tmp_path: Path) -> None:
    server = mlflow_server()
    client = client_of(server)
    tracking = ("--tracking-uri", server.uri)

    swept = project.ok("sweep", *tracking)
    project.ok("lock")
    opened = project.ok("holdout", *tracking)

    assert swept["ui_url"].startswith(f"{server.uri}/#/experiments/")
    assert swept["ui_command"] is None
    assert len(project.runs("trial", client=client)) == 4
    assert client.get_run(opened["run_id"]).data.metrics["holdout/mrr"] == opened["metrics"]["holdout/mrr"]
    table = client.download_artifacts(swept["chosen"]["run_id"], "ranked_chunks.json", str(tmp_path))
    assert "text" in json.loads(Path(table).read_text())["columns"]
    assert project.ok("audit", *tracking)["findings"] == []
    assert project.refused("holdout", *tracking)["already_opened"] is True
    assert project.runs() == [], "nothing went to the project's own store"
    assert project.run("run", "exp.toml", *tracking).code == 0


def test_a_server_that_dies_in_the_middle_costs_no_result_and_no_run_is_logged_twice(
    project: Project, mlflow_server: Callable[..., Server]
) -> None:
    server = mlflow_server()
    project.configure(search={**GRID, "chunk_size": [8, 12, 16, 20, 24, 28], "overlap_ratio": [0.0], "trials": 6})
    quick = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "0"}
    process = project.start("sweep", "exp.toml", "--json", "--tracking-uri", server.uri, **quick)
    wait_until(lambda: len(project.results()) >= 2)
    server.stop(signal.SIGKILL)

    ran = finished(process)

    assert ran.code == 2, ran.err
    (error,) = ran.json["errors"]
    assert error["where"] == server.uri
    assert "does not answer" in error["what"]
    assert "results are on disk" in error["fix"]
    assert "Traceback" not in ran.err
    kept = {p.name: p.read_bytes() for p in project.results()}
    assert len(kept) == 6, "the sweep went on without the server"

    mlflow_server(port=server.port)
    found = project.ok("sweep", "--tracking-uri", server.uri)

    assert found["trials"]["complete"] == 6
    assert {p.name: p.read_bytes() for p in project.results()} == kept
    runs = project.runs("trial", client=client_of(server))
    assert Counter(r.data.tags["harness.trial"] for r in runs if r.info.status == "FINISHED") == Counter(map(str, range(6)))
    assert not [r for r in project.runs(client=client_of(server)) if r.info.status == "RUNNING"]
    assert len(project.runs("sweep", client=client_of(server))) == 1
    assert client_of(server).get_run(found["run_id"]).info.status == "FINISHED"


def test_a_holdout_is_not_claimed_when_the_store_does_not_answer_and_not_lost_when_it_dies_later(
    project: Project, mlflow_server: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    server = mlflow_server()
    tracking = ("--tracking-uri", server.uri)
    project.ok("sweep", *tracking)
    project.ok("lock")
    server.stop()
    project.refused("holdout", *tracking, code=2)
    assert not (project.state / "claims").exists()

    server = mlflow_server(port=server.port)
    from harness.tracking import Tracker

    real = Tracker.log_holdout

    def dies_before(self: Tracker, *args: Any, **kwargs: Any) -> str:
        server.stop(signal.SIGKILL)
        return real(self, *args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(Tracker, "log_holdout", dies_before)
        project.refused("holdout", *tracking, code=2)
    assert len(list((project.state / "claims").glob("*.result.json"))) == 1, "the result is on disk"

    mlflow_server(port=server.port)
    again = project.refused("holdout", *tracking)
    assert again["already_opened"] is True
    assert [r.info.run_id for r in project.runs("holdout", client=client_of(server))] == [again["run_id"]]
    assert project.ok("audit", *tracking)["findings"] == []
