"""What an experiment file may say: a model a section, and faults with their line; a new key is a field of a model.

`docs/experiment-file.md` shows every key; a test holds it to that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from harness import metrics
from harness.errors import Fault, nearest
from harness.selection import Selection
from harness.splitters.prepend import PARTS

RESERVED = ("artifacts", "claims", "studies.db")  # what else lies beside the experiments' folders
MOST_SIZE = 10_000_000  # units in a chunk
# What pydantic says of each shape that a value could have had.
WRONG_SHAPE = ("model_type", "list_type", "string_type")


class _Section(BaseModel):
    # Strict: `trials = true` is no 1 and "2" no 2; a whole number is still a float.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class About(_Section):
    """`[experiment]`."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)
    question: str = ""

    @field_validator("name")
    @classmethod
    def _free(cls, value: str) -> str:
        folded = value.casefold()
        if folded in RESERVED or folded.startswith("studies.db-") or folded.endswith(".lock"):
            raise ValueError(f"the name is taken by the harness itself; not {', '.join(RESERVED)} or *.lock")
        return value


class SplitModel(_Section):
    model_config = ConfigDict(allow_inf_nan=False)

    holdout: float = Field(ge=0, lt=1)
    seed: int = 7


class Data(_Section):
    """`[data]`; paths are relative to the experiment file, and may name environment variables as ${NAME}."""

    format: str = "handbook"
    corpus: str
    questions: str
    split: SplitModel | str | None = None
    encoding: str = "utf-8"
    questions_encoding: str | None = None


class RangeModel(_Section):
    model_config = ConfigDict(allow_inf_nan=False)

    low: float
    high: float
    step: float | None = Field(default=None, gt=0)
    log: bool = False


ChunkSize = Annotated[int, Field(ge=1, le=MOST_SIZE)]


class PointModel(_Section):
    splitter: str
    chunk_size: ChunkSize
    overlap_ratio: float = Field(default=0.0, ge=0, lt=1)
    prepend: list[Literal["title", "heading"]] = []


OneOrMore = Annotated[list[str], Field(min_length=1)]


class Search(_Section):
    """`[search]`."""

    sampler: Literal["tpe", "grid", "random", "points"] = "tpe"
    trials: int = Field(default=40, ge=1)
    seed: int = Field(default=7, ge=0)
    prune: Literal["auto", "bound", "none"] = "auto"
    unit: str | None = None
    splitter: OneOrMore | None = None
    chunk_size: RangeModel | list[ChunkSize] | None = None
    overlap_ratio: RangeModel | list[Annotated[float, Field(ge=0, lt=1)]] = [0.0]
    prepend: list[list[str]] = [[]]
    points: list[PointModel] = []
    baselines: list[str] | None = None  # None: all there are
    truncation: Literal["warn", "refuse"] = "warn"
    trial_timeout: float = Field(default=3600, gt=0)

    @field_validator("splitter", mode="before")
    @classmethod
    def _one_splitter(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("prepend")
    @classmethod
    def _known_parts(cls, value: list[list[str]]) -> list[list[str]]:
        if not value:
            raise ValueError("the list is empty; [[]] prepends nothing")
        if twice := next((parts for parts in value if len(set(parts)) < len(parts)), None):
            raise ValueError(f"{twice} names a part twice")
        for part in (p for parts in value for p in parts):
            if part not in PARTS:
                raise ValueError(f"unknown part {part!r}; known: {', '.join(PARTS)}")
        return value

    @field_validator("chunk_size", "overlap_ratio")
    @classmethod
    def _ordered(cls, value: Any) -> Any:
        if isinstance(value, RangeModel) and value.low > value.high:
            raise ValueError(f"low {value.low:g} is above high {value.high:g}")
        if isinstance(value, RangeModel) and value.low < value.high and (value.step or 0) > value.high - value.low + 1e-9:
            raise ValueError(f"step {value.step:g} is larger than the range from {value.low:g} to {value.high:g}")
        if isinstance(value, list) and not value:
            raise ValueError("the list is empty")
        return value

    @field_validator("chunk_size")
    @classmethod
    def _whole_sizes(cls, value: Any) -> Any:
        if isinstance(value, RangeModel) and (
            value.low < 1 or any(n is not None and n % 1 for n in (value.low, value.high, value.step))
        ):
            raise ValueError("chunk sizes are whole numbers of at least 1")
        if isinstance(value, RangeModel) and value.high > MOST_SIZE:
            raise ValueError(f"high {value.high:g} is above {MOST_SIZE}, the largest chunk size")
        if isinstance(value, RangeModel) and value.log and value.step is not None:
            raise ValueError("a range has log or step, not both")
        return value

    @field_validator("overlap_ratio")
    @classmethod
    def _ratio(cls, value: Any) -> Any:
        if isinstance(value, RangeModel) and (value.low < 0 or value.high >= 1):
            raise ValueError("overlap ratios lie in [0, 1): an overlap as long as the chunk never moves on")
        if isinstance(value, RangeModel) and value.log:
            raise ValueError("an overlap ratio range can't be log")
        return value

    @model_validator(mode="after")
    def _has_a_space(self) -> Search:
        if self.sampler == "points":
            if not self.points:
                raise ValueError("sampler 'points' needs points")
        elif (self.splitter is None) != (self.chunk_size is None):
            raise ValueError("splitter and chunk_size go together; without both there is a usual space")
        return self


class ScoringModel(_Section):
    """`[scoring]`."""

    k: list[Annotated[int, Field(ge=1)]] = Field(default=[1, 3, 5, 10], min_length=1)
    char_k: int = Field(default=metrics.CHAR_K, ge=1)


class ThresholdModel(_Section):
    """`[threshold]`."""

    rule: str = "gap"


class Tracking(_Section):
    """`[tracking]`: how much of corpus and questions goes to MLflow."""

    text: Literal["full", "spans", "none"] = "full"


class File(_Section):
    """The whole file, before its names are resolved."""

    experiment: About
    data: Data
    embedder: dict[str, Any]
    search: Search = Search()
    scoring: ScoringModel = ScoringModel()
    selection: Selection = Selection()
    splitters: dict[str, dict[str, Any]] = {}
    threshold: ThresholdModel = ThresholdModel()
    tracking: Tracking = Tracking()


@dataclass(frozen=True)
class Places:
    """Finds the line of a key, for messages."""

    path: Path
    text: str

    def of(self, section: str, key: str = "") -> str:
        line, current = 0, ""
        for number, content in enumerate(self.text.splitlines(), 1):
            if header := re.match(r"\s*\[([\w.-]+)\]", content):
                current = header[1]
                line = number if current == section and not line else line
            elif key and current == section and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", content):
                line = number
        place = f"[{section}] {key}".strip()
        return f"{self.path} line {line} {place}" if line else f"{self.path} {place}"


def without_other_shapes(errors: list[Any]) -> list[Any]:
    """Of a value that is right in shape but not in content, only what is wrong about the content."""
    content = {e["loc"][:2] for e in errors if e["type"] not in WRONG_SHAPE}
    return [e for e in errors if e["type"] not in WRONG_SHAPE or e["loc"][:2] not in content]


def as_fault(error: Any, places: Places, known: list[str] | None = None) -> Fault:
    """One of pydantic's errors as a message to the user; `known` are the keys of a section that has no model here."""
    location = [
        str(part) for part in error["loc"] if isinstance(part, str) and not part.startswith(("list[", "RangeModel", "SplitModel"))
    ]
    section, key = [*location, "", ""][:2]
    where = places.of(section, key)
    if error["type"] == "extra_forbidden":
        fields = known if known is not None else list(_fields(location[:-1]))
        fix = nearest(location[-1], fields) if fields else "leave it out: there are no keys here"
        return Fault(where, f"unknown key '{location[-1]}'", fix)
    if error["type"] == "missing":
        kind = "section" if len(location) == 1 else "key"
        return Fault(places.of(section, key if len(location) > 2 else ""), f"{kind} '{location[-1]}' is missing", "add it")
    if (section, key) == ("data", "split") and error["type"] in (*WRONG_SHAPE, "string_type"):
        return Fault(
            where, "neither a rule nor a file", "write { holdout = 0.3, seed = 7 }, or the path that `harness split` wrote"
        )
    if key in ("chunk_size", "overlap_ratio") and error["type"] in WRONG_SHAPE:
        return Fault(where, "neither a list nor a range", "write [a, b] or { low = a, high = b }")
    message = "a table of keys is expected" if error["type"] in ("model_type", "dict_type") else error["msg"]
    message = message.removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    value = error.get("input")
    shown = f" (found {value!r})" if isinstance(value, str | int | float | bool) else ""
    if error["type"] == "string_pattern_mismatch":
        return Fault(where, f"{value!r} is no name for an experiment", "use letters, digits, . _ -, a letter or digit first")
    fix = "write one of these" if error["type"] == "literal_error" else "correct the value"
    return Fault(where, f"{message}{shown}", fix)


def _fields(location: list[str]) -> list[str]:
    model: type[BaseModel] = File
    for part in location:
        if part == "points":
            model = PointModel
        elif part in ("chunk_size", "overlap_ratio"):
            model = RangeModel
        elif part == "split":
            model = SplitModel
        else:
            model = model.model_fields[part].annotation  # type: ignore[assignment]
    return list(model.model_fields)
