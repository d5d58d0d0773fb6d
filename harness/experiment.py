"""The experiment file: TOML to a frozen `Experiment` with every name resolved; a new key is a field of a section's model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from harness import embedders, formats, metrics, ranking, selection, splitters, threshold, tokenizers
from harness.embedders import Embedder
from harness.errors import Fault, HarnessError, nearest
from harness.formats import DataSource, Labelled
from harness.pipeline import Scoring
from harness.records import Point, labels_sha256, questions_sha256
from harness.selection import Selection
from harness.space import Axis, Choices, Range, Space
from harness.tokenizers import Ruler

ROOT_MARKS = (".git", "pyproject.toml", "MLproject", ".harness")


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class About(_Section):
    """`[experiment]`."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)
    question: str = ""


class Data(_Section):
    """`[data]`; paths are relative to the experiment file."""

    format: str = "handbook"
    corpus: str
    questions: str
    encoding: str = "utf-8"


class RangeModel(_Section):
    model_config = ConfigDict(allow_inf_nan=False)

    low: float
    high: float
    step: float | None = Field(default=None, gt=0)
    log: bool = False


class PointModel(_Section):
    splitter: str
    chunk_size: int = Field(ge=1)
    overlap_ratio: float = Field(default=0.0, ge=0, lt=1)


OneOrMore = Annotated[list[str], Field(min_length=1)]


class Search(_Section):
    """`[search]`."""

    sampler: Literal["tpe", "grid", "random", "points"] = "tpe"
    trials: int = Field(default=40, ge=1)
    seed: int = 7
    prune: Literal["auto", "none"] = "auto"
    unit: str | None = None
    splitter: OneOrMore | None = None
    chunk_size: RangeModel | list[Annotated[int, Field(ge=1)]] | None = None
    overlap_ratio: RangeModel | list[Annotated[float, Field(ge=0, lt=1)]] = [0.0]
    prepend: list[list[str]] = [[]]
    points: list[PointModel] = []
    truncation: Literal["warn", "refuse"] = "warn"
    trial_timeout: float = Field(default=3600, gt=0)

    @field_validator("splitter", mode="before")
    @classmethod
    def _one_splitter(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("prepend")
    @classmethod
    def _nothing_prepended(cls, value: list[list[str]]) -> list[list[str]]:
        if value != [[]]:
            raise ValueError("prepending titles or headings is not available in this version; write [[]] or leave it out")
        return value

    @field_validator("chunk_size", "overlap_ratio")
    @classmethod
    def _ordered(cls, value: Any) -> Any:
        if isinstance(value, RangeModel) and value.low > value.high:
            raise ValueError(f"low {value.low:g} is above high {value.high:g}")
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
        elif self.splitter is None or self.chunk_size is None:
            raise ValueError(f"sampler '{self.sampler}' needs splitter and chunk_size")
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


class _File(_Section):
    experiment: About
    data: Data
    embedder: dict[str, Any]
    search: Search
    scoring: ScoringModel = ScoringModel()
    selection: Selection = Selection()
    threshold: ThresholdModel = ThresholdModel()
    tracking: Tracking = Tracking()


@dataclass(frozen=True)
class Experiment:
    """One experiment, ready to run: data, embedder, space, scoring, selection, threshold and tracking."""

    path: Path
    root: Path
    name: str
    question: str
    source: DataSource
    embedder_type: str
    embedder_options: BaseModel
    similarity: str
    search: Search
    space: Space
    points: tuple[Point, ...]
    scoring: Scoring
    selection: Selection
    threshold_rule: str
    tracking_text: Literal["full", "spans", "none"]

    def read_labels(self) -> Labelled:
        return formats.load(self.source)

    def load_embedder(self) -> Embedder:
        """Raises HarnessError when the model can't be loaded or does not support the similarity."""
        embedder = embedders.EMBEDDERS[self.embedder_type].load(self.embedder_options)
        ranking.resolve(self.similarity, embedder.similarities, f"{self.path} [embedder] similarity")
        return embedder

    def unit(self, embedder: Embedder) -> str:
        """The unit of chunk size: as named, else the splitters' own."""
        names = sorted({*self.space.splitters, *(p.splitter for p in self.points)})
        return self.search.unit or splitters.default_unit(names, embedder.tokenizer is not None)

    def ruler(self, labelled: Labelled, embedder: Embedder) -> Ruler:
        """Raises HarnessError when the unit or the splitters need a tokenizer that the embedder has not."""
        unit = self.unit(embedder)
        ruler = Ruler(labelled.corpus, unit, embedder.tokenizer)
        if "tokens" in self.space.splitters and tokenizers.token_source(unit, embedder.tokenizer) is None:
            fix = f"set unit to a token encoding ({', '.join(tokenizers.tiktoken.ENCODINGS)}) or choose another splitter"
            raise HarnessError(
                Fault(f"{self.path} [search] splitter", "'tokens' needs a tokenizer, and the embedder has none", fix)
            )
        return ruler

    def identity(self, labelled: Labelled, embedder: Embedder) -> dict[str, Any]:
        """What makes a study another study, by the names that a refusal shows."""
        used = sorted({*self.space.splitters, *(p.splitter for p in self.points)})
        return {
            "search space": self.space.as_json() if self.search.sampler != "points" else "points",
            "truncation": self.search.truncation,
            "unit": self.unit(embedder),
            "splitter versions": {name: splitters.SPLITTERS[name].version for name in used},
            "corpus": labelled.corpus.sha256,
            "dev questions": questions_sha256(labelled.dev),
            "evidence": labels_sha256(labelled.dev),
            "embedder fingerprint": embedder.identity.fingerprint,
            "similarity": self.similarity,
            "k": [list(self.scoring.ks), self.scoring.char_k],
        }

    @cached_property
    def source_text(self) -> str:
        return self.path.read_text("utf-8")


def load(path: str | Path) -> Experiment:
    """Read an experiment file. Raises HarnessError with every fault of the file, each with its line."""
    path = Path(path)
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise HarnessError(Fault(str(path), "no such experiment file", "give the path of a .toml file")) from None
    except (OSError, UnicodeDecodeError) as error:
        raise HarnessError(Fault(str(path), f"can't be read ({error})", "give a UTF-8 .toml file")) from error
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise HarnessError(Fault(str(path), f"not valid TOML ({error})", "correct it")) from error
    return _resolve(path.resolve(), _Places(path, text), raw)


def find_root(folder: Path) -> Path:
    """The project's root: the nearest folder upward with a mark, else the folder itself."""
    for candidate in (folder, *folder.parents):
        if any((candidate / mark).exists() for mark in ROOT_MARKS):
            return candidate
    return folder


@dataclass(frozen=True)
class _Places:
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


def _resolve(path: Path, places: _Places, raw: Mapping[str, Any]) -> Experiment:
    faults: list[Fault] = []
    file = None
    try:
        file = _File.model_validate(raw)
    except ValidationError as error:
        faults += [_fault(e, places) for e in _without_other_shapes(error.errors())]
    faults += _unknown_names(raw, places)
    options = _embedder_options(raw, places, faults)
    if faults or file is None or options is None:
        raise HarnessError(dict.fromkeys(faults))
    ks = tuple(sorted(set(file.scoring.k)))
    points = tuple(dict.fromkeys(Point(p.splitter, p.chunk_size, round(p.overlap_ratio, 10)) for p in file.search.points))
    space = _space(file.search, points)
    faults += [
        Fault(places.of("search", "points"), f"{what} of a point is not in the list", f"add it to {axis}")
        for axis, what in space.off_lists(points)
    ]
    faults += _selection_faults(file, ks, places)
    if faults:
        raise HarnessError(faults)
    folder = path.parent
    return Experiment(
        path=path,
        root=find_root(folder),
        name=file.experiment.name,
        question=file.experiment.question,
        source=DataSource(
            format=file.data.format,
            corpus=folder / file.data.corpus,
            questions=folder / file.data.questions,
            encoding=file.data.encoding,
        ),
        embedder_type=file.embedder["type"],
        embedder_options=options,
        similarity=file.embedder.get("similarity", "cosine"),
        search=file.search,
        space=space,
        points=points,
        scoring=Scoring(file.embedder.get("similarity", "cosine"), ks, file.scoring.char_k),
        selection=file.selection,
        threshold_rule=file.threshold.rule,
        tracking_text=file.tracking.text,
    )


def _space(search: Search, points: tuple[Point, ...]) -> Space:
    if search.sampler == "points" or search.splitter is None or search.chunk_size is None:
        return Space(
            splitters=tuple(sorted({p.splitter for p in points})),
            chunk_size=Choices(tuple(sorted({p.chunk_size for p in points}))),
            overlap_ratio=Choices(tuple(sorted({p.overlap_ratio for p in points}))),
        )
    return Space(
        splitters=tuple(dict.fromkeys(search.splitter)),
        chunk_size=_axis(search.chunk_size, whole=True),
        overlap_ratio=_axis(search.overlap_ratio, whole=False),
    )


def _axis(model: RangeModel | list[Any], whole: bool) -> Axis:
    if isinstance(model, list):
        return Choices(tuple(sorted({int(v) if whole else round(float(v), 10) for v in model})))
    if whole:
        return Range(int(model.low), int(model.high), int(model.step or 1), model.log)
    return Range(model.low, model.high, model.step, model.log)


def _embedder_options(raw: Mapping[str, Any], places: _Places, faults: list[Fault]) -> BaseModel | None:
    section = raw.get("embedder")
    if not isinstance(section, dict):
        return None
    name = section.get("type")
    if not isinstance(name, str) or name not in embedders.EMBEDDERS:
        if name is None:
            known = ", ".join(sorted(embedders.EMBEDDERS))
            faults.append(Fault(places.of("embedder"), "key 'type' is missing", f"add it; known: {known}"))
        return None
    own = {k: v for k, v in section.items() if k not in ("type", "similarity")}
    model = embedders.EMBEDDERS[name].Options
    keys = ["type", "similarity", *model.model_fields]
    beside = places.path.resolve().parent / str(own.get("model", ""))
    if "model" in own and (beside.is_dir() or str(own["model"]).startswith(("./", "../"))):
        own["model"] = str(beside.resolve())  # like every path of the file, relative to it
    try:
        return model.model_validate(own)
    except ValidationError as error:
        faults += [_fault({**e, "loc": ("embedder", *e["loc"])}, places, keys) for e in error.errors()]
        return None


def _unknown_names(raw: Mapping[str, Any], places: _Places) -> list[Fault]:
    """Names that no registry has, wherever the file uses one."""
    faults: list[Fault] = []

    def look(section: str, key: str, value: Any, known: Any, kind: str) -> None:
        if value is not None and not (isinstance(value, str) and value in known):
            faults.append(Fault(places.of(section, key), f"unknown {kind} '{value}'", nearest(str(value), known)))

    def table(name: str) -> Mapping[str, Any]:
        return raw[name] if isinstance(raw.get(name), dict) else {}

    look("data", "format", table("data").get("format"), formats.FORMATS, "format")
    look("embedder", "type", table("embedder").get("type"), embedders.EMBEDDERS, "embedder")
    look("embedder", "similarity", table("embedder").get("similarity"), ranking.SIMILARITIES, "similarity")
    look("selection", "rule", table("selection").get("rule"), selection.RULES, "selection rule")
    look("threshold", "rule", table("threshold").get("rule"), threshold.RULES, "threshold rule")
    search = table("search")
    look("search", "unit", search.get("unit"), tokenizers.UNITS, "unit")
    named = search.get("splitter", [])
    for splitter in [named] if isinstance(named, str) else named if isinstance(named, list) else []:
        look("search", "splitter", splitter, splitters.SPLITTERS, "splitter")
    points = search.get("points", [])
    for point in points if isinstance(points, list) else []:
        look(
            "search",
            "points",
            point.get("splitter") if isinstance(point, dict) else None,
            splitters.SPLITTERS,
            "splitter",
        )
    return faults


def _selection_faults(file: _File, ks: tuple[int, ...], places: _Places) -> list[Fault]:
    known = [*metrics.names(ks, file.scoring.char_k), *metrics.COSTS]
    return [
        Fault(places.of("selection", "key"), f"unknown metric '{part.lstrip('-')}'", nearest(part.lstrip("-"), known))
        for part in file.selection.key
        if part.removeprefix("-") not in known
    ]


# What pydantic says of each shape that a value could have had.
WRONG_SHAPE = ("model_type", "list_type")


def _without_other_shapes(errors: list[Any]) -> list[Any]:
    """Of a value that is right in shape but not in content, only what is wrong about the content."""
    content = {e["loc"][:2] for e in errors if e["type"] not in WRONG_SHAPE}
    return [e for e in errors if e["type"] not in WRONG_SHAPE or e["loc"][:2] not in content]


def _fault(error: Any, places: _Places, known: list[str] | None = None) -> Fault:
    location = [str(part) for part in error["loc"] if isinstance(part, str) and not part.startswith(("list[", "RangeModel"))]
    section, key = [*location, "", ""][:2]
    where = places.of(section, key)
    if error["type"] == "extra_forbidden":
        fields = known or list(_fields(location[:-1]))
        return Fault(where, f"unknown key '{location[-1]}'", nearest(location[-1], fields))
    if error["type"] == "missing":
        kind = "section" if len(location) == 1 else "key"
        return Fault(places.of(section, key if len(location) > 2 else ""), f"{kind} '{location[-1]}' is missing", "add it")
    if key in ("chunk_size", "overlap_ratio") and error["type"] in WRONG_SHAPE:
        return Fault(where, "neither a list nor a range", "write [a, b] or { low = a, high = b }")
    message = "a table of keys is expected" if error["type"] in ("model_type", "dict_type") else error["msg"]
    message = message.removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    value = error.get("input")
    shown = f" (found {value!r})" if isinstance(value, str | int | float | bool) else ""
    return Fault(where, f"{message}{shown}", "correct the value")


def _fields(location: list[str]) -> list[str]:
    model: type[BaseModel] = _File
    for part in location:
        if part == "points":
            model = PointModel
        elif part in ("chunk_size", "overlap_ratio"):
            model = RangeModel
        else:
            model = model.model_fields[part].annotation  # type: ignore[assignment]
    return list(model.model_fields)
