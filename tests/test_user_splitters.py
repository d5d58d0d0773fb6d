"""A user's own splitter is held to the contract, by every sweep and by `harness check-splitter`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import awkward_text, law, one

from harness.__main__ import _run
from harness.errors import HarnessError
from harness.records import Document
from harness.splitters import SPLITTERS, user
from harness.splitters.contract import Cut, broken
from harness.tokenizers import Ruler

GOOD = '''
import re

def lines(text, size, overlap, count):
    """Lines, the longer ones by words."""
    words = [m.span() for m in re.finditer(r"\\S+", text)]
    first = 0
    while first < len(words):
        last = first + 1
        while last < len(words) and last - first < size and "\\n" not in text[words[last - 1][1] : words[last][0]]:
            last += 1
        yield words[first][0], words[last - 1][1]
        first = last

lines.ignores = ["overlap_ratio"]
'''

BROKEN = {
    "outside": ("yield 0, len(text) + 1", "is empty or lies outside the text"),
    "empty": ("yield 0, 0", "is empty or lies outside the text"),
    "backwards": ("yield 4, len(text)\n    yield 0, 4", "does not begin and end after the one before it"),
    "lost": ("yield 0, 3", "is in no chunk"),
    "large": ("yield 0, len(text)", "above the size 3"),
    "overlapping": ("yield 0, 12\n    yield 4, 15\n    yield 13, len(text)", "above the overlap 0"),
    "words": ("yield 'a', 'b'", "it gave no pairs of whole numbers"),
    "nothing": ("return None", "it gave no pairs of whole numbers"),
    "triples": ("return [(0, 5, 9)] * 2", "it gave no pairs of whole numbers"),
    "fractions": ("yield 0.7, 5", "0.7 is no whole number"),
    "digits": ("return ['03', '39']", "it gave no pairs of whole numbers"),
    "endless": ("import itertools\n    return ((i, i + 1) for i in itertools.count())", "more spans than characters"),
    "error": ("raise KeyError('oh')", r"it raised KeyError: 'oh' \(mine_.* line 2\)"),
    "error in the midst": ("yield 0, 3\n    raise ValueError('oh')", "it raised ValueError: oh"),
    "exit": ("raise SystemExit(0)", "it raised SystemExit: 0"),
    "other arguments": ("pass\ndef cut():\n    pass", "it raised TypeError"),
}


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write a module of one function and name it as a splitter."""
    monkeypatch.chdir(tmp_path)
    names = iter(range(1000))

    def write(body: str, function: str = "cut") -> str:
        name = f"mine_{tmp_path.name.replace('-', '_')}_{next(names)}"
        (tmp_path / f"{name}.py").write_text(body, "utf-8")
        return f"python:{name}:{function}"

    yield write
    for name in [n for n in sys.modules if n.startswith(f"mine_{tmp_path.name.replace('-', '_')}")]:
        del sys.modules[name]


def cut_of(body):
    return f"def cut(text, size, overlap, count):\n    {body}\n"


@pytest.mark.parametrize("name", list(BROKEN))
def test_a_broken_promise_is_a_fault_with_its_chunk(module, name):
    body, what = BROKEN[name]
    splitter = user.load(module(cut_of(body)), "here", [Path.cwd()])
    document = Document("d", "one two three four")
    with pytest.raises(HarnessError, match=what):
        splitter.split(document, 3, 0, Ruler(one(document.text), "words"))


def test_a_sound_function_is_checked_and_says_what_it_ignores(module, capsys):
    name = module(GOOD, "lines")
    assert _run(["check-splitter", name, "--json"], True) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["errors"] == []
    assert found["tries"] > 60
    assert len(found["version"]) == 64
    assert user.load(name, "here", [Path.cwd()]).ignores == {"overlap_ratio"}


def test_a_broken_function_ends_the_check_with_1_and_a_text_each(module, capsys):
    assert _run(["check-splitter", module(cut_of("yield 0, len(text)")), "--json"], True) == 1
    errors = json.loads(capsys.readouterr().out)["errors"]
    assert {"'repeats' at size 1, overlap 0", "'empty' at size 1, overlap 0"} <= {e["where"] for e in errors}


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("import random\n    yield 0, random.randrange(1, len(text) + 1)", "other spans for the same text"),
        ("raise KeyError('x')", "it raised KeyError: 'x'"),
        ("return [(0, len(text))] if text.strip() else [(0, 1)]", "it gave chunks of an empty text"),
    ],
)
def test_other_spans_the_second_time_and_whatever_it_raises_are_told(module, capsys, body, what):
    assert _run(["check-splitter", module(cut_of(body))], False) == 1
    out = capsys.readouterr().out
    assert what in out
    assert "Traceback" not in out


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("python:", "names no function"),
        ("python:json", "names no function"),
        ("python:.json:cut", "names no function"),
        ("python:no_such_module_here:cut", "can't be imported (ModuleNotFoundError"),
        ("python:json:no_such", "can't be imported (AttributeError"),
        ("python:sys:path", "is no function"),
    ],
)
def test_what_can_t_be_had_is_refused_with_the_way_to_write_it(name, what):
    with pytest.raises(HarnessError) as caught:
        user.load(name, "here", [])
    (fault,) = caught.value.faults
    assert what in fault.what
    assert "python:package.module:function" in fault.fix


def test_a_module_that_fails_at_import_and_an_axis_that_there_is_not_are_refused(module):
    with pytest.raises(HarnessError, match="ZeroDivisionError"):
        user.load(module("1 / 0"), "here", [Path.cwd()])
    with pytest.raises(HarnessError, match="says that it ignores colour"):
        user.load(module(cut_of("yield 0, 1") + "cut.ignores = ['colour']\n"), "here", [Path.cwd()])


def test_arrays_of_numbers_are_spans():
    ruler = Ruler(one("one two"), "words")
    for kind in (np.int32, np.float64):
        splitter = user.UserSplitter("own", lambda *_, kind=kind: np.array([(0, 3), (4, 7)], dtype=kind), "")
        assert splitter.split(Document("d", "one two"), 1, 0, ruler).tolist() == [[0, 3], [4, 7]]


def test_a_module_that_ends_the_program_at_import_is_refused(module):
    with pytest.raises(HarnessError, match="SystemExit"):
        user.load(module("raise SystemExit(0)"), "here", [Path.cwd()])


def test_modules_of_one_name_in_two_folders_are_two(tmp_path):
    loaded = []
    for number in (1, 2):
        package = tmp_path / str(number) / "mine_twice"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("", "utf-8")
        (package / "helper.py").write_text(f"END = {number}\n", "utf-8")
        (package / "cuts.py").write_text("from .helper import END\n" + cut_of("yield 0, END"), "utf-8")
        loaded.append(user.load("python:mine_twice.cuts:cut", "here", [package.parent]))
    ruler = Ruler(one("one two"), "words")
    assert [s.cut(Document("d", "one two"), 1, 0, ruler).tolist() for s in loaded] == [[[0, 1]], [[0, 2]]]


def test_a_module_named_as_one_of_python_is_the_one_beside_the_file_and_python_keeps_its_own(tmp_path):
    import csv

    (tmp_path / "csv.py").write_text(cut_of("yield 0, 1"), "utf-8")
    assert user.load("python:csv:cut", "here", [tmp_path]).function.__module__ == "csv"
    assert sys.modules["csv"] is csv
    assert str(tmp_path) not in sys.path


def test_an_edited_module_is_read_anew_in_the_same_process(tmp_path):
    ruler = Ruler(one("one two"), "words")
    found = []
    for end in (3, 7):
        (tmp_path / "mine_edited.py").write_text(cut_of(f"yield 0, {end}"), "utf-8")
        found.append(user.load("python:mine_edited:cut", "here", [tmp_path]).cut(Document("d", "one two"), 1, 0, ruler).tolist())
    assert found == [[[0, 3]], [[0, 7]]]


def test_another_source_is_another_version(module):
    one_name, other = module(cut_of("yield 0, 1")), module(cut_of("yield 0, 2"))
    assert user.load(one_name, "", [Path.cwd()]).version != user.load(other, "", [Path.cwd()]).version


@pytest.mark.parametrize("name", list(SPLITTERS))
@given(text=awkward_text, size=st.integers(1, 30), share=st.floats(0, 0.9))
@law
def test_the_contract_finds_nothing_wrong_with_the_registry(name, text, size, share):
    document, overlap = Document("d", text), int(share * size)
    ruler = Ruler(one(text), "cl100k_base")
    spans = SPLITTERS[name].split(document, size, overlap, ruler)
    assert broken(Cut(document, spans, size, overlap, ruler, SPLITTERS[name].oversize, SPLITTERS[name].nested)) == []


@given(text=awkward_text, pairs=st.lists(st.tuples(st.integers(-2, 30), st.integers(-2, 40)), max_size=5))
@law
def test_what_the_contract_lets_pass_is_sound_by_a_slow_look(text, pairs):
    document, ruler = Document("d", text), Ruler(one(text), "words")
    spans = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    if broken(Cut(document, spans, 3, 1, ruler, False)):
        return
    assert all(0 <= s < e <= len(text) for s, e in pairs)
    assert pairs == sorted(pairs) and len({s for s, _ in pairs}) == len(pairs)
    covered = {i for s, e in pairs for i in range(s, e)}
    assert {i for i, c in enumerate(text) if not c.isspace()} <= covered
