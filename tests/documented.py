"""The example of each format, as `docs/questions.md` shows it, written to a folder."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from harness.formats import DataSource
from harness.splits import SplitRule

PAGE = Path(__file__).parent.parent / "docs" / "questions.md"
SECTION = re.compile(r"^### `([\w-]+)`\n(.*?)(?=^#{2,3} |\Z)", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^`([^`\n]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DATA = re.compile(r"^```toml\n(\[data\]\n.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A format's files by name, and its `[data]`."""

    files: dict[str, str]
    data: dict[str, object]

    def write(self, folder: Path) -> DataSource:
        """Its files in a folder, ready to load."""
        for name, text in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(text.encode())
        split = self.data.get("split")
        rule = SplitRule(**split) if isinstance(split, dict) else None
        corpus, questions = (folder / str(self.data[key]) for key in ("corpus", "questions"))
        return DataSource(str(self.data["format"]), corpus, questions, split=rule)


def examples() -> dict[str, Example]:
    """By format."""
    sections = SECTION.findall(PAGE.read_text("utf-8"))
    return {name: Example(dict(FILE.findall(body)), tomllib.loads(DATA.findall(body)[0])["data"]) for name, body in sections}
