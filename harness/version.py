"""Which code made a result: the package's version and, in a checkout, its commit."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

DISTRIBUTION = "chunking-harness"


@cache
def code_version() -> str:
    """`0.1.0`, in a checkout `0.1.0+g1a2b3c4`, with `.dirty` when files were changed."""
    try:
        released = version(DISTRIBUTION)
    except PackageNotFoundError:
        released = "unknown"
    home = Path(__file__).resolve().parent.parent
    if not (home / ".git").exists():
        return released
    commit = _git(home, "rev-parse", "--short=7", "HEAD")
    dirty = ".dirty" if commit and _git(home, "status", "--porcelain", "--untracked-files=no") else ""
    return f"{released}+g{commit}{dirty}" if commit else released


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def environment(*distributions: str) -> dict[str, str]:
    """What is recorded beside an identity: Python, the platform, and the versions of some distributions."""
    versions = {name: version(name) for name in distributions}
    return {"python": platform.python_version(), "platform": platform.platform(), **versions}
