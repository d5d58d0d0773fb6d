"""The handbook format: a corpus, as a CSV of sections or of any other kind, and a CSV of questions, columns in any order.

Questions: question_id, question, expected_section, split, evidence_span; and, where they are needed, document_id (a section id
may stand in several documents), condition_span, source, date, reviewed.
"""

from __future__ import annotations

from pathlib import Path

from harness.corpora import read_corpus
from harness.files import read_rows
from harness.formats.cells import Entry, as_date, as_reviewed, collected, parse_evidence
from harness.labels import Quote, RawQuestion

SUFFIX = ".csv"

COLUMNS = ("question_id", "question", "expected_section", "evidence_span")

__all__ = ["SUFFIX", "read_corpus", "read_questions"]


def read_questions(path: Path, encoding: str) -> list[RawQuestion]:
    """Raises HarnessError when the file can't be read as the format; label faults come later, all at once."""
    return collected([path], lambda file: read_rows(file, encoding, COLUMNS), _question)


def _question(row: dict[str, str], entry: Entry) -> RawQuestion:
    condition = row.get("condition_span", "").strip()
    return RawQuestion(
        where=entry.where,
        question_id=row["question_id"].strip(),
        text=row["question"].strip(),
        split=row.get("split", ""),
        section_id=row["expected_section"].strip(),
        document_id=row.get("document_id", "").strip(),
        evidence=entry.read(parse_evidence, row["evidence_span"], ()),
        condition=Quote(condition) if condition else None,
        source=row.get("source", "").strip(),
        date=entry.read(as_date, row.get("date", ""), ""),
        reviewed=entry.read(as_reviewed, row.get("reviewed", ""), True),
    )
