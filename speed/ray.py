"""Scoring with a reward model on a CPU in Ray workers: two against one, each on a node of one core, with one thread.

The model is SmolLM2-135M with a head that nobody trained, the texts have PersonaFeedback's lengths; every worker has loaded
its weights before the clock starts. Beside the wall time stands the processor time of each worker: where other work takes the
cores, wall time says more about that.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from speed.table import Measurement, paired

ROUNDS = 3
PEOPLE = 8
QUESTIONS = 4  # pairs of one person: what goes to a worker at once
STORE = 100 << 20  # bytes
BAR = 1.7


def measure() -> list[Measurement]:
    """The same work for one worker and for two, in turn."""
    from personafit.models.embedded import find_weights
    from personafit.train.reward.weights import load_base
    from speed.gpu.workload import work

    rates: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder:
        model, tokenizer = load_base(str(find_weights("smollm2")), seed=0)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        vocabulary = model.config.vocab_size - 5
        del model
        sequences = [
            [5 + token % vocabulary for token in one] for one in work(PEOPLE, QUESTIONS, seed=0).sequences
        ]
        pairs = [list(pair) for pair in zip(sequences[::2], sequences[1::2], strict=True)]
        for number in range(ROUNDS):
            for workers in (1, 2) if number % 2 else (2, 1):
                wall, busy = _on_cluster(Path(folder), pairs, workers)
                rates[workers].append(len(sequences) / wall)
                print(
                    f"ray, round {number + 1} of {ROUNDS}, {workers} worker{'s' if workers > 1 else ''}: {wall:.1f} s, "
                    f"of processor time {' and '.join(f'{each:.1f}' for each in busy)} s",
                    flush=True,
                )
    return [paired("reward model, two Ray workers", "one worker", "answers/s", rates[2], rates[1], BAR)]


def _on_cluster(folder: Path, pairs: Sequence[list[list[int]]], workers: int) -> tuple[float, list[float]]:
    """Wall seconds for all pairs, and the processor seconds of each worker, on a fresh cluster of so many nodes."""
    from personafit.engine.ray import SETTINGS, working_on

    os.environ |= SETTINGS  # read when Ray is imported
    from ray.cluster_utils import Cluster

    settings = {"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=settings)
    try:
        nodes = [cluster.add_node(num_cpus=1, object_store_memory=STORE) for _ in range(workers)]
        cluster.wait_for_nodes()
        with working_on(f"ray://{cluster.address}"):
            return asyncio.run(
                _score(folder, pairs, [node.all_processes["raylet"][0].process.pid for node in nodes])
            )
    finally:
        cluster.shutdown()


async def _score(
    folder: Path, pairs: Sequence[list[list[int]]], raylets: Sequence[int]
) -> tuple[float, list[float]]:
    from personafit.models import parse_spec
    from personafit.models.placing import current_place
    from personafit.raters.reward.local import open_scorer

    place: Any = current_place()
    spec = parse_spec(f"reward:{folder}")
    pool = place.batches(spec, open_scorer, open_scorer(spec).settings, QUESTIONS)
    try:
        # Short texts until all workers are there, and once more, so that each gets some and loads its weights.
        short = [[text[:16] for text in pairs[0]]] * (QUESTIONS * len(raylets))
        ready = False
        while not ready:
            ready = pool.live == len(raylets)
            await asyncio.gather(*map(pool.submit, short))
        before, began = _busy(raylets), time.monotonic()
        await asyncio.gather(*map(pool.submit, pairs))
        wall, after = time.monotonic() - began, _busy(raylets)
    finally:
        await pool.close()
    return wall, [end - start for start, end in zip(before, after, strict=True)]


def _busy(raylets: Sequence[int]) -> list[float]:
    """Processor seconds so far of the workers, which are children of their node's process."""
    seconds = dict.fromkeys(raylets, 0.0)
    for process in Path("/proc").glob("[0-9]*"):
        try:
            numbers = (process / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            title = (process / "cmdline").read_bytes()
        except OSError:  # it ended meanwhile
            continue
        if int(numbers[1]) in seconds and title.startswith(b"ray::Worker"):
            seconds[int(numbers[1])] += (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")
    return list(seconds.values())
