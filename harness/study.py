"""Which study a sweep continues or begins: what makes it another one, `Experiment.identity` says."""

from __future__ import annotations

from typing import Any

from harness import tokenizers
from harness.embedders import Embedder
from harness.errors import Fault, HarnessError, Refused
from harness.experiment import Experiment, differences
from harness.formats import Labelled
from harness.state import State, StudyFiles
from harness.version import code_version


def open_study(experiment: Experiment, labelled: Labelled, embedder: Embedder, fresh: bool) -> StudyFiles:
    """The study's files, begun when new. Raises Refused when the name belongs to a study that differs."""
    state = State(experiment)
    generations = state.generations()
    identity = experiment.identity(labelled, embedder)
    if generations and not fresh:
        files = state.study(generations[-1])
        recorded = files.read().get("identity", {})
        differs = differences(recorded, identity)
        if differs:
            shown = "; ".join(_difference(n, recorded.get(n), identity[n]) for n in differs)
            fix = "run with --fresh to start a new study, or give the experiment another name"
            raise Refused(
                Fault(
                    str(experiment.path),
                    f"'{experiment.name}' is the name of another study, which differs in {shown}",
                    fix,
                )
            )
        return files
    files = state.study((generations or [0])[-1] + 1)
    if files.read_results():
        fix = "restore study.json, or move the folder away"
        raise HarnessError(Fault(str(files.folder), "it holds results, but the study.json that says of what is gone", fix))
    files.write(
        {
            "identity": identity,
            "embedder": embedder.identity.as_json(),
            "unit": tokenizers.unit_name(experiment.unit(embedder)),
            "code_version": code_version(),
            "path": experiment.path.relative_to(experiment.root).as_posix(),
            "experiment_file": experiment.source_text,
        }
    )
    return files


def _difference(name: str, was: Any, is_now: Any) -> str:
    """What changed of a part of the identity; of a table of several, the entries that did."""
    if isinstance(was, dict) and isinstance(is_now, dict):
        keys = [k for k in dict.fromkeys((*was, *is_now)) if was.get(k) != is_now.get(k)]
        inner = ", ".join(f"{k} {_brief(was.get(k, 'none'))} is now {_brief(is_now.get(k, 'none'))}" for k in keys)
        return f"{name}: {inner}"
    return f"{name}: {_brief(was)} is now {_brief(is_now)}"


def _brief(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
