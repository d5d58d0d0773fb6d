"""Which of a model's questions are kept: those whose quotes stand in their document; another reason to drop one goes here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from harness import labels, locate, wording
from harness.answers import Dropped, Entry
from harness.errors import Fault
from harness.formats.cells import derived_id
from harness.label_checks import COPIED, Subject
from harness.labels import MOST_EXPLAINED, Labelling, RawQuestion, short, unknown_document
from harness.records import Corpus, Document, Question, Span
from harness.splits import SplitRule
from harness.text import sentences

MOST_EVIDENCE = 1000  # characters; the shortest sufficient quote is asked for
FEW_SENTENCES = 2  # a section of so many may be evidence as a whole
QUOTATION_MARKS = "\"'“”„‟«»‹›‘’‚`"


@dataclass(frozen=True)
class Kept:
    """A question whose quotes are slices of its document's text."""

    question_id: str
    question: str
    document_id: str
    evidence: tuple[tuple[str, ...], ...]
    condition: str = ""

    def record(self, **facts: str) -> dict[str, object]:
        """An object of a question file, not reviewed."""
        found = {
            "id": self.question_id,
            "question": self.question,
            "evidence": self._evidence or None,
            "document": self.document_id,
        }
        told = {"condition": self.condition, **facts}
        return found | {k: v for k, v in told.items() if v} | {"reviewed": False}

    @property
    def _evidence(self) -> object:
        """As question files write it: a text, or a list of alternatives in which a list is all-of."""
        alternatives = [a[0] if len(a) == 1 else list(a) for a in self.evidence]
        return alternatives[0] if len(alternatives) == 1 and isinstance(alternatives[0], str) else alternatives


@dataclass
class Sieve:
    """Keeps or drops questions against a corpus; `known` says by wording's hash where a question is already."""

    corpus: Corpus
    known: dict[str, str]
    ids: set[str]
    kept: list[Kept] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    already: list[Dropped] = field(default_factory=list)
    explained: int = 0

    def sift(self, entries: Iterable[Entry], document_id: str = "") -> None:
        """Add to `kept`, `dropped` or `already`; a document that an entry does not name, or names wrongly, is the one given."""
        for entry in entries:
            if place := self.known.get(digest(entry.question)):
                self.already.append(Dropped(entry.question, Fault(entry.where, f"it is there already, {place}", "nothing to do")))
                continue
            try:
                kept = self._checked(entry, document_id)
            except _Unfit as unfit:
                self.dropped.append(Dropped(entry.question, unfit.fault))
                continue
            self.known[digest(kept.question)] = f"as question '{kept.question_id}'"
            self.ids.add(kept.question_id)
            self.kept.append(kept)

    def _checked(self, entry: Entry, document_id: str) -> Kept:
        document = self._document(entry, document_id)
        evidence: tuple[tuple[str, ...], ...] = ()
        condition = ""
        if document and entry.evidence:
            evidence = tuple(tuple(self._slice(entry, q, document) for q in quotes) for quotes in entry.evidence)
            condition = self._slice(entry, entry.condition, document) if entry.condition.strip() else ""
        if any(condition in text for quotes in evidence for text in quotes):
            condition = ""  # what is quoted already needs no second quote
        return Kept(
            question_id=self._id(entry.question, document.document_id if document else ""),
            question=entry.question,
            document_id=document.document_id if document else "",
            evidence=tuple(dict.fromkeys(evidence)),
            condition=condition,
        )

    def _id(self, question: str, document_id: str) -> str:
        found, number = derived_id(question), 0
        while found in self.ids:
            found, number = derived_id(question, document_id, str(number)), number + 1
        return found

    def _document(self, entry: Entry, otherwise: str) -> Document | None:
        """The document that an entry names, else the one given, else the only one that its first quote stands in."""
        name = entry.document.strip()
        found = self.corpus.named(name) if name else ()
        if len(found) == 1:
            return found[0]
        if otherwise:
            return self.corpus[otherwise]
        if name:
            raise _Unfit(entry, *unknown_document(self.corpus, name))
        if len(self.corpus.documents) == 1 or not entry.evidence:
            return self.corpus.documents[0] if len(self.corpus.documents) == 1 else None
        quote = entry.evidence[0][0]
        holding = [d for d in self.corpus.documents if self._stands(d, quote)]
        if not holding:
            raise self._not_verbatim(entry, quote, None)
        if len(holding) > 1:
            what = f"its evidence stands in {len(holding)} documents, such as '{holding[0].document_id}', and it names none"
            raise _Unfit(entry, what, "name the document: --document, or in the answer")
        return holding[0]

    def _slice(self, entry: Entry, quote: str, document: Document) -> str:
        """The document's own text where a quote stands. Raises _Unfit when that is nowhere, or too much of it."""
        if len(quote) > MOST_EVIDENCE:
            what = f"its evidence has {len(quote):,} characters, more than {MOST_EVIDENCE:,}"
            raise _Unfit(entry, what, "quote the shortest text that answers")
        span = self._stands(document, quote)
        if span is None:
            raise self._not_verbatim(entry, quote, document)
        if _is_section(document, span):
            raise _Unfit(entry, "its evidence is a whole section", "quote the shortest text that answers")
        return document.text[span.start : span.end].strip()

    def _stands(self, document: Document, quote: str) -> Span | None:
        """Where a quote first stands in a document, as it is or without the quotation marks around it."""
        for text in (quote.strip(), quote.strip().strip(QUOTATION_MARKS).strip()):
            if any(c.isalnum() for c in text) and (spans := locate.occurrences(document, text)):
                return spans[0]
        return None

    def _not_verbatim(self, entry: Entry, quote: str, document: Document | None) -> _Unfit:
        place = f"document '{document.document_id}'" if document else "any document"
        self.explained += 1
        elsewhere = [d.document_id for d in self.corpus.documents if quote.strip() in d.text]
        if elsewhere:
            fix = f"it stands in document '{elsewhere[0]}'"
        elif self.explained > MOST_EXPLAINED:
            fix = f"quote the text verbatim (the nearest text is shown for the first {MOST_EXPLAINED} only)"
        else:
            near = locate.nearest_text([document] if document else self.corpus.documents, quote)
            fix = f"nearest text: {near}" if near else "nothing like it was found"
        return _Unfit(entry, f"not verbatim: '{short(quote)}' is not in {place}", fix)


class _Unfit(Exception):
    """A question that is not kept."""

    def __init__(self, entry: Entry, what: str, fix: str) -> None:
        super().__init__(what)
        self.fault = Fault(entry.where, what, fix)


def digest(question: str) -> str:
    """What makes a wording the same question."""
    return Question("", question).sha256


def _is_section(document: Document, span: Span) -> bool:
    """Whether a span takes in a whole section of a document that has several, and more than a few sentences."""
    return len(document.sections) > 1 and any(
        span.contains(s.span) and len(sentences(document.text[s.span.start : s.span.end])) > FEW_SENTENCES
        for s in document.sections
    )


@dataclass(frozen=True)
class Judged:
    """A question file's labels, and what is doubtful about single questions, by id."""

    labelling: Labelling
    corpus: Corpus

    @classmethod
    def of(cls, raws: Sequence[RawQuestion], corpus: Corpus) -> Judged:
        return cls(labels.label(raws, corpus, SplitRule()), corpus)

    @cached_property
    def questions(self) -> Mapping[str, Question]:
        return {q.question_id: q for _, q in self.labelling.questions}

    @cached_property
    def copied(self) -> Mapping[str, float]:
        """Share of a question's content words that stand in its evidence's sentences; answerable ones only."""
        return Subject(self.labelling, self.corpus).copied

    @cached_property
    def alike(self) -> Mapping[str, tuple[str, ...]]:
        """Other questions in nearly the same words."""
        raws = [r for r in self.labelling.raws if r.text][-wording.MOST_COMPARED :]
        found: dict[str, tuple[str, ...]] = {}
        for i, j in wording.near_duplicates([r.text for r in raws]) if raws else ():
            for one, other in ((raws[i], raws[j]), (raws[j], raws[i])):
                found[one.question_id] = (*found.get(one.question_id, ()), other.question_id)
        return found

    def doubts(self, question_id: str) -> Iterator[str]:
        """What a reader should know before keeping a question."""
        raw = next(r for r in self.labelling.raws if r.question_id == question_id)
        yield from (f.what for f in self.labelling.faults if f.where == raw.where)
        share = self.copied.get(question_id, 0.0)
        if share >= COPIED:
            yield f"{share:.0%} of its content words stand in its evidence's sentence"
        yield from (w.what for w in self.labelling.warnings if w.where == raw.where)
        if len(raw.evidence) > 1:
            yield f"{len(raw.evidence)} quotes; each of them alone counts as an answer"
        if others := self.alike.get(question_id):
            yield f"nearly the same as {', '.join(others[:3])}"
