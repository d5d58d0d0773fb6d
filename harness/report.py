"""Records to one HTML page with its plots; computes nothing. A plot more is a function in `plots` and an entry in `_plots`."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from harness import plots, report_parts
from harness.errors import Fault, HarnessError, TrackingDown
from harness.experiment import Experiment
from harness.lock import now
from harness.records import TrialResult
from harness.report_facts import Facts, gather, questions_of
from harness.report_heat import heat
from harness.report_misses import CAUSES, misses
from harness.state import State, write_atomically
from harness.sweep import resolve_tracking
from harness.version import code_version

PAGE = "index.html"


@dataclass(frozen=True)
class Plot:
    """A figure's file and what is said of it: caption for all, `alt` for those who can't see it."""

    file: str
    title: str
    caption: str
    alt: str
    png: bytes

    @property
    def data_uri(self) -> str:
        return f"data:image/png;base64,{base64.b64encode(self.png).decode()}"


def report(experiment: Experiment, out: Path | None = None, tracking_uri: str | None = None) -> Path:
    """Write the page and its plots and log them to the sweep's run; returns the page's path.

    Raises HarnessError without a sweep, TrackingDown when the store does not answer; the page is written by then.
    """
    folder = out or State(experiment).report
    facts = gather(experiment)
    drawn = _plots(facts)
    full = render(facts, drawn)
    write_atomically(folder / PAGE, full)
    for plot in drawn:
        _write_png(folder / plot.file, plot.png)
    logged = full if experiment.tracking_text == "full" else render(facts, drawn, experiment.tracking_text == "spans", False)
    try:
        _log(facts, logged, [folder / plot.file for plot in drawn], tracking_uri)
    except TrackingDown as error:
        written = f"the report is written to {folder / PAGE}, but not logged"
        raise TrackingDown(Fault(f.where, f"{f.what}; {written}", f.fix) for f in error.faults) from error
    return folder / PAGE


def render(facts: Facts, drawn: Sequence[Plot], per_question: bool = True, texts: bool = True) -> str:
    """The page. Without `texts` it has ids and offsets only, without `per_question` no line about any single question."""
    environment = Environment(
        loader=PackageLoader("harness", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    texts = texts and per_question and not facts.changed
    dev = () if facts.changed else facts.labelled.dev
    return environment.get_template("report.html.j2").render(
        facts=facts,
        parts=report_parts,
        plots={plot.file: plot for plot in drawn},
        heat=heat(facts),
        asked={q.question_id: q.text for q in dev} if texts else {},
        misses=misses(questions_of(facts.shown), dev, facts.labelled.corpus, texts) if per_question else [],
        causes=CAUSES,
        per_question=per_question,
        texts=texts,
        written=now(),
        version=code_version(),
    )


def _plots(facts: Facts) -> list[Plot]:
    settings, name = facts.settings, facts.shown.hit_name
    leading = f"the {min(len(settings), plots.LEADING)} leading settings"
    leader = facts.selected.leader
    best = f"The leader, {leader.point}, has {name}@1 {_hit(leader, 1)} and {name}@3 {_hit(leader, 3)}."
    low, high = (f(r.metrics["index_ratio"] for r in settings[: plots.LEADING]) for f in (min, max))
    drawn = [
        Plot(
            "hits_by_size.png",
            "Hits by chunk size",
            "One marker style a splitter. The ceiling is an upper bound: no ranking of the same chunks can exceed it. "
            "Hollow points: the model reads some chunks only in part.",
            f"Scatter plot of {name}@1 and {name}@3 against chunk size for {len(settings)} settings, with ceilings. {best}",
            plots.png(plots.hits_by_size(settings)),
        ),
        Plot(
            "hits_by_setting.png",
            "Hits by setting",
            f"{leading[0].upper()}{leading[1:]}, best first; the numbers on the bars are counts of questions.",
            f"Bars of {name}@1 and {name}@3 for {leading}. {best}",
            plots.png(plots.hits_by_setting(settings)),
        ),
        Plot(
            "index_by_setting.png",
            "Index ratio by setting",
            "What the overlap costs: units stored per unit in the source. The dashed line, 1, is an index without repetition.",
            f"Bars of the index ratio for {leading}, from {low:.2f} to {high:.2f}.",
            plots.png(plots.index_by_setting(settings)),
        ),
    ]
    return [*drawn, _score_plot(facts)]


def _score_plot(facts: Facts) -> Plot:
    """Scores with the threshold where one is locked; of the trial that the threshold belongs to."""
    result = facts.locked or facts.shown
    tuned = facts.lock.threshold if facts.lock and facts.locked else None
    model = tuned.embedder if tuned else facts.study["embedder"]["name"]
    similarity = tuned.similarity if tuned else facts.study["identity"]["similarity"]
    line = (
        f"The dashed line is the threshold {tuned.value}." if tuned else "No threshold is drawn: none is locked for this trial."
    )
    return Plot(
        "scores.png",
        "Scores of the first chunks",
        f"Dev questions of trial {result.trial} ({result.point}), {similarity} scores of {model}; boxes are quartiles. {line}",
        f"Box plots of first-chunk {similarity} scores of {model}: positives, wrong first chunks, unanswerable questions. {line}",
        plots.png(plots.score_distributions(result, similarity, model, tuned)),
    )


def _hit(result: TrialResult, k: int) -> str:
    return report_parts.hit(result, k)


def _write_png(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        fix = "free space or mend the folder's rights"
        raise HarnessError(Fault(str(path), f"can't be written ({error.strerror})", fix)) from error


def _log(facts: Facts, page: str, images: Sequence[Path], tracking_uri: str | None) -> None:
    """The page as it may leave this machine, and the plots, as artifacts of the sweep's run."""
    run_id = facts.study.get("run_id")
    if not run_id:
        return
    tracker = resolve_tracking(facts.experiment, tracking_uri)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / PAGE
        path.write_text(page, "utf-8")
        for file in (path, *images):
            tracker.log_file(run_id, file, "report")
