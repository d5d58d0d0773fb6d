"""Reading files for corpora and formats: text in a named encoding, unpacked, and tables with the place of every row."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from harness.errors import Fault, HarnessError

csv.field_size_limit(2**31 - 1)  # a section may be longer than the module's default of 131,072 characters


def read_rows(path: Path, encoding: str, columns: tuple[str, ...]) -> Iterator[tuple[str, dict[str, str]]]:
    """Rows of a CSV with their place (`file line N`). Raises HarnessError for a missing column or a torn row."""
    reader = csv.DictReader(io.StringIO(read_text(path, encoding), newline=""), strict=True)
    missing = [c for c in columns if c not in (reader.fieldnames or ())]
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
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise HarnessError(
                Fault(f"{path} line {line}", f"not CSV ({error})", "quote cells that hold commas, quotes or line breaks")
            ) from error
        # The line that the row begins on: the reader has gone on to its last, and skips blank lines.
        inside = sum(str(cell).count("\n") for cell in row.values())
        where = f"{path} line {reader.line_num - inside}"
        if None in row or None in row.values():
            cells = sum(v is not None for v in row.values()) + len(row.get(None) or ()) - (None in row)
            what = f"{cells} cells where the header names {len(reader.fieldnames or ())}"
            raise HarnessError(Fault(where, what, "quote cells that hold commas or line breaks"))
        yield where, row


def read_text(path: Path, encoding: str) -> str:
    """A file's text; a byte-order mark is dropped. Raises HarnessError with the byte that is not of the encoding."""
    return _decoded(read_bytes(path), path, encoding)


def read_bytes(path: Path) -> bytes:
    """A file's bytes, unpacked when its name ends in `.gz`. Raises HarnessError when it can't be read."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise HarnessError(Fault(str(path), f"not a whole gzip file ({error})", "pack it again")) from error
    except FileNotFoundError:
        raise HarnessError(Fault(str(path), "no such file", "correct the path; it is relative to the experiment file")) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        what = f"can't be read ({getattr(error, 'strerror', None) or error})"
        raise HarnessError(Fault(repr(str(path)) if "\0" in str(path) else str(path), what, "give a file")) from error


def _decoded(data: bytes, path: Path, encoding: str) -> str:
    fix = 'save it as UTF-8, or name its encoding: [data] encoding = "..."'
    try:
        text = data.decode("utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding)
        text.encode("utf-8")  # some codecs give half of a surrogate pair, which nothing can write again
        return text
    except UnicodeDecodeError as error:
        shown = f"0x{data[error.start]:02x} is not {encoding}" if error.start < len(data) else f"it is not {encoding}"
        raise HarnessError(Fault(f"{path} byte {error.start}", shown, fix)) from error
    except UnicodeEncodeError as error:
        what = f"it has half of a surrogate pair at character {error.start} when read as {encoding}"
        raise HarnessError(Fault(str(path), what, fix)) from error
    except UnicodeError as error:
        raise HarnessError(Fault(str(path), f"can't be read as {encoding} ({error})", fix)) from error
    except (LookupError, ValueError):
        what = f"unknown encoding {encoding!r}"
        raise HarnessError(Fault("[data] encoding", what, "use a Python codec name such as utf-8 or cp1252")) from None
