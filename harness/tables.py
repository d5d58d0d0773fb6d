"""An evaluation as tables: ranked chunks and misses to log, and results by groups of questions; a table more is a key more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from harness import corpora
from harness.records import Corpus, Evaluation, Question, QuestionScore

if TYPE_CHECKING:
    import pandas as pd

By = Literal["source", "document kind", "document group"]
MOST_DOCUMENTS = 20  # that results are told by, one by one
SEVERAL, NO_KIND, NO_FOLDER, UNNAMED = "(several)", "(no kind)", "(no folder)", "unnamed"
OWN_NAMES = (SEVERAL, NO_KIND, NO_FOLDER, UNNAMED)
Tables = Mapping[str, "pd.DataFrame"]


@dataclass(frozen=True)
class GroupRow:
    """What the questions of one group got. `unanswerable`: None where groups are of documents, which such questions have not."""

    name: str
    answerable: int
    unanswerable: int | None
    hits_at_1: int
    hits_at_3: int


@dataclass(frozen=True)
class Breakdown:
    """An evaluation by groups of its questions; `left_out` are those that belong to none, for nothing answers them."""

    by: By
    rows: tuple[GroupRow, ...]
    left_out: int = 0

    def as_json(self) -> dict[str, Any]:
        return {"by": self.by, "rows": [vars(row) for row in self.rows], "left_out": self.left_out}


def breakdowns(evaluation: Evaluation | None, questions: Sequence[Question], corpus: Corpus) -> tuple[Breakdown, ...]:
    """Results by source, by kind of document and by group of documents, as far as there is more than one of them.

    A question counts where its evidence lies; one with evidence in several groups, all alternatives looked at, is in SEVERAL.
    """
    if evaluation is None:
        return ()
    sources = by_source(evaluation, questions)
    found = [Breakdown("source", sources)] if sources else []
    of_documents: dict[By, dict[str, str]] = {"document kind": _kinds(corpus), "document group": _groups(corpus)}
    left_out = sum(not score.answerable for score in evaluation.questions)
    for by, group_of in of_documents.items():
        rows = _rows(evaluation, {q.question_id: _group(q, group_of) for q in questions if q.evidence}) if group_of else ()
        found += [Breakdown(by, tuple(replace(row, unanswerable=None) for row in rows), left_out)] if rows else []
    return tuple(found)


def by_source(evaluation: Evaluation | None, questions: Sequence[Question]) -> tuple[GroupRow, ...]:
    """One row a source, by name; none where no two are named."""
    if evaluation is None:
        return ()
    return _rows(evaluation, {q.question_id: q.source or UNNAMED for q in questions})


def _rows(evaluation: Evaluation, group_of: Mapping[str, str]) -> tuple[GroupRow, ...]:
    """One row a group of questions, the harness' own names last; none where it is one alone."""
    scores: dict[str, list[QuestionScore]] = {}
    for score in evaluation.questions:
        if score.question_id in group_of:
            scores.setdefault(group_of[score.question_id], []).append(score)
    names = sorted(scores, key=lambda name: (name in OWN_NAMES, name))
    return tuple(_row(name, scores[name]) for name in names) if len(names) > 1 else ()


def _row(name: str, scores: Sequence[QuestionScore]) -> GroupRow:
    answerable = sum(s.answerable for s in scores)
    first, third = (sum(s.hit_rank is not None and s.hit_rank <= k for s in scores) for k in (1, 3))
    return GroupRow(name, answerable, len(scores) - answerable, first, third)


def _group(question: Question, group_of: Mapping[str, str]) -> str:
    places = question.evidence.places() if question.evidence else ()
    groups = {group_of[p.document_id] for p in places}
    return groups.pop() if len(groups) == 1 else SEVERAL


def _kinds(corpus: Corpus) -> dict[str, str]:
    """Each document's suffix, where it is that of a kind of file: a table's rows have ids of their own."""
    found = {d.document_id: corpora.kind(Path(d.document_id)) for d in corpus.documents}
    return {document: kind if kind in corpora.READERS else NO_KIND for document, kind in found.items()}


def _groups(corpus: Corpus) -> dict[str, str]:
    """Each document's first folder; where none has one, the document itself, as long as they are few."""
    ids = [d.document_id for d in corpus.documents]
    if any("/" in i for i in ids):
        return {i: i.partition("/")[0] if "/" in i else NO_FOLDER for i in ids}
    return {i: i for i in ids} if len(ids) <= MOST_DOCUMENTS else {}


def trial_tables(evaluation: Evaluation, questions: Sequence[Question], corpus: Corpus, text: str) -> Tables:
    """Ranked chunks and misses of an evaluation as tables, as far as `[tracking] text` allows."""
    import pandas as pd

    if text == "none":
        return {}
    asked = {q.question_id: q for q in questions}
    full = text == "full"
    ranked, misses = [], []
    for score in evaluation.questions:
        question = asked[score.question_id]
        words = {"question": question.text} if full else {}
        for p in score.passages:
            row = {
                "question_id": score.question_id,
                **words,
                "rank": p.rank,
                "score": p.score,
                "document_id": p.document_id,
            }
            row |= {"start": p.start, "end": p.end, "sections": " ".join(p.section_ids), "complete": p.complete}
            ranked.append(row | ({"text": corpus[p.document_id].text[p.start : p.end]} if full else {}))
        if score.cause:
            places = question.evidence.alternatives[0] if question.evidence else ()
            spans = " + ".join(f"{p.document_id} [{p.span.start}, {p.span.end})" for p in places)
            whole = question.evidence is not None and question.evidence.whole
            quoted = " + ".join(corpus[p.document_id].text[p.span.start : p.span.end] for p in places if whole)
            row = {"question_id": score.question_id, **words, "cause": score.cause, "hit_rank": score.hit_rank}
            row |= {
                "right_section_first": score.right_section_first,
                "first_score": score.first_score,
                "evidence_at": spans,
            }
            misses.append(row | ({"evidence": quoted} if full else {}))
    tables = {"ranked_chunks.json": pd.DataFrame(ranked), "misses.json": pd.DataFrame(misses)}
    return {file: table for file, table in tables.items() if len(table)}
