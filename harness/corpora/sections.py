"""Tables of sections: a CSV with document_id, section_id, heading and text, its columns in any order, one row a section.

A document is `heading. text` of its sections in file order, joined by a blank line.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.errors import Fault, HarnessError
from harness.files import read_rows
from harness.records import Document, Section, Span

COLUMNS = ("document_id", "section_id", "heading", "text")
BETWEEN_SECTIONS = "\n\n"
Row = tuple[str, dict[str, str]]  # its place, and its cells


def read_csv(path: Path, document_id: str, encoding: str) -> list[Document]:
    """The table's documents by their own ids. Raises HarnessError with every fault of the file."""
    return documents_of(read_rows(path, encoding, COLUMNS))


def documents_of(rows: Iterable[Row]) -> list[Document]:
    """Documents from rows of sections. Raises HarnessError with every fault of the rows."""
    faults: list[Fault] = []
    parts: dict[str, list[tuple[str, str, str]]] = {}
    titles: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    for where, row in rows:
        document_id, section_id = row["document_id"].strip(), row["section_id"].strip()
        if not document_id or not section_id:
            faults.append(Fault(where, "document_id or section_id is empty", "fill in both"))
        elif (document_id, section_id) in seen:
            faults.append(Fault(where, f"section '{section_id}' of document '{document_id}' stands twice", "give it its own id"))
        seen.add((document_id, section_id))
        heading, text = row["heading"].strip(), row["text"].strip()
        if heading or text:
            parts.setdefault(document_id, []).append((section_id, heading, f"{heading}. {text}".strip() if heading else text))
        if title := row.get("title", "").strip():
            titles.setdefault(document_id, title)
    if faults:
        raise HarnessError(faults)
    # Parts go as documents come: a large table is not held twice.
    return [joined(document_id, parts.pop(document_id), titles.get(document_id, "")) for document_id in sorted(parts)]


def joined(document_id: str, parts: Iterable[tuple[str, str, str]], title: str = "") -> Document:
    """A document from its sections' ids, headings and texts, none of which is empty."""
    sections, texts, at = [], [], 0
    for section_id, heading, text in parts:
        sections.append(Section(section_id, heading, Span(at, at + len(text))))
        texts.append(text)
        at += len(text) + len(BETWEEN_SECTIONS)
    return Document(document_id, BETWEEN_SECTIONS.join(texts), tuple(sections), title)
