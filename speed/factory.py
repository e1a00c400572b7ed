"""Building: near-duplicates among 100,000 texts against comparing all with all.

Near-duplicates are planted among synthetic embeddings that lie in topics as those of questions do, so that recall is known. The
numbers of cells and probes were chosen on the first set and on one that is gone; the bars are held on the second, of another seed,
with other topics, of uneven size, and other directions, which nothing was chosen on. Brute force is the same comparison by matrix products of
single precision on the same cores, its time measured on a part of the rows and scaled.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from personafit.build.duplicates import NearDuplicates
from personafit.models.embeddings import Vectors, unit_rows
from speed.table import Measurement

TEXTS, SIZE, PLANTED = 100_000, 512, 2_000
THRESHOLD = 0.9
SPEED_BAR, RECALL_BAR = 5.0, 0.99
BRUTE_ROWS = 4_096


@dataclass(frozen=True)
class Shape:
    """How synthetic embeddings lie."""

    name: str
    seed: int
    topics: int
    directions: int
    """Along which texts of a topic differ: fewer than the encoder has, as with sentences."""
    uneven: float
    """How much larger the first topics are: shares fall with the rank to this power."""
    nearness: float
    """Of texts to their topic."""


TUNED = Shape("the set that settings were chosen on", 7, 400, 96, 0.0, 0.8)
FRESH = Shape("a fresh set", 20_261_116, 1_500, 180, 0.8, 0.6)


def measure() -> list[Measurement]:
    """Speed and recall of near-duplicates, the index's building included."""
    found: list[Measurement] = []
    for shape in (TUNED, FRESH):
        vectors, planted = synthetic(TEXTS, shape)
        started = time.perf_counter()
        texts = [(str(place), str(place)) for place in range(TEXTS)]
        twins = NearDuplicates(THRESHOLD, Given(vectors)).add(texts)
        ours = time.perf_counter() - started
        started = time.perf_counter()
        likeness = vectors[-BRUTE_ROWS:] @ vectors.T
        np.nonzero(likeness >= THRESHOLD)
        brute = (time.perf_counter() - started) * TEXTS / BRUTE_ROWS
        first = [(one, later) for one, later in planted if twins[one] is None]
        recall = sum(twins[later] is not None for _, later in first) / len(first)
        found_all = sum(twin is not None for twin in twins)
        print(
            f"factory: {shape.name}: {len(planted):,} planted, {found_all:,} found, recall {recall:.4f}; {ours:.1f} s against "
            f"{brute:.1f} s",
            flush=True,
        )
        what, bars = f"near-duplicates among {TEXTS:,}, {shape.name}", shape is FRESH
        found += [
            Measurement(
                what,
                "all with all",
                "texts/s",
                TEXTS / ours,
                TEXTS / brute,
                brute / ours,
                SPEED_BAR if bars else None,
            ),
            Measurement(
                f"{what}: recall", "all planted", "share", recall, 1.0, recall, RECALL_BAR if bars else None
            ),
        ]
    return found


class Given:
    """An embedder whose texts are places among given vectors."""

    fingerprint = "given"

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._vectors[[int(text) for text in texts]]


def synthetic(count: int, shape: Shape = TUNED) -> tuple[Vectors, list[tuple[int, int]]]:
    """Unit vectors in topics, with pairs planted at cosines from just above the threshold; and the pairs that truly reach it."""
    random = np.random.default_rng(shape.seed)
    topics = random.normal(size=(shape.topics, SIZE)).astype(np.float32)
    if shape.uneven:
        shares = np.arange(1, shape.topics + 1) ** -shape.uneven
        of = random.choice(shape.topics, size=count, p=shares / shares.sum())
    else:
        of = random.integers(shape.topics, size=count)
    basis = random.normal(size=(shape.directions, SIZE)).astype(np.float32)
    vectors = unit_rows(
        topics[of] / np.sqrt(SIZE) * shape.nearness
        + random.normal(size=(count, shape.directions)).astype(np.float32)
        @ basis
        / shape.directions**0.5
        / SIZE**0.5
    )
    sources = random.choice(count, size=2 * PLANTED, replace=False)
    for place, source in zip(sources[:PLANTED], sources[PLANTED:], strict=True):
        cosine = random.uniform(THRESHOLD + 0.002, 0.999)
        noise = random.normal(size=shape.directions).astype(np.float32) @ basis
        noise -= vectors[source] * (noise @ vectors[source])
        vectors[place] = cosine * vectors[source] + (1 - cosine**2) ** 0.5 * noise / np.linalg.norm(noise)
    planted = [
        (int(min(a, b)), int(max(a, b)))
        for a, b in zip(sources[:PLANTED], sources[PLANTED:], strict=True)
        if vectors[a] @ vectors[b] >= THRESHOLD
    ]
    return vectors, planted
