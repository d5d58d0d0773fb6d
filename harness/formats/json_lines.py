"""The jsonl format: a question a line, beside a corpus of any kind."""

from __future__ import annotations

from pathlib import Path

from harness.corpora import read_corpus
from harness.files import read_json_lines
from harness.formats.entries import questions_of
from harness.formats.json_values import question_files
from harness.labels import RawQuestion

SUFFIX = ".jsonl"

__all__ = ["SUFFIX", "read_corpus", "read_questions"]


def read_questions(path: Path, encoding: str) -> list[RawQuestion]:
    """Raises HarnessError when a file can't be read as the format; label faults come later, all at once."""
    return questions_of(question_files(path, ".jsonl"), lambda file: read_json_lines(file, encoding))
