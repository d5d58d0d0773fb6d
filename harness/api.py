"""The verbs for Python: `harness.load(path)` gives an experiment whose trials and questions are DataFrames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness import embedders, formats, ranking, splitters, tokenizers
from harness.embedders import Embedder
from harness.errors import Fault, HarnessError
from harness.experiment import Experiment
from harness.experiment import load as load_experiment
from harness.formats import Labelled
from harness.pipeline import run_metrics
from harness.records import Chunking, Corpus, Passage, Point, Span
from harness.splitters.base import Splitter
from harness.state import State

if TYPE_CHECKING:
    import pandas as pd

    from harness.audit import Audit
    from harness.estimated import Estimate
    from harness.gate import Gated
    from harness.holdout import Opened
    from harness.label_advice import Lengths
    from harness.lock import Locked
    from harness.outcome import SweepOutcome, Watcher
    from harness.split_file import Written


@dataclass(frozen=True)
class Checked:
    """What `check` found out about a corpus and its questions."""

    labelled: Labelled
    faults: tuple[Fault, ...]
    warnings: tuple[Fault, ...]
    lengths: Lengths | None

    def sound(self) -> Labelled:
        """The corpus and its questions. Raises HarnessError with every fault of them when there is one."""
        if self.faults:
            raise HarnessError(self.faults)
        return self.labelled

    def as_json(self) -> dict[str, Any]:
        dev, holdout = self.labelled.dev, self.labelled.holdout
        answerable = len(self.labelled.answerable)
        return {
            "documents": len(self.labelled.corpus.documents),
            "questions": {
                "dev": answerable,
                "holdout": holdout.answerable,
                "unanswerable": {"dev": len(dev) - answerable, "holdout": holdout.unanswerable},
            },
            "sources": Counter(q.source or "unnamed" for q in dev),
            "evidence": vars(self.labelled.quoted),
            "lengths": vars(self.lengths) if self.lengths else None,
            "errors": [f.as_json() for f in self.faults],
            "warnings": [w.as_json() for w in self.warnings],
        }


class LoadedExperiment:
    """An experiment to ask and to run; every method is the verb of the same name."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment

    def __repr__(self) -> str:
        return f"<experiment '{self.experiment.name}' of {self.experiment.path}>"

    def check(self) -> Checked:
        """Load corpus and questions and report every fault and warning of the labels.

        Raises HarnessError when the model is not where the file says, though check loads none.
        """
        from harness.label_advice import advise, opened_here, unmeasurable

        embedders.EMBEDDERS[self.experiment.embedder_type].find(self.experiment.embedder_options)
        labelled, doubts = formats.load_with_doubts(self.experiment.source)
        own = (*opened_here(self.experiment, labelled), *unmeasurable(self.experiment, labelled))
        advice = advise(self.experiment, labelled)
        return Checked(labelled, (*labelled.faults, *own), (*doubts, *advice.warnings), advice.lengths)

    def split(self, holdout: float | None = None, seed: int | None = None, out: Path | None = None) -> Written:
        """Write down which of the questions without a split are dev and which holdout."""
        from harness.split_file import write_split

        return write_split(self.experiment, holdout, seed, out)

    def retire(self, out: Path | None = None) -> Written:
        """Move an opened holdout into dev; questions that are added from now on are the new one."""
        from harness.split_file import retire

        return retire(self.experiment, out)

    def estimate(self, trials: int | None = None, price_per_million: float | None = None) -> Estimate:
        """What the search would cost and could reach, before embedding."""
        from harness.estimate import estimate

        return estimate(self.experiment, trials, price_per_million)

    def sweep(
        self,
        trials: int | None = None,
        storage: str | None = None,
        tracking_uri: str | None = None,
        fresh: bool = False,
        watcher: Watcher | None = None,
        complete: bool = False,
    ) -> SweepOutcome:
        """Run or resume the search on dev; `complete` measures whole what was pruned."""
        from harness.sweep import sweep

        return sweep(self.experiment, trials, storage, tracking_uri, fresh, watcher, complete)

    def lock(
        self,
        trial: int | None = None,
        because: str | None = None,
        say: Callable[[str], None] = lambda _: None,
        point: str | None = None,
    ) -> Locked:
        """Freeze the chosen trial with its threshold; with several objectives, a named point of their front."""
        from harness.lock import lock

        return lock(self.experiment, trial, because, say, point)

    def holdout(self, tracking_uri: str | None = None, say: Callable[[str], None] = lambda _: None) -> Opened:
        """Open the holdout once."""
        from harness.holdout import holdout

        return holdout(self.experiment, tracking_uri, say)

    def recorded_holdout(self) -> Opened | None:
        """The recorded result of the holdout, once it was opened for this experiment."""
        from harness.holdout import recorded

        return recorded(self.experiment)

    def audit(self, tracking_uri: str | None = None) -> Audit:
        """Re-derive every claim."""
        from harness.audit import audit

        return audit(self.experiment, tracking_uri)

    def gate(self, baseline: str, trial: int | None = None) -> Gated:
        """Whether the rule's choice, or a trial by number, is measurably worse on dev than a lock: its small file, or its id."""
        from harness.gate import gate

        return gate(self.experiment, baseline, trial)

    def report(self, out: Path | None = None, tracking_uri: str | None = None) -> Path:
        """Write the HTML report and its plots, and log them to the sweep's run; the page's path."""
        from harness.report import report

        return report(self.experiment, out, tracking_uri)

    def trials(self) -> pd.DataFrame:
        """One row a trial of the newest study, indexed by trial number: params, state (complete, pruned or failed), error, and
        metrics under their run names; of a pruned trial these are upper bounds, named `bound/...`, and costs."""
        import pandas as pd

        rows = []
        for r in State(self.experiment).current().read_results():
            row: dict[str, Any] = {"trial": r.trial, "state": r.state, "error": r.error}
            row |= {**r.params, "reused_from": r.reused_from}
            found = r.evaluation or r.bound
            rows.append(row | (run_metrics(found, "bound" if r.pruned else "dev") if found else {}))
        return pd.DataFrame(rows).set_index("trial") if rows else pd.DataFrame()

    def questions(self, trial: int) -> pd.DataFrame:
        """One row a dev question under a trial, indexed by question id: metrics, hit rank, cause of a miss, first chunk."""
        import pandas as pd

        results = {r.trial: r for r in State(self.experiment).current().read_results()}
        evaluation = results[trial].evaluation if trial in results else None
        if evaluation is None:
            complete = ", ".join(str(n) for n, r in results.items() if r.complete)
            state = f" but {results[trial].state}" if trial in results else ""
            fix = f"complete are: {complete}; `harness sweep --complete` measures what was pruned"
            raise HarnessError(Fault("trial", f"{trial} is not a complete trial{state}", fix))
        asked = {q.question_id: q.text for q in self.experiment.read_labels().dev}
        rows = []
        for q in evaluation.questions:
            first = q.passages[0] if q.passages else None
            row: dict[str, Any] = {"question_id": q.question_id, "question": asked.get(q.question_id), "answerable": q.answerable}
            row |= {"hit_rank": q.hit_rank, "cause": q.cause, "first_score": q.first_score}
            row |= {"first_document": first.document_id if first else None}
            row |= {"first_start": first.start if first else None, "first_end": first.end if first else None}
            rows.append(row | q.values)
        return pd.DataFrame(rows).set_index("question_id").astype({"hit_rank": "Int64"})


def load(path: str | Path) -> LoadedExperiment:
    """Read an experiment file. Raises HarnessError with every fault of the file."""
    return LoadedExperiment(load_experiment(path))


def chunks(
    corpus: Corpus,
    point: Point,
    unit: str | None = None,
    embedder: Embedder | None = None,
    configured: Mapping[str, Splitter] | None = None,
) -> Chunking:
    """How a corpus is cut at one point, by a splitter with options of its own where it is among `configured`.

    Raises HarnessError for unknown names and infeasible points.
    """
    known = {point.splitter: splitters.resolve(point.splitter, "--splitter"), **(configured or {})}
    tokenizer = embedder.tokenizer if embedder else None
    unit = unit or splitters.default_unit([point.splitter], tokenizer is not None)
    return splitters.chunk(corpus, point, tokenizers.Ruler(corpus, unit, tokenizer), known)


def inspect(chunking: Chunking, question: str, embedder: Embedder, similarity: str, most: int = 10) -> tuple[Passage, ...]:
    """Ranked chunks of one question, at most so many; empty when nothing has a similarity above zero."""
    ranking.resolve(similarity, embedder.similarities, "--similarity")
    texts = chunking.texts()
    fitted = embedder.fit(texts)
    leaders = ranking.Leaders(1, most)
    similarities = ranking.SIMILARITIES[similarity](fitted.embed([question], "query"), fitted.embed(texts, "document"))
    leaders.add(np.arange(len(texts)), ranking.rounded(similarities))
    found = []
    for rank, (chunk, score) in enumerate(zip(*(a.tolist() for a in leaders.of(0)), strict=True), 1):
        span: Span = chunking.span(chunk)
        document = chunking.document_of(chunk)
        size, sections = int(chunking.stored[chunk]), document.section_ids(span)
        found.append(Passage(rank, score, document.document_id, span.start, span.end, size, sections))
    return tuple(found)


__all__ = ["Checked", "LoadedExperiment", "chunks", "inspect", "load"]
