"""Write down, once, which questions are dev and which holdout; retire a holdout that was opened. `splits` has the rule itself."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness import splits
from harness.errors import Fault, HarnessError, Refused
from harness.experiment import Experiment
from harness.formats import SHORT_HASH
from harness.label_checks import OF_QUESTIONS, Subject, check_faults
from harness.records import Corpus, Question
from harness.splits import SplitRule
from harness.state import State, lock_of, write_atomically

SEEDS = range(100)  # of which the one is taken whose shares come nearest to what was asked
DEFAULT_HOLDOUT = 0.3


@dataclass(frozen=True)
class Written:
    """A split as it was written: its file, its facts, and how many of each kind it puts where."""

    path: Path
    facts: Mapping[str, Any]
    counts: Mapping[str, Mapping[str, int]]  # source, or `unanswerable` for those of any source: split: number
    groups: int
    reference: str  # its path as the experiment file would name it

    def as_json(self) -> dict[str, Any]:
        known = {k: v for k, v in self.facts.items() if k not in ("questions", "retired")}
        total = Counter(self.facts["questions"].values())
        return {
            "path": str(self.path),
            **known,
            "questions": {"dev": total["dev"], "holdout": total["holdout"]},
            "by_source": self.counts,
            "groups": self.groups,
            "reference": self.reference,
            "retired": len(self.facts["retired"]),
        }


@dataclass(frozen=True)
class _Set:
    """The questions of an experiment, with the split that each row gives itself."""

    corpus: Corpus
    questions: tuple[Question, ...]
    given: tuple[str | None, ...]

    def assign(self, rule: SplitRule) -> list[str]:
        return splits.assign(self.questions, self.given, self.corpus, rule)


def write_split(experiment: Experiment, holdout: float | None, seed: int | None, out: Path | None) -> Written:
    """Split the questions that have no split of their own, and write it down.

    Without a seed, the one of the first hundred that comes nearest to the share in every source and among the unanswerable.
    Raises Refused, with what is recorded, when the split was written before.
    """
    rule = experiment.source.split
    known = rule if isinstance(rule, SplitRule) else SplitRule(DEFAULT_HOLDOUT)
    share = known.holdout if holdout is None else holdout
    path = out or _path(experiment)
    if path.exists():
        _refuse(path)
    asked = _read(experiment)
    if all(asked.given):
        what = "every question has a split in its own row"
        raise HarnessError(Fault(str(experiment.source.questions), what, "clear the split of those that are to be split"))
    named = seed if seed is not None else known.seed if isinstance(rule, SplitRule) else _nearest_seed(asked, share)
    return _write(experiment, path, asked, SplitRule(share, named), {})


def retire(experiment: Experiment, out: Path | None) -> Written:
    """Move an opened holdout into dev and leave the holdout to questions that are added from now on.

    Raises HarnessError when no question of the holdout was ever opened, Refused when the file is there already.
    """
    asked = _read(experiment)
    split = dict(zip([q.sha256 for q in asked.questions], asked.assign(experiment.source.rule), strict=True))
    claims = State(experiment).read_claims()
    opened = {h for claim in claims for h in claim.questions}
    spent = sorted(sha for sha, where in split.items() if where == "holdout" and sha[:SHORT_HASH] in opened)
    if not spent:
        what = "no holdout of these questions was opened, so there is none to retire"
        raise HarnessError(Fault("holdout", what, "open it with `harness holdout`, or go on with the one there is"))
    path = out or _next(_path(experiment), frozenset(spent))
    if path.exists():
        _refuse(path)
    before = dict.fromkeys(sorted({*experiment.source.rule.retired, *spent}), "dev")
    written = {sha: "dev" if sha in before else where for sha, where in split.items()}
    # Whatever is added belongs to the new holdout, unless it shares evidence with what dev has seen.
    rule = SplitRule(1.0, experiment.source.rule.seed, written, frozenset(before))
    told = {"retired_claims": sorted(c.holdout_sha256 for c in claims if {s[:SHORT_HASH] for s in spent} & set(c.questions))}
    return _write(experiment, path, asked, rule, told)


def _read(experiment: Experiment) -> _Set:
    source = replace(experiment.source, split=SplitRule())
    corpus = source.read_corpus()
    labelling = source.read_labels(corpus)
    if faults := check_faults(Subject(labelling, corpus), OF_QUESTIONS):
        raise HarnessError(faults)
    rows = {raw.question_id for raw in labelling.raws if raw.split.strip()}
    questions = tuple(q for _, q in labelling.questions)
    given = tuple(split if q.question_id in rows else None for split, q in labelling.questions)
    return _Set(corpus, questions, given)


def _path(experiment: Experiment) -> Path:
    """The file that the experiment names, else one beside its questions."""
    source = experiment.source
    if isinstance(source.split, Path):
        return source.split
    return source.questions.parent / f"{source.questions.name.partition('.')[0] or 'questions'}.split.json"


def _next(path: Path, spent: frozenset[str]) -> Path:
    """Of split.json, split-2.json, split-3.json the one in which these questions are retired, else the first free one."""
    stem = path.name.removesuffix(".json").rpartition(".split")[0] or path.stem
    found, number = path, 1
    while found.exists() and not spent <= splits.read(found).retired:
        number += 1
        found = path.with_name(f"{stem}.split-{number}.json")
    return found


def _refuse(path: Path) -> None:
    rule = splits.read(path)
    number = Counter(rule.written.values())
    what = f"the split was written before: {number['dev']} dev and {number['holdout']} holdout questions, seed {rule.seed}"
    fix = f'use it ([data] split = "{path.name}"); questions that were added since are split by the same rule'
    record = {"path": str(path), "seed": rule.seed, "holdout": rule.holdout, "questions": dict(number)}
    raise Refused(Fault(str(path), what, fix), record)


def _nearest_seed(asked: _Set, share: float) -> int:
    """The seed whose shares of every source, and of the unanswerable, come nearest to what was asked; the first of equals."""
    kinds = [(q.source, q.answerable) for q in asked.questions]
    keys = splits.group_keys(asked.questions, asked.corpus)
    sizes = Counter(kinds)

    def distance(seed: int) -> float:
        held = Counter(kind for kind, key in zip(kinds, keys, strict=True) if splits.position(seed, key) < share)
        return sum(abs(held[kind] - share * number) for kind, number in sizes.items())

    return min(SEEDS, key=distance)


def _write(experiment: Experiment, path: Path, asked: _Set, rule: SplitRule, told: Mapping[str, Any]) -> Written:
    assigned = asked.assign(rule)
    questions = {q.sha256: split for q, split in zip(asked.questions, assigned, strict=True)}
    facts: dict[str, Any] = {
        "holdout": rule.holdout,
        "seed": rule.seed,
        **told,
        "retired": sorted(rule.retired),
        "questions": dict(sorted(questions.items())),
    }
    facts["digest"] = splits.digest(facts)
    _write_once(path, json.dumps(facts, indent=1) + "\n")
    groups = len(set(splits.group_keys(asked.questions, asked.corpus)))
    reference = Path(os.path.relpath(path.resolve(), experiment.path.parent)).as_posix()
    return Written(path, facts, _counts(asked.questions, assigned), groups, reference)


def _write_once(path: Path, text: str) -> None:
    """Write a file that is not there; of several that try at once on this machine one does. Raises Refused for the others."""
    with lock_of(path):
        if path.exists():
            _refuse(path)
        write_atomically(path, text)


def _counts(questions: Sequence[Question], assigned: Sequence[str]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for question, split in zip(questions, assigned, strict=True):
        for name in (question.source or "unnamed", *([] if question.answerable else ["unanswerable"])):
            row = counts.setdefault(name, {"dev": 0, "holdout": 0})
            row[split] += 1
    return dict(sorted(counts.items()))
