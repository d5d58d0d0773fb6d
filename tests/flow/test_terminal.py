"""What a terminal shows: colours where it has them, none with NO_COLOR, plain text in a pipe, and lines that fit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from flow_project import Project

pty = pytest.importorskip("pty")
COLOUR = re.compile(rb"\x1b\[[0-9;]*(3[0-7]|9[0-7])m")


def in_terminal(project: Project, *arguments: str, **environment: str) -> bytes:
    """What a verb writes to a terminal of 100 columns."""
    reading, writing = pty.openpty()
    clean = {k: v for k, v in os.environ.items() if k != "NO_COLOR" and not k.startswith("MLFLOW_")}
    env = clean | {"TERM": "xterm-256color", "COLUMNS": "100", **environment}
    command = [sys.executable, "-m", "harness", *arguments]
    with subprocess.Popen(command, cwd=project.root, env=env, stdout=writing, stderr=writing, stdin=writing) as process:
        os.close(writing)
        found = b""
        while True:
            try:
                read = os.read(reading, 65536)
            except OSError:  # how Linux says that the other end is closed
                break
            if not read:
                break
            found += read
    os.close(reading)
    assert process.returncode == 0, found.decode()
    return found


@pytest.fixture
def swept(project: Project) -> Project:
    project.ok("sweep")
    return project


def test_a_terminal_has_colours_and_none_where_they_are_not_wanted(swept: Project) -> None:
    assert COLOUR.search(in_terminal(swept, "sweep", "exp.toml"))
    assert not COLOUR.search(in_terminal(swept, "sweep", "exp.toml", NO_COLOR="1"))


def test_a_pipe_gets_plain_text(swept: Project) -> None:
    ran = swept.process("sweep", "exp.toml")
    assert ran.code == 0
    assert "\x1b" not in ran.out + ran.err


def test_the_table_shows_leading_trials_with_intervals_and_fits_the_terminal(swept: Project) -> None:
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", in_terminal(swept, "sweep", "exp.toml").decode())
    lines = [line.rstrip() for line in shown.replace("\r\n", "\n").split("\n")]
    head = next(i for i, line in enumerate(lines) if "setting" in line)
    rows = lines[head + 1 : head + 5]
    assert "95 %" in lines[head]
    assert all(re.search(r"\d+/9 +\d+\.\d% +\d+-\d+ ", row) for row in rows), rows
    assert all(len(line) <= 100 for line in lines[head : head + 5])


def test_progress_in_a_pipe_says_how_long_it_will_take(project: Project, tmp_path: Path) -> None:
    code = """
import time
from harness.trials import Trials
real = Trials._chunk
def late(self, point):
    time.sleep(0.6)
    return real(self, point)
Trials._chunk = late
"""
    slow = project.driver("slow.py", code)
    ran = project.process("sweep", "exp.toml", script=slow)
    assert ran.code == 0, ran.err
    assert re.search(r"1 of 4 \(about \d+ s left\): trial 0, words 12/0: hit@1 \d/9", ran.err), ran.err
    assert "4 of 4: trial" in ran.err
