"""A question file of JSON lines that grows: rows are added and changed one by one, all others stay byte for byte."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.errors import Fault, HarnessError
from harness.files import lines, read_json_lines, read_text
from harness.formats.entries import MEANING, questions_of
from harness.labels import RawQuestion
from harness.sifting import digest
from harness.state import lock_of, write_atomically

SUFFIX = ".jsonl"


@dataclass(frozen=True)
class Row:
    """A question as it stands in the file: the line as written, its object, and what the object means."""

    line: str
    record: Mapping[str, Any]
    raw: RawQuestion

    def changed(self, **values: Any) -> dict[str, Any]:
        """Its object with other values, under the keys that it uses itself; None deletes a key."""
        own = {MEANING.get(unicodedata.normalize("NFC", k).strip().casefold(), k): k for k in self.record}
        record = dict(self.record)
        for name, value in values.items():
            if value is None:
                record.pop(own.get(name, name), None)
            else:
                record[own.get(name, name)] = value
        return record


class QuestionFile:
    """One `.jsonl` file, which need not be there yet, and beside it the questions that a review dropped."""

    def __init__(self, path: Path, where: str = "") -> None:
        if path.suffix.lower() != SUFFIX or path.is_dir():
            fix = "name a .jsonl file, a question a line; `harness questions import` makes one"
            raise HarnessError(Fault(where or str(path), f"'{path}' is no {SUFFIX} file", fix))
        self.path = path
        self.dropped = path.with_name(f"{path.stem}.dropped{SUFFIX}")
        self._lock = lock_of(path)

    def alone(self) -> AbstractContextManager[Any]:
        """A lock between processes of this machine, reentrant, that leaves no file beside the questions."""
        return self._lock

    def rows(self) -> list[Row]:
        """Every question in order; none when there is no file. Raises HarnessError with every line that is none."""
        with self.alone():
            return _rows(self.path)

    def dropped_rows(self) -> list[Row]:
        """The questions that a review dropped."""
        with self.alone():
            return _rows(self.dropped)

    def known(self) -> dict[str, str]:
        """Where each question is that was ever in the file, by the hash of its wording and of the one it was made from."""
        found = {}
        for rows, kind in ((self.dropped_rows(), "dropped in review as"), (self.rows(), "as question")):
            for row in rows:
                for text in (row.record.get("reworded_from"), row.raw.text):
                    if isinstance(text, str):
                        found[digest(text)] = f"{kind} '{row.raw.question_id}'"
        return found

    def append(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Add rows at the end; what is there stays."""
        if records:
            with self.alone():
                _append(self.path, records)

    def change(self, row: Row, record: Mapping[str, Any]) -> Row:
        """Put an object in a row's place; the row as it is now."""
        return self._replace(row, _line(record))

    def drop(self, row: Row) -> None:
        """Move a row to the file of dropped questions; written there first, so that a crash loses nothing."""
        with self.alone():
            if row.line.strip() not in {r.line.strip() for r in _rows(self.dropped)}:
                _append(self.dropped, [row.record])
            self._replace(row, "")

    def _replace(self, row: Row, line: str) -> Row:
        with self.alone():
            written = _lines(self.path)
            at = next((i for i, line in enumerate(written) if line.strip() == row.line.strip()), None)
            if at is None:
                what = f"question '{row.raw.question_id}' is no longer as it was read: something else changed the file"
                raise HarnessError(Fault(str(self.path), what, "start the review again; what was saved is kept"))
            written[at] = line
            write_atomically(self.path.resolve(), "".join(written))
            now = next((r for r in _rows(self.path) if r.line == line), row)
            return replace(now, raw=replace(now.raw, where=row.raw.where))  # lines above may have gone since it was read


def _rows(path: Path) -> list[Row]:
    if not path.exists():
        return []
    found = list(read_json_lines(path, "utf-8"))
    written = _lines(path)
    raws = questions_of([path], lambda _: found)
    places = [int(where.rpartition(" line ")[2]) - 1 for where, _ in found]
    return [Row(written[at], record, raw) for at, (_, record), raw in zip(places, found, raws, strict=True)]


def _lines(path: Path) -> list[str]:
    """The file's lines with their ends; a byte-order mark stays where it is."""
    if not path.exists():
        return []
    read_text(path, "utf-8")  # which says what is wrong where it can't be read
    return list(lines(path.read_bytes().decode("utf-8")))


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def _append(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    before = "".join(_lines(path))
    between = "\n" if before and not before.endswith(("\n", "\r")) else ""
    write_atomically(path.resolve(), before + between + "".join(map(_line, records)))
