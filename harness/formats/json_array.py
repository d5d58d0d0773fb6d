"""The json format: a list of questions, or `{"questions": [...]}`, beside a corpus of any kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.corpora import read_corpus
from harness.errors import Fault, HarnessError
from harness.files import read_json
from harness.formats.entries import questions_of
from harness.formats.json_values import question_files, shown
from harness.labels import RawQuestion

SUFFIX = ".json"

LISTS = ("questions", "fragen")

__all__ = ["SUFFIX", "read_corpus", "read_questions"]


def read_questions(path: Path, encoding: str) -> list[RawQuestion]:
    """Raises HarnessError when a file can't be read as the format; label faults come later, all at once."""
    return questions_of(question_files(path, ".json"), lambda file: _entries(file, encoding))


def _entries(path: Path, encoding: str) -> Iterator[tuple[str, Any]]:
    value = read_json(path, encoding)
    named = [value[k] for k in LISTS if k in value] if isinstance(value, dict) else [value]
    listed = named[0] if len(named) == 1 else None
    if not isinstance(listed, list):
        what = f"{shown(value)} is no list of questions"
        raise HarnessError(Fault(str(path), what, 'write [ {...}, ... ] or {"questions": [ {...}, ... ]}'))
    yield from ((f"{path} entry {number}", entry) for number, entry in enumerate(listed, 1))
