"""Fixtures of the end-to-end tests: a small project at each stage of its life, and the servers that some need."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flow_project import Project, Server, answers, free_port, wait_until


@pytest.fixture(autouse=True, scope="session")
def heed_interrupts() -> None:
    """A shell without job control has what it starts in the background ignore Ctrl-C, and so all that is started by that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_mlflow_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own MLflow settings stay out of the tests."""
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT_ID", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def empty_mlflow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An MLflow database with its tables and nothing in it."""
    path = tmp_path_factory.mktemp("empty") / "mlflow.db"
    code = f"from mlflow import MlflowClient; MlflowClient(tracking_uri='sqlite:///{path}').search_experiments()"
    env = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=env)
    return path


@pytest.fixture
def bare(tmp_path: Path) -> Project:
    """A project in which nothing was run, without an MLflow database."""
    return Project(tmp_path / "project", None)


@pytest.fixture
def project(tmp_path: Path, empty_mlflow: Path) -> Project:
    """A project in which nothing was run, with an empty MLflow database."""
    return Project(tmp_path / "project", empty_mlflow)


@pytest.fixture
def swept(project: Project) -> Project:
    """A project after its sweep."""
    project.ok("sweep")
    return project


@pytest.fixture
def locked(swept: Project) -> Project:
    """A project after sweep and lock."""
    swept.ok("lock")
    return swept


@pytest.fixture
def opened(locked: Project) -> Project:
    """A project after sweep, lock and holdout."""
    locked.ok("holdout")
    return locked


@pytest.fixture
def mlflow_server(tmp_path: Path, empty_mlflow: Path) -> Iterator[Callable[..., Server]]:
    """Starts `mlflow server` (or `ui`) on a SQLite store; the same call again starts it anew on the same port."""
    started: list[Server] = []

    def start(store: Path | None = None, port: int | None = None, verb: str = "server") -> Server:
        port = port or free_port()
        if store is None:
            store = tmp_path / "server" / "mlflow.db"
            if not store.exists():
                store.parent.mkdir()
                shutil.copy(empty_mlflow, store)
        env = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
        command = [sys.executable, "-m", "mlflow", verb, "--backend-store-uri", f"sqlite:///{store}"]
        command += ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
        command += ["--artifacts-destination", str(store.parent / "served")] if verb == "server" else []
        log = (store.parent / "server.log").open("ab")
        process = subprocess.Popen(command, cwd=store.parent, env=env, stdout=log, stderr=log, start_new_session=True)
        server = Server(process, port)
        started.append(server)
        wait_until(lambda: answers(port) or process.poll() is not None, 90, 0.1)
        assert process.poll() is None, (store.parent / "server.log").read_text()[-2000:]
        return server

    yield start
    for server in started:
        server.stop(signal.SIGKILL)
