"""PDF: the text of its pages (by pdfminer.six), a section a page, its title from the document's properties.

Needs the extra `documents`. Pages without text are left out; a file that has none at all is refused.
"""

from __future__ import annotations

import io
import logging
import re
from pathlib import Path

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
    from pdfminer.converter import PDFPageAggregator
    from pdfminer.layout import LAParams, LTTextContainer
    from pdfminer.pdfdocument import PDFDocument, PDFPasswordIncorrect
    from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager
    from pdfminer.pdfpage import PDFPage
    from pdfminer.pdfparser import PDFParser

    if b"%%EOF" not in data:
        raise Unconvertible("it is torn: the mark at the end of every PDF is missing", "copy it again")
    logging.getLogger("pdfminer").setLevel(logging.ERROR)  # it warns of every oddity of a font
    try:
        document = PDFDocument(PDFParser(io.BytesIO(data)))
    except PDFPasswordIncorrect:
        raise Unconvertible("it is encrypted", "save it without a password") from None
    resources = PDFResourceManager()
    layout = PDFPageAggregator(resources, laparams=LAParams())
    interpreter = PDFPageInterpreter(resources, layout)
    pages = []
    for page in PDFPage.create_pages(document):
        interpreter.process_page(page)
        pages.append("".join(part.get_text() for part in layout.get_result() if isinstance(part, LTTextContainer)))
    if not any(UNKNOWN_LETTER.sub("", page).strip() for page in pages):
        what = f"its {len(pages)} pages have no text that can be read: they are images, or their fonts name no letters"
        raise Unconvertible(what, "give it a text layer with an OCR program")
    return [_title(document.info), *pages]


def _title(properties: list[dict[str, object]]) -> str:
    from pdfminer.pdftypes import resolve1
    from pdfminer.utils import decode_text

    for found in (resolve1(p.get("Title")) for p in properties):
        if isinstance(found, bytes | str) and (title := " ".join(decode_text(found).split())):
            return title
    return ""


CONVERSION = Conversion(".pdf", "pdfminer.six", 1, _convert)
