"""`harness questions prompt|import|review|generate`: files, a terminal, and a model server that misbehaves."""

# ruff: noqa: E501 - an answer a line is easier to read

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from flow_project import Project, Ran, finished, free_port, wait_until

from harness import formats
from harness.experiment import load

KEY = "sk-test-0123456789abcdef"
MARTA = {"question": "Who can lend me the chainsaw?", "evidence": "only Marta keeps the key", "document": "garden"}
WATER = {
    "question": "At what time do tomatoes drink?",
    "evidence": "Tomatoes are  watered every morning before eight",
    "document": "garden",
}
COPIED = {"question": "Spades hang in the green shed?", "evidence": "Spades hang in the green shed.", "document": "garden"}
WRONG = {"question": "How warm is the oven?", "evidence": "Rye loaves bake at 200 degrees", "document": "kitchen"}
BREAD = {"question": "How long does rye stay in the oven?", "evidence": "fifty minutes", "document": "kitchen"}
LATHE = {
    "question": "Who may turn wood without company?",
    "evidence": "The lathe may be used alone only after the spring course",
    "document": "workshop",
}
POOL = {"question": "Is there a swimming pool?", "evidence": None}
GOOD: dict[str, list[dict[str, Any]]] = {"garden": [MARTA, WATER], "kitchen": [BREAD], "workshop": [LATHE]}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def questions(path: Path) -> list[str]:
    return [row["question"] for row in rows(path)]


@pytest.fixture
def file(bare: Project) -> Path:
    """A question file with three imported questions."""
    (bare.root / "garden.json").write_text(json.dumps([MARTA, COPIED, POOL]), "utf-8")
    assert bare.run("questions", "import", "exp.toml", "garden.json", "--out", "new.jsonl", "--date", "2026-05-04").code == 0
    return bare.root / "new.jsonl"


# prompt


def test_prompt_prints_one_for_each_document_below_a_line_that_names_it(bare: Project) -> None:
    ran = bare.run("questions", "prompt", "exp.toml", "--number", "3", "--unanswerable", "1")
    assert (ran.code, ran.err) == (0, "")
    assert re.findall(r"^=+ document '(\w+)': [\d,]+ characters =+$", ran.out, re.MULTILINE) == ["garden", "kitchen", "workshop"]
    assert ran.out.count("write 3 questions that this text answers, and then 1 that it does not answer") == 3
    assert "Tomatoes are watered every morning before eight." in ran.out


def test_prompt_writes_a_file_for_each_when_a_folder_is_named_and_says_which(bare: Project) -> None:
    ran = bare.run("questions", "prompt", "--corpus", "sections.csv", "--document", "kitchen", "--out", "prompts", "--json")
    (made,) = ran.json["prompts"]
    assert made == {
        "document_id": "kitchen",
        "part": 1,
        "parts": 1,
        "characters": made["characters"],
        "path": "prompts/kitchen.prompt.txt",
    }
    assert "Rye loaves bake" in (bare.root / made["path"]).read_text("utf-8")
    assert "kitchen.prompt.txt" in bare.run("questions", "prompt", "exp.toml", "--out", "prompts").out


def test_prompt_says_when_a_document_is_very_long_and_cuts_it_when_asked(bare: Project) -> None:
    (bare.root / "long.txt").write_text("A sentence of seven words stands here.\n\n" * 3000, "utf-8")
    ran = bare.run("questions", "prompt", "--corpus", "long.txt")
    assert ran.code == 0
    assert "document 'long.txt' has 119,998 characters" in ran.err
    assert "--most-characters" in ran.err
    cut = bare.run("questions", "prompt", "--corpus", "long.txt", "--most-characters", "50000", "--json").json["prompts"]
    assert [p["part"] for p in cut] == [1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "what", "fix"),
    [
        (["prompt"], "an experiment or --corpus is needed", "give one"),
        (["prompt", "exp.toml", "--corpus", "sections.csv"], "an experiment or --corpus is needed", "give one"),
        (["prompt", "exp.toml", "--document", "gardn"], "unknown document 'gardn'", "did you mean 'garden'"),
        (["prompt", "exp.toml", "--number", "0", "--unanswerable", "0"], "no question is asked for", "--number"),
        (["prompt", "--corpus", "nowhere.csv"], "no such file", "path"),
        (["import", "exp.toml", "--out", "new.jsonl"], "no file with answers is named", "- for standard input"),
        (["import", "exp.toml", "nowhere.json", "--out", "new.jsonl"], "can't be read (No such file or directory)", "files that hold the answers"),
        (["import", "exp.toml", "latin.json", "--out", "new.jsonl"], "not UTF-8", "save the answer as UTF-8"),
        (["import", "exp.toml", "prose.txt", "--out", "new.jsonl"], "no question was found; the answer begins 'I would rather not.'", "JSON array"),
        (["import", "exp.toml", "answer.json", "--out", "questions.csv"], "'questions.csv' is no .jsonl file", "name a .jsonl file"),
        (["import", "exp.toml", "answer.json", "--out", "torn.jsonl"], "not JSON at column 2", "one JSON object a line"),
        (["import", "exp.toml", "answer.json", "--out", "new.jsonl", "--document", "gardn"], "unknown document 'gardn'", "'garden'"),
        (["import", "exp.toml", "answer.json", "--out", "new.jsonl", "--date", "yesterday"], "'yesterday' does not match the format", "--help"),
        (["review", "exp.toml"], "'questions.csv' is no .jsonl file", "set 'reviewed' by hand"),
        (["review", "torn.jsonl"], "does not say where its documents are", "add --corpus PATH"),
        (["review", "new.jsonl", "--corpus", "sections.csv"], "no such question file", "harness questions import"),
        (["review", "exp.toml", "--corpus", "sections.csv"], "an experiment has a corpus of its own", "leave --corpus out"),
        (["review", "torn.jsonl", "--corpus", "sections.csv"], "not JSON at column 2", "one JSON object a line"),
        (["generate", "exp.toml", "--out", "new.jsonl", "--endpoint", "localhost:80", "--model", "m"], "'localhost:80' is no http address", "http://localhost:8000/v1"),
        (["generate", "exp.toml", "--out", "new.jsonl", "--endpoint", "http://u:pw@host:x/", "--model", "m"], "'http://***@host:x/' is no http address", "/chat/completions"),
        (["generate", "exp.toml", "--out", "new.csv", "--endpoint", "http://localhost/v1", "--model", "m"], "'new.csv' is no .jsonl file", "name a .jsonl file"),
        (["generate", "exp.toml", "--out", "new.jsonl", "--endpoint", "http://localhost/v1"], "Missing option '--model'", "--help"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_bad_input_is_told_once_with_its_remedy_and_nothing_is_written(
    bare: Project, arguments: list[str], what: str, fix: str
) -> None:
    (bare.root / "answer.json").write_text(json.dumps([MARTA]), "utf-8")
    (bare.root / "prose.txt").write_text("I would rather not.", "utf-8")
    (bare.root / "latin.json").write_bytes('[{"frage": "Für wen?"}]'.encode("latin-1"))
    (bare.root / "torn.jsonl").write_text("{question}\n", "utf-8")
    before = bare.tree()
    in_json, in_words = bare.run("questions", *arguments, "--json"), bare.run("questions", *arguments)
    assert (in_json.code, in_words.code) == (2, 2), in_json.out + in_json.err
    (error,) = in_json.json["errors"]
    assert what in error["what"]
    assert fix in error["fix"] + error["what"]
    assert in_words.err.count("error: ") == 1
    assert "Traceback" not in in_words.err
    assert "pw" not in in_words.err + in_json.out
    assert bare.tree() == before


# import


def test_import_keeps_the_verbatim_drops_the_rest_and_flags_copied_wording(bare: Project) -> None:
    (bare.root / "a.md").write_text(
        f"Here you are:\n```json\n{json.dumps([MARTA, COPIED, WRONG, {**BREAD, 'document': 'cellar'}])}\n```", "utf-8"
    )
    (bare.root / "kitchen.part1.json").write_text(json.dumps([POOL, {"question": "?!", "evidence": None}]), "utf-8")
    ran = bare.run(
        "questions", "import", "exp.toml", "a.md", "kitchen.part1.json", "--out", "new.jsonl", "--date", "2026-05-04", "--json"
    )
    assert (ran.code, ran.err) == (0, "")
    assert rows(bare.root / "new.jsonl") == [
        {"id": ran.json["added"][0], **MARTA, "source": "generated", "date": "2026-05-04", "reviewed": False},
        {"id": ran.json["added"][1], **COPIED, "source": "generated", "date": "2026-05-04", "reviewed": False},
        {
            "id": ran.json["added"][2],
            **POOL,
            "document": "kitchen",
            "source": "generated",
            "date": "2026-05-04",
            "reviewed": False,
        },
    ]
    told = [(d["where"], d["question"], d["what"], d["fix"]) for d in ran.json["dropped"]]
    assert told == [
        (
            "a.md question 3",
            WRONG["question"],
            "not verbatim: 'Rye loaves bake at 200 degrees' is not in document 'kitchen'",
            "nearest text: 'Rye loaves bake at two hundred' in document 'kitchen'",
        ),
        ("a.md question 4", BREAD["question"], "unknown document 'cellar'", "known: garden, kitchen, workshop"),
        ("kitchen.part1.json question 2", "?!", "question: it is empty", told[2][3]),
    ]
    assert [(f["where"], f["what"]) for f in ran.json["flagged"]] == [
        (ran.json["added"][1], "100% of its content words stand in its evidence's sentence")
    ]
    assert ran.json["unanswerable"] == 1


def test_import_in_words_lists_what_was_dropped_and_what_is_flagged(bare: Project) -> None:
    (bare.root / "a.json").write_text(json.dumps([MARTA, COPIED, WRONG]), "utf-8")
    ran = bare.run("questions", "import", "exp.toml", "a.json", "--out", "new.jsonl")
    assert "dropped: a.json question 3 'How warm is the oven?': not verbatim: 'Rye loaves bake at 200 degrees'" in ran.out
    assert re.search(r"flagged: q-\w+ 'Spades hang in the green shed\?': 100% of its content words", ran.out)
    assert "added to new.jsonl: 2 (0 unanswerable, 1 flagged); dropped: 1; there already: 0" in ran.out


def test_the_same_import_twice_adds_nothing_and_nothing_is_overwritten(bare: Project, file: Path) -> None:
    with file.open("a", encoding="utf-8") as more:
        more.write('{"frage": "Von Hand?",   "beleg": "the key", "dokument": "garden"}')
    before = file.read_bytes()
    ran = bare.run("questions", "import", "exp.toml", "garden.json", "--out", "new.jsonl", "--json")
    assert (ran.json["added"], len(ran.json["already"])) == ([], 3)
    assert file.read_bytes() == before
    (bare.root / "b.json").write_text(json.dumps([BREAD]), "utf-8")
    assert len(bare.run("questions", "import", "exp.toml", "b.json", "--out", "new.jsonl", "--json").json["added"]) == 1
    assert file.read_bytes().startswith(before + b"\n{")


def test_answers_come_from_standard_input_too_and_prompts_among_the_files_are_left_out(bare: Project) -> None:
    bare.run("questions", "prompt", "exp.toml", "--out", ".")
    command = [sys.executable, "-m", "harness", "questions", "import", "--corpus", "sections.csv", "-", "garden.prompt.txt"]
    command += ["--document", "garden", "--out", "new.jsonl", "--json", "--source", "written"]
    answer = json.dumps([{"frage": MARTA["question"], "beleg": MARTA["evidence"]}, POOL], ensure_ascii=False)
    ran = subprocess.run(command, cwd=bare.root, input=answer.encode("utf-16"), capture_output=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert len(json.loads(ran.stdout)["added"]) == 2
    assert {(r["document"], r["source"]) for r in rows(bare.root / "new.jsonl")} == {("garden", "written")}


def test_what_was_imported_can_be_checked_as_it_is(bare: Project, file: Path) -> None:
    bare.configure(data={"format": "jsonl", "questions": "new.jsonl", "split": {"holdout": 0, "seed": 7}})
    checked = bare.ok("check")
    assert checked["questions"] == {"dev": 2, "holdout": 0, "unanswerable": {"dev": 1, "holdout": 0}}
    labelled = formats.load(load(bare.file).source)
    assert [(q.source, q.date, q.reviewed) for q in labelled.dev] == [("generated", "2026-05-04", False)] * 3


def test_imports_at_the_same_time_lose_nothing(bare: Project) -> None:
    for number in range(4):
        entries = [{**MARTA, "question": f"Who has key number {number}{letter}?"} for letter in "abc"]
        (bare.root / f"{number}.json").write_text(json.dumps(entries), "utf-8")
    running = [bare.start("questions", "import", "exp.toml", f"{number}.json", "--out", "new.jsonl") for number in range(4)]
    assert [finished(process).code for process in running] == [0] * 4
    assert len(rows(bare.root / "new.jsonl")) == 12
    assert [p.name for p in bare.root.glob(".new*")] == []


# review


def reviewed(project: Project, keys: str, *arguments: str) -> Ran:
    """A review in this process, its answers from a standard input that is no terminal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(keys))
        return project.run("questions", "review", *(arguments or ("new.jsonl", "--corpus", "sections.csv")))


def test_review_shows_each_question_with_its_evidence_in_its_document_and_saves_what_was_said(bare: Project, file: Path) -> None:
    ran = reviewed(bare, "k\nd\ns\n")
    assert ran.code == 0
    assert "1 of 3" in ran.err
    assert "The chainsaw is locked away and >>>only Marta keeps the key<<<. Blunt shears" in ran.err
    assert "100% of its content words stand in its evidence's sentence" in ran.err
    assert "no evidence: no document may answer it" in ran.err
    assert "kept: 1, dropped: 1, skipped: 1" in ran.out
    assert "left to review: 1" in ran.out
    assert [(r["question"], r["reviewed"]) for r in rows(file)] == [(MARTA["question"], True), (POOL["question"], False)]
    assert questions(bare.root / "new.dropped.jsonl") == [COPIED["question"]]


def test_review_of_an_experiment_is_of_its_own_file_and_only_of_what_nobody_read(bare: Project, file: Path) -> None:
    bare.configure(data={"format": "jsonl", "questions": "new.jsonl"})
    assert reviewed(bare, "k\n", "exp.toml", "--json").json["left"] == 2
    again = reviewed(bare, "k\nk\n", "exp.toml", "--json").json
    assert (len(again["kept"]), again["left"]) == (2, 0)
    assert reviewed(bare, "", "exp.toml", "--json").json["kept"] == []
    everything = reviewed(bare, "s\ns\nd\n", "exp.toml", "--all", "--json").json
    assert (len(everything["skipped"]), len(everything["dropped"])) == (2, 1)


def test_a_reworded_question_shows_its_copied_share_again_and_keeps_its_old_wording(bare: Project, file: Path) -> None:
    ran = reviewed(bare, "s\nr\nWhere do the diggers live?\nk\n")
    assert ran.err.index("100% of its") < ran.err.index("0% of its content words", ran.err.index("Where do the diggers"))
    row = rows(file)[1]
    assert (row["question"], row["reworded_from"], row["reviewed"]) == ("Where do the diggers live?", COPIED["question"], True)
    back = reviewed(bare, "r\nAnd a third wording?\nq\n", "new.jsonl", "--corpus", "sections.csv", "--all")
    assert back.code == 0
    assert rows(file)[0]["reviewed"] is False, "a wording that nobody confirmed is not reviewed"
    imported = bare.run("questions", "import", "exp.toml", "garden.json", "--out", "new.jsonl", "--json").json
    assert imported["added"] == [], "what was reworded is not imported again"


def test_a_dropped_question_is_not_imported_again(bare: Project, file: Path) -> None:
    reviewed(bare, "d\n")
    ran = bare.run("questions", "import", "exp.toml", "garden.json", "--out", "new.jsonl", "--json").json
    assert ran["added"] == []
    assert "dropped in review as" in ran["already"][0]["what"]


def test_another_quote_must_stand_in_the_document(bare: Project, file: Path) -> None:
    ran = reviewed(bare, "e\nonly Martha has a key\n\nk\ne\n\ne\nthe chainsaw is\nLOCKED away\n\nk\n")
    assert "not possible: that text is not in document 'garden'; nearest text:" in ran.err
    assert rows(file)[0]["evidence"] == "only Marta keeps the key", "it was kept before the second try"
    assert rows(file)[1]["evidence"] == "The chainsaw is locked away"


def test_an_unanswerable_question_gets_evidence_where_a_reader_finds_some(bare: Project, file: Path) -> None:
    (bare.root / "b.json").write_text(json.dumps([{"question": "What becomes of blackened bread?", "evidence": None}]), "utf-8")
    bare.run("questions", "import", "exp.toml", "b.json", "--out", "new.jsonl")
    ran = reviewed(bare, "s\ns\ns\ne\nBurnt loaves are fed to the neighbour's hens\n\nk\n")
    assert ran.code == 0
    row = rows(file)[3]
    assert (row["evidence"], row["document"], row["reviewed"]) == (
        "Burnt loaves are fed to the neighbour's hens",
        "kitchen",
        True,
    )


def test_a_question_whose_evidence_has_gone_can_not_be_kept(bare: Project, file: Path) -> None:
    file.write_text(file.read_text("utf-8").replace("only Marta keeps", "only Martha keeps"), "utf-8")
    ran = reviewed(bare, "k\nd\n")
    assert "is not in document 'garden'" in ran.err
    assert "not possible: something is wrong with it; mend or drop it" in ran.err
    assert MARTA["question"] not in questions(file)


def test_the_same_wording_as_another_question_is_not_possible(bare: Project, file: Path) -> None:
    ran = reviewed(bare, f"r\n{COPIED['question'].upper()}\nr\n\nx\nk\n")
    assert "asks the same; word it differently" in ran.err
    assert "'x' is none of the keys" in ran.err
    assert rows(file)[0]["question"] == MARTA["question"]


def test_what_steers_a_terminal_is_not_passed_on(bare: Project) -> None:
    (bare.root / "notes.txt").write_text("Press \x1b[2J\x07 to clear\r\nthe screen.\n", "utf-8")
    (bare.root / "a.json").write_text(
        json.dumps([{"question": "How \x1b[31mdo I clear it?", "evidence": "Press \x1b[2J"}]), "utf-8"
    )
    assert bare.run("questions", "import", "--corpus", "notes.txt", "a.json", "--out", "new.jsonl").code == 0
    ran = reviewed(bare, "s\n", "new.jsonl", "--corpus", "notes.txt")
    assert "\x1b" not in ran.err + ran.out
    assert "Press \ufffd[2J" in ran.err


def test_review_works_in_a_pipe(bare: Project, file: Path) -> None:
    command = [sys.executable, "-m", "harness", "questions", "review", "new.jsonl", "--corpus", "sections.csv", "--json"]
    ran = subprocess.run(command, cwd=bare.root, input="k\n", capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "file": "new.jsonl",
        "kept": [rows(file)[0]["id"]],
        "dropped": [],
        "reworded": [],
        "edited": [],
        "skipped": [],
        "left": 2,
    }


class Terminal:
    """A process in a terminal of its own."""

    def __init__(self, command: list[str], cwd: Path) -> None:
        self.master, slave = pty.openpty()
        env = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
        self.process = subprocess.Popen(
            command, cwd=cwd, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True
        )
        os.close(slave)
        self.seen = ""

    def wait_for(self, text: str) -> None:
        def found() -> bool:
            if select.select([self.master], [], [], 0.05)[0]:
                with contextlib.suppress(OSError):  # the other end is closed
                    self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
            return text in self.seen

        try:
            wait_until(found, 30)
        finally:
            self.seen = self.seen.partition(text)[2] if text in self.seen else self.seen

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())


def test_in_a_terminal_single_keys_do_and_an_interrupt_leaves_what_was_saved(bare: Project, file: Path) -> None:
    terminal = Terminal(
        [sys.executable, "-m", "harness", "questions", "review", "new.jsonl", "--corpus", "sections.csv"], bare.root
    )
    terminal.wait_for("Who can lend me the chainsaw?")
    terminal.wait_for("\x1b[")  # colours
    terminal.wait_for("quit")
    terminal.type("k")
    terminal.wait_for("Spades hang in the green shed?")
    terminal.wait_for("quit")
    terminal.type("r")
    terminal.wait_for("its new wording")
    terminal.type("Wo wohnen die Späten?\n")
    terminal.wait_for("first worded")
    terminal.wait_for("quit")
    terminal.type("\x03")
    terminal.wait_for("interrupted; what was computed is kept")
    assert terminal.process.wait(20) == 130
    assert [(r["question"], r["reviewed"]) for r in rows(file)][:2] == [
        (MARTA["question"], True),
        ("Wo wohnen die Späten?", False),
    ]


def test_what_is_pasted_beyond_a_quote_does_not_count_as_keys(bare: Project, file: Path) -> None:
    terminal = Terminal(
        [sys.executable, "-m", "harness", "questions", "review", "new.jsonl", "--corpus", "sections.csv"], bare.root
    )
    terminal.wait_for("quit")
    terminal.type("e")
    terminal.wait_for("paste another quote")
    terminal.type("The chainsaw is\nlocked away\n\nkept in a drawer, dropped\n")
    terminal.wait_for("changed")
    terminal.wait_for("quit")
    terminal.type("q")
    terminal.wait_for("left to review: 3")
    assert terminal.process.wait(20) == 0
    assert next((r["evidence"], r["reviewed"]) for r in rows(file)) == ("The chainsaw is locked away", False)


# generate

Step = Callable[["Handler", list[dict[str, Any]]], None]


def completion(content: Any, finish: str = "stop", **message: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}],
        "usage": usage,
    }


def says(content: Any, finish: str = "stop", **message: Any) -> Step:
    return lambda handler, _: handler.send(200, completion(content, finish, **message))


def fails(status: int, what: str = "no", **headers: str) -> Step:
    return lambda handler, _: handler.send(status, {"error": {"message": what, "code": None}}, **headers)


def sends(body: str, kind: str = "application/json") -> Step:
    return lambda handler, _: handler.send_raw(200, body.encode(), kind)


def hangs(seconds: float) -> Step:
    return lambda handler, _: handler.server.over.wait(seconds)  # type: ignore[attr-defined]


def drops(handler: Handler, _: Any) -> None:
    """Promises more than it sends, and hangs up."""
    handler.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{"choices": [')
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def good(handler: Handler, messages: list[dict[str, Any]]) -> None:
    handler.send(200, completion(json.dumps(GOOD[handler.asked_about(messages)])))


class Handler(BaseHTTPRequestHandler):
    """Answers about each document as its script says, one step a request, then well."""

    protocol_version = "HTTP/1.1"
    server: Model

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        document = self.asked_about(body["messages"])
        self.server.requests.append({"path": self.path, "key": self.headers["Authorization"], "document": document, **body})
        steps = self.server.script.get(document, [])
        with contextlib.suppress(OSError):
            (steps.pop(0) if steps else good)(self, body["messages"])

    @staticmethod
    def asked_about(messages: list[dict[str, Any]]) -> str:
        return str(re.findall(r'"document": "([^"]*)"', messages[0]["content"])[-1])

    def send(self, status: int, value: Any, **headers: str) -> None:
        self.send_raw(status, json.dumps(value).encode(), "application/json", **headers)

    def send_raw(self, status: int, body: bytes, kind: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


class Model(ThreadingHTTPServer):
    """A server that looks like a language model's."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: dict[str, list[Step]] = {}
        self.requests: list[dict[str, Any]] = []
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def asked(self, document: str) -> int:
        return sum(r["document"] == document for r in self.requests)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_LOG", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with Model() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield server
        server.over.set()
        server.shutdown()
        thread.join(10)


def generated(project: Project, model: Model, *arguments: str, url: str = "") -> Ran:
    options = ("--out", "new.jsonl", "--endpoint", url or model.url, "--model", "fable-7b", *arguments)
    return project.run("questions", "generate", "exp.toml", *options)


def test_generate_asks_about_every_document_and_adds_what_is_verbatim(bare: Project, model: Model) -> None:
    ran = generated(bare, model, "--json")
    assert ran.code == 0, ran.out + ran.err
    done = ran.json
    assert sorted(done["asked"]) == ["garden", "kitchen", "workshop"]
    assert (len(done["added"]), done["dropped"], done["failed"], done["skipped"]) == (4, [], [], [])
    assert (done["tokens"], done["uncounted"]) == ({"prompt_tokens": 300, "completion_tokens": 30}, 0)
    for row in rows(bare.root / "new.jsonl"):
        assert (row["source"], row["model"], row["reviewed"]) == ("generated", "fable-7b", False)
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", row["date"])
    assert {r["path"] for r in model.requests} == {"/v1/chat/completions"}
    assert {r["model"] for r in model.requests} == {"fable-7b"}
    assert re.search(r"^[123]/3 garden: 2 added, 0 dropped$", ran.err, re.MULTILINE)


def test_generate_in_words_ends_with_what_it_did_and_what_it_cost(bare: Project, model: Model) -> None:
    model.script["kitchen"] = [says(json.dumps([BREAD, WRONG]))]
    out = generated(bare, model).out
    assert "dropped: document 'kitchen' question 2 'How warm is the oven?': not verbatim" in out
    assert "asked about 3 documents, 0 left out; tokens: 300 read, 30 written" in out
    assert "added to new.jsonl: 4 (0 unanswerable, 0 flagged); dropped: 1; there already: 0" in out


@pytest.mark.parametrize("key", [KEY, None], ids=["a key", "no key"])
def test_the_key_is_the_environments_and_is_shown_nowhere(
    bare: Project, model: Model, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    if key:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    model.script["kitchen"] = [
        fails(400, f"key {KEY} may not ask this"),
    ]
    ran = generated(bare, model, "--json", "--retries", "0")
    assert ran.code == 0
    assert KEY not in ran.out + ran.err + "".join(v.decode("utf-8", "replace") for v in bare.tree().values())
    assert "key *** may not ask this" in ran.json["failed"][0]["what"]
    assert {r["key"] for r in model.requests} == {f"Bearer {key or 'none'}"}


SOON = {"retry_after_ms": "1"}
RECOVERS: dict[str, list[Step]] = {
    "rate-limited, then fine": [fails(429, "slow down", **SOON)],
    "failing, then fine": [fails(500, **SOON), fails(503, **SOON)],
    "hanging up in the middle, then fine": [drops],
    "prose, then JSON": [says("I would rather talk about hens.")],
    "torn JSON, then whole": [says('[{"question": "How long')],
    "nothing, then JSON": [says("")],
    "fenced": [says(f"```json\n{json.dumps(GOOD['kitchen'])}\n```")],
    "in prose": [says(f"Of course. {json.dumps(GOOD['kitchen'])} Anything else?")],
    "after reasoning": [says(f"<think>[1] hm</think>{json.dumps(GOOD['kitchen'])}")],
    "content in parts": [says([{"type": "text", "text": json.dumps(GOOD["kitchen"])}])],
    "another document's name": [says(json.dumps([{**BREAD, "document": "garden"}]))],
    "a reply without usage": [lambda h, _: h.send(200, {"choices": completion(json.dumps(GOOD["kitchen"]))["choices"]})],
}  # fmt: skip


@pytest.mark.parametrize("steps", RECOVERS.values(), ids=RECOVERS.keys())
def test_a_server_that_recovers_or_wraps_its_answer_costs_no_question(bare: Project, model: Model, steps: list[Step]) -> None:
    model.script["kitchen"] = list(steps)
    done = generated(bare, model, "--json").json
    assert (done["failed"], done["dropped"]) == ([], [])
    assert sorted(questions(bare.root / "new.jsonl")) == sorted(q["question"] for qs in GOOD.values() for q in qs)


def test_a_malformed_answer_is_asked_for_once_more_with_what_was_wrong(bare: Project, model: Model) -> None:
    model.script["kitchen"] = [says("Hens!")]
    done = generated(bare, model, "--document", "kitchen", "--json").json
    first, second = (r["messages"] for r in model.requests)
    assert second[:2] == [*first, {"role": "assistant", "content": "Hens!"}]
    assert "no question was found; the answer begins 'Hens!'" in second[2]["content"]
    assert done["tokens"]["prompt_tokens"] == 200


FAILS: dict[str, tuple[list[Step], str, str, int]] = {
    "rate-limited without end": ([fails(429, "slow down", **SOON)] * 9, "rate limit holds, after 2 tries (429: ", "--concurrency", 2),
    "failing without end": ([fails(500, "oops", **SOON)] * 9, "the endpoint fails, after 2 tries (500: ", "log", 2),
    "hanging": ([hangs(20)] * 9, "no answer within 1.5 s, after 2 tries", "--timeout", 2),
    "hanging up without end": ([drops] * 9, "can't be reached, after 2 tries", "that the server runs", 2),
    "too long": ([fails(400, "maximum context length is 4096")], "maximum context length is 4096", "--most-characters", 1),
    "malformed twice": ([says("Hens!"), says("More hens!")], "the answer begins 'More hens!'; it was asked once more", "another model", 2),
    "no choice": ([lambda h, _: h.send(200, {"choices": []})], "an answer without a choice", "another model", 1),
    "choices that are null": ([lambda h, _: h.send(200, {"choices": None})], "no chat completion (choices: input should be a valid array)", "/v1", 1),
    "another object": ([lambda h, _: h.send(200, {"hello": 1})], "no chat completion (choices: field required)", "/v1", 1),
    "no object": ([lambda h, _: h.send(200, [1])], "no chat completion", "/v1", 1),
    "torn JSON of its own": ([sends('{"choices": [')], "no chat completion", "/v1", 1),
    "a web page": ([sends("<html>hello</html>", "text/html")], "no chat completion", "/v1", 1),
    "an empty body": ([sends("")], "no chat completion", "/v1", 1),
    "a refusal": ([says(None, refusal="I can't help with ovens.")], "the model refused: I can't help with ovens.", "by hand", 1),
    "a filter": ([says("", "content_filter")], "the model refused: a filter stopped the answer", "by hand", 1),
    "cut off before the first question": ([says('[{"question": "How', "length")], "cut off at the model's limit; 0 questions were whole", "--number", 1),
}  # fmt: skip


@pytest.mark.parametrize(("steps", "what", "fix", "requests"), FAILS.values(), ids=FAILS.keys())
def test_what_fails_is_listed_and_the_other_documents_are_imported(
    bare: Project, model: Model, steps: list[Step], what: str, fix: str, requests: int
) -> None:
    model.script["kitchen"] = list(steps)
    bare_run = generated(bare, model, "--json", "--retries", "1", "--timeout", "1.5", "--concurrency", "1")
    assert bare_run.code == 0, bare_run.out
    (failed,) = bare_run.json["failed"]
    assert failed["where"] == "document 'kitchen'"
    assert what in failed["what"]
    assert fix in failed["fix"]
    assert model.asked("kitchen") == requests
    assert len(questions(bare.root / "new.jsonl")) == 3, "garden and workshop"


def test_where_no_answer_can_be_had_at_all_the_exit_code_is_2_and_nothing_is_written(bare: Project, model: Model) -> None:
    model.script = {d: [says("Hens!")] * 2 for d in GOOD}
    before = bare.tree()
    ran = generated(bare, model, "--json")
    assert ran.code == 2
    assert len(ran.json["errors"]) == 3
    assert bare.tree() == before
    assert generated(bare, model).code == 0, "the server has recovered"


@pytest.mark.parametrize(
    ("status", "what", "fix"),
    [(401, "the endpoint refuses the key (401", "export OPENAI_API_KEY"), (403, "the endpoint refuses the key (403", "export"), (404, "no such model or address (404", "/v1")],
)  # fmt: skip
def test_a_refusal_that_holds_for_every_document_ends_the_asking(
    bare: Project, model: Model, status: int, what: str, fix: str
) -> None:
    model.script = {d: [fails(status)] * 9 for d in GOOD}
    ran = generated(bare, model, "--json", "--concurrency", "1")
    assert ran.code == 2
    refusal, rest = ran.json["errors"]
    assert what in refusal["what"]
    assert fix in refusal["fix"]
    assert "2 more documents were not asked about" in rest["what"]
    assert len(model.requests) == 1


def test_a_server_that_is_not_there_is_told_once(bare: Project, model: Model) -> None:
    url = f"http://me:secret@127.0.0.1:{free_port()}/v1"
    ran = generated(bare, model, "--json", "--retries", "1", "--concurrency", "1", url=url)
    assert ran.code == 2
    assert [e["where"] for e in ran.json["errors"]] == ["document 'garden'", "generate"]
    assert re.search(
        r"http://\*\*\*@127.0.0.1:\d+/v1 can't be reached, after 2 tries \(.*refused\)", ran.json["errors"][0]["what"]
    )
    assert "secret" not in ran.out + ran.err


def test_whole_questions_of_an_answer_that_was_cut_off_are_kept(bare: Project, model: Model) -> None:
    model.script["garden"] = [says(json.dumps([MARTA, WATER])[:-20], "length")]
    done = generated(bare, model, "--document", "garden", "--json").json
    assert questions(bare.root / "new.jsonl") == [MARTA["question"]]
    assert "1 questions were whole" in done["failed"][0]["what"]
    assert "not JSON from" in done["dropped"][0]["what"]


def test_documents_with_questions_from_the_model_are_left_out_unless_asked_again(bare: Project, model: Model) -> None:
    generated(bare, model, "--document", "garden")
    second = generated(bare, model, "--json")
    assert (second.json["skipped"], sorted(second.json["asked"])) == (["garden"], ["kitchen", "workshop"])
    assert "left out: 1 document that has questions from fable-7b already" in second.err
    third = generated(bare, model, "--json").json
    assert (third["asked"], len(third["skipped"])) == ([], 3)
    model.script["garden"] = [says(json.dumps([MARTA, COPIED]))]
    again = generated(bare, model, "--again", "--document", "garden", "--json").json
    assert (again["asked"], len(again["added"]), len(again["already"])) == (["garden"], 1, 1)
    other = bare.run(
        "questions", "generate", "exp.toml", "--out", "new.jsonl", "--endpoint", model.url, "--model", "other", "--json"
    )
    assert len(other.json["asked"]) == 3


def test_a_document_all_of_whose_questions_were_dropped_in_review_is_left_out_too(bare: Project, model: Model) -> None:
    generated(bare, model, "--document", "kitchen")
    reviewed(bare, "d\n")
    assert generated(bare, model, "--document", "kitchen", "--json").json["skipped"] == ["kitchen"]


def test_parts_of_a_document_are_asked_about_one_by_one_and_imported_together(bare: Project, model: Model) -> None:
    model.script["garden"] = [says(json.dumps([WATER])), says("Hens!"), says("Hens!"), says(json.dumps([MARTA]))]
    done = generated(bare, model, "--document", "garden", "--most-characters", "250", "--json").json
    assert questions(bare.root / "new.jsonl") == [WATER["question"], MARTA["question"]]
    assert done["failed"][0]["where"] == "document 'garden', part 2 of 3"


def test_an_interrupt_keeps_what_was_answered_and_waits_for_nothing(bare: Project, model: Model) -> None:
    model.script["workshop"] = [hangs(60)]
    command = ("questions", "generate", "exp.toml", "--out", "new.jsonl", "--endpoint", model.url, "--model", "fable-7b")
    process = bare.start(*command, "--concurrency", "1")
    wait_until(lambda: model.asked("workshop"))
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    ran = finished(process)
    assert ran.code == 130
    assert time.monotonic() - began < 10
    assert "Traceback" not in ran.err
    assert len(questions(bare.root / "new.jsonl")) == 3
    assert generated(bare, model, "--json").json["asked"] == ["workshop"]


def test_without_the_openai_package_one_fault_names_what_to_install(
    bare: Project, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    before = bare.tree()
    ran = generated(bare, model, "--json")
    assert ran.code == 2
    (error,) = ran.json["errors"]
    assert error == {
        "where": "generate",
        "what": "the openai package is not installed",
        "fix": "pip install 'chunking-harness[openai]'",
    }
    assert (bare.tree(), model.requests) == (before, [])


@pytest.mark.parametrize("key", ["two words", "schlüssel", "line\nbreak"])
def test_a_key_that_can_be_none_is_told_without_showing_it(
    bare: Project, model: Model, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    ran = generated(bare, model, "--json")
    assert (ran.code, ran.json["errors"][0]["where"]) == (2, "OPENAI_API_KEY")
    assert key not in ran.out + ran.err


def test_a_bug_while_asking_keeps_its_traceback(bare: Project, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.answers.read", lambda text, name: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        generated(bare, model)
