"""Records to one HTML page with its plots; computes nothing. A section more is a template and a module of what it says."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from harness import (
    report_baselines,
    report_choice,
    report_costs,
    report_csv,
    report_curve,
    report_parts,
    report_trials,
    report_words,
)
from harness.errors import Fault, HarnessError, TrackingDown
from harness.experiment import Experiment
from harness.lock import now
from harness.report_facts import Facts, gather, questions_of
from harness.report_heat import heat
from harness.report_misses import CAUSES, misses
from harness.report_plots import Plot, curve_file, drawn
from harness.report_reading import contexts
from harness.state import State, write_atomically
from harness.sweep import resolve_tracking
from harness.version import code_version

PAGE = "index.html"


def report(experiment: Experiment, out: Path | None = None, tracking_uri: str | None = None) -> Path:
    """Write the page and its plots and log them to the sweep's run; returns the page's path.

    Raises HarnessError without a sweep, TrackingDown when the store does not answer; the page is written by then.
    """
    folder = out or State(experiment).report
    facts = gather(experiment)
    plots = drawn(facts)
    full = render(facts, plots)
    write_atomically(folder / PAGE, full)
    write_atomically(folder / report_csv.FILE, report_csv.as_csv((*facts.results, *facts.aside)))
    for plot in plots:
        _write_png(folder / plot.file, plot.png)
    logged = full if experiment.tracking_text == "full" else render(facts, plots, experiment.tracking_text == "spans", False)
    try:
        _log(facts, logged, [folder / name for name in (report_csv.FILE, *(plot.file for plot in plots))], tracking_uri)
    except TrackingDown as error:
        written = f"the report is written to {folder / PAGE}, but not logged"
        raise TrackingDown(Fault(f.where, f"{f.what}; {written}", f.fix) for f in error.faults) from error
    return folder / PAGE


def render(facts: Facts, plots: Sequence[Plot], per_question: bool = True, texts: bool = True) -> str:
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
    said = {
        "words": report_words,
        "parts": report_parts,
        "trials": report_trials,
        "choice": report_choice,
        "curve": report_curve,
        "costs": report_costs,
        "baselines": report_baselines,
    }
    return environment.get_template("report.html.j2").render(
        **said,
        **_of_questions(facts, per_question, texts),
        facts=facts,
        plots={plot.file: plot for plot in plots},
        curve_file=curve_file,
        csv=report_csv.FILE,
        heat=heat(facts),
        causes=CAUSES,
        per_question=per_question,
        texts=texts,
        written=now(),
        version=code_version(),
    )


def _of_questions(facts: Facts, per_question: bool, texts: bool) -> dict[str, Any]:
    """What is said of single questions, as far as it may be."""
    dev = () if facts.changed else facts.labelled.dev
    scores, corpus = questions_of(facts.shown), facts.labelled.corpus
    if not per_question:
        return {"asked": {}, "misses": [], "reading": []}
    return {
        "asked": {q.question_id: q.text for q in dev} if texts else {},
        "misses": misses(scores, dev, corpus, texts),
        "reading": contexts(scores, dev, corpus, facts.shown.point.prepend, texts, facts.experiment.search.seed),
    }


def _write_png(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        fix = "free space or mend the folder's rights"
        raise HarnessError(Fault(str(path), f"can't be written ({error.strerror})", fix)) from error


def _log(facts: Facts, page: str, files: Sequence[Path], tracking_uri: str | None) -> None:
    """The page as it may leave this machine, and the files beside it, as artifacts of the sweep's run."""
    run_id = facts.study.get("run_id")
    if not run_id:
        return
    tracker = resolve_tracking(facts.experiment, tracking_uri)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / PAGE
        path.write_text(page, "utf-8")
        for file in (path, *files):
            tracker.log_file(run_id, file, "report")
