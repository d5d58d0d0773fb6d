"""What a user is told when something can't go on; raise `HarnessError` with one `Fault` per thing to mend."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

UNPRINTABLE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # what steers a terminal, and what no stream can write
MOST_SHOWN = 2_000  # characters of a message; what is longer loses its middle


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: its place, the rule with the value that broke it, and the way out.

    Values come from files: what can't be printed in them is escaped, and what would fill screens is shortened.
    """

    where: str
    what: str
    fix: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "what", _printable(self.what))
        object.__setattr__(self, "fix", _printable(self.fix))

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.fix}"

    def as_json(self) -> dict[str, str]:
        return asdict(self)


def _printable(text: str) -> str:
    shown = UNPRINTABLE.sub(lambda m: repr(m[0])[1:-1], text)
    if len(shown) > MOST_SHOWN:
        shown = f"{shown[: MOST_SHOWN // 2]} … {shown[-MOST_SHOWN // 2 :]}"
    return shown


class HarnessError(Exception):
    """The user's input is wrong (exit 2). Carries every fault found, not only the first."""

    exit_code = 2

    def __init__(self, faults: Fault | Iterable[Fault]) -> None:
        self.faults = (faults,) if isinstance(faults, Fault) else tuple(faults)
        super().__init__("\n".join(map(str, self.faults)))


class Refused(HarnessError):
    """A rule forbids it (exit 3): a holdout already opened, a foreign model, a changed study.

    `record` is what was recorded when the rule was first used, for the caller to show.
    """

    exit_code = 3

    def __init__(self, fault: Fault, record: Mapping[str, Any] | None = None) -> None:
        super().__init__(fault)
        self.record = dict(record or {})


class TrackingDown(HarnessError):
    """The tracking store does not answer; what was computed stays on disk."""


class TrialTimeout(HarnessError):
    """A trial passed its time limit."""


def counted(number: int, one: str, several: str) -> str:
    """A number with what it is of, in the words for one or for several: `1 question is`, `2 questions are`."""
    return f"{number:,} {one if number == 1 else several}"


def nearest(name: str, known: Iterable[str]) -> str:
    """A remedy for a mistyped name: the nearest known one, else all of them."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    listed = ", ".join(names)
    return f"did you mean '{close[0]}'? Known: {listed}" if close else f"known: {listed}"
