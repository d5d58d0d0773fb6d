"""Every trial of a study as one CSV file, for those who want all of it; it holds settings and figures, no text of users."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from harness.metrics import COSTS
from harness.records import TrialResult

FILE = "trials.csv"


def as_csv(results: Sequence[TrialResult]) -> str:
    """A row a trial, baselines beside the search last.

    Of a pruned trial quality is in columns `..._at_most`, for these are upper bounds; its costs are exact.
    """
    rows = [_row(r) for r in sorted(results, key=lambda r: (r.aside, abs(r.trial)))]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def _row(r: TrialResult) -> dict[str, object]:
    bounds = r.bound.metrics if r.bound else {}
    costs = {name: bound for name, bound in bounds.items() if name in COSTS}
    at_most = {f"{name}_at_most": bound for name, bound in bounds.items() if name not in COSTS}
    reused = "" if r.reused_from is None else r.reused_from
    number = "" if r.aside else r.trial
    facts = {"trial": number, "state": r.state, **r.params, "answerable": r.answerable, "same_chunks_as": reused}
    return {**facts, "seconds": round(r.ended - r.started, 3), **r.metrics, **costs, **at_most}
