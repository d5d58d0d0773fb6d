"""The command line: each verb parses, calls one function and prints; a verb more is a function here and one below it."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any

import click

EXPERIMENT = click.argument("experiment", type=click.Path(path_type=Path))
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else on standard output.")
TRACKING = click.option(
    "--tracking-uri", metavar="U", help="MLflow store [default: MLFLOW_TRACKING_URI, else the project's mlflow.db]"
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="chunking-harness", prog_name="harness")
def cli() -> None:
    """Choose how documents are cut for retrieval, by measurement, and keep each threshold with its model.

    The usual order: check, estimate, sweep, lock, holdout, audit, report; `run` does them all.
    """


def print_json(value: dict[str, Any]) -> None:
    """One line of JSON, its letters escaped where the stream is not UTF-8."""
    utf_8 = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    print(json.dumps(value, ensure_ascii=not utf_8, default=str))


def verb(function: Callable[..., tuple[dict[str, Any], Callable[[], None], int]]) -> Callable[..., int]:
    """A verb returns its JSON, how to print it for people, and its exit code; what libraries print goes to standard error."""

    @AS_JSON
    @wraps(function)
    def wrapped(*args: Any, as_json: bool, **options: Any) -> int:
        with contextlib.redirect_stdout(sys.stderr):
            found, show, code = function(*args, **options)
        if as_json:
            print_json(found)
        else:
            show()
        return code

    return wrapped


@cli.command()
@EXPERIMENT
@verb
def check(experiment: Path) -> Any:
    """Load corpus and questions; report every fault and warning of the labels."""
    from harness import api, terminal

    checked = api.load(experiment).check()
    return checked.as_json(), lambda: terminal.show_check(checked), 1 if checked.faults else 0


@cli.command()
@EXPERIMENT
@click.option(
    "--holdout",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="H",
    help="Share of the groups [default: the file's, else 0.3]",
)
@click.option(
    "--seed", type=int, metavar="N", help="[default: the file's, else of the first hundred the one nearest to the share]"
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="[default: beside the questions]")
@click.option("--retire", is_flag=True, help="Move an opened holdout into dev; questions added from now on are the new holdout.")
@verb
def split(experiment: Path, holdout: float | None, seed: int | None, out: Path | None, retire: bool) -> Any:
    """Write down which questions are dev and which holdout; never overwrites."""
    from harness import api, terminal

    loaded = api.load(experiment)
    written = loaded.retire(out) if retire else loaded.split(holdout, seed, out)
    return written.as_json(), lambda: terminal.show_split(written), 0


@cli.command()
@EXPERIMENT
@click.option("--trials", type=click.IntRange(1), metavar="N", help="Budget to price [default: the file's]")
@click.option("--price-per-million", type=click.FloatRange(0), metavar="P", help="Price of a million tokens.")
@click.option("--picture", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Draw the space as a PNG.")
@verb
def estimate(experiment: Path, trials: int | None, price_per_million: float | None, picture: Path | None) -> Any:
    """Before spending: ceiling, index ratio, truncated share and cost of the search space, least overlap of each size."""
    from harness import api, terminal

    found = api.load(experiment).estimate(trials, price_per_million)
    if picture:
        from harness.space_picture import write_picture

        write_picture(found, picture)
    return {**found.as_json(), "picture": picture}, lambda: terminal.show_estimate(found, picture), 0


class Name(click.ParamType[str]):
    """A name out of a registry, which is read when the help is shown; the registry's own error lists what it has."""

    name = "name"

    def __init__(self, module: str, registry: str) -> None:
        self.module, self.registry = module, registry

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return f"[{'|'.join(getattr(import_module(self.module), self.registry))}]"


class CorpusOption(click.Option):
    """An option whose help ends in the kinds of files of a corpus, which are read when the help is shown."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        names, text = super().get_help_record(ctx) or ("", "")
        return names, f"{text} {', '.join(import_module('harness.corpora').READERS)}, packed (.gz) or not"


HOW_TO_CUT = "How to cut; or python:package.module:function."


def _setting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say which corpus to cut and how."""
    for option in reversed(
        [
            click.argument("experiment", type=click.Path(path_type=Path), required=False),
            click.option(
                "--corpus",
                cls=CorpusOption,
                type=click.Path(path_type=Path),
                metavar="PATH",
                help="A corpus instead of an experiment: a file, a folder or a glob of",
            ),
            click.option("--splitter", required=True, type=Name("harness.splitters", "SPLITTERS"), help=HOW_TO_CUT),
            click.option("--size", required=True, type=click.IntRange(1), metavar="N", help="Chunk size in units."),
            click.option(
                "--overlap-ratio",
                default=0.0,
                type=click.FloatRange(0, 1, max_open=True),
                metavar="R",
                help="Share of the size.",
                show_default=True,
            ),
            click.option(
                "--unit",
                type=Name("harness.tokenizers", "UNITS"),
                help="How size is counted [default: the experiment's, else the splitter's own]",
            ),
            click.option(
                "--prepend",
                multiple=True,
                type=Name("harness.splitters.prepend", "PARTS"),
                help="What is embedded before each chunk; may be given more than once.",
            ),
        ]
    ):
        function = option(function)
    return function


@cli.command()
@_setting
@verb
def chunks(**setting: Any) -> Any:
    """Show how documents are cut."""
    from harness import terminal
    from harness.looking import Setting

    cut = Setting(**setting).chunking()
    found = {
        "chunks": [
            {
                "document_id": cut.document_of(c).document_id,
                "start": int(cut.start[c]),
                "end": int(cut.end[c]),
                "size": int(cut.size[c]),
                "section_ids": list(cut.section_ids(c)),
            }
            for c in range(len(cut))
        ],
        "index_ratio": cut.index_ratio,
    }
    return found, lambda: terminal.show_chunks(cut), 0


@cli.command("check-splitter")
@click.argument("splitter", type=Name("harness.splitters", "EVERY"))
@click.option("--corpus", type=click.Path(path_type=Path), help="Documents to try it on, beside the awkward texts.")
@click.option("--unit", type=Name("harness.tokenizers", "TOKENIZERS"), help="How size is counted [default: words]")
@verb
def check_splitter(splitter: str, corpus: Path | None, unit: str | None) -> Any:
    """Hold a splitter, such as python:package.module:function, to the contract that all keep."""
    from harness import terminal
    from harness.splitter_check import check_splitter as check

    found = check(splitter, corpus, unit)
    return found.as_json(), lambda: terminal.show_splitter(found), 1 if found.faults else 0


@cli.command()
@_setting
@click.option("--question", required=True, metavar="TEXT")
@click.option("--embedder", type=Name("harness.embedders", "EMBEDDERS"), help="[default: the experiment's, else tfidf]")
@click.option("--model", metavar="M", help="Model of a sentence-transformers embedder: a folder, package:NAME or a hub name.")
@click.option("--revision", metavar="REV", help="Revision of a hub model.")
@click.option("--similarity", type=Name("harness.ranking", "SIMILARITIES"), help="[default: the experiment's, else cosine]")
@click.option("--most", default=10, type=click.IntRange(1), show_default=True, help="How many chunks to show.")
@verb
def inspect(
    question: str,
    embedder: str | None,
    model: str | None,
    revision: str | None,
    similarity: str | None,
    most: int,
    **setting: Any,
) -> Any:
    """Rank the chunks of one setting for one question, with scores."""
    from harness import api, terminal
    from harness.looking import Setting

    chosen = Setting(**setting, embedder=embedder, model=model, revision=revision, similarity=similarity)
    cut = chosen.chunking()
    ranking = api.inspect(cut, question, chosen.loaded_embedder, chosen.similarity_name, most)
    rows = [
        {"rank": p.rank, "score": p.score, "document_id": p.document_id, "start": p.start, "end": p.end}
        | {"section_ids": list(p.section_ids), "text": cut.corpus[p.document_id].text[p.start : p.end]}
        for p in ranking
    ]
    return {"ranking": rows}, lambda: terminal.show_ranking(rows), 0


@cli.command()
@EXPERIMENT
@click.option(
    "--trials", type=click.IntRange(1), metavar="N", help="Points in all, those already done included [default: the file's]"
)
@TRACKING
@click.option("--storage", metavar="U", help="Optuna's database [default: .harness/studies.db]")
@click.option("--fresh", is_flag=True, help="Begin a new study; touches no claim on the holdout.")
@click.option("--complete", is_flag=True, help="Measure whole what was pruned: only what is missing is embedded.")
@verb
def sweep(
    experiment: Path, trials: int | None, tracking_uri: str | None, storage: str | None, fresh: bool, complete: bool
) -> Any:
    """Run or resume the search on dev."""
    from harness import api, terminal

    loaded = api.load(experiment)
    with terminal.watcher() as watcher:
        outcome = loaded.sweep(trials, storage, tracking_uri, fresh, watcher, complete)
    return outcome.as_json(), lambda: terminal.show_sweep(outcome, loaded.experiment), 0


@cli.command()
@EXPERIMENT
@click.option("--trial", type=click.IntRange(0), metavar="N", help="Another trial than the rule's choice.")
@click.option("--point", metavar="NAME", help="With several objectives: a point of their front, by setting or by label.")
@click.option("--because", metavar="TEXT", help="Why that one; recorded and shown wherever the lock is.")
@verb
def lock(experiment: Path, trial: int | None, point: str | None, because: str | None) -> Any:
    """Freeze the chosen trial, its dev threshold and all identities."""
    from harness import api, console, terminal
    from harness.lock import as_json

    locked = api.load(experiment).lock(trial, because, console.say, point)
    return as_json(locked), lambda: terminal.show_lock(locked), 0


@cli.command()
@EXPERIMENT
@TRACKING
@verb
def holdout(experiment: Path, tracking_uri: str | None) -> Any:
    """Open the holdout once and record the result."""
    from harness import api, console, terminal

    opened = api.load(experiment).holdout(tracking_uri, console.say)
    return opened.as_json(), lambda: terminal.show_holdout(opened), 0


@cli.command()
@click.argument("experiment", type=click.Path(path_type=Path), required=False)
@TRACKING
@verb
def audit(experiment: Path | None, tracking_uri: str | None) -> Any:
    """Re-derive every claim; which model and scoring function each threshold was tuned against."""
    from harness import api, terminal
    from harness import audit as audits

    found = api.load(experiment).audit(tracking_uri) if experiment else audits.audit(None, tracking_uri)
    return audits.as_json(found), lambda: terminal.show_audit(found), 1 if found.findings else 0


@cli.command()
@click.argument("first", metavar="RUN")
@click.argument("second", metavar="RUN")
@TRACKING
@verb
def compare(first: str, second: str, tracking_uri: str | None) -> Any:
    """Compare two measured settings question by question.

    RUN is an experiment file (its locked trial, else its choice), EXP:TRIAL, or the id of a trial's run.
    """
    from harness import terminal_statistics
    from harness.compare import compare as compared

    found = compared(first, second, tracking_uri)
    return found.as_json(), lambda: terminal_statistics.show_compared(found), 0


@cli.command()
@EXPERIMENT
@click.option("--baseline", required=True, metavar="LOCK", help="A .lock.toml that is checked in, or a lock's id.")
@click.option("--trial", type=click.IntRange(0), metavar="N", help="Another trial than the rule's choice.")
@verb
def gate(experiment: Path, baseline: str, trial: int | None) -> Any:
    """For CI: exit 1 when the experiment's choice is measurably worse on dev than a lock's setting was."""
    from harness import api, terminal_statistics

    found = api.load(experiment).gate(baseline, trial)
    return found.as_json(), lambda: terminal_statistics.show_gated(found), 1 if found.worse else 0


@cli.command()
@EXPERIMENT
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder to write to [default: .harness/NAME/report]")
@TRACKING
@verb
def report(experiment: Path, out: Path | None, tracking_uri: str | None) -> Any:
    """Write the HTML report and plots."""
    from harness import api

    path = api.load(experiment).report(out, tracking_uri)
    return {"path": str(path)}, lambda: click.echo(f"report: {path}"), 0


@cli.command()
@EXPERIMENT
@click.option("--trials", type=click.IntRange(1), metavar="N", help="Points in all [default: the file's]")
@TRACKING
@verb
def run(experiment: Path, trials: int | None, tracking_uri: str | None) -> Any:
    """Everything in order: check, estimate, sweep, lock, holdout, audit, report. Run again, it shows what is recorded."""
    from harness import terminal
    from harness.whole import run_all

    with terminal.steps() as steps:
        done = run_all(experiment, trials, tracking_uri, steps)
    return done.as_json(), lambda: terminal.show_whole(done), done.exit_code


@cli.command()
@click.option("--clear", is_flag=True, help="Delete the vectors, and give their space back.")
@click.option("--model", default="", metavar="FINGERPRINT", help="Only of the model whose fingerprint begins so.")
@verb
def cache(clear: bool, model: str) -> Any:
    """Show the vectors that are kept on this machine, by model; clear them."""
    from harness import terminal
    from harness.embedders.cache_contents import contents

    found = contents(clear, model)
    return found.as_json(), lambda: terminal.show_cache(found, clear), 0


@cli.group()
def questions() -> None:
    """Grow a question set with a language model: prompt it, import its answers, review them; generate does the first two.

    Each of them takes --json.
    """


def _corpus_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """An experiment whose corpus is meant, or a corpus."""
    function = click.option(
        "--corpus", type=click.Path(path_type=Path), metavar="PATH", help="A corpus instead of an experiment."
    )(function)
    return click.argument("experiment", type=click.Path(path_type=Path), required=False)(function)


def _asked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say about which documents to ask and how much."""
    for option in reversed(
        [
            click.option("--document", "documents", multiple=True, metavar="ID", help="Only this document; may be repeated."),
            click.option("--number", default=8, type=click.IntRange(0), show_default=True, help="Answered questions a prompt."),
            click.option(
                "--unanswerable", default=2, type=click.IntRange(0), show_default=True, help="Questions that nothing answers."
            ),
            click.option(
                "--most-characters",
                type=click.IntRange(200),
                metavar="N",
                help="Cut longer documents between sections or paragraphs, a prompt for each part.",
            ),
        ]
    ):
        function = option(function)
    return function


OUT = click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE.jsonl",
    help="Question file to add to; others stay as they are.",
)


@questions.command("prompt")
@_corpus_of
@_asked
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write a file a prompt to this folder.")
@verb
def questions_prompt(
    experiment: Path | None,
    corpus: Path | None,
    documents: tuple[str, ...],
    number: int,
    unanswerable: int,
    most_characters: int | None,
    out: Path | None,
) -> Any:
    """Print instructions for a model, per document.

    They make a language model write questions about the whole document, each with its evidence quoted word for word, and
    questions that the document does not answer.
    """
    from harness import growing, terminal_questions
    from harness.asking import Wanted

    wanted = Wanted(number, unanswerable, most_characters)
    found = growing.prompt(growing.read_corpus(experiment, corpus), documents, wanted, out)
    return {"prompts": [p.as_json(out) for p in found]}, lambda: terminal_questions.show_prompts(found, out), 0


@questions.command("import")
@click.argument(
    "paths", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True), metavar="[EXPERIMENT] ANSWERS..."
)
@click.option("--corpus", type=click.Path(path_type=Path), metavar="PATH", help="A corpus instead of an experiment.")
@OUT
@click.option("--document", default="", metavar="ID", help="Document of answers that name none [default: by the file's name]")
@click.option("--source", default="generated", show_default=True, help="Where the questions are from.")
@click.option("--date", type=click.DateTime(["%Y-%m-%d"]), metavar="YYYY-MM-DD", help="When they were written [default: today]")
@verb
def questions_import(
    paths: tuple[Path, ...], corpus: Path | None, out: Path, document: str, source: str, date: datetime | None
) -> Any:
    """Add models' answers to a question file.

    ANSWERS are files, or - for standard input. What is not verbatim in its document is dropped and listed; what is doubtful is
    kept and flagged. All of it counts as not reviewed, and the same answers again add nothing.
    """
    from harness import growing, terminal_questions
    from harness.question_file import QuestionFile

    experiment, answers = (None, paths) if corpus else (paths[0], paths[1:])
    day = (date or datetime.now()).date().isoformat()
    found = growing.import_answers(
        growing.read_corpus(experiment, corpus), answers, QuestionFile(out, "--out"), document, source, day
    )
    return found.as_json(), lambda: terminal_questions.show_import(found), 0


@questions.command("review")
@click.argument("target", type=click.Path(path_type=Path), metavar="FILE.jsonl|EXPERIMENT")
@click.option("--corpus", type=click.Path(path_type=Path), metavar="PATH", help="The documents of FILE.jsonl.")
@click.option("--all", "everything", is_flag=True, help="Also those that were reviewed before.")
@verb
def questions_review(target: Path, corpus: Path | None, everything: bool) -> Any:
    """Walk through unreviewed questions.

    Each is shown with its evidence in its document, to keep, drop, reword or quote again.
    Every answer is saved at once. Without a terminal, answers are read line by line from standard input.
    """
    from harness import terminal_questions
    from harness.review import open_review

    review = open_review(target, corpus, everything)
    terminal_questions.walk(review)
    return review.as_json(), lambda: terminal_questions.show_review(review), 0


@questions.command("generate")
@_corpus_of
@_asked
@OUT
@click.option("--endpoint", required=True, metavar="URL", help="OpenAI-compatible, such as http://localhost:8000/v1")
@click.option("--model", required=True, metavar="NAME", help="The model's name at the endpoint.")
@click.option("--concurrency", default=2, type=click.IntRange(1, 64), show_default=True, help="Documents asked about at a time.")
@click.option(
    "--timeout", default=300.0, type=click.FloatRange(0, min_open=True), metavar="S", help="Seconds a request.", show_default=True
)
@click.option("--retries", default=4, type=click.IntRange(0, 100), show_default=True, help="After 429, 5xx and lost connections.")
@click.option("--again", is_flag=True, help="Also ask about documents that have questions from this model.")
@verb
def questions_generate(
    experiment: Path | None,
    corpus: Path | None,
    documents: tuple[str, ...],
    number: int,
    unanswerable: int,
    most_characters: int | None,
    out: Path,
    endpoint: str,
    model: str,
    concurrency: int,
    timeout: float,
    retries: int,
    again: bool,
) -> Any:
    """Prompt a model and import its answers.

    Any OpenAI-compatible endpoint will do; the key, if it needs one, is OPENAI_API_KEY of the environment.
    Answers are imported document by document as they come. A document that has questions from this model is left out.
    """
    from harness import console, generate, growing, terminal_questions
    from harness.asking import Wanted
    from harness.endpoint import Endpoint
    from harness.question_file import QuestionFile

    asked, file = Endpoint(endpoint, model, timeout, retries), QuestionFile(out, "--out")
    wanted, day = Wanted(number, unanswerable, most_characters), datetime.now().date().isoformat()
    whole = growing.read_corpus(experiment, corpus)
    found = generate.generate(whole, file, asked, wanted, day, documents, concurrency, again, console.say)
    return found.as_json(), lambda: terminal_questions.show_generated(found), 0
