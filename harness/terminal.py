"""What people see in the terminal: tables of results and the progress of a sweep; it computes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from harness import selection
from harness.analysis import Analysis
from harness.api import Checked
from harness.audit import Audit
from harness.console import err, out, percent, plain_table, rate
from harness.embedders.cache_contents import Contents
from harness.errors import Fault, counted
from harness.estimated import Estimate, LeastOverlap, PointEstimate
from harness.experiment import Experiment
from harness.holdout import Opened
from harness.label_advice import Lengths
from harness.lock import Locked
from harness.outcome import SweepOutcome
from harness.records import Bound, Chunking, Evaluation, TrialResult, hit_metric
from harness.selection import ordered
from harness.split_file import Written
from harness.splitter_check import CheckedSplitter
from harness.spread import QUANTILES
from harness.terminal_statistics import between, show_analysis
from harness.tracking import MOST_COMPARED
from harness.whole import Whole

TOP = 10
EVERY = 15.0  # seconds between two lines of a search that has no trial to show, where there is no bar
MOST_GROUPS = 10  # of documents, that results are shown by
MOST_SETTINGS = 40  # of an estimate, that are shown one by one
LIMITS = (
    "What these numbers do not say: whether an answer is right. They say whether a chunk holds the labelled evidence whole. "
    "Negations, answers drawn from several places, tables and what a model makes of a passage are outside them."
)


def _faults(title: str, faults: Sequence[Fault], style: str) -> None:
    for fault in faults:
        out().print(Text.assemble((f"{title}: ", style), f"{fault.where}: {fault.what}; {fault.fix}"))


def show_check(checked: Checked) -> None:
    found = checked.as_json()
    q = found["questions"]
    out().print(
        f"documents: {found['documents']}; answerable questions: {q['dev']} dev, {q['holdout']} holdout; "
        f"unanswerable: {q['unanswerable']['dev']} dev, {q['unanswerable']['holdout']} holdout"
    )
    quoted = checked.labelled.quoted
    offsets = f", {quoted.with_offset} with an offset of their own" if quoted.with_offset else ""
    out().print(f"evidence: {quoted.quotes} quotes{offsets}; {quoted.repeated} occur more than once in their document")
    if set(found["sources"]) - {"unnamed"}:
        out().print(Text("dev questions by source: " + ", ".join(f"{n} {s}" for s, n in sorted(found["sources"].items()))))
    if checked.lengths:
        _show_lengths(checked.lengths)
    _faults("error", checked.faults, "bold red")
    _faults("warning", checked.warnings, "yellow")
    if not checked.faults:
        out().print("all evidence was found; of the holdout only numbers and ids are shown until it is opened")


def _show_lengths(lengths: Lengths) -> None:
    table = plain_table(f"length in {lengths.unit}", *QUANTILES)
    for name, found in (("sentences", lengths.sentences), ("dev evidence", lengths.evidence)):
        if found["count"]:
            table.add_row(f"{found['count']} {name}", *(f"{found[q]:g}" for q in QUANTILES))
    out().print(table)
    if lengths.longest_sentence:
        out().print(
            f"overlap: {lengths.longest_sentence} {lengths.unit} keep the longest sentence whole at any boundary, "
            f"{lengths.sentences['p95']:g} nineteen in twenty; more than the longest is waste"
        )


def show_split(written: Written) -> None:
    found = written.as_json()
    table = plain_table("source", "dev", "holdout", "held out")
    for source, row in sorted(written.counts.items(), key=lambda item: item[0] == "unanswerable"):
        table.add_row(
            "of these unanswerable" if source == "unanswerable" else source,
            str(row["dev"]),
            str(row["holdout"]),
            percent(row["holdout"] / (row["dev"] + row["holdout"])),
        )
    out().print(table)
    q = found["questions"]
    out().print(f"{q['dev']} dev and {q['holdout']} holdout questions in {written.groups} groups; seed {found['seed']}")
    if found["retired"]:
        out().print(
            f"{found['retired']} questions of the opened holdout are dev now. Add fresh questions: those that share no evidence "
            "with dev are the new holdout. The dev set is another, so sweep with --fresh."
        )
    out().print(Text(f"written: {written.path}"), soft_wrap=True)
    out().print(Text(f'in the experiment file: [data] split = "{written.reference}"'))


def show_estimate(found: Estimate, picture: Path | None = None) -> None:
    looked_at = [p for p in found.points if p.index_ratio is not None]
    whole = len(looked_at) <= MOST_SETTINGS
    distinct = sorted(
        (p for p in looked_at if p.same_as is None), key=lambda p: (not p.feasible, -(p.ceiling or 0), p.index_ratio or 0)
    )
    shown = looked_at if whole else distinct[:TOP]
    table = plain_table("setting", "ceiling", "index ratio", "chunks", "truncated", "tokens", "seconds", "MB")
    for p in shown:
        table.add_row(f"{p.point}{'' if p.feasible else ' (infeasible)'}", *_estimate_cells(p))
    out().print(table)
    _show_points_looked_at(found, len(shown), whole)
    _show_least_overlap(found.least_overlap)
    _show_cost(found)
    written = f"picture of the space: {picture}" if picture else "a picture of the space: add --picture FILE.png"
    out().print(Text(written), soft_wrap=True)


def _estimate_cells(p: PointEstimate) -> tuple[str, ...]:
    return (
        percent(p.ceiling),
        f"{p.index_ratio:.3f}",
        f"{p.chunks:,}",
        percent(p.truncated_share),
        f"{p.tokens:,}",
        f"{p.seconds:.1f}",
        f"{(p.bytes or 0) / 1e6:.1f}",
    )


def _show_points_looked_at(found: Estimate, shown: int, whole: bool) -> None:
    which = "every setting" if whole else f"the {shown} settings of highest ceiling that differ"
    every = found.of is not None and found.of <= len(found.points)
    points = "all points" if every else f"a lattice of {len(found.points)} of {found.of or 'endless'} points"
    infeasible = sum(not p.feasible for p in found.points)
    out().print(f"{which}, from {points}; {infeasible} infeasible; sizes in {found.unit}; seconds and MB (index) of one trial")
    if all(p.ceiling is None for p in found.points):
        out().print("the ceiling is undefined: no answerable dev question's evidence is a span, which a cut could break")
    else:
        out().print(
            "the ceiling is an upper bound of every hit rate: the share of dev questions whose evidence some chunk holds whole"
        )


def _show_least_overlap(least: Sequence[LeastOverlap]) -> None:
    """The least overlap of each size at which there was a choice of several."""
    telling = [row for row in least if row.tried > 1]
    if not telling:
        return
    table = plain_table("splitter", "size", "least overlap", "reaches", "index ratio", "no overlap", "index ratio then")
    for row in telling[:MOST_SETTINGS]:
        name = f"{row.splitter} +{'+'.join(row.prepend)}" if row.prepend else row.splitter
        reaches = f"{row.ceiling:.1%}{'' if row.full else ' (highest of this size)'}"
        without = f"{row.index_ratio_without:.3f}" if row.index_ratio_without is not None else "not tried"
        table.add_row(
            name,
            str(row.chunk_size),
            f"{row.overlap_ratio:.0%}",
            reaches,
            f"{row.index_ratio:.3f}",
            percent(row.ceiling_without) if row.ceiling_without is not None else "not tried",
            without,
        )
    out().print()
    out().print(table)
    more = f"; {len(telling) - MOST_SETTINGS} more in --json" if len(telling) > MOST_SETTINGS else ""
    out().print(f"the least overlap, of those looked at, that reaches the highest ceiling of its size{more}")
    out().print()


def _show_cost(found: Estimate) -> None:
    counted = "" if found.counted == 1 else f" (counted in {percent(found.counted)} of the chunks)"
    how = "in all" if found.exact else f"about, as the mean of {len(found.points)} points times {found.trials} trials"
    price = f"; price {found.price:.4f}" if found.price is not None else ""
    held = f", {found.tokens_held:,} of them at hand already" if found.tokens_held else ""
    kept = f"; in the vector cache, of all: {found.cache_bytes / 1e6:.1f} MB" if found.cache_bytes else ""
    out().print(
        f"one pass: {found.tokens_per_pass:,} tokens; every point whole, {found.trials} trials: {found.tokens:,} tokens "
        f"{how}{counted}{held}{price}; {found.seconds:.0f} s at {found.tokens_per_second:,.0f} tokens/s; "
        f"vectors of the largest index: {found.bytes / 1e6:.1f} MB{kept}"
    )
    if found.baseline_tokens:
        out().print(
            f"whole documents, whole sections and the conventional setting come on top: about {found.baseline_tokens:,} tokens"
        )
    out().print('a sweep that prunes embeds a small part of it; `prune = "auto"` does so from ten minutes up')


def show_chunks(cut: Chunking) -> None:
    table = plain_table("document", "start", "end", "size", "sections", "text")
    for c in range(len(cut)):
        text = " ".join(cut.text(c).split())
        shown = text if len(text) <= 60 else f"{text[:28]} … {text[-29:]}"
        place = (
            cut.document_of(c).document_id,
            str(cut.start[c]),
            str(cut.end[c]),
            str(cut.size[c]),
            " ".join(cut.section_ids(c)),
        )
        table.add_row(*(Text(cell) for cell in (*place, shown)))
    out().print(table)
    out().print(f"{len(cut)} chunks, index ratio {cut.index_ratio:.3f}, mean size {cut.size.mean():.1f}")


def show_splitter(found: CheckedSplitter) -> None:
    _faults("broken", found.faults, "bold red")
    kept = "keeps its contract" if not found.faults else "breaks its contract"
    out().print(Text(f"{found.splitter.name} {kept}: {found.tries} cuts tried, sizes in {found.unit}"))


def show_ranking(rows: Sequence[dict[str, Any]]) -> None:
    if not rows:
        out().print("nothing was retrieved: no chunk has a similarity above zero")
    for row in rows:
        place = f"{row['document_id']} [{row['start']}, {row['end']})  {' '.join(row['section_ids'])}"
        head = f"{row['rank']:>3}  {row['score']:.6f}  {place}"
        out().print(Text(head, style="bold"))
        out().print(Text(f"     {' '.join(row['text'].split())}"))


def show_sweep(outcome: SweepOutcome, experiment: Experiment) -> None:
    trials = ordered(selection.distinct((*outcome.results, *outcome.aside)), experiment.selection.key)
    chosen, tied, columns = outcome.selected.chosen, outcome.selected.tied, _columns(outcome)
    table = plain_table("trial", "setting", *columns)
    for r in [*trials[:TOP], *([chosen] if chosen.trial not in {t.trial for t in trials[:TOP]} else [])]:
        mark = "*" if r.trial == chosen.trial else "=" if len(tied) > 1 and r.trial in tied else ""
        cells = (cell(r) for cell in columns.values())
        table.add_row("" if r.aside else f"{mark}{r.trial}", f"{r.point}{' (baseline)' if r.point.baseline else ''}", *cells)
    out().print(table)
    interval = f"95 %: interval of {outcome.analysis.metric}; " if outcome.analysis.comparison else ""
    out().print(
        f"of {trials[0].answerable} dev questions; {interval}sizes in {outcome.results[0].unit}; ceiling: upper bound of every "
        "hit rate; index: index ratio; ctx@3: mean size of the first three chunks; trunc.: share of chunks that the model cuts"
    )
    kinds = outcome.trials
    more = f"; the report shows all {len(trials)} settings" if len(trials) > TOP else ""
    out().print(
        f"{kinds['complete']} complete of {outcome.selected.of} trials ({kinds['pruned']} pruned, {kinds['failed']} failed); "
        f"study {outcome.study}{more}"
    )
    if kinds["pruned"]:
        out().print("pruned: none could still be chosen; the report has their upper bounds, --complete measures them whole")
    out().print(
        f"tokens embedded: {outcome.tokens['embedded']:,}; in the chunks of all settings: {outcome.tokens['full']:,} (a text is "
        "embedded once, and not at all where its vector is in the cache)"
    )
    tie = f"; the leader is one of {len(outcome.selected.tied)} that tie (=)" if len(outcome.selected.tied) > 1 else ""
    whose = "the key's choice" if outcome.front else "chosen"
    out().print(f"{whose} (*): trial {chosen.trial}, {outcome.selected.why}{tie}")
    _show_front(outcome)
    show_analysis(outcome.analysis)
    _show_sources(outcome)
    _notes(outcome)
    _show_link(outcome)


def _show_front(outcome: SweepOutcome) -> None:
    """The front of several objectives, and how a point of it is taken."""
    if outcome.front:
        objectives = ", ".join(outcome.front[0].values)
        settings = counted(len(outcome.front), "setting", "settings")
        out().print(Text(f"on the front of {objectives}: {settings}, of which you name one: harness lock EXP --point NAME"))
        for point in outcome.front:
            out().print(Text(f"  {point}"))


def _show_sources(outcome: SweepOutcome) -> None:
    """The chosen setting's hits by where the questions come from, when the question set says so, and by documents."""
    name = outcome.selected.chosen.hit_name
    for found in outcome.breakdowns:
        if found.by != "source":
            shown = [f"{row.name} {row.hits_at_1}/{row.answerable}" for row in found.rows[:MOST_GROUPS]]
            more = [f"{len(found.rows) - MOST_GROUPS} more in --json"] if len(found.rows) > MOST_GROUPS else []
            left_out = f"; {found.left_out} unanswerable ones have no document" if found.left_out else ""
            out().print(Text(f"{name}@1 of the chosen setting by {found.by}: {', '.join([*shown, *more])}{left_out}"))
    for row in outcome.sources:
        hits = f"{name}@1 {rate(row.hits_at_1, row.answerable)}, {name}@3 {rate(row.hits_at_3, row.answerable)}"
        out().print(Text(f"{row.name} questions at the chosen setting: {hits}; {row.unanswerable} unanswerable"))


def _notes(outcome: SweepOutcome) -> None:
    for finding in outcome.diagnosis:
        out().print(Text(f"note: {finding.sentence}; {finding.remedy}", style="yellow"))


def _columns(outcome: SweepOutcome) -> dict[str, Callable[[TrialResult], str]]:
    """What the table of a sweep shows of a trial; the interval stands beside the metric that the selection goes by."""
    made, name = outcome.analysis.comparison, outcome.selected.chosen.hit_name
    first, third = f"{name}@1", f"{name}@3"
    interval = {"95 %": lambda r: between(own.interval) if made and (own := made.of(r)) else ""} if made else {}
    hits = {first: lambda r: _hits(r, 1)}
    known = (hit_metric(name, 1), None)
    metric = outcome.analysis.metric
    leading = (
        {**hits, **interval} if metric in known else {str(metric): lambda r: percent(r.metrics.get(metric)), **interval, **hits}
    )
    return {
        **leading,
        third: lambda r: _hits(r, 3),
        "MRR": lambda r: f"{r.mrr:.3f}",
        "ceiling": lambda r: percent(r.metrics.get("ceiling")),
        "index": lambda r: f"{r.metrics['index_ratio']:.3f}",
        "ctx@3": lambda r: f"{r.metrics['context_at_3']:.0f}",
        "trunc.": lambda r: percent(r.metrics["truncated_share"]),
    }


def _show_link(outcome: SweepOutcome) -> None:
    command, url = outcome.ui_command, outcome.ui_url
    if command:
        out().print(Text(f"to see the runs: {command}"), soft_wrap=True)
        out().print(Text(f"then open:       {url}"), soft_wrap=True)
    else:
        out().print(Text(f"to see the runs: {url}"), soft_wrap=True)
    first = f" (the first {MOST_COMPARED} trials)" if outcome.trials["complete"] > MOST_COMPARED else ""
    out().print(Text(f"side by side{first}: {outcome.compare_url}"), soft_wrap=True)


def show_lock(locked: Locked) -> None:
    made, tuned = locked.lock, locked.lock.threshold
    verb = "locked before" if locked.existed else "locked"
    out().print(f"{verb}: trial {made.trial}, {made.point} as {made.lock_id}")
    if made.because:
        out().print(Text(f"chosen by hand because: {made.because}"))
    out().print(Text(f"threshold {tuned.value} (rule {tuned.rule}; {tuned.how})"))
    if tuned.proxy:
        out().print(Text("no unanswerable dev question has a score: best wrong chunks stand for them, a proxy", style="yellow"))
    out().print(Text(f"of {tuned.embedder}, {tuned.similarity}; model fingerprint {tuned.embedder_fingerprint[:16]}…"))
    _show_age(made.questions)
    out().print(Text(f"to check in: {locked.path}"), soft_wrap=True)


def _show_age(asked: dict[str, Any]) -> None:
    if asked.get("newest"):
        undated = f"; {asked['undated']} undated" if asked["undated"] else ""
        out().print(f"dev questions of {asked['oldest']} to {asked['newest']}{undated}")
    elif asked:
        out().print("dev questions without dates: how old they are is not known")
    for split, key in (("dev", "unreviewed"), ("holdout", "holdout_unreviewed")):
        if asked.get(key):
            out().print(Text(f"{asked[key]} {split} questions are unreviewed", style="yellow"))


def show_holdout(opened: Opened) -> None:
    record = opened.record
    out().print(Text(f"holdout, opened {record.claim.claimed} by {record.claim.claimed_by} for lock {record.claim.lock_id}"))
    out().print(_figures(record.evaluation))
    if record.unreviewed:
        out().print(Text(f"{record.unreviewed} of its questions are unreviewed", style="yellow"))
    _show_gate(opened)


def _hits(evaluation: Evaluation, k: int) -> str:
    return rate(evaluation.hits(k), evaluation.answerable)


def _show_gate(opened: Opened) -> None:
    at, value = opened.record.at_threshold, opened.record.threshold.value
    false = counted(at["false_answer"], "false answer", "false answers")
    out().print(
        f"at threshold {value}: {at['correct']} correct, {at['wrong']} wrong, {false}, "
        f"{at['rightly_abstained']} rightly abstained ({at['rightly_abstained_unanswerable']} unanswerable, "
        f"{at['rightly_abstained_wrong_first']} with a wrong first chunk), {at['wrongly_abstained']} wrongly: "
        f"{opened.record.verdict['verdict']}"
    )


def show_audit(found: Audit) -> None:
    for row in found.thresholds:
        out().print(Text.assemble((str(row.value), "bold"), f"  tuned against {row.embedder}, {row.similarity}"))
        force = "in force" if row.in_force else "superseded"
        for line in (
            f"model {row.fingerprint}",
            f"scoring {row.scoring_fingerprint}",
            f"lock {row.lock_id} of {row.experiment}, by {row.created_by} at {row.created}: {force}, {row.status}",
        ):
            out().print(Text(f"    {line}"), soft_wrap=True)
    if not found.thresholds:
        out().print(
            "no thresholds: nothing is locked in this project (its root: the nearest folder upward with .git or .harness)"
        )
    _faults("finding", found.findings, "bold red")
    if found.thresholds and not found.findings:
        out().print("every claim was derived again from its records; no findings")


def show_cache(found: Contents, cleared: bool) -> None:
    if cleared:
        out().print(f"cleared: {counted(found.cleared, 'vector', 'vectors')}")
    if found.models:
        table = plain_table("model", "fingerprint", "vectors", "MB", "last used")
        for kept in found.models:
            cells = (f"{kept.vectors:,}", f"{kept.bytes / 1e6:.1f}", kept.last_used.isoformat())
            table.add_row(Text(kept.model.name), kept.model.fingerprint[:16], *cells)
        out().print(table)
    limit = f"at most {found.limit_bytes / 1e9:g} GB" if found.limit_bytes else "off"
    size = f"{found.bytes / 1e6:.1f} MB on disk; the cache is {limit} (HARNESS_CACHE_GB)"
    out().print(Text(f"{found.path}: {size}"), soft_wrap=True)


def show_whole(done: Whole) -> None:
    """The answer of a whole run: setting, dev, holdout, threshold with its model, and where to look."""
    out().rule(Text(done.experiment.name))
    if done.experiment.question:
        out().print(Text(done.experiment.question, style="italic"))
    for name, text in _answer(done):
        out().print(Text.assemble((f"{name:<10}", "bold"), text))
    for name, text in (*_identities(done.locked), ("report", str(done.report))):
        out().print(Text.assemble((f"{name:<10}", "bold"), text), soft_wrap=True)
    _show_sources(done.sweep)
    _notes(done.sweep)
    _faults("finding", done.audit.findings, "bold red")
    _show_link(done.sweep)
    out().print(Text(LIMITS, style="dim"))


def _identities(locked: Locked | None) -> Iterator[tuple[str, str]]:
    if locked:
        yield "model", locked.lock.embedder.fingerprint
        yield "scoring", locked.lock.scoring_fingerprint
        yield "check in", str(locked.path)


def _answer(done: Whole) -> Iterator[tuple[str, str]]:
    """The lines that matter; every figure is of the locked setting, or says whose it is."""
    chosen = done.sweep.selected.chosen
    if done.locked is None and done.sweep.front:
        for number, point in enumerate(done.sweep.front):
            yield "" if number else "front", str(point)
        yield "lock", f'none yet; name a point: harness lock {done.experiment.path.name} --point "{done.sweep.front[0].name}"'
        return
    if done.locked is None:
        yield from _chosen(chosen, "; not locked: every question is dev")
        yield from _expected(done.sweep.analysis)
        return
    made, tuned = done.locked.lock, done.locked.lock.threshold
    result = next(r for r in done.sweep.results if r.trial == made.trial)
    yield from _chosen(result, f"; by hand, because: {made.because}" if made.because else "")
    if made.trial == chosen.trial:
        yield from _expected(done.sweep.analysis)
    if done.opened:
        record = done.opened.record
        whose = "" if record.claim.lock_id == made.lock_id else f"; of lock {record.claim.lock_id}, not of this one"
        again = f"; opened {record.claim.claimed[:10]}" if done.opened.already_opened else ""
        yield "holdout", _figures(record.evaluation) + whose + again
    elif done.refusal:
        yield "holdout", f"not opened for this choice: {done.refusal.faults[0].what}"
    yield "threshold", f"{tuned.value}, of {tuned.embedder} with {tuned.similarity}; it means nothing with another"
    yield "gate", _gate("dev", tuned.at_threshold)
    if done.opened and done.opened.record.claim.lock_id == made.lock_id:
        record = done.opened.record
        yield "", f"{_gate('holdout', record.at_threshold)}: {record.verdict['verdict']}"
    if tuned.proxy:
        yield "", "no unanswerable dev question has a score: best wrong chunks stand for them, a proxy"


def _chosen(result: TrialResult, remark: str) -> Iterator[tuple[str, str]]:
    point = result.point
    sized = "" if point.baseline else f" (sizes in {result.unit}, overlap ratio {point.overlap_ratio})"
    yield "chosen", f"{point}{sized}, trial {result.trial}{remark}"
    if result.evaluation:
        yield "dev", _figures(result.evaluation)


def _gate(split: str, at: dict[str, Any]) -> str:
    false = f"{at['false_answer']}/{at['unanswerable']}" if at["unanswerable"] else "none asked"
    return f"{split}: right answers {at['correct']}/{at['answerable']}, false answers to the unanswerable {false}"


def _expected(found: Analysis) -> Iterator[tuple[str, str]]:
    """What the choice can be expected to get of fresh questions, and how many settings may be as good."""
    if found.optimism:
        settings = f"the best of {found.comparison.compared} looks better than it is" if found.comparison else ""
        yield "expected", f"{found.optimism.metric} about {found.optimism.expected:.1%} of fresh questions: {settings}"
    if found.comparison and found.comparison.compared > 1:
        made = found.comparison
        yield "tie set", f"{len(made.tie_set)} of {made.compared} settings are not measurably worse than the leader"


def _figures(evaluation: Evaluation) -> str:
    name, mrr = evaluation.hit_name, evaluation.mrr
    shown = "undefined" if mrr is None else f"{mrr:.3f}"
    return f"{name}@1 {_hits(evaluation, 1)}, {name}@3 {_hits(evaluation, 3)}, MRR {shown}"


def _first_hits(r: TrialResult) -> str:
    return f"{r.hit_name}@1 {r.hits(1)}/{r.answerable}"


def _most(bound: Bound) -> str:
    """What a setting can still reach, in one figure."""
    hits, done = [(k, bound.hits(k)) for k in (1, 3)], f"{bound.chunks_embedded} of {bound.metrics['chunks']:.0f} chunks embedded"
    most = ", ".join(f"{bound.hit_name}@{k} {n}/{bound.answerable}" for k, n in hits if n is not None)
    return f"at most {most} ({done})" if most else done


class _Bar:
    """A sweep's progress on standard error: a bar in a terminal, a line a trial elsewhere."""

    def __init__(self) -> None:
        self.console = err()
        self.progress_bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[best]}"),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
            transient=True,
        )
        self.task: TaskID | None = None
        self._told = time.monotonic()

    def begin(self, total: int, done: int) -> None:
        self.progress_bar.start()
        self.task = self.progress_bar.add_task("trials", total=total, completed=done, best="")
        self.total, self.done = total, done
        self._began, self._done_before = time.monotonic(), done

    def trial(self, result: TrialResult, best: TrialResult | None) -> None:
        self.done += 1
        shown = f"best {best.point}: {_first_hits(best)}" if best else "none complete yet"
        if self.task is not None:
            self.progress_bar.update(self.task, completed=self.done, best=shown)
        if not self.console.is_terminal:
            own = "failed" if result.error else f"pruned, {_most(result.bound)}" if result.bound else _first_hits(result)
            done = f"{self.done} of {self.total}{self._left()}"
            self.console.print(Text(f"{done}: trial {result.trial}, {result.point}: {own}; {shown}"))
        if result.error:
            self.say(f"trial {result.trial} ({result.point}) failed: {result.error.splitlines()[0]}")

    def _left(self) -> str:
        """About how long it will take yet, at the pace so far."""
        pace = (time.monotonic() - self._began) / max(1, self.done - self._done_before)
        seconds = pace * (self.total - self.done)
        if seconds < 1:
            return ""
        return f" (about {seconds / 60:.0f} min left)" if seconds >= 90 else f" (about {seconds:.0f} s left)"

    def progress(self, alive: int, bound: Bound) -> None:
        shown = f"{alive} settings side by side, the most promising: {_most(bound)}"
        if self.task is not None:
            self.progress_bar.update(self.task, best=shown)
        if not self.console.is_terminal and time.monotonic() - self._told > EVERY:
            self._told = time.monotonic()
            self.say(shown)

    def say(self, message: str) -> None:
        self.console.print(Text(message))

    def close(self) -> None:
        self.progress_bar.stop()


@contextmanager
def watcher() -> Iterator[_Bar]:
    """A watcher of one sweep."""
    bar = _Bar()
    try:
        yield bar
    finally:
        bar.close()


class _Steps(_Bar):
    """The progress of a whole run."""

    def step(self, name: str) -> None:
        self.progress_bar.stop()
        self.console.print(Text(f"── {name}", style="bold cyan"))

    def found(self, result: Any) -> None:
        show = show_check if isinstance(result, Checked) else show_estimate
        show(result)


@contextmanager
def steps() -> Iterator[_Steps]:
    """A watcher of all steps."""
    bar = _Steps()
    try:
        yield bar
    finally:
        bar.close()
