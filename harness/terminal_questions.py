"""What people see of a growing question set: prompts, what an import did, the walk of a review; it computes nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from rich.padding import Padding
from rich.text import Text

from harness.answers import Dropped
from harness.asking import Prompt
from harness.console import out, say
from harness.errors import HarnessError
from harness.generate import Generated
from harness.growing import Imported
from harness.label_checks import COPIED
from harness.review import Excerpt, Review

RULE = "=" * 8
KEYS = {"k": "keep", "d": "drop", "r": "reword", "e": "evidence", "s": "skip", "q": "quit"}
STYLES = {"evidence": "bold black on yellow", "condition": "bold black on cyan"}
KINDS = {"evidence": "evidence", "condition": "condition", "near": "nearest text"}
UNSEEN = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127, *range(128, 160)), "�")  # what steers a terminal


def show_prompts(prompts: Sequence[Prompt], folder: Path | None) -> None:
    """The prompts themselves, each below a line that says whose it is, or where they were written."""
    for p in prompts:
        size = f"{p.title}: {p.characters:,} characters"
        if folder:
            out().print(Text(f"{folder / p.file_name}  {size}"), soft_wrap=True)
        else:
            sys.stdout.write(f"{RULE} {size} {RULE}\n\n{p.text}\n\n")
    for p in prompts:
        if p.long:
            say(f"{p.title} has {p.characters:,} characters; if that is too long for your model, add --most-characters")


def show_import(found: Imported, listed: bool = True) -> None:
    """What was added; what was not and why, and what is doubtful, unless that is shown already."""
    if listed:
        show_dropped(found.dropped)
        show_flagged(found)
    out().print(Text(summary(found)), soft_wrap=True)
    if found.kept:
        out().print(
            Text(f"next: harness questions review {found.file} --corpus ...; until then they count as not reviewed"),
            soft_wrap=True,
        )


def summary(found: Imported) -> str:
    unanswerable = sum(not k.evidence for k in found.kept)
    flagged = len({f.where for f in found.flagged})
    return (
        f"added to {found.file}: {len(found.kept)} ({unanswerable} unanswerable, {flagged} flagged); "
        f"dropped: {len(found.dropped)}; there already: {len(found.already)}"
    )


def show_generated(found: Generated) -> None:
    for f in found.failed:
        out().print(Text.assemble(("failed: ", "bold red"), f"{f.where}: {f.what}; {f.fix}"))
    show_dropped(found.imported.dropped)
    show_flagged(found.imported)
    uncounted = f" and what {found.uncounted} answers took that the endpoint did not count" if found.uncounted else ""
    out().print(
        f"asked about {len(found.asked)} documents, {len(found.skipped)} left out; tokens: "
        f"{found.tokens['prompt_tokens']:,} read, {found.tokens['completion_tokens']:,} written{uncounted}"
    )
    show_import(found.imported, listed=False)


def show_dropped(dropped: Sequence[Dropped]) -> None:
    for d in dropped:
        asked = f" '{d.question}'" if d.question else ""
        out().print(Text.assemble(("dropped: ", "red"), f"{d.fault.where}{asked}: {d.fault.what}; {d.fault.fix}"))


def show_flagged(found: Imported) -> None:
    asked = {k.question_id: k.question for k in found.kept}
    for f in found.flagged:
        out().print(Text.assemble(("flagged: ", "yellow"), f"{f.where} '{asked[f.where]}': {f.what}"))


def walk(review: Review) -> None:
    """Show each waiting question and do what the reader says, until the last, `q` or the end of the input."""
    for count, number in enumerate(review.waiting, 1):
        _show_question(review, number, f"{count} of {len(review.waiting)}")
        while (key := _key()) not in ("s", "k", "d") or not _done(review, number, key):
            if key == "q":
                return
            if key in ("r", "e") and _changed(review, number, key):
                _show_question(review, number, f"{count} of {len(review.waiting)}, changed")


def _key() -> str:
    """The first letter of the reader's next line, or the next key where there is a terminal; `q` at the end of the input."""
    keys = "  ".join(f"[bold]{key}[/bold] {name}" for key, name in KEYS.items())
    out().print(keys, end=": ")
    if sys.stdin.isatty():
        try:
            key = click.getchar()  # it drops what was typed before, such as the rest of something pasted
        except EOFError:
            key = "q"
        out().print(KEYS.get(key.lower(), ""))
    else:
        line = sys.stdin.readline()
        key = line.strip()[:1] if line else "q"
        out().print(KEYS.get(key.lower(), ""))
    if key.strip() and key.lower() not in KEYS:
        out().print(Text(f"'{key}' is none of the keys", style="yellow"))
    return key.lower()


def _done(review: Review, number: int, key: str) -> bool:
    """Whether a question is settled; where it can't be, the reader is told why."""
    return _tried({"s": review.skip, "k": review.keep, "d": review.drop}[key], number)


def _changed(review: Review, number: int, key: str) -> bool:
    """Whether a question has another wording or other evidence now; nothing typed leaves it as it is."""
    if key == "r":
        given = _typed("its new wording, on one line (nothing: leave it)", lines=1)
        return bool(given) and _tried(review.reword, number, given)
    given = _typed("paste another quote from its document, then an empty line (nothing: leave it)")
    return bool(given) and _tried(review.quote, number, given)


def _typed(what: str, lines: int | None = None) -> str:
    out().print(what)
    given: list[str] = []
    while lines is None or len(given) < lines:
        line = sys.stdin.readline()
        if not line.strip():
            break
        given.append(line)
    return "".join(given).strip()


def _tried(action: Callable[..., None], *arguments: Any) -> bool:
    try:
        action(*arguments)
    except HarnessError as error:
        for fault in error.faults:
            out().print(Text(f"not possible: {fault.what}; {fault.fix}", style="yellow"))
        return False
    return True


def _show_question(review: Review, number: int, place: str) -> None:
    row = review.rows[number]
    told = (row.raw.document_id, row.raw.source, row.raw.date, "reviewed before" if row.raw.reviewed else "")
    out().print()
    out().rule(Text(", ".join([place, row.raw.question_id, *filter(None, told)])), align="left", style="dim")
    out().print(Text(_seen(row.raw.text), style="bold"))
    if old := row.record.get("reworded_from"):
        out().print(Text(f"first worded: {_seen(str(old))}", style="dim"))
    if not row.raw.evidence and not row.raw.regions:
        out().print(Text("no evidence: no document may answer it; the texts that come nearest are", style="cyan"))
    for excerpt in review.excerpts(number):
        text = _excerpt(excerpt)
        out().print(Padding(text, (1, 0, 0, 4)) if out().is_terminal else Text("\n") + text)
    out().print()
    share = review.copied(number)
    if share is not None and share < COPIED:
        out().print(Text(f"{share:.0%} of its content words stand in its evidence's sentence"))
    for doubt in review.doubts(number):
        out().print(Text(doubt, style="yellow"))


def _excerpt(e: Excerpt) -> Text:
    """A quote among its text: in colour, and in brackets where there is none."""
    place = (f"{KINDS[e.kind]} in {e.document_id}\n", "dim")
    if e.kind == "near":
        return Text.assemble(place, _seen(e.text))
    begin, end = ("", "") if out().is_terminal and not out().no_color else (">>>", "<<<")
    return Text.assemble(place, _seen(e.before), (f"{begin}{_seen(e.text)}{end}", STYLES[e.kind]), _seen(e.after))


def _seen(text: str) -> str:
    """A text without what steers a terminal, and without empty lines."""
    return "\n".join(line for line in text.replace("\r\n", "\n").translate(UNSEEN).split("\n") if line.strip())


def show_review(review: Review) -> None:
    done = review.tally
    counts = {name: len(ids) for name, ids in vars(done).items() if ids}
    out().print(", ".join(f"{name}: {n}" for name, n in counts.items()) or "nothing was changed")
    out().print(Text(f"left to review: {review.left}; saved in {review.file.path}"), soft_wrap=True)
    if done.dropped:
        out().print(Text(f"dropped questions are kept in {review.file.dropped}"), soft_wrap=True)
