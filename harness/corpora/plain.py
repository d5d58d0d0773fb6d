"""Plain text: one document a file, as it stands, line ends included; it has no sections."""

from __future__ import annotations

from pathlib import Path

from harness.files import read_text
from harness.records import Document


def read(path: Path, document_id: str, encoding: str) -> list[Document]:
    """Raises HarnessError for bytes that are not of the encoding."""
    return [Document(document_id, read_text(path, encoding))]
