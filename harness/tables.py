"""An evaluation as tables to log: every ranked chunk, and the misses with their cause; a table more is a key more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.records import Corpus, Evaluation, Question, QuestionScore

if TYPE_CHECKING:
    import pandas as pd

Tables = Mapping[str, "pd.DataFrame"]


@dataclass(frozen=True)
class SourceRow:
    """What questions of one source (real, written, generated) got."""

    source: str
    answerable: int
    unanswerable: int
    hits_at_1: int
    hits_at_3: int


def by_source(evaluation: Evaluation | None, questions: Sequence[Question]) -> tuple[SourceRow, ...]:
    """One row a source, by name; none where no question names its source."""
    sources = {q.question_id: q.source or "unnamed" for q in questions}
    if evaluation is None or set(sources.values()) <= {"unnamed"}:
        return ()
    scores: dict[str, list[QuestionScore]] = {}
    for score in evaluation.questions:
        scores.setdefault(sources[score.question_id], []).append(score)
    return tuple(_source_row(source, found) for source, found in sorted(scores.items()))


def _source_row(source: str, scores: Sequence[QuestionScore]) -> SourceRow:
    answerable = sum(s.answerable for s in scores)
    first, third = (sum(s.hit_rank is not None and s.hit_rank <= k for s in scores) for k in (1, 3))
    return SourceRow(source, answerable, len(scores) - answerable, first, third)


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
