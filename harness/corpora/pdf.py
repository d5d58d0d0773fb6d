"""PDF: the text of its pages (by pdfminer.six), a section a page, its title from the document's properties.

Needs the extra `documents`. Pages without text are left out; a file that has none at all is refused.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.corpora.converted import Conversion, Unconvertible
from harness.corpora.sections import joined
from harness.records import Document

UNKNOWN_LETTER = re.compile(r"\(cid:\d+\)")  # what pdfminer writes for a letter whose font does not say which it is


def read(path: Path, document_id: str, encoding: str) -> list[Document]:
    """The encoding does not matter. Raises HarnessError for a file that is encrypted, torn or has no text."""
    title, *pages = CONVERSION.texts(path)
    numbered = [(f"page-{n}", f"page {n}", page.strip()) for n, page in enumerate(pages, 1) if page.strip()]
    return [joined(document_id, numbered, title)]


def _convert(data: bytes) -> list[str]:
    """The title, then the text of every page."""
    from pdfminer.pdfdocument import PDFDocument, PDFPasswordIncorrect
    from pdfminer.pdfparser import PDFParser

    if b"%%EOF" not in data:
        raise Unconvertible("it is torn, or no PDF: the mark that ends one is missing", "copy it again")
    logging.getLogger("pdfminer").setLevel(logging.ERROR)  # it warns of every oddity of a font
    try:
        document = PDFDocument(PDFParser(io.BytesIO(data)))
    except PDFPasswordIncorrect:
        raise Unconvertible("it is encrypted", "save it without a password") from None
    pages = list(_pages(document))
    if not any(UNKNOWN_LETTER.sub("", page).strip() for page in pages):
        what = f"its pages ({len(pages)}) have no text that can be read: they are images, or their fonts name no letters"
        raise Unconvertible(what, "give it a text layer with an OCR program")
    return [_title(document.info), *pages]


def _pages(document: Any) -> Iterator[str]:
    """The text of every page; pdfminer passes over pages that are not there, and contents too."""
    from pdfminer.converter import PDFPageAggregator
    from pdfminer.layout import LAParams, LTTextContainer
    from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager
    from pdfminer.pdfpage import PDFPage
    from pdfminer.pdftypes import resolve1

    resources = PDFResourceManager()
    layout = PDFPageAggregator(resources, laparams=LAParams())
    interpreter = PDFPageInterpreter(resources, layout)
    number = 0
    for number, page in enumerate(PDFPage.create_pages(document), 1):
        if page.attrs.get("Contents") is not None and any(resolve1(c) is None for c in page.contents):
            raise Unconvertible(f"it is torn: the contents of page {number} are missing", "copy it again")
        interpreter.process_page(page)
        yield "".join(part.get_text() for part in layout.get_result() if isinstance(part, LTTextContainer))
    said = resolve1((resolve1(document.catalog.get("Pages")) or {}).get("Count"))
    if isinstance(said, int) and number < said:
        raise Unconvertible(f"it is torn: it has {number} of {said} pages", "copy it again")


def _title(properties: list[dict[str, object]]) -> str:
    from pdfminer.pdftypes import resolve1
    from pdfminer.utils import decode_text

    for found in (resolve1(p.get("Title")) for p in properties):
        if isinstance(found, bytes | str) and (title := " ".join(decode_text(found).split())):
            return title
    return ""


CONVERSION = Conversion(".pdf", "pdfminer.six", 1, _convert)
