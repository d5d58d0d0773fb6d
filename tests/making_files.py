"""PDF and DOCX files to test with, as small as they can be."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

ENCRYPTED = f"<< /Filter /Standard /V 1 /R 2 /P -4 /O <{'41' * 32}> /U <{'42' * 32}> >>"


def a_pdf(*pages: str, title: str = "", trailer: str = "", count: int | None = None) -> bytes:
    """A PDF of some pages with a line of text each; a page without text is empty. ASCII only."""
    kids = [4 + 2 * i for i in range(len(pages))]
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {count or len(pages)} /Kids [{' '.join(f'{k} 0 R' for k in kids)}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for kid, text in zip(kids, pages, strict=True):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else ""
        fonts = "<< /Font << /F1 3 0 R >> >>"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources {fonts} /Contents {kid + 1} 0 R >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    objects.append(f"<< /Title ({title}) >>")
    return _file(objects, f"/Root 1 0 R /Info {len(objects)} 0 R {trailer}")


def _file(objects: Sequence[str], trailer: str) -> bytes:
    data, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} {trailer} >>\nstartxref\n{len(data)}\n%%EOF\n"
    return data + end.encode()


def a_docx(*paragraphs: tuple[str, str]) -> bytes:
    """A DOCX of paragraphs, each with the name of its style (Heading 1, Title or none) and its text."""
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    styles = dict.fromkeys(style for style, _ in paragraphs if style)
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style.replace(" ", "")}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
        for style, text in paragraphs
    )
    named = "".join(
        f'<w:style w:type="paragraph" w:styleId="{s.replace(" ", "")}"><w:name w:val="{s}"/></w:style>' for s in styles
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        f'<Override PartName="/word/document.xml" ContentType="{main}.document.main+xml"/>'
        f'<Override PartName="/word/styles.xml" ContentType="{main}.styles+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r" Type="{office}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="s" Type="{office}/styles" Target="styles.xml"/></Relationships>',
        "word/document.xml": f"<w:document {word}><w:body>{body}</w:body></w:document>",
        "word/styles.xml": f"<w:styles {word}>{named}</w:styles>",
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{content}')
    return packed.getvalue()
