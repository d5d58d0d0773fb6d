"""Where each splitter cuts a real page, so that no change of it goes unnoticed; a splitter's cuts are written anew by

    python tests/golden/test_cuts.py NAME

which refuses to while its version is the one of the cuts that it would replace. Without a name, every splitter that has none yet.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from harness.corpora import read_corpus
from harness.records import Corpus, Point
from harness.splitters import SPLITTERS, chunk
from harness.tokenizers import Ruler

HERE = Path(__file__).parent / "cuts"
HANDBOOK = Path(__file__).parent.parent.parent / "data" / "handbook" / "sections.csv"
PAGE = "telescope-manual"  # the one with tables, code and lists
# Sizes that a paragraph fits into, and that one does not, in the unit that goes with the splitter.
UNITS = {"characters": "characters", "tokens": "cl100k_base"}
SIZES = {"characters": (250, 700), "words": (40, 120), "cl100k_base": (60, 160)}
OVERLAP_RATIO = 0.2


def pages() -> list[Corpus]:
    """The page as the handbook has it, and as a Markdown file of the same sections; a corpus each."""
    table = Corpus((read_corpus(HANDBOOK)[PAGE],))
    page = table.documents[0]
    parts = []
    for section in page.sections:
        text = page.text[section.span.start : section.span.end].removeprefix(f"{section.heading}. ")
        parts.append(f"## {section.heading}\n\n{text.strip()}\n")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{PAGE}.md"
        file.write_bytes(f"# Telescope manual\n\n{chr(10).join(parts)}".encode())
        return [table, read_corpus(file)]


def cuts(name: str) -> dict[str, list[str]]:
    """By page and setting, a line a chunk: offsets, size, first and last words."""
    unit = UNITS.get(name, "words")
    found = {}
    for corpus in pages():
        for size in SIZES[unit]:
            point = Point(name, size, OVERLAP_RATIO)
            made = chunk(corpus, point, Ruler(corpus, unit))
            key = f"{corpus.documents[0].document_id}, {size}/{point.overlap} {unit}"
            found[key] = [_line(made.text(c), *row) for c, row in enumerate(_rows(made))]
    return found


def _rows(made: Any) -> list[tuple[int, int, int]]:
    return list(zip(made.start.tolist(), made.end.tolist(), made.size.tolist(), strict=True))


def _line(text: str, start: int, end: int, size: int) -> str:
    words = text.split()
    shown = " ".join(words) if len(words) < 7 else f"{' '.join(words[:3])} ... {' '.join(words[-3:])}"
    return f"[{start}, {end}) {size}: {shown}"


def _golden(name: str) -> dict[str, Any]:
    file = HERE / f"{name}.json"
    return json.loads(file.read_text("utf-8")) if file.exists() else {}


@pytest.mark.parametrize("name", SPLITTERS)
def test_a_splitter_cuts_a_real_page_where_it_always_did(name: str) -> None:
    golden = _golden(name)
    again = f"python tests/golden/test_cuts.py {name}"
    assert golden, f"'{name}' has no golden cuts yet: {again}"
    assert cuts(name) == golden["cuts"], f"'{name}' cuts elsewhere: if that is meant, raise its version, then {again}"
    assert SPLITTERS[name].version == golden["version"], f"'{name}' is of another version than its golden cuts: {again}"


def test_every_golden_file_is_of_a_splitter() -> None:
    assert {file.stem for file in HERE.iterdir()} <= set(SPLITTERS)


def _write(name: str) -> None:
    version, found, golden = SPLITTERS[name].version, cuts(name), _golden(name)
    if golden and golden["version"] == version and golden["cuts"] != found:
        sys.exit(f"'{name}' cuts elsewhere and is still version {version}: raise it, for it makes a study another study")
    text = json.dumps({"version": version, "cuts": found}, indent=1, ensure_ascii=False)
    (HERE / f"{name}.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    for splitter in sys.argv[1:] or [name for name in SPLITTERS if not _golden(name)]:
        _write(splitter)
