"""Splitters: a document to spans; to add one, add a file with a class of `base.Splitter` and a line in `SPLITTERS`."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping

import numpy as np

from harness.errors import Fault, HarnessError, nearest
from harness.records import Chunking, Corpus, Point
from harness.splitters.base import Splitter
from harness.splitters.baselines import Conventional, WholeDocument, WholeSection
from harness.splitters.prepend import prefix
from harness.splitters.recursive import Recursive
from harness.splitters.semantic_units import SemanticUnits
from harness.splitters.structure import Structure
from harness.splitters.windows import Windows
from harness.tokenizers import MODEL_TOKENS, Ruler

SPLITTERS: dict[str, Splitter] = {
    "characters": Windows("characters", atoms="characters", version=2),
    "words": Windows("words", atoms="words"),
    "sentences": Windows("sentences", atoms="sentences"),
    "tokens": Windows("tokens", atoms="tokens"),
    "recursive": Recursive(),
    "semantic-units": SemanticUnits(),
    "structure": Structure(),
}

BASELINES: dict[str, Splitter] = {s.name: s for s in (WholeDocument(), WholeSection(), Conventional())}
EVERY: ChainMap[str, Splitter] = ChainMap(SPLITTERS, BASELINES)


def resolve(name: str, where: str) -> Splitter:
    """The splitter that a user named, with its default options."""
    if name not in EVERY:
        raise HarnessError(Fault(where, f"unknown splitter '{name}'", nearest(name, EVERY)))
    return EVERY[name]


def default_unit(splitters: list[str], has_model_tokens: bool) -> str:
    """The unit when the user names none: the splitters' own where they agree, else words."""
    if set(splitters) == {"tokens"} and has_model_tokens:
        return MODEL_TOKENS
    return "words"


def chunk(corpus: Corpus, point: Point, ruler: Ruler, splitters: Mapping[str, Splitter] = EVERY) -> Chunking:
    """Cut a corpus at one point of the space. Raises HarnessError when overlap is not below size or nothing is left."""
    if not point.feasible:
        fix = "lower overlap_ratio"
        raise HarnessError(Fault(str(point), f"overlap {point.overlap} is not below chunk size {point.chunk_size}", fix))
    splitter = splitters[point.splitter]
    spans = [splitter.split(d, point.chunk_size, point.overlap, ruler) for d in corpus.documents]
    together = np.concatenate(spans)
    if not len(together) or not ruler.source_units:
        raise HarnessError(Fault("corpus", "no document has any text to cut", "add documents with text"))
    cut = list(zip(corpus.documents, spans, strict=True))
    prefixes = tuple(prefix(d, start, point.prepend) for d, s in cut for start in s[:, 0].tolist()) if point.prepend else ()
    return Chunking(
        corpus=corpus,
        document=np.repeat(np.arange(len(spans)), [len(s) for s in spans]),
        start=together[:, 0],
        end=together[:, 1],
        size=np.concatenate([ruler.sizes(d, s) for d, s in cut]),
        source_units=ruler.source_units,
        target=point.chunk_size,
        shared=np.concatenate([ruler.shared(d, s) for d, s in cut]),
        prefixes=prefixes,
        prefix_size=np.array([ruler.count(p) for p in prefixes], dtype=np.int64) if prefixes else None,
    )
