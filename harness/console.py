"""Where and how what people see is written: streams, tables without lines, shares; all terminal modules write by it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDE = 120
LEFT = ("setting", "splitter", "document", "sections", "text", "source", "model")


def out() -> Console:
    """Standard output, made anew so that redirection holds; a file or a pipe is as wide as its lines."""
    terminal = sys.stdout.isatty()
    return Console(file=sys.stdout, highlight=False, width=None if terminal else WIDE, soft_wrap=not terminal)


def err() -> Console:
    terminal = sys.stderr.isatty()
    return Console(file=sys.stderr, highlight=False, width=None if terminal else WIDE, soft_wrap=not terminal)


def say(message: str) -> None:
    """A remark beside the result."""
    err().print(Text(message))


def percent(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.1%}"


def rate(hits: int, of: int) -> str:
    return f"{hits}/{of} {hits / of:.1%}" if of else "undefined"


def plain_table(*columns: str, left: Sequence[str] = LEFT) -> Table:
    """A table without lines; `left` are the columns of words."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:  # where it gets narrow, texts are wrapped; numbers and ids stay whole
        table.add_column(name, justify="left" if name in left else "right", no_wrap=name not in ("text", "sections"))
    return table
