"""Corpora: a file, a folder or a glob to documents; to add a kind of file, add a file here and a line in `READERS`."""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from harness.corpora import plain, sections
from harness.errors import Fault, HarnessError
from harness.files import read_bytes
from harness.records import Corpus, Document

# Path, document id for a file that is one document, encoding.
Reader = Callable[[Path, str, str], list[Document]]

READERS: dict[str, Reader] = {
    ".csv": sections.read_csv,
    ".md": plain.read,
    ".txt": plain.read,
}
PACKED = ".gz"


def read_corpus(path: Path, encoding: str = "utf-8") -> Corpus:
    """The documents of a file, of all files below a folder, or of a glob; hidden files are left out.

    A document's id is its file's path below the folder (below the glob's first wildcard), unless the file names its own.
    Raises HarnessError with every file that can't be read.
    """
    base, files, remarks = _files(path)
    faults: list[Fault] = []
    documents: list[Document] = []
    empty = 0
    for file in files:
        try:
            found = READERS[kind(file)](file, document_id(file, base), encoding)
        except HarnessError as error:
            faults += error.faults
            continue
        kept = [d for d in found if d.text.strip()]
        empty += not kept
        documents += kept
    if faults:
        raise HarnessError(faults)
    _refuse_twice(documents, path)
    if not documents:
        raise HarnessError(Fault(str(path), "the corpus is empty", "add files or rows with text"))
    if empty:
        remarks = [*remarks, Fault(str(path), f"{empty} files without text were left out", "fill or remove them")]
    return Corpus(tuple(sorted(documents, key=lambda d: d.document_id)), tuple(remarks))


def kind(file: Path) -> str:
    """The suffix that says how a file is read: of a packed one, the suffix before."""
    return Path(file.stem).suffix.lower() if file.suffix.lower() == PACKED else file.suffix.lower()


def document_id(file: Path, base: Path) -> str:
    """A file's path below the corpus' folder, without the suffix of its packing."""
    relative = file.relative_to(base)
    return (relative.with_suffix("") if relative.suffix.lower() == PACKED else relative).as_posix()


def _files(path: Path) -> tuple[Path, list[Path], list[Fault]]:
    """The folder that ids are relative to, the files to read, and a remark about those that no reader is for."""
    if path.is_dir():
        base, found = path, _below(path)
    elif glob.has_magic(str(path)) and not path.exists():
        base = Path(*_before_magic(path.parts))
        found = [p for p in base.glob("/".join(path.parts[len(base.parts) :])) if p.is_file()]
    else:
        if not path.is_file():
            read_bytes(path)  # which says why it can't be
        if kind(path) not in READERS:
            what = f"'{path.suffix}' is no kind of file that a corpus can be read from"
            raise HarnessError(Fault(str(path), what, f"give a folder, a glob, or one of {', '.join(READERS)} (packed or not)"))
        return path.parent, [path], []
    known = sorted(f for f in found if kind(f) in READERS)
    if not known:
        others = f"; it has {len(found)} of other kinds" if found else ""
        what = f"no file of a kind that can be read ({', '.join(READERS)}){others}"
        raise HarnessError(Fault(str(path), what, "give the folder or the glob that holds the documents"))
    return base, known, _unread(path, [f for f in found if kind(f) not in READERS])


def _below(folder: Path) -> list[Path]:
    inside = (f for f in folder.rglob("*") if not any(p.startswith(".") for p in f.relative_to(folder).parts))
    return [f for f in inside if f.is_file()]


def _before_magic(parts: Iterable[str]) -> Iterator[str]:
    for part in parts:
        if glob.has_magic(part):
            return
        yield part


def _unread(path: Path, files: list[Path]) -> list[Fault]:
    if not files:
        return []
    counts = Counter(kind(f) or "no suffix" for f in files)
    shown = ", ".join(f"{n} {suffix}" for suffix, n in counts.most_common(5))
    return [Fault(str(path), f"{len(files)} files of other kinds were left out ({shown})", "convert them if they belong to it")]


def _refuse_twice(documents: list[Document], path: Path) -> None:
    twice = [i for i, n in Counter(d.document_id for d in documents).items() if n > 1]
    if twice:
        raise HarnessError([Fault(str(path), f"document '{i}' stands in several files", "give each its own id") for i in twice])
