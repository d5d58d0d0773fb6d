"""What the benchmarks share: the machine they ran on, and their rows as a JSON file that says so."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """The processor's name, the cores that may be used, memory in bytes, system, Python, and torch where it is installed."""
    found: dict[str, Any] = {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }
    try:
        found["torch"] = metadata.version("torch")
    except metadata.PackageNotFoundError:
        found["torch"] = None
    return found


def line(of: Mapping[str, Any]) -> str:
    """A machine in one line."""
    memory = f"{of['memory_bytes'] / 2**30:.1f} GiB" if of["memory_bytes"] else "unknown memory"
    torch = f", torch {of['torch']}" if of["torch"] else ""
    return f"{of['processor']}, {of['cores']} cores, {memory}, {of['system']}, Python {of['python']}{torch}"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows under their names, numbers with their thousands set apart."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_shown(row.get(name, "")) for name in names] for row in rows]
    widths = [max(len(c) for c in column) for column in zip(names, *cells, strict=True)]
    lines = [names, *cells]
    return "\n".join("  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) for line in lines)


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def write(json_path: Path, name: str, rows: Sequence[Mapping[str, Any]], machine: Mapping[str, Any]) -> None:
    """A benchmark's rows as JSON, with its name and the machine it ran on."""
    found = {"benchmark": name, "machine": dict(machine), "rows": [dict(r) for r in rows]}
    json_path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _processor() -> str:
    """The processor as Linux names it, else as Python does."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    named = (text.partition(":")[2].strip() for text in lines if text.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def _memory() -> int | None:
    """Bytes of memory; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
