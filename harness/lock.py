"""Freeze the chosen trial with its dev-tuned threshold and every identity; a locked fact more is a field of `records.Lock`."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness import front, selection, splitters, threshold
from harness.errors import Fault, HarnessError, Refused
from harness.experiment import Experiment, differences
from harness.formats import SHORT_HASH, Labelled
from harness.label_advice import read_sound
from harness.pipeline import run_metrics
from harness.records import EmbedderIdentity, Lock, Threshold, TrialResult, labels_sha256, provenance, questions_sha256
from harness.scores import first_quality
from harness.splits import SplitRule
from harness.state import State, StudyFiles, write_atomically
from harness.sweep import sweep
from harness.tracking import HIDDEN, source_tags
from harness.version import code_version


@dataclass(frozen=True)
class Locked:
    """A lock, its small file to check in, and whether an identical one had been made before."""

    lock: Lock
    path: Path
    existed: bool


def as_json(locked: Locked) -> dict[str, Any]:
    made = locked.lock
    return {
        "lock_id": made.lock_id,
        "trial": made.trial,
        "because": made.because,
        "params": made.params,
        "metrics": made.metrics,
        "threshold": asdict(made.threshold),
        "embedder": made.embedder.as_json(),
        "similarity": made.similarity,
        "scoring_fingerprint": made.scoring_fingerprint,
        "chunking_sha256": made.chunking_sha256,
        "corpus_sha256": made.corpus_sha256,
        "dev_digest": made.dev_sha256,
        "holdout_digest": made.holdout_sha256,
        "selection": made.selection,
        "questions": made.questions,
        "path": str(locked.path),
        "existed": locked.existed,
        "created": made.created,
    }


def now(timespec: str = "seconds") -> str:
    """The time in UTC, ISO 8601, to the second unless more is asked for."""
    return datetime.now(UTC).isoformat(timespec=timespec)


@dataclass(frozen=True)
class _Choice:
    """The trial to lock and why; `front` is what the lock says of the front, where there are several objectives."""

    result: TrialResult
    because: str | None
    why: str
    front: dict[str, Any] = field(default_factory=dict)


def lock(
    experiment: Experiment,
    trial: int | None = None,
    because: str | None = None,
    say: Callable[[str], None] = lambda _: None,
    point: str | None = None,
) -> Locked:
    """Freeze a trial: the rule's choice, or another by number with a reason. Locking the same again puts it in force again.

    With several objectives there is no rule's choice: `point` names one of the front, by its setting or a label.

    Raises HarnessError without a finished sweep, Refused when data, model or space are no longer those of the sweep.
    """
    _refuse_clashes(experiment, trial, because, point)
    state = State(experiment)
    files = state.current()
    facts = files.read()
    labelled = read_sound(experiment)
    if nothing_held_out(experiment, labelled):
        what = "holdout = 0 leaves every question in dev, so nothing could ever verify a lock"
        raise Refused(
            Fault("[data] split", what, "hold some out (holdout = 0.3), or read the sweep and the report without a lock")
        )
    _refuse_changes(experiment, labelled, facts)
    results = _completed(experiment, trial, files, facts, say)
    selected = selection.select(results, experiment.selection)
    if experiment.selection.objective:
        choice = _on_front(results, trial, point, because, experiment.selection)
    else:
        choice = _by_rule(results, trial, because, selected)
    made = _freeze(experiment, labelled, files, facts, choice, selected)
    existed = (state.locks / f"{made.lock_id}.json").exists()
    if existed:
        made = next(known for known in state.read_locks() if known.lock_id == made.lock_id)
    state.write_lock(made)
    state.put_in_force(made.lock_id)
    write_atomically(state.lock_file_to_check_in, to_toml(made))
    return Locked(made, state.lock_file_to_check_in, existed)


def _refuse_clashes(experiment: Experiment, trial: int | None, because: str | None, point: str | None) -> None:
    """Raises HarnessError for options that don't go together, all of it at once."""
    faults = []
    if point is not None and trial is not None:
        faults.append(Fault("--point", f"it names '{point}', and --trial names trial {trial}", "give one of the two"))
    if point is not None and not experiment.selection.objective:
        fix = 'name several objectives ([selection] objective = ["hit_at_1", "index_ratio"]), or a trial: --trial N'
        faults.append(Fault("--point", "there is no front: the selection goes by one key", fix))
    if because is not None and trial is None and point is None:
        own = "--point NAME, or --trial N" if experiment.selection.objective else "--trial N"
        faults.append(Fault("--because", "a reason goes with a trial of your own choice", f"name it: {own}"))
    if faults:
        raise HarnessError(faults)


def nothing_held_out(experiment: Experiment, labelled: Labelled) -> bool:
    """Whether the experiment says that all its questions are dev."""
    rule = experiment.source.split
    return isinstance(rule, SplitRule) and rule.holdout == 0 and labelled.holdout.sha256 == "none"


def _refuse_changes(experiment: Experiment, labelled: Labelled, facts: dict[str, Any]) -> None:
    identity = experiment.identity(labelled, experiment.load_embedder())
    differs = differences(facts["identity"], identity)
    if differs:
        what = f"{' and '.join(differs)} changed since the sweep, so its results are of something else"
        raise Refused(Fault(str(experiment.path), what, "restore what changed, or run `harness sweep --fresh`"))


def _completed(
    experiment: Experiment, trial: int | None, files: StudyFiles, facts: dict[str, Any], say: Callable[[str], None]
) -> list[TrialResult]:
    """All results, a trial that is named by hand measured whole where it was pruned."""
    results = files.read_results()
    if not any(r.trial == trial and r.pruned for r in results):
        return results
    say(f"trial {trial} was pruned: it is measured whole first")
    recorded = str(facts.get("tracking_uri", ""))
    where = None if HIDDEN in recorded else recorded or None  # with its password left out it is of no use
    sweep(experiment, len(results), tracking_uri=where, complete={trial} if trial is not None else False)
    return files.read_results()


def _complete(results: list[TrialResult], trial: int) -> TrialResult:
    found = next((r for r in results if r.trial == trial and r.complete), None)
    if found is None:
        complete = [r.trial for r in results if r.complete]
        known = ", ".join(map(str, complete[:20])) + (", ..." if len(complete) > 20 else "")
        raise HarnessError(Fault("--trial", f"trial {trial} is not a complete trial of this study", f"complete are: {known}"))
    return found


def _require_reason(because: str | None, what: str) -> None:
    if not (because or "").strip():
        raise HarnessError(Fault("--because", what, 'give the reason: --because "..."'))


def _by_rule(results: list[TrialResult], trial: int | None, because: str | None, selected: selection.Selected) -> _Choice:
    """The rule's choice, or the trial that is named; another needs a reason."""
    if trial is None:
        return _Choice(selected.chosen, None, selected.why)
    found = _complete(results, trial)
    if found.trial == selected.chosen.trial:
        return _Choice(found, because, selected.why)
    _require_reason(because, f"trial {trial} is not the rule's choice, which is trial {selected.chosen.trial}")
    return _Choice(found, because, "named by hand")


def _on_front(
    results: list[TrialResult], trial: int | None, point: str | None, because: str | None, rule: selection.Selection
) -> _Choice:
    """The point of the front that is named, or a trial by its number; one beside the front needs a reason."""
    points = front.decided(results, rule)
    objective = front.metric_names(rule.objective)
    named: dict[str, Any] = {"trial": trial} if point is None else {"point": " ".join(point.split())}
    if point is not None:
        result, how = front.named(points, point).trial, f"'{named['point']}'"
    elif trial is not None:
        result, how = _complete(results, trial), "its number"
    else:
        what = f"several objectives ({', '.join(objective)}) have no single best trial; the front: {front.listing(points)}"
        raise HarnessError(Fault("--point", what, f'name the point that you want: --point "{points[0].name}"'))
    own = next((p for p in points if p.trial.trial == result.trial), None)
    if own is None:
        _require_reason(because, f"trial {result.trial} is not on the front: {front.listing(points)}")
    why = f"a point of the front of {', '.join(objective)}, named by {how}" if own else "named by hand"
    told = {"objective": list(objective), "front": [p.trial.trial for p in points], "named": named}
    return _Choice(result, because, why, {**told, "front_ties": list(own.ties) if own else []})


def _freeze(
    experiment: Experiment,
    labelled: Labelled,
    files: StudyFiles,
    facts: dict[str, Any],
    choice: _Choice,
    selected: selection.Selected,
) -> Lock:
    result, evaluation = choice.result, choice.result.evaluation
    if evaluation is None:
        raise ValueError("only a complete trial can be locked")
    embedder = {k: v for k, v in facts["embedder"].items() if k != "fingerprint"}
    identity = EmbedderIdentity(**embedder)
    gate, scores = threshold.choose(evaluation.questions, experiment.threshold_rule)
    metric = first_quality(experiment.selection.key)
    tuned = Threshold(
        value=gate.value,
        rule=experiment.threshold_rule,
        how=gate.how,
        proxy=scores.proxy,
        embedder=identity.name,
        embedder_fingerprint=identity.fingerprint,
        scoring_fingerprint=evaluation.scoring_fingerprint,
        similarity=experiment.similarity,
        distributions={**scores.distributions(), "irrelevant_chunks": evaluation.irrelevant_quantiles},
        at_threshold=threshold.apply(evaluation.questions, gate.value),
    )
    holdout = labelled.holdout
    return Lock(
        experiment=experiment.name,
        study=files.name,
        trial=result.trial,
        because=choice.because,
        params={**result.params, **_options(experiment, result)},
        metrics=run_metrics(evaluation, "dev"),
        threshold=tuned,
        embedder=identity,
        similarity=experiment.similarity,
        scoring_fingerprint=evaluation.scoring_fingerprint,
        chunking_sha256=evaluation.chunking_sha256,
        corpus_sha256=labelled.corpus.sha256,
        dev_sha256=questions_sha256(labelled.dev),
        labels_sha256=labels_sha256(labelled.dev),
        holdout_sha256=holdout.sha256,
        holdout_labels_sha256=holdout.labels_sha256,
        holdout_count={"answerable": holdout.answerable, "unanswerable": holdout.unanswerable},
        selection={
            "rule": experiment.selection.rule,
            "key": list(experiment.selection.key),
            "why": choice.why,
            "rule_would_choose": selected.chosen.trial,
            "tied": list(selected.tied),
            "complete": selected.complete,
            "of": selected.of,
            **choice.front,
        },
        result_sha256=file_sha256(files.result_path(result.trial)),
        run_id=facts.get("run_id"),
        code_version=code_version(),
        created=now("milliseconds"),  # scripts lock twice a second, and the newest lock counts
        created_by=source_tags(sys.argv[0])["mlflow.user"],
        questions={**provenance(labelled.dev), "holdout_unreviewed": labelled.holdout.unreviewed},
        dev_metric=metric,
        dev_scores=_dev_scores(result, metric, labelled) if metric else {},
    )


def _dev_scores(result: TrialResult, metric: str, labelled: Labelled) -> dict[str, float]:
    """What each dev question got, by its short hash: what a later measurement is compared with, question by question."""
    asked = result.evaluation.questions if result.evaluation else ()
    short = {q.question_id: q.sha256[:SHORT_HASH] for q in labelled.dev}
    return {short[q.question_id]: q.values[metric] for q in asked if metric in q.values}


def _options(experiment: Experiment, result: TrialResult) -> dict[str, Any]:
    """The splitter's options where they are not the defaults: it cuts the same only with them."""
    changed = experiment.splitters[result.point.splitter].options.model_dump(exclude_defaults=True, mode="json")
    return {"options": changed} if changed else {}


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def to_toml(made: Lock) -> str:
    """The small file to check in: the number beside the model and scoring function that it was tuned against."""
    tuned, dev = made.threshold, made.threshold.at_threshold
    proxy = "a proxy, each dev question's best wrong chunk: no unanswerable one has a score" if tuned.proxy else "dev questions"
    return f"""\
# The threshold of '{made.experiment}', and the only model and scoring function that it is a number of.
# With another model, another similarity or other prompts it means nothing: tune a new one.

[threshold]
value = {tuned.value!r}
rule = {_toml(tuned.rule)}
how = {_toml(tuned.how)}
tuned_on = {_toml(proxy)}

[threshold.dev]  # of {dev["answerable"]} answerable and {dev["unanswerable"]} unanswerable questions
# Abstaining is right where the first chunk would not have answered.
{chr(10).join(f"{name} = {dev[name]}" for name in threshold.OUTCOMES)}

{_questions_table(made)}[model]
name = {_toml(made.embedder.name)}
type = {_toml(made.embedder.type)}
fingerprint = {_toml(made.embedder.fingerprint)}

[scoring]
similarity = {_toml(made.similarity)}
fingerprint = {_toml(made.scoring_fingerprint)}

[chunking]
{_chunking_lines(made.params)}
sha256 = {_toml(made.chunking_sha256)}

[lock]
id = {_toml(made.lock_id)}
experiment = {_toml(made.experiment)}
trial = {made.trial}
because = {_toml(made.because or made.selection["why"])}
corpus_sha256 = {_toml(made.corpus_sha256)}
dev_sha256 = {_toml(made.dev_sha256)}
labels_sha256 = {_toml(made.labels_sha256)}
holdout_sha256 = {_toml(made.holdout_sha256)}
run_id = {_toml(made.run_id or "none")}
code_version = {_toml(made.code_version)}
created = {_toml(made.created)}
created_by = {_toml(made.created_by)}
{_scores_table(made)}"""


def _scores_table(made: Lock) -> str:
    """The scores that `harness gate` compares with, last in the file, for they are many."""
    if not made.dev_metric:
        return ""
    rows = "\n".join(f"{_toml(short)} = {score!r}" for short, score in sorted(made.dev_scores.items()))
    return f"""
[dev]  # what `harness gate` compares with
metric = {_toml(made.dev_metric)}

[dev.scores]  # of each answerable dev question, by the first {SHORT_HASH} digits of its hash
{rows}
"""


def _chunking_lines(params: dict[str, Any]) -> str:
    """The setting as TOML: what it has of splitter, size, overlap, what is prepended, unit, and the splitter's options."""
    named = ("splitter", "chunk_size", "overlap", "overlap_ratio", "prepend", "unit", "options")
    return "\n".join(f"{name} = {_toml_value(params[name])}" for name in named if name in params)


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml_value(v)}" for key, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return _toml(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else repr(value)


def _questions_table(made: Lock) -> str:
    """How old the dev questions are and where they come from, as far as the lock says."""
    asked = made.questions
    if not asked:
        return ""
    dates = "".join(f"{name} = {_toml(asked[name])}\n" for name in ("oldest", "newest") if asked[name])
    sources = ", ".join(f"{_toml(name)} = {number}" for name, number in asked["sources"].items())
    rest = f"undated = {asked['undated']}\nunreviewed = {asked['unreviewed']}\nsources = {{ {sources} }}\n"
    return f"[questions]  # dev\n{dates}{rest}\n"


def _toml(text: str) -> str:
    """A TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'


def current(experiment: Experiment) -> Lock:
    """The lock that a holdout would open: the newest unopened one, else the newest. Raises HarnessError without any."""
    state = State(experiment)
    locks = state.read_locks()
    if not locks:
        raise HarnessError(Fault("lock", f"'{experiment.name}' has no lock", "run `harness lock` first"))
    opened = {record.claim.lock_id for made in locks if (record := state.read_holdout(made.holdout_sha256))}
    unopened = [made for made in locks if made.lock_id not in opened]
    return (unopened or locks)[-1]


def changed_options(experiment: Experiment, made: Lock) -> Fault | None:
    """What of the options of the lock's splitter is no longer as locked."""
    name = made.point.splitter
    if name not in splitters.EVERY:
        return None
    options = experiment.splitters.get(name, splitters.EVERY[name]).options
    default = type(options)().model_dump(mode="json")
    locked, found = {**default, **made.params.get("options", {})}, options.model_dump(mode="json")
    shown = "; ".join(f"{key}: locked {v!r}, now {found.get(key)!r}" for key, v in locked.items() if found.get(key) != v)
    if not shown:
        return None
    fix = f"restore [splitters.{name}], with '{name}' in [search] splitter, or sweep and lock anew"
    return Fault(f"lock {made.lock_id}", f"the options of splitter '{name}' are not those that were locked ({shown})", fix)


def refuse_foreign(made: Lock, differences: dict[str, tuple[str, str]]) -> None:
    """Raises Refused naming both sides of every identity that is not the lock's."""
    wrong = {name: pair for name, pair in differences.items() if pair[0] != pair[1]}
    if wrong:
        shown = "; ".join(f"{name}: locked {locked[:16]}, found {found[:16]}" for name, (locked, found) in wrong.items())
        fix = "restore what was locked, or sweep, lock and tune anew"
        raise Refused(Fault(f"lock {made.lock_id}", f"this is not what was locked ({shown})", fix))
