"""The beir format: corpus.jsonl, queries.jsonl and qrels/*.tsv; a query is answered by any of its relevant documents.

Both keys of `[data]` name the folder of the data set; `questions` may name one file of judgements in it instead.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from harness.errors import Fault, HarnessError, counted
from harness.files import read_json_lines, read_text
from harness.formats.json_values import Node
from harness.labels import RawQuestion
from harness.records import Corpus, Document

SUFFIX = None  # each of its two parts has its own

COLUMNS = ("query-id", "corpus-id", "score")
Judged = dict[str, tuple[str, dict[str, None]]]  # by query: its first line, and its relevant documents in order


def read_corpus(path: Path, encoding: str) -> Corpus:
    """The documents; one without a text is its title. Raises HarnessError with every fault of the file."""
    file = _inside(path, "corpus.jsonl") if path.is_dir() else path
    faults: list[Fault] = []
    documents: dict[str, Document] = {}
    empty = 0
    for row in _rows(file, encoding, faults):
        name, title, text = row.name("_id"), row.text("title", required=False), row.text("text", required=False)
        if name in documents:
            row.wrong(f"document '{name}' stands twice", "give each its own _id")
        elif text or title:
            documents[name] = Document(name, text or title, title=title.strip())
        empty += not (text or title)
    if faults:
        raise HarnessError(faults)
    if not documents:
        raise HarnessError(Fault(str(file), "the corpus is empty", "add documents with text"))
    number = counted(empty, "document without text and title was", "documents without text and title were")
    left_out = Fault(str(file), f"{number} left out", "fill or remove what is empty")
    return Corpus(tuple(documents[i] for i in sorted(documents)), (left_out,) if empty else ())


def read_questions(path: Path, encoding: str) -> list[RawQuestion]:
    """The queries that have a relevant document. Raises HarnessError with every fault of the files."""
    faults: list[Fault] = []
    judged = [(split, _judgements(file, encoding, faults)) for file, split in _judgement_files(path)]
    home = path if path.is_dir() else path.parent if _inside(path.parent, "queries.jsonl").exists() else path.parent.parent
    queries: dict[str, str] = {}
    for row in _rows(_inside(home, "queries.jsonl"), encoding, faults):
        queries[row.name("_id")] = row.text("text").strip()
    if faults:  # a query whose line is wrong is not missing
        raise HarnessError(faults)
    questions = []
    for split, of_file in judged:
        for name, (where, relevant) in of_file.items():
            if name not in queries:
                faults.append(Fault(where, f"query '{name}' is not in queries.jsonl", "add it there, or delete the line"))
            elif relevant:
                regions = tuple((document, "") for document in relevant)
                questions.append(RawQuestion(where, name, queries[name], split, regions=regions))
    if faults:
        raise HarnessError(faults)
    return questions


def _judgement_files(path: Path) -> list[tuple[Path, str]]:
    """The files to read with the split that each is; one alone leaves the split to `[data] split`."""
    if not path.is_dir():
        return [(path, "")]
    folder = path / "qrels"
    files = {p.name.partition(".")[0]: p for p in sorted(folder.glob("*.tsv*")) if p.name.endswith((".tsv", ".tsv.gz"))}
    if len(files) == 1:
        return [(file, "") for file in files.values()]
    tuned_on = "dev" if "dev" in files else "train"
    named = [(files[name], split) for name, split in ((tuned_on, "dev"), ("test", "holdout")) if name in files]
    if not named:
        has = ", ".join(p.name for p in files.values()) or "nothing"
        what = f"no judgements to go by: it has {has}"
        raise HarnessError(Fault(str(folder), what, "add dev.tsv and test.tsv, or name a file in [data] questions"))
    return named


def _judgements(file: Path, encoding: str, faults: list[Fault]) -> Judged:
    rows = csv.reader(io.StringIO(read_text(file, encoding), newline=""), delimiter="\t")
    header = [cell.strip() for cell in next(rows, [])]
    if missing := [c for c in COLUMNS if c not in header]:
        what = f"column {', '.join(missing)} is missing (columns: {', '.join(header) or 'none'})"
        raise HarnessError(Fault(f"{file} line 1", what, f"begin with {', '.join(COLUMNS)}, separated by tabs"))
    at = [header.index(c) for c in COLUMNS]
    judged: Judged = {}
    for row in rows:
        where = f"{file} line {rows.line_num}"
        if len(row) != len(header):
            if row:
                faults.append(Fault(where, f"{len(row)} cells where the header names {len(header)}", "separate them by tabs"))
            continue
        query, document, score = (row[i].strip() for i in at)
        if not re.fullmatch(r"-?\d+", score, re.ASCII):
            faults.append(Fault(where, f"the score is '{score}', no whole number", "write 0 for irrelevant, else 1 or more"))
            continue
        _, relevant = judged.setdefault(query, (where, {}))
        if int(score) > 0:
            relevant[document] = None
    return judged


def _rows(file: Path, encoding: str, faults: list[Fault]) -> Iterator[Node]:
    """The objects of a file, the faults of its lines after them."""
    try:
        for where, value in read_json_lines(file, encoding):
            yield Node(where, value, faults, root=True)
    except HarnessError as error:
        faults += error.faults


def _inside(folder: Path, name: str) -> Path:
    """A file of the data set, packed if it is there so."""
    packed = folder / f"{name}.gz"
    return packed if packed.exists() else folder / name
