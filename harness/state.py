"""What a project keeps on disk, and every path of it; each file is written whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock
from pydantic import TypeAdapter, ValidationError

from harness.errors import Fault, HarnessError, Refused
from harness.experiment import Experiment
from harness.records import Claim, HoldoutRecord, Lock, TrialResult

T = TypeVar("T")
STUDY_KEYS = ("identity", "embedder", "unit", "path")


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a crash leaves the old one or the new one. Raises HarnessError when the disk won't take it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise HarnessError(
            Fault(str(path), f"can't be written ({error.strerror})", "free space or mend the folder's rights")
        ) from error


def lock_of(path: Path) -> FileLock:
    """A lock between processes of this machine for a file of the user's, reentrant, that leaves nothing beside the file."""
    name = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    return FileLock(Path(tempfile.gettempdir()) / f"chunking-harness-{name}.lock")


def sqlite(path: Path) -> str:
    """A database file's address. Raises HarnessError for a path that an address can't hold."""
    if any(c in str(path) for c in "?%"):
        fix = "move the project, or name both stores with --storage and --tracking-uri"
        raise HarnessError(Fault(str(path), "a folder's name has '?' or '%', which a database's address can't hold", fix))
    return f"sqlite:///{path}"


def to_json(record: Any) -> str:
    """A frozen record as indented JSON."""
    return json.dumps(TypeAdapter(type(record)).dump_python(record, mode="json"), indent=1, ensure_ascii=False) + "\n"


def read_record(path: Path, kind: type[T]) -> T:
    """Raises HarnessError when a file that the harness wrote no longer is what it wrote."""
    try:
        return TypeAdapter(kind).validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        lacking = (
            [str(e["loc"][-1]) for e in error.errors() if e["type"] == "missing"] if isinstance(error, ValidationError) else []
        )
        if lacking:
            what = (
                f"as {getattr(kind, '__name__', 'record')} it lacks {', '.join(lacking)}: another version of the harness wrote it"
            )
            raise HarnessError(Fault(str(path), what, "read it with that version, or restore it from a backup")) from error
        fix = "restore it from a backup"
        if kind is TrialResult:  # a lock, a claim or a holdout's record is never made again
            fix += ", or delete it: its trial is measured again"
        raise HarnessError(
            Fault(str(path), f"not a readable {getattr(kind, '__name__', 'record')} ({str(error).splitlines()[0]})", fix)
        ) from error


class State:
    """The files of one experiment below `.harness` in the project's root."""

    def __init__(self, experiment: Experiment) -> None:
        self.home = experiment.root / ".harness"
        self.folder = self.home / experiment.name
        self.locks = self.folder / "locks"
        self.claims = self.home / "claims"
        self.lock_file_to_check_in = experiment.path.with_suffix(".lock.toml")
        self.report = self.folder / "report"
        self.artifacts = self.home / "artifacts"

    def _make_home(self) -> None:
        ignore = self.home / ".gitignore"
        if not ignore.exists():
            write_atomically(ignore, "*\n")

    @property
    def default_storage(self) -> str:
        self._make_home()
        return sqlite(self.home / "studies.db")

    def generations(self) -> list[int]:
        """Numbers of the studies begun under the experiment's name, oldest first."""
        return sorted(int(p.parent.name) for p in (self.folder / "studies").glob("*/study.json") if p.parent.name.isdigit())

    def study(self, generation: int) -> StudyFiles:
        return StudyFiles(self.folder / "studies" / str(generation))

    def current(self) -> StudyFiles:
        """The newest study. Raises HarnessError when none was begun."""
        generations = self.generations()
        if not generations:
            what = f"no sweep of '{self.folder.name}' has been run in {self.home.parent}"
            raise HarnessError(Fault("sweep", what, "run `harness sweep` first"))
        return self.study(generations[-1])

    def identities(self) -> list[dict[str, Any]]:
        """What made each study under the experiment's name another one, oldest first."""
        return [self.study(n).read().get("identity", {}) for n in self.generations()]

    def exclusive(self, what: str) -> FileLock:
        """A lock between processes of this machine; acquire it with a timeout of its own."""
        self._make_home()
        return FileLock(self.home / f"{what}.lock")

    def write_lock(self, lock: Lock) -> Path:
        path = self.locks / f"{lock.lock_id}.json"
        if not path.exists():
            write_atomically(path, to_json(lock))
        return path

    def put_in_force(self, lock_id: str) -> None:
        """Remember which lock was made, or made again, last."""
        write_atomically(self.locks / "last", lock_id + "\n")

    def last_locked(self) -> str | None:
        path = self.locks / "last"
        return path.read_text("utf-8").strip() if path.exists() else None

    def read_locks(self) -> list[Lock]:
        """All locks, oldest first; one that was made again counts as made then. Raises Refused when one was edited."""
        found = [(path, read_record(path, Lock)) for path in self.locks.glob("*.json")]
        for path, lock in found:
            if lock.lock_id != path.stem:
                fix = "restore it from a backup, or remove it and run `harness lock`"
                raise Refused(Fault(str(path), "the lock was edited: its content no longer has its id", fix))
        return self.in_order(lock for _, lock in found)

    def in_order(self, locks: Iterable[Lock]) -> list[Lock]:
        """Locks, the one in force last."""
        last = self.last_locked()
        return sorted(locks, key=lambda lock: (lock.lock_id == last, lock.created))

    def claim_path(self, holdout_sha256: str) -> Path:
        return self.claims / f"{holdout_sha256}.json"

    def read_claim(self, holdout_sha256: str) -> Claim | None:
        path = self.claim_path(holdout_sha256)
        return read_record(path, Claim) if path.exists() else None

    def read_claims(self) -> list[Claim]:
        """Every claim of this project, whatever the experiment."""
        return [read_record(p, Claim) for p in sorted(self.claims.glob("*.json")) if not p.name.endswith(".result.json")]

    def write_claim(self, claim: Claim) -> None:
        write_atomically(self.claim_path(claim.holdout_sha256), to_json(claim))

    def holdout_path(self, holdout_sha256: str) -> Path:
        return self.claims / f"{holdout_sha256}.result.json"

    def read_holdout(self, holdout_sha256: str) -> HoldoutRecord | None:
        path = self.holdout_path(holdout_sha256)
        return read_record(path, HoldoutRecord) if path.exists() else None

    def write_holdout(self, record: HoldoutRecord) -> None:
        write_atomically(self.holdout_path(record.claim.holdout_sha256), to_json(record))


class StudyFiles:
    """The files of one study: its identity, and a result a trial. A result file is the first of all truths."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.generation = int(folder.name)
        self.name = f"{folder.parent.parent.name}#{folder.name}"  # as Optuna, runs and locks know it
        self.results = folder / "results"
        self.baselines = folder / "baselines"

    def read(self) -> dict[str, Any]:
        """Identity, embedder, unit, parent run; empty before the study has begun. Raises HarnessError when it is damaged."""
        path = self.folder / "study.json"
        if not path.exists():
            return {}
        facts = read_record(path, dict[str, Any])
        if lacking := [key for key in STUDY_KEYS if key not in facts]:
            raise HarnessError(
                Fault(str(path), f"it lacks {' and '.join(lacking)}", "restore it, or run `harness sweep --fresh`")
            )
        return facts

    def write(self, facts: Mapping[str, Any]) -> None:
        write_atomically(self.folder / "study.json", json.dumps(facts, indent=1, ensure_ascii=False, sort_keys=True) + "\n")

    def result_path(self, trial: int) -> Path:
        return self.results / f"{trial:05d}.json"

    def write_result(self, result: TrialResult) -> None:
        write_atomically(self.result_path(result.trial), to_json(result))

    def write_baseline(self, result: TrialResult) -> None:
        write_atomically(self.baselines / f"{result.point.splitter}.json", to_json(result))

    def read_baselines(self) -> list[TrialResult]:
        """Baselines that were measured beside the search, in the order of their (negative) numbers, -1 first."""
        found = [read_record(p, TrialResult) for p in self.baselines.glob("*.json") if not p.name.startswith(".")]
        return sorted(found, key=lambda r: -r.trial)

    def read_results(self) -> list[TrialResult]:
        """All finished trials in order."""
        return [read_record(p, TrialResult) for p in sorted(self.results.glob("*.json")) if not p.name.startswith(".")]
