"""A small project to run verbs in: corpus, questions and experiment file written by the test, no network, no model."""

# ruff: noqa: E501 - a section a line and a question a line are easier to read

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.__main__ import _run

HOLDOUT_WORD = "quokka"  # stands in holdout questions and nowhere else

SECTIONS = [
    ("garden", "G1", "Watering", "Tomatoes are watered every morning before eight. In a heat wave the beds get a second round at dusk. Nobody waters the cacti between October and March because their roots rot in wet soil."),
    ("garden", "G2", "Compost", "Kitchen scraps go into the left bin. Citrus peel and meat stay out of the compost because they attract rats. A full bin rests for nine months before its soil is spread on the beds."),
    ("garden", "G3", "Tools", "Spades hang in the green shed. The chainsaw is locked away and only Marta keeps the key. Blunt shears are sharpened on the first Saturday of the month."),
    ("kitchen", "K1", "Bread", "The dough rises for twelve hours in the cellar. Rye loaves bake at two hundred degrees for fifty minutes. Burnt loaves are fed to the neighbour's hens."),
    ("kitchen", "K2", "Dishes", "Dishes are washed by whoever did not cook. Copper pans never go into the dishwasher because the tablets stain them. Broken glass is wrapped in newspaper before it is thrown away."),
    ("kitchen", "K3", "Stores", "Flour is ordered on Mondays from the mill in Altdorf. Opened jam keeps three weeks in the fridge. The freezer is defrosted in February when it is nearly empty."),
    ("workshop", "W1", "Lathe", "The lathe may be used alone only after the spring course. Long sleeves are rolled up and rings come off. An emergency stop is mounted beside the left pedal."),
    ("workshop", "W2", "Paint", "Oil paint dries for two days in the annex. Rags soaked in linseed oil are kept under water because they catch fire by themselves. Brushes are cleaned with soap."),
    ("workshop", "W3", "Bookings", "A bench is booked for at most four hours. Bookings that nobody claims within fifteen minutes lapse. Groups larger than five ask the steward a week ahead."),
]  # fmt: skip

QUESTIONS = [
    ("D01", "When do tomatoes get their water?", "G1", "dev", "Tomatoes are watered every morning before eight."),
    ("D02", "Why are cacti left dry in winter?", "G1", "dev", "Nobody waters the cacti between October and March because their roots rot in wet soil."),
    ("D03", "What must not be thrown on the compost?", "G2", "dev", "Citrus peel and meat stay out of the compost because they attract rats."),
    ("D04", "Who has the key of the chainsaw?", "G3", "dev", "The chainsaw is locked away and only Marta keeps the key."),
    ("D05", "How hot is the oven for rye loaves?", "K1", "dev", "Rye loaves bake at two hundred degrees for fifty minutes."),
    ("D06", "May copper pans go in the dishwasher?", "K2", "dev", "Copper pans never go into the dishwasher because the tablets stain them."),
    ("D07", "Where does the flour come from?", "K3", "dev", "Flour is ordered on Mondays from the mill in Altdorf."),
    ("D08", "What happens to rags with linseed oil, and how are brushes cleaned?", "W2", "dev",
     json.dumps([["Rags soaked in linseed oil are kept under water", "Brushes are cleaned with soap."]])),
    ("D09", "Who may work at the lathe alone?", "W1", "dev", "The lathe may be used alone only after the spring course."),
    ("D10", "Is there a swimming pool?", "", "dev", ""),
    ("D11", "How much does the bread cost?", "", "dev", ""),
    ("D12", "Which bus goes to the workshop?", "", "dev", ""),
    ("H01", f"How long does a {HOLDOUT_WORD} wait for soil from a full bin?", "G2", "holdout", "A full bin rests for nine months before its soil is spread on the beds."),
    ("H02", f"How long does the {HOLDOUT_WORD} keep opened jam?", "K3", "holdout", "Opened jam keeps three weeks in the fridge."),
    ("H03", f"For how many hours can a {HOLDOUT_WORD} book a bench?", "W3", "holdout", "A bench is booked for at most four hours."),
    ("H04", f"Does the {HOLDOUT_WORD} speak Danish?", "", "holdout", ""),
    ("H05", f"What does a {HOLDOUT_WORD} pay for membership?", "", "holdout", ""),
]  # fmt: skip

GRID = {
    "sampler": "grid",
    "trials": 4,
    "unit": "words",
    "splitter": ["words"],
    "chunk_size": [12, 24],
    "overlap_ratio": [0.0, 0.25],
    "baselines": [],
}
TPE = {
    "sampler": "tpe",
    "trials": 10,
    "seed": 3,
    "unit": "words",
    "splitter": ["words"],
    "chunk_size": {"low": 8, "high": 80, "log": True},
    "overlap_ratio": {"low": 0.0, "high": 0.4, "step": 0.05},
    "baselines": [],
}


@dataclass
class Ran:
    """What a verb left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Standard output, which must be one JSON object and nothing else."""
        found = json.loads(self.out, parse_constant=_not_json)
        assert isinstance(found, dict)
        assert self.out.count("\n") == 1, "one line: the object and nothing else"
        return found


def _not_json(constant: str) -> Any:
    raise AssertionError(f"{constant} is not JSON")


class Project:
    """A folder with an experiment, and ways to run verbs in it."""

    def __init__(self, root: Path, empty_mlflow: Path | None) -> None:
        self.root = root
        self.file = root / "exp.toml"
        self.sections = root / "sections.csv"
        self.questions = root / "questions.csv"
        self.settings: dict[str, dict[str, Any]] = {}
        root.mkdir(parents=True, exist_ok=True)
        (root / "pyproject.toml").touch()
        if empty_mlflow:  # made once: MLflow takes a second and a half to make its tables
            shutil.copy(empty_mlflow, root / "mlflow.db")
        self.write_sections(SECTIONS)
        self.write_questions(QUESTIONS)
        self.configure()

    def write_sections(self, rows: list[tuple[str, ...]]) -> None:
        _write_csv(self.sections, ("document_id", "section_id", "heading", "text"), rows)

    def write_questions(self, rows: list[tuple[str, ...]]) -> None:
        _write_csv(self.questions, ("question_id", "question", "expected_section", "split", "evidence_span"), rows)

    def configure(self, **sections: dict[str, Any] | None) -> None:
        """Write the experiment file; a section given is merged into the default, `search` replaces it."""
        settings: dict[str, dict[str, Any]] = self.settings or {
            "experiment": {"name": "small", "question": "Which window?"},
            "data": {"format": "handbook", "corpus": "sections.csv", "questions": "questions.csv"},
            "embedder": {"type": "tfidf", "similarity": "cosine"},
            "search": GRID,
            "scoring": {"k": [1, 3]},
        }
        for name, values in sections.items():
            settings[name] = dict(values or {}) if name == "search" else {**settings.get(name, {}), **(values or {})}
        self.settings = settings
        self.file.write_text("".join(f"[{n}]\n{_toml_lines(v)}\n" for n, v in settings.items() if v), "utf-8")

    @property
    def state(self) -> Path:
        return self.root / ".harness"

    @property
    def tracking_uri(self) -> str:
        return f"sqlite:///{self.root / 'mlflow.db'}"

    def results(self, experiment: str = "small", generation: int = 1) -> list[Path]:
        return sorted((self.state / experiment / "studies" / str(generation) / "results").glob("0*.json"))

    def tree(self) -> dict[str, bytes]:
        """Every file below the root with its content."""
        return {str(p.relative_to(self.root)): p.read_bytes() for p in sorted(self.root.rglob("*")) if p.is_file()}

    def run(self, *arguments: str) -> Ran:
        """A verb in this process."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(self.root):
            code = _run([str(a) for a in arguments], "--json" in arguments)
        return Ran(code, out.getvalue(), err.getvalue())

    def ok(self, verb: str, *arguments: str) -> dict[str, Any]:
        """The JSON of a verb on the experiment, which must exit with 0."""
        ran = self.run(verb, self.file.name, *arguments, "--json")
        assert ran.code == 0, ran.out + ran.err
        return ran.json

    def refused(self, verb: str, *arguments: str, code: int = 3) -> dict[str, Any]:
        """The JSON of a verb on the experiment, which must exit with a code other than 0."""
        ran = self.run(verb, self.file.name, *arguments, "--json")
        assert ran.code == code, ran.out + ran.err
        assert "Traceback" not in ran.out + ran.err
        return ran.json

    def start(self, *arguments: str, script: Path | None = None, **environment: str) -> subprocess.Popen[str]:
        """A verb in a process of its own; `script` runs instead of `-m harness`."""
        program = [str(script)] if script else ["-m", "harness"]
        env = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_")} | environment
        command = [sys.executable, *program, *map(str, arguments)]
        return subprocess.Popen(command, cwd=self.root, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def process(self, *arguments: str, script: Path | None = None, **environment: str) -> Ran:
        return finished(self.start(*arguments, script=script, **environment))

    def driver(self, name: str, code: str) -> Path:
        """A script that changes something and then runs the command line."""
        path = self.root / name
        path.write_text(f"import os, signal, sys\n{code}\nfrom harness.__main__ import main\nmain()\n", "utf-8")
        return path

    def client(self) -> Any:
        from mlflow import MlflowClient

        return MlflowClient(tracking_uri=self.tracking_uri)

    def runs(self, kind: str | None = None, experiment: str = "small", client: Any = None) -> list[Any]:
        """Active runs of the experiment in MLflow, oldest first."""
        client = client or self.client()
        found = client.get_experiment_by_name(experiment)
        runs = client.search_runs([found.experiment_id]) if found else []
        wanted = [r for r in runs if kind is None or r.data.tags.get("harness.kind") == kind]
        return sorted(wanted, key=lambda r: (r.info.start_time, int(r.data.tags.get("harness.trial", -1))))


def finished(process: subprocess.Popen[str], timeout: float = 120) -> Ran:
    out, err = process.communicate(timeout=timeout)
    return Ran(process.returncode, out, err)


def wait_until(condition: Callable[[], Any], seconds: float = 60, every: float = 0.01) -> Any:
    """What a condition gives once it is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(every)
    raise AssertionError(f"not within {seconds} s")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def require(available: object, what: str) -> None:
    """Skip where a program is absent, unless everything is required."""
    if available:
        return
    if os.environ.get("HARNESS_REQUIRE_ALL") == "1":
        pytest.fail(f"{what} is required (HARNESS_REQUIRE_ALL=1) and absent")
    pytest.skip(f"{what} is not installed")


def _write_csv(path: Path, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)


def _toml_lines(values: dict[str, Any]) -> str:
    return "".join(f"{key} = {_toml(value)}\n" for key, value in values.items())


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


@dataclass
class Server:
    """A process that listens on a port of this machine."""

    process: subprocess.Popen[Any]
    port: int

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self, how: int = signal.SIGTERM) -> None:
        """End it with all its children."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, how)
            self.process.wait(30)
