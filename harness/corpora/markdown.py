"""Markdown: the text as it stands, its sections by its headings (CommonMark), its title by the first of level 1.

Headings within block quotes and lists divide nothing. Front matter is text, holds no heading, and may hold the title.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from harness.corpora import headings
from harness.corpora.headings import Heading
from harness.files import lines, read_text
from harness.records import Document

BREAK = r"(?:\r\n|\r|\n)"
FRONT_MATTER = re.compile(rf"---[ \t]*{BREAK}(?![ \t]*{BREAK})(?:.*?{BREAK})?(?:---|\.\.\.)[ \t]*(?:{BREAK}|\Z)", re.DOTALL)
BLOCKS = MarkdownIt("commonmark")  # where headings stand is a question of blocks alone, which is a seventh of the work
BLOCKS.core.ruler.enableOnly(["normalize", "block"])
WORDS = MarkdownIt("commonmark")


def read(path: Path, document_id: str, encoding: str) -> list[Document]:
    """Raises HarnessError for bytes that are not of the encoding."""
    text = read_text(path, encoding)
    front = FRONT_MATTER.match(text)
    found = find(text, front.end() if front else 0)
    title = headings.first(found) or (_front_title(front[0]) if front else "")
    return [Document(document_id, text, headings.sections(text, found), title)]


def find(text: str, begin: int = 0) -> list[Heading]:
    """The headings of a text from a character on."""
    body = text[begin:]
    # The parser's lines end as ours do: LF, CRLF or CR.
    starts = list(accumulate(map(len, lines(body)), initial=begin))
    references: dict[str, Any] = {}
    tokens = BLOCKS.parse(body, references)
    return [
        Heading(starts[opening.map[0]], _plain(inline.content, references), int(opening.tag[1:]))
        for opening, inline in pairwise(tokens)
        if opening.type == "heading_open" and opening.level == 0 and opening.map
    ]


def _plain(content: str, references: Mapping[str, Any]) -> str:
    """A heading's words without their markup."""
    inline = WORDS.parseInline(content, dict(references))
    return " ".join("".join(_texts(inline[0].children or ())).split())


def _texts(tokens: Iterable[Token]) -> Iterable[str]:
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type != "html_inline":
            yield from _texts(token.children) if token.children else (token.content,)


def _front_title(front: str) -> str:
    """The value of the line `title:`, where it is a plain or a quoted one."""
    for line in lines(front):
        key, colon, value = line.partition(":")
        if key == "title" and colon:
            value = value.strip()
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            return value[1:-1] if quoted else value if value[:1] not in ("|", ">") else ""
    return ""
