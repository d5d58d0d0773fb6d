"""The handbook format: one CSV of sections, one of questions; both UTF-8, columns in any order.

Sections: document_id, section_id, heading, text. A document is `heading. text` of its sections in file order,
joined by a blank line. Questions: question_id, question, expected_section, split, evidence_span, and document_id
where a section id stands in several documents.
"""

from __future__ import annotations

from pathlib import Path

from harness.errors import Fault, HarnessError
from harness.formats.files import read_rows
from harness.labels import RawQuestion, parse_evidence
from harness.records import Corpus, Document, Section, Span

SECTION_COLUMNS = ("document_id", "section_id", "heading", "text")
QUESTION_COLUMNS = ("question_id", "question", "expected_section", "split", "evidence_span")
BETWEEN_SECTIONS = "\n\n"


def read_corpus(path: Path, encoding: str) -> Corpus:
    """Raises HarnessError with every fault of the file."""
    faults: list[Fault] = []
    parts: dict[str, list[tuple[str, str, str]]] = {}
    seen: set[tuple[str, str]] = set()
    for where, row in read_rows(path, encoding, SECTION_COLUMNS):
        document_id, section_id = row["document_id"].strip(), row["section_id"].strip()
        if not document_id or not section_id:
            faults.append(Fault(where, "document_id or section_id is empty", "fill in both"))
        elif (document_id, section_id) in seen:
            faults.append(Fault(where, f"section '{section_id}' of document '{document_id}' stands twice", "give it its own id"))
        seen.add((document_id, section_id))
        heading, text = row["heading"].strip(), row["text"].strip()
        if heading or text:
            parts.setdefault(document_id, []).append((section_id, heading, f"{heading}. {text}".strip() if heading else text))
    if faults:
        raise HarnessError(faults)
    if not parts:
        raise HarnessError(Fault(str(path), "the corpus is empty", "add rows with text"))
    return Corpus(tuple(_document(document_id, parts[document_id]) for document_id in sorted(parts)))


def _document(document_id: str, parts: list[tuple[str, str, str]]) -> Document:
    sections, at = [], 0
    for section_id, heading, text in parts:
        sections.append(Section(section_id, heading, Span(at, at + len(text))))
        at += len(text) + len(BETWEEN_SECTIONS)
    return Document(document_id, BETWEEN_SECTIONS.join(text for _, _, text in parts), tuple(sections))


def read_questions(path: Path, encoding: str) -> list[RawQuestion]:
    """Raises HarnessError when the file can't be read as the format; label faults come later, all at once."""
    faults: list[Fault] = []
    questions = []
    for where, row in read_rows(path, encoding, QUESTION_COLUMNS):
        try:
            evidence = parse_evidence(row["evidence_span"])
        except ValueError as error:
            faults.append(Fault(where, f"evidence_span is no evidence ({error})", 'write a text, ["a", "b"] or [["a", "b"]]'))
            continue
        questions.append(
            RawQuestion(
                where=where,
                question_id=row["question_id"].strip(),
                text=row["question"].strip(),
                split=row["split"],
                section_id=row["expected_section"].strip(),
                document_id=row.get("document_id", "").strip(),
                evidence=evidence,
            )
        )
    if faults:
        raise HarnessError(faults)
    return questions
