"""Labels: a format's raw questions to questions whose evidence is located once; their checks are in `label_checks`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import product

from harness import locate, splits
from harness.errors import Fault, HarnessError, nearest
from harness.locate import normalised
from harness.records import Corpus, Document, Evidence, Place, Question, Section, Span
from harness.splits import SplitRule

MOST_COMBINATIONS = 64  # of the places of an all-of list's texts
MOST_EXPLAINED = 20  # quotes that are nowhere and whose nearest text is looked for: it takes long in a large corpus
SPLITS = {"dev": "dev", "holdout": "holdout", "test": "holdout"}


@dataclass(frozen=True, slots=True)
class Quote:
    """A text that a question needs; `document` if not the question's, `start` where the user knows its place (characters)."""

    text: str
    document: str = ""
    start: int | None = None


@dataclass(frozen=True)
class RawQuestion:
    """A question as a format reads it: evidence still as quotes, one list of required ones per alternative."""

    where: str  # file and line
    question_id: str
    text: str
    split: str = ""  # empty: for [data] split to say
    section_id: str = ""
    document_id: str = ""
    evidence: tuple[tuple[Quote, ...], ...] = ()
    regions: tuple[tuple[str, str], ...] = ()  # alternatives of a document id and a section id, or "" for all of it
    condition: Quote | None = None
    source: str = ""
    date: str = ""
    reviewed: bool = True


@dataclass(frozen=True)
class Quoted:
    """How many quotes a question set has, how many stand more than once where they may, and how many came with offsets."""

    quotes: int = 0
    repeated: int = 0
    with_offset: int = 0


@dataclass(frozen=True)
class Labelling:
    """Questions with their evidence located, and what is wrong about them."""

    raws: tuple[RawQuestion, ...] = ()
    questions: tuple[tuple[str, Question], ...] = ()  # split, question
    faults: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()
    quoted: Quoted = Quoted()


class PartlyRead(HarnessError):
    """Some entries of a file could not be read; `questions` are the others, so that their faults are told in the same go."""

    def __init__(self, faults: Iterable[Fault], questions: Iterable[RawQuestion]) -> None:
        super().__init__(faults)
        self.questions = tuple(questions)


Target = tuple[Document, Section | None]
Wanted = tuple[str, str]  # a quote's text and the id of its document; empty for any document of the corpus


@dataclass
class _Notes:
    faults: list[Fault] = field(default_factory=list)
    warnings: list[Fault] = field(default_factory=list)
    elsewhere: dict[Wanted, list[Place]] = field(default_factory=dict)  # where quotes that are not in their document stand
    explained: int = 0
    quotes: int = 0
    repeated: int = 0
    with_offset: int = 0


@dataclass(frozen=True)
class _Reading:
    """A raw question whose names are resolved: the target that it expects, and the documents of each quote."""

    raw: RawQuestion
    target: Target | None
    documents: Mapping[Quote, tuple[Document, ...]]

    @property
    def quotes(self) -> list[Quote]:
        return [
            *(q for alternative in self.raw.evidence for q in alternative),
            *([self.raw.condition] if self.raw.condition else []),
        ]


def label(raws: Sequence[RawQuestion], corpus: Corpus, rule: SplitRule | None = None) -> Labelling:
    """Locate all evidence and split the questions; every fault of every question is reported, not the first."""
    notes = _Notes()
    sections: dict[str, list[tuple[Document, Section]]] = {}
    for document in corpus.documents:
        for section in document.sections:
            sections.setdefault(section.section_id, []).append((document, section))
    readings = [_read(raw, corpus, sections, notes) for raw in raws]
    wanted = list(dict.fromkeys(_wanted(r, q) for r in readings if r for q in r.quotes if q.start is None))
    documents = [(corpus[i],) if i else corpus.documents for _, i in wanted]
    found = locate.find([(text, ds) for (text, _), ds in zip(wanted, documents, strict=True)])
    places = dict(zip(wanted, found, strict=True))
    lost = [w for w, where in places.items() if not where and w[1]][:MOST_EXPLAINED]
    notes.elsewhere = dict(zip(lost, locate.find([(text, corpus.documents) for text, _ in lost]), strict=True))
    placed = [(q.text, r.documents[q][0]) for r in readings if r for q in r.quotes if q.start is not None]
    notes.repeated = sum(locate.repeated(placed))
    located = [(r.raw, q) for r in readings if r and (q := _question(r, corpus, places, notes))]
    questions = _split(raws, located, corpus, rule, notes)
    quoted = Quoted(notes.quotes, notes.repeated, notes.with_offset)
    return Labelling(tuple(raws), questions, _in_order(notes.faults, raws), _in_order(notes.warnings, raws), quoted)


def _in_order(faults: Sequence[Fault], raws: Sequence[RawQuestion]) -> tuple[Fault, ...]:
    """Each once, in the order of the questions that they are about; those about none come last."""
    position = {raw.where: i for i, raw in enumerate(raws)}
    return tuple(sorted(dict.fromkeys(faults), key=lambda f: position.get(f.where, len(raws))))


def _wanted(reading: _Reading, quote: Quote) -> Wanted:
    documents = reading.documents[quote]
    return quote.text, documents[0].document_id if len(documents) == 1 else ""


def _split(
    raws: Sequence[RawQuestion],
    located: Sequence[tuple[RawQuestion, Question]],
    corpus: Corpus,
    rule: SplitRule | None,
    notes: _Notes,
) -> tuple[tuple[str, Question], ...]:
    if rule is None and raws and not any(r.split.strip() for r in raws):
        fix = "add [data] split = { holdout = 0.3, seed = 7 }, or a split to each question (dev or holdout)"
        notes.faults.append(Fault("questions", "no question says whether it is dev or holdout", fix))
        return ()
    given: dict[str, str] = {}
    for raw in raws:
        split = SPLITS.get(raw.split.strip().casefold())
        if split:
            given[raw.where] = split
        elif raw.split.strip() or rule is None:
            notes.faults.append(Fault(raw.where, f"unknown split '{raw.split}'", "write dev or holdout"))
            given[raw.where] = ""
    assigned = splits.assign([q for _, q in located], [given.get(r.where) for r, _ in located], corpus, rule or SplitRule())
    return tuple((split, q) for split, (_, q) in zip(assigned, located, strict=True) if split)


def _read(
    raw: RawQuestion, corpus: Corpus, sections: Mapping[str, list[tuple[Document, Section]]], notes: _Notes
) -> _Reading | None:
    """Names resolved; None when one is wrong."""
    before = len(notes.faults)
    if not raw.question_id:
        notes.faults.append(Fault(raw.where, "question_id is empty", "give each question its own id"))
    if not raw.text.strip():
        notes.faults.append(Fault(raw.where, "the question is empty", "write it or delete the row"))
    if raw.section_id and not raw.evidence and not raw.regions:
        what = f"section '{raw.section_id}' is expected but there is no evidence"
        notes.faults.append(Fault(raw.where, what, "quote the evidence, or clear the section for an unanswerable question"))
    if raw.condition and not raw.evidence:
        notes.faults.append(Fault(raw.where, "a condition_span goes with evidence, and there is none", "quote the evidence too"))
    document = _document(raw.where, raw.document_id, corpus, notes)
    target = _target(raw, document, sections, notes) if document or not raw.document_id else None
    own = (target[0],) if target else corpus.documents
    reading = _Reading(raw, target, documents := {})
    for quote in reading.quotes:
        named = _document(raw.where, quote.document, corpus, notes)
        documents[quote] = (named,) if named else own
        if quote.start is not None and len(documents[quote]) > 1:
            what = f"the offset {quote.start} of '{short(quote.text)}' goes with no document"
            notes.faults.append(Fault(raw.where, what, "name the document"))
    return reading if len(notes.faults) == before else None


def _document(where: str, name: str, corpus: Corpus, notes: _Notes) -> Document | None:
    """The document of a name; None for an empty name, or an unknown or ambiguous one, which is noted."""
    found = corpus.named(name) if name else ()
    if len(found) == 1:
        return found[0]
    if name:
        notes.faults.append(Fault(where, *unknown_document(corpus, name)))
    return None


def unknown_document(corpus: Corpus, name: str) -> tuple[str, str]:
    """What is wrong with a document's name that means none or several, and the way out."""
    found, ids = corpus.named(name), [d.document_id for d in corpus.documents]
    if found:
        what = f"'{name}' may be any of {len(found)} documents, such as '{found[0].document_id}' and '{found[1].document_id}'"
        return what, "write more of its path"
    fix = f"the corpus has {len(ids)} documents, such as '{ids[0]}'" if len(ids) > 12 else nearest(name, ids)
    return f"unknown document '{name}'", fix


def _target(
    raw: RawQuestion, document: Document | None, sections: Mapping[str, list[tuple[Document, Section]]], notes: _Notes
) -> Target | None:
    """The document, and section if named, that a question expects; None when it names neither or wrongly."""
    if not raw.section_id:
        return (document, None) if document else None
    if document:
        found = [(document, s) for s in document.sections if s.section_id == raw.section_id]
    else:
        found = list(sections.get(raw.section_id, ()))
    if len(found) == 1:
        return found[0]
    if found:
        documents = ", ".join(d.document_id for d, _ in found)
        what = f"section '{raw.section_id}' exists in several documents ({documents})"
        notes.faults.append(Fault(raw.where, what, "add a column document_id"))
    else:
        near = _near_section(raw.section_id, document.sections if document else [s for ds in sections.values() for _, s in ds])
        notes.faults.append(Fault(raw.where, f"unknown section '{raw.section_id}'", near))
    return None


def _near_section(name: str, sections: Sequence[Section]) -> str:
    """The section that a wrong id may mean, by its heading or by a likeness of ids; people write headings."""
    by_heading = [s.section_id for s in sections if s.heading and normalised(s.heading) == normalised(name)]
    ids = list(dict.fromkeys(s.section_id for s in sections))
    if by_heading:
        return f"write its id, '{by_heading[0]}'"
    close = get_close_matches(name, ids, n=1, cutoff=0.6)
    few = f"known: {', '.join(ids)}" if 0 < len(ids) <= 12 else "use a section_id of the corpus"
    return f"did you mean '{close[0]}'?" if close else few


def _question(reading: _Reading, corpus: Corpus, places: Mapping[Wanted, list[Place]], notes: _Notes) -> Question | None:
    """The question with its evidence located; None when some of it is nowhere, or is several things at once."""
    raw, before = reading.raw, len(notes.faults)
    groups = [_alternative(reading, quotes, corpus, places, notes) for quotes in raw.evidence]
    alternatives = tuple(dict.fromkeys(a for group in groups for a in group))
    regions = tuple(dict.fromkeys((p,) for r in raw.regions if (p := _region(raw, r, corpus, notes))))
    condition = _places(reading, raw.condition, corpus, places, notes) if raw.condition else []
    if len(notes.faults) > before:
        return None
    evidence = Evidence(alternatives) if alternatives else Evidence(regions, whole=False) if regions else None
    section = (reading.target[0].document_id, reading.target[1].section_id) if reading.target and reading.target[1] else None
    return Question(
        question_id=raw.question_id,
        text=raw.text,
        evidence=evidence,
        expected_section=section,
        condition=tuple(condition),
        source=raw.source,
        date=raw.date,
        reviewed=raw.reviewed,
    )


def _region(raw: RawQuestion, region: tuple[str, str], corpus: Corpus, notes: _Notes) -> Place | None:
    name, section_id = region
    document = _document(raw.where, name, corpus, notes)
    if document is None or not section_id:
        return Place(document.document_id, Span(0, len(document.text))) if document else None
    found = next((s for s in document.sections if s.section_id == section_id), None)
    if found is None:
        what = f"unknown section '{section_id}' of document '{name}'"
        notes.faults.append(Fault(raw.where, what, _near_section(section_id, document.sections)))
    return Place(document.document_id, found.span) if found else None


def _alternative(
    reading: _Reading, quotes: Sequence[Quote], corpus: Corpus, places: Mapping[Wanted, list[Place]], notes: _Notes
) -> list[tuple[Place, ...]]:
    """The alternatives that an all-of list of quotes stands for: one per combination of the places where they stand."""
    found = [_places(reading, quote, corpus, places, notes) for quote in quotes]
    if not all(found):
        return []
    section = reading.target[1] if reading.target else None
    if section and not any(p.span.touches(section.span) for places in found for p in places):
        what = f"the evidence of '{reading.raw.question_id}' stands outside the expected section '{section.section_id}'"
        notes.warnings.append(Fault(reading.raw.where, what, "correct the section, or quote the text that stands in it"))
    return [(p,) for p in found[0]] if len(found) == 1 else _combined(reading.raw, quotes, found, notes)


def _places(reading: _Reading, quote: Quote, corpus: Corpus, places: Mapping[Wanted, list[Place]], notes: _Notes) -> list[Place]:
    """Where a quote counts: at the user's offset, else inside the expected section, else wherever it stands."""
    raw, documents = reading.raw, reading.documents[quote]
    notes.quotes += 1
    if quote.start is not None:
        notes.with_offset += 1
        return _at_offset(raw, quote, documents[0], notes)
    found = places[_wanted(reading, quote)]
    if not found:
        notes.faults.append(_not_found(raw, quote, documents, notes))
        return []
    notes.repeated += len(found) > 1
    section = reading.target[1] if reading.target else None
    inside = [p for p in found if section and p.span.touches(section.span)]
    if len(inside or found) > 1:
        what = f"the evidence of '{raw.question_id}' stands {len(inside or found)} times; each counts"
        notes.warnings.append(Fault(raw.where, what, "quote more of the text if only one of them answers"))
    return inside or found


def _at_offset(raw: RawQuestion, quote: Quote, document: Document, notes: _Notes) -> list[Place]:
    """The place at the user's offset, if the quote stands there."""
    start = quote.start or 0
    end = start + len(quote.text)
    if span := locate.at(document, quote.text, start):
        return [Place(document.document_id, span)]
    if start < 0 or end > len(document.text):
        what = f"evidence [{start}, {end}) lies outside document '{document.document_id}' ({len(document.text)} characters)"
    else:
        stands, sought = document.text[start : min(end, start + 60)], quote.text[:60]
        what = f"at [{start}, {end}) of document '{document.document_id}' stands {stands!r}, not {sought!r}"
    explained = notes.explained < MOST_EXPLAINED  # both look through the whole document
    elsewhere = [s.start for s in locate.occurrences(document, quote.text)] if explained else []
    if way := locate.other_count(document, quote.text, start) if start >= 0 and explained else "":
        notes.explained += 1
        fix = f"the offsets count {way}; export them again in characters (code points)"
    elif elsewhere:
        notes.explained += 1
        fix = f"it stands at {', '.join(map(str, elsewhere[:5]))}: correct the offset, or leave it out"
    elif not explained:
        fix = f"correct the offset, or leave it out (the first {MOST_EXPLAINED} are looked for elsewhere)"
    else:
        near = _nearest(quote.text, (document,), notes)
        fix = f"it stands nowhere in the document; {near}"
    notes.faults.append(Fault(raw.where, what, fix))
    return []


def _combined(raw: RawQuestion, quotes: Sequence[Quote], places: list[list[Place]], notes: _Notes) -> list[tuple[Place, ...]]:
    """One alternative per combination of places, all of them distinct, for a text that stands twice may answer by either."""
    number = math.prod(len(p) for p in places)
    if number > MOST_COMBINATIONS:
        what = f"the {len(quotes)} texts of an all-of list stand in {number:,} combinations of places"
        notes.faults.append(Fault(raw.where, what, f"quote more of each, so that at most {MOST_COMBINATIONS} are left"))
        return []
    combined: dict[frozenset[Place], tuple[Place, ...]] = {}
    for chosen in product(*places):
        if len(set(chosen)) == len(chosen):
            combined.setdefault(frozenset(chosen), chosen)
    if not combined:
        shown = ", ".join(f"'{short(q.text, 30)}'" for q in quotes)
        what = f"the all-of list {shown} asks for the same place more than once"
        notes.faults.append(Fault(raw.where, what, "name each text once, or quote more of it where it stands twice"))
    return list(combined.values())


def _not_found(raw: RawQuestion, quote: Quote, documents: Sequence[Document], notes: _Notes) -> Fault:
    text = quote.text
    place = f"document '{documents[0].document_id}'" if len(documents) == 1 else "any document"
    elsewhere = [p.document_id for p in notes.elsewhere.get((text, documents[0].document_id), ())] if len(documents) == 1 else []
    if text.startswith("["):
        fix = "it begins like a JSON list but can't be read as one: check its quotes and brackets"
    elif elsewhere:
        notes.explained += 1
        wrong = "expected section" if raw.section_id and not quote.document else "document"
        fix = f"it stands in document '{elsewhere[0]}': correct the {wrong}"
    else:
        fix = _nearest(text, documents, notes)
    name = "condition" if quote is raw.condition else "evidence"
    return Fault(raw.where, f"{name} '{short(text)}' is not in {place}", fix)


def _nearest(text: str, documents: Sequence[Document], notes: _Notes) -> str:
    notes.explained += 1
    if notes.explained > MOST_EXPLAINED:
        return f"quote the text verbatim (the nearest text is shown for the first {MOST_EXPLAINED} only)"
    near = locate.nearest_text(documents, text)
    return f"nearest text: {near}" if near else "nothing like it was found; quote the text verbatim"


def short(text: str, limit: int = 90) -> str:
    """A text on one line for a message, cut where it is longer."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
