"""The vector cache: it returns what the model gives, whatever was kept, damaged, killed or written by others meanwhile."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import ask, chunked, law, one, place
from making_vectors import Digests

from harness import mounts
from harness.embedders import cache, vector_store
from harness.embedders.cache import BLOCK, Cached, cached, uncached
from harness.embedders.lexical import NoOptions, TermFrequency, Tfidf
from harness.embedders.vector_file import page_bytes, pages
from harness.embedders.vector_store import Model, VectorStore
from harness.errors import HarnessError
from harness.pipeline import Scoring, evaluate

TESTS = Path(__file__).parent
TEXTS = [f"sentence {i} of a longer text" for i in range(300)]
M = Model("f" * 64, "m", 64)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Callable[..., VectorStore]]:
    """Opens the file `v.db`, anew each time, as another process would."""
    opened = []

    def another(limit: int | None = None, path: Path = tmp_path / "v.db") -> VectorStore:
        opened.append(VectorStore(path, limit))
        return opened[-1]

    yield another
    for one_of_them in opened:
        one_of_them.close()


def by(inner: Digests, kept: VectorStore, said: list[str] | None = None) -> Cached:
    return Cached(inner, kept, pytest.fail if said is None else said.append)


def child(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A process that runs code with `Digests` and the store's modules at hand."""
    head = "import os, signal, sys\nimport numpy as np\nfrom making_vectors import Digests\nfrom pathlib import Path\n"
    head += "from harness.embedders import cache, vector_store\nfrom harness.embedders.vector_store import VectorStore\n"
    command = [sys.executable, "-c", head + code, *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(TESTS)}
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def done(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


# what it returns


def test_what_was_embedded_once_is_read_and_not_embedded_again(store):
    first, second = Digests(), Digests()
    made = by(first, store()).embed(TEXTS, "document")
    read = by(second, store()).embed(TEXTS, "document")
    assert (len(first.asked), second.asked) == (300, [])
    assert (made.dtype, made.shape) == (np.float32, (300, 64))
    assert read.dtype == np.float32
    assert read.tobytes() == made.tobytes() == Digests().embed(TEXTS, "document").tobytes()
    read[0] = 0  # a caller may normalise in place


odd = st.one_of(
    st.sampled_from(["", "a", "b", "\0", "a\0", "\ud800", "a\udfffb", "\U0001f469", "é", "e\u0301"]), st.text(max_size=5)
)
asked = st.lists(st.tuples(st.sampled_from(["document", "query"]), st.lists(odd, max_size=12)), max_size=5)


@law
@given(asked)
def test_whatever_is_asked_in_whatever_order_the_vectors_are_the_inner_embedders(tmp_path_factory, calls):
    plain, inner = Digests(), Digests()
    kept = VectorStore(tmp_path_factory.mktemp("law") / "v.db")
    wrapped = by(inner, kept)
    for role, texts in calls:
        before = wrapped.held(texts, role)
        embedded = len(inner.asked)
        found = wrapped.embed(texts, role)
        assert found.tobytes() == plain.embed(texts, role).tobytes()
        assert found.shape == (len(texts), 64)
        assert len(inner.asked) - embedded == len({t for t, at_hand in zip(texts, before, strict=True) if not at_hand})
        assert wrapped.held(texts, role).all()
    kept.close()


def test_another_model_another_role_and_another_prompt_read_nothing_of_each_others(store):
    by(Digests("m"), store()).embed(TEXTS[:3], "document")
    for inner, role in (
        (Digests("n"), "document"),
        (Digests("m"), "query"),
        (Digests("m", document_prompt="passage: "), "document"),
    ):
        wrapped = by(inner, store())
        assert not wrapped.held(TEXTS[:3], role).any()
        assert wrapped.embed(TEXTS[:3], role).tobytes() == Digests(inner.model).embed(TEXTS[:3], role).tobytes()
        assert inner.asked == TEXTS[:3]


def test_parts_of_a_key_can_not_run_into_each_other():
    made = [
        cache.keys(Digests("m", query_prompt=prompt).identity, "query", [text])[0]
        for prompt, text in (("ab", "c"), ("a", "bc"), ("", "abc"))
    ]
    assert len(set(made)) == 3


def test_another_similarity_reads_the_same_vectors(store):
    corpus = one("The gate shuts at six. The attic opens at nine.")
    chunking = chunked(corpus, (0, 0, 22), (0, 23, 47))
    question = ask("When?", place(corpus["d"], "The gate"))
    first, second = Digests(), Digests()
    evaluate(chunking, [question], by(first, store()), Scoring("cosine", (1,)))
    evaluate(chunking, [question], by(second, store()), Scoring("dot", (1,)))
    assert sorted(set(first.asked)) == sorted({*chunking.texts(), "When?"})
    assert second.asked == []


def test_what_is_not_finite_is_returned_and_not_kept(store):
    class Broken(Digests):
        def embed(self, texts, role):
            vectors = super().embed(texts, role)
            vectors[[t == "bad" for t in texts], 7] = np.nan
            return vectors

    wrapped = by(Broken(), store())
    found = wrapped.embed(["good", "bad"], "document")
    assert np.isnan(found).any(axis=1).tolist() == [False, True]
    assert wrapped.held(["good", "bad"], "document").tolist() == [True, False]


def test_only_dense_vectors_that_are_learnt_from_nothing_are_kept():
    for embedder in (Tfidf.load(NoOptions()), TermFrequency.load(NoOptions())):
        assert cached(embedder) is embedder is uncached(embedder)
    wrapped = cached(inner := Digests())
    assert isinstance(wrapped, Cached)
    assert uncached(wrapped) is inner
    assert wrapped.fit(TEXTS) is wrapped

    class Learning(Digests):
        def fit(self, texts):
            return Digests("fitted")

    assert isinstance(cached(Learning()).fit(TEXTS), Digests)


# killed, forked, several


DIES = """
texts = [f"sentence {i} of a longer text" for i in range(100_000)]
real = vector_store.connect
def dying(path):
    db = real(path)
    db.set_progress_handler(lambda: os.kill(os.getpid(), signal.SIGKILL), int(sys.argv[2])) if int(sys.argv[2]) else None
    return db
vector_store.connect = dying
wrapped = cache.Cached(Digests(), VectorStore(Path(sys.argv[1])), print)
for at in range(0, len(texts), cache.BLOCK):
    wrapped.embed(texts[at : at + cache.BLOCK], "document")
    print(at + cache.BLOCK, flush=True)
"""


def test_a_writer_that_is_killed_loses_its_last_batch_at_most_and_leaves_no_wrong_vector(store, tmp_path):
    texts = [f"sentence {i} of a longer text" for i in range(100_000)]
    path, reported = tmp_path / "v.db", 0
    for steps in (0, 900, 17_000, 0, 60_000, 250_000, 0):  # of SQLite's machine, after which it dies; 0: from outside
        process = child(DIES, path, steps)
        written = []
        while line := process.stdout.readline():
            written.append(int(line))
            if not steps and len(written) == 12:
                time.sleep(0.003)
                process.kill()
        process.wait(30)
        process.stdout.close()
        process.stderr.close()
        assert process.returncode == -signal.SIGKILL
        reported = max([reported, *written])
        found = by(Digests(), store()).held(texts, "document")
        assert found[:reported].all()
        assert found.sum() % BLOCK == 0, "a batch is there whole or not at all"
        whole, there = Digests(), [t for t, h in zip(texts, found, strict=True) if h]
        assert by(whole, store()).embed(there, "document").tobytes() == Digests().embed(there, "document").tobytes()
        assert whole.asked == []
    assert reported >= 12 * BLOCK


SHARES = """
class Own(Digests):
    # Another process's arithmetic, whose last bits differ.
    def embed(self, texts, role):
        return super().embed(texts, role) + np.float32(os.getpid() % 97) / 128
texts = [f"sentence {i} of a longer text" for i in range(3000)]
mixed = texts[:: int(sys.argv[2])] + texts
found = cache.Cached(Own(), VectorStore(Path(sys.argv[1])), sys.exit).embed(mixed, "document")
assert (np.abs(found - Digests().embed(mixed, "document")) <= 1).all()
import hashlib; print(hashlib.sha256(found[-3000:].tobytes()).hexdigest())
"""


def test_several_processes_that_begin_at_once_make_one_file_and_get_the_same_vectors(store, tmp_path):
    processes = [child(SHARES, tmp_path / "v.db", step) for step in (1, -1, 7)]
    assert len({done(p) for p in processes}) == 1, "where two computed a text, both return what was kept first"
    (kept,) = store().models()
    assert kept.vectors == 3000


def test_what_another_process_kept_first_stays(store):
    mine, theirs = np.ones(64, "<f4").tobytes(), np.zeros(64, "<f4").tobytes()
    first, second = store(), store()
    assert first.keep(M, {b"k" * 32: theirs}) == {b"k" * 32: theirs}
    assert second.keep(M, {b"k" * 32: mine, b"l" * 32: mine}) == {b"k" * 32: theirs, b"l" * 32: mine}
    assert first.read([b"l" * 32, b"k" * 32]) == {b"k" * 32: theirs, b"l" * 32: mine}


def _embedded(wrapped: Cached, texts: list[str]) -> bytes:
    return wrapped.embed(texts, "document").tobytes()


def _send(wrapped: Cached, texts: list[str], queue: Any) -> None:
    queue.put(_embedded(wrapped, texts))


def test_forked_processes_and_other_threads_go_on_with_the_same_cache(store):
    wrapped, plain, forks = by(Digests(), store()), Digests(), multiprocessing.get_context("fork")
    wrapped.embed(TEXTS[:100], "document")
    parts, queues = [TEXTS[:150], TEXTS[50:250], TEXTS[200:]], [forks.SimpleQueue() for _ in range(3)]
    processes = [forks.Process(target=_send, args=(wrapped, p, q)) for p, q in zip(parts, queues, strict=True)]
    for process in processes:
        process.start()
    assert [q.get() for q in queues] == [plain.embed(p, "document").tobytes() for p in parts]
    for process in processes:
        process.join(30)
        assert process.exitcode == 0
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda i: _embedded(wrapped, TEXTS[i : i + 60]), range(0, 240, 10)))
    assert found == [plain.embed(TEXTS[i : i + 60], "document").tobytes() for i in range(0, 240, 10)]


# damage and trouble


def test_a_damaged_vector_is_a_miss_and_is_replaced(store, tmp_path):
    kept = store()
    by(Digests(), kept).embed(TEXTS, "document")
    kept.close()
    data = bytearray((tmp_path / "v.db").read_bytes())
    at = data.index(Digests().embed([TEXTS[7]], "document").tobytes())
    data[at + 5] ^= 1
    (tmp_path / "v.db").write_bytes(data)

    inner = Digests()
    found = by(inner, store()).embed(TEXTS, "document")
    assert found.tobytes() == Digests().embed(TEXTS, "document").tobytes()
    assert inner.asked == [TEXTS[7]]
    again = Digests()
    by(again, store()).embed(TEXTS, "document")
    assert again.asked == []


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> bytes:
    """A store's file with the vectors of `TEXTS`."""
    path = tmp_path_factory.mktemp("filled") / "v.db"
    kept = VectorStore(path)
    by(Digests(), kept).embed(TEXTS, "document")
    kept.close()
    return path.read_bytes()


@pytest.mark.parametrize("at", range(0, 900, 60))
def test_damage_to_what_the_file_says_of_its_tables_is_told(tmp_path, filled, at):
    """SQLite puts the damaged text into its message, where it may be no text at all."""
    (tmp_path / "v.db").write_bytes(filled[: 8192 - at - 60] + b"\x80" * 60 + filled[8192 - at :])
    kept, said = VectorStore(tmp_path / "v.db"), []
    assert by(Digests(), kept, said).embed(TEXTS, "query").tobytes() == Digests().embed(TEXTS, "query").tobytes()
    kept.close()
    assert said == [] or "harness cache --clear" in said[0]


@law
@given(st.data())
def test_whatever_bytes_of_the_file_are_changed_or_missing_no_wrong_vector_is_returned(tmp_path_factory, filled, data):
    path = tmp_path_factory.mktemp("damaged") / "v.db"
    damaged = bytearray(filled)
    for _ in range(data.draw(st.integers(1, 4))):
        at, length = data.draw(st.integers(0, len(filled) - 1)), data.draw(st.sampled_from([1, 2, 40, 5000]))
        damaged[at : at + length] = data.draw(st.binary(min_size=1, max_size=1)) * len(damaged[at : at + length])
    path.write_bytes(damaged[: data.draw(st.sampled_from([len(damaged), len(damaged), len(damaged) // 2, 8192]))])
    kept, said = VectorStore(path), []
    more = [*TEXTS[::-1], "a new text"]
    wrapped = by(Digests(), kept, said)
    for _ in range(2):
        wrapped.held(more, "document")
        assert wrapped.embed(more, "document").tobytes() == Digests().embed(more, "document").tobytes()
    kept.close()
    assert len(said) <= 1


def test_a_file_that_is_no_database_is_told_once_left_alone_and_done_without(store, tmp_path):
    (tmp_path / "v.db").write_bytes(b"garbage " * 4000)
    said: list[str] = []
    inner = Digests()
    wrapped = by(inner, store(), said)
    for _ in range(2):
        assert not wrapped.held(TEXTS[:3], "document").any()
        wrapped.embed(TEXTS[:3], "document")
    by(Digests(), store(), said).embed(TEXTS[:3], "document")
    assert inner.asked == TEXTS[:3] * 2
    assert said == [
        f"vector cache off: {tmp_path / 'v.db'}: file is not a database; "
        "`harness cache --clear` deletes it, and a new one is begun"
    ]
    assert (tmp_path / "v.db").read_bytes() == b"garbage " * 4000


def test_a_file_of_another_version_is_not_read(store, tmp_path):
    kept = store()
    by(Digests(), kept).embed(TEXTS[:3], "document")
    kept.close()
    with sqlite3.connect(tmp_path / "v.db") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    said: list[str] = []
    by(inner := Digests(), store(), said).embed(TEXTS[:3], "document")
    assert inner.asked == TEXTS[:3]
    assert "written by another version of the harness (99, not 1)" in said[0]


FULL = """
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
said, texts = [], [f"sentence {i} of a longer text" for i in range(2000)]
wrapped = cache.Cached(Digests(), VectorStore(Path(sys.argv[1])), said.append)
for _ in range(2):
    assert wrapped.embed(texts, "document").tobytes() == Digests().embed(texts, "document").tobytes()
(message,) = said
print(message)
"""


def test_a_disk_that_takes_no_more_is_told_once_and_what_was_kept_can_be_read(store, tmp_path):
    message = done(child(FULL, tmp_path / "v.db"))
    assert message.startswith(f"vector cache off: {tmp_path / 'v.db'}: ")
    assert "HARNESS_CACHE_DIR" in message
    whole = by(Digests(), store()).embed(TEXTS, "document")
    assert whole.tobytes() == Digests().embed(TEXTS, "document").tobytes()


def test_a_folder_that_can_not_be_made_is_told_and_done_without(store, tmp_path):
    (tmp_path / "file").touch()
    said: list[str] = []
    by(inner := Digests(), store(path=tmp_path / "file" / "v.db"), said).embed(TEXTS[:2], "query")
    assert inner.asked == TEXTS[:2]
    assert said[0].endswith("name another folder in HARNESS_CACHE_DIR, or set HARNESS_CACHE_GB=0")


def test_a_file_that_another_process_keeps_locked_is_told_and_done_without(store, tmp_path, monkeypatch):
    by(Digests(), store()).embed(TEXTS[:2], "document")
    monkeypatch.setattr("harness.embedders.vector_file.PATIENCE", 0.2)
    held = sqlite3.connect(tmp_path / "v.db", isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    said: list[str] = []
    wrapped = by(Digests(), store(), said)
    assert wrapped.embed(TEXTS[:4], "document").tobytes() == Digests().embed(TEXTS[:4], "document").tobytes()
    held.close()
    assert said == [
        f"vector cache off: {tmp_path / 'v.db'}: database is locked; wait for the process that writes to it, or end it"
    ]


def test_file_and_folder_are_the_users_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "new" / "cache"))
    cached(Digests()).embed(TEXTS[:2], "document")
    assert stat.S_IMODE(cache.path().parent.stat().st_mode) == 0o700
    files = list(cache.path().parent.iterdir())
    assert {f.name for f in files} == {"vectors.db", "vectors.db-wal", "vectors.db-shm"}
    assert {stat.S_IMODE(f.stat().st_mode) for f in files} == {0o600}


# bounds


def test_above_the_limit_the_least_recently_used_go_a_tenth_at_a_time(store, tmp_path, monkeypatch):
    limit, day = 400_000, 739_000
    monkeypatch.setattr(vector_store, "_today", lambda: day)
    old, newer = [[f"{age} {i}" for i in range(256)] for age in ("old", "newer")]
    wrapped = by(Digests(), store(limit))
    for texts in (old, newer):
        wrapped.embed(texts, "document")
        day += 1
    wrapped.embed(old, "document")  # used again: now the younger
    for i in range(40):
        day += 1
        wrapped.embed([f"{i} {j}" for j in range(BLOCK)], "document")
        wrapped.embed(old[:64], "document")
        with closing(sqlite3.connect(tmp_path / "v.db")) as db:
            assert pages(db)[0] * page_bytes(db) <= limit
    assert wrapped.held(old[:64], "document").all()
    assert not wrapped.held(newer, "document").any()
    assert wrapped.held([f"39 {j}" for j in range(BLOCK)], "document").all()
    assert sum(kept.vectors for kept in store().models()) > 0.8 * limit / 400  # with keys and pages a row has some 400 bytes


def test_a_lower_limit_holds_at_the_next_use(store, tmp_path):
    kept = store()
    texts = [f"{i}" for i in range(3000)]
    by(Digests(), kept).embed(texts, "document")
    kept.close()
    assert (tmp_path / "v.db").stat().st_size > 900_000
    lower = store(300_000)
    found = by(Digests(), lower).held(texts, "document")
    lower.close()
    assert (tmp_path / "v.db").stat().st_size <= 300_000
    assert 500 < found.sum() < 1000


def test_use_is_noted_once_a_day(store, monkeypatch):
    day = 739_000
    monkeypatch.setattr(vector_store, "_today", lambda: day)
    kept = store()
    wrapped = by(Digests(), kept)
    wrapped.embed(TEXTS, "document")
    day += 3
    changes = []
    for _ in range(2):
        before = kept._open.total_changes
        wrapped.embed(TEXTS, "document")
        changes.append(kept._open.total_changes - before)
    assert changes == [300, 0]
    assert kept.models()[0].last_used.toordinal() == day


def test_a_limit_of_0_turns_the_cache_off(monkeypatch):
    monkeypatch.setenv("HARNESS_CACHE_GB", "0")
    embedder = Digests()
    assert cached(embedder) is embedder
    assert not cache.path().exists()


@pytest.mark.parametrize("value", ["much", "-1", "nan", "inf", "8GB"])
def test_a_limit_that_is_no_number_of_gigabytes_is_refused(monkeypatch, value):
    monkeypatch.setenv("HARNESS_CACHE_GB", value)
    with pytest.raises(HarnessError, match=rf"HARNESS_CACHE_GB: '{value}' is no number of gigabytes; give gigabytes, such as 8"):
        cached(Digests())


@pytest.mark.parametrize(("value", "limit"), [("", 8_000_000_000), ("0.5", 500_000_000), (" 20 ", 20_000_000_000)])
def test_a_limit_is_in_gigabytes(monkeypatch, value, limit):
    monkeypatch.setenv("HARNESS_CACHE_GB", value)
    assert cache.limit_bytes() == limit


# network file systems


MOUNTINFO = r"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
25 22 0:22 / /proc rw,nosuid - proc proc rw
40 22 0:40 / /home rw,relatime shared:7 master:2 - nfs4 server:/home rw,vers=4.2
41 40 254:16 /a /home/local rw - xfs /dev/vdb rw
42 22 0:50 / /mnt/my\040share rw - cifs //server/share rw
43 22 0:51 / /mnt/there rw - fuse.sshfs me@server: rw
44 22 0:52 / /mnt/stick rw - fuseblk /dev/sda1 rw
45 22 0:53 / /twice rw - nfs server:/x rw
46 22 254:32 / /twice rw - btrfs /dev/vdc rw
not a line of it
"""


@pytest.mark.parametrize(
    ("path", "kind", "network"),
    [
        ("/var/cache", "ext4", False),
        ("/home/me/.cache/chunking-harness", "nfs4", True),
        ("/home", "nfs4", True),
        ("/homes/me", "ext4", False),
        ("/home/local/me", "xfs", False),
        ("/mnt/my share/cache", "cifs", True),
        ("/mnt/there", "fuse.sshfs", True),
        ("/mnt/stick", "fuseblk", False),
        ("/twice/x", "btrfs", False),
    ],
)
def test_the_file_system_of_a_folder_is_that_of_the_nearest_mount_above_it(path, kind, network):
    assert mounts.file_system(MOUNTINFO, PurePosixPath(path)) == kind
    assert mounts.is_network(kind) is network


def test_a_path_that_no_mount_covers_has_no_file_system_that_is_known():
    assert mounts.file_system("", PurePosixPath("/x")) is None


def test_a_share_of_windows_is_known_by_its_name():
    assert mounts.share(PureWindowsPath(r"\\server\share\cache")) == "share"
    assert mounts.share(PureWindowsPath(r"C:\cache")) is None


def test_this_machines_own_table_of_mounts_can_be_read(tmp_path):
    assert mounts.MOUNTS.exists() is sys.platform.startswith("linux")
    assert mounts.network_file_system(tmp_path / "not" / "there") is None


@pytest.fixture
def on_nfs(tmp_path, monkeypatch) -> None:
    table = tmp_path / "mountinfo"
    table.write_text("22 1 0:1 / / rw - nfs4 server:/ rw\n")
    monkeypatch.setattr(mounts, "MOUNTS", table)


def test_a_folder_that_the_user_names_on_a_network_file_system_is_refused(on_nfs, cache_folder):
    with pytest.raises(HarnessError) as refused:
        cached(Digests())
    assert str(refused.value) == (
        f"HARNESS_CACHE_DIR={cache_folder}: the vector cache would lie on a network file system (nfs4), where locks of a "
        "database can't be relied on; name a folder on a disk of this machine in HARNESS_CACHE_DIR, or set HARNESS_CACHE_GB=0 "
        "to go without"
    )
    assert list(cache_folder.iterdir()) == []


def test_a_home_on_a_network_file_system_is_done_without_a_cache_and_told_once(on_nfs, tmp_path, monkeypatch):
    monkeypatch.delenv("HARNESS_CACHE_DIR")
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "home")
    said: list[str] = []
    for _ in range(2):
        embedder = Digests()
        assert cached(embedder, said.append) is embedder
    assert len(said) == 1
    assert said[0].startswith(f"vector cache off: {tmp_path / 'home'} lies on a network file system (nfs4)")
    assert not (tmp_path / "home").exists()
