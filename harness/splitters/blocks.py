"""What of a document is to be kept whole: paragraphs, list items, tables, code; a kind of text more is a line in `PARSERS`.

Blocks are found within one section at a time, and may have blocks inside: a list item has its paragraphs, lists and code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import PurePosixPath

import numpy as np
from markdown_it import MarkdownIt
from markdown_it.token import Token

from harness.corpora.markdown import BREAK, FRONT_MATTER
from harness.files import lines
from harness.records import Document, IntArray
from harness.splitters import block_rules

TEXT, HEADING, WHOLE = range(3)  # kinds of block; WHOLE: a table or code

PARSERS: dict[str, MarkdownIt] = {
    "markdown": block_rules.markdown(),
    "rst": block_rules.restructured(),
    "paragraphs": block_rules.plain(),
}
WITHOUT_FENCES = block_rules.plain(fences=False)
OF_SUFFIX = {".md": "markdown", ".markdown": "markdown", ".rst": "rst"}
CONTAINERS = ("list_item_open", "blockquote_open")
LISTS = ("bullet_list_open", "ordered_list_open")
KEPT = ("table_open", "code_block", "fence", block_rules.TABLE, block_rules.CODE)
KEPT_HTML = re.compile(r"\s*<(?:pre|table)\b", re.IGNORECASE)
UNDERLINE = r"([!-/:-@\[-`{-~])"
LONGEST_WRAPPED = 120  # characters; whoever breaks lines at a width takes no larger one
SENTENCE_END = re.compile(r"[.!?…。！？؟۔।][\"'”’»)\]」』）]*$")


@dataclass(frozen=True, slots=True)
class Block:
    """Characters [start, end) with something to see at both ends; the blocks inside hold all that is to see in it."""

    start: int
    end: int
    kind: int
    inner: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Blocks:
    """A document's blocks in order, each before those inside it. Arrays have one entry a block."""

    start: IntArray  # characters
    end: IntArray  # characters, exclusive
    kind: IntArray
    after: IntArray  # index of the next block that is not inside it
    group: IntArray  # blocks of one group stand under the same heading of the same section


def find(document: Document, how: str = "auto") -> Blocks:
    """A document's blocks; together they cover every visible character. `how` is of `PARSERS`, or auto: by the id's suffix."""
    if how == "auto":
        how = OF_SUFFIX.get(PurePosixPath(document.document_id.removesuffix(".gz")).suffix.lower(), "paragraphs")
    headings = {s.span.start: s.heading for s in document.sections}
    borders = sorted({0, len(document.text), *(b for s in document.sections for b in (s.span.start, s.span.end))})
    rows: list[tuple[int, int, int, int, int]] = []
    group = 0
    for start, end in pairwise(borders):
        before = TEXT
        for block in _of_section(document.text, start, end, headings.get(start, ""), how):
            group += block.kind == HEADING != before
            before = block.kind
            _append(rows, block, group)
        group += 1
    columns = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    return Blocks(*(np.ascontiguousarray(column) for column in columns))


def _append(rows: list[tuple[int, int, int, int, int]], block: Block, group: int) -> None:
    at = len(rows)
    rows.append((block.start, block.end, block.kind, at + 1, group))
    for inner in block.inner:
        _append(rows, inner, group)
    rows[at] = (block.start, block.end, block.kind, len(rows), group)


def _of_section(text: str, start: int, end: int, heading: str, how: str) -> Iterator[Block]:
    """The blocks of a section, or of what stands between two."""
    at = start + len(heading) + 2
    if heading and text.startswith(f"{heading}. ", start, end) and text[at : min(at + 1, end)].strip():
        # As tables of sections have it: the heading is part of the block that it stands on a line with.
        yield from _parsed(_Page(text, at, end, origin=start), how)
        return
    front = FRONT_MATTER.match(text, 0, end) if how == "markdown" and start == 0 else None
    title = _own_lines(heading).match(text, start, end) if how != "markdown" and heading.strip() else None
    if opening := front or title:
        yield from _Page(text, start, opening.end()).block(0, None, HEADING if title else TEXT)
    yield from _parsed(_Page(text, opening.end() if opening else start, end), how)


def _own_lines(heading: str) -> re.Pattern[str]:
    """A heading on lines of its own, with the lines of punctuation that reStructuredText has below and above."""
    words = r"\s+".join(map(re.escape, heading.split()))
    over, under = rf"(?:{UNDERLINE}\1*[ \t]*{BREAK}[ \t]*)?", rf"(?:{BREAK}{UNDERLINE}\2+[ \t]*)?"
    return re.compile(rf"\s*{over}{words}[ \t]*{under}(?={BREAK}|\Z)")


class _Page:
    """Characters [start, end) by lines (LF, CRLF or CR end one, as in the parser); from `origin` on they count to the first."""

    def __init__(self, text: str, start: int, end: int, origin: int | None = None) -> None:
        self.text = text[start:end]
        origin = start if origin is None else origin
        self.lines = [*lines(self.text)]
        starts = accumulate(map(len, self.lines), initial=start)
        seen = [_visible(at, line) for at, line in zip(starts, self.lines, strict=False)]
        if origin < start and seen and seen[0]:
            seen[0] = (origin, seen[0][1])
        # Where what is to see begins from a line on, and where it ends before a line.
        self.first = [*accumulate((s and s[0] for s in reversed(seen)), _latest, initial=end)][::-1]
        self.last = [*accumulate((s and s[1] for s in seen), _latest, initial=origin)]

    def block(self, begin: int, stop: int | None, kind: int, inner: Sequence[_Node] = ()) -> Iterator[Block]:
        """The block of lines [begin, stop), if there is anything to see in them."""
        stop = len(self.lines) if stop is None else stop
        start, end = self.first[begin], self.last[stop]
        if start < end:
            yield Block(start, end, kind, tuple(self.blocks(inner, begin, stop)) if inner else ())

    def blocks(self, nodes: Sequence[_Node], begin: int, stop: int) -> Iterator[Block]:
        """Blocks of lines [begin, stop) by what a parser made of them; what it passed over (link targets) is text."""
        for node in nodes:
            low, high = max(node.begin, begin), min(node.stop, stop)
            if low < high:
                yield from self.block(begin, low, TEXT)
                yield from self.block(low, high, node.kind, node.inner or self._single_lines(node, low, high))
                begin = high
        yield from self.block(begin, stop, TEXT)

    def _single_lines(self, node: _Node, begin: int, stop: int) -> Sequence[_Node]:
        """A paragraph's lines where each is a paragraph: one is longer than wrapped lines are, or half end a sentence."""
        if node.kind != TEXT or stop - begin < 2:
            return ()
        rows = [line.rstrip() for line in self.lines[begin:stop]]
        closed = sum(SENTENCE_END.search(row) is not None for row in rows[:-1])
        if 2 * closed < len(rows) - 1 and max(map(len, rows)) <= LONGEST_WRAPPED:
            return ()
        return [_Node(line, line + 1, TEXT) for line in range(begin, stop)]


def _visible(at: int, line: str) -> tuple[int, int] | None:
    """The offsets of a line without the white space around it; None when nothing is left."""
    kept = line.lstrip()
    return (at + len(line) - len(kept), at + len(line.rstrip())) if kept else None


def _latest(before: int, offset: int | None) -> int:
    return before if offset is None else offset


@dataclass(frozen=True, slots=True)
class _Node:
    """Lines [begin, stop) of a page."""

    begin: int
    stop: int
    kind: int
    inner: tuple[_Node, ...] = ()


def _parsed(page: _Page, how: str) -> Iterator[Block]:
    text = page.text if how == "markdown" else block_rules.marked(page.text)
    tokens = PARSERS[how].parse(text, {})
    if how != "markdown" and any(t.type == "fence" and not _closed(t, page.lines) for t in tokens):
        # In text that is not Markdown such a mark is not the beginning of code.
        tokens = WITHOUT_FENCES.parse(text, {})
    yield from page.blocks(_nodes(iter(tokens)), 0, len(page.lines))


def _closed(fence: Token, rows: Sequence[str]) -> bool:
    begin, stop = fence.map or (0, 1)
    last = rows[stop - 1].strip()
    return stop - begin > 1 and len(last) >= len(fence.markup) and not last.strip(fence.markup[0])


def _nodes(tokens: Iterator[Token]) -> tuple[_Node, ...]:
    """The blocks of a stream of tokens up to the end of the one that they are in; lists are taken as their items."""
    found: list[_Node] = []
    for token in tokens:
        if token.nesting < 0:
            break
        inner = _nodes(tokens) if token.nesting > 0 else ()
        if token.type in LISTS:
            found += inner
        elif token.map and token.type != "inline":
            begin, stop = token.map
            found.append(_Node(begin, stop, _kind(token), inner if token.type in CONTAINERS else ()))
    return tuple(found)


def _kind(token: Token) -> int:
    if token.type == "heading_open":
        return HEADING
    kept = token.type in KEPT or (token.type == "html_block" and KEPT_HTML.match(token.content))
    return WHOLE if kept else TEXT
