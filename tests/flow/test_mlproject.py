"""The project as `mlflow run` sees it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mlflow import MlflowClient

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what an MLflow project run needs."""
    for name in ("MLproject", "conda.yaml", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("harness", "experiments", "data"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.lock.toml"))
    return tmp_path


def mlflow_run(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_")}
    environment |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "MLFLOW_DISABLE_TELEMETRY": "true"}
    command = [sys.executable, "-m", "mlflow", "run", ".", "--env-manager", "local", "--experiment-name", "four", *arguments]
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_the_entry_points_sweep_lock_open_and_audit_under_one_mlflow_experiment(checkout: Path) -> None:
    four = ("-P", "experiment=experiments/four-windows.toml")
    swept = mlflow_run(checkout, "-e", "sweep", *four, "-P", "trials=3")
    assert swept.returncode == 0, swept.stderr
    for entry in ("lock", "holdout", "audit"):
        done = mlflow_run(checkout, "-e", entry, *four)
        assert done.returncode == 0, (entry, done.stderr)
    client = MlflowClient(f"sqlite:///{checkout / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("four")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    by_kind = {kind: [r for r in runs if r.data.tags.get("harness.kind") == kind] for kind in ("sweep", "trial", "holdout")}
    (parent,) = by_kind["sweep"]
    assert parent.data.params["trials"] == "3"  # what `mlflow run` logged: its run became the parent
    assert [r.data.tags["mlflow.parentRunId"] for r in by_kind["trial"]] == [parent.info.run_id] * 3
    assert len(by_kind["holdout"]) == 1
    assert {r.info.status for r in runs} == {"FINISHED"}


def test_every_entry_point_of_the_readme_exists() -> None:
    import yaml

    entries = yaml.safe_load((ROOT / "MLproject").read_text("utf-8"))["entry_points"]
    assert set(entries) == {"main", "sweep", "lock", "holdout", "audit", "test"}
    conda = yaml.safe_load((ROOT / "conda.yaml").read_text("utf-8"))
    assert [d for d in conda["dependencies"] if isinstance(d, dict)] == [{"pip": ["-e .[test]"]}]
