"""JSON files of a path, and their values with the path to each; a format notes everything that is wrong, not the first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.corpora import kind
from harness.corpora.places import find
from harness.errors import Fault, HarnessError
from harness.files import read_json


def question_files(path: Path, suffix: str) -> list[Path]:
    """A file itself, else the files of a suffix (packed or not) below a folder, or of a glob; sorted.

    Raises HarnessError when there is none.
    """
    if path.is_file():
        return [path]
    files = [f for f in find(path).files if kind(f) == suffix]
    if not files:
        raise HarnessError(Fault(str(path), f"no {suffix} file is there", "give the file, or its folder"))
    return files


def shown(value: Any) -> str:
    """A value for a message, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


@dataclass(frozen=True, slots=True)
class Node:
    """An object of a file; `where` is the file and the path in it. What is asked of it and wrong goes to `faults`."""

    where: str
    value: dict[str, Any]
    faults: list[Fault]
    root: bool = False

    @classmethod
    def of_file(cls, path: Path, encoding: str, faults: list[Fault]) -> Node:
        """The object that a file is. Raises HarnessError when it is none."""
        value = read_json(path, encoding)
        if not isinstance(value, dict):
            raise HarnessError(Fault(str(path), f"{shown(value)} is no object", "the file begins with { and names its parts"))
        return cls(str(path), value, faults, root=True)

    def wrong(self, what: str, fix: str) -> None:
        self.faults.append(Fault(self.where, what, fix))

    def text(self, key: str, required: bool = True) -> str:
        """A text as it stands; empty where it is missing or blank, if that is allowed."""
        value = self.value.get(key)
        if isinstance(value, str) and value.strip():
            return value
        if required or not (value is None or isinstance(value, str)):
            self._refuse(key, "text")
        return ""

    def name(self, key: str, required: bool = True) -> str:
        """An id: a text or a whole number; empty where it is missing, if that is allowed."""
        value = self.value.get(key)
        return str(value) if type(value) is int else self.text(key, required).strip()

    def number(self, key: str) -> int | None:
        """A whole number; None where the key is missing or null."""
        value = self.value.get(key)
        if value is None or type(value) is int:
            return value
        self._refuse(key, "whole number")
        return None

    def flag(self, key: str) -> bool:
        """True or false; false where the key is missing."""
        value = self.value.get(key)
        if value is not None and not isinstance(value, bool):
            self.wrong(f"'{key}' is {shown(value)}, neither true nor false", "write true or false, without quotes")
        return value is True

    def nodes(self, key: str, required: bool = True) -> list[Node]:
        """The objects of a list; none where the key is missing, if that is allowed."""
        value = self.value.get(key)
        if value is None and not required:
            return []
        if not isinstance(value, list):
            self._refuse(key, "list")
            return []
        base = f"{self.where} {key}" if self.root else f"{self.where}.{key}"
        places = [f"{base}[{i}]" for i in range(len(value))]
        others = [(p, v) for p, v in zip(places, value, strict=True) if not isinstance(v, dict)]
        self.faults.extend(Fault(place, f"{shown(v)} is no object", "write { ... }") for place, v in others)
        return [Node(p, v, self.faults) for p, v in zip(places, value, strict=True) if isinstance(v, dict)]

    def _refuse(self, key: str, expected: str) -> None:
        value = self.value.get(key)
        if value is None:
            has = ", ".join(map(repr, self.value)) or "none"
            self.wrong(f"'{key}' is missing (keys: {has})", f"add it, a {expected}")
        elif isinstance(value, str) and expected == "text":
            self.wrong(f"'{key}' is blank", "write it")
        else:
            self.wrong(f"'{key}' is {shown(value)}, no {expected}", "correct the value")
