"""The factory: near-duplicates among 100,000 texts against comparing all with all, and memory over the number of people.

Near-duplicates are planted among synthetic embeddings that lie in topics as those of questions do, so that recall is known. The
numbers of cells and probes were chosen on the first set and on one that is gone; the bars are held on the second, of another seed,
with other topics, of uneven size, and other directions, which nothing was chosen on. Brute force is the same comparison by matrix products of
single precision on the same cores, its time measured on a part of the rows and scaled. People are made by the real command in a
process of its own, screened by a stub model that answers at once; only exact duplicates are looked for there, so that no
encoder's time is measured.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from personafit.build.duplicates import NearDuplicates
from personafit.models.embeddings import Vectors, unit_rows
from speed.table import Measurement

TEXTS, SIZE, PLANTED = 100_000, 512, 2_000
THRESHOLD = 0.9
SPEED_BAR, RECALL_BAR, MEMORY_BAR = 5.0, 0.99, 1 / 1.5
BRUTE_ROWS = 4_096
PEOPLE = tuple(int(size) for size in os.environ.get("FACTORY_PEOPLE", "10000,1000000").split(","))

STUB = "async def answer(messages):\n    return 'A'\n"
CONFIG = """\
[build]
languages = ["en", "zh"]
[models]
writer = "python:stub_writer:answer,concurrency=256"
[people]
quota = {quota}
fields = []
similarity = 1.0
max_share = 1.0
max_interest_share = 1.0
"""


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


@dataclass(frozen=True)
class Cost:
    """What one build took."""

    people: int
    seconds: float
    processor_seconds: float
    peak_mib: float


def measure() -> list[Measurement]:
    # People first: the peak that the system reports of a process begins with what its parent held when it was started.
    return [*measure_people(), *measure_duplicates()]


def measure_duplicates() -> list[Measurement]:
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


def measure_people(sizes: tuple[int, ...] = PEOPLE) -> list[Measurement]:
    """Peak memory and processor time of many people against few."""
    small, large = (build_people(size) for size in sizes)
    what, peer = f"{large.people:,} people", f"{small.people:,} people"
    ours, theirs = (cost.people / cost.processor_seconds for cost in (large, small))
    memory = small.peak_mib / large.peak_mib
    return [
        Measurement(f"peak memory, {what}", peer, "MiB", large.peak_mib, small.peak_mib, memory, MEMORY_BAR),
        Measurement(f"{what}, processor time", peer, "people/s", ours, theirs, ours / theirs),
    ]


def build_people(count: int) -> Cost:
    """Build so many people and say what that took."""
    with tempfile.TemporaryDirectory(prefix="personafit-factory-") as place:
        (Path(place) / "stub_writer.py").write_text(STUB, encoding="utf-8")
        (Path(place) / "build.toml").write_text(CONFIG.format(quota=count), encoding="utf-8")
        command = [sys.executable, "-m", "personafit", "build", "build.toml", "--out", "out"]
        started = time.monotonic()
        process = subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"building {count:,} people ended with {process.returncode}")
    cost = Cost(count, time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
    print(
        f"factory: {count:,} people: {cost.seconds:.0f} s by the clock, {cost.processor_seconds:.0f} s of processor time, "
        f"peak {cost.peak_mib:.0f} MiB",
        flush=True,
    )
    return cost
