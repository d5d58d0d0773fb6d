"""Walking through questions that nobody has read yet: what there is to see of one, and what may be done with it.

To add something that a reader may do, add a method here and a key in `terminal_questions`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from harness import corpora, experiment, locate
from harness.answers import clean
from harness.errors import Fault, HarnessError
from harness.labels import RawQuestion, unknown_document
from harness.question_file import SUFFIX, QuestionFile, Row
from harness.records import Corpus, Document, Place, Question, Span
from harness.sifting import Judged, digest
from harness.text import sentences
from harness.wording import function_words, terms

AROUND = 280  # characters of context on each side of a quote; fewer where several are shown
FEWER = 120
MOST_SHOWN = 3  # places of one question that are shown
MOST_SEARCHED = 3_000_000  # characters of a corpus in which texts near an unanswerable question are looked for
NEAR_TEXTS = 2
TOML = ".toml"


@dataclass(frozen=True)
class Excerpt:
    """A place in a document with some text around it; `kind` says what it is to the question."""

    kind: str  # evidence, condition, near
    document_id: str
    before: str
    text: str
    after: str


@dataclass
class Tally:
    """What was done in one review, by question id."""

    kept: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    reworded: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


class Review:
    """The questions of a file that are to be read; whatever is done to one is saved at once.

    What a reader can't do raises HarnessError with the reason, and changes nothing.
    """

    def __init__(self, file: QuestionFile, corpus: Corpus, everything: bool = False) -> None:
        self.file, self.corpus, self.tally = file, corpus, Tally()
        self.rows = file.rows()
        self.waiting = [i for i, row in enumerate(self.rows) if everything or not row.raw.reviewed]
        self._gone: set[int] = set()
        self._judged: Judged | None = None

    @property
    def judged(self) -> Judged:
        """The file's labels as they are now."""
        if self._judged is None:
            self._judged = Judged.of([row.raw for row in self._present()], self.corpus)
        return self._judged

    def _present(self) -> list[Row]:
        return [row for i, row in enumerate(self.rows) if i not in self._gone]

    @property
    def left(self) -> int:
        """Questions that nobody has reviewed yet."""
        return sum(not row.raw.reviewed for row in self._present())

    def question(self, number: int) -> Question | None:
        """A question with its evidence located; None when some of that is wrong."""
        return self.judged.questions.get(self.rows[number].raw.question_id)

    def doubts(self, number: int) -> list[str]:
        return list(self.judged.doubts(self.rows[number].raw.question_id))

    def copied(self, number: int) -> float | None:
        """Share of a question's content words that stand in its evidence's sentences; None where that is undefined."""
        return self.judged.copied.get(self.rows[number].raw.question_id)

    def excerpts(self, number: int) -> Iterator[Excerpt]:
        """Where a question's evidence and condition stand; of an unanswerable one, the texts that come nearest to it."""
        question = self.question(number)
        if question is None:
            return
        places = list(dict.fromkeys(question.evidence.places())) if question.evidence else []
        around = AROUND if len(places) < 2 else FEWER
        yield from (self._excerpt("evidence", p, around) for p in places[:MOST_SHOWN])
        yield from (self._excerpt("condition", p, FEWER) for p in question.condition[:1])
        if not places:
            yield from (self._excerpt("near", p, 0) for p in self._near.places(question.text))

    def _excerpt(self, kind: str, place: Place, around: int) -> Excerpt:
        text, span = self.corpus[place.document_id].text, place.span
        before, after = text[max(0, span.start - around) : span.start], text[span.end : span.end + around]
        if span.start > around:
            before = "…" + before.partition(" ")[2]
        if span.end + around < len(text):
            after = after.rpartition(" ")[0] + "…"
        return Excerpt(kind, place.document_id, before, text[span.start : span.end], after)

    @cached_property
    def _near(self) -> _Near:
        return _Near(self.corpus)

    def keep(self, number: int) -> None:
        """Mark a question as reviewed."""
        row = self.rows[number]
        if self.question(number) is None:
            raise HarnessError(Fault(row.raw.question_id, "something is wrong with it", "mend or drop it"))
        self.rows[number] = self.file.change(row, row.changed(reviewed=True))
        self.tally.kept.append(row.raw.question_id)

    def drop(self, number: int) -> None:
        """Move a question to the file of dropped ones."""
        self.file.drop(self.rows[number])
        self._gone.add(number)
        self._judged = None
        self.tally.dropped.append(self.rows[number].raw.question_id)

    def reword(self, number: int, wording: str) -> None:
        """Ask it in other words; the first wording is kept beside it, and it stays to be reviewed."""
        row, text = self.rows[number], clean(wording)
        others = {digest(r.raw.text): r.raw.question_id for r in self._present() if r is not row}
        if not any(c.isalnum() for c in text):
            raise HarnessError(Fault(row.raw.question_id, "the new wording is empty", "write a question"))
        if other := others.get(digest(text)):
            raise HarnessError(
                Fault(row.raw.question_id, f"question '{other}' asks the same", "word it differently, or drop one")
            )
        first = str(row.record.get("reworded_from", row.raw.text))
        kept = None if digest(first) == digest(text) else first
        self._change(number, id=row.raw.question_id, question=text, reworded_from=kept, reviewed=False)
        _once(self.tally.reworded, row.raw.question_id)

    def quote(self, number: int, text: str) -> None:
        """Give it one other quote as its evidence, which must stand in its document; it stays to be reviewed."""
        row = self.rows[number]
        document = self._document(row.raw, text)
        spans = locate.occurrences(document, text.strip()) if any(c.isalnum() for c in text) else []
        if not spans:
            near = locate.nearest_text([document], text) if text.strip() else ""
            what = f"that text is not in document '{document.document_id}'"
            raise HarnessError(
                Fault(row.raw.question_id, what, f"nearest text: {near}" if near else "paste it from the document")
            )
        found = document.text[spans[0].start : spans[0].end].strip()
        section = row.raw.section_id or None
        if section and not any(s.section_id == section and s.span.touches(spans[0]) for s in document.sections):
            section = None  # it named where the other quote stood
        self._change(
            number,
            id=row.raw.question_id,
            evidence=found,
            document=document.document_id,
            section=section,
            regions=None,
            reviewed=False,
        )
        _once(self.tally.edited, row.raw.question_id)

    def _document(self, raw: RawQuestion, text: str) -> Document:
        """The document of a question, else the only one that a text stands in."""
        if raw.document_id:
            found = self.corpus.named(raw.document_id)
            if len(found) != 1:
                raise HarnessError(Fault(raw.question_id, *unknown_document(self.corpus, raw.document_id)))
        else:
            found = tuple(d for d in self.corpus.documents if locate.occurrences(d, text.strip()))
            if len(found) != 1:
                what = f"that text is in {len(found)} documents" if found else "that text is in no document"
                raise HarnessError(Fault(raw.question_id, what, "paste more of it, as it stands in one document"))
        return found[0]

    def skip(self, number: int) -> None:
        self.tally.skipped.append(self.rows[number].raw.question_id)

    def _change(self, number: int, **values: Any) -> None:
        row = self.rows[number]
        self.rows[number] = self.file.change(row, row.changed(**values))
        self._judged = None

    def as_json(self) -> dict[str, Any]:
        return {"file": str(self.file.path), **vars(self.tally), "left": self.left}


def _once(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)


class _Near:
    """Finds the sentences of a corpus that have most in common with a question; none where the corpus is too large."""

    def __init__(self, corpus: Corpus) -> None:
        self.places: Any = lambda question: []
        if sum(len(d.text) for d in corpus.documents) > MOST_SEARCHED:
            return
        from sklearn.feature_extraction.text import TfidfVectorizer

        where = [Place(d.document_id, Span(int(a), int(b))) for d in corpus.documents for a, b in sentences(d.text)]
        texts = [corpus[p.document_id].text[p.span.start : p.span.end] for p in where]
        ignored = function_words([])
        vectorizer = TfidfVectorizer(analyzer=lambda text: [t for t in terms(text) if t not in ignored])
        if not any(set(terms(text)) - ignored for text in texts):
            return
        vectors = vectorizer.fit_transform(texts)

        def places(question: str) -> list[Place]:
            scores = (vectors @ vectorizer.transform([question]).T).toarray().ravel()
            return [where[i] for i in (-scores).argsort(kind="stable")[:NEAR_TEXTS] if scores[i] > 0]

        self.places = places


def open_review(target: Path, corpus: Path | None, everything: bool) -> Review:
    """A review of a question file against a corpus, or of an experiment's own."""
    if target.suffix.lower() == TOML:
        if corpus is not None:
            raise HarnessError(Fault("--corpus", "an experiment has a corpus of its own", "leave --corpus out"))
        source = experiment.load(target).source
        return Review(_existing(source.questions, f"{target} [data] questions"), source.read_corpus(), everything)
    file = _existing(target, str(target))
    if corpus is None:
        fix = "add --corpus PATH, or name the experiment file instead"
        raise HarnessError(Fault("--corpus", "a question file does not say where its documents are", fix))
    return Review(file, corpora.read_corpus(corpus), everything)


def _existing(path: Path, where: str) -> QuestionFile:
    if path.suffix.lower() != SUFFIX:
        fix = (
            f"review changes {SUFFIX} files only, a question a line; in another kind set 'reviewed' by hand, or write its "
            f"questions to a {SUFFIX} file"
        )
        raise HarnessError(Fault(where, f"'{path.name}' is no {SUFFIX} file", fix))
    if not path.is_file():
        raise HarnessError(Fault(str(path), "no such question file", "make one: `harness questions import` or `generate`"))
    return QuestionFile(path)
