"""What a corpus and its labels mean for a search space: lengths in its unit, an overlap, and doubts; one more is a function in
`LOOKS`. Nothing here looks at holdout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from harness import embedders, metrics, tokenizers, wording
from harness.errors import Fault, HarnessError, counted
from harness.experiment import Experiment
from harness.formats import SHORT_HASH, Labelled
from harness.label_checks import listed
from harness.records import Claim, Document, Place, Quantiles, Question
from harness.selection import REGION_KEY
from harness.spread import quantiles
from harness.state import State
from harness.text import sentences
from harness.tokenizers import Ruler, Tokenizer, as_offsets, count_touched

MOST_READ = 4_000_000  # characters whose sentences are measured; a larger corpus is sampled, evenly over its documents
MANY_SPACELESS = 0.3  # of the letters


@dataclass(frozen=True)
class Lengths:
    """Lengths in the experiment's unit; of the evidence of dev, place by place."""

    unit: str
    sentences: Quantiles
    evidence: Quantiles
    documents_read: int

    @property
    def longest_sentence(self) -> int | None:
        """No overlap above it keeps any more sentences whole; None without a sentence."""
        return int(self.sentences["max"]) if self.sentences["count"] else None


@dataclass(frozen=True)
class Advice:
    """Lengths, None where the unit's tokenizer is not at hand, and what they and the space make doubtful."""

    lengths: Lengths | None
    warnings: tuple[Fault, ...]


@dataclass(frozen=True)
class _Case:
    experiment: Experiment
    labelled: Labelled
    unit: str
    tokenizer: Tokenizer | None
    ruler: Ruler | None  # which has found the units already, where a sweep is about to begin

    @cached_property
    def sizes(self) -> list[int]:
        """Smallest and largest chunk size of the space, in units."""
        axis = self.experiment.space.chunk_size.sample(2)
        sizes = [int(v) for v in axis] + [p.chunk_size for p in self.experiment.points]
        return [min(sizes), max(sizes)]

    @cached_property
    def read(self) -> list[Document]:
        """The documents that are measured."""
        documents = self.labelled.corpus.documents
        total = sum(len(d.text) for d in documents)
        step = max(1, -(-total // MOST_READ))
        return list(documents[::step])

    @cached_property
    def tokens_per_unit(self) -> float | None:
        """The model's tokens in a unit of the measured text; None when its tokenizer is not at hand."""
        if self.unit == tokenizers.MODEL_TOKENS:
            return 1.0
        own = embedders.EMBEDDERS[self.experiment.embedder_type].read_tokenizer(self.experiment.embedder_options)
        sample = [d.text[:20_000] for d in self.read[:20]]
        units = sum(len(self.tokenizer(text)) for text in sample) if self.tokenizer else 0
        return sum(len(own(text)) for text in sample) / units if own and units else None

    @cached_property
    def units(self) -> dict[str, Any]:
        """Offsets of the units of the measured documents and of those with evidence, by document id."""
        wanted = {d.document_id: d for d in self.read}
        wanted |= {p.document_id: self.labelled.corpus[p.document_id] for p in self.places}
        if self.tokenizer is None:
            return {}
        return {i: self.ruler.units(d) if self.ruler else self.tokenizer(d.text) for i, d in wanted.items()}

    @cached_property
    def spans(self) -> list[Question]:
        """Dev questions with evidence that must be whole."""
        return [q for q in self.labelled.dev if q.evidence and q.evidence.whole]

    @cached_property
    def places(self) -> list[Place]:
        return sorted({p for q in self.spans if q.evidence for p in q.evidence.places()})

    @cached_property
    def size_of(self) -> dict[Place, int]:
        """Units of each evidence place."""
        return {p: int(self._sizes(p.document_id, as_offsets([(p.span.start, p.span.end)]))[0]) for p in self.places}

    def _sizes(self, document_id: str, spans: Any) -> Any:
        return count_touched(self.units[document_id], spans)

    @cached_property
    def lengths(self) -> Lengths:
        found = [self._sizes(d.document_id, sentences(d.text)) for d in self.read]
        together = np.concatenate(found) if found else np.zeros(0)
        return Lengths(self.unit, quantiles(together), quantiles(list(map(float, self.size_of.values()))), len(self.read))


def read_sound(experiment: Experiment) -> Labelled:
    """Corpus and labels. Raises HarnessError with every fault of them, questions of an opened holdout in dev among them."""
    labelled = experiment.read_labels()
    if faults := [*labelled.faults, *opened_here(experiment, labelled), *unmeasurable(experiment, labelled)]:
        raise HarnessError(faults)
    return labelled


def unmeasurable(experiment: Experiment, labelled: Labelled) -> list[Fault]:
    """A fault for metrics of the selection's key, and one for its objectives, that none of the dev questions has."""
    asked = labelled.answerable
    if not asked:
        return []  # which has a fault of its own
    regions = not any(q.evidence.whole for q in asked if q.evidence)
    document = 'write [selection] objective = ["document_hit_at_1", "index_ratio"]'
    faults = []
    for key, parts, of_regions in (
        ("key", experiment.selection.key, REGION_KEY),
        ("objective", experiment.selection.objective, document),
    ):
        if lacking := [name for part in parts if _lacks(name := part.removeprefix("-"), asked, regions)]:
            what = f"no dev question has what {', '.join(map(repr, lacking))} measures"
            fix = of_regions if regions else "put other metrics there, such as hit_at_1"
            faults.append(Fault(f"[selection] {key}", what, fix))
    return faults


def _lacks(name: str, asked: Sequence[Question], regions: bool) -> bool:
    """Whether a metric is defined for none of the answerable questions."""
    return name not in metrics.COSTS and (
        (name.startswith("document_") != regions and not name.startswith("section_"))
        or (name.startswith("section_") and not any(q.expected_section for q in asked))
        or (name.startswith("hit_with_condition") and not any(q.condition for q in asked))
    )


def opened_here(experiment: Experiment, labelled: Labelled) -> list[Fault]:
    """Faults for dev questions of holdouts that this project has opened."""
    return opened_in_dev(experiment, labelled, State(experiment).read_claims())


def advise(experiment: Experiment, labelled: Labelled, ruler: Ruler | None = None) -> Advice:
    """Lengths and doubts, without loading a model; a ruler that is there already spares finding the units again."""
    kind = embedders.EMBEDDERS[experiment.embedder_type]
    unit = experiment.unit_of(kind.has_tokenizer)
    own = kind.read_tokenizer(experiment.embedder_options) if unit == tokenizers.MODEL_TOKENS else None
    at_hand = unit != tokenizers.MODEL_TOKENS or own is not None
    tokenizer = tokenizers.resolve(unit, own, "unit") if at_hand else None
    case = _Case(experiment, labelled, tokenizers.unit_name(unit), tokenizer, ruler)
    return Advice(case.lengths if at_hand else None, tuple(w for look in LOOKS for w in look(case)))


def opened_in_dev(experiment: Experiment, labelled: Labelled, claims: Iterable[Claim]) -> list[Fault]:
    """A fault per opened holdout of which questions are dev now, unless a written split retired them."""
    retired = experiment.source.rule.retired
    short = {q.sha256[:SHORT_HASH]: q.question_id for q in labelled.dev if q.sha256 not in retired}
    faults = []
    for claim in claims:
        ids = [short[h] for h in claim.questions if h in short]
        if ids:
            what = (
                f"{counted(len(ids), 'dev question is', 'dev questions are')} of the holdout opened at {claim.claimed} for "
                f"'{claim.experiment}': {listed(ids)}"
            )
            fix = "move them back, or retire that holdout: `harness split --retire`"
            faults.append(Fault("questions", what, fix))
    return faults


def _too_long(case: _Case) -> Iterator[Fault]:
    """Evidence that no chunk of the space can hold: a ceiling that the sweep can't break."""
    if case.tokenizer is None:
        return
    largest = case.sizes[1]
    ids = [
        q.question_id
        for q in case.spans
        if q.evidence and all(any(case.size_of[p] > largest for p in a) for a in q.evidence.alternatives)
    ]
    if ids:
        what = (
            f"the evidence of {len(ids)} of {len(case.spans)} answerable dev questions is longer than the largest chunk "
            f"({largest} {case.unit}), so no setting can hit more than {1 - len(ids) / len(case.spans):.1%}: {listed(ids)}"
        )
        yield Fault("[search] chunk_size", what, "raise the largest size, or quote less")


def _short_documents(case: _Case) -> Iterator[Fault]:
    if case.tokenizer is None:
        return
    smallest = case.sizes[0]
    short = sum(len(case.units[d.document_id]) <= smallest for d in case.read)
    if short:
        every = "; every setting is the same" if short == len(case.read) == len(case.labelled.corpus.documents) else ""
        what = f"{short} of {len(case.read)} documents are no longer than the smallest chunk ({smallest} {case.unit}){every}"
        yield Fault("[search] chunk_size", what, "they are one chunk at every setting: add smaller sizes")


def _spaceless(case: _Case) -> Iterator[Fault]:
    sample = "".join(d.text[:10_000] for d in case.read[:200])
    share = wording.spaceless_share(sample)
    if share < MANY_SPACELESS:
        return
    what = f"{share:.0%} of the letters are of scripts that put no space between words"
    if case.unit == "words":
        fix = 'set unit = "characters", a token encoding such as "cl100k_base", or "model-tokens"'
        yield Fault("[search] unit", f"{what}: a 'word' is a whole clause or paragraph", fix)
    by_words = sorted(name for name, splitter in case.experiment.splitters.items() if splitter.atoms == "words")
    if by_words:
        yield Fault(
            "[search] splitter", f"{what}, and {', '.join(by_words)} cuts between words only", 'use splitter = ["tokens"]'
        )
    if embedders.EMBEDDERS[case.experiment.embedder_type].needs_spaces:
        what += f", and embedder '{case.experiment.embedder_type}' compares words between spaces"
        yield Fault("[embedder] type", what, "use a sentence-transformers model that knows the language")


def _wasted_overlap(case: _Case) -> Iterator[Fault]:
    if case.tokenizer is None or case.lengths.longest_sentence is None:
        return
    longest = case.lengths.longest_sentence
    ratios = [*case.experiment.space.overlap_ratio.sample(2), *(p.overlap_ratio for p in case.experiment.points)]
    most = round(max(ratios) * case.sizes[1])
    if most > longest:
        what = f"the space has overlaps of up to {most} {case.unit}, and the longest sentence has {longest}"
        yield Fault(
            "[search] overlap_ratio", what, "more overlap than the longest sentence keeps nothing else whole: it is waste"
        )


def _truncating(case: _Case) -> Iterator[Fault]:
    """Chunks of the space that the model would read only in part."""
    kind = embedders.EMBEDDERS[case.experiment.embedder_type]
    limit = kind.read_limit(case.experiment.embedder_options)
    if limit is None or case.tokenizer is None or (tokens := case.tokens_per_unit) is None:
        return
    largest = case.sizes[1]
    if largest * tokens <= limit:
        return
    about = "" if case.unit == tokenizers.MODEL_TOKENS else f", about {limit / tokens:.0f} {case.unit}"
    what = f"the space has chunks of up to {largest} {case.unit}, and the model reads {limit} tokens{about}: it cuts the rest off"
    fix = "lower the largest size, or take a model that reads more"
    if case.experiment.search.truncation == "refuse":
        fix = 'such settings fail as infeasible (truncation = "refuse"); lower the largest size'
    yield Fault("[search] chunk_size", what, fix)


LOOKS: list[Callable[[_Case], Iterator[Fault]]] = [_too_long, _short_documents, _spaceless, _wasted_overlap, _truncating]
