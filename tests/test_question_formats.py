"""Question formats: what they read, the one clear message for each way to spoil a file, and spans that stay where they were."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tempfile
from pathlib import Path

import documented
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import awkward_text, law

from harness import formats
from harness.errors import HarnessError
from harness.formats import DataSource
from harness.records import Span
from harness.splits import SplitRule

ALL_DEV = SplitRule(0, 7)


@pytest.fixture
def write(tmp_path):
    """Write files by name, and say where corpus and questions are."""

    def write(name, corpus, questions, files, split=ALL_DEV):
        for file, content in files.items():
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            data = content if isinstance(content, bytes | str) else json.dumps(content)
            (tmp_path / file).write_bytes(data if isinstance(data, bytes) else data.encode())
        return DataSource(name, tmp_path / corpus, tmp_path / questions, split=split)

    return write


def faults_of(source):
    """Every fault, whether the file can't be read or its labels are wrong."""
    try:
        return formats.load(source).faults
    except HarnessError as error:
        return error.faults


def texts(labelled):
    """By question id, the texts of its evidence, alternative by alternative."""
    corpus = labelled.corpus
    return {
        q.question_id: [[corpus[p.document_id].text[p.span.start : p.span.end] for p in a] for a in q.evidence.alternatives]
        if q.evidence
        else []
        for q in labelled.dev
    }


# By format and file of its documented example: what is replaced in it ("" for all of it) and by what; how the place that is
# named ends, and how the message begins.
FRAGE, BELEG = '"frage": "Where do we start?"', '"beleg": "Meet at the gate."'
DATE, START, QUESTION = '"date": "2026-03-01"', '"start": 27', '"question": "Is there a café?"'
LINE = '{"id": "Q1", "question": "May I bring my dog?"'
ANSWER, CONTEXT = '{ "text": "at ten", "answer_start": 27 }', '"context": "Meet at the gate. It shuts at ten."'
REFERENCE = '{""content"": ""at ten"", ""start_index"": 27, ""end_index"": 33}'
LAST = "no answerable dev questions"
SPOILED = {
    ("json", "questions.json"): [
        (FRAGE, '"frge": "Where do we start?"', " entry 1", "unknown key 'frge'"),
        (BELEG, '"beleg": "Meet at the gate.", "splitt": "dev"', " entry 1", "unknown key 'splitt'"),
        (QUESTION, '"text": "Is there a café?"', " entry 3", "'question' is missing (keys: 'text', "),
        (FRAGE, f'{FRAGE}, "question": "?"', " entry 1", "'frage' and 'question' both say the question"),
        (FRAGE, f'{FRAGE}, "Frage": "?"', " entry 1", "'frage' and 'Frage' both say the question"),
        (FRAGE, f"{FRAGE}, {FRAGE}", "questions.json", "key 'frage' stands twice in an object"),
        (FRAGE, '"frage": 7', " entry 1", "frage is 7, no text"),
        (FRAGE, '"frage": " "', " entry 1", "the question is empty"),
        (BELEG, '"beleg": 7', " entry 1", "evidence is no list of texts"),
        (BELEG, '"beleg": [[]]', " entry 1", "evidence has an empty list of texts"),
        (BELEG, '"beleg": "Meet at the door."', " entry 1", "evidence 'Meet at the door.' is not in document"),
        (BELEG, f'{BELEG}, "bedingung": 7', " entry 1", "bedingung: is no list of texts"),
        (BELEG, f'{BELEG}, "bedingung": "Not here."', " entry 1", "condition 'Not here.' is not in document"),
        (BELEG, f'{BELEG}, "abschnitt": []', " entry 1", "abschnitt is [], no text"),
        (BELEG, f'{BELEG}, "section": "Z"', " entry 1", "unknown section 'Z'"),
        (BELEG, f'{BELEG}, "teil": "train"', " entry 1", "unknown split 'train'"),
        (BELEG, f'{BELEG}, "id": true', " entry 1", "id is True, no text"),
        (BELEG, f'{BELEG}, "regions": ["guide"]', " entry 1", "'beleg' and 'regions' are both given"),
        (BELEG, '"regions": [3]', " entry 1", "regions has 3, no document's name"),
        (BELEG, '"regions": [{"page": 1}]', " entry 1", "regions has {'page': 1}, no document's name"),
        ('"guide.md" }', '"gide.md" }', " entry 1", "unknown document 'gide.md'"),
        (START, '"start": "27"', " entry 2", "evidence has the start '27', which is no whole number"),
        (START, '"start": 26', " entry 2", "at [26, 32) of document 'guide.md' stands ' at te', not 'at ten'"),
        (START, '"start": 900', " entry 2", "evidence [900, 906) lies outside document 'guide.md'"),
        (DATE, '"date": "01.03.2026"', " entry 3", "the date is '01.03.2026', no day written as YYYY-MM-DD"),
        (DATE, '"date": "2026-02-30"', " entry 3", "the date is '2026-02-30'"),
        (DATE, '"date": 2026', " entry 3", "date is 2026, no text"),
        ('"reviewed": false', '"reviewed": "maybe"', " entry 3", "reviewed is 'maybe', neither yes nor no"),
        ("", "7", "questions.json", "7 is no list of questions"),
        ("", '{"data": []}', "questions.json", "{'data': []} is no list of questions"),
        ("", '{"questions": [], "fragen": []}', "questions.json", "{'questions': [], 'fragen': []} is no list of questions"),
        ("", "[7]", " entry 1", "7 is no object"),
        ("", "[]", "questions", "no answerable dev questions"),
        ("]", "", " line 6", "not JSON"),
        ("", "", "questions.json", "the file is empty"),
    ],
    ("jsonl", "questions.jsonl"): [
        (LINE, LINE[1:], " line 1", "not JSON"),
        (LINE, '{"id": "Q2", "question": "?"', " line 1", "question id 'Q2' is used 2 times"),
        (LINE, f"[7]\n{LINE}", " line 1", "a list, not an object"),
        (LINE, '{"question": null', " line 1", "the question is empty"),
        ("Q1", "\\ud800", " line 1", "it has half of a surrogate pair"),
    ],
    ("handbook", "questions.csv"): [
        ("dev,Meet at the gate.,,2026-03-01", "dev,Meet at the gate.,,1 March", " line 2", "the date is '1 M"),
    ],
    ("squad", "squad.json"): [
        ("", "[]", "squad.json", "[] is no object"),
        ('"data"', '"daten"', "squad.json", "'data' is missing (keys: 'version', 'daten')"),
        ("", '{"data": {}}', "squad.json", "'data' is {}, no list"),
        ("", '{"data": []}', "squad.json", "the corpus is empty"),
        ("", '{"data": [[]]}', " data[0]", "[] is no object"),
        ('"Guide"', "7", " data[0]", "'title' is 7, no text"),
        ('"paragraphs"', '"absaetze"', " data[0]", "'paragraphs' is missing"),
        (CONTEXT, '"context": 7', " data[0].paragraphs[0]", "'context' is 7, no text"),
        (CONTEXT, '"context": " "', " data[0].paragraphs[0]", "'context' is blank"),
        (CONTEXT, '"text": "Meet."', " data[0].paragraphs[0]", "'context' is missing (keys: 'text', 'qas')"),
        ('"question": "When', '"frage": "When', " data[0].paragraphs[0].qas[0]", "'question' is missing"),
        ('"id": "q1"', '"id": []', " data[0].paragraphs[0].qas[0]", "'id' is [], no text"),
        ('"id": "q1"', '"id": "q2"', " data[0].paragraphs[0].qas[0]", "question id 'q2' is used 2 times"),
        ("true", '"yes"', " data[0].paragraphs[0].qas[1]", "'is_impossible' is 'yes', neither true nor false"),
        (f"[ {ANSWER} ]", '"at ten"', " data[0].paragraphs[0].qas[0]", "'answers' is 'at ten', no list"),
        (ANSWER, '"at ten"', ".qas[0].answers[0]", "'at ten' is no object"),
        ('"text": "at ten"', '"text": ""', ".qas[0].answers[0]", "'text' is blank"),
        (": 27", ": 27.5", ".qas[0].answers[0]", "'answer_start' is 27.5, no whole number"),
        (": 27", ": 26", ".qas[0].answers[0]", "at [26, 32) of the context stands ' at te', not 'at ten'"),
        (": 27", ": -1", ".qas[0].answers[0]", "the answer [-1, 5) lies outside its context (34 characters)"),
        (": 27", ": 29", ".qas[0].answers[0]", "the answer [29, 35) lies outside its context (34 characters)"),
        (ANSWER, '{ "text": "at noon" }', ".qas[0]", "evidence 'at noon' is not in document 'Guide'"),
    ],
    ("chroma", "questions_df.csv"): [
        ("references", "refs", " line 1", "column 'references' is missing"),
        ("}]", "}", " line 2", "references is not JSON"),
        (",guide", ",", " line 2", "corpus_id is empty"),
        (",guide", ",gide", " line 2", "unknown document 'gide'"),
        ("When and where?", "", " line 2", "the question is empty"),
        (REFERENCE, '""at ten""', " line 2 references[1]", "'at ten' is no object"),
        ('""content"": ""at ten""', '""text"": 7', " line 2 references[1]", "'content' is missing"),
        ('""at ten""', '"" ""', " line 2 references[1]", "'content' is blank"),
        ("27", '""27""', " line 2 references[1]", "'start_index' is '27', no whole number"),
        ("33", "34", " line 2 references[1]", "[27, 34) are 7 characters, and the content has 6"),
        ("27, ", "26, ", " line 2 references[1]", "[26, 33) are 7 characters, and the content has 6"),
    ],
    ("chroma", "guide.md"): [
        (". It", ".  It", " line 2", "at [27, 33) of document 'guide.md' stands ' at te', not 'at ten'"),
    ],
    ("beir", "corpus.jsonl"): [
        ('"_id": "d1"', '"id": "d1"', "corpus.jsonl line 1", "'_id' is missing (keys: 'id', "),
        ('"d2"', '"d1"', "corpus.jsonl line 2", "document 'd1' stands twice"),
        ('"Dogs are welcome."', "7", "corpus.jsonl line 2", "'text' is 7, no text"),
        ("", "\n", "corpus.jsonl", "the corpus is empty"),
        ('"d1"', '"d3"', "test.tsv line 2", "unknown document 'd1'"),
    ],
    ("beir", "queries.jsonl"): [
        ('"q1"', '"q2"', "test.tsv line 2", "query 'q1' is not in queries.jsonl"),
        ('"When does it shut?"', "[]", "queries.jsonl line 1", "'text' is [], no text"),
        ('"_id"', '"id"', "queries.jsonl line 1", "'_id' is missing (keys: 'id', 'text')"),
    ],
    ("beir", "test.tsv"): [
        ("query-id", "query", "test.tsv line 1", "column query-id is missing (columns: query, "),
        ("q1\td2\t0", "q1 d2 0", "test.tsv line 3", "1 cells where the header names 3"),
        ("q1\td1\t1", "q1\td1\tyes", "test.tsv line 2", "the score is 'yes', no whole number"),
        ("q1\td1\t1", "q1\td1\t0", "questions", "no answerable dev questions"),
    ],
    ("legalbench-rag", "rules.json"): [
        ('"tests"', '"test"', "rules.json", "'tests' is missing (keys: 'test')"),
        ('"query"', '"question"', " tests[0]", "'query' is missing"),
        ('"snippets"', '"snippet"', " tests[0]", "'snippets' is missing"),
        ('"file_path"', '"path"', " tests[0].snippets[0]", "'file_path' is missing"),
        ("rules/guide.txt", "rules/gide.txt", " tests[0]", "unknown document 'rules/gide.txt'"),
        ("[18, 34]", "[18]", " tests[0].snippets[0]", "'span' is [18], no [start, end]"),
        ("[18, 34]", "[18, 33]", ".snippets[0]", "[18, 33) are 15 characters, and the answer has 16"),
        ("[18, 34]", "[17, 33]", " tests[0]", "at [17, 33) of document 'rules/guide.txt' stands"),
        ('"answer"', '"text"', " tests[0].snippets[0]", "'answer' is missing"),
    ],
}


@pytest.mark.parametrize(
    ("name", "file", "old", "new", "where", "what"), [(*key, *row) for key, rows in SPOILED.items() for row in rows]
)
def test_a_spoiled_file_gives_its_one_clear_message(tmp_path, name, file, old, new, where, what):
    example = documented.examples()[name]
    (path,) = [path for path in example.files if path.endswith(file)]
    assert old in example.files[path]
    example.files[path] = example.files[path].replace(old, new, 1) if old else new
    faults = faults_of(example.write(tmp_path))
    said = {f.what for f in faults}
    (message,) = said - {LAST} or said  # when the only answerable question is the spoiled one
    assert message.startswith(what)
    assert all(f.fix for f in faults)
    assert next(f.where for f in faults if f.what == message).endswith(where)


GUIDE = "Meet at the gate. It shuts at ten.\n\nDogs are welcome.\nOn Sundays they stay on the lead. Dogs sleep at ten.\n"


@pytest.mark.parametrize(
    "entry",
    [
        {"question": "Where?", "evidence": "at the gate", "document": "guide.md", "id": "Q1", "split": "dev", "source": "real"},
        {"frage": "Where?", "beleg": "at the gate", "dokument": "guide.md", "id": "Q1", "teil": "dev", "quelle": "real"},
        {
            "Frage": "Where?",
            "evidence": ["at the gate"],
            "dokument": "guide",
            "question_id": "Q1",
            "split": " DEV ",
            "quelle": "real",
        },
        {
            "question": "Where?",
            "beleg": {"text": "at the gate", "dokument": "guide.md", "start": 5},
            "id": "Q1",
            "source": "real",
        },
        {
            "question": "Where?",
            "evidence_span": "At  the\ngate",
            "document_id": "guide.md",
            "id": "Q1",
            "source": "real",
            "note": 7,
        },
    ],
    ids=["English", "German", "mixed", "with its place", "as in a table"],
)
def test_an_entry_says_the_same_in_german_in_english_and_in_any_mix(write, entry):
    labelled = formats.load(write("json", "guide.md", "q.json", {"guide.md": GUIDE, "q.json": [entry]})).sound()
    (question,) = labelled.dev
    assert (question.question_id, question.source, texts(labelled)) == ("Q1", "real", {"Q1": [["at the gate"]]})


def test_evidence_condition_date_and_review_are_read(write):
    entry = {
        "frage": "Hunde?",
        "beleg": [["Dogs are welcome.", {"text": "at ten", "start": 27}], "Meet"],
        "dokument": "guide",
        "bedingung": "On Sundays",
        "datum": "2026-03-01",
        "geprüft": "nein",
        "id": 7,
    }
    labelled = formats.load(write("jsonl", "guide.md", "q.jsonl", {"guide.md": GUIDE, "q.jsonl": entry})).sound()
    assert texts(labelled) == {"7": [["Dogs are welcome.", "at ten"], ["Meet"]]}
    (question,) = labelled.dev
    assert (question.date, question.reviewed, question.condition[0].span.start) == ("2026-03-01", False, 54)


@pytest.mark.parametrize("key", ["questions", "fragen"])
def test_a_list_of_questions_may_stand_in_an_object(write, key):
    files = {"guide.md": GUIDE, "q.json": {"language": "en", key: [{"question": "Where?", "evidence": "at the gate"}]}}
    assert len(formats.load(write("json", "guide.md", "q.json", files)).dev) == 1


def test_a_derived_id_is_of_the_wording_so_that_a_question_before_it_renames_none(write):
    def ids(*asked):
        files = {"guide.md": GUIDE, "q.json": [{"question": q, "evidence": "at the gate"} for q in asked]}
        return [q.question_id for q in formats.load(write("json", "guide.md", "q.json", files)).dev]

    assert ids("Where?") == ids("  where? ")
    assert ids("When?", "Where?")[1:] == ids("Where?")
    assert all(len(i) == 10 and i.startswith("q-") for i in ids("When?", "Where?"))


def test_the_same_wording_without_ids_is_a_fault_at_both_places(write):
    files = {"guide.md": GUIDE, "q.json": [{"question": "Where?", "evidence": e} for e in ("Meet", "at the gate")]}
    faults = [f for f in faults_of(write("json", "guide.md", "q.json", files)) if "is used 2 times" in f.what]
    assert [f.where.rpartition("/")[2] for f in faults] == ["q.json entry 1", "q.json entry 2"]


def test_every_wrong_value_of_every_entry_and_every_file_is_a_fault_of_its_own(write):
    bad = [{"frage": 1, "beleg": 2, "datum": "3", "geprüft": "4", "id": []}, {"question": "?", "splt": "dev"}, 7]
    files = {"guide.md": GUIDE, "q/a.json": bad, "q/b.json": "[", "q/c.json": [{}]}
    faults = faults_of(write("json", "guide.md", "q", files))
    assert [f.where.rpartition("/")[2] for f in faults] == [
        *["a.json entry 1"] * 5,
        "a.json entry 2",
        *["a.json entry 3"],
        "b.json line 1",
        "c.json entry 1",
    ]


def test_other_keys_are_ignored_and_one_that_stands_for_another_is_not_a_slip_where_that_is_given(write):
    entry = {"question": "Where?", "evidence": "at the gate", "sources": ["me"], "source": "real", "reviewer": "me", "answer": 1}
    labelled = formats.load(write("json", "guide.md", "q.json", {"guide.md": GUIDE, "q.json": [entry]})).sound()
    assert labelled.dev[0].source == "real"


def test_regions_are_whole_documents_or_sections_and_not_texts(write):
    sections = "document_id,section_id,heading,text\nguide,A,Gate,Meet.\nguide,B,Dogs,Welcome.\nrules,A,Keys,None.\n"
    entry = {"frage": "Where?", "regions": [{"dokument": "guide", "abschnitt": "B"}, "rules"]}
    labelled = formats.load(write("json", "s.csv", "q.json", {"s.csv": sections, "q.json": [entry]})).sound()
    (question,) = labelled.dev
    assert not question.evidence.whole
    assert texts(labelled) == {question.question_id: [["Dogs. Welcome."], ["Keys. None."]]}


def test_questions_may_be_several_files_of_a_glob_packed_or_not(write):
    lines = [json.dumps({"question": q, "evidence": "at the gate"}) for q in ("Where?", "At what?")]
    files = {"guide.md": GUIDE, "q/a.jsonl": lines[0], "q/b.jsonl.gz": gzip.compress(lines[1].encode()), "q/notes.txt": "no"}
    assert [q.text for q in formats.load(write("jsonl", "guide.md", "q/*", files)).dev] == ["Where?", "At what?"]
    (fault,) = faults_of(write("jsonl", "guide.md", "q/*.txt", files))
    assert fault.what == "no .jsonl file is there"
    (fault,) = faults_of(write("jsonl", "guide.md", "q/a**", files))
    assert "glob" in fault.what


# SQuAD.


def squad(*articles):
    """A file of articles: a title or None, then per paragraph its context and questions (id, question, answers)."""
    return {
        "data": [
            {
                **({"title": title} if title else {}),
                "paragraphs": [
                    {
                        "context": context,
                        "qas": [
                            {"id": i, "question": q, "answers": [{"text": t, "answer_start": s} for t, s in answers]}
                            for i, q, answers in asked
                        ],
                    }
                    for context, asked in paragraphs
                ],
            }
            for title, paragraphs in articles
        ]
    }


def test_an_article_is_a_document_and_its_paragraphs_are_sections_as_they_stand(write):
    file = squad(("Gate", [(" Meet.\r\n", []), ("It shuts.", [("q", "What?", [("shuts", 3)])])]), (None, [("Dogs.", [])]))
    labelled = formats.load(write("squad", "s.json", "s.json", {"s.json": file})).sound()
    gate, dogs = labelled.corpus["Gate"], labelled.corpus["article-002"]
    assert (gate.text, gate.title, dogs.text, dogs.title) == (" Meet.\r\n\n\nIt shuts.", "Gate", "Dogs.", "")
    assert [(s.section_id, s.heading, s.span) for s in gate.sections] == [("p1", "", Span(0, 8)), ("p2", "", Span(10, 19))]
    (question,) = labelled.dev
    assert (question.expected_section, [p.span for p in question.evidence.places()]) == (("Gate", "p2"), [Span(13, 18)])


def test_titles_that_come_again_get_a_number_in_one_file_or_several(write):
    files = {"a.json": squad(("Gate", [("One.", [])]), ("Gate", [("Two.", [])])), "b.json": squad(("Gate", [("Three.", [])]))}
    files["b.json"]["data"][0]["paragraphs"][0]["qas"] = [
        {"id": "q", "question": "?", "answers": [{"text": "Three", "answer_start": 0}]}
    ]
    labelled = formats.load(write("squad", "*.json", "*.json", files)).sound()
    assert {d.document_id: d.text for d in labelled.corpus.documents} == {
        "Gate": "One.",
        "Gate (2)": "Two.",
        "Gate (3)": "Three.",
    }
    assert [p.document_id for p in labelled.dev[0].evidence.places()] == ["Gate (3)"]


def test_several_answers_are_alternatives_each_of_them_once(write):
    file = squad(("Gate", [("It shuts at ten, at ten.", [("q", "When?", [("ten", 12), ("at ten", 9), ("ten", 12)])])]))
    labelled = formats.load(write("squad", "s.json", "s.json", {"s.json": file})).sound()
    assert texts(labelled) == {"q": [["ten"], ["at ten"]]}
    assert (labelled.quoted.quotes, labelled.quoted.repeated) == (2, 2)


def test_an_answer_without_its_offset_is_looked_for_in_its_paragraph(write):
    file = squad(("Gate", [("Open at ten.", []), ("Shut at ten.", [("q", "When?", [("at ten", None)])])]))
    labelled = formats.load(write("squad", "s.json", "s.json", {"s.json": file})).sound()
    assert [p.span for p in labelled.dev[0].evidence.places()] == [Span(19, 25)]


def test_offsets_that_count_utf_16_are_called_that(write):
    file = squad(("Gate", [("🙂 meet", [("q", "What?", [("meet", 3)])])]))
    (fault,) = faults_of(write("squad", "s.json", "s.json", {"s.json": file}))
    assert fault.where.endswith("data[0].paragraphs[0].qas[0].answers[0]")
    assert fault.fix == "the offsets count UTF-16 units; export them again in characters (code points)"


def test_a_question_that_repeats_another_or_is_answered_elsewhere_is_left_out_and_named(write):
    ten, nine = [("ten", 9)], [("nine", 9)]
    asked = [("q1", "When?", ten), ("q2", "when?", ten), ("q3", "Why?", []), ("q4", "Why?", []), ("q5", "How?", [])]
    file = squad(("Gate", [("Shuts at ten.", asked), ("Opens at nine.", [("q6", "How?", nine), ("q7", "When?", nine)])]))
    labelled = formats.load(write("squad", "s.json", "s.json", {"s.json": file})).sound()
    assert [q.question_id for q in labelled.dev] == ["q1", "q3", "q6", "q7"]
    (remark,) = labelled.corpus.remarks
    assert remark.what == "3 questions repeat another or are answered elsewhere, and left out: q2, q4, q5"


@st.composite
def quoted_texts(draw, alphabet=awkward_text):
    """Texts, and of each some slices that a reader would see, by their start and end."""
    found = []
    for text in draw(st.lists(alphabet.filter(str.strip), min_size=1, max_size=4)):
        visible = [i for i, c in enumerate(text) if not c.isspace()]
        ends = st.tuples(st.sampled_from(visible), st.sampled_from(visible)).map(sorted)
        found.append((text, [(a, b + 1) for a, b in draw(st.lists(ends, max_size=3))]))
    return found


def loaded(name, corpus, questions, files):
    with tempfile.TemporaryDirectory() as folder:
        for file, data in files.items():
            (Path(folder) / file).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / file).write_bytes(data.encode())
        return formats.load(DataSource(name, Path(folder) / corpus, Path(folder) / questions, split=ALL_DEV))


@given(articles=st.lists(quoted_texts(), min_size=1, max_size=3), escaped=st.booleans())
@law
def test_spans_of_squad_slice_back_to_the_answers_whatever_the_paragraphs_hold(articles, escaped):
    answers, data = {}, []
    for paragraphs in articles:
        asked = []
        for text, spans in paragraphs:
            of_paragraph = []
            for start, end in spans:
                answers[f"q{len(answers)}"] = text[start:end]
                of_paragraph.append((f"q{len(answers) - 1}", f"Question {len(answers)}?", [(text[start:end], start)]))
            asked.append((text, of_paragraph))
        data.append((f"Title {len(data)}", asked))
    written = json.dumps(squad(*data), ensure_ascii=escaped)
    labelled = loaded("squad", "s.json", "s.json", {"s.json": written})
    assert set(labelled.faults) <= {f for f in labelled.faults if f.what == LAST}
    assert texts(labelled) == {i: [[text]] for i, text in answers.items()}
    for document, paragraphs in zip(labelled.corpus.documents, articles, strict=True):
        assert [document.text[s.span.start : s.span.end] for s in document.sections] == [text for text, _ in paragraphs]


@given(named=quoted_texts(awkward_text.filter(lambda t: not t.startswith("\ufeff"))))
@law
def test_spans_of_chroma_slice_back_to_the_references(named):
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow(["question", "references", "corpus_id"])
    wanted = []
    for number, (text, spans) in enumerate(named):
        references = [{"content": text[a:b], "start_index": a, "end_index": b} for a, b in spans]
        table.writerow([f"Question {number}?", json.dumps(references), f"t{number}"])
        wanted.append([[text[a:b] for a, b in dict.fromkeys(spans)]] if spans else [])
    texts_by_file = {f"c/t{n}.txt": text for n, (text, _) in enumerate(named)}
    labelled = loaded("chroma", "c", "q.csv", {**texts_by_file, "q.csv": out.getvalue()})
    assert {f.what for f in labelled.faults} <= {LAST}
    assert list(texts(labelled).values()) == wanted


# BEIR.

CORPUS = "\n".join(json.dumps({"_id": i, "title": t, "text": x}) for i, t, x in [("d1", "Gate", "Meet."), ("d2", "Dogs", "")])
QUERIES = "\n".join(json.dumps({"_id": i, "text": f"Question {i}?"}) for i in ("q1", "q2", "q3"))
HEAD = "query-id\tcorpus-id\tscore\n"


def test_a_relevant_document_is_a_whole_region_and_each_one_an_alternative(write):
    files = {"b/corpus.jsonl": CORPUS, "b/queries.jsonl": QUERIES, "b/qrels/test.tsv": HEAD + "q1\td1\t1\nq1\td2\t2\nq2\td1\t0\n"}
    labelled = formats.load(write("beir", "b", "b", files)).sound()
    (question,) = labelled.dev  # nobody judged a document relevant for q2, nor any for q3
    assert not question.evidence.whole
    assert texts(labelled) == {"q1": [["Meet."], ["Dogs"]]}
    assert [(d.document_id, d.title, d.text) for d in labelled.corpus.documents] == [
        ("d1", "Gate", "Meet."),
        ("d2", "Dogs", "Dogs"),
    ]


@pytest.mark.parametrize(
    ("judged", "questions", "dev", "holdout"),
    [
        ({"dev": "q1", "test": "q2"}, "b", ["q1"], 1),
        ({"train": "q1", "test": "q2"}, "b", ["q1"], 1),
        ({"train": "q3", "dev": "q1", "test": "q2"}, "b", ["q1"], 1),
        ({"dev": "q1", "test": "q2"}, "b/qrels/test.tsv", ["q2"], 0),
        ({"test": "q2"}, "b", ["q2"], 0),
    ],
    ids=["dev and test", "train in place of dev", "dev before train", "one that is named", "one alone"],
)
def test_dev_is_dev_and_test_is_holdout_unless_one_file_stands_for_all(write, judged, questions, dev, holdout):
    files = {"b/corpus.jsonl": CORPUS, "b/queries.jsonl": QUERIES}
    files |= {f"b/qrels/{name}.tsv": f"{HEAD}{query}\td1\t1\n" for name, query in judged.items()}
    labelled = formats.load(write("beir", "b", questions, files)).sound()
    assert ([q.question_id for q in labelled.dev], labelled.holdout.answerable) == (dev, holdout)


def test_the_files_of_a_beir_folder_may_be_packed(write):
    files = {"b/corpus.jsonl": CORPUS, "b/queries.jsonl": QUERIES, "b/qrels/test.tsv": HEAD + "q1\td1\t1\n"}
    packed = {f"{name}.gz": gzip.compress(text.encode()) for name, text in files.items()}
    assert len(formats.load(write("beir", "b", "b", packed)).sound().dev) == 1


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ({}, "no judgements to go by: it has nothing"),
        ({"b/qrels/a.tsv": HEAD, "b/qrels/b.tsv": HEAD}, "no judgements to go by: it has a.tsv, b.tsv"),
    ],
)
def test_a_beir_folder_without_judgements_to_go_by_is_refused(write, files, what):
    (fault,) = faults_of(write("beir", "b", "b", {"b/corpus.jsonl": CORPUS, "b/queries.jsonl": QUERIES, **files}))
    assert (fault.what, fault.where.rpartition("/")[2]) == (what, "qrels")


# LegalBench-RAG.


def benchmark(*tests):
    """A benchmark file of queries with snippets: path, start, answer."""
    return {
        "tests": [
            {"query": q, "snippets": [{"file_path": f, "span": [a, a + len(t)], "answer": t} for f, a, t in snippets]}
            for q, snippets in tests
        ]
    }


def test_a_query_needs_all_of_its_snippets_and_each_file_is_a_source(write):
    files = {"c/x/a.txt": "Meet at the gate.", "c/y/a.txt": "It shuts at ten."}
    files["b/one.json"] = benchmark(("Where and when?", [("x/a.txt", 8, "the gate"), ("y/a.txt", 9, "at ten")]))
    files["b/two.json"] = benchmark(("Where and when?", [("x/a.txt", 0, "Meet")]))
    labelled = formats.load(write("legalbench-rag", "c", "b/*.json", files)).sound()
    assert list(texts(labelled).values()) == [[["the gate", "at ten"]], [["Meet"]]]
    assert [q.source for q in labelled.dev] == ["one", "two"]


def test_a_line_end_of_a_text_counts_as_one_character_as_in_the_benchmark(write):
    files = {"c/a.txt": "One\r\nTwo\rThree", "b.json": benchmark(("What?", [("a.txt", 4, "Two"), ("a.txt", 8, "Three")]))}
    labelled = formats.load(write("legalbench-rag", "c", "b.json", files)).sound()
    assert list(texts(labelled).values()) == [[["Two", "Three"]]]


def test_a_path_may_be_composed_in_one_way_and_its_file_named_in_another(write):
    files = {"c/cafe\u0301.txt": "Open at nine.", "b.json": benchmark(("When?", [("café.txt", 5, "at nine")]))}
    assert len(formats.load(write("legalbench-rag", "c", "b.json", files)).sound().dev) == 1
