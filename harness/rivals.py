"""Where the chunks lie that may outrank a question's evidence: what to embed first, so that a bound falls fast.

Nothing here decides a result: it only orders what is embedded. Regions are learnt from every chunking measured and hold for
any other; before there are any, words that a question shares with the text stand for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from harness.measurement import Measurement
from harness.ranking import Leaders
from harness.records import Corpus, Evidence, IntArray, Question

LEARNT, LEXICAL = 8, 20  # regions of a question
CELL = 300  # characters, of the text that words are looked up in
CELLS = 4096  # that are looked through at once

Region = tuple[float, int, int, int]  # score, document (its index), start, end


class Rivals:
    """Regions of the corpus that score high for each question, and how often its evidence was outranked."""

    def __init__(self, corpus: Corpus, questions: Sequence[Question]) -> None:
        self._corpus = corpus
        self._questions = questions
        self._learnt: list[list[Region]] = [[] for _ in questions]
        self._tries = np.zeros(len(questions))
        self._misses = np.zeros(len(questions))

    def regions(self, question: int) -> list[Region]:
        """Learnt regions by score, then those that share words with the question."""
        return [*self._learnt[question], *self._lexical[question]]

    def best_score(self, question: int, after: int = 0) -> float | None:
        """Score of the best learnt region but for so many; None where none is known."""
        learnt = self._learnt[question]
        return learnt[after][0] if after < len(learnt) else None

    def difficulty(self, question: int) -> float:
        """Share of the chunkings under which its evidence was outranked, a lexical guess counting as one."""
        return float((self._misses[question] + self._guess[question]) / (self._tries[question] + 1))

    def tried(self, question: int) -> None:
        """A chunking more was tried for a question."""
        self._tries[question] += 1

    def missed(self, question: int) -> None:
        """Its evidence was outranked there."""
        self._misses[question] += 1

    def learn(self, measurement: Measurement, question: int) -> None:
        """Take in what scores highest for a question under a chunking and does not hold its evidence."""
        chunks, scores = measurement.leaders.of(question)
        asked, complete = measurement.wanted.complete
        wrong = ~np.isin(chunks, complete[asked == question])
        cut = measurement.chunking
        known = self._learnt[question]
        for chunk, score in zip(chunks[wrong].tolist(), scores[wrong].tolist(), strict=True):
            new = (score, int(cut.document[chunk]), int(cut.start[chunk]), int(cut.end[chunk]))
            alike = [old for old in known if _overlaps(old, new)]
            if all(old[0] < score for old in alike):
                known = [*(old for old in known if old not in alike), new]
        self._learnt[question] = sorted(known, reverse=True)[:LEARNT]

    @cached_property
    def _lexical(self) -> list[list[Region]]:
        """Cells of text that share the question's rarest words; pairs of letters where few questions share a word."""
        found = self._sharing("word")
        return found if 2 * sum(map(bool, found)) >= len(found) else self._sharing("char_wb")

    def _sharing(self, analyzer: str) -> list[list[Region]]:
        """Cells that share what is rarest in the question, best first: counted in two passes that keep no text."""
        from sklearn.feature_extraction.text import HashingVectorizer

        pairs = {"ngram_range": (2, 2)} if analyzer == "char_wb" else {}
        hasher = HashingVectorizer(n_features=2**20, norm=None, binary=True, alternate_sign=False, analyzer=analyzer, **pairs)
        asked = hasher.transform([q.text for q in self._questions])
        columns = np.unique(asked.indices)
        frequency, number = np.zeros(len(columns)), 0
        for texts in self._cells():
            frequency += np.asarray(hasher.transform(texts)[:, columns].sum(axis=0)).ravel()
            number += len(texts)
        weighted = asked[:, columns].multiply(np.log((1 + number) / (1 + frequency))[None, :]).tocsr()
        leaders, seen = Leaders(len(self._questions), LEXICAL), 0
        for texts in self._cells():
            shared = (weighted @ hasher.transform(texts)[:, columns].T).toarray()
            leaders.add(np.arange(seen, seen + len(texts)), np.asarray(shared, dtype=np.float64))
            seen += len(texts)
        ranked = (zip(*leaders.of(q), strict=True) for q in range(len(self._questions)))
        return [[(float(s), *self._cell(int(c))) for c, s in found if s > 0] for found in ranked]

    @cached_property
    def _first_cells(self) -> IntArray:
        """The number of each document's first cell, and of all cells."""
        return np.cumsum([0, *(-(-len(d.text) // CELL) for d in self._corpus.documents)])

    def _cell(self, number: int) -> tuple[int, int, int]:
        """A cell's document, by its index, start and end."""
        document = int(np.searchsorted(self._first_cells, number, side="right")) - 1
        start = (number - int(self._first_cells[document])) * CELL
        return document, start, min(start + CELL, len(self._corpus.documents[document].text))

    def _cells(self) -> Iterator[list[str]]:
        number = int(self._first_cells[-1])
        for at in range(0, number, CELLS):
            places = map(self._cell, range(at, min(at + CELLS, number)))
            yield [self._corpus.documents[i].text[start:end] for i, start, end in places]

    @cached_property
    def _guess(self) -> list[float]:
        """From 0.1 to 0.9: how far down its own evidence stands among a question's lexical regions."""
        return [self._evidence_depth(i, q.evidence) if q.evidence else 0.0 for i, q in enumerate(self._questions)]

    def _evidence_depth(self, question: int, evidence: Evidence) -> float:
        own = [(0.0, self._corpus.index[p.document_id], p.span.start, p.span.end) for p in evidence.places()]
        regions = self._lexical[question]
        depth = next((i for i, region in enumerate(regions) if any(_touch(region, o) for o in own)), LEXICAL)
        return 0.1 + 0.8 * depth / LEXICAL


def _touch(a: Region, b: Region) -> bool:
    return a[1] == b[1] and a[2] < b[3] and b[2] < a[3]


def _overlaps(a: Region, b: Region) -> bool:
    """Whether two regions share more than half of the shorter."""
    shared = min(a[3], b[3]) - max(a[2], b[2])
    return a[1] == b[1] and 2 * shared > min(a[3] - a[2], b[3] - b[2])


class Hunt:
    """What to embed next under one chunking, so that questions which it may miss are seen to be missed."""

    QUESTIONS, RIVALS = 4, 2  # of one batch: few, for what the next should be depends on what they show

    def __init__(self, measurement: Measurement, rivals: Rivals) -> None:
        self.measurement = measurement
        self.rivals = rivals
        self._tries = np.zeros(len(measurement.questions), dtype=np.int64)
        self._exhausted: dict[int, list[Region]] = {}  # questions against which nothing is left, and the regions known then
        self._missed: set[int] = set()

    def next(self, open_questions: Sequence[int]) -> IntArray:
        """Texts that may show some of the questions, which can still be hit, to be missed; empty when none is left."""
        waiting = [q for q in open_questions if self._exhausted.get(q) != self.rivals.regions(q)]
        texts: list[int] = []
        taken = 0
        for question in sorted(waiting, key=lambda q: (-self._promise(q), q)):
            found = self._against(question)
            if not found:
                self._exhausted[question] = self.rivals.regions(question)
                continue
            if not self._tries[question]:
                self.rivals.tried(question)
            self._tries[question] += 1
            texts += found
            taken += 1
            if taken == self.QUESTIONS:
                break
        return np.array(sorted(set(texts)), dtype=np.int64)

    def learn(self, missed: Sequence[int]) -> None:
        """Take in what the questions tried so far have shown; `missed` are those that are seen to be missed at 1."""
        for question in np.flatnonzero(self._tries).tolist():
            self.rivals.learn(self.measurement, question)
        for question in set(missed) - self._missed:
            if self._tries[question]:
                self.rivals.missed(question)
                self._missed.add(question)

    def _promise(self, question: int) -> float:
        """A guess at how likely the next texts are to show that a question is missed."""
        tries = int(self._tries[question])
        likely = self.rivals.difficulty(question)
        score, rival = self._evidence_score(question), self.rivals.best_score(question, tries)
        if score is not None and rival is not None:
            likely = 0.95 if rival > score else 0.4 if rival > score - 0.05 else 0.05
        return float(likely * 0.7**tries)

    def _evidence_score(self, question: int) -> float | None:
        """The score that a rival must beat; None while evidence is to come."""
        state, wanted = self.measurement.evidence, self.measurement.wanted
        scores = []
        for alternative in wanted.alternatives[question]:
            settled = [p for p in alternative if state.settled[p]]
            if not settled:
                return None
            scores.append(min(float(state.best[p]) for p in settled))
        return max(scores, default=None)

    def _against(self, question: int) -> list[int]:
        """Texts not embedded yet: evidence whose score is not known, then the likeliest rivals."""
        measurement = self.measurement
        found = self._evidence(question)
        rivals = 0
        for _, document, start, end in self.rivals.regions(question):
            for text in measurement.texts_touching(document, start, end):
                if not measurement.embedded[text] and text not in found:
                    found.append(text)
                    rivals += 1
                    if rivals == self.RIVALS:
                        return found
        return found

    def _evidence(self, question: int) -> list[int]:
        """Of each alternative the place that the fewest chunks hold: to miss one is to miss the alternative."""
        measurement, found = self.measurement, []
        rows, chunks = measurement.wanted.held
        for alternative in measurement.wanted.alternatives[question]:
            if any(measurement.evidence.settled[p] for p in alternative):
                continue
            place = min(alternative, key=lambda p: int(measurement.evidence.to_come[p]))
            found += measurement.text_of[chunks[rows == place]].tolist()
        return [t for t in dict.fromkeys(found) if not measurement.embedded[t]]
