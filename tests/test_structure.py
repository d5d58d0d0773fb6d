"""Structure keeps what belongs together: headings with their text, paragraphs, list items, tables and code whole."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import awkward_text, law

from harness.corpora import headings, html, markdown, rst
from harness.corpora.sections import joined
from harness.records import Corpus, Document, Point, Section, Span
from harness.splitters import SPLITTERS, chunk
from harness.splitters.blocks import HEADING, WHOLE, find
from harness.splitters.structure import Structure, StructureOptions
from harness.tokenizers import MODEL_TOKENS, Ruler

TABLE = "| Day | Boats |\n| --- | --- |\n| Monday | 4 |\n| Sunday | none |"
CODE = "```python\nboats = 4\n\nfor boat in range(boats):\n    sail(boat)\n```"


def page(text):
    """A Markdown document with the sections that reading it as a corpus would find."""
    return Document("page.md", text, headings.sections(text, markdown.find(text)))


def rst_page(text):
    return Document("page.rst", text, headings.sections(text, rst.find(text)))


def text_of(document, size, ratio=0.0, unit="words", **options):
    """The texts of the chunks of one document."""
    corpus = Corpus((document,))
    configured = {"structure": Structure(StructureOptions(**options))}
    return chunk(corpus, Point("structure", size, ratio), Ruler(corpus, unit), configured).texts()


def kinds(document, how="auto"):
    """The outermost blocks with their kind."""
    found, at, kept = find(document, how), 0, []
    while at < len(found.start):
        kept.append(("text", "heading", "whole")[found.kind[at]] + ": " + document.text[found.start[at] : found.end[at]])
        at = int(found.after[at])
    return kept


# Headings and merging


def test_small_neighbours_are_merged_under_one_heading_and_never_with_the_next_heading():
    document = page("# Ferry\n\nBoats run daily.\n\nNot in ice.\n\n# Mill\n\nIt grinds.\n")
    assert text_of(document, 50) == ["# Ferry\n\nBoats run daily.\n\nNot in ice.", "# Mill\n\nIt grinds."]


def test_neighbours_are_merged_only_as_long_as_they_fit():
    document = page("# Ferry\n\nOne two three.\n\nFour five.\n\nSix seven.\n\nEight.\n")
    assert text_of(document, 5) == ["# Ferry\n\nOne two three.", "Four five.\n\nSix seven.\n\nEight."]


def test_a_heading_goes_with_the_block_that_follows_it():
    document = page("Before.\n\n# Ferry\n\nOne two three.\n\nFour.\n")
    assert text_of(document, 5) == ["Before.", "# Ferry\n\nOne two three.", "Four."]


def test_a_heading_is_alone_only_where_what_follows_does_not_fit_with_it():
    document = page("# The old ferry\n\nOne two three.\n")
    assert text_of(document, 6) == ["# The old ferry", "One two three."]
    assert text_of(document, 7) == ["# The old ferry\n\nOne two three."]


def test_of_several_headings_the_last_goes_with_the_block_where_all_do_not_fit():
    text = "# The ferry\n\n## Its times\n\nOne two three.\n"
    without_sections = Document("page.md", text)
    assert text_of(without_sections, 6) == ["# The ferry", "## Its times\n\nOne two three."]
    assert text_of(without_sections, 9) == [text.strip()]


def test_without_sections_the_headings_of_markdown_divide_all_the_same():
    text = "Before.\n\n# Ferry\n\nOne.\n\nMill\n----\n\nTwo.\n"
    assert text_of(Document("page.md", text), 50) == ["Before.", "# Ferry\n\nOne.", "Mill\n----\n\nTwo."]


def test_a_heading_within_a_list_or_a_quote_divides_nothing():
    text = "One.\n\n- # Two\n\n> # Three\n\nFour.\n"
    assert text_of(Document("page.md", text), 50) == [text.strip()]


def test_a_heading_is_cut_like_text_when_it_is_above_the_size_itself():
    document = Document("page.md", f"one two three four\n===\n\nfive six seven eight\n\n{TABLE}\n")
    assert text_of(document, 3) == ["one two three", "four\n===", "five six seven", "eight", TABLE]


def test_the_border_of_a_section_is_never_crossed_wherever_it_stands():
    text = "One two. Three four."
    borders = (Section("a", "A", Span(0, 8)), Section("b", "B", Span(9, 20)))
    assert text_of(Document("d", text, borders), 50) == ["One two.", "Three four."]


def test_front_matter_is_text_of_its_own():
    text = "---\ntitle: Ferry\n---\nOne.\n"
    assert kinds(Document("page.md", text)) == ["text: ---\ntitle: Ferry\n---", "text: One."]


# Paragraphs, list items, tables and code


def test_a_paragraph_that_fits_is_never_cut():
    document = page("One two. Three four.\n\nFive six. Seven\neight.\n")
    assert text_of(document, 4) == ["One two. Three four.", "Five six. Seven\neight."]


def test_a_paragraph_above_the_size_falls_back_to_sentences_and_a_sentence_to_windows():
    document = page("One two. Three four. Five six seven eight nine.\n\nTen.\n")
    assert text_of(document, 4) == ["One two. Three four.", "Five six seven eight", "nine.", "Ten."]


def test_a_heading_begins_the_first_piece_of_a_paragraph_that_is_cut():
    document = page("# Ferry\n\nOne two. Three four. Five six.\n")
    assert text_of(document, 4) == ["# Ferry\n\nOne two.", "Three four. Five six."]


def test_a_heading_begins_the_first_window_of_a_sentence_that_is_cut():
    document = page("# Ferry\n\nOne two three four five six.\n")
    assert text_of(document, 4) == ["# Ferry\n\nOne two", "three four five six."]


def test_a_sentence_that_fits_is_not_cut_for_its_heading():
    document = page("# The ferry\n\nOne two three. Four five.\n")
    assert text_of(document, 4) == ["# The ferry", "One two three.", "Four five."]


def test_overlap_is_between_the_pieces_of_a_paragraph_and_not_between_blocks():
    document = page("One two. Three four. Five six.\n\nSeven eight.\n\nNine ten eleven twelve.\n")
    assert text_of(document, 4, 0.5) == [
        "One two. Three four.",
        "Three four. Five six.",
        "Seven eight.",
        "Nine ten eleven twelve.",
    ]


def test_list_items_stay_whole_with_what_is_inside_them():
    document = page("Pack:\n\n1. a lamp\n2. food\n   - bread\n   - cheese\n3. rope\n")
    assert text_of(document, 7) == ["Pack:\n\n1. a lamp", "2. food\n   - bread\n   - cheese", "3. rope"]


def test_a_heading_inside_a_list_item_goes_with_what_follows_it_where_the_item_is_above_the_size():
    document = Document("page.md", "- one two three\n\n  # Four\n\n  five six\n")
    assert text_of(document, 4) == ["- one two three", "# Four\n\n  five six"]


def test_a_list_item_above_the_size_gives_way_to_the_blocks_inside_it():
    document = page("- Start it so:\n\n  ```\n  larc go\n  ```\n\n  One two. Three four. Five six.\n- stop\n")
    assert text_of(document, 4) == ["- Start it so:", "```\n  larc go\n  ```", "One two. Three four.", "Five six.", "- stop"]


def test_a_table_above_the_size_is_kept_whole():
    document = page(f"One two.\n\n{TABLE}\n\nThree.\n")
    assert text_of(document, 5) == ["One two.", TABLE, "Three."]


def test_code_above_the_size_is_kept_whole_blank_lines_included():
    document = page(f"One two.\n\n{CODE}\n\nThree.\n\n    indented = 1\n\n    code = [2, 3, 4]\n")
    assert text_of(document, 3) == ["One two.", CODE, "Three.", "indented = 1\n\n    code = [2, 3, 4]"]


def test_a_table_above_the_size_is_kept_with_its_heading():
    assert text_of(page(f"# Boats\n\n{TABLE}\n\nThree.\n"), 5) == [f"# Boats\n\n{TABLE}", "Three."]


def test_tables_and_code_above_the_size_are_cut_between_lines_where_that_is_asked_for():
    document = page(f"{TABLE}\n")
    assert text_of(document, 11, split_tables=True) == [
        "| Day | Boats |\n| --- | --- |",
        "| Monday | 4 |\n| Sunday | none |",
    ]
    assert text_of(document, 50, split_tables=True) == [TABLE]
    assert (Structure().oversize, Structure(StructureOptions(split_tables=True)).oversize) == (True, False)


def test_a_table_and_preformatted_text_in_html_stay_whole():
    text = "<table>\n<tr><td>one two three</td></tr>\n</table>\n\n<pre>\none\n\n\ntwo three four\n</pre>\n\n<div>\nfive\n</div>\n"
    assert [k.partition(":")[0] for k in kinds(page(text))] == ["whole", "whole", "text"]


def test_a_fence_that_is_never_closed_is_code_to_the_end_as_in_markdown():
    assert kinds(page("One.\n\n```\ntwo\n\nthree\n")) == ["text: One.", "whole: ```\ntwo\n\nthree"]


def test_what_the_parser_passes_over_is_text():
    assert kinds(page("One.\n\n[ferry]: https://ferry.example\n\nTwo.\n")) == [
        "text: One.",
        "text: [ferry]: https://ferry.example",
        "text: Two.",
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_make_no_difference(end):
    text = f"# Ferry\n\nOne two.\n\n{TABLE}\n\n{CODE}\n\n- three\n- four\n".replace("\n", end)
    assert [k.partition(":")[0] for k in kinds(page(text))] == ["heading", "text", "whole", "whole", "text", "text"]
    assert text_of(page(text), 4)[-1] == f"- three{end}- four"


# Text that is not Markdown


def test_the_suffix_of_the_id_says_whether_text_is_markdown():
    text = "# one\n\n    two\n"
    assert kinds(Document("a/b.MD", text)) == kinds(Document("b.markdown.gz", text)) == ["heading: # one", "whole: two"]
    assert kinds(Document("b.txt", text)) == kinds(Document("b", text)) == ["text: # one", "text: two"]


def test_how_blocks_are_found_can_be_said():
    document = Document("b.txt", "# one\n\n    two\n")
    assert kinds(document, "markdown") == ["heading: # one", "whole: two"]
    assert text_of(document, 50, blocks="markdown") == ["# one\n\n    two"]
    assert text_of(Document("b.txt", "zero\n\n# one\n"), 50, blocks="markdown") == ["zero", "# one"]


def test_paragraphs_of_plain_text_end_at_blank_lines_and_wrapped_lines_stay_together():
    text = "One two\nthree.\n \t\n    Four five.\n\n\n\nSix.\n"
    assert kinds(Document("b.txt", text)) == ["text: One two\nthree.", "text: Four five.", "text: Six."]


def test_underlines_and_quotes_of_plain_text_are_text():
    text = "One\n---\nTwo\n===\n> three\n* * *\n"
    assert text_of(Document("b.txt", text), 50) == [text.strip()]


def test_code_between_fences_is_whole_in_plain_text_and_a_lone_fence_is_text():
    assert kinds(Document("b.txt", f"One.\n\n{CODE}\n\nTwo.\n")) == ["text: One.", f"whole: {CODE}", "text: Two."]
    assert kinds(Document("b.txt", "One.\n\n```\nTwo.\n\nThree.\n")) == ["text: One.", "text: ```\nTwo.", "text: Three."]


def test_items_with_bullets_of_any_look_are_items():
    assert kinds(Document("b.txt", "• one two\n  three\n• four\n\n1) five\n2) six\n")) == [
        "text: • one two\n  three",
        "text: • four",
        "text: 1) five",
        "text: 2) six",
    ]


def test_a_year_at_the_beginning_of_a_wrapped_line_begins_no_item():
    assert kinds(Document("b.txt", "It was opened in\n1974. It is open.\n")) == ["text: It was opened in\n1974. It is open."]


def test_rows_whose_cells_are_set_apart_by_tabs_are_a_table():
    table = "Day\tBoats\nMonday\t4\nholidays\n-\t5"
    assert kinds(Document("b.txt", f"Boats:\n{table}\n\nOne.\n")) == ["text: Boats:", f"whole: {table}", "text: One."]


def test_tabs_behind_the_marks_of_a_list_or_before_a_paragraph_make_no_table():
    assert kinds(Document("b.txt", "1.\tOne.\n2.\tTwo.\n")) == ["text: 1.\tOne.", "text: 2.\tTwo."]
    assert kinds(Document("b.txt", "\tOne\n\ttwo.\n")) == ["text: One\n\ttwo."]


def test_lines_that_are_paragraphs_give_way_one_by_one_where_there_are_no_blank_lines():
    text = "One two. Three four.\nFive six.\nSeven eight nine.\n"
    assert text_of(Document("b.txt", text), 50) == [text.strip()]
    assert text_of(Document("b.txt", text), 6, 0.5) == ["One two. Three four.\nFive six.", "Seven eight nine."]


def test_chinese_paragraphs_without_blank_lines_stay_whole_where_they_fit():
    text = "　　渡船每天开。冬天不开。\n　　磨坊在山上。\n　　它磨面粉。它很老。\n"
    assert text_of(Document("b.txt", text), 20, unit="characters") == [
        "渡船每天开。冬天不开。\n　　磨坊在山上。",
        "它磨面粉。它很老。",
    ]


def test_a_chinese_paragraph_above_the_size_is_cut_at_sentences():
    text = "# 渡船\n\n渡船每天开。冬天不开。磨坊在山上。\n"
    assert text_of(page(text), 13, unit="characters") == ["# 渡船\n\n渡船每天开。", "冬天不开。磨坊在山上。"]


def test_arabic_is_cut_at_its_sentences_and_its_items_stay_whole():
    text = "# العبارة\n\nتعمل العبارة يوميا. هل تعمل في الشتاء؟ لا تعمل.\n\n- مصباح صغير\n- خبز\n"
    assert text_of(page(text), 5) == ["# العبارة\n\nتعمل العبارة يوميا.", "هل تعمل في الشتاء؟", "لا تعمل.", "- مصباح صغير\n- خبز"]


# HTML, reStructuredText and tables of sections

HTML = """<h1>The <b>ferry</b></h1><p>It runs daily. Not in ice.</p>
<ul><li>a lamp and one more<ul><li>oil for it</li></ul></li><li>bread</li></ul>
<table><tr><th>Day</th><th>Boats</th></tr><tr><td>Monday</td><td>4</td></tr></table>
<h2>Mill</h2><blockquote>It grinds.</blockquote>"""


def test_html_has_its_headings_items_and_tables_and_indentation_is_no_code():
    document = html.document("page.html", HTML, "page.html")
    assert kinds(document) == [
        "heading: The ferry",
        "text: It runs daily. Not in ice.",
        "text: * a lamp and one more\n      + oil for it",
        "text: * bread",
        "whole: Day\tBoats\nMonday\t4",
        "heading: Mill",
        "text: It grinds.",
    ]
    assert text_of(document, 9) == [
        "The ferry\n\nIt runs daily. Not in ice.",
        "* a lamp and one more",
        "+ oil for it\n  * bread",
        "Day\tBoats\nMonday\t4",
        "Mill\n\nIt grinds.",
    ]


RST = """\
=====
Ferry
=====
It runs daily::

    larc go

      --now

Not in ice.

.. code-block:: python
   :linenos:

   a = 1

   b = 2

.. note::

   Bring a lamp.

#. one
#. two

Mill
----

+-----+-------+
| Day | Boats |
+=====+=======+
| Mon | 4     |
+-----+-------+

====  =====
Day   Boats
====  =====
- 1   none
====  =====

>>> 1 + 1
2
"""


def test_restructured_text_has_its_titles_literal_blocks_directives_and_tables():
    assert kinds(rst_page(RST)) == [
        "heading: =====\nFerry\n=====",
        "text: It runs daily::",
        "whole: larc go\n\n      --now",
        "text: Not in ice.",
        "whole: .. code-block:: python\n   :linenos:\n\n   a = 1\n\n   b = 2",
        "text: .. note::",
        "text: Bring a lamp.",
        "text: #. one",
        "text: #. two",
        "heading: Mill\n----",
        "whole: +-----+-------+\n| Day | Boats |\n+=====+=======+\n| Mon | 4     |\n+-----+-------+",
        "whole: ====  =====\nDay   Boats\n====  =====\n- 1   none\n====  =====",
        "whole: >>> 1 + 1\n2",
    ]


def test_the_heading_of_a_section_in_a_table_belongs_to_the_block_on_its_line():
    sections = [("1", "Boats", f"Boats. {TABLE}\n\nThe mill has none."), ("2", "Mill", "Mill. It grinds.\n\n- rye\n- oats")]
    document = joined("handbook", sections)
    assert kinds(document) == [
        f"whole: Boats. {TABLE}",
        "text: The mill has none.",
        "text: Mill. It grinds.",
        "text: - rye",
        "text: - oats",
    ]
    assert text_of(document, 7) == [f"Boats. {TABLE}", "The mill has none.", "Mill. It grinds.\n\n- rye\n- oats"]


# Laws

PIECES = [
    "# heading\n",
    "## Ünïcode heading ##\n",
    "setext\n===\n",
    "- item\n",
    "  - nested\n",
    "* * *\n",
    "1. one\n",
    "   continued\n",
    "\t- tabbed\n",
    "> quote\n",
    "> - quoted item\n",
    "```\n",
    "~~~ py\n",
    "| a | b |\n",
    "|---|:-:|\n",
    "| \\| | |\n",
    "a\tb\n",
    "    code\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "<table>\n",
    "<pre>\n",
    "<!-- \n",
    "---\n",
    "[a]: /b\n",
    "::\n\n",
    "+--+--+\n",
    "== ==\n",
    ">>> 1\n",
    "渡船每天开。冬天不开。",
    "العبارة تعمل. ",
    "\u202eabc ",
    "\U0001f469\u200d\U0001f4bb",
    "One two. ",
    "\x00",
    "\u2028",
    "\x0c",
]
garbage = st.lists(st.one_of(st.sampled_from(PIECES), awkward_text), max_size=30).map("".join)
UNITS = ["words", "characters", "cl100k_base", MODEL_TOKENS]
each_unit = pytest.mark.parametrize("unit", UNITS)
names = st.sampled_from(["d.md", "d.rst", "d"])


@st.composite
def documents(draw):
    """A document of any kind, its sections by its headings, anywhere, or none."""
    name, text = draw(names), draw(garbage)
    if draw(st.booleans()):
        found = {"d.md": markdown.find, "d.rst": rst.find, "d": lambda _: []}[name](text)
        return Document(name, text, headings.sections(text, found))
    borders = sorted(draw(st.sets(st.integers(0, len(text)), max_size=4)))
    spans = [Span(a, b) for a, b in pairwise(borders)]
    return Document(name, text, tuple(Section(str(i), text[s.start : s.start + 5], s) for i, s in enumerate(spans)))


class Cut:
    """A document cut by structure, and its outermost blocks."""

    def __init__(self, document, unit, size, share, model, **options):
        self.document, self.size, self.overlap = document, size, int(share * size)
        self.ruler = Ruler(Corpus((document,)), unit, model.tokenizer)
        self.spans = Structure(StructureOptions(**options)).split(document, size, self.overlap, self.ruler)
        self.pairs = [tuple(pair) for pair in self.spans.tolist()]
        self.sizes = self.ruler.sizes(document, self.spans).tolist()
        self.blocks = find(document)
        self.block_sizes = self.ruler.sizes(document, np.column_stack([self.blocks.start, self.blocks.end])).tolist()

    def within(self, start, end):
        """The kinds of the leaves that a chunk touches, and whether it holds each whole."""
        rows = zip(self.blocks.start.tolist(), self.blocks.end.tolist(), self.blocks.kind.tolist(), strict=True)
        leaves = [row for i, row in enumerate(rows) if self.blocks.after[i] == i + 1]
        return [(kind, start <= s and e <= end) for s, e, kind in leaves if s < end and e > start]


@pytest.fixture(scope="session")
def cut(minilm):
    return lambda *how, **options: Cut(*how, minilm, **options)


sizes, shares = st.integers(1, 40), st.floats(0, 0.99)


@each_unit
@given(document=documents(), size=sizes, share=shares)
@law
def test_spans_ascend_and_cover_all_that_is_to_see_whatever_the_markdown(cut, unit, document, size, share):
    made = cut(document, unit, size, share)
    assert all(0 <= start < end <= len(document.text) for start, end in made.pairs)
    assert (np.diff(made.spans, axis=0) > 0).all()
    visible = {i for i, c in enumerate(document.text) if not c.isspace()}
    assert visible <= {i for start, end in made.pairs for i in range(start, end)}


@each_unit
@given(document=documents(), size=sizes, share=shares)
@law
def test_a_chunk_above_the_size_is_one_table_or_code_with_its_headings(cut, unit, document, size, share):
    made = cut(document, unit, size, share)
    units = made.ruler.units(document)
    for (start, end), measured in zip(made.pairs, made.sizes, strict=True):
        touched = units[(units[:, 0] < end) & (units[:, 1] > start)]
        divisible = (touched[1:, 0] >= np.maximum.accumulate(touched[:-1, 1])).any()
        if measured > size and divisible:
            *before, last = made.within(start, end)
            assert last == (WHOLE, True)
            assert set(before) <= {(HEADING, True)}


@each_unit
@given(document=documents(), size=sizes, share=shares)
@law
def test_with_split_tables_no_chunk_is_above_the_size(cut, unit, document, size, share):
    made = cut(document, unit, size, share, split_tables=True)
    units = made.ruler.units(document)
    for (start, end), measured in zip(made.pairs, made.sizes, strict=True):
        touched = units[(units[:, 0] < end) & (units[:, 1] > start)]
        divisible = (touched[1:, 0] >= np.maximum.accumulate(touched[:-1, 1])).any()
        assert measured <= size or not divisible


@each_unit
@given(document=documents(), size=sizes, share=shares)
@law
def test_neighbours_share_at_most_the_overlap_and_only_within_one_block(cut, unit, document, size, share):
    made = cut(document, unit, size, share)
    for (_, end), (start, _) in pairwise(made.pairs):
        if start < end:
            assert made.ruler.sizes(document, np.array([[start, end]]))[0] <= made.overlap
            assert sum(kind != HEADING for kind, _ in made.within(start, end)) <= 1


@each_unit
@given(document=documents(), size=sizes, share=shares)
@law
def test_no_chunk_crosses_the_border_of_a_section(cut, unit, document, size, share):
    made = cut(document, unit, size, share)
    borders = {b for s in document.sections for b in (s.span.start, s.span.end)}
    assert not [(s, e, b) for s, e in made.pairs for b in borders if s < b < e]


@each_unit
@given(document=documents(), size=sizes, share=shares)
@law
def test_a_block_that_fits_is_never_cut(cut, unit, document, size, share):
    made = cut(document, unit, size, share)
    for start, end, measured in zip(made.blocks.start, made.blocks.end, made.block_sizes, strict=True):
        if measured <= size:
            assert any(s <= start and end <= e for s, e in made.pairs)


@each_unit
@given(document=documents(), size=sizes, share=shares)
@law
def test_a_heading_ends_a_chunk_only_where_the_next_block_of_its_section_does_not_fit_with_it(cut, unit, document, size, share):
    made = cut(document, unit, size, share)
    found, ends = made.blocks, {end for _, end in made.pairs}
    for i in range(len(found.start) - 1):
        together = np.array([[found.start[i], found.end[i + 1]]])
        if found.kind[i] == HEADING and found.group[i] == found.group[i + 1] and found.end[i] in ends:
            assert found.kind[i + 1] == HEADING or made.ruler.sizes(document, together)[0] > size


@given(document=documents(), size=sizes, share=shares)
@law
def test_the_same_document_gives_the_same_spans(cut, document, size, share):
    assert cut(document, "words", size, share).pairs == cut(document, "words", size, share).pairs


@given(document=documents())
@law
def test_blocks_ascend_nest_and_hold_every_visible_character(document):
    found = find(document)
    text, seen, at = document.text, set(), 0
    for i, (start, end) in enumerate(zip(found.start.tolist(), found.end.tolist(), strict=True)):
        assert text[start : start + 1].strip()
        assert text[end - 1 : end].strip()
        assert all(start <= found.start[j] and found.end[j] <= end for j in range(i + 1, found.after[i]))
        if found.after[i] == i + 1:
            assert start >= at
            at = end
            seen |= set(range(start, end))
    assert {i for i, c in enumerate(text) if not c.isspace()} <= seen


@pytest.mark.parametrize("text", ["", " \r\n\t "])
def test_a_text_without_anything_to_see_has_no_spans(cut, text):
    for name in ("d.md", "d.rst", "d"):
        assert cut(Document(name, text), "words", 5, 0.2).pairs == []


def test_blocks_are_found_once_for_all_sizes_of_a_sweep(monkeypatch):
    asked = []
    monkeypatch.setattr("harness.splitters.structure.find", lambda document, how: asked.append(how) or find(document, how))
    document = page("# Ferry\n\nOne two three. Four five.\n")
    ruler = Ruler(Corpus((document,)), "words")
    for size in (2, 3, 50):
        SPLITTERS["structure"].split(document, size, 0, ruler)
    assert asked == ["auto"]
