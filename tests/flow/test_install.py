"""The package as it is installed, outside of the checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
def test_an_installed_harness_works_without_the_checkout(tmp_path: Path) -> None:
    source, target, away = tmp_path / "source", tmp_path / "site", tmp_path / "away"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    shutil.copytree(ROOT / "harness", source / "harness", ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(source)]
    subprocess.run(pip, check=True, capture_output=True, timeout=300)
    shutil.copytree(ROOT / "data", away / "data")
    shutil.copytree(ROOT / "experiments", away / "experiments", ignore=shutil.ignore_patterns("*.lock.toml"))
    (away / "pyproject.toml").touch()
    environment = os.environ | {"PYTHONPATH": str(target)}
    where = "import harness; print(harness.__file__)"
    found = subprocess.run([sys.executable, "-c", where], cwd=away, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip().startswith(str(target))
    command = [sys.executable, "-m", "harness", "run", "experiments/four-windows.toml", "--json"]
    done = subprocess.run(command, cwd=away, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sweep"]["trials"] == {"complete": 4, "pruned": 0, "failed": 0}
    assert (away / ".harness" / "four-windows" / "report" / "index.html").stat().st_size > 10_000
