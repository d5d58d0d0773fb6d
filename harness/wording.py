"""How alike wordings are: copied content words and near-duplicates; another measure is another function."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from harness.locate import normalised

MANY = 20  # questions from which the set itself tells its function words
COMMON = 0.2  # a word in so large a share of the questions says little of any one
AUXILIARIES = {"did", "does"}  # which scikit-learn's list lacks
NEAR = 90  # token sort ratio, out of 100
MOST_COMPARED = 5000  # questions whose pairs are all compared; 12 million pairs take seconds
# Scripts that put no space between words, as ranges of characters.
SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORDS = re.compile(rf"[{SPACELESS}]+|[^\W{SPACELESS}]+")
_SPACELESS = re.compile(rf"[{SPACELESS}]")


def terms(text: str) -> list[str]:
    """Words under the normalisation; of a script without spaces, pairs of characters."""
    found: list[str] = []
    for run in _WORDS.findall(normalised(text)):
        pairs = len(run) > 1 and _SPACELESS.match(run)
        found += [run[i : i + 2] for i in range(len(run) - 1)] if pairs else [run]
    return found


def spaceless_share(text: str) -> float:
    """Share of the letters that are of a script without spaces between words."""
    letters = sum(c.isalpha() for c in text)
    return len(_SPACELESS.findall(text)) / letters if letters else 0.0


def function_words(questions: Sequence[str]) -> frozenset[str]:
    """English function words, and what a large share of many questions has in common, in any language."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    counts = Counter(t for text in questions for t in set(terms(text)))
    shared = {t for t, n in counts.items() if n >= COMMON * len(questions)} if len(questions) >= MANY else set()
    return frozenset(ENGLISH_STOP_WORDS | AUXILIARIES | shared)


def copied_share(question: str, evidence: str, ignored: frozenset[str]) -> float | None:
    """Share of a question's content words that its evidence has too, endings aside; None when it has no content word."""
    content = set(terms(question)) - ignored
    known = set(terms(evidence))
    return sum(t in known or any(inflected(t, k) for k in known) for t in content) / len(content) if content else None


def inflected(one: str, other: str) -> bool:
    """Whether two words may be forms of one, in whatever language: alike but for the last few letters."""
    short, long = sorted((one, other), key=len)
    return len(short) >= 4 and len(long) - len(short) <= 3 and long.startswith(short[: max(4, len(short) - 1)])


def near_duplicates(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of texts that are nearly the same words in any order, and have the same numbers. At most `MOST_COMPARED` texts."""
    import numpy as np
    from rapidfuzz import fuzz, process

    sorted_terms = [" ".join(sorted(terms(t))) for t in texts]
    numbers = [sorted(re.findall(r"\d+", t)) for t in texts]
    scores = process.cdist(sorted_terms, sorted_terms, scorer=fuzz.ratio, score_cutoff=NEAR, dtype=np.uint8)
    pairs = np.argwhere(np.triu(scores, 1) >= NEAR)
    return [(int(i), int(j)) for i, j in pairs if numbers[i] == numbers[j]]
