"""Parsers of blocks: Markdown as CommonMark and its tables have it, and what of it may be trusted in other text.

In text that is not Markdown, indentation is no code, and tables have other looks; a look more is a rule in `plain`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

TABLE, CODE = "table", "code"  # types of the tokens that the rules here give
Rule = Callable[[StateBlock, int, int, bool], bool]
Extent = Callable[[StateBlock, int, int], int]  # state, line, end of all lines: the line after the block, or the line itself

# A tab between two cells; not the one behind the mark of a list item.
CELLS = re.compile(r"(?:(?:[-*+]|\d{1,9}[.)])\s+)?+\S[^\t]*\t")
GRID_BORDER, GRID = re.compile(r"\+(?:[-=]+\+)+"), re.compile(r"[+|].*[+|]")
COLUMNS = re.compile(r"=+(?:[ \t]+=+)+")
DIRECTIVE = re.compile(r"\.\. [\w:.+-]+::")
AUTO_NUMBER = re.compile(r"^([ \t]*)#(?=\.[ \t])", re.MULTILINE)
BULLETS = str.maketrans("•●▪‣◦", "-----")
CODE_DIRECTIVE = re.compile(r"\.\. (?:code|code-block|sourcecode|parsed-literal|(?:csv-|list-)?table)::")


def markdown() -> MarkdownIt:
    return _blocks_only(MarkdownIt("commonmark").enable("table"))


def plain(fences: bool = True) -> MarkdownIt:
    """Paragraphs, list items, tables of pipes, tabs and borders, and code between fences."""
    parser = _blocks_only(MarkdownIt("commonmark"))
    parser.block.ruler.enableOnly(["table", "list", "paragraph", *(["fence"] if fences else [])])
    for look in (_tabbed, _grid, _columns):
        parser.block.ruler.after("table", look.__name__, _rule(look, TABLE), {"alt": ["paragraph"]})
    return parser


def restructured() -> MarkdownIt:
    """The same with the literal blocks and the sessions of Python that reStructuredText has, and without fences."""
    parser = plain(fences=False)
    for look in (_literal, _session):
        parser.block.ruler.before("table", look.__name__, _rule(look, CODE), {"alt": []})
    return parser


def marked(text: str) -> str:
    """Text that is not Markdown, the marks of its list items those of Markdown; every character in its place."""
    return AUTO_NUMBER.sub(r"\g<1>1", text).translate(BULLETS)


def _blocks_only(parser: MarkdownIt) -> MarkdownIt:
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _rule(extent: Extent, kind: str) -> Rule:
    """The rule that makes one token of the lines that `extent` gives."""

    def rule(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        stop = extent(state, line, end)
        if stop == line:
            return False
        if not silent:
            state.push(kind, "", 0).map = [line, stop]
            state.line = stop
        return True

    return rule


def _row(state: StateBlock, line: int) -> str:
    """A line without the white space around it."""
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()


def _run(state: StateBlock, line: int, end: int) -> Iterator[tuple[int, str]]:
    """The lines from one on up to a blank one."""
    while line < end and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        yield line, _row(state, line)
        line += 1


def _tabbed(state: StateBlock, line: int, end: int) -> int:
    """Rows whose cells are set apart by tabs, as in text that HTML was made to; rows of one cell may stand between them."""
    if not CELLS.match(_row(state, line)):
        return line
    rows = [at for at, _ in _run(state, line, end) if "\t" in state.src[state.bMarks[at] : state.eMarks[at]]]
    return rows[-1] + 1 if len(rows) > 1 else line


def _grid(state: StateBlock, line: int, end: int) -> int:
    """Rows between borders of +---+, or between pipes without a border."""
    first = _row(state, line)
    if not GRID_BORDER.fullmatch(first) and not (first.startswith("|") and GRID.fullmatch(first)):
        return line
    stop = line
    for at, row in _run(state, line, end):
        if not GRID.fullmatch(row):
            break
        stop = at + 1
    return stop if stop - line > 1 else line


def _columns(state: StateBlock, line: int, end: int) -> int:
    """Rows between borders of === ===."""
    if not COLUMNS.fullmatch(_row(state, line)):
        return line
    borders = [at for at, row in _run(state, line, end) if COLUMNS.fullmatch(row)]
    return borders[-1] + 1 if len(borders) > 1 else line


def _literal(state: StateBlock, line: int, end: int) -> int:
    """What is indented below a line that ends in ::, or below a directive of code or of a table, which belongs to it."""
    if CODE_DIRECTIVE.match(_row(state, line)):
        return _indented(state, line + 1, end, state.sCount[line])
    before = line - 1
    while before >= 0 and state.isEmpty(before):
        before -= 1
    opening = _row(state, before) if before >= 0 else ""
    if before == line - 1 or not opening.endswith("::") or DIRECTIVE.match(opening):
        return line
    return _indented(state, line, end, state.sCount[before])


def _session(state: StateBlock, line: int, end: int) -> int:
    """Lines from >>> to a blank one."""
    return [at for at, _ in _run(state, line, end)][-1] + 1 if _row(state, line).startswith(">>> ") else line


def _indented(state: StateBlock, line: int, end: int, than: int) -> int:
    """The line after those from one on that are blank or indented further."""
    while line < end and (state.isEmpty(line) or state.sCount[line] > than):
        line += 1
    return line
