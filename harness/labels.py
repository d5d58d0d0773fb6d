"""Labels: evidence located once, and the faults and warnings of a question set; a new check is a function in `CHECKS`."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product

from rapidfuzz import fuzz

from harness.errors import Fault
from harness.records import Corpus, Document, Evidence, Place, Question, Section, Span

ENOUGH_DEV = 25  # below it one question moves hit at 1 by more than four points
MOST_COMBINATIONS = 64  # of the places of an all-of list's texts
SPLITS = {"dev": "dev", "holdout": "holdout", "test": "holdout"}


@dataclass(frozen=True)
class RawQuestion:
    """A question as a format reads it: evidence still as text, one list of required texts per alternative."""

    where: str  # file and line
    question_id: str
    text: str
    split: str
    section_id: str = ""
    document_id: str = ""
    evidence: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Labelling:
    """Questions with their evidence located, and what is wrong or doubtful about them."""

    questions: tuple[tuple[str, Question], ...] = ()  # split, question
    faults: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()


@dataclass
class _Notes:
    faults: list[Fault] = field(default_factory=list)
    warnings: list[Fault] = field(default_factory=list)


def parse_evidence(cell: str) -> tuple[tuple[str, ...], ...]:
    """A CSV cell's alternatives: a text, or a JSON list of alternatives in which a list is all-of.

    Raises ValueError when the cell begins like a JSON list and is none of these.
    """
    cell = cell.strip()
    if not cell.startswith("["):
        return ((cell,),) if cell else ()
    try:
        listed = json.loads(cell)
    except RecursionError:
        raise ValueError("a list nested too deeply") from None
    except ValueError:
        return ((cell,),)  # a text that begins with a bracket
    alternatives = [item if isinstance(item, list) else [item] for item in listed]
    if not alternatives or not all(a and all(isinstance(t, str) and t.strip() for t in a) for a in alternatives):
        raise ValueError("a JSON list of texts, or of lists of texts, none of them empty, is expected")
    if any("\ud800" <= c <= "\udfff" for a in alternatives for t in a for c in t):
        raise ValueError("half of a surrogate pair, which is no character")
    return tuple(tuple(t.strip() for t in a) for a in alternatives)


def folded(text: str) -> tuple[str, list[int]]:
    """A text with case folded and white space collapsed, and for each of its characters the original's offset."""
    characters: list[str] = []
    offsets: list[int] = []
    for i, original in enumerate(text):
        if original.isspace():
            if characters and characters[-1] != " ":
                characters.append(" ")
                offsets.append(i)
            continue
        for c in original.casefold():
            characters.append(c)
            offsets.append(i)
    return "".join(characters), offsets


def occurrences(document: Document, text: str) -> list[Span]:
    """Where a text stands in a document: verbatim if it does, else up to case and white space. Offsets of the original."""
    spans = [Span(i, i + len(text)) for i in _find_all(document.text, text)]
    if spans:
        return spans
    haystack, offsets = folded(document.text)
    needle = folded(text)[0].strip()
    found = [Span(offsets[i], offsets[i + len(needle) - 1] + 1) for i in _find_all(haystack, needle)]
    # A match that begins or ends inside a folded character (as of a ligature) is none.
    return [s for s in found if folded(document.text[s.start : s.end])[0].strip() == needle]


def _find_all(haystack: str, needle: str) -> Iterable[int]:
    at = haystack.find(needle) if needle else -1
    while at >= 0:
        yield at
        at = haystack.find(needle, at + 1)


def nearest_text(documents: Iterable[Document], text: str) -> str:
    """The most similar passage of some documents, in whole words, for a message."""
    best_score, best = 0.0, ""
    for document in documents:
        match = fuzz.partial_ratio_alignment(text, document.text, score_cutoff=max(best_score, 40.0))
        if match and match.score > best_score:
            start, end = match.dest_start, match.dest_end
            while start > 0 and not document.text[start - 1].isspace():
                start -= 1
            while end < len(document.text) and not document.text[end].isspace():
                end += 1
            best_score, best = (
                match.score,
                f"'{' '.join(document.text[start:end].split())}' in document '{document.document_id}'",
            )
    return best


def label(raws: Sequence[RawQuestion], corpus: Corpus) -> Labelling:
    """Locate all evidence; every fault of every question is reported, not the first."""
    notes = _Notes()
    sections: dict[str, list[tuple[Document, Section]]] = {}
    for document in corpus.documents:
        for section in document.sections:
            sections.setdefault(section.section_id, []).append((document, section))
    questions = []
    for raw in raws:
        question = _locate(raw, corpus, sections, notes)
        split = SPLITS.get(raw.split.strip().casefold())
        if split is None:
            fix = "write dev or holdout"
            notes.faults.append(Fault(raw.where, f"unknown split '{raw.split}'", fix))
        elif question is not None:
            questions.append((split, question))
    for check in CHECKS:
        check(raws, questions, notes)
    return Labelling(tuple(questions), tuple(dict.fromkeys(notes.faults)), tuple(dict.fromkeys(notes.warnings)))


Sections = dict[str, list[tuple[Document, Section]]]


def _locate(raw: RawQuestion, corpus: Corpus, sections: Sections, notes: _Notes) -> Question | None:
    before = len(notes.faults)
    if not raw.question_id:
        notes.faults.append(Fault(raw.where, "question_id is empty", "give each question its own id"))
    if not raw.text.strip():
        notes.faults.append(Fault(raw.where, "the question is empty", "write it or delete the row"))
    if not raw.evidence:
        if raw.section_id:
            what = f"section '{raw.section_id}' is expected but there is no evidence"
            notes.faults.append(Fault(raw.where, what, "quote the evidence, or clear the section for an unanswerable question"))
        _known_document(raw, corpus, notes)
        return Question(raw.question_id, raw.text) if len(notes.faults) == before else None
    expected = _expected(raw, corpus, sections, notes)
    if len(notes.faults) > before:
        return None
    places = [_alternative(raw, texts, corpus, expected, notes) for texts in raw.evidence]
    alternatives = tuple(dict.fromkeys(a for group in places for a in group))
    if len(notes.faults) > before:
        return None
    target = (expected[0].document_id, expected[1].section_id) if expected and expected[1] else None
    return Question(raw.question_id, raw.text, Evidence(alternatives), target)


def _known_document(raw: RawQuestion, corpus: Corpus, notes: _Notes) -> bool:
    if not raw.document_id or raw.document_id in corpus.index:
        return True
    known = f"the corpus has {len(corpus.documents)} documents, such as '{corpus.documents[0].document_id}'"
    notes.faults.append(Fault(raw.where, f"unknown document '{raw.document_id}'", known))
    return False


def _expected(raw: RawQuestion, corpus: Corpus, sections: Sections, notes: _Notes) -> tuple[Document, Section | None] | None:
    """The document, and section if named, that a question expects; None when it names neither or wrongly."""
    if not _known_document(raw, corpus, notes):
        return None
    if not raw.section_id:
        return (corpus[raw.document_id], None) if raw.document_id else None
    found = [(d, s) for d, s in sections.get(raw.section_id, ()) if raw.document_id in ("", d.document_id)]
    if len(found) == 1:
        return found[0]
    if found:
        documents = ", ".join(d.document_id for d, _ in found)
        what = f"section '{raw.section_id}' exists in several documents ({documents})"
        notes.faults.append(Fault(raw.where, what, "add a column document_id"))
    else:
        notes.faults.append(Fault(raw.where, f"unknown section '{raw.section_id}'", "use a section_id of the corpus"))
    return None


def _alternative(
    raw: RawQuestion,
    texts: Sequence[str],
    corpus: Corpus,
    expected: tuple[Document, Section | None] | None,
    notes: _Notes,
) -> list[tuple[Place, ...]]:
    """The alternatives that an all-of list of texts stands for: one per combination of the places where they stand."""
    documents = (expected[0],) if expected else corpus.documents
    places: list[list[Place]] = []
    for text in texts:
        found = [Place(d.document_id, s) for d in documents for s in occurrences(d, text)]
        if not found:
            notes.faults.append(_not_found(raw, text, documents, corpus))
            continue
        section = expected[1] if expected else None
        inside = [p for p in found if section and p.span.touches(section.span)]
        if section and not inside:
            what = f"the evidence '{_short(text)}' stands outside the expected section '{section.section_id}'"
            notes.warnings.append(Fault(raw.where, what, "correct the section, or quote the text that stands in it"))
        if len(inside or found) > 1:
            what = f"the evidence '{_short(text)}' stands {len(inside or found)} times; each counts"
            notes.warnings.append(Fault(raw.where, what, "quote more of the text if only one of them answers"))
        places.append(inside or found)
    if len(places) < len(texts):
        return []
    return [(p,) for p in places[0]] if len(places) == 1 else _combined(raw, texts, places, notes)


def _combined(raw: RawQuestion, texts: Sequence[str], places: list[list[Place]], notes: _Notes) -> list[tuple[Place, ...]]:
    """One alternative per combination of places, all of them distinct, for a text that stands twice may answer by either."""
    number = math.prod(len(p) for p in places)
    if number > MOST_COMBINATIONS:
        what = f"the {len(texts)} texts of an all-of list stand in {number:,} combinations of places"
        notes.faults.append(Fault(raw.where, what, f"quote more of each, so that at most {MOST_COMBINATIONS} are left"))
        return []
    combined: dict[frozenset[Place], tuple[Place, ...]] = {}
    for chosen in product(*places):
        if len(set(chosen)) == len(chosen):
            combined.setdefault(frozenset(chosen), chosen)
    if not combined:
        shown = ", ".join(f"'{_short(t, 30)}'" for t in texts)
        what = f"the all-of list {shown} asks for the same place more than once"
        notes.faults.append(Fault(raw.where, what, "name each text once, or quote more of it where it stands twice"))
    return list(combined.values())


def _not_found(raw: RawQuestion, text: str, documents: Sequence[Document], corpus: Corpus) -> Fault:
    place = f"document '{documents[0].document_id}'" if len(documents) == 1 else "any document"
    elsewhere = [d.document_id for d in corpus.documents if len(documents) == 1 and occurrences(d, text)]
    if text.startswith("["):
        fix = "it begins like a JSON list but can't be read as one: check its quotes and brackets"
    elif elsewhere:
        fix = f"it stands in document '{elsewhere[0]}': correct the expected section"
    else:
        near = nearest_text(documents, text)
        fix = f"nearest text: {near}" if near else "nothing like it was found; quote the text verbatim"
    return Fault(raw.where, f"evidence '{_short(text)}' is not in {place}", fix)


def _short(text: str, limit: int = 90) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


Located = Sequence[tuple[str, Question]]


def _duplicate_ids(raws: Sequence[RawQuestion], located: Located, notes: _Notes) -> None:
    counts = Counter(r.question_id for r in raws)
    for raw in raws:
        if raw.question_id and counts[raw.question_id] > 1:
            what = f"question id '{raw.question_id}' is used {counts[raw.question_id]} times"
            notes.faults.append(Fault(raw.where, what, "give each question its own id"))


def _same_question_in_both_splits(raws: Sequence[RawQuestion], located: Located, notes: _Notes) -> None:
    dev = {q.sha256: q.question_id for split, q in located if split == "dev"}
    for split, question in located:
        if split == "holdout" and question.sha256 in dev:
            what = f"holdout question '{question.question_id}' is also the dev question '{dev[question.sha256]}'"
            notes.faults.append(Fault("questions", what, "keep it in one split"))


def _same_question_twice(raws: Sequence[RawQuestion], located: Located, notes: _Notes) -> None:
    where = {r.question_id: r.where for r in raws}
    first: dict[tuple[str, str], str] = {}
    for split, question in located:
        earlier = first.setdefault((split, question.sha256), question.question_id)
        if earlier != question.question_id:
            what = f"{split} question '{question.question_id}' is the same as '{earlier}'"
            fix = "delete one; several answers are alternatives of one question's evidence"
            notes.faults.append(Fault(where[question.question_id], what, fix))


def _enough_dev(raws: Sequence[RawQuestion], located: Located, notes: _Notes) -> None:
    answerable = sum(split == "dev" and q.answerable for split, q in located)
    if answerable == 0:
        notes.faults.append(
            Fault("questions", "no answerable dev questions", "label questions with split dev and their evidence")
        )
    elif answerable < ENOUGH_DEV:
        number = "1 answerable dev question" if answerable == 1 else f"{answerable} answerable dev questions"
        what = f"only {number}: one moves hit at 1 by {100 / answerable:.0f} points"
        notes.warnings.append(Fault("questions", what, f"label at least {ENOUGH_DEV}"))


def _both_kinds(raws: Sequence[RawQuestion], located: Located, notes: _Notes) -> None:
    if not any(split == "dev" and not q.answerable for split, q in located):
        fix = "add dev questions without evidence, so that a threshold can be tuned on them"
        notes.warnings.append(Fault("questions", "no unanswerable dev questions", fix))
    if not any(split == "holdout" and q.answerable for split, q in located):
        notes.warnings.append(Fault("questions", "no answerable holdout questions", "a choice can be locked, but never verified"))


CHECKS: list[Callable[[Sequence[RawQuestion], Located, _Notes], None]] = [
    _duplicate_ids,
    _same_question_in_both_splits,
    _same_question_twice,
    _enough_dev,
    _both_kinds,
]
