"""What `chunks` and `inspect` look at: a corpus, a setting and, for a question, a scoring function."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from harness import corpora, embedders, experiment, splitters
from harness.embedders import Embedder
from harness.embedders.cache import cached
from harness.errors import Fault, HarnessError, nearest
from harness.experiment import Experiment
from harness.records import Chunking, Corpus, Point
from harness.splitters import user
from harness.splitters.base import Splitter
from harness.splitters.prepend import PARTS
from harness.tokenizers import Ruler


@dataclass(frozen=True)
class Setting:
    """One point of a space over an experiment's corpus or a corpus alone."""

    experiment: Path | None
    corpus: Path | None
    splitter: str
    size: int
    overlap_ratio: float
    unit: str | None
    embedder: str | None = None
    model: str | None = None
    revision: str | None = None
    similarity: str | None = None
    prepend: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.experiment is None) == (self.corpus is None):
            raise HarnessError(Fault("arguments", "an experiment or --corpus is needed, one of the two", "give one"))
        if not self.splitter.startswith(user.PREFIX):
            splitters.resolve(self.splitter, "--splitter")
        for part in self.prepend:
            if part not in PARTS:
                raise HarnessError(Fault("--prepend", f"unknown part '{part}'", nearest(part, PARTS)))

    @cached_property
    def _loaded(self) -> Experiment | None:
        return experiment.load(self.experiment) if self.experiment else None

    @cached_property
    def loaded_embedder(self) -> Embedder:
        """The named embedder, else the experiment's, else TF-IDF."""
        if self._loaded and self.embedder is None and self.model is None:
            return self._loaded.load_embedder()
        name = self.embedder or ("sentence-transformers" if self.model else "tfidf")
        kind = embedders.resolve(name, "--embedder")
        given = {"model": self.model, "revision": self.revision}
        try:
            options = kind.Options.model_validate({k: v for k, v in given.items() if v is not None})
        except ValidationError as error:
            faults = [
                Fault("--model", f"{e['msg'].lower()} for embedder '{name}'", "see the README's [embedder] section")
                for e in error.errors()
            ]
            raise HarnessError(faults) from error
        return cached(kind.load(options))

    @property
    def similarity_name(self) -> str:
        return self.similarity or (self._loaded.similarity if self._loaded else "cosine")

    def chunking(self) -> Chunking:
        """Raises HarnessError when the corpus can't be read or the point is infeasible."""
        corpus: Corpus = self._loaded.source.read_corpus() if self._loaded else corpora.read_corpus(self.corpus or Path())
        point = Point(self.splitter, self.size, self.overlap_ratio, tuple(dict.fromkeys(self.prepend)))
        known = dict(self._loaded.splitters) if self._loaded else {}
        if self.splitter not in known:
            own = self.splitter.startswith(user.PREFIX)
            known[self.splitter] = self._own() if own else splitters.resolve(self.splitter, "--splitter")
        embedder = self.loaded_embedder if self._loaded or self.embedder or self.model else None
        tokenizer = embedder.tokenizer if embedder else None
        unit = self.unit or (self._loaded.search.unit if self._loaded else None)
        unit = unit or splitters.default_unit([self.splitter], tokenizer is not None)
        return splitters.chunk(corpus, point, Ruler(corpus, unit, tokenizer), known)

    def _own(self) -> Splitter:
        """A user's splitter; its module lies beside the experiment file, in the project's root, or where one is."""
        beside = self._loaded.path.parent if self._loaded else Path.cwd()
        root = self._loaded.root if self._loaded else beside
        return user.load(self.splitter, "--splitter", [beside, root, Path.cwd()])
