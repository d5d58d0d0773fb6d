"""What is wrong or doubtful about a question set as such; a new check is a function in `OF_QUESTIONS`, `FAULTS` or `WARNINGS`.

Checks that need the search space or the unit are in `label_advice`. Of the holdout a check may name ids, never texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harness import wording
from harness.errors import Fault, counted
from harness.labels import Labelling
from harness.records import Corpus, Place, Question, Span
from harness.text import sentences

ENOUGH_DEV = 25  # below it one question moves hit at 1 by more than four points
ENOUGH_OF_A_KIND = 20  # below it a kind of holdout question can neither confirm nor contradict
COPIED = 0.8  # of a question's content words
WHOLE_SECTION = 0.9  # of a section's characters
UNEVEN = 20  # the upper tenth of the documents is so many times longer than the lower
FEW_DOCUMENTS = 10
MOST_LISTED = 12  # ids in one message


@dataclass(frozen=True)
class Subject:
    """What a check looks at."""

    labelling: Labelling
    corpus: Corpus

    @cached_property
    def where(self) -> dict[str, str]:
        return {r.question_id: r.where for r in self.labelling.raws}

    def of(self, split: str) -> list[Question]:
        return [q for s, q in self.labelling.questions if s == split]

    @cached_property
    def copied(self) -> dict[str, float]:
        """By question id, the share of content words that stand in the sentences of its evidence; answerable ones only."""
        questions = [q for _, q in self.labelling.questions]
        ignored = wording.function_words([q.text for q in questions])
        around = _Surroundings(self.corpus)
        found = {}
        for q in questions:
            alternatives = q.evidence.alternatives if q.evidence and q.evidence.whole else ()
            shares = [wording.copied_share(q.text, around.of(a), ignored) for a in alternatives]
            if any(s is not None for s in shares):
                found[q.question_id] = max(s for s in shares if s is not None)
        return found


class _Surroundings:
    """The sentences that evidence stands in, found once per document."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.sentences: dict[str, np.ndarray] = {}

    def of(self, places: Iterable[Place]) -> str:
        found = []
        for place in places:
            text = self.corpus[place.document_id].text
            if place.document_id not in self.sentences:
                self.sentences[place.document_id] = sentences(text)
            spans = self.sentences[place.document_id]
            first = np.searchsorted(spans[:, 1], place.span.start, side="right")
            touched = spans[first : np.searchsorted(spans[:, 0], place.span.end)]
            start = min([place.span.start, *touched[:1, 0].tolist()])
            found.append(text[start : max([place.span.end, *touched[-1:, 1].tolist()])])
        return " ".join(found)


def _spans(question: Question) -> bool:
    return question.evidence is not None and question.evidence.whole


def listed(ids: Sequence[str]) -> str:
    """Ids for a message, the first of them."""
    more = f" and {len(ids) - MOST_LISTED} more" if len(ids) > MOST_LISTED else ""
    return ", ".join(ids[:MOST_LISTED]) + more


def _faults(subject: Subject) -> Iterator[Fault]:
    yield from subject.labelling.faults


def _duplicate_ids(subject: Subject) -> Iterator[Fault]:
    raws = subject.labelling.raws
    counts = Counter(r.question_id for r in raws)
    for raw in raws:
        if raw.question_id and counts[raw.question_id] > 1:
            what = f"question id '{raw.question_id}' is used {counts[raw.question_id]} times"
            yield Fault(raw.where, what, "give each question its own id")


def _same_question_in_both_splits(subject: Subject) -> Iterator[Fault]:
    dev = {q.sha256: q.question_id for q in subject.of("dev")}
    for question in subject.of("holdout"):
        if question.sha256 in dev:
            what = f"holdout question '{question.question_id}' is also the dev question '{dev[question.sha256]}'"
            yield Fault("questions", what, "keep it in one split")


def _same_question_twice(subject: Subject) -> Iterator[Fault]:
    """The same wording with the same evidence, or with and without any; two evidences are a warning of `_same_wording`."""
    for split in ("dev", "holdout"):
        first: dict[str, list[Question]] = {}
        for question in subject.of(split):
            before = first.setdefault(question.sha256, [])
            same = [q for q in before if q.evidence == question.evidence or not (q.answerable and question.answerable)]
            before.append(question)
            if same:
                what = f"{split} question '{question.question_id}' is the same as '{same[0].question_id}'"
                fix = "delete one; several answers are alternatives of one question's evidence"
                yield Fault(subject.where[question.question_id], what, fix)


def _no_dev(subject: Subject) -> Iterator[Fault]:
    if not subject.labelling.faults and not any(q.answerable for q in subject.of("dev")):
        yield Fault("questions", "no answerable dev questions", "label questions with split dev and their evidence")


def _mixed(subject: Subject) -> Iterator[Fault]:
    kinds = {q.evidence.whole for _, q in subject.labelling.questions if q.evidence}
    if len(kinds) > 1:
        what = "some questions quote evidence and others name whole documents or sections, which can't be averaged"
        yield Fault("questions", what, "keep them in two question files, with an experiment each")


def _same_wording(subject: Subject) -> Iterator[Fault]:
    for split in ("dev", "holdout"):
        evidence: dict[str, dict[object, str]] = {}
        for question in subject.of(split):
            evidence.setdefault(question.sha256, {}).setdefault(question.evidence, question.question_id)
        ids = [i for by in evidence.values() if len(by) > 1 for i in by.values()]
        if ids:
            what = f"{len(ids)} {split} questions share their wording with another that has other evidence: {listed(ids)}"
            yield Fault("questions", what, "make one question of them, with the answers as alternatives of its evidence")


def _few_dev(subject: Subject) -> Iterator[Fault]:
    answerable = sum(q.answerable for q in subject.of("dev"))
    if 0 < answerable < ENOUGH_DEV:
        number = "1 answerable dev question" if answerable == 1 else f"{answerable} answerable dev questions"
        what = f"only {number}: one moves hit at 1 by {100 / answerable:.0f} points"
        yield Fault("questions", what, f"label at least {ENOUGH_DEV}")


def _both_kinds(subject: Subject) -> Iterator[Fault]:
    if not any(not q.answerable for q in subject.of("dev")):
        fix = "add dev questions without evidence, so that a threshold can be tuned on them"
        yield Fault("questions", "no unanswerable dev questions", fix)
    held = subject.of("holdout")
    answerable = sum(q.answerable for q in held)
    if not answerable:
        yield Fault("questions", "no answerable holdout questions", "a choice can be locked, but never verified")
    elif min(answerable, len(held) - answerable) < ENOUGH_OF_A_KIND:
        what = f"the holdout has {answerable} answerable and {len(held) - answerable} unanswerable questions"
        fix = (
            f"hold out at least {ENOUGH_OF_A_KIND} of each before it is opened: fewer can't verify a threshold, and it opens once"
        )
        yield Fault("questions", what, fix)


def _copied_wording(subject: Subject) -> Iterator[Fault]:
    copying = [i for i, share in subject.copied.items() if share >= COPIED]
    if copying:
        share = len(copying) / len(subject.copied)
        what = (
            f"{len(copying)} of {len(subject.copied)} questions ({share:.0%}) take at least {COPIED:.0%} of their content words "
            f"from their evidence's sentence: {listed(copying)}"
        )
        yield Fault("questions", what, "ask as one who has not read the text; copied words flatter every setting")


def _near_duplicates(subject: Subject) -> Iterator[Fault]:
    questions = subject.labelling.questions
    if len(questions) > wording.MOST_COMPARED:
        what = f"near-duplicates among {len(questions):,} questions were not looked for (at most {wording.MOST_COMPARED:,} are)"
        yield Fault("questions", what, "check a sample of them in a file of its own")
        return
    within: list[str] = []
    across: list[str] = []
    for i, j in wording.near_duplicates([q.text for _, q in questions]):
        (split, one), (other_split, other) = questions[i], questions[j]
        if one.sha256 != other.sha256:
            (within if split == other_split else across).append(f"{one.question_id} and {other.question_id}")
    if within:
        pairs = counted(len(within), "pair of questions of one split is", "pairs of questions of one split are")
        what = f"{pairs} nearly the same: {listed(within)}"
        yield Fault("questions", what, "keep one of each: two count double")
    if across:
        pairs = counted(len(across), "pair of a dev and a holdout question is", "pairs of a dev and a holdout question are")
        what = f"{pairs} nearly the same: {listed(across)}"
        yield Fault("questions", what, "move each pair into one split, or replace one")


def _shared_across_splits(subject: Subject) -> Iterator[Fault]:
    dev: dict[str, list[tuple[Span, str]]] = {}
    for q in subject.of("dev"):
        for p in q.evidence.places() if _spans(q) and q.evidence else ():
            dev.setdefault(p.document_id, []).append((p.span, q.question_id))
    pairs = [
        f"{other} and {q.question_id}"
        for q in subject.of("holdout")
        for p in (q.evidence.places() if _spans(q) and q.evidence else ())
        for span, other in dev.get(p.document_id, ())
        if span.touches(p.span)
    ]
    if pairs := list(dict.fromkeys(pairs)):
        sharing = counted(
            len(pairs), "pair of a dev and a holdout question shares", "pairs of a dev and a holdout question share"
        )
        what = f"{sharing} evidence: {listed(pairs)}"
        yield Fault("questions", what, "move each pair into one split: the choice was made on that very text")


def _whole_sections(subject: Subject) -> Iterator[Fault]:
    ids = []
    for _, q in subject.labelling.questions:
        if q.evidence and q.evidence.whole and any(_is_section(p, subject.corpus) for p in q.evidence.places()):
            ids.append(q.question_id)
    if ids:
        what = f"the evidence of {counted(len(ids), 'question', 'questions')} is as long as its section: {listed(ids)}"
        yield Fault("questions", what, "quote the shortest text that answers; whole sections make every large chunk right")


def _is_section(place: Place, corpus: Corpus) -> bool:
    document = corpus[place.document_id]
    inside = [s for s in document.sections if s.span.touches(place.span)] if len(document.sections) > 1 else []
    return any(
        min(place.span.end, s.span.end) - max(place.span.start, s.span.start) >= WHOLE_SECTION * s.span.length
        and len(sentences(document.text[s.span.start : s.span.end])) > 2
        for s in inside
    )


def _uneven_documents(subject: Subject) -> Iterator[Fault]:
    lengths = [len(d.text) for d in subject.corpus.documents]
    low, high = np.quantile(lengths, [0.1, 0.9]) if len(lengths) >= FEW_DOCUMENTS else (1, 1)
    if high >= UNEVEN * low:
        what = f"documents are of very different lengths: a tenth has at most {low:.0f} characters, a tenth at least {high:.0f}"
        yield Fault("corpus", what, "short entries and manuals want different settings: run an experiment for each kind as well")


def _unreviewed(subject: Subject) -> Iterator[Fault]:
    ids = [q.question_id for _, q in subject.labelling.questions if not q.reviewed]
    if ids:
        what = f"{len(ids)} of {len(subject.labelling.questions)} questions are not reviewed: {listed(ids)}"
        yield Fault("questions", what, "walk through them: `harness questions review`")


Check = Callable[[Subject], Iterator[Fault]]
# What is wrong whatever is dev.
OF_QUESTIONS: list[Check] = [_faults, _duplicate_ids, _same_question_in_both_splits, _same_question_twice, _mixed]
FAULTS: list[Check] = [*OF_QUESTIONS, _no_dev]
WARNINGS: list[Check] = [
    _same_wording,
    _few_dev,
    _both_kinds,
    _unreviewed,
    _copied_wording,
    _near_duplicates,
    _shared_across_splits,
    _whole_sections,
    _uneven_documents,
]


def check_faults(subject: Subject, checks: Sequence[Check] = FAULTS) -> tuple[Fault, ...]:
    """Every fault of the labels; a sweep does not begin with one."""
    return tuple(dict.fromkeys(f for check in checks for f in check(subject)))


def check_warnings(subject: Subject) -> tuple[Fault, ...]:
    """Every doubt about the labels, the corpus' own remarks and those of single questions last."""
    found = (f for check in WARNINGS for f in check(subject))
    return tuple(dict.fromkeys((*found, *subject.corpus.remarks, *subject.labelling.warnings)))
