"""Corpora: a file, a folder or a glob to documents; to add a kind of file, add a file here and a line in `READERS`."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from harness.corpora import docx, html, json_lines, markdown, pdf, places, plain, rst, sections
from harness.corpora.places import Found
from harness.errors import Fault, HarnessError, counted
from harness.records import Corpus, Document

# Path, document id for a file that is one document, encoding.
Reader = Callable[[Path, str, str], list[Document]]

READERS: dict[str, Reader] = {
    ".csv": sections.read_csv,
    ".docx": docx.read,
    ".htm": html.read,
    ".html": html.read,
    ".jsonl": json_lines.read,
    ".markdown": markdown.read,
    ".md": markdown.read,
    ".pdf": pdf.read,
    ".rst": rst.read,
    ".txt": plain.read,
}
PACKED = ".gz"
MOST_NAMED = 5  # of what was left out
OTHERS = ("file of another kind", "files of other kinds")


def read_corpus(path: Path, encoding: str = "utf-8") -> Corpus:
    """The documents of a file, of all files below a folder, or of a glob; hidden files are left out.

    A document's id is its file's path below the folder (below the glob's first wildcard), unless the file names its own.
    Raises HarnessError with everything that is wrong with any of the files.
    """
    found = places.find(path)
    files = _known(path, found)
    faults: list[Fault] = []
    documents: list[tuple[Document, Path]] = []
    for file in files:
        try:
            documents += [(d, file) for d in READERS[kind(file)](file, document_id(file, found.base), encoding)]
        except HarnessError as error:
            faults += error.faults
    faults += _twice(path, documents)
    if faults:
        raise HarnessError(dict.fromkeys(faults))
    kept = sorted((d for d, _ in documents if d.text.strip()), key=lambda d: d.document_id)
    if not kept:
        raise HarnessError(Fault(str(path), "the corpus is empty", "add files or rows with text"))
    return Corpus(tuple(kept), tuple(_remarks(path, found, files, documents)))


def kind(file: Path) -> str:
    """The suffix that says how a file is read: of a packed one, the suffix before."""
    return Path(file.stem).suffix.lower() if file.suffix.lower() == PACKED else file.suffix.lower()


def document_id(file: Path, base: Path) -> str:
    """A file's path below the corpus' folder, composed (NFC), without the suffix of its packing.

    Raises HarnessError when it is not UTF-8.
    """
    relative = file.relative_to(base)
    name = unicodedata.normalize("NFC", (relative.with_suffix("") if relative.suffix.lower() == PACKED else relative).as_posix())
    if any("\ud800" <= c <= "\udfff" for c in name):
        where = str(file).encode("utf-8", "backslashreplace").decode()
        raise HarnessError(Fault(where, "the file's name is not UTF-8", "rename it"))
    return name


def _known(path: Path, found: Found) -> list[Path]:
    """The files that there is a reader for. Raises HarnessError when there is none."""
    known = [f for f in found.files if kind(f) in READERS]
    if known:
        return known
    if found.files == (path,):
        what = f"'{path.suffix}' is no kind of file that a corpus can be read from"
        raise HarnessError(Fault(str(path), what, f"give a folder, a glob, or one of {', '.join(READERS)} (packed or not)"))
    others = f"; it has {counted(len(found.files), *OTHERS)}" if found.files else ""
    what = f"no file of a kind that can be read ({', '.join(READERS)}){others}"
    raise HarnessError(Fault(str(path), what, "give the folder or the glob that holds the documents"))


def _twice(path: Path, documents: Iterable[tuple[Document, Path]]) -> list[Fault]:
    """Documents of one id in several files; a reader sees to it that there is one of each in a file."""
    files: dict[str, list[Path]] = {}
    for document, file in documents:
        files.setdefault(document.document_id, []).append(file)
    fix = "delete or rename one, or give each document its own id"
    return [
        Fault(str(path), f"document '{i}' stands in {len(own)} files ({', '.join(map(str, own))})", fix)
        for i, own in files.items()
        if len(own) > 1
    ]


def _remarks(path: Path, found: Found, files: Sequence[Path], documents: Sequence[tuple[Document, Path]]) -> Iterator[Fault]:
    """What was left out, and how to have it in."""
    others = [f for f in found.files if kind(f) not in READERS]
    kinds = [f"{n} {suffix}" for suffix, n in Counter(kind(f) or "no suffix" for f in others).most_common()]
    full = {file for d, file in documents if d.text.strip()}
    empty = [str(f.relative_to(found.base)) for f in files if f not in full]
    silent = [d.document_id for d, file in documents if file in full and not d.text.strip()]
    linked = [str(f.relative_to(found.base)) for f in found.linked]
    for number, words, names, fix in (
        (len(others), OTHERS, kinds, "convert what belongs to the corpus"),
        (len(empty), ("file without text", "files without text"), empty, "fill or delete what is empty"),
        (len(silent), ("document without text", "documents without text"), silent, "fill or delete what is empty"),
        (len(linked), ("linked folder", "linked folders"), linked, "copy what belongs to the corpus, or name its real folder"),
    ):
        if number:
            shown = ", ".join(names[:MOST_NAMED]) + ", …" * (len(names) > MOST_NAMED)
            was = "was" if number == 1 else "were"
            yield Fault(str(path), f"{counted(number, *words)} {was} left out ({shown})", fix)
