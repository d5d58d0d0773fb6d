"""From an experiment file to a frozen `Experiment`, every name resolved; its keys are fields of `experiment_file`'s models."""

from __future__ import annotations

import os
import re
import tomllib
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from harness import embedders, formats, metrics, ranking, selection, splitters, threshold, tokenizers
from harness.default_space import limit, with_defaults
from harness.embedders import Embedder, EmbedderType
from harness.embedders.cache import cached
from harness.errors import Fault, HarnessError, nearest
from harness.experiment_file import Data, File, Places, RangeModel, Search, SplitModel, as_fault, without_other_shapes
from harness.formats import DataSource, Labelled
from harness.pipeline import Scoring
from harness.records import Chunking, Corpus, Point, labels_sha256, questions_sha256
from harness.selection import Selection
from harness.space import Axis, Choices, Range, Space
from harness.splits import SplitRule
from harness.splitters import user
from harness.splitters.base import Splitter
from harness.splitters.baselines import Conventional
from harness.tokenizers import Ruler

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
ROOT_MARKS = (".git", "pyproject.toml", "MLproject", ".harness")


def differences(recorded: Mapping[str, Any], identity: Mapping[str, Any]) -> list[str]:
    """What of a study's identity is no longer as it was recorded; baselines come on top and make no other study."""
    return [name for name, value in identity.items() if _without_baselines(recorded.get(name)) != value]


def _without_baselines(value: Any) -> Any:
    return {k: v for k, v in value.items() if k not in splitters.BASELINES} if isinstance(value, dict) else value


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
    splitters: Mapping[str, Splitter]  # those that the search uses, with their options
    space: Space
    points: tuple[Point, ...]
    baselines: tuple[Point, ...]
    scoring: Scoring
    selection: Selection
    threshold_rule: str
    tracking_text: Literal["full", "spans", "none"]

    @property
    def aside(self) -> tuple[Point, ...]:
        """Where the file names no baselines, all there are: measured beside the search, and no trials of it."""
        return tuple(_baseline(name) for name in splitters.BASELINES) if self.search.baselines is None else ()

    def read_labels(self) -> Labelled:
        return formats.load(self.source)

    def load_embedder(self, say: Callable[[str], None] | None = None) -> Embedder:
        """The embedder, with the machine's vector cache before it; `say` is told, once, why that is done without.

        Raises HarnessError when the model can't be loaded.
        """
        embedder = embedders.EMBEDDERS[self.embedder_type].load(self.embedder_options)
        return cached(embedder, say) if say else cached(embedder)

    def unit(self, embedder: Embedder) -> str:
        """The unit of chunk size: as named, else the splitters' own."""
        return self.unit_of(embedder.tokenizer is not None)

    def unit_of(self, has_model_tokens: bool) -> str:
        """The unit of chunk size, as far as it is known without the embedder."""
        return self.search.unit or splitters.default_unit(
            sorted(set(self.splitters) - set(splitters.BASELINES)), has_model_tokens
        )

    def chunk(self, corpus: Corpus, point: Point, ruler: Ruler) -> Chunking:
        """The corpus cut at a point.

        Raises HarnessError when overlap is not below size, nothing is left, or the file no longer names the user's splitter.
        """
        known = ChainMap(dict(self.splitters), splitters.EVERY)
        if point.splitter not in known:
            what = f"splitter '{point.splitter}' is no longer in the file, so nothing can be cut by it"
            raise HarnessError(Fault(str(self.path), what, "restore it in [search] splitter"))
        return splitters.chunk(corpus, point, ruler, known)

    def ruler(self, labelled: Labelled, embedder: Embedder) -> Ruler:
        return Ruler(labelled.corpus, self.unit(embedder), embedder.tokenizer, _reads(embedder))

    def identity(self, labelled: Labelled, embedder: Embedder) -> dict[str, Any]:
        """What makes a study another study, by the names that a refusal shows."""
        return {
            **self._space_identity(),
            "truncation": self.search.truncation,
            "unit": tokenizers.unit_name(self.unit(embedder)),
            "splitter versions": _without_baselines({name: s.identity for name, s in sorted(self.splitters.items())}),
            "corpus": labelled.corpus.sha256,
            "dev questions": questions_sha256(labelled.dev),
            "evidence": labels_sha256(labelled.dev),
            "embedder fingerprint": embedder.identity.fingerprint,
            "similarity": self.similarity,
            "k": [list(self.scoring.ks), self.scoring.char_k],
        }

    def _space_identity(self) -> dict[str, Any]:
        if self.search.sampler == "points":
            return {"search space": "points"}
        return {f"search space {axis}": values for axis, values in self.space.as_json().items()}

    @cached_property
    def source_text(self) -> str:
        return self.path.read_text("utf-8-sig")


def load(path: str | Path) -> Experiment:
    """Read an experiment file. Raises HarnessError with every fault of the file, each with its line."""
    path = Path(path)
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise HarnessError(Fault(str(path), "no such experiment file", "give the path of a .toml file")) from None
    except (OSError, ValueError) as error:
        raise HarnessError(Fault(str(path), f"can't be read ({error})", "give a UTF-8 .toml file")) from error
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise HarnessError(Fault(str(path), f"not valid TOML ({error})", "correct it")) from error
    except RecursionError:
        raise HarnessError(Fault(str(path), "lists or tables are nested too deeply", "write them flat")) from None
    return _resolve(path.resolve(), Places(path, text), raw)


def find_root(folder: Path) -> Path:
    """The project's root: the nearest folder upward with a mark, else the folder itself."""
    for candidate in (folder, *folder.parents):
        if any((candidate / mark).exists() for mark in ROOT_MARKS):
            return candidate
    return folder


def _resolve(path: Path, places: Places, raw: Mapping[str, Any]) -> Experiment:
    faults: list[Fault] = []
    file = None
    try:
        file = File.model_validate(raw)
    except ValidationError as error:
        faults += [as_fault(e, places) for e in without_other_shapes(error.errors())]
    faults += _unknown_names(raw, places)
    options = _embedder_options(raw, places, faults)
    if faults or file is None or options is None:
        raise HarnessError(dict.fromkeys(faults))
    search = _with_tokenizer_file(file.search, path.parent)
    search = with_defaults(search, embedders.EMBEDDERS[file.embedder["type"]], options)
    ks = tuple(sorted(set(file.scoring.k)))
    given = (Point(p.splitter, p.chunk_size, round(p.overlap_ratio, 10), tuple(p.prepend)) for p in search.points)
    points = tuple(dict.fromkeys(given))
    space = _space(search, points)
    faults += [
        Fault(places.of("search", "points"), f"{what} of a point is not in the list", f"add it to {axis}")
        for axis, what in space.off_lists(points)
    ]
    baselines = tuple(_baseline(name) for name in dict.fromkeys(search.baselines or ()))
    unnamed = splitters.BASELINES if search.baselines is None else ()
    used = sorted({*space.splitters, *unnamed, *(p.splitter for p in (*points, *baselines))})
    configured = _splitters(file, used, places, faults)
    if (name := Conventional.name) in configured:
        configured[name] = _conventional(search, configured, embedders.EMBEDDERS[file.embedder["type"]], options)
    space = replace(space, ignored={name: s.ignores for name, s in configured.items() if s.ignores})
    faults += _selection_faults(file, ks, places)
    faults += _beyond_embedder(file, search, space, places)
    if faults:
        raise HarnessError(faults)
    folder = path.parent
    return Experiment(
        path=path,
        root=find_root(folder),
        name=file.experiment.name,
        question=file.experiment.question,
        source=_source(file.data, folder, places),
        embedder_type=file.embedder["type"],
        embedder_options=options,
        similarity=file.embedder.get("similarity", "cosine"),
        search=search,
        splitters=configured,
        space=space,
        points=points,
        baselines=baselines,
        scoring=Scoring(file.embedder.get("similarity", "cosine"), ks, file.scoring.char_k),
        selection=file.selection,
        threshold_rule=file.threshold.rule,
        tracking_text=file.tracking.text,
    )


def _baseline(name: str) -> Point:
    return Point(name, 0, 0.0)


def _conventional(search: Search, configured: Mapping[str, Splitter], kind: EmbedderType, options: BaseModel) -> Splitter:
    """The conventional setting in the search's unit, as far as the model reads; a model that is not here yet leaves it open."""
    named = sorted(set(configured) - set(splitters.BASELINES))
    unit, reads = search.unit or splitters.default_unit(named, kind.has_tokenizer), limit(kind, options)
    known = reads is not None or not kind.has_tokenizer
    return Conventional().held_by(unit, reads) if known else Conventional()


def _reads(embedder: Embedder) -> int | None:
    """Tokens of a text that a loaded model reads, special ones and its prompt not counted; None: any number."""
    return None if embedder.max_tokens is None else embedder.max_tokens - int(embedder.token_counts([""])[0])


def _with_tokenizer_file(search: Search, folder: Path) -> Search:
    """A unit that is a tokenizer's file, its path made absolute: like every path of the file it is relative to it."""
    prefix = tokenizers.hugging_face.PREFIX
    if not (search.unit or "").startswith(prefix):
        return search
    path = (folder / Path((search.unit or "").removeprefix(prefix)).expanduser()).resolve()
    return search.model_copy(update={"unit": f"{prefix}{path}"})


def _splitters(file: File, used: list[str], places: Places, faults: list[Fault]) -> dict[str, Splitter]:
    """The splitters that a search uses, with the options of their tables."""
    found: dict[str, Splitter] = {}
    for name in used:
        try:
            found[name] = _user_splitter(name, places) if name.startswith(user.PREFIX) else splitters.EVERY[name]
        except HarnessError as error:
            faults += error.faults
    for name, table in file.splitters.items():
        if name not in splitters.SPLITTERS:
            fix = nearest(name, splitters.SPLITTERS)
            faults.append(Fault(places.of(f"splitters.{name}"), f"unknown splitter '{name}'", fix))
            continue
        model = splitters.SPLITTERS[name].Options
        try:
            options = model.model_validate(table)
        except ValidationError as error:
            section = f"splitters.{name}"
            known = list(model.model_fields)
            faults += [as_fault({**e, "loc": (section, *e["loc"])}, places, known) for e in error.errors()]
            continue
        if name in found:
            found[name] = found[name].configured(options)
    return found


def _user_splitter(name: str, places: Places) -> Splitter:
    folder = places.path.resolve().parent
    return user.load(name, places.of("search", "splitter"), [folder, find_root(folder)])


def _source(data: Data, folder: Path, places: Places) -> DataSource:
    """Raises HarnessError for every path that is empty, or names an environment variable that is, or a user unknown here."""
    faults: list[Fault] = []

    def path(key: str, value: str) -> Path:
        where = places.of("data", key)
        for name in VARIABLE.findall(value):
            if not os.environ.get(name, "").strip():
                state = "empty" if name in os.environ else "not set"
                faults.append(Fault(where, f"environment variable {name} is {state}", f"export {name}=..."))
        if not value.strip():
            faults.append(Fault(where, "the path is empty", "name a file or a folder; '.' is the folder of this file"))
        try:
            return folder / Path(VARIABLE.sub(lambda m: os.environ.get(m[1], ""), value)).expanduser()
        except RuntimeError:  # of `~name`
            faults.append(Fault(where, f"'{value}' begins with the home folder of nobody known here", "write the path in full"))
            return folder

    corpus, questions = path("corpus", data.corpus), path("questions", data.questions)
    split: SplitRule | Path | None = path("split", data.split) if isinstance(data.split, str) else None
    if isinstance(data.split, SplitModel):
        split = SplitRule(data.split.holdout, data.split.seed)
    if faults:
        raise HarnessError(faults)
    return DataSource(data.format, corpus, questions, data.encoding, data.questions_encoding, split)


def _space(search: Search, points: tuple[Point, ...]) -> Space:
    if search.sampler == "points" or search.splitter is None or search.chunk_size is None:
        return Space(
            splitters=tuple(sorted({p.splitter for p in points})),
            chunk_size=Choices(tuple(sorted({p.chunk_size for p in points}))),
            overlap_ratio=Choices(tuple(sorted({p.overlap_ratio for p in points}))),
            prepend=tuple(sorted({p.prepend for p in points})),
        )
    return Space(
        splitters=tuple(dict.fromkeys(search.splitter)),
        chunk_size=_axis(search.chunk_size, whole=True),
        overlap_ratio=_axis(search.overlap_ratio, whole=False),
        prepend=tuple(dict.fromkeys(tuple(parts) for parts in search.prepend)),
    )


def _axis(model: RangeModel | list[Any], whole: bool) -> Axis:
    if isinstance(model, list):
        return Choices(tuple(sorted({int(v) if whole else round(float(v), 10) for v in model})))
    if whole:
        return Range(int(model.low), int(model.high), int(model.step or 1), model.log)
    return Range(model.low, model.high, model.step, model.log)


def _embedder_options(raw: Mapping[str, Any], places: Places, faults: list[Fault]) -> BaseModel | None:
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
    try:
        beside = places.path.resolve().parent / str(own.get("model", ""))
        if "model" in own and (beside.is_dir() or str(own["model"]).startswith(("./", "../"))):
            own["model"] = str(beside.resolve())  # like every path of the file, relative to it
    except (OSError, ValueError) as error:
        what = f"it can't be a folder's name ({getattr(error, 'strerror', None) or error})"
        faults.append(Fault(places.of("embedder", "model"), what, "give a folder, a hub name or package:NAME"))
        return None
    try:
        return model.model_validate(own)
    except ValidationError as error:
        faults += [as_fault({**e, "loc": ("embedder", *e["loc"])}, places, keys) for e in error.errors()]
        return None


def _unknown_names(raw: Mapping[str, Any], places: Places) -> list[Fault]:
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
    if not str(search.get("unit")).startswith(tokenizers.hugging_face.PREFIX):
        look("search", "unit", search.get("unit"), tokenizers.UNITS, "unit")
    named = search.get("splitter", [])
    for splitter in [named] if isinstance(named, str) else named if isinstance(named, list) else []:
        if str(splitter).startswith(user.PREFIX):
            continue  # loaded once the rest is sound
        if splitter in splitters.BASELINES:
            fix = f'write baselines = ["{splitter}"]: it has no size to search for'
            faults.append(Fault(places.of("search", "splitter"), f"'{splitter}' is a baseline", fix))
        else:
            look("search", "splitter", splitter, splitters.SPLITTERS, "splitter")
    for name in search.get("baselines", []) if isinstance(search.get("baselines"), list) else []:
        look("search", "baselines", name, splitters.BASELINES, "baseline")
    points = search.get("points", [])
    for point in points if isinstance(points, list) else []:
        if isinstance(point, dict) and str(point.get("splitter")).startswith(user.PREFIX):
            continue
        look(
            "search",
            "points",
            point.get("splitter") if isinstance(point, dict) else None,
            splitters.SPLITTERS,
            "splitter",
        )
    return faults


def _beyond_embedder(file: File, search: Search, space: Space, places: Places) -> list[Fault]:
    """What the kind of embedder can't do, known without loading it."""
    kind = embedders.EMBEDDERS[file.embedder["type"]]
    faults = []
    similarity = file.embedder.get("similarity", "cosine")
    if similarity not in kind.similarities:
        what = f"similarity '{similarity}' does not apply to the vectors of '{file.embedder['type']}'"
        faults.append(Fault(places.of("embedder", "similarity"), what, f"use {' or '.join(kind.similarities)}"))
    if not kind.has_tokenizer:
        unit, encodings = search.unit, ", ".join(tokenizers.tiktoken.ENCODINGS)
        if unit == tokenizers.MODEL_TOKENS:
            what = f"embedder '{file.embedder['type']}' has no tokens of its own"
            faults.append(Fault(places.of("search", "unit"), what, f"use {', '.join(tokenizers.TOKENIZERS)}"))
        if "tokens" in space.splitters and not tokenizers.counts_tokens(unit):
            what = f"splitter 'tokens' needs a tokenizer, and embedder '{file.embedder['type']}' has none"
            faults.append(Fault(places.of("search", "splitter"), what, f"set unit to {encodings}, or take another splitter"))
    return faults


def _selection_faults(file: File, ks: tuple[int, ...], places: Places) -> list[Fault]:
    quality = metrics.names(ks, file.scoring.char_k)
    known = [*quality, *metrics.COSTS]
    where = places.of("selection", "key")
    named = [part.removeprefix("-") for part in file.selection.key]
    faults = [_not_to_choose_by(name, known, where) for name in named if name not in known]
    first = file.selection.key[0]
    if not faults and file.selection.rule in ("within", "target") and first not in quality:
        what = f"rule '{file.selection.rule}' can't go by '{first}'"
        faults.append(Fault(where, what, "put a quality metric without '-' first, such as hit_at_1"))
    return [*faults, *_objective_faults(file.selection.objective, quality, places.of("selection", "objective"))]


def _objective_faults(objective: list[str], quality: list[str], where: str) -> list[Fault]:
    names = [part.removeprefix("-") for part in objective]
    known = [*quality, *metrics.COSTS]
    faults = [_not_to_choose_by(name, known, where) for name in names if name not in known]
    for part, name in zip(objective, names, strict=True):
        if part != name and name in quality:
            faults.append(Fault(where, f"'{part}' would look for the worst {name}", f"write '{name}': more of it is better"))
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        faults.append(Fault(where, f"'{name}' is named twice, with and without '-'", "name it once: less of a cost is better"))
    return faults


def _not_to_choose_by(name: str, known: list[str], where: str) -> Fault:
    if name in metrics.names([], 0, by_chance=True):
        return Fault(where, f"'{name}' is what chance gets, no merit of a setting", nearest(name.removeprefix("random_"), known))
    return Fault(where, f"unknown metric '{name}'", nearest(name, known))
