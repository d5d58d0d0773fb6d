"""The report (provisional)."""

from __future__ import annotations

from pathlib import Path

from harness.experiment import Experiment
from harness.state import State


def report(experiment: Experiment, out: Path | None = None, tracking_uri: str | None = None) -> Path:
    folder = out or State(experiment).report
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "index.html"
