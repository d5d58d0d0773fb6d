"""What `questions prompt` and `questions import` do with files; a verb more about growing a question set begins here."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import answers, asking, corpora, experiment
from harness.answers import Dropped
from harness.asking import Prompt, Wanted
from harness.errors import Fault, HarnessError
from harness.question_file import QuestionFile
from harness.records import Corpus
from harness.sifting import Judged, Kept, Sieve
from harness.state import write_atomically

PROMPT = ".prompt.txt"
STDIN = Path("-")


@dataclass(frozen=True)
class Imported:
    """What was added to a question file, what was not and why, and what is doubtful of the added."""

    file: Path
    kept: tuple[Kept, ...]
    dropped: tuple[Dropped, ...]
    already: tuple[Dropped, ...]
    flagged: tuple[Fault, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "file": str(self.file),
            "added": [k.question_id for k in self.kept],
            "unanswerable": sum(not k.evidence for k in self.kept),
            "dropped": [d.as_json() for d in self.dropped],
            "already": [d.as_json() for d in self.already],
            "flagged": [f.as_json() for f in self.flagged],
        }


def read_corpus(experiment_file: Path | None, corpus: Path | None) -> Corpus:
    """An experiment's corpus, or one by its path. Raises HarnessError unless exactly one of the two is given."""
    if (experiment_file is None) == (corpus is None):
        raise HarnessError(Fault("arguments", "an experiment or --corpus is needed, one of the two", "give one"))
    return experiment.load(experiment_file).source.read_corpus() if experiment_file else corpora.read_corpus(corpus or Path())


def prompt(corpus: Corpus, documents: Sequence[str], wanted: Wanted, out: Path | None) -> tuple[Prompt, ...]:
    """A prompt for each document or part of one, written to a file each when a folder is given."""
    found = tuple(asking.prompts(corpus, asking.chosen(corpus, documents), wanted))
    for p in found if out else ():
        write_atomically((out or Path()) / p.file_name, p.text)
    return found


def import_answers(corpus: Corpus, paths: Sequence[Path], file: QuestionFile, document: str, source: str, date: str) -> Imported:
    """Add what models answered to a question file, unreviewed; the same again adds nothing. Prompts among the files are left out.

    Raises HarnessError when a file can't be read, or when no question at all could be read in any of them.
    """
    if all(p.name.endswith(PROMPT) for p in paths):
        raise HarnessError(Fault("arguments", "no file with answers is named", "name the files, or - for standard input"))
    given = asking.chosen(corpus, [document])[0].document_id if document else ""
    texts = _texts([p for p in paths if not p.name.endswith(PROMPT)])
    with file.alone():
        sieve = sieve_of(file, corpus)
        read = 0
        for path, text in texts:
            answer = answers.read(text, "standard input" if path == STDIN else str(path))
            sieve.dropped += answer.dropped
            sieve.sift(answer.entries, given or asking.document_of_file(path.name, corpus))
            read += len(answer.entries)
        if not read:
            raise HarnessError([d.fault for d in sieve.dropped])
        file.append([k.record(source=source, date=date) for k in sieve.kept])
    return Imported(file.path, tuple(sieve.kept), tuple(sieve.dropped), tuple(sieve.already), doubts(file, corpus, sieve.kept))


def sieve_of(file: QuestionFile, corpus: Corpus) -> Sieve:
    """A sieve that knows what is in a question file."""
    return Sieve(corpus, file.known(), {row.raw.question_id for row in (*file.rows(), *file.dropped_rows())})


def doubts(file: QuestionFile, corpus: Corpus, kept: Iterable[Kept]) -> tuple[Fault, ...]:
    """What is doubtful of questions that were just added, in the light of the whole file."""
    kept = list(kept)
    judged = Judged.of([row.raw for row in file.rows()], corpus) if kept else None
    return tuple(
        Fault(k.question_id, what, "see to it in the review") for k in kept if judged for what in judged.doubts(k.question_id)
    )


def _texts(paths: Sequence[Path]) -> list[tuple[Path, str]]:
    """What the files hold, `-` being standard input. Raises HarnessError with every one that can't be read."""
    faults, found = [], []
    for path in dict.fromkeys(paths):
        try:
            found.append((path, _decoded(sys.stdin.buffer.read() if path == STDIN else path.read_bytes())))
        except UnicodeDecodeError as error:
            faults.append(Fault(f"{path} byte {error.start}", "not UTF-8", "save the answer as UTF-8"))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            faults.append(Fault(str(path), f"can't be read ({reason})", "give the files that hold the answers, or -"))
    if faults:
        raise HarnessError(faults)
    return found


def _decoded(data: bytes) -> str:
    """UTF-8, or UTF-16 where a byte-order mark says so: consoles redirect in it."""
    return data.decode("utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig")
