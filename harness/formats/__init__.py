"""Formats: files to a corpus and labelled questions, the holdout sealed; to add one, add a file with `read_corpus` and
`read_questions` and a line in `FORMATS`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from harness import label_checks, labels, splits
from harness.corpora import kind
from harness.errors import Fault, HarnessError, Refused, nearest
from harness.formats import beir, chroma, handbook, json_array, json_lines, legalbench_rag, squad
from harness.label_checks import Subject
from harness.labels import PartlyRead, Quoted, RawQuestion
from harness.records import Claim, Corpus, Question, labels_sha256, questions_sha256
from harness.splits import SplitRule


class Format(Protocol):
    """Reads one format. Both raise HarnessError for what can't be read; a path may be a file, a folder or a glob."""

    @property
    def SUFFIX(self) -> str | None:
        """What a file of its questions ends in, for who named another format than the file's; None: nothing certain."""
        ...

    def read_corpus(self, path: Path, encoding: str) -> Corpus: ...

    def read_questions(self, path: Path, encoding: str) -> list[RawQuestion]:
        """Raises PartlyRead where some entries can be read and others not."""
        ...


SHORT_HASH = 12  # 48 bits: enough to know a question again, few enough to keep hundreds in a tag

FORMATS: dict[str, Format] = {
    "handbook": handbook,
    "json": json_array,
    "jsonl": json_lines,
    "squad": squad,
    "chroma": chroma,
    "beir": beir,
    "legalbench-rag": legalbench_rag,
}


def resolve(name: str, where: str) -> Format:
    """The format that a user named."""
    if name not in FORMATS:
        raise HarnessError(Fault(where, f"unknown format '{name}'", nearest(name, FORMATS)))
    return FORMATS[name]


@dataclass(frozen=True)
class DataSource:
    """Where a corpus and its questions lie."""

    format: str
    corpus: Path
    questions: Path
    encoding: str = "utf-8"
    questions_encoding: str | None = None  # where the questions' is another
    split: SplitRule | Path | None = None  # for questions without a split; a path: a written one

    def read_corpus(self) -> Corpus:
        return resolve(self.format, "[data] format").read_corpus(self.corpus, self.encoding)

    def read_labels(self, corpus: Corpus) -> labels.Labelling:
        read = resolve(self.format, "[data] format").read_questions
        self._require_suffix()
        rule = self.rule if self.split is not None else None
        try:
            raws = read(self.questions, self.questions_encoding or self.encoding)
        except PartlyRead as partly:
            if not partly.questions:  # there is nothing whose faults they could hide
                raise
            labelling = labels.label(partly.questions, corpus, rule)
            return replace(labelling, faults=(*partly.faults, *labelling.faults))
        return labels.label(raws, corpus, rule)

    def _require_suffix(self) -> None:
        """Raises HarnessError when the questions' file is plainly of another format than the one named."""
        expected, found = FORMATS[self.format].SUFFIX, kind(self.questions)
        fitting = [name for name, reader in FORMATS.items() if found == reader.SUFFIX]
        if expected and fitting and found != expected:
            what = f"format '{self.format}' reads {expected} files, and this is {found}"
            raise HarnessError(Fault(str(self.questions), what, f"set [data] format to {' or '.join(fitting)}"))

    @property
    def rule(self) -> SplitRule:
        """How questions without a split are split. Raises HarnessError when a written split can't be read."""
        return splits.read(self.split) if isinstance(self.split, Path) else self.split or SplitRule()


@dataclass(frozen=True)
class SealedHoldout:
    """What may be known of a holdout before it is opened. It holds no question: unsealing reads the file again."""

    answerable: int
    unanswerable: int
    sha256: str
    labels_sha256: str
    short_hashes: tuple[str, ...]  # of the questions' wordings
    source: DataSource
    unreviewed: int = 0

    def unseal(self, claim: Claim, corpus: Corpus) -> tuple[Question, ...]:
        """The holdout's questions, for the holder of a claim on exactly these.

        Raises Refused when the claim is for another holdout or the file has changed since it was sealed.
        """
        if claim.holdout_sha256 != self.sha256:
            what = f"the claim is for holdout {claim.holdout_sha256[:12]}, not {self.sha256[:12]}"
            raise Refused(Fault("holdout", what, "claim this one"))
        questions = tuple(q for split, q in self.source.read_labels(corpus).questions if split == "holdout")
        if questions_sha256(questions) != self.sha256:
            raise Refused(Fault(str(self.source.questions), "the holdout changed while it was being opened", "restore the file"))
        return questions


@dataclass(frozen=True)
class Labelled:
    """A corpus, its dev questions, the sealed holdout, and what is wrong about the labels of both."""

    corpus: Corpus
    dev: tuple[Question, ...]
    holdout: SealedHoldout
    faults: tuple[Fault, ...]
    quoted: Quoted

    @property
    def answerable(self) -> tuple[Question, ...]:
        return tuple(q for q in self.dev if q.answerable)

    @property
    def unreviewed(self) -> int:
        """Dev questions that no person has read against their documents."""
        return sum(not q.reviewed for q in self.dev)

    def sound(self) -> Labelled:
        """Itself. Raises HarnessError with every fault of the labels when there is one."""
        if self.faults:
            raise HarnessError(self.faults)
        return self


def load(source: DataSource) -> Labelled:
    """Read a corpus and its questions. Raises HarnessError for what can't be read; label faults are returned."""
    corpus = source.read_corpus()
    return _sealed(source, Subject(source.read_labels(corpus), corpus))


def load_with_doubts(source: DataSource) -> tuple[Labelled, tuple[Fault, ...]]:
    """The same with all that is doubtful about the labels, in the light of both splits."""
    corpus = source.read_corpus()
    subject = Subject(source.read_labels(corpus), corpus)
    return _sealed(source, subject), label_checks.check_warnings(subject)


def _sealed(source: DataSource, subject: Subject) -> Labelled:
    corpus, labelling = subject.corpus, subject.labelling
    held = [q for split, q in labelling.questions if split == "holdout"]
    answerable = sum(q.answerable for q in held)
    holdout = SealedHoldout(
        answerable=answerable,
        unanswerable=len(held) - answerable,
        sha256=questions_sha256(held),
        labels_sha256=labels_sha256(held),
        short_hashes=tuple(sorted(q.sha256[:SHORT_HASH] for q in held)),
        source=source,
        unreviewed=sum(not q.reviewed for q in held),
    )
    dev = tuple(q for split, q in labelling.questions if split == "dev")
    return Labelled(corpus, dev, holdout, label_checks.check_faults(subject), labelling.quoted)
