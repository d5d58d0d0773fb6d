"""Runs into and out of MLflow; nothing else writes there. What tables a run has, `tables` says."""

from __future__ import annotations

import getpass
import hashlib
import json
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from harness.errors import Fault, HarnessError, TrackingDown
from harness.pipeline import run_metrics
from harness.records import Bound, Claim, EmbedderIdentity, Evaluation, TrialResult
from harness.tables import Tables

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

# Few and short: a dead server should be noticed within seconds, for results are on disk anyway.
DEFAULTS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
SERVERS = ("http://", "https://")
UI_ADDRESS = "http://127.0.0.1:5000"
DIGEST_LIMIT = 36  # characters that MLflow keeps of a dataset's digest
KIND = "harness.kind"
CLAIM = "holdout claim"
HIDDEN = ":***@"  # stands for a password in an address
SHARED_VIEW = "mlflow.sharedViewState."
AXES = ["chunk_size", "overlap_ratio", "splitter"]  # not the splitter first: its words need room to their left
QUALITY = ("hit_at_1", "hit_at_3", "mrr")
COMPARED = (*QUALITY, *(f"document_{name}" for name in QUALITY), "ceiling", "index_ratio", "context_at_3")
MOST_COMPARED = 100  # runs that MLflow's page loads at once
HASHES_PER_TAG = 300  # an experiment's tag holds 5,000 characters


@dataclass(frozen=True)
class Context:
    """What every run of an experiment carries: identity tags, the datasets and the embedder."""

    tags: Mapping[str, str]
    datasets: Sequence[tuple[str, str, str, str]]  # name, digest, source, context
    embedder: EmbedderIdentity


def source_tags(source: str) -> dict[str, str]:
    """User and source, which MLflow's client does not set by itself."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # no such user in a container
        user = "unknown"
    return {"mlflow.user": user, "mlflow.source.name": source, "mlflow.source.type": "LOCAL"}


def read_tags(uri: str, run_id: str) -> dict[str, str] | None:
    """A run's tags; None when the store has no such run. Raises TrackingDown when the store does not answer."""
    require_answer(uri)
    with _answering(uri):
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException

        try:
            return dict(MlflowClient(tracking_uri=uri).get_run(run_id).data.tags)
        except MlflowException as error:
            if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                return None
            raise


def require_answer(uri: str) -> None:
    """Raises TrackingDown when a server does not answer; a SQLite file is made by whoever writes to it."""
    if uri.startswith("sqlite:"):
        if Path(uri.removeprefix("sqlite:///")).is_dir():
            raise TrackingDown(Fault(uri, "that is a folder, not a database file", "give a file's path"))
        return
    _set_defaults()
    with _answering(uri):
        from mlflow import MlflowClient

        if not uri.startswith(SERVERS) and "://" in uri:
            _connect(uri)
        MlflowClient(tracking_uri=uri).search_experiments(max_results=1)


def _connect(uri: str) -> None:
    """Raises at once where MLflow would try a database that does not answer for minutes; other kinds of address pass."""
    from sqlalchemy import create_engine
    from sqlalchemy.exc import NoSuchModuleError

    try:
        engine = create_engine(uri)
    except (NoSuchModuleError, ImportError):
        return
    try:
        engine.connect().close()
    finally:
        engine.dispose()


def _set_defaults() -> None:
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    for chatty in ("mlflow.store.db.utils", "alembic"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)  # its retries; what they come to, we tell


@contextmanager
def _answering(uri: str) -> Iterator[None]:
    from google.protobuf.json_format import ParseError
    from mlflow.exceptions import MlflowException
    from requests import RequestException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (MlflowException, RequestException, SQLAlchemyError, OSError, ImportError, ValueError, ParseError) as error:
        what = f"the MLflow store does not answer ({_first_line(error)})"
        fix = "start it or give another with --tracking-uri; results are on disk, and the next call logs what is missing"
        raise TrackingDown(Fault(without_password(uri), what, fix)) from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def _make_database(uri: str) -> None:
    """Make MLflow's tables in a new SQLite file under another name first: an interrupted start leaves no half of them,
    and of two that start at once one waits."""
    path = Path(uri.removeprefix("sqlite:///"))
    if not uri.startswith("sqlite:///") or path.exists() or os.name == "nt" or not path.parent.is_dir():
        return
    from filelock import FileLock
    from mlflow import MlflowClient

    unfinished = path.with_name(f".{path.name}.{os.getpid()}.new")
    waiting = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    with FileLock(Path(tempfile.gettempdir()) / f"chunking-harness-{waiting}.lock"):
        if not path.exists():
            try:
                MlflowClient(tracking_uri=f"sqlite:///{unfinished}").search_experiments(max_results=1)
                unfinished.replace(path)
            finally:
                unfinished.unlink(missing_ok=True)


class Tracker:
    """One MLflow experiment. Every method raises TrackingDown when the store does not answer."""

    def __init__(self, uri: str, experiment: str, artifacts: Path, parent: str | None = None) -> None:
        """`parent` is the sweep's run where there is one: its MLflow experiment is the one that counts."""
        _set_defaults()
        self.uri = uri
        self.experiment = experiment
        # A database without a server keeps its artifacts in the project; a server has a place of its own.
        self._artifacts = None if uri.startswith(SERVERS) else (artifacts / experiment).as_uri()
        self._given_run = os.environ.pop("MLFLOW_RUN_ID", None)  # by `mlflow run`; no child may resume it
        with self._answering():
            from mlflow import MlflowClient

            _make_database(uri)
            self._client: MlflowClient = MlflowClient(tracking_uri=uri)
            if self._given_run and not self._exists(self._given_run):
                what = f"run '{self._given_run}' is not in {without_password(uri)}"
                raise HarnessError(Fault("MLFLOW_RUN_ID", what, "unset it, or set MLFLOW_TRACKING_URI to the store that has it"))
            self.experiment_id = self._open_experiment(parent)

    def _answering(self) -> AbstractContextManager[None]:
        return _answering(self.uri)

    def _open_experiment(self, parent: str | None) -> str:
        for run_id in (parent, self._given_run):
            if run_id and self._exists(run_id):
                return str(self._client.get_run(run_id).info.experiment_id)
        return self._get_or_create(self.experiment, {})[0]

    def _get_or_create(self, name: str, tags: Mapping[str, str]) -> tuple[str, bool]:
        """The experiment's id, and whether this call made it: of several racers, exactly one does."""
        from mlflow.exceptions import MlflowException

        try:
            return str(self._client.create_experiment(name, self._artifacts, dict(tags))), True
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        found = self._client.get_experiment_by_name(name)
        if found is None or found.lifecycle_stage == "deleted":
            if not tags:
                what = f"experiment '{name}' was deleted there"
                raise TrackingDown(Fault(without_password(self.uri), what, "restore it, or rename [experiment] name")) from None
            return str(found.experiment_id if found else ""), False
        return str(found.experiment_id), False

    def open_parent(self, run_id: str | None, name: str, context: Context, note: str) -> str:
        """The sweep's run: the one it had, else the one that `mlflow run` gave, else a new one."""
        with self._answering():
            if run_id and self._exists(run_id):
                self._client.update_run(run_id, status="RUNNING")
                if self._given_run and self._given_run != run_id:
                    self._client.set_tag(self._given_run, "harness.sweep_run_id", run_id)
                    self._client.set_terminated(self._given_run)
                return run_id
            tags = {**context.tags, **source_tags(Path(sys.argv[0]).name), KIND: "sweep", "mlflow.note.content": note}
            if self._given_run:
                self._batch(self._given_run, tags={k: v for k, v in tags.items() if not k.startswith("mlflow.source")})
                parent = self._given_run
                self._client.update_run(parent, name=name)
            else:
                parent = self._client.create_run(self.experiment_id, tags=tags, run_name=name).info.run_id
            self._datasets(parent, context)
            self._client.log_dict(parent, context.embedder.as_json(), "embedder.json")
            return str(parent)

    def _exists(self, run_id: str) -> bool:
        from mlflow.exceptions import MlflowException

        try:
            return bool(self._client.get_run(run_id).info.lifecycle_stage == "active")
        except MlflowException as error:
            if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                return False
            raise

    def trial_runs(self, parent: str) -> dict[int, str]:
        """Finished child runs of a sweep by trial number."""
        found = (r for r in self._children(parent) if r.info.status in ("FINISHED", "FAILED"))
        return {int(r.data.tags["harness.trial"]): str(r.info.run_id) for r in found if "harness.trial" in r.data.tags}

    def pruned_runs(self, parent: str) -> list[int]:
        """Trials of a sweep whose run says that they were pruned."""
        return [int(r.data.tags["harness.trial"]) for r in self._children(parent) if "harness.pruned" in r.data.tags]

    def withdraw(self, run_id: str, reason: str) -> None:
        """Take a run out of sight, with the reason; MLflow can restore it."""
        with self._answering():
            self._client.set_tag(run_id, "harness.withdrawn", reason)
            self._client.delete_run(run_id)

    def close_orphans(self, parent: str, reason: str) -> int:
        """End child runs that a dead process left open; their results, if any, are logged anew."""
        return self._close(self._children(parent), reason)

    def _close(self, runs: Iterable[Run], reason: str) -> int:
        orphans = [r for r in runs if r.info.status == "RUNNING"]
        with self._answering():
            for run in orphans:
                self._client.set_tag(run.info.run_id, "harness.closed", reason)
                self._client.set_terminated(run.info.run_id, "KILLED")
        return len(orphans)

    def _children(self, parent: str) -> Iterator[Run]:
        yield from self._search(f"tags.`mlflow.parentRunId` = '{parent}'")

    def _search(self, filter_string: str) -> Iterator[Run]:
        token: str | None = None
        while True:
            with self._answering():
                page = self._client.search_runs([self.experiment_id], filter_string, max_results=1000, page_token=token)
            yield from page
            token = page.token
            if not token:
                return

    def log_trial(self, parent: str, result: TrialResult, context: Context, tables: Tables) -> str:
        """A finished trial as a child run: one batch, its tables, its end."""
        tags = {"mlflow.parentRunId": parent, KIND: "trial", "harness.trial": str(result.trial)}
        if result.reused_from is not None:
            tags["harness.reused_from"] = str(result.reused_from)
        if result.error:
            tags["harness.error"] = result.error[:5000]
        metrics: dict[str, float] = {}
        if found := result.evaluation or result.bound:
            metrics = run_metrics(found, "bound" if result.pruned else "dev")
            tags["chunking.sha256"] = found.chunking_sha256
            tags["scoring.fingerprint"] = found.scoring_fingerprint
        if result.bound:
            tags |= {"harness.pruned": "true", "mlflow.note.content": _of_pruned(result.bound)}
        return self._log(
            f"<= {result.point}" if result.pruned else str(result.point),
            context,
            tags,
            result.params,
            metrics,
            tables,
            "FAILED" if result.error else "FINISHED",
            result.started,
            result.ended,
        )

    def log_holdout(
        self,
        lock_id: str,
        evaluation: Evaluation,
        params: Mapping[str, Any],
        extra: Mapping[str, float],
        context: Context,
        tables: Tables,
        started: float,
        ended: float,
    ) -> str:
        """The opened holdout as a run of its own; called again after a crash, it finds the one it logged."""
        kind = f"tags.`{KIND}` = 'holdout' AND tags.`harness.lock_id` = '{lock_id}'"
        found = list(self._search(kind))
        done = [r for r in found if r.info.status == "FINISHED"]
        if done:
            return str(done[0].info.run_id)
        self._close(found, "the process that logged it ended before it had")
        tags = {
            KIND: "holdout",
            "harness.lock_id": lock_id,
            "chunking.sha256": evaluation.chunking_sha256,
            "scoring.fingerprint": evaluation.scoring_fingerprint,
        }
        metrics = {**run_metrics(evaluation, "holdout"), **extra}
        return self._log(f"holdout of lock {lock_id}", context, tags, params, metrics, tables, "FINISHED", started, ended)

    def _log(
        self,
        name: str,
        context: Context,
        tags: Mapping[str, str],
        params: Mapping[str, Any],
        metrics: Mapping[str, float],
        tables: Tables,
        status: str,
        started: float,
        ended: float,
    ) -> str:
        with self._answering():
            all_tags = {**context.tags, **source_tags(Path(sys.argv[0]).name), **tags}
            run_id = self._client.create_run(self.experiment_id, int(started * 1000), all_tags, name).info.run_id
            self._batch(run_id, params, metrics, time_ms=int(ended * 1000))
            self._datasets(run_id, context)
            self._client.log_dict(run_id, context.embedder.as_json(), "embedder.json")
            for file, table in tables.items():
                self._client.log_table(run_id, table, file)
            self._client.set_terminated(run_id, status, int(ended * 1000))
        return str(run_id)

    def _batch(
        self,
        run_id: str,
        params: Mapping[str, Any] | None = None,
        metrics: Mapping[str, float] | None = None,
        tags: Mapping[str, str] | None = None,
        time_ms: int = 0,
    ) -> None:
        from mlflow.entities import Metric, Param, RunTag

        self._client.log_batch(
            run_id,
            metrics=[Metric(k, v, time_ms, 0) for k, v in (metrics or {}).items()],
            params=[Param(k, str(v)) for k, v in (params or {}).items()],
            tags=[RunTag(k, v) for k, v in (tags or {}).items()],
        )

    def _datasets(self, run_id: str, context: Context) -> None:
        from mlflow.entities import Dataset, DatasetInput, InputTag

        self._client.log_inputs(
            run_id,
            [
                DatasetInput(
                    Dataset(name, digest[:DIGEST_LIMIT], "local", json.dumps({"uri": source})),
                    [InputTag("mlflow.data.context", used)],
                )
                for name, digest, source, used in context.datasets
            ],
        )

    def finish_parent(self, run_id: str, status: str, note: str, metrics: Mapping[str, float], tags: Mapping[str, str]) -> None:
        """End the sweep's run with its answer as the description."""
        with self._answering():
            self._batch(run_id, metrics=metrics, tags={**tags, "mlflow.note.content": note})
            self._client.set_terminated(run_id, status)

    def log_json(self, run_id: str, name: str, value: Mapping[str, Any]) -> None:
        """A JSON file as an artifact of a run."""
        with self._answering():
            self._client.log_dict(run_id, dict(value), name)

    def log_file(self, run_id: str, path: Path, folder: str | None = None) -> None:
        """A file as an artifact of a run."""
        with self._answering():
            self._client.log_artifact(run_id, str(path), folder)

    def read_run(self, run_id: str) -> dict[str, Any] | None:
        """Params, metrics and tags of a run; None when it is gone."""
        with self._answering():
            if not self._exists(run_id):
                return None
            data = self._client.get_run(run_id).data
            return {"params": dict(data.params), "metrics": dict(data.metrics), "tags": dict(data.tags)}

    def holdout_metrics(self, claim: Claim) -> dict[str, float] | None:
        """Metrics of the holdout run that a claim led to, under whatever experiment; None when none was logged."""
        with self._answering():
            experiment = self._client.get_experiment_by_name(claim.experiment)
            if experiment is None:
                return None
            kind = f"tags.`{KIND}` = 'holdout' AND tags.`harness.lock_id` = '{claim.lock_id}' AND attributes.status = 'FINISHED'"
            found = self._client.search_runs([experiment.experiment_id], kind, max_results=1)
            return dict(found[0].data.metrics) if found else None

    def claim(self, claim: Claim) -> Claim:
        """Claim a holdout in this store, or learn who has: atomic between all processes and machines that share it."""
        name = f"{CLAIM} {claim.holdout_sha256[:32]}"
        with self._answering():
            _, mine = self._get_or_create(name, {**_claim_tags(claim), KIND: "claim"})
            if mine:
                return claim
            found = self._client.get_experiment_by_name(name)
            return _claim_of(found.tags if found else {})

    def claims(self) -> list[Claim]:
        """Every claim in this store."""
        from mlflow.entities import ViewType

        found, token = [], None
        with self._answering():
            while True:
                page = self._client.search_experiments(
                    ViewType.ALL, 1000, filter_string=f"name LIKE '{CLAIM} %'", page_token=token
                )
                found += [_claim_of(e.tags) for e in page]
                token = page.token
                if not token:
                    return found

    def ui(self, metric: str = "dev/hit_at_1") -> tuple[str | None, str]:
        """The command that shows the runs (None where a server does already) and the link that opens their charts."""
        order = quote(f"metrics.`{metric}`", safe="")
        # Only `/runs` keeps the query, and only a filter shows trials without their parent.
        trials = quote(f"tags.`{KIND}` = 'trial'", safe="")
        link = self._charts(f"orderByKey={order}&orderByAsc=false&searchFilter={trials}")
        server = self.uri.startswith(SERVERS)
        return (None if server else f"{_mlflow()} ui --backend-store-uri {without_password(self.uri)}"), link

    def compare_link(self, parent: str, metrics: Sequence[str]) -> str:
        """The link that opens a sweep's trials as parallel coordinates over their settings and metrics, the leading first.

        The first metric orders and colours them; the page loads the first MOST_COMPARED. Which axes a chart has can't be said in
        a link: it names a view that is kept as a tag of the MLflow experiment. `/#/compare-runs` takes runs and nothing else, and
        shows three parameters and one metric of its own choice.
        """
        view, content = f"harness-{parent}", json.dumps(_side_by_side(parent, metrics))
        with self._answering():
            self._client.set_experiment_tag(self.experiment_id, f"{SHARED_VIEW}{view}", content)
        return self._charts(f"viewStateShareKey={view}")

    def _charts(self, query: str) -> str:
        """The address of the runs' charts in MLflow's pages."""
        page = f"{self.uri.rstrip('/') if self.uri.startswith(SERVERS) else UI_ADDRESS}/#/experiments/{self.experiment_id}/runs"
        return f"{page}?workflowType=machine_learning&compareRunsMode=CHART&{query}"


def compared(trial: TrialResult, key: Sequence[str]) -> list[str]:
    """The metrics to see settings side by side by, as a trial's run names them: what the selection goes by, then the usual."""
    logged = run_metrics(trial.evaluation, "dev") if trial.evaluation else {}
    wanted = (*(part.removeprefix("-") for part in key), *COMPARED)
    names = dict.fromkeys(name for metric in wanted for name in (f"dev/{metric}", metric) if name in logged)
    return sorted(names, key=lambda name: not name.startswith("dev/"))  # the first orders: more of it has to be better


def _side_by_side(parent: str, metrics: Sequence[str]) -> dict[str, Any]:
    """What MLflow's page keeps of a view: which runs in which order, and a chart whose last axis gives the lines their colour."""
    section = {"uuid": "settings", "name": "Settings side by side", "display": True, "isReordered": True, "deleted": False}
    chart = {"type": "PARALLEL", "uuid": "parallel", "metricSectionId": "settings", "deleted": False, "isGenerated": False}
    chart |= {"selectedParams": AXES, "selectedMetrics": [*metrics[1:], *metrics[:1]], "showAllRuns": True}
    return {
        "searchFilter": f"tags.`mlflow.parentRunId` = '{parent}'",
        "orderByKey": f"metrics.`{metrics[0]}`",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
        "compareRunSections": [{**section, "isGenerated": False, "columns": 1, "cardHeight": 600}],
        "compareRunCharts": [chart],
        "isAccordionReordered": True,  # else the section comes last, for its name
    }


def _of_pruned(bound: Bound) -> str:
    """What a pruned trial's run says of itself."""
    return (
        f"Pruned: upper bounds, not results. {bound.chunks_embedded} of {bound.metrics['chunks']:.0f} chunks were embedded until "
        "it could no longer be chosen. `harness sweep --complete` measures it whole."
    )


def _mlflow() -> str:
    """How a shell starts MLflow: by its name where that is found, else by this interpreter."""
    return "mlflow" if shutil.which("mlflow") else f"{sys.executable} -m mlflow"


def without_password(uri: str) -> str:
    """An address fit to be shown and recorded."""
    head, at, tail = uri.rpartition("@")
    scheme, separator, credentials = head.partition("://")
    return f"{scheme}{separator}{credentials.partition(':')[0]}{HIDDEN}{tail}" if at and ":" in credentials else uri


def _claim_tags(claim: Claim) -> dict[str, str]:
    """A claim as an experiment's tags; question hashes go into as many as their length needs."""
    facts = {f"harness.{k}": str(v) for k, v in vars(claim).items() if k != "questions"}
    parts = range(0, len(claim.questions), HASHES_PER_TAG)
    return facts | {f"harness.questions.{i}": " ".join(claim.questions[at : at + HASHES_PER_TAG]) for i, at in enumerate(parts)}


def _claim_of(tags: Mapping[str, str]) -> Claim:
    facts = {f.name: tags.get(f"harness.{f.name}", "unknown") for f in fields(Claim) if f.name != "questions"}
    hashes = [h for name, text in sorted(tags.items()) if name.startswith("harness.questions.") for h in text.split()]
    return Claim(**facts, questions=tuple(sorted(hashes)))
