"""HTML: the text that a reader sees (by inscriptis), its sections by h1 to h6, its title from <title>, else the first h1.

Rows of a table are lines and its cells are set apart by tabs, so that the text of a cell stays together. Where headings come
to stand is marked before the text is laid out and read off the marks: inscriptis' own annotations are off behind tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from inscriptis.css_profiles import CSS_PROFILES
from inscriptis.html_engine import Inscriptis
from inscriptis.html_properties import Display
from inscriptis.model.config import ParserConfig
from inscriptis.model.html_element import HtmlElement
from inscriptis.model.tag import CustomHtmlTagHandlerMapping
from lxml import etree
from lxml.html import HTMLParser, document_fromstring

from harness.corpora import headings
from harness.corpora.headings import Heading
from harness.errors import Fault, HarnessError
from harness.files import read_text
from harness.records import Document

Tree = Any  # an element of lxml, which has no types

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
CELLS = ("td", "th")
UNSEEN = ("head", "link", "meta", "noscript", "script", "style", "template", "title")
BLOCKS = ("caption", "dd", "details", "dl", "dt", "fieldset", "form", "hr", "legend", "option", "section", "summary", "tr")
INLINE = ("a", "b", "code", "em", "i", "kbd", "mark", "samp", "span", "strong", "tt", "u", "var")
DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
UNUSED = range(0xF0000, 0xFFFFE)  # Unicode leaves them to whoever wants to mark something
FIRST, LAST = re.compile(r"\S"), re.compile(r"\S(?=\s*\Z)")
NUMBER = re.compile(r"[0-9]{1,9}")  # what inscriptis can read as a list item's
AMPERSAND = re.compile("&")
CONTROL = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
FLAT = dict.fromkeys(("table", "tr", *CELLS))  # instead of handlers that set cells side by side, line by line
CONFIG = ParserConfig(
    css={
        **CSS_PROFILES["strict"],
        **{tag: HtmlElement(display=Display.block) for tag in BLOCKS},
        "table": HtmlElement(display=Display.block, margin_before=1),
    },
    custom_html_tag_handler_mapping=CustomHtmlTagHandlerMapping(FLAT, FLAT),
)


def read(path: Path, document_id: str, encoding: str) -> list[Document]:
    """What the page says of its own encoding does not count. Raises HarnessError for a page that can't be read to its end."""
    return [document(document_id, read_text(path, encoding), str(path))]


def document(document_id: str, page: str, where: str) -> Document:
    """A page's text with its sections."""
    tree = _tree(page, where)
    if tree is None:
        return Document(document_id, "")
    title = " ".join(("".join(tree.xpath("//title[not(ancestor::svg)][1]/text()"))).split())
    _drop_unseen(tree)
    try:
        text, found = _laid_out(tree)
    except RecursionError:
        raise HarnessError(_unreadable(where, "its tags are nested too deeply")) from None
    return Document(document_id, text, headings.sections(text, found), title or headings.first(found))


def _tree(page: str, where: str) -> Tree | None:
    """The page's elements; None when it has none. The parser stops at what is too much for it and says so in its log only."""
    parser = HTMLParser(huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        tree = document_fromstring(DECLARATION.sub("", page), parser=parser)
    except etree.ParserError:
        tree = None
    if fatal := parser.error_log.filter_from_fatals():
        raise HarnessError(_unreadable(where, f"it can't be read beyond line {fatal[0].line} ({fatal[0].message})"))
    return tree


def _unreadable(where: str, what: str) -> Fault:
    return Fault(where, what, "simplify the page, or convert it to Markdown")


def _drop_unseen(tree: Tree) -> None:
    """Take out what a reader does not see, and attributes that would move text about."""
    etree.strip_elements(tree, *UNSEEN, with_tail=False)
    _replace(tree, CONTROL, "")  # which lxml reads but does not let itself be given
    for element in tree.xpath("//*[@hidden or @style or @align or @valign or @value]"):
        hidden = "hidden" in element.attrib or HIDDEN.search(element.get("style", ""))
        if hidden and element.tag not in ("html", "body"):
            element.drop_tree()
        for name in ("style", "align", "valign"):
            element.attrib.pop(name, None)
        if not NUMBER.fullmatch(element.get("value", "")):
            element.attrib.pop("value", None)
    for inline in tree.xpath(f"//pre//*[{' or '.join(f'self::{tag}' for tag in INLINE)}]"):
        inline.drop_tag()  # in which inscriptis would lose the line breaks of code
    for link in tree.xpath("//a[starts-with(@href, '#')]"):
        if link.getparent().tag in HEADINGS and not any(c.isalnum() for c in link.text_content()):
            link.drop_tree()  # the mark by which a page offers a link to its heading


def _laid_out(tree: Tree) -> tuple[str, list[Heading]]:
    """The text and its headings; the first and the last letter of each is a mark while the text is laid out."""
    letters = set("".join(tree.itertext()))
    mark, cell = islice((c for c in map(chr, UNUSED) if c not in letters), 2)
    outermost = [h for h in tree.iter(*HEADINGS) if next(h.iterancestors(*HEADINGS), None) is None]
    marked = [(int(h.tag[1]), kept) for h in outermost if (kept := _marked(h, mark))]
    _set_cells_apart(tree, cell)
    _replace(tree, AMPERSAND, "&amp;")  # inscriptis resolves entities once more: `&amp;lt;` is to be read as `&lt;`
    text = re.sub(f"(?:(?<![ \t])[ \t]+)?{cell}[ \t]*", "\t", Inscriptis(tree, CONFIG).get_text())
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    text = re.sub("\n{3,}", "\n\n", text).strip("\n")
    return _restored(text, mark, marked)


def _restored(text: str, mark: str, marked: list[tuple[int, str]]) -> tuple[str, list[Heading]]:
    """The text with its letters again, and its headings by where their marks stood, for the layout keeps all in order."""
    places = (match.start() for match in re.finditer(mark, text))
    spans = [(level, [next(places) for _ in kept]) for level, kept in marked]
    letters = "".join(kept for _, kept in marked)
    text = "".join(part + letter for part, letter in zip_longest(text.split(mark), letters, fillvalue=""))
    return text, [Heading(at[0], " ".join(text[at[0] : at[-1] + 1].split()), level) for level, at in spans]


def _marked(heading: Tree, mark: str) -> str:
    """The first and the last letter that there is to see of a heading, in whose place is the mark from now on."""
    texts = [(e, name) for e, name in _texts(heading) if (getattr(e, name) or "").strip()]
    kept = ""
    for (element, name), place in zip([*texts[:1], *texts[-1:]], (FIRST, LAST), strict=False):
        text = getattr(element, name)
        if (letter := place.search(text)) and letter[0] != mark:
            kept += letter[0]
            setattr(element, name, text[: letter.start()] + mark + text[letter.end() :])
    return kept


def _texts(element: Tree) -> Iterator[tuple[Tree, str]]:
    """The pieces of text within an element, in order, each as an element and the name of its attribute."""
    for event, inner in etree.iterwalk(element, events=("start", "end")):
        if event == "start":
            yield inner, "text"
        elif inner is not element:
            yield inner, "tail"


def _set_cells_apart(tree: Tree, mark: str) -> None:
    for cell in tree.iter(*CELLS):
        before = cell.getprevious()
        if before is not None and before.tag in CELLS:
            cell.text = f"{mark} {cell.text or ''}"


def _replace(tree: Tree, pattern: re.Pattern[str], by: str) -> None:
    """Replace in all texts of a tree."""
    for element in tree.iter():
        for name in ("text", "tail"):
            if pattern.search(text := getattr(element, name) or ""):
                setattr(element, name, pattern.sub(by, text))
