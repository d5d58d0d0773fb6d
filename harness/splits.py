"""Which questions are dev and which holdout: by group, by hash, so that an added question moves no other.

Questions that share a section or a paragraph of evidence are one group and never part. A group goes by the hash of the seed
and of its first place; a written split keeps what it wrote and leaves the rest to the hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import Fault, HarnessError
from harness.files import read_text
from harness.records import Corpus, Document, Place, Question, sha256_json


@dataclass(frozen=True)
class SplitRule:
    """The share of groups that goes to holdout, and what was written down before: a split by question hash."""

    holdout: float = 0.0
    seed: int = 7
    written: Mapping[str, str] = field(default_factory=dict)
    retired: frozenset[str] = frozenset()  # hashes of questions of a holdout that was opened: dev, whatever their row says


def assign(questions: Sequence[Question], given: Sequence[str | None], corpus: Corpus, rule: SplitRule) -> list[str]:
    """`dev` or `holdout` for each question: as retired, as given, as written, as its group has it, else by the hash."""
    keys = group_keys(questions, corpus)
    known: dict[str, str] = {}
    own = []
    for question, key, split in zip(questions, keys, given, strict=True):
        named = "dev" if question.sha256 in rule.retired else split if split is not None else rule.written.get(question.sha256)
        own.append(named)
        if named:  # a group that stands in both is dev: a trial may have seen it
            known[key] = named if known.get(key, named) == named else "dev"
    return [
        named if named is not None else known.get(key) or ("holdout" if position(rule.seed, key) < rule.holdout else "dev")
        for named, key in zip(own, keys, strict=True)
    ]


def position(seed: int, key: str) -> float:
    """Where a group lies in [0, 1): the hash of seed and key."""
    return int.from_bytes(hashlib.sha256(f"{seed}\0{key}".encode()).digest()[:8], "big") / 2**64


def group_keys(questions: Sequence[Question], corpus: Corpus) -> list[str]:
    """A name for each question's group: the same for all that are connected by evidence, section or wording.

    It is the smallest hash of the places of the group, so a question more changes it only when it joins two groups or brings
    a further place to one.
    """
    anchors = [_anchors(q, corpus) for q in questions]
    parent: dict[str, str] = {}

    def top(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = name = parent[parent[name]]
        return name

    for question, places in zip(questions, anchors, strict=True):
        for other in (*places, question.sha256):
            parent[top(other)] = top(places[0] if places else question.sha256)
    smallest: dict[str, str] = {}
    for place in {p for places in anchors for p in places}:
        smallest[top(place)] = min(place, smallest.get(top(place), place))
    return [smallest.get(top(q.sha256), q.sha256) for q in questions]


def _anchors(question: Question, corpus: Corpus) -> list[str]:
    """Hashes of the sections, or paragraphs where a document has no sections, that a question's evidence touches."""
    found = [
        (document.document_id, part)
        for place in (question.evidence.places() if question.evidence else ())
        for document in [corpus[place.document_id]]
        for part in _parts(document, place)
    ]
    if question.expected_section:
        found.append((question.expected_section[0], f"section {question.expected_section[1]}"))
    return [hashlib.sha256("\0".join(f).encode()).hexdigest() for f in dict.fromkeys(found)]


def _parts(document: Document, place: Place) -> list[str]:
    if len(document.sections) > 1:
        return [f"section {s}" for s in document.section_ids(place.span)] or ["outside any section"]
    parts, at = [], place.span.start
    while at < place.span.end:
        before = document.text.rfind("\n\n", 0, at)
        begin = before + 2 if before >= 0 else 0
        parts.append(f"paragraph {begin}")
        following = document.text.find("\n\n", at)
        at = following + 2 if following >= 0 else place.span.end
    return parts


def digest(facts: Mapping[str, object]) -> str:
    """Digest of a written split without its own."""
    return sha256_json({k: v for k, v in facts.items() if k != "digest"})


def read(path: Path) -> SplitRule:
    """A written split. Raises HarnessError when it can't be read or is no longer what was written."""
    text = read_text(path, "utf-8")
    try:
        facts = json.loads(text)
        rule = SplitRule(float(facts["holdout"]), int(facts["seed"]), dict(facts["questions"]), frozenset(facts["retired"]))
        whole = facts["digest"] == digest(facts)
        if wrong := set(rule.written.values()) - {"dev", "holdout"}:
            raise ValueError(f"unknown split {wrong.pop()!r}")
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        what = f"not a split that `harness split` wrote ({type(error).__name__}: {error})"
        raise HarnessError(
            Fault(str(path), what, "name the file that it wrote, or write [data] split = { holdout = 0.3, seed = 7 }")
        ) from error
    if not whole:
        raise HarnessError(Fault(str(path), "the split was edited after it was written", "restore it; a new one is another file"))
    return rule
