"""What an unfinished measurement can still reach; a metric has a bound when `metrics.METRICS` says that it is bounded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness import metrics
from harness.embedders import scoring_fingerprint
from harness.measurement import Measurement
from harness.metrics import Judgement
from harness.pipeline import known_costs
from harness.records import Bound

BOUNDED = [name for name, metric in metrics.METRICS.items() if metric.bounded]
UNKNOWN_COSTS = ("context_at_3", "tokens_embedded", "index_bytes")  # until all is embedded


def bound(measurement: Measurement, judged: Sequence[Judgement | None]) -> Bound:
    """The best that a chunking can still get, as judged: it never rises while more is embedded, and ends as what it gets.

    Sums of hits are whole numbers and divided alike, so that comparing bounds with results compares counts.
    """
    scoring, answerable = measurement.scoring, [j for j in judged if j]
    read, _ = measurement.tokens
    best = metrics.means([metrics.values(j, scoring.ks, scoring.char_k, BOUNDED) for j in answerable])
    regions = any(name.startswith("document_hit_") for name in best)
    return Bound(
        metrics={**best, **known_costs(measurement), "tokens_embedded": float(measurement.tokens_embedded)},
        answerable=len(answerable),
        hit_name="document hit" if regions else "hit",
        chunks_embedded=int(np.count_nonzero(measurement.embedded[measurement.text_of])),
        chunking_sha256=measurement.chunking.sha256,
        scoring_fingerprint=scoring_fingerprint(measurement.fitted, scoring.similarity),
        tokens_embedded=measurement.tokens_embedded,
        tokens_full=int(read[measurement.text_of].sum()),
        seconds=measurement.clock.seconds,
    )


def has_bound(part: str, ks: tuple[int, ...], char_k: int) -> bool:
    """Whether a part of a selection key can be bounded before all is embedded: costs that are known, metrics that are bounded."""
    name = part.removeprefix("-")
    if name in metrics.COSTS:
        return name not in UNKNOWN_COSTS
    return part == name and any(name in metrics.METRICS[b].names(b, ks, char_k) for b in BOUNDED)
