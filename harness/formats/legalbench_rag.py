"""The legalbench-rag format: a folder of texts, and benchmark files of queries with snippets.

A snippet is `{"file_path", "span": [start, end], "answer"}`, and a query needs all of its snippets: the benchmark's own
recall and precision are shares of all their characters. As in the benchmark, a line end of a text counts as one character.
"""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from pathlib import Path

from harness import corpora
from harness.errors import Fault, HarnessError
from harness.formats.cells import derived_id
from harness.formats.json_values import Node, question_files, shown
from harness.labels import Quote, RawQuestion
from harness.records import Corpus, Document

SUFFIX = ".json"


def read_corpus(path: Path, encoding: str) -> Corpus:
    """The texts as the benchmark reads them. Raises HarnessError as the general reader does."""
    corpus = corpora.read_corpus(path, encoding)
    documents = sorted(map(_as_benchmark_reads, corpus.documents), key=lambda d: d.document_id)
    return Corpus(tuple(documents), corpus.remarks)


def _as_benchmark_reads(document: Document) -> Document:
    name = unicodedata.normalize("NFC", document.document_id)
    text = document.text if document.sections else document.text.replace("\r\n", "\n").replace("\r", "\n")
    return replace(document, document_id=name, text=text)


def read_questions(path: Path, encoding: str) -> list[RawQuestion]:
    """Questions of one benchmark file or several; a question's source is its file's name.

    Raises HarnessError when a file can't be read as the format; label faults come later, all at once.
    """
    faults: list[Fault] = []
    questions = []
    for file in question_files(path, ".json"):
        try:
            tests = Node.of_file(file, encoding, faults).nodes("tests")
        except HarnessError as error:
            faults += error.faults
            continue
        questions += [_question(test, file.name.partition(".")[0]) for test in tests]
    if faults:
        raise HarnessError(faults)
    return questions


def _question(test: Node, source: str) -> RawQuestion:
    text = test.text("query").strip()
    quotes = tuple(dict.fromkeys(map(_quote, test.nodes("snippets"))))
    return RawQuestion(
        where=test.where,
        question_id=derived_id(text, *sorted({q.document for q in quotes})),
        text=text,
        evidence=(quotes,) if quotes else (),
        source=source,
    )


def _quote(snippet: Node) -> Quote:
    document, answer, span = snippet.text("file_path"), snippet.text("answer"), snippet.value.get("span")
    if not (isinstance(span, list) and len(span) == 2 and all(type(n) is int for n in span)):
        snippet.wrong(f"'span' is {shown(span)}, no [start, end]", "write two whole numbers")
        return Quote(answer, document)
    if answer and span[1] - span[0] != len(answer):
        what = f"[{span[0]}, {span[1]}) are {span[1] - span[0]} characters, and the answer has {len(answer)}"
        snippet.wrong(what, "export it again, the end exclusive, in characters (code points)")
    return Quote(answer, unicodedata.normalize("NFC", document), span[0])
