"""The factory: near-duplicates among 100,000 texts against comparing all with all, and memory over the number of people.

Near-duplicates are planted among synthetic embeddings that lie in topics as those of questions do, so that recall is known;
brute force is the same comparison by matrix products of single precision on the same cores, its time measured on a part of
the rows and scaled. People are made by the real command in a process of its own, screened by a stub model that answers at
once; only exact duplicates are looked for there, so that no encoder's time is measured.
"""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from personafit.factory.near_duplicates import near_pairs
from personafit.models.embeddings import Vectors, unit_rows
from speed.table import Measurement

TEXTS, SIZE, TOPICS, PLANTED = 100_000, 512, 400, 2_000
THRESHOLD = 0.9
SPEED_BAR, RECALL_BAR, MEMORY_BAR = 20.0, 0.99, 1 / 1.5
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
class Cost:
    """What one build took."""

    people: int
    seconds: float
    processor_seconds: float
    peak_mib: float


def measure() -> list[Measurement]:
    return [*measure_duplicates(), *measure_people()]


def measure_duplicates() -> list[Measurement]:
    """Speed and recall of near-duplicates, the index's building included."""
    vectors, planted = synthetic(TEXTS)
    started = time.perf_counter()
    found = near_pairs(vectors, THRESHOLD)
    ours = time.perf_counter() - started
    started = time.perf_counter()
    later = vectors[-BRUTE_ROWS:]
    likeness = later @ vectors.T
    np.nonzero(likeness >= THRESHOLD)
    brute = (time.perf_counter() - started) * TEXTS / BRUTE_ROWS
    keys = set(map(tuple, found.tolist()))
    recall = sum(pair in keys for pair in planted) / len(planted)
    print(
        f"factory: {len(planted):,} planted, {len(keys):,} found; {ours:.1f} s against {brute:.1f} s",
        flush=True,
    )
    what = f"near-duplicates among {TEXTS:,} texts"
    return [
        Measurement(what, "all with all", "texts/s", TEXTS / ours, TEXTS / brute, brute / ours, SPEED_BAR),
        Measurement(f"{what}: recall", "all planted", "share", recall, 1.0, recall, RECALL_BAR),
    ]


def synthetic(count: int) -> tuple[Vectors, list[tuple[int, int]]]:
    """Unit vectors in topics, with pairs planted at cosines from just above the threshold; and the pairs that truly reach it."""
    random = np.random.default_rng(7)
    topics = random.normal(size=(TOPICS, SIZE)).astype(np.float32)
    of = random.integers(TOPICS, size=count)
    # Within a topic texts differ along fewer directions than the encoder has, as sentences do.
    basis = random.normal(size=(96, SIZE)).astype(np.float32)
    vectors = unit_rows(
        topics[of] / np.sqrt(SIZE) * 0.8
        + random.normal(size=(count, 96)).astype(np.float32) @ basis / 96**0.5 / SIZE**0.5
    )
    sources = random.choice(count, size=2 * PLANTED, replace=False)
    for place, source in zip(sources[:PLANTED], sources[PLANTED:], strict=True):
        cosine = random.uniform(THRESHOLD + 0.002, 0.999)
        noise = random.normal(size=96).astype(np.float32) @ basis
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
