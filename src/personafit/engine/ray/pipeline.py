"""Jobs and whole chains as a Ray Data pipeline: jobs go in as rows, outcomes come out as rows, and actors hold the models.

A worker does the whole job: it asks, reads the reply and asks once more if needed. If the outcome has a next link in its
chain, such as the next turn of a dialogue, the same worker continues with it. Every outcome comes back as soon as it is
made, and the calling process stores it under its job's key, so a row that Ray computes twice after a loss is stored once.
A pipeline may end early; jobs without an outcome are then still to be done.
"""

import asyncio
import logging
import math
import pickle  # nosec B403
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any

from personafit.engine.jobs import Job
from personafit.models import ModelError
from personafit.store import Outcome

ROWS = 4  # single jobs per block; a chain has a block of its own
BLOCKS = 4  # least number per worker, so that none is idle for long at the end
DEATHS = 3  # workers lost on one block before its jobs are left to run one by one
ROW = 1  # byte; results larger than this are passed on at once, so every row is


class Work:
    """The stateful class of the pipeline; a model is opened with the first job that needs it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def __call__(self, block: Any) -> Iterator[Any]:
        """Do the jobs of a block and the links that follow from them."""
        import pyarrow

        jobs = (block.column(name).to_pylist() for name in ("number", "job"))
        for number, packed in zip(*jobs, strict=True):
            for link, outcome in enumerate(self._follow(packed)):
                yield pyarrow.table({"number": [number], "link": [link], "outcome": [pickle.dumps(outcome)]})

    def _follow(self, packed: bytes) -> Iterator[Outcome | ModelError]:
        try:
            work, then, generation = pickle.loads(packed)  # nosec B301 # from the calling process
            while True:
                outcome: Outcome = self._loop.run_until_complete(work(generation))
                yield outcome
                job = then(outcome) if then else None
                if job is None:
                    return
                work, then, generation = job.work, job.then, 0
        except ModelError as error:
            yield error


async def pipeline(
    jobs: Sequence[tuple[Job, int]], workers: int, needs: dict[str, Any]
) -> AsyncGenerator[tuple[int, Outcome | ModelError], None]:
    """Yield outcomes by job number as they arrive; some jobs, and last links of chains, may be missing at the end."""
    loop = asyncio.get_running_loop()
    came: asyncio.Queue[list[tuple[int, int, bytes]] | BaseException | None] = asyncio.Queue()
    left = threading.Event()
    dataset = await asyncio.to_thread(_dataset, jobs, workers, needs)

    def carry() -> None:
        import ray

        end: BaseException | None = None
        try:
            # No prefetching: a row would wait for the next one.
            for block in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
                if left.is_set():
                    return
                loop.call_soon_threadsafe(came.put_nowait, _rows(block))
        except ray.exceptions.RayError as error:
            logging.getLogger(__name__).debug("the pipeline ended early: %s", error)
        except BaseException as error:
            end = error
        if not left.is_set():
            loop.call_soon_threadsafe(came.put_nowait, end)

    # A daemon thread: after Ctrl-C it would otherwise block the exit until the next block is done.
    threading.Thread(target=carry, name="pipeline", daemon=True).start()
    links: Counter[int] = Counter()
    try:
        while isinstance(rows := await came.get(), list):
            for number, link, outcome in rows:
                if link == links[number]:  # otherwise an earlier link was lost
                    links[number] += 1
                    yield number, pickle.loads(outcome)  # nosec B301 # from our own workers
        if rows is not None:
            raise rows
    finally:
        left.set()
        # Ray has no public way to stop an execution early.
        if (executor := getattr(dataset, "_current_executor", None)) is not None:
            executor.shutdown(force=True)


def _rows(block: Any) -> list[tuple[int, int, bytes]]:
    return list(zip(*(block.column(name).to_pylist() for name in ("number", "link", "outcome")), strict=True))


def _dataset(jobs: Sequence[tuple[Job, int]], workers: int, needs: dict[str, Any]) -> Any:
    import ray.data
    from ray import cloudpickle

    rows = [
        {"number": number, "job": cloudpickle.dumps((job.work, job.then, generation))}
        for number, (job, generation) in enumerate(jobs)
    ]
    workers = min(workers, len(rows))
    chains = any(job.then for job, _ in jobs)
    blocks = max(math.ceil(len(rows) / (1 if chains else ROWS)), min(len(rows), BLOCKS * workers))
    dataset = ray.data.from_items(rows, override_num_blocks=blocks)
    dataset.context.target_max_block_size = ROW
    return dataset.map_batches(
        Work,
        batch_size=None,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=workers),
        max_restarts=-1,
        # A retried chain would start from its beginning instead of from its last stored link.
        max_task_retries=0 if chains else DEATHS,
        **needs,
    )
