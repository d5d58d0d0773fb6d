"""What a part of the corpus tells of the whole in a few seconds: the embedder's speed, and how long a sweep would take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.embedders import Embedder
from harness.experiment import Experiment
from harness.formats import Labelled
from harness.measurement import read_tokens
from harness.records import Corpus, Document, Point, Section, Span
from harness.speed import Speed, measure
from harness.tokenizers import Ruler

CHARACTERS = 150_000  # of the part
FEWEST_OF_A_DOCUMENT = 10_000  # characters, where it has them: shorter beginnings would have no long chunk
POINTS = 12  # of the space, whose mean stands for it
LENGTHS = 7  # chunk sizes that are looked at to find short, middle and long chunks


def part_of(corpus: Corpus, characters: int = CHARACTERS) -> Corpus:
    """The beginnings of some documents, evenly over the corpus, about so many characters together; the same at every call."""
    documents = corpus.documents
    number = min(len(documents), max(1, characters // FEWEST_OF_A_DOCUMENT))
    chosen = [documents[i] for i in sorted({round(i) for i in np.linspace(0, len(documents) - 1, number).tolist()})]
    return Corpus(tuple(_beginning(d, max(characters // len(chosen), FEWEST_OF_A_DOCUMENT)) for d in chosen))


def _beginning(document: Document, most: int) -> Document:
    if len(document.text) <= most:
        return document
    sections = (
        Section(s.section_id, s.heading, Span(s.span.start, min(s.span.end, most)))
        for s in document.sections
        if s.span.start < most
    )
    return replace(document, text=document.text[:most], sections=tuple(sections))


def speed_of(experiment: Experiment, part: Corpus, embedder: Embedder) -> Speed:
    """The embedder's speed on chunks of a part of the corpus: the shortest and longest of the space, and those between.

    Lengths are those that the model reads: sizes that it cuts are one length to it.
    """
    ruler = Ruler(part, experiment.unit(embedder), embedder.tokenizer)
    found: list[tuple[float, list[str]]] = []
    for point in _of_every_length(experiment):
        texts = list(dict.fromkeys(experiment.chunk(part, point, ruler).texts()))
        found.append((float(read_tokens(texts, embedder)[0].mean()), texts))
    found.sort(key=lambda lengths: lengths[0])
    shortest, longest = found[0][0], found[-1][0]
    between = min(found, key=lambda lengths: abs(np.log(max(lengths[0], 1e-9) ** 2 / max(shortest * longest, 1e-9))))
    samples = {id(texts): texts for _, texts in (found[0], between, found[-1])}
    return measure(embedder, [_shuffled(texts) for texts in samples.values()])


def _of_every_length(experiment: Experiment) -> list[Point]:
    """Points without overlap over the chunk sizes of the space; the baselines where there is nothing else."""
    space = experiment.space
    splitter = space.splitters[0] if space.splitters else ""
    sizes = [*space.chunk_size.sample(LENGTHS), *(p.chunk_size for p in experiment.points)]
    points = [space.canonical(Point(splitter, int(size), 0.0, space.prepend[0])) for size in sorted(set(sizes)) if size]
    return list(dict.fromkeys(points)) or list(experiment.baselines)


def _shuffled(texts: Sequence[str]) -> list[str]:
    """In another order, so that the first few are of all documents; the same at every call."""
    return [texts[i] for i in np.random.default_rng(0).permutation(len(texts))]


def sweep_seconds(experiment: Experiment, labelled: Labelled, embedder: Embedder, ruler: Ruler, number_of_points: int) -> float:
    """Seconds that measuring so many points whole takes, less what is held already; found in a few seconds itself.

    By a few points of the space over a part of the corpus; `ruler` is that of the whole.
    """
    part = part_of(labelled.corpus)
    own = Ruler(part, experiment.unit(embedder), embedder.tokenizer)
    speed = speed_of(experiment, part, embedder)
    taken = []
    for point in _some_points(experiment):
        if not point.feasible:
            taken.append(0.0)
            continue
        texts = list(dict.fromkeys(experiment.chunk(part, point, own).texts()))
        read, _ = read_tokens(texts, embedder)
        taken.append(speed.seconds(read[~embedder.held(texts, "document")]))
    return float(np.mean(taken)) * ruler.source_units / own.source_units * number_of_points


def _some_points(experiment: Experiment) -> list[Point]:
    space = experiment.space
    per_axis = max(2, int((4 * POINTS / max(1, len(space.splitters) * len(space.prepend))) ** 0.5))
    points = list(experiment.points if experiment.search.sampler == "points" else space.sample(per_axis))
    chosen = np.random.default_rng(0).permutation(len(points))[:POINTS]
    return [points[i] for i in sorted(chosen.tolist())]
