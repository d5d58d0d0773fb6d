"""Every kind of file becomes documents with their sections and titles; what can't be read, or is left out, is told."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import unicodedata
from importlib import metadata
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import AWKWARD, awkward_text, law
from making_files import ENCRYPTED, a_docx, a_pdf

from harness import files
from harness.corpora import READERS, headings, html, markdown, read_corpus, rst
from harness.errors import HarnessError

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path_factory):
    """A cache folder of the test's own."""
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    return files.cache_folder() / "texts"


@pytest.fixture
def folder(tmp_path):
    """Write files by their paths, as text or bytes, and say in which folder they are."""

    def write(contents):
        for name, content in contents.items():
            path = tmp_path / "docs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return tmp_path / "docs"

    return write


def faults_of(path, encoding="utf-8"):
    """Place, below the corpus, and what is wrong."""
    with pytest.raises(HarnessError) as caught:
        read_corpus(path, encoding)
    assert all(f.where and f.what and f.fix for f in caught.value.faults)
    return [(f.where.removeprefix(f"{path}/"), f.what) for f in caught.value.faults]


def parts(document):
    """A document's sections: id, heading and text."""
    return [(s.section_id, s.heading, document.text[s.span.start : s.span.end]) for s in document.sections]


MARKDOWN = """\
---
title: Of the front matter
---
Before.

# The *gate*, `code` & <b>more</b>

Text.

```
# a comment in code
```

Two lines
of one heading
---

> # quoted

- # in a list

## Text.
# 2 [link](https://example.org) &amp; ![picture](p.png)
##
"""


def test_markdown_has_a_section_for_each_heading_and_its_text_as_it_stands(folder):
    document = read_corpus(folder({"a.md": MARKDOWN}))["a.md"]
    assert document.text == MARKDOWN
    assert document.title == "The gate, code & more"
    assert parts(document) == [
        ("start", "", "---\ntitle: Of the front matter\n---\nBefore.\n\n"),
        (
            "the-gate-code-more",
            "The gate, code & more",
            "# The *gate*, `code` & <b>more</b>\n\nText.\n\n```\n# a comment in code\n```\n\n",
        ),
        (
            "two-lines-of-one-heading",
            "Two lines of one heading",
            "Two lines\nof one heading\n---\n\n> # quoted\n\n- # in a list\n\n",
        ),
        ("text", "Text.", "## Text.\n"),
        ("2-link-picture", "2 link & picture", "# 2 [link](https://example.org) &amp; ![picture](p.png)\n"),
        ("section", "", "##\n"),
    ]


@pytest.mark.parametrize(
    ("front", "title"),
    [
        ("---\ntitle: Plain, and: more\n---\n", "Plain, and: more"),
        ("---\nother: 1\ntitle: 'Quoted'\n...\n", "Quoted"),
        ('---\r\ntitle: "Quoted"\r\n---\r\n', "Quoted"),
        ("---\ntitle: >-\n  folded\n---\n", ""),
        ("---\nsubtitle: no\n---\n", ""),
        ("---\n\ntitle: after a rule\n\n---\n", ""),
        ("text\n---\ntitle: no\n---\n", ""),
    ],
)
def test_the_title_of_markdown_without_a_first_heading_is_that_of_its_front_matter(folder, front, title):
    assert read_corpus(folder({"a.markdown": f"{front}Text.\n"}))["a.markdown"].title == title


def test_front_matter_holds_no_heading(folder):
    document = read_corpus(folder({"a.md": "---\n# comment\ntitle: x\n---\n## One\n"}))["a.md"]
    assert [s.section_id for s in document.sections] == ["start", "one"]


def test_a_text_before_the_first_heading_is_a_section_only_where_there_is_something_to_see(folder):
    corpus = read_corpus(folder({"a.md": "\n \n# One\n", "b.md": "No heading.\n"}))
    assert [s.section_id for s in corpus["a.md"].sections] == ["one"]
    assert corpus["b.md"].sections == ()


RST = """\
Before.

=====
 Top
=====

One
---
Text
that is no heading
---

.. _label:

漢字
~~~~

::

    Code
    ----

One
---
ab
=

Over
====
====
"""


def test_restructured_text_has_a_section_for_each_title_and_its_text_as_it_stands(folder):
    document = read_corpus(folder({"a.rst": RST}))["a.rst"]
    assert document.text == RST
    assert document.title == "Top"
    assert parts(document) == [
        ("start", "", "Before.\n\n"),
        ("top", "Top", "=====\n Top\n=====\n\n"),
        ("one", "One", "One\n---\nText\nthat is no heading\n---\n\n.. _label:\n\n"),
        ("漢字", "漢字", "漢字\n~~~~\n\n::\n\n    Code\n    ----\n\n"),
        ("one-2", "One", "One\n---\nab\n=\n\n"),
        ("over", "Over", "Over\n====\n====\n"),
    ]
    assert [h.level for h in rst.find(RST)] == [1, 2, 3, 2, 4]


HTML = """\
<?xml version="1.0" encoding="iso-8859-1"?>
<html><head><title> Of the
 head </title><style>h1 {}</style></head><body>
<script>var a;</script><p hidden>Hidden.</p><noscript>Enable scripts.</noscript>
<p>Before&nbsp;<b>bo</b>ld.<h1>The gate<a class="headerlink" href="#gate">¶</a></h1>
<p>&amp;lt;p&gt; is a tag.<?php tail ?> Tail.</p>
<table><tr><th>Day<th>Opens at</tr><tr><td>Monday<td><p>nine,</p><p>or ten</p></tr></table>
<table><tr><td><h2>In a<br>table 😀</h2>Cell.<td>Beside.</tr></table>
<dl><dt>Term<dd>Meaning</dl>
<ul><li><h3><span style="display: none">not</span>In a list</h3><li>Item</ul>
<h2> </h2><h2>&amp;</h2>
"""


def test_html_has_the_text_that_a_reader_sees_and_a_section_for_each_heading(folder):
    document = read_corpus(folder({"a.html": HTML}))["a.html"]
    assert document.title == "Of the head"
    assert parts(document) == [
        ("start", "", "Before bold.\n\n"),
        ("the-gate", "The gate", "The gate\n\n&lt;p> is a tag. Tail.\n\nDay\tOpens at\nMonday\n\nnine,\n\nor ten\n\n"),
        ("in-a-table", "In a table 😀", "In a\ntable 😀\n\nCell.\tBeside.\nTerm\nMeaning\n\n  * "),
        ("in-a-list", "In a list", "In a list\n\n  * Item\n\n"),
        ("section", "&", "&"),
    ]


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<p>x<h2>Low</h2><h1>High</h1>", "High"),
        ("<svg><title>icon</title></svg><title>Page</title><h1>High</h1>x", "Page"),
        ("x", ""),
    ],
)
def test_the_title_of_a_page_is_its_own_else_its_first_heading_of_level_1(folder, page, title):
    assert read_corpus(folder({"a.htm": page}))["a.htm"].title == title


def test_what_a_page_says_of_its_encoding_does_not_count(folder):
    page = '<html><head><meta charset="utf-16"></head><body>Café</body></html>'
    assert read_corpus(folder({"a.html": page}))["a.html"].text == "Café"
    assert read_corpus(folder({"a.html": page.encode("cp1252")}), "cp1252")["a.html"].text == "Café"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p style='margin-top: 99999em; padding-left: 9999em'>a<p style='display: flex'>b</p>c", "a\n\nb\n\nc"),
        ("<ol><li value='²'>a<li value=7>b<li value=99999999999999999999>c</ol>", "1. a\n 7. b\n 8. c"),
        ("<table><tr><td align=right>a<td>b<tr><td> <td> <td>c</table>", "a\tb\n\t\tc"),
        ("<pre>one\r\n  two   \n</pre>", "one\n  two"),
        ("a<br><br><br><br>b", "a\n\nb"),
        ("<body style='display: none'>shown by a script</body>", "shown by a script"),
        ("a\0b", "a\ufffdb"),
        ("<h1>\x01&#2;a\x0c\ufffe</h1>\x85", "a"),
        ("&#xf0000;<h1>\U000f0001</h1>", "\U000f0000\n\n\U000f0001"),
        ("<frameset><frame src=x><noframes>no frames</noframes></frameset>", "no frames"),
        ("plain & <b", "plain &"),
    ],
)
def test_odd_pages_become_text(folder, page, text):
    assert read_corpus(folder({"a.html": page}))["a.html"].text.strip(" ") == text


def test_a_plain_text_is_kept_as_it_stands_and_has_no_sections(folder):
    text = "# no heading\r\n\tText \n"
    document = read_corpus(folder({"a.txt": b"\xef\xbb\xbf" + text.encode()}))["a.txt"]
    assert (document.text, document.sections, document.title) == (text, (), "")


def test_json_lines_of_sections_are_read_like_a_table_of_them(folder):
    rows = [
        {"document_id": "d", "section_id": 1, "heading": "Gate", "text": "Meet there.", "title": "Of d"},
        {"document_id": "e", "section_id": "s", "text": "Elsewhere.", "other": [1]},
        {"document_id": "d", "section_id": "2", "heading": None, "text": "Then go."},
    ]
    table = "document_id,section_id,heading,text,title\nd,1,Gate,Meet there.,Of d\ne,s,,Elsewhere.,\nd,2,,Then go.,\n"
    lines = read_corpus(folder({"a.jsonl": "\n".join(map(json.dumps, rows))}) / "a.jsonl")
    assert lines == read_corpus(folder({"a.csv": table}) / "a.csv")
    assert parts(lines["d"]) == [("1", "Gate", "Gate. Meet there."), ("2", "", "Then go.")]
    assert lines["d"].title == "Of d"


def test_json_lines_of_whole_documents_are_read_by_their_ids(folder):
    rows = [{"_id": "b", "text": " As it stands. ", "title": "B"}, {"id": 7, "text": "x"}, {"document_id": "a", "text": "y"}]
    corpus = read_corpus(folder({"a.jsonl": "\n".join(map(json.dumps, rows))}))
    assert [(d.document_id, d.text, d.title) for d in corpus.documents] == [
        ("7", "x", ""),
        ("a", "y", ""),
        ("b", " As it stands. ", "B"),
    ]


def test_a_pdf_has_a_section_for_each_page_that_has_text(folder):
    document = read_corpus(folder({"a.pdf": a_pdf("The gate opens.", "", "It shuts.", title="Of the gate")}))["a.pdf"]
    assert document.title == "Of the gate"
    assert parts(document) == [("page-1", "page 1", "The gate opens."), ("page-3", "page 3", "It shuts.")]


def test_a_pdf_of_another_program_is_read(tmp_path):
    from matplotlib.backends.backend_pdf import PdfPages
    from matplotlib.figure import Figure

    with PdfPages(tmp_path / "plot.pdf", metadata={"Title": "Grüße"}) as pages:
        for text in ("Ünïcode of the first page", "second"):
            figure = Figure()
            figure.text(0.1, 0.5, text)
            pages.savefig(figure)
    document = read_corpus(tmp_path)["plot.pdf"]
    assert (document.title, document.text) == ("Grüße", "Ünïcode of the first page\n\nsecond")


def test_a_docx_keeps_its_headings(folder):
    paragraphs = [
        ("Title", "Gate &amp; garden"),
        ("", "Before."),
        ("Heading 1", "One 😀"),
        ("", "&lt;b&gt;"),
        ("Heading 2", "Two"),
    ]
    document = read_corpus(folder({"a.docx": a_docx(*paragraphs)}))["a.docx"]
    assert document.title == "Gate & garden"
    assert parts(document) == [
        ("gate-garden", "Gate & garden", "Gate & garden\n\nBefore.\n\n"),
        ("one", "One 😀", "One 😀\n\n<b>\n\n"),
        ("two", "Two", "Two"),
    ]


# Laws. Blocks of which is known whether they are headings; their texts stand on one line.

WORDS = st.lists(st.sampled_from([p for p in AWKWARD if p.strip() and p.isprintable()]), min_size=1, max_size=4).map(" ".join)
LINE_END = st.sampled_from(["\n", "\r\n", "\r"])
MARKDOWN_BLOCKS = st.one_of(
    st.tuples(st.just("# {}"), WORDS),
    st.tuples(st.just("### {} ###"), WORDS),
    st.tuples(st.just("{}\n===="), WORDS),
    st.tuples(st.just("{}\n-"), WORDS),
    st.sampled_from(
        ["text", "```\n# no\n\nno\n---\n```", "> # no", "    # no", "- # no", "#no", "\\# no", "***", "<div>\n# no\n</div>"]
    ),
)
RST_BLOCKS = st.one_of(
    st.tuples(st.just("{}\n" + "=" * 400), WORDS),
    st.tuples(st.just("-" * 400 + "\n {}\n" + "-" * 400), WORDS),
    st.sampled_from(
        ["text", "::\n\n  no\n  --", "----", "two\nlines\n=====", ".. note::\n   no\n   --", "=== ===\na   b\n=== ==="]
    ),
)


def written(blocks, end):
    """A text of blocks, and of each heading where it begins and what it says."""
    text, expected = "", []
    for block in blocks:
        if isinstance(block, tuple):
            expected.append((len(text), " ".join(block[1].split())))
        text += (block[0].format(block[1]) if isinstance(block, tuple) else block).replace("\n", end) + end * 2
    return text, expected


@law
@given(blocks=st.lists(MARKDOWN_BLOCKS, max_size=8), end=LINE_END)
def test_headings_of_markdown_are_where_they_were_written(blocks, end):
    text, expected = written(blocks, end)
    assert [(h.start, h.text) for h in markdown.find(text)] == expected


@law
@given(blocks=st.lists(RST_BLOCKS, max_size=8), end=LINE_END)
def test_titles_of_restructured_text_are_where_they_were_written(blocks, end):
    text, expected = written(blocks, end)
    assert [(h.start, h.text) for h in rst.find(text)] == expected


def tiles(document):
    """Whether the sections are what stands between their beginnings, without gap or overlap, and each has its own id."""
    spans = [s.span for s in document.sections]
    return (
        all(a.end == b.start for a, b in pairwise(spans))
        and (not spans or (spans[-1].end == len(document.text) and not document.text[: spans[0].start].strip()))
        and len({s.section_id for s in document.sections}) == len(spans)
    )


@law
@given(text=st.lists(st.one_of(awkward_text, st.sampled_from(["\n# ", "\n---\n", "\n===\n", "\n\n", "\n```\n"])), max_size=12))
@pytest.mark.parametrize("suffix", [".md", ".rst", ".html"])
def test_sections_of_any_text_are_disjoint_in_order_and_the_whole_of_what_is_seen(tmp_path_factory, suffix, text):
    path = tmp_path_factory.mktemp("law") / f"a{suffix}"
    path.write_bytes("".join(text).encode())
    (document,) = READERS[suffix](path, "a", "utf-8")
    assert tiles(document)
    if suffix != ".html":
        assert document.text == "".join(text).removeprefix("\ufeff")


INLINE = st.one_of(
    st.sampled_from(
        ["word", "Ünï", "漢字", "😀", "&amp;", "&lt;", "&amp;lt;", "&nbsp;", " ", "\n", "&#8217;", "e\u0301", "<br>"]
    ),
    st.sampled_from(
        ["<b>{}</b>", "<span> {}</span>", "<q>{}</q>", "<a href=x>{}</a>", "<script>x</script>{}", "<!-- x -->{}"]
    ).map(lambda tag: tag.format("in")),
)
PAGE = st.recursive(
    INLINE | st.lists(INLINE, max_size=3).map(lambda texts: f"<h2>Hx{''.join(texts)}</h2>"),
    lambda inner: st.tuples(
        st.sampled_from(
            [
                "<div>{}</div>",
                "<ul><li>{}<li>{}</ul>",
                "<table><tr><td>{}<td>{}<tr><td>{}</table>",
                "<table><caption>{}</caption><tr><td align=right>{}</table>",
                "<pre>{}\n{}</pre>",
                "<blockquote>{}</blockquote>",
                "<section>{}{}</section>",
            ]
        ),
        st.lists(inner, min_size=3, max_size=3),
    ).map(lambda drawn: drawn[0].format(*drawn[1])),
    max_leaves=12,
)


@law
@given(pages=st.lists(PAGE, max_size=4))
def test_every_heading_of_a_page_begins_a_section_that_begins_with_it(pages):
    document = html.document("d", "".join(pages), "page")
    assert tiles(document)
    assert max(document.text, default="") < chr(html.UNUSED.start)  # every mark is gone again
    found = [s for s in document.sections if s.section_id != headings.BEFORE]
    assert len(found) == "".join(pages).count("<h2>") == document.text.count("Hx")
    for _, heading, text in parts(document)[-len(found) :] if found else ():
        assert heading.startswith("Hx")
        assert " ".join(text.split()).startswith(heading)


@law
@given(names=st.lists(st.sampled_from(["a", "a-2", "a-3", "b", "section", "start"]), max_size=12))
def test_every_name_is_given_once_and_the_first_of_each_as_it_is(names):
    unique = list(headings.each_once(names))
    assert len(set(unique)) == len(names)
    assert all(u == n or u.startswith(f"{n}-") for u, n in zip(unique, names, strict=True))
    assert unique[:1] == names[:1]


@pytest.mark.parametrize(
    ("heading", "slug"),
    [
        ("The Gate's  opening-hours!", "the-gates-opening-hours"),
        ("e\u0301te\u0301 STRAẞE", "été-straße"),
        ("हिन्दी में", "हिन्दी-में"),
        ("2.1 snake_case", "21-snake_case"),
        ("***", "section"),
        ("", "section"),
    ],
)
def test_a_headings_id_is_its_words(heading, slug):
    assert headings.slug(heading) == slug


# What can't be read.

TORN = "not a whole gzip file (Compressed file ended before the end-of-stream marker was reached)"
SPOILED = {
    "another encoding": ("a.md", b"Caf\xe9", "a.md byte 3", "0xe9 is not utf-8"),
    "another encoding, packed": ("a.md.gz", gzip.compress(b"Caf\xe9"), "a.md.gz byte 3", "0xe9 is not utf-8"),
    "torn, packed": ("a.md.gz", gzip.compress(b"text")[:-4], "a.md.gz", TORN),
    "no columns": (
        "a.csv",
        "document_id,section_id,heading\n",
        "a.csv line 1",
        "column 'text' is missing (columns: document_id, section_id, heading)",
    ),
    "a section twice": (
        "a.csv",
        "document_id,section_id,heading,text\nd,s,,x\nd,s,,y\n",
        "a.csv line 3",
        "section 's' of document 'd' stands twice",
    ),
    "no JSON": ("a.jsonl", '{"id": 1, "text": "x"}\n{"id"}', "a.jsonl line 2", "not JSON at column 6 (Expecting ':' delimiter)"),
    "a document twice": (
        "a.jsonl",
        '{"id": 1, "text": "x"}\n{"_id": "1", "text": "y"}',
        "a.jsonl line 2",
        "document '1' stands twice (first in line 1)",
    ),
    "a section among documents": (
        "a.jsonl",
        '{"document_id": "d", "section_id": "s", "text": "x"}\n{"id": 1, "text": "x"}',
        "a.jsonl line 2",
        "a whole document (it has no section_id) in a file that has 1 sections",
    ),
    "no id": ("a.jsonl", '{"text": "x"}', "a.jsonl line 1", "'document_id' is missing (keys: 'text')"),
    "an empty id": ("a.jsonl", '{"id": " ", "text": "x"}', "a.jsonl line 1", "'id' is empty"),
    "no text": ("a.jsonl", '{"id": "a", "content": "x"}', "a.jsonl line 1", "'text' is missing (keys: 'id', 'content')"),
    "a text that is none": ("a.jsonl", '{"id": "a", "text": ["x"]}', "a.jsonl line 1", "'text' is [\"x\"], no text"),
    "a title that is none": ("a.jsonl", '{"id": "a", "text": "x", "title": 1}', "a.jsonl line 1", "'title' is 1, no text"),
    "a page nested deeply": ("a.html", "<div>" * 1500 + "x", "a.html", "its tags are nested too deeply"),
    "a page nested more deeply": (
        "a.html",
        "<div>" * 5000 + "x",
        "a.html",
        "it can't be read beyond line 1 (Excessive depth in document: 2048, use XML_PARSE_HUGE option)",
    ),
    "no PDF": ("a.pdf", "text", "a.pdf", "it is torn, or no PDF: the mark that ends one is missing"),
    "a torn PDF": ("a.pdf", a_pdf("x")[:-20], "a.pdf", "it is torn, or no PDF: the mark that ends one is missing"),
    "a broken PDF": (
        "a.pdf",
        "%PDF-1.4\n%%EOF",
        "a.pdf",
        "pdfminer.six can't read it (PDFSyntaxError: No /Root object! - Is this really a PDF?)",
    ),
    "a PDF without some pages": ("a.pdf", a_pdf("x", count=7), "a.pdf", "it is torn: it has 1 of 7 pages"),
    "a PDF without the text of a page": (
        "a.pdf",
        a_pdf("x", "y").replace(b"5 0 obj", b"55 0 obj"),
        "a.pdf",
        "it is torn: the contents of page 1 are missing",
    ),
    "an encrypted PDF": ("a.pdf", a_pdf("x", trailer=f"/Encrypt {ENCRYPTED} /ID [<00><00>]"), "a.pdf", "it is encrypted"),
    "a PDF of images": (
        "a.pdf",
        a_pdf("", ""),
        "a.pdf",
        "its pages (2) have no text that can be read: they are images, or their fonts name no letters",
    ),
    "a torn DOCX": ("a.docx", a_docx(("", "x"))[:-30], "a.docx", "it is torn, or no DOCX file (File is not a zip file)"),
    "an encrypted DOCX": (
        "a.docx",
        bytes.fromhex("d0cf11e0a1b11ae1") + bytes(500),
        "a.docx",
        "it is encrypted, or in the format before DOCX",
    ),
    "a DOCX without text": ("a.docx", a_docx(("", " ")), "a.docx", "it has no text"),
}


@pytest.mark.parametrize(("name", "content", "where", "what"), SPOILED.values(), ids=SPOILED)
def test_a_spoiled_file_gives_its_one_message(folder, name, content, where, what):
    assert faults_of(folder({"good.txt": "good", name: content})) == [(where, what)]


def test_all_faults_of_all_files_come_at_once(folder):
    bad = {
        name: content
        for key in ("another encoding", "torn, packed", "no JSON", "a torn PDF")
        for name, content, *_ in [SPOILED[key]]
    }
    assert [where for where, _ in faults_of(folder({"z.md": b"\xff", **bad, "b.txt": "x", "c/b.txt": "x"}))] == [
        "a.jsonl line 2",
        "a.md byte 3",
        "a.md.gz",
        "a.pdf",
        "z.md byte 0",
    ]


# Converted texts.

LIBRARIES = {"a.pdf": ("pdfminer.six", a_pdf("text")), "a.docx": ("mammoth", a_docx(("", "text")))}


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_text_is_converted_once_and_again_when_its_entry_is_damaged(folder, cache, monkeypatch, name):
    at = folder({name: LIBRARIES[name][1]}) / name
    assert read_corpus(at)[name].text == "text"
    (entry,) = cache.iterdir()
    whole = entry.read_bytes()
    reader = READERS[Path(name).suffix]
    conversion = sys.modules[reader.__module__].CONVERSION
    with monkeypatch.context() as patched:
        patched.setattr(type(conversion), "_converted", None)  # whoever calls it fails
        assert read_corpus(at)[name].text == "text"
    for damaged in (
        b"",
        whole[:-3],
        whole.replace(b"text<", b"TEXT<").replace(b"text\\n", b"TEXT\\n"),
        b"[]",
        b'{"texts": 1}',
        b"\xff",
    ):
        entry.write_bytes(damaged)
        assert damaged != whole
        assert read_corpus(at)[name].text == "text"
        assert entry.read_bytes() == whole
    assert list(cache.iterdir()) == [entry]


def test_another_version_of_the_library_converts_anew(folder, cache, monkeypatch):
    at = folder({"a.pdf": a_pdf("text")})
    read_corpus(at)
    monkeypatch.setattr(metadata, "version", lambda name: "another")
    read_corpus(at)
    assert len(list(cache.iterdir())) == 2


def test_a_cache_that_can_not_be_written_to_is_done_without(folder, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "file"))
    assert read_corpus(folder({"a.pdf": a_pdf("text")}))["a.pdf"].text == "text"


def test_a_library_that_is_not_installed_is_one_fault_that_names_the_extra(folder, monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(HarnessError) as caught:
        read_corpus(folder({"a.pdf": a_pdf("x"), "b.pdf": a_pdf("y"), "c.txt": "z"}))
    (fault,) = caught.value.faults
    assert str(fault) == ".pdf files: pdfminer.six, which reads them, is not installed; pip install 'chunking-harness[documents]'"


def test_no_library_of_the_extra_is_imported_before_it_is_needed():
    code = "import sys, harness.corpora; print([m for m in ('pdfminer', 'mammoth') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT).stdout == "[]\n"


# Files and folders.


def test_the_page_on_corpora_has_a_row_for_every_kind_of_file():
    page = (ROOT / "docs" / "corpora.md").read_text("utf-8")
    first_cells = re.findall(r"^\| (`\..*?) \|", page, re.MULTILINE)
    assert sorted(re.findall(r"`(\.\w+)`", " ".join(first_cells))) == sorted(READERS)


def test_the_tables_on_the_page_on_corpora_are_read(folder):
    page = (ROOT / "docs" / "corpora.md").read_text("utf-8")
    (table,) = re.findall(r"```csv\n(.*?)```", page, re.DOTALL)
    sections, whole = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    corpus = read_corpus(folder({"a.csv": table}))
    assert [i for i, _, _ in parts(corpus["guide"])] == ["G01", "G02"]
    assert read_corpus(folder({"b.jsonl": sections}) / "b.jsonl")["guide"].text == "Opening hours. We open at nine."
    assert read_corpus(folder({"c.jsonl": whole}) / "c.jsonl")["guide"].title == "For guests"


def test_a_documents_id_is_its_path_below_the_folder_and_hidden_files_are_left_out(folder):
    at = folder({"b.TXT": "x", "sub/a.md.gz": gzip.compress(b"x"), "x.md/y.md": "x", ".git/a.md": "x", "sub/.a.md": "x"})
    assert [d.document_id for d in read_corpus(at).documents] == ["b.TXT", "sub/a.md", "x.md/y.md"]
    assert [d.document_id for d in read_corpus(at / "sub" / "a.md.gz").documents] == ["a.md"]


@pytest.mark.parametrize(
    ("pattern", "ids"),
    [
        ("*.md", ["a.md"]),
        ("**/*.md", ["a.md", "sub/b.md", "sub/deep/c.md"]),
        ("sub/*/*.md", ["deep/c.md"]),
        ("sub/**", ["b.md", "deep/c.md"]),
        ("[ab].*", ["a.md"]),
        (".hidden/*.md", ["d.md"]),
        ("**/.hidden/*.md", [".hidden/d.md"]),
    ],
)
def test_a_globs_ids_are_the_paths_below_its_first_wildcard(folder, pattern, ids):
    at = folder({"a.md": "x", "sub/b.md": "x", "sub/deep/c.md": "x", ".hidden/d.md": "x"})
    assert [d.document_id for d in read_corpus(at / pattern).documents] == ids


def test_a_path_that_exists_is_taken_literally_whatever_is_in_its_name(folder):
    at = folder({"docs[1]/a[b].md": "x", "docs1/ab.md": "y"})
    for pattern in ("docs[1]", "docs[1]/a[b].md", "docs[1]/*.md"):
        assert [d.document_id for d in read_corpus(at / pattern).documents] == ["a[b].md"]


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("nowhere", "no such file"),
        ("a.png", "'.png' is no kind of file that a corpus can be read from"),
        ("pictures", "; it has 1 file of another kind"),
        ("a.*", "; it has 1 file of another kind"),
        ("empty", "no file of a kind that can be read (.csv, .docx, .htm, .html, .jsonl, .markdown, .md, .pdf, .rst, .txt)"),
        ("*.nothing", "no file of a kind that can be read"),
        ("**.md", "not a glob ("),
        ("a" * 300, "can't be read (File name too long)"),
        ("a\0b", "can't be read (embedded null byte)"),
    ],
)
def test_a_path_without_documents_is_refused(folder, path, what):
    at = folder({"a.png": "x", "pictures/b.png": "x", "empty/.hidden": "x"})
    ((_, found),) = faults_of(at / path)
    assert what in found


def test_links_to_files_are_read_and_those_that_lead_nowhere_or_to_themselves_are_told(folder, tmp_path):
    at = folder({"a.md": "x"})
    (tmp_path / "elsewhere.md").write_text("y", "utf-8")
    (at / "b.md").symlink_to(tmp_path / "elsewhere.md")
    assert [d.text for d in read_corpus(at).documents] == ["x", "y"]
    (at / "c.md").symlink_to("nothing.md")
    (at / "d.md").symlink_to("d.md")
    assert faults_of(at) == [
        ("c.md", "a link that leads nowhere (nothing.md)"),
        ("d.md", "can't be read (Too many levels of symbolic links)"),
    ]


@pytest.mark.parametrize("pattern", ["", "**/*"])
def test_linked_folders_are_not_followed_so_that_a_loop_is_no_matter(folder, pattern):
    at = folder({"a.md": "x", "sub/b.md": "y"})
    (at / "sub" / "loop").symlink_to(at, target_is_directory=True)
    corpus = read_corpus(at / pattern if pattern else at)
    assert [d.document_id for d in corpus.documents] == ["a.md", "sub/b.md"]
    assert [r.what for r in corpus.remarks] == ([] if pattern else ["1 linked folder was left out (sub/loop)"])


def test_a_linked_folder_that_the_user_names_is_read(folder, tmp_path):
    (tmp_path / "linked").symlink_to(folder({"a.md": "x"}), target_is_directory=True)
    assert [d.document_id for d in read_corpus(tmp_path / "linked").documents] == ["a.md"]


def test_a_folder_that_can_not_be_read_is_told(folder, monkeypatch):
    at = folder({"a.md": "x", "closed/b.md": "x"})
    scan = os.scandir

    def refuse(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert faults_of(at) == [("closed", "the folder can't be read (Permission denied)")]


def test_pipes_are_passed_over(folder):
    at = folder({"a.md": "x"})
    os.mkfifo(at / "pipe.md")
    assert len(read_corpus(at).documents) == 1


@pytest.mark.parametrize(
    "contents",
    [
        {"a.md": "x", "a.md.gz": gzip.compress(b"y")},
        {"a.jsonl": '{"id": "a.md", "text": "x"}', "a.md": "x"},
        {unicodedata.normalize(form, "é.md"): "x" for form in ("NFC", "NFD")},
    ],
    ids=["packed and not", "table and file", "composed and not"],
)
def test_a_document_that_stands_in_two_files_is_told_with_both(folder, contents):
    at = folder(contents)
    ((where, what),) = faults_of(at)
    name = unicodedata.normalize("NFC", sorted(contents)[-1].removesuffix(".gz"))
    named = ", ".join(str(at / n) for n in sorted(contents))
    assert (where, what) == (str(at), f"document '{name}' stands in 2 files ({named})")


def test_a_name_that_is_composed_otherwise_is_the_same_name(folder):
    at = folder({unicodedata.normalize("NFD", "é.md"): "x"})
    assert [d.document_id for d in read_corpus(at).documents] == ["\u00e9.md"]


def test_a_name_that_is_no_text_is_told(folder):
    at = folder({"a.md": "x"})
    Path(os.fsdecode(os.fsencode(at) + b"/\xff.md")).write_text("x", "utf-8")
    assert faults_of(at) == [(r"\udcff.md", "the file's name is not UTF-8")]


def test_what_is_left_out_is_told_in_words_that_fit_its_number(folder):
    at = folder({"a.md": "x", "b.md": " \n", "c.png": "x"})
    assert [str(r) for r in read_corpus(at).remarks] == [
        f"{at}: 1 file of another kind was left out (1 .png); convert what belongs to the corpus",
        f"{at}: 1 file without text was left out (b.md); fill or delete what is empty",
    ]
    rows = '{"id": "full", "text": "x"}\n{"id": "a", "text": ""}\n{"id": "b", "text": " "}'
    folder({"d": "x", "e.png": "x", "f.tar.gz": "x", "sub/g.csv": "document_id,section_id,heading,text\n", "h.jsonl": rows})
    assert [r.what for r in read_corpus(at).remarks] == [
        "4 files of other kinds were left out (2 .png, 1 no suffix, 1 .tar)",
        "2 files without text were left out (b.md, sub/g.csv)",
        "2 documents without text were left out (a, b)",
    ]
    folder({f"{i}.txt": "" for i in range(9)})
    assert "11 files without text were left out (0.txt, 1.txt, 2.txt, 3.txt, 4.txt, …)" in [
        r.what for r in read_corpus(at).remarks
    ]


def test_a_corpus_of_nothing_but_empty_files_is_refused(folder):
    assert [what for _, what in faults_of(folder({"a.md": "", "b.txt": "\n"}))] == ["the corpus is empty"]


def test_a_corpus_of_many_files_takes_less_than_three_times_its_size_to_load_and_label():
    command = [sys.executable, "benchmarks/corpus_memory.py", "--megabytes", "12", "--files", "200", "--questions", "10"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    ratios = [float(ratio) for ratio in re.findall(r"([0-9.]+) times the text", shown)]
    assert len(ratios) == 2
    assert max(ratios) < 3, shown


@pytest.mark.parametrize("inner", ["{}", "<code>{}</code>", '<code class="py"><span class="k">{}</span></code>'])
def test_code_of_a_page_keeps_its_lines_however_it_is_marked_up(tmp_path, inner):
    code = "def f():\n    return 1\n\nx = 2"
    (tmp_path / "page.html").write_text(f"<h1>Code</h1><pre>{inner.format(code)}</pre><p>Done.</p>", "utf-8")
    assert code in read_corpus(tmp_path)["page.html"].text
