"""The squad format (1.1 and 2.0): corpus and questions in one file, or in several; both keys of `[data]` name the same.

An article is a document, a paragraph a section of it, and several answers are alternatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness import locate
from harness.corpora.sections import joined
from harness.errors import Fault, HarnessError, counted
from harness.formats.cells import derived_id, wording
from harness.formats.json_values import Node, question_files
from harness.label_checks import listed
from harness.labels import Quote, RawQuestion
from harness.records import Corpus, Document, Section

SUFFIX = ".json"


@dataclass
class _Read:
    """Both halves of the files as far as they are read, and what is wrong with them."""

    documents: dict[str, Document] = field(default_factory=dict)
    questions: list[RawQuestion] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def read_corpus(path: Path, encoding: str) -> Corpus:
    """The articles. Raises HarnessError with every fault of the files, those of the questions included."""
    read = _read(path, encoding)
    if not read.documents:
        raise HarnessError(Fault(str(path), "the corpus is empty", "add articles with paragraphs"))
    return Corpus(tuple(read.documents[i] for i in sorted(read.documents)), tuple(_remarks(path, read.questions)))


def read_questions(path: Path, encoding: str) -> list[RawQuestion]:
    """The questions. Raises HarnessError with every fault of the files; what else is wrong with labels comes later."""
    return _without_repeats(_read(path, encoding).questions)


def _without_repeats(questions: list[RawQuestion]) -> list[RawQuestion]:
    """Each wording once with the same answers; an unanswerable question only where no other paragraph answers it."""
    answerable = {wording(q.text) for q in questions if q.evidence}
    kept: dict[tuple[str, str, frozenset[tuple[Quote, ...]]], RawQuestion] = {}
    for question in questions:
        asked = wording(question.text)
        if question.evidence:
            kept.setdefault((asked, question.document_id, frozenset(question.evidence)), question)
        elif asked not in answerable:
            kept.setdefault((asked, "", frozenset()), question)
    return list(kept.values())


def _remarks(path: Path, questions: list[RawQuestion]) -> Iterator[Fault]:
    kept = {id(q) for q in _without_repeats(questions)}
    left_out = [q.question_id for q in questions if id(q) not in kept]
    if left_out:
        repeat = counted(len(left_out), "question repeats another or is", "questions repeat another or are")
        what = f"{repeat} answered elsewhere, and left out: {listed(left_out)}"
        yield Fault(str(path), what, "delete them to be rid of this note")


def _read(path: Path, encoding: str) -> _Read:
    read = _Read()
    for file in question_files(path, ".json"):
        try:
            articles = Node.of_file(file, encoding, read.faults).nodes("data")
        except HarnessError as error:
            read.faults += error.faults
            continue
        for number, article in enumerate(articles, 1):
            _add_article(read, article, number)
    if read.faults:
        raise HarnessError(read.faults)
    return read


def _add_article(read: _Read, article: Node, number: int) -> None:
    title = article.text("title", required=False).strip()
    document_id = _unused(title or f"article-{number:03}", read.documents)
    paragraphs = article.nodes("paragraphs")
    contexts = [p.text("context") for p in paragraphs]
    if not contexts:
        return
    # A blank context is noted: nothing will be made of what stands in its place.
    document = joined(document_id, [(f"p{i}", "", context or "?") for i, context in enumerate(contexts, 1)], title)
    read.documents[document_id] = document
    for paragraph, section, context in zip(paragraphs, document.sections, contexts, strict=True):
        asked = paragraph.nodes("qas", required=False)
        read.questions += [_question(node, document, section) for node in asked if context]


def _unused(name: str, taken: dict[str, Document]) -> str:
    """A name, with a number where an article before it has it."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free


def _question(asked: Node, document: Document, section: Section) -> RawQuestion:
    answers = [] if asked.flag("is_impossible") else asked.nodes("answers", required=False)
    context = document.text[section.span.start : section.span.end]
    quotes = dict.fromkeys(_quote(answer, context, section.span.start) for answer in answers)
    text = asked.text("question").strip()
    return RawQuestion(
        where=asked.where,
        question_id=asked.name("id", required=False) or derived_id(text),
        text=text,
        section_id=section.section_id if quotes else "",
        document_id=document.document_id,
        evidence=tuple((quote,) for quote in quotes),
    )


def _quote(answer: Node, context: str, before: int) -> Quote:
    """An answer with its offset in the document, `before` characters more than in its paragraph."""
    text, start = answer.text("text"), answer.number("answer_start")
    if text and start is not None:
        _check_offset(answer, context, text, start)
    return Quote(text.strip()) if start is None else Quote(text, start=before + start)


def _check_offset(answer: Node, context: str, text: str, start: int) -> None:
    """Here, for offsets count from the paragraph: a later message could speak of the document's only."""
    end, paragraph = start + len(text), Document("", context)
    if locate.at(paragraph, text, start):
        return
    if start < 0 or end > len(context):
        what = f"the answer [{start}, {end}) lies outside its context ({len(context)} characters)"
    else:
        what = f"at [{start}, {end}) of the context stands '{context[start:end]}', not '{text}'"
    elsewhere = ", ".join(str(s.start) for s in locate.occurrences(paragraph, text)[:5])
    if start >= 0 and (way := locate.other_count(paragraph, text, start)):
        fix = f"the offsets count {way}; export them again in characters (code points)"
    else:
        fix = f"it stands at {elsewhere}: correct answer_start" if elsewhere else "it is not in the context; correct the text"
    answer.wrong(what, fix)
