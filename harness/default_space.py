"""The search space of an experiment that names none: usual splitters around 200 to 500 tokens, as far as the model reads."""

from __future__ import annotations

from typing import Any

from harness.embedders import EmbedderType
from harness.errors import HarnessError
from harness.experiment_file import PointModel, RangeModel, Search
from harness.splitters import SPLITTERS
from harness.tokenizers import MODEL_TOKENS

LOW, HIGH = 64, 500  # units
OVERLAP = RangeModel(low=0.0, high=0.3, step=0.05)
# Where most people start: 200 to 500 tokens with 10 to 20 % overlap.
FIRST = ((200, 0.1), (350, 0.15), (500, 0.2))


def with_defaults(search: Search, kind: EmbedderType, options: Any) -> Search:
    """The search itself where it names a space, else with the usual one; points of the user's own stay the first."""
    if search.sampler == "points" or search.splitter is not None or search.chunk_size is not None:
        return search
    reads = limit(kind, options)
    unit = search.unit or (MODEL_TOKENS if kind.has_tokenizer else "words")
    high = min(HIGH, reads) if reads and unit == MODEL_TOKENS else HIGH
    names = ("recursive", "structure", "sentences", "tokens" if kind.has_tokenizer else "words")
    splitters = [name for name in names if name in SPLITTERS]
    first = [PointModel(splitter=splitters[0], chunk_size=s, overlap_ratio=r) for s, r in FIRST if s <= high]
    return search.model_copy(
        update={
            "unit": unit,
            "splitter": splitters,
            "chunk_size": RangeModel(low=min(LOW, high), high=high, log=True),
            "overlap_ratio": search.overlap_ratio if "overlap_ratio" in search.model_fields_set else OVERLAP,
            "points": search.points or first,
        }
    )


def limit(kind: EmbedderType, options: Any) -> int | None:
    """Tokens that the model reads; None where that is not limited, or not known here."""
    try:
        return kind.read_limit(options)
    except HarnessError:  # the model is not here: loading it will say so
        return None
