"""Texts that a library converts out of other formats, kept below the cache folder with the digest of their content.

A kind of file more is another file with a `Conversion`; raise its `version` whenever the same bytes give another text.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from harness.errors import Fault, HarnessError
from harness.files import cache_folder, read_bytes
from harness.records import sha256_json

EXTRA = "pip install 'chunking-harness[documents]'"
FOLDER = "texts"


class Unconvertible(Exception):
    """A file that can't be converted: what is wrong with it, and the way out."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


@dataclass(frozen=True)
class Conversion:
    """How a library makes a list of texts of a file's bytes; `convert` raises Unconvertible for what it knows to be wrong."""

    kind: str  # suffix of the files
    library: str
    version: int
    convert: Callable[[bytes], list[str]]

    def texts(self, path: Path) -> list[str]:
        """A file's texts, out of the cache if they are there and whole.

        Raises HarnessError when the library is missing or can't convert the file.
        """
        try:
            library = f"{self.library} {metadata.version(self.library)}"
        except metadata.PackageNotFoundError:
            # One fault, however many files there are.
            raise HarnessError(
                Fault(f"{self.kind} files", f"{self.library}, which reads them, is not installed", EXTRA)
            ) from None
        data = read_bytes(path)
        key = sha256_json([hashlib.sha256(data).hexdigest(), library, self.version])
        entry = cache_folder() / FOLDER / f"{key}.json"
        kept = _kept(entry)
        if kept is None:
            kept = self._converted(data, path)
            _keep(entry, kept)
        return kept

    def _converted(self, data: bytes, path: Path) -> list[str]:
        try:
            return [_storable(text) for text in self.convert(data)]
        except Unconvertible as error:
            raise HarnessError(Fault(str(path), error.what, error.fix)) from error
        except Exception as error:  # a broken file makes these libraries raise anything
            what = f"{self.library} can't read it ({type(error).__name__}: {error})"
            raise HarnessError(Fault(str(path), what, "save it anew in its program, or convert it to text")) from error


def _storable(text: str) -> str:
    """A text with half surrogate pairs, which fonts' tables may give, replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _kept(entry: Path) -> list[str] | None:
    """The texts of an entry; None when it is missing, or not what was written."""
    try:
        stored = json.loads(entry.read_text("utf-8"))
        texts = stored["texts"]
        return texts if stored["sha256"] == sha256_json(texts) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _keep(entry: Path, texts: list[str]) -> None:
    """Write an entry as a whole or not at all; a folder that can't be written to costs time only."""
    with suppress(OSError):
        entry.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=entry.parent, suffix=".tmp", delete=False) as file:
            json.dump({"sha256": sha256_json(texts), "texts": texts}, file, ensure_ascii=False)
        Path(file.name).replace(entry)
