"""Jobs and whole chains as a Ray Data pipeline: rows of jobs in, rows of outcomes out, models in the actors between.

A job is done whole in a worker: asking, reading, asking once more. From its outcome follows the next link of its chain, as
a turn of a dialogue follows from the last, and the same worker goes on with it. Every outcome is a row that comes back as
soon as it is made, and is stored by whoever began, under its job's key, so that a row which Ray computes twice after a loss
is still stored once. The pipeline may end early; what did not come out of it is simply still to be done.
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

ROWS = 4  # jobs in one block, where each stands alone; a chain has one to itself
BLOCKS = 4  # for each worker at least, so that none stands idle for long at the end
DEATHS = 3  # of workers over one block, before its rows are left to be done one by one
ROW = 1  # byte: what comes back is handed on whenever it is larger than this, which is at every row


class Work:
    """The stateful class of the pipeline; models are opened with the first job that brings one along."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def __call__(self, block: Any) -> Iterator[Any]:
        """Do the jobs of a block, with all that follows from them."""
        import pyarrow

        jobs = (block.column(name).to_pylist() for name in ("number", "job"))
        for number, packed in zip(*jobs, strict=True):
            for link, outcome in enumerate(self._follow(packed)):
                yield pyarrow.table({"number": [number], "link": [link], "outcome": [pickle.dumps(outcome)]})

    def _follow(self, packed: bytes) -> Iterator[Outcome | ModelError]:
        try:
            work, then, generation = pickle.loads(packed)  # nosec B301 # from the process that began
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
    """The outcomes of jobs by their number, as they come; some may be missing at the end, and of a chain its last links."""
    loop = asyncio.get_running_loop()
    came: asyncio.Queue[list[tuple[int, int, bytes]] | BaseException | None] = asyncio.Queue()
    left = threading.Event()
    dataset = await asyncio.to_thread(_dataset, jobs, workers, needs)

    def carry() -> None:
        import ray

        end: BaseException | None = None
        try:
            # Nothing is fetched ahead: a row would wait for the next one.
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

    # A thread that nobody waits for: after Ctrl-C it would sit there until the next block is done.
    threading.Thread(target=carry, name="pipeline", daemon=True).start()
    links: Counter[int] = Counter()
    try:
        while isinstance(rows := await came.get(), list):
            for number, link, outcome in rows:
                if link == links[number]:  # or the one before it was lost on its way
                    links[number] += 1
                    yield number, pickle.loads(outcome)  # nosec B301 # from our own workers
        if rows is not None:
            raise rows
    finally:
        left.set()
        # There is no public way to end an execution before its end.
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
        # A chain would be computed again from its beginning, instead of from what is stored of it.
        max_task_retries=0 if chains else DEATHS,
        **needs,
    )
