"""Open the holdout once: claim, unseal, evaluate, record, in this order; nothing else in the project unseals."""

from __future__ import annotations

import hashlib
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from filelock import Timeout

from harness import lock as locks
from harness import threshold
from harness.embedders import Embedder, scoring_fingerprint
from harness.errors import Fault, HarnessError, Refused
from harness.experiment import Experiment
from harness.formats import Labelled
from harness.label_advice import read_sound
from harness.pipeline import evaluate, run_metrics
from harness.records import Chunking, Claim, HoldoutRecord, Lock, labels_sha256, questions_sha256
from harness.state import State
from harness.sweep import context_of, resolve_tracking
from harness.tables import trial_tables
from harness.tracking import Tracker, source_tags


@dataclass(frozen=True)
class Opened:
    """The recorded result of a holdout, and whether this call found it opened already."""

    record: HoldoutRecord
    already_opened: bool

    def as_json(self) -> dict[str, Any]:
        record = self.record
        return {
            "run_id": record.run_id,
            "lock_id": record.claim.lock_id,
            "metrics": run_metrics(record.evaluation, "holdout"),
            "at_threshold": {"threshold": record.threshold.value, **record.at_threshold},
            "verdict": record.verdict["verdict"],
            "tests": record.verdict["tests"],
            "already_opened": self.already_opened,
            "opened": record.claim.claimed,
            "opened_by": record.claim.claimed_by,
            "unreviewed": record.unreviewed,
        }


def holdout(experiment: Experiment, tracking_uri: str | None = None, say: Callable[[str], None] = lambda _: None) -> Opened:
    """Evaluate the current lock on the holdout, once and for ever.

    Raises Refused (with the recorded result) when it was opened before, by whomever and under whatever name, or when
    model, corpus or chunking are not the locked ones. After a crash, only the identical lock may finish.
    """
    state = State(experiment)
    labelled = read_sound(experiment)
    if labelled.holdout.sha256 == "none":
        raise HarnessError(
            Fault(str(experiment.source.questions), "there are no holdout questions", "label some with split holdout")
        )
    _refuse_recorded(experiment, state, labelled, tracking_uri)
    made = locks.current(experiment)
    try:
        with state.exclusive(f"holdout-{labelled.holdout.sha256[:32]}").acquire(timeout=0):
            _refuse_recorded(experiment, state, labelled, tracking_uri)
            return _Opening(experiment, state, labelled, made, tracking_uri, say).run()
    except Timeout:
        what = "another process of this machine is opening it right now"
        raise Refused(Fault("holdout", what, "wait for it; its result will be shown")) from None


def recorded(experiment: Experiment) -> Opened | None:
    """The recorded result of the holdout, where this project opened it for a lock of this very experiment."""
    record = State(experiment).read_holdout(experiment.read_labels().holdout.sha256)
    return Opened(record, True) if record and record.claim.experiment == experiment.name else None


def _refuse_recorded(experiment: Experiment, state: State, labelled: Labelled, tracking_uri: str | None) -> None:
    record = state.read_holdout(labelled.holdout.sha256)
    if record is None:
        return
    claim = record.claim
    made = next((known for known in state.read_locks() if known.lock_id == claim.lock_id), None)
    if made and record.run_id is None:
        record = _track(experiment, state, labelled, resolve_tracking(experiment, tracking_uri), made, record)
    what = f"it was opened by {claim.claimed_by} at {claim.claimed} for lock {claim.lock_id} of '{claim.experiment}'"
    fix = f"use the recorded result ({_figures(record)}); for another choice collect fresh questions"
    raise Refused(Fault("holdout", what, fix), Opened(record, True).as_json())


def _figures(record: HoldoutRecord) -> str:
    return (
        f"{record.evaluation.hit_name}@1 {record.evaluation.hits(1)}/{record.evaluation.answerable}, {record.verdict['verdict']}"
    )


def _track(
    experiment: Experiment, state: State, labelled: Labelled, tracker: Tracker, made: Lock, record: HoldoutRecord
) -> HoldoutRecord:
    """Log a recorded result, and record its run. Raises TrackingDown; the result itself is safe by then."""
    questions = labelled.holdout.unseal(record.claim, labelled.corpus)
    tables = trial_tables(record.evaluation, questions, labelled.corpus, experiment.tracking_text)
    extra = {f"holdout/gate_{name}": float(record.at_threshold[name]) for name in threshold.OUTCOMES}
    context = context_of(experiment, labelled, made.embedder, made.study)
    params = {**made.params, "threshold": made.threshold.value, "trial": made.trial}
    times = (record.started, record.ended)
    run_id = tracker.log_holdout(made.lock_id, record.evaluation, params, extra, context, tables, *times)
    record = replace(record, run_id=run_id)
    state.write_holdout(record)
    return record


class _Opening:
    """The steps of one opening, in order."""

    def __init__(
        self,
        experiment: Experiment,
        state: State,
        labelled: Labelled,
        made: Lock,
        tracking_uri: str | None,
        say: Callable[[str], None],
    ) -> None:
        self.experiment = experiment
        self.state = state
        self.labelled = labelled
        self.lock = made
        self.say = say
        self.tracking_uri = tracking_uri

    def run(self) -> Opened:
        embedder, chunking = self._verify()
        held = self.labelled.holdout
        if held.unreviewed:
            self.say(f"{held.unreviewed} of {held.answerable + held.unanswerable} holdout questions are unreviewed")
        tracker = resolve_tracking(self.experiment, self.tracking_uri)
        claim = self._claim(tracker)
        started = time.time()
        questions = self.labelled.holdout.unseal(claim, self.labelled.corpus)
        evaluation = evaluate(chunking, questions, embedder, self.experiment.scoring)
        tuned = self.lock.threshold
        at = threshold.apply(evaluation.questions, tuned.value)
        verdict = threshold.verdict(tuned.at_threshold, at)
        unreviewed = sum(not q.reviewed for q in questions)
        record = HoldoutRecord(claim, tuned, None, evaluation, at, verdict, started, time.time(), unreviewed)
        self.state.write_holdout(record)
        return Opened(_track(self.experiment, self.state, self.labelled, tracker, self.lock, record), False)

    def _verify(self) -> tuple[Embedder, Chunking]:
        """Model, scoring function, corpus and chunking as locked, before anything is claimed."""
        made, labelled = self.lock, self.labelled
        if changed := locks.changed_options(self.experiment, made):
            raise Refused(changed)
        embedder = self.experiment.load_embedder()
        ruler = self.experiment.ruler(labelled, embedder)
        chunking = self.experiment.chunk(labelled.corpus, made.point, ruler)
        fitted = embedder.fit(chunking.texts())
        scoring = scoring_fingerprint(fitted, self.experiment.similarity)
        locks.refuse_foreign(
            made,
            {
                "embedder": (made.embedder.fingerprint, embedder.identity.fingerprint),
                "similarity": (made.similarity, self.experiment.similarity),
                "corpus": (made.corpus_sha256, labelled.corpus.sha256),
                "dev questions": (made.dev_sha256, questions_sha256(labelled.dev)),
                "dev labels": (made.labels_sha256, labels_sha256(labelled.dev)),
                "chunking": (made.chunking_sha256, chunking.sha256),
                "scoring function": (made.scoring_fingerprint, scoring),
                "holdout": (made.holdout_sha256, labelled.holdout.sha256),
                "holdout labels": (made.holdout_labels_sha256, labelled.holdout.labels_sha256),
            },
        )
        return embedder, chunking

    def _refuse_seen(self, claims: Sequence[Claim]) -> None:
        """Raises Refused when some of these questions were in another holdout that was claimed, here or in the store."""
        holdout = self.labelled.holdout
        for claim in {c.holdout_sha256: c for c in (*claims, *self.state.read_claims())}.values():
            seen = set(claim.questions) & set(holdout.short_hashes)
            if seen and claim.holdout_sha256 != holdout.sha256:
                share = f"{len(seen)} of its {len(holdout.short_hashes)} questions"
                what = f"{share} were in a holdout opened at {claim.claimed} for lock {claim.lock_id} of '{claim.experiment}'"
                shown = {"lock_id": claim.lock_id, "claim": vars(claim), "seen": len(seen), "already_opened": True}
                raise Refused(Fault("holdout", what, "hold out fresh questions only"), shown)

    def _claim(self, tracker: Tracker) -> Claim:
        """Claim here and in the tracking store. A claim that was never followed by a result may be finished by its lock."""
        digest = self.labelled.holdout.sha256
        user = source_tags(sys.argv[0])["mlflow.user"]
        mine = Claim(
            holdout_sha256=digest,
            lock_id=self.lock.lock_id,
            experiment=self.experiment.name,
            claimed=locks.now("milliseconds"),
            claimed_by=user,
            host=socket.gethostname(),
            project=hashlib.sha256(str(self.experiment.root).encode()).hexdigest()[:12],
            questions=self.labelled.holdout.short_hashes,
        )
        self._refuse_seen(tracker.claims())
        held = tracker.claim(self.state.read_claim(digest) or mine)
        metrics = tracker.holdout_metrics(held)
        if metrics or held.lock_id != self.lock.lock_id or held.place != mine.place:
            whose = f"lock {held.lock_id} of '{held.experiment}'"
            what = f"it was claimed by {held.claimed_by} on {held.host} at {held.claimed} for {whose}"
            fix = "use the recorded result" if metrics else "an interrupted opening can only be finished there, by that lock"
            shown = {"lock_id": held.lock_id, "metrics": metrics, "claim": vars(held), "already_opened": True}
            raise Refused(Fault("holdout", what, fix), shown)
        if held != mine:
            self.say(f"an opening begun at {held.claimed} was interrupted before its result was recorded; finishing it now")
        self.state.write_claim(held)
        return held
