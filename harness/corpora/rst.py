"""reStructuredText: the text as it stands, its sections by its titles, which are underlined with punctuation.

The first kind of underline is level 1, the next new kind level 2, and so on, as reStructuredText has it.
"""

from __future__ import annotations

import string
import unicodedata
from itertools import accumulate
from pathlib import Path

from harness.corpora import headings
from harness.corpora.headings import Heading
from harness.files import lines, read_text
from harness.records import Document

SHORTEST_LOOSE = 4  # a shorter underline must be as long as its title


def read(path: Path, document_id: str, encoding: str) -> list[Document]:
    """Raises HarnessError for bytes that are not of the encoding."""
    text = read_text(path, encoding)
    found = find(text)
    return [Document(document_id, text, headings.sections(text, found), headings.first(found))]


def find(text: str) -> list[Heading]:
    """The titles of a text; one has a line of one punctuation mark below it, and may have the same line above it."""
    whole = [*lines(text)]
    starts = list(accumulate(map(len, whole), initial=0))
    rows = [line.rstrip() for line in whole]
    kinds: dict[tuple[str, bool], int] = {}
    found: list[Heading] = []
    at = 0
    while at < len(rows):
        over = _is_overlined(rows, at)
        if over or _is_underlined(rows, at):
            title = at + over
            level = kinds.setdefault((rows[title + 1][0], over), len(kinds) + 1)
            found.append(Heading(starts[at], " ".join(rows[title].split()), level))
            at = title + 1
            rows[at] = ""  # what follows an underline stands as free as after a blank line
        at += 1
    return found


def _is_overlined(rows: list[str], at: int) -> bool:
    above, title, below = (*rows[at : at + 3], "", "", "")[:3]
    return _is_line(above) and above == below and _fits(title.strip(), below) and not _is_line(title)


def _is_underlined(rows: list[str], at: int) -> bool:
    title, below = rows[at], rows[at + 1] if at + 1 < len(rows) else ""
    before = rows[at - 1] if at else ""
    free = not before or before[0].isspace() or before.startswith("..")
    return free and not title[:1].isspace() and _is_line(below) and _fits(title, below) and not _is_line(title)


def _is_line(row: str) -> bool:
    return row[:1] in string.punctuation and row == row[:1] * len(row) != ""


def _fits(title: str, line: str) -> bool:
    """Whether a line may belong to a title: a short one must be as wide as it; wide characters take two columns."""
    width = sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in title)
    return bool(title) and (len(line) >= SHORTEST_LOOSE or len(line) >= width)
