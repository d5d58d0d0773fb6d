"""Small corpora, questions and embedders to test with; what a test is about stays visible in the test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from harness.metrics import Judgement
from harness.records import (
    Chunking,
    Corpus,
    Document,
    EmbedderIdentity,
    Evidence,
    Passage,
    Place,
    Question,
    QuestionScore,
    Span,
)

law = settings(max_examples=60, deadline=None)

AWKWARD = [
    "word",
    "a",
    "an",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\n\n",
    "\t",
    "\u00a0",
    "\u3000",
    "e\u0301",  # letter and combining accent
    "a\u0301\u0323",
    "\U0001f469\u200d\U0001f4bb",  # two emoji joined
    "\U0001f1e9\U0001f1ea",  # a flag
    "漢字",
    "かな",
    "العربية",
    "<|endoftext|>",
    "[SEP]",
    "ﬁ",
    "İ",
    "\ufffd",
    "\x01",
    "incomprehensibilities" * 3,
    "don't",
    "1,234.5",
]
awkward_text = st.lists(st.one_of(st.sampled_from(AWKWARD), st.text(max_size=6)), max_size=40).map("".join)


def one(text: str) -> Corpus:
    """A corpus of one document, `d`."""
    return Corpus((Document("d", text),))


def place(document: Document, text: str) -> Place:
    """Where a text first stands in a document."""
    at = document.text.index(text)
    return Place(document.document_id, Span(at, at + len(text)))


def ask(text: str, *places: Place, question_id: str = "q", section: tuple[str, str] | None = None) -> Question:
    """A question whose every place alone is an answer; without places, one that is not answerable."""
    return Question(question_id, text, Evidence(tuple((p,) for p in places)) if places else None, section)


def chunked(corpus: Corpus, *spans: tuple[int, int, int]) -> Chunking:
    """A chunking as given by (document index, start, end), sized in characters."""
    rows = np.array(sorted(spans), dtype=np.int64).reshape(-1, 3)
    source = sum(len(d.text) for d in corpus.documents)
    return Chunking(corpus, rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 2] - rows[:, 1], source)


def judged(question: Question, chunking: Chunking, rank_of: Sequence[int], passages: tuple[Passage, ...]) -> Judgement:
    """A ranking held against a question; `rank_of` has each chunk's rank, 0 where not retrieved."""
    if question.evidence is None:
        raise ValueError(f"question '{question.question_id}' is not answerable")
    holding = [[chunking.answering(p, question.evidence).tolist() for p in a] for a in question.evidence.alternatives]
    ranks = tuple(tuple(min((rank_of[c] for c in chunks if rank_of[c]), default=0) for chunks in a) for a in holding)
    held = tuple(tuple(bool(chunks) for chunks in a) for a in holding)
    conditional = [rank_of[c] for p in question.condition for c in chunking.holding(p).tolist() if rank_of[c]]
    return Judgement(question, passages, ranks, held, chunking, min(conditional, default=0))


class Keywords:
    """An embedder that counts a few words, reads `max_tokens` words at most and remembers what it was asked to embed."""

    similarities = ("cosine", "dot")
    fitted_state = None
    learns = False
    tokenizer = None

    def __init__(self, *words: str, max_tokens: int | None = None) -> None:
        self.words = words
        self.max_tokens = max_tokens
        self.asked: list[tuple[str, str]] = []
        self.identity = EmbedderIdentity("keywords", "keywords", {"words": list(words), "max_tokens": max_tokens})

    def fit(self, texts: Sequence[str]) -> Keywords:
        return self

    def token_counts(self, texts: Sequence[str]) -> Any:
        return np.array([len(t.split()) for t in texts], dtype=np.int64)

    def reach(self, text: str) -> int:
        read = text.split()[: self.max_tokens]
        return text.index(read[-1]) + len(read[-1])

    def held(self, texts: Sequence[str], role: str) -> Any:
        return np.zeros(len(texts), dtype=np.bool_)

    def embed(self, texts: Sequence[str], role: str) -> Any:
        self.asked += [(role, t) for t in texts]
        read = [t.lower().split()[: self.max_tokens if role == "document" else None] for t in texts]
        return np.array([[t.count(w) for w in self.words] for t in read], dtype=np.float32).reshape(len(texts), -1)


def scored(
    score: float | None,
    kind: str = "positive",
    best_wrong: float | None = None,
    question_id: str = "q",
    values: dict[str, float] | None = None,
) -> QuestionScore:
    """What one question got: `positive` (evidence first), `wrong` (answerable, evidence not first) or `unanswerable`."""
    passages = (Passage(1, score, "d", 0, 5, 1, ()),) if score is not None else ()
    return QuestionScore(
        question_id=question_id,
        answerable=kind != "unanswerable",
        hit_rank=1 if kind == "positive" else None,
        values=values or {},
        cause=None if kind == "positive" else "outranked",
        right_section_first=None,
        best_wrong_score=best_wrong,
        passages=passages,
    )


@st.composite
def labelled_corpora(draw: st.DrawFn, questions: int = 6) -> tuple[Corpus, list[Question], Keywords]:
    """Documents of few words that repeat, questions with any-of and all-of evidence, conditions and regions, and an embedder
    with small whole numbers for vectors: ties and exact arithmetic abound."""
    words = st.sampled_from(["gate", "attic", "lamp", "ten", "noon", "opens"])
    documents = tuple(
        Document(f"d{i}", " ".join(draw(st.lists(words, min_size=3, max_size=30)))) for i in range(draw(st.integers(1, 3)))
    )
    corpus = Corpus(documents)

    def a_place() -> Place:
        document = draw(st.sampled_from(documents))
        start = draw(st.integers(0, len(document.text) - 1))
        return Place(document.document_id, Span(start, draw(st.integers(start + 1, min(len(document.text), start + 12)))))

    asked = []
    for i in range(draw(st.integers(1, questions))):
        text = " ".join(draw(st.lists(words, min_size=1, max_size=3)))
        alternatives = tuple(
            tuple(a_place() for _ in range(draw(st.integers(1, 3)))) for _ in range(draw(st.integers(0 if i else 1, 2)))
        )
        evidence = Evidence(alternatives, whole=draw(st.booleans() | st.just(True))) if alternatives else None
        condition = (a_place(),) if evidence and draw(st.booleans()) else ()
        asked.append(Question(f"q{i}", text, evidence, condition=condition))
    return corpus, asked, Keywords("gate", "attic", "lamp", "ten", max_tokens=draw(st.sampled_from([None, 3])))
