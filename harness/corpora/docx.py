"""DOCX: converted to HTML (by mammoth) and read as such, headings kept. Needs the extra `documents`.

The style Title counts as a heading of level 1. Images, headers and footers are left out.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from harness.corpora import html
from harness.corpora.converted import Conversion, Unconvertible
from harness.errors import Fault, HarnessError
from harness.files import MOST_UNPACKED
from harness.records import Document

OLD_OFFICE = bytes.fromhex("d0cf11e0a1b11ae1")  # begins .doc files, and encrypted .docx files
STYLES = "p[style-name='Title'] => h1:fresh"


def read(path: Path, document_id: str, encoding: str) -> list[Document]:
    """The encoding does not matter. Raises HarnessError for a file that is encrypted, torn or has no text."""
    (page,) = CONVERSION.texts(path)
    found = html.document(document_id, page, str(path))
    if not found.text.strip():
        raise HarnessError(Fault(str(path), "it has no text", "delete it, or give its images a text with an OCR program"))
    return [found]


def _convert(data: bytes) -> list[str]:
    """The text as one HTML page."""
    import mammoth

    if data.startswith(OLD_OFFICE):
        raise Unconvertible("it is encrypted, or in the format before DOCX", "save it as DOCX without a password")
    try:
        unpacked = sum(entry.file_size for entry in zipfile.ZipFile(io.BytesIO(data)).infolist())
    except zipfile.BadZipFile as error:
        raise Unconvertible(f"it is torn, or no DOCX file ({error})", "copy it again") from error
    if unpacked > MOST_UNPACKED:
        raise Unconvertible(f"it unpacks to more than {MOST_UNPACKED // 2**20:,} MiB", "split it, or leave out its images")
    no_image = mammoth.images.img_element(lambda image: {})
    return [mammoth.convert_to_html(io.BytesIO(data), style_map=STYLES, convert_image=no_image).value]


CONVERSION = Conversion(".docx", "mammoth", 1, _convert)
