"""Reading files for corpora and formats: text in a named encoding, unpacked; tables and JSON with the place of every row."""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import platformdirs

from harness.errors import Fault, HarnessError

csv.field_size_limit(2**31 - 1)  # a section may be longer than the module's default of 131,072 characters
LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
MOST_UNPACKED = 2**29  # bytes of a packed file
PIECE = 2**20
MOST_DIGITS = 100  # of a whole number in JSON: no id, offset or date has more
SURROGATE = re.compile("[\ud800-\udfff]")
HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")  # escapes that may be half of a surrogate pair


def read_rows(path: Path, encoding: str, columns: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Rows of a CSV with their place (`file line N`).

    Raises HarnessError at once for a missing column, and with every torn row after the last: catch it to add your own faults.
    """
    reader = csv.DictReader(lines(read_text(path, encoding)), strict=True)
    try:
        missing = [c for c in columns if c not in (reader.fieldnames or ())]
    except csv.Error as error:
        raise HarnessError(_not_csv(path, 1, error)) from error
    if not reader.fieldnames:
        raise HarnessError(Fault(str(path), "the file is empty", f"its first line names the columns: {', '.join(columns)}"))
    if other := [c for c in (";", "\t") if len(reader.fieldnames) == 1 and c in reader.fieldnames[0]]:
        what = f"the cells are separated by {'semicolons' if other[0] == ';' else 'tabs'}"
        raise HarnessError(Fault(f"{path} line 1", what, "save it with commas"))
    if twice := [c for c, n in Counter(reader.fieldnames).items() if n > 1]:
        raise HarnessError([Fault(f"{path} line 1", f"column '{c}' stands twice", "delete or rename one") for c in twice])
    if missing:
        has = ", ".join(reader.fieldnames or ()) or "none"
        raise HarnessError(
            [
                Fault(
                    f"{path} line 1",
                    f"column '{c}' is missing (columns: {has})",
                    f"add it; expected: {', '.join(columns)}",
                )
                for c in missing
            ]
        )
    torn: list[Fault] = []
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            if torn:
                raise HarnessError(torn) from None
            return
        except csv.Error as error:  # what follows can't be told apart
            raise HarnessError([*torn, _not_csv(path, line, error)]) from error
        # The line that the row begins on: the reader has gone on to its last, and skips blank lines.
        inside = sum(str(cell).count("\n") for cell in row.values())
        where = f"{path} line {reader.line_num - inside}"
        if None in row or None in row.values():
            cells = sum(v is not None for v in row.values()) + len(row.get(None) or ()) - (None in row)
            what = f"{cells} cells where the header names {len(reader.fieldnames or ())}"
            torn.append(Fault(where, what, "quote cells that hold commas or line breaks"))
            continue
        yield where, row


def _not_csv(path: Path, line: int, error: csv.Error) -> Fault:
    return Fault(f"{path} line {line}", f"not CSV ({error})", "quote cells that hold commas, quotes or line breaks")


def lines(text: str) -> Iterator[str]:
    """A text's lines with their ends (LF, CRLF or CR, as editors count), one at a time: no second copy of a large text."""
    return (match[0] for match in LINE.finditer(text))


def read_json_lines(path: Path, encoding: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON-lines file with their place (`file line N`); blank lines are left out.

    Raises HarnessError with every line that is no object, but after the last row: catch it to add your own faults.
    """
    text = read_text(path, encoding)
    faults: list[Fault] = []
    for number, line in enumerate(lines(text), 1):
        if not line.strip():
            continue
        where = f"{path} line {number}"
        try:
            value = _json(line.rstrip("\r\n"))
        except _NotJson as error:
            if not faults and _is_json(text):
                what = "one JSON value over several lines, where each line is an object of its own"
                raise HarnessError(Fault(str(path), what, "write each object on one line")) from None
            faults.append(Fault(where, error.what, "write one JSON object a line"))
            continue
        if isinstance(value, dict):
            yield where, value
        else:
            faults.append(Fault(where, f"{_named(value)}, not an object", 'write one JSON object a line: {"...": ...}'))
    if faults:
        raise HarnessError(faults)


def read_json(path: Path, encoding: str) -> Any:
    """The value of a JSON file. Raises HarnessError with the line and column where it is none."""
    text = read_text(path, encoding)
    if not text.strip():
        raise HarnessError(Fault(str(path), "the file is empty", "write one JSON value"))
    try:
        return _json(text)
    except _NotJson as error:
        where = f"{path} line {error.line}" if error.line else str(path)
        raise HarnessError(Fault(where, error.what, "correct it")) from None


class _NotJson(ValueError):
    """What is wrong with a JSON text, and in which of its lines if that is known."""

    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.what, self.line = what, line


def _json(text: str) -> Any:
    """A JSON text's value. Raises _NotJson for all that Python's reader lets pass, too: NaN, doubled keys, half pairs."""
    try:
        value = json.loads(
            text, parse_constant=_no_number, parse_float=_finite, parse_int=_whole, object_pairs_hook=_each_key_once
        )
        if HALF_PAIR.search(text):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        before = [*lines(text[: error.pos] + "|")]  # the mark: the fault may stand first in its line
        raise _NotJson(f"not JSON at column {len(before[-1])} ({error.msg})", len(before)) from None
    except RecursionError:
        raise _NotJson("JSON that is nested too deeply") from None
    except UnicodeEncodeError as error:
        raise _NotJson(
            f"it has half of a surrogate pair (\\u{ord(error.object[error.start]):04x}), which is no character"
        ) from None


def _is_json(text: str) -> bool:
    try:
        _json(text)
    except _NotJson:
        return False
    return True


def _no_number(name: str) -> Any:
    raise _NotJson(f"{name} is no JSON value")


def _finite(digits: str) -> float:
    if math.isinf(value := float(digits)):
        raise _NotJson(f"the number {digits[:20]}{'…' * (len(digits) > 20)} is too large")
    return value


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise _NotJson(f"the number {digits[:20]}… has {len(digits)} digits")
    return int(digits)


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = next(k for k, n in Counter(k for k, _ in pairs).items() if n > 1)
        raise _NotJson(f"key {twice!r} stands twice in an object")
    return value


def _named(value: Any) -> str:
    """A JSON value's kind, for a message."""
    kinds = {bool: "true or false", str: "a text", list: "a list", dict: "an object", type(None): "null"}
    return kinds.get(type(value), "a number")


def read_text(path: Path, encoding: str) -> str:
    """A file's text; a byte-order mark is dropped. Raises HarnessError with the byte that is not of the encoding."""
    return _decoded(read_bytes(path), path, encoding)


def read_bytes(path: Path) -> bytes:
    """A file's bytes, unpacked when its name ends in `.gz`. Raises HarnessError when it can't be read."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe would be waited for, a device may never end
            raise HarnessError(Fault(str(path), "a pipe, a socket or a device, no file", "give a file"))
        return _unpacked(path) if path.suffix.lower() == ".gz" else path.read_bytes()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise HarnessError(Fault(str(path), f"not a whole gzip file ({error})", "pack it again")) from error
    except FileNotFoundError:
        if path.is_symlink():
            raise HarnessError(Fault(str(path), f"a link that leads nowhere ({path.readlink()})", "mend or delete it")) from None
        raise HarnessError(Fault(str(path), "no such file", "correct the path; it is relative to the experiment file")) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        what = f"can't be read ({getattr(error, 'strerror', None) or error})"
        raise HarnessError(Fault(repr(str(path)) if "\0" in str(path) else str(path), what, "give a file")) from error


def _unpacked(path: Path) -> bytes:
    """A packed file's bytes, a piece at a time: a small file may unpack to more than there is memory."""
    data = bytearray()
    with gzip.open(path) as file:
        while piece := file.read(PIECE):
            data += piece
            if len(data) > MOST_UNPACKED:
                what = f"it unpacks to more than {MOST_UNPACKED // 2**20:,} MiB"
                raise HarnessError(Fault(str(path), what, "split it into smaller files, or unpack it"))
    return bytes(data)


def cache_folder() -> Path:
    """Where what can be made again is kept: HARNESS_CACHE_DIR, else the user's cache folder."""
    return Path(os.environ.get("HARNESS_CACHE_DIR") or platformdirs.user_cache_dir("chunking-harness"))


def _decoded(data: bytes, path: Path, encoding: str) -> str:
    fix = "save it as UTF-8, or name its encoding: [data] encoding (of all files) or questions_encoding"
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
        if half := SURROGATE.search(text):  # some codecs give half of a pair, which nothing can write again
            what = f"it has half of a surrogate pair at character {half.start()} when read as {encoding}"
            raise HarnessError(Fault(str(path), what, fix))
        return text
    except UnicodeDecodeError as error:
        shown = f"0x{data[error.start]:02x} is not {encoding}" if error.start < len(data) else f"it is not {encoding}"
        raise HarnessError(Fault(f"{path} byte {error.start}", shown, fix)) from error
    except UnicodeError as error:
        raise HarnessError(Fault(str(path), f"can't be read as {encoding} ({error})", fix)) from error
    except (LookupError, ValueError):
        what = f"unknown encoding {encoding!r}"
        raise HarnessError(Fault("[data] encoding", what, "use a Python codec name such as utf-8 or cp1252")) from None
