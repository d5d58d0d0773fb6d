"""JSON lines: one object a line, all of them sections (document_id, section_id, heading, text) or all of them whole documents.

A whole document has `document_id`, `id` or `_id`, and `text`. Both may have a `title`; other keys are left alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.corpora.sections import Row, documents_of
from harness.errors import Fault, HarnessError
from harness.files import read_json_lines
from harness.records import Document

IDS = ("document_id", "id", "_id")


def read(path: Path, document_id: str, encoding: str) -> list[Document]:
    """The file's documents by their own ids. Raises HarnessError with every fault of the file."""
    faults: list[Fault] = []
    sections: list[Row] = []
    wholes: list[Row] = []
    try:
        for where, value in read_json_lines(path, encoding):
            line = _Line(where, value, faults)
            (sections if "section_id" in value else wholes).append((where, line.cells()))
    except HarnessError as error:
        faults += error.faults
    if sections and wholes:
        what = f"a whole document (it has no section_id) in a file that has {len(sections)} sections"
        faults.append(Fault(wholes[0][0], what, "keep sections and whole documents in two files"))
    if faults:
        raise HarnessError(faults)
    return documents_of(sections) if sections else _each_whole(wholes)


def _each_whole(rows: list[Row]) -> list[Document]:
    faults: list[Fault] = []
    seen: dict[str, str] = {}
    for where, row in rows:
        if seen.setdefault(row["document_id"], where) != where:
            what = f"document '{row['document_id']}' stands twice (first in line {seen[row['document_id']].rpartition(' ')[2]})"
            faults.append(Fault(where, what, "give it its own id"))
    if faults:
        raise HarnessError(faults)
    return [Document(row["document_id"], row["text"], title=row["title"].strip()) for _, row in rows]


@dataclass(frozen=True, slots=True)
class _Line:
    """A line's object; what is missing in it or of the wrong kind goes to `faults`."""

    where: str
    value: dict[str, Any]
    faults: list[Fault]

    def cells(self) -> dict[str, str]:
        """The texts of a section or of a whole document, as a table would have them."""
        own = {"document_id": self._name(*IDS), "text": self._text("text"), "title": self._text("title", "")}
        if "section_id" not in self.value:
            return own
        return {**own, "section_id": self._name("section_id"), "heading": self._text("heading", "")}

    def _name(self, *keys: str) -> str:
        """An id under the first of some keys that the object has; a whole number counts as its digits."""
        key = next((k for k in keys if k in self.value), keys[0])
        name = str(self.value[key]) if type(self.value.get(key)) is int else self._text(key).strip()
        if not name and isinstance(self.value.get(key), str):
            self.faults.append(Fault(self.where, f"'{key}' is empty", "write an id"))
        return name

    def _text(self, key: str, default: str | None = None) -> str:
        """A text; `default` where the key is missing or null, if that is allowed."""
        value = self.value.get(key, default)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            keys = ", ".join(map(repr, self.value)) or "none"
            what = f"'{key}' is {json.dumps(value):.60}, no text" if key in self.value else f"'{key}' is missing (keys: {keys})"
            self.faults.append(Fault(self.where, what, "write a text"))
            return ""
        return value
