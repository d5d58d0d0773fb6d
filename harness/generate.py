"""Asking a model about every document and importing what it answers, a document at a time; how to ask is in `endpoint`."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness import answers, asking
from harness.answers import Answer, Dropped
from harness.asking import Prompt, Wanted
from harness.endpoint import TOKENS, Endpoint, Failure, Said
from harness.errors import Fault, HarnessError, counted
from harness.growing import Imported, doubts, sieve_of
from harness.question_file import QuestionFile
from harness.records import Corpus
from harness.sifting import Sieve

SOURCE = "generated"
AGAIN = (
    "That could not be used: {what}. Answer once more, with nothing but one JSON array of objects as described above: "
    "no introduction, no code fence, no remarks."
)


@dataclass(frozen=True)
class Generated:
    """What a run added, which documents it asked about, left out and failed at, and what it cost."""

    imported: Imported
    asked: tuple[str, ...]
    skipped: tuple[str, ...]
    failed: tuple[Fault, ...]
    tokens: Mapping[str, int]
    uncounted: int  # answers whose tokens the endpoint did not count

    def as_json(self) -> dict[str, Any]:
        facts = {"asked": list(self.asked), "skipped": list(self.skipped), "failed": [f.as_json() for f in self.failed]}
        return self.imported.as_json() | facts | {"tokens": dict(self.tokens), "uncounted": self.uncounted}


def generate(
    corpus: Corpus,
    file: QuestionFile,
    endpoint: Endpoint,
    wanted: Wanted,
    date: str,
    documents: Sequence[str] = (),
    concurrency: int = 2,
    again: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Generated:
    """Ask about each document and add what is verbatim to a question file, a document at a time, as answers come.

    Documents that the file has questions about from this model are left out unless `again`. Raises HarnessError when there
    were documents to ask about and no answer could be had about any.
    """
    chosen = asking.chosen(corpus, documents)
    done = set() if again else _done(file, endpoint.model)
    prompts: dict[str, list[Prompt]] = {}
    for p in asking.prompts(corpus, [d for d in chosen if d.document_id not in done], wanted):
        prompts.setdefault(p.document_id, []).append(p)
    skipped = tuple(d.document_id for d in chosen if d.document_id in done)
    if skipped:
        had = counted(len(skipped), "document that has", "documents that have")
        say(f"left out: {had} questions from {endpoint.model} already (--again asks anyway)")
    total = _Total(file, corpus, endpoint.model, date)
    for asked in _ask_all(endpoint, prompts, concurrency):
        if line := total.add(asked):
            say(f"{len(total.asked)}/{len(prompts)} {line}")
    return total.finished(skipped)


def _done(file: QuestionFile, model: str) -> set[str]:
    rows = (*file.rows(), *file.dropped_rows())
    return {row.raw.document_id for row in rows if row.record.get("model") == model}


@dataclass
class _Asked:
    """What asking about one document brought; nothing at all when an earlier failure was final."""

    document_id: str
    answers: list[Answer] = field(default_factory=list)
    failed: list[Fault] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    bug: Exception | None = None


def _ask_all(endpoint: Endpoint, prompts: Mapping[str, Sequence[Prompt]], concurrency: int) -> Iterator[_Asked]:
    """What each document brought, as it comes.

    The threads are daemons: an interrupted run does not wait for answers that nobody will read.
    """
    asker = _Asker(endpoint)
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    ready: queue.SimpleQueue[_Asked] = queue.SimpleQueue()
    for document_id in prompts:
        waiting.put(document_id)

    def work() -> None:
        while not waiting.empty():
            try:
                document_id = waiting.get_nowait()
            except queue.Empty:
                return
            ready.put(asker.ask(document_id, prompts[document_id]))

    if prompts:
        _ = endpoint.client  # which says, before any thread, when it is not installed
    for _number in range(min(concurrency, len(prompts))):
        threading.Thread(target=work, daemon=True).start()
    try:
        for _document in prompts:
            asked = ready.get()
            if asked.bug:
                raise asked.bug
            yield asked
    finally:
        asker.over.set()


class _Asker:
    """Asks about documents, in several threads, until a failure that would meet every other question, too."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.over = threading.Event()
        self.answered = threading.Event()

    def ask(self, document_id: str, prompts: Sequence[Prompt]) -> _Asked:
        """Ask about every part of a document; what fails is noted."""
        asked = _Asked(document_id)
        for prompt in prompts:
            if self.over.is_set():
                break
            try:
                asked.answers.append(self._answer(prompt, asked))
            except Failure as failure:
                asked.failed.append(Fault(prompt.title, failure.what, failure.fix))
                if failure.final or (failure.unreached and not self.answered.is_set()):
                    self.over.set()
            except Exception as error:  # a bug: the main thread raises it
                asked.bug = error
                break
        return asked

    def _answer(self, prompt: Prompt, asked: _Asked) -> Answer:
        """The questions that an answer holds; a malformed one is asked for once more. Raises Failure."""
        messages = [{"role": "user", "content": prompt.text}]
        for attempt in (1, 2):
            said = self.endpoint.ask(messages)
            self.answered.set()
            asked.said.append(said)
            answer = answers.read(said.text, prompt.title)
            if answer.entries or said.cut_off:
                return _as_far_as_it_goes(answer, said, prompt, asked)
            if attempt == 1:
                complaint = AGAIN.format(what=answer.wrong)
                messages += [{"role": "assistant", "content": said.text}, {"role": "user", "content": complaint}]
        what = self.endpoint.without_secrets(f"{answer.wrong}; it was asked once more")
        raise Failure(what, "run the same again, ask another model, or for fewer questions at a time")


def _as_far_as_it_goes(answer: Answer, said: Said, prompt: Prompt, asked: _Asked) -> Answer:
    """An answer with questions; where it was cut off, that is noted. Raises Failure when it has none."""
    if said.cut_off:
        what = f"the answer was cut off at the model's limit; {len(answer.entries)} questions were whole"
        fix = "raise the server's limit, or ask for less at a time (--number, --most-characters), with --again"
        if not answer.entries:
            raise Failure(what, fix)
        asked.failed.append(Fault(prompt.title, what, fix))
    return answer


class _Total:
    """Puts what was answered into the file at once, and adds up the rest."""

    def __init__(self, file: QuestionFile, corpus: Corpus, model: str, date: str) -> None:
        self.file, self.corpus, self.model, self.date = file, corpus, model, date
        self.sieves: list[Sieve] = []
        self.unread: list[Dropped] = []
        self.asked: list[str] = []
        self.failed: list[Fault] = []
        self.said: list[Said] = []
        self.not_asked = 0

    def add(self, asked: _Asked) -> str:
        """Import one document's answers; a line about it, empty when it was not asked about."""
        self.failed += asked.failed
        self.said += asked.said
        if not asked.answers and not asked.failed:
            self.not_asked += 1
            return ""
        self.asked.append(asked.document_id)
        if not asked.answers:
            return f"{asked.document_id}: {asked.failed[0].what}"
        with self.file.alone():
            sieve = sieve_of(self.file, self.corpus)
            for answer in asked.answers:
                own = [e.model_copy(update={"document": asked.document_id}) for e in answer.entries]
                sieve.sift(own, asked.document_id)
            self.file.append([k.record(source=SOURCE, date=self.date, model=self.model) for k in sieve.kept])
        self.sieves.append(sieve)
        unread = [d for answer in asked.answers for d in answer.dropped]
        self.unread += unread
        failed = f", {len(asked.failed)} failures" if asked.failed else ""
        return f"{asked.document_id}: {len(sieve.kept)} added, {len(unread) + len(sieve.dropped)} dropped{failed}"

    def finished(self, skipped: tuple[str, ...]) -> Generated:
        """All of it. Raises HarnessError when documents were asked about and no answer could be had."""
        if self.not_asked:
            what = f"{self.not_asked} more documents were not asked about"
            self.failed.append(Fault("generate", what, "mend that, then run the same again"))
        if self.failed and not self.sieves:
            raise HarnessError(self.failed)
        kept = tuple(k for s in self.sieves for k in s.kept)
        dropped = (*self.unread, *(d for s in self.sieves for d in s.dropped))
        already = tuple(d for s in self.sieves for d in s.already)
        imported = Imported(self.file.path, kept, dropped, already, doubts(self.file, self.corpus, kept))
        tokens = {k: sum(s.tokens.get(k, 0) for s in self.said) for k in TOKENS}
        uncounted = sum(not s.counted for s in self.said)
        return Generated(imported, tuple(self.asked), skipped, tuple(self.failed), tokens, uncounted)
