"""The chroma format, of the chunking evaluation of that name: a folder of texts, and a CSV of questions with references.

Its columns are question, references and corpus_id. A reference is `{"content", "start_index", "end_index"}`, offsets are
characters; a question needs all of its references.
"""

from __future__ import annotations

import json
from pathlib import Path

from harness.corpora import read_corpus
from harness.errors import Fault, HarnessError
from harness.files import read_rows
from harness.formats.cells import derived_id
from harness.formats.json_values import Node
from harness.labels import Quote, RawQuestion

SUFFIX = ".csv"

COLUMNS = ("question", "references", "corpus_id")

__all__ = ["SUFFIX", "read_corpus", "read_questions"]


def read_questions(path: Path, encoding: str) -> list[RawQuestion]:
    """Raises HarnessError when the file can't be read as the format; label faults come later, all at once."""
    faults: list[Fault] = []
    questions = []
    for where, row in read_rows(path, encoding, COLUMNS):
        text, corpus_id = row["question"].strip(), row["corpus_id"].strip()
        if not corpus_id:
            faults.append(Fault(where, "corpus_id is empty", "name the text that the offsets count in"))
        quotes = tuple(dict.fromkeys(map(_quote, _references(where, row["references"], faults))))
        questions.append(
            RawQuestion(
                where=where,
                question_id=derived_id(text or where),
                text=text,
                document_id=corpus_id,
                evidence=(quotes,) if quotes else (),
            )
        )
    if faults:
        raise HarnessError(faults)
    return questions


def _references(where: str, cell: str, faults: list[Fault]) -> list[Node]:
    try:
        listed = json.loads(cell)
    except (ValueError, RecursionError) as error:
        faults.append(Fault(where, f"references is not JSON ({error})", 'write [{"content", "start_index", "end_index"}, ...]'))
        return []
    return Node(where, {"references": listed}, faults, root=True).nodes("references")


def _quote(reference: Node) -> Quote:
    content, start, end = reference.text("content"), reference.number("start_index"), reference.number("end_index")
    if content and start is not None and end is not None and end - start != len(content):
        what = f"[{start}, {end}) are {end - start} characters, and the content has {len(content)}"
        reference.wrong(what, "export it again, the end exclusive, in characters (code points)")
    return Quote(content if start is not None else content.strip(), start=start)
