"""Files are read as they are; what is wrong with one is told with its place, everything at once."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import awkward_text, law

from harness import files
from harness.errors import HarnessError
from harness.files import read_bytes, read_json, read_json_lines, read_rows, read_text


@pytest.mark.parametrize("header", ['"', '"a"b,c\n1,2\n'])
def test_a_table_whose_first_line_is_torn_is_no_csv(tmp_path, header):
    (tmp_path / "a.csv").write_text(header)
    ((where, what),) = faults_of(read_rows, tmp_path / "a.csv", "utf-8", ("a",))
    assert (where, what[:9]) == ("a.csv line 1", "not CSV (")


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    for place in (tmp_path / name, Path("/dev/zero")):
        with pytest.raises(HarnessError, match="a pipe, a socket or a device, no file"):
            read_bytes(place)


@pytest.fixture
def file(tmp_path):
    """Write a file, as text or bytes, and say where it is."""

    def write(content, name="a.jsonl"):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return tmp_path / name

    return write


def faults_of(read, *given):
    with pytest.raises(HarnessError) as caught:
        value = read(*given)
        list(value)
    return [(f.where.rpartition("/")[2], f.what) for f in caught.value.faults]


def test_objects_come_with_their_line_whatever_lines_end_in_and_blank_ones_are_left_out(file):
    path = file('{"a": 1}\r\n\r\n{"a": "\u2028"}\r{"a": [{}]}\n  \n')
    assert list(read_json_lines(path, "utf-8")) == [
        (f"{path} line 1", {"a": 1}),
        (f"{path} line 3", {"a": "\u2028"}),
        (f"{path} line 4", {"a": [{}]}),
    ]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ('{"a": }', "not JSON at column 7 (Expecting value)"),
        ('{"a": 1', "not JSON at column 8 (Expecting ',' delimiter)"),
        ('{"a": "\t"}', "not JSON at column 8 (Invalid control character at)"),
        ('{"a": 1} {"b": 2}', "not JSON at column 10 (Extra data)"),
        ('{"a": NaN}', "NaN is no JSON value"),
        ('{"a": -Infinity}', "-Infinity is no JSON value"),
        ('{"a": 1e999}', "the number 1e999 is too large"),
        (f'{{"a": {"7" * 5000}}}', f"the number {'7' * 20}… has 5000 digits"),
        ('{"a": {"b": 1, "b": 2}}', "key 'b' stands twice in an object"),
        (r'{"a": "\ud800"}', r"it has half of a surrogate pair (\ud800), which is no character"),
        (r'{"\udfff": "a"}', r"it has half of a surrogate pair (\udfff), which is no character"),
        ('{"a": ' + "[" * 100_000, "JSON that is nested too deeply"),
    ],
)
def test_what_is_no_json_is_told_with_its_line(file, value, what):
    assert faults_of(read_json_lines, file(f'{{"a": 1}}\n{value}\n'), "utf-8") == [("a.jsonl line 2", what)]
    (whole,) = faults_of(read_json, file(f"\n{value}"), "utf-8")
    assert whole == ("a.jsonl line 2" if "column" in what else "a.jsonl", what)


@pytest.mark.parametrize(
    ("value", "what"),
    [("[]", "a list"), ('"a"', "a text"), ("1", "a number"), ("1.5", "a number"), ("null", "null"), ("true", "true or false")],
)
def test_a_line_that_is_no_object_is_told(file, value, what):
    assert faults_of(read_json_lines, file(value), "utf-8") == [("a.jsonl line 1", f"{what}, not an object")]


def test_every_bad_line_is_told_after_the_good_ones_were_given(file):
    rows = read_json_lines(file('{"a": 1}\n[]\n{"a": 2}\nnull\n'), "utf-8")
    assert [next(rows)[1], next(rows)[1]] == [{"a": 1}, {"a": 2}]
    assert faults_of(list, rows) == [("a.jsonl line 2", "a list, not an object"), ("a.jsonl line 4", "null, not an object")]


def test_a_value_over_several_lines_is_one_fault(file):
    path = file('[\n  {"a": 1},\n  {"a": 2}\n]\n')
    what = "one JSON value over several lines, where each line is an object of its own"
    assert faults_of(read_json_lines, path, "utf-8") == [("a.jsonl", what)]
    assert read_json(path, "utf-8") == [{"a": 1}, {"a": 2}]


def test_a_whole_pair_written_as_escapes_is_a_character(file):
    assert read_json(file(r'["\ud83d\ude00"]'), "utf-8") == ["😀"]


def test_an_empty_file_holds_no_lines_and_is_no_json(file):
    assert list(read_json_lines(file(" \n"), "utf-8")) == []
    assert faults_of(read_json, file(" \n"), "utf-8") == [("a.jsonl", "the file is empty")]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | awkward_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@law
@given(rows=st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), max_size=5), escaped=st.booleans())
def test_what_was_written_as_json_lines_is_read_again(tmp_path_factory, rows, escaped):
    path = tmp_path_factory.mktemp("json") / "a.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=escaped) + "\n" for row in rows), "utf-8")
    assert [value for _, value in read_json_lines(path, "utf-8")] == rows


@law
@given(
    text=st.lists(st.sampled_from(["a", "\r", "\n", "\r\n", "\x0b", "\x85", "\u2028", '"', ",", "é"]), max_size=30).map("".join)
)
def test_lines_end_where_the_io_module_ends_them(text):
    assert list(files.lines(text)) == list(io.StringIO(text, newline=""))
    assert list(csv.reader(files.lines(text))) == list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "utf_8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32-be"])
def test_a_byte_order_mark_is_no_character_of_the_text(file, encoding):
    written = encoding if encoding in ("utf-8-sig", "utf-16") else None
    data = "é\r\n".encode(written) if written else "\ufeffé\r\n".encode(encoding)
    assert read_text(file(data), encoding) == "é\r\n"


def test_a_packed_file_is_read_as_what_it_holds(file):
    assert read_bytes(file(gzip.compress(b"one") + gzip.compress(b"two"), "a.txt.GZ")) == b"onetwo"


PACKED = gzip.compress(b"text " * 1000)


@pytest.mark.parametrize(
    "data",
    [PACKED[:-9], PACKED[:-2], PACKED[:5], PACKED[:30] + b"\0\0\0\0" + PACKED[34:], b"plain text", PACKED + b"more"],
    ids=["torn", "torn in its end", "torn in its head", "spoiled", "not packed", "more behind"],
)
def test_a_torn_packed_file_is_told(file, data):
    ((where, what),) = faults_of(read_bytes, file(data, "a.txt.gz"))
    assert where == "a.txt.gz"
    assert what.startswith("not a whole gzip file (")


def test_a_packed_file_that_would_fill_the_memory_is_refused_before_it_does(file, monkeypatch):
    monkeypatch.setattr(files, "MOST_UNPACKED", 2**21)
    assert read_bytes(file(gzip.compress(bytes(2**21)), "a.gz")) == bytes(2**21)
    assert faults_of(read_bytes, file(gzip.compress(bytes(2**21 + 1)), "a.gz")) == [("a.gz", "it unpacks to more than 2 MiB")]


def test_the_cache_is_where_the_environment_says_or_the_users_own(monkeypatch, tmp_path):
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path))
    assert files.cache_folder() == tmp_path
    monkeypatch.delenv("HARNESS_CACHE_DIR")
    assert files.cache_folder().name == "chunking-harness"
