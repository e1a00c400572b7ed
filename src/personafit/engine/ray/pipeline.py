"""Jobs that stand alone as a Ray Data pipeline: rows of jobs in, rows of outcomes out, models in the actors between.

Each job is done whole in a worker: asking, reading, asking once more. Its outcome comes back and is stored by whoever
began, under the job's key, so that a row which Ray computes twice after a loss is still stored once. The pipeline may end
early; what did not come out of it is simply still to be done.
"""

import asyncio
import logging
import math
import pickle  # nosec B403
import threading
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from personafit.engine.jobs import Job
from personafit.models import ModelError
from personafit.store import Outcome

ROWS = 4  # in one block: what is lost with a worker, or with Ctrl-C
BLOCKS = 4  # for each worker at least, so that none stands idle for long at the end
DEATHS = 3  # of workers over one block, before its rows are left to be done one by one


class Work:
    """The stateful class of the pipeline; models are opened with the first job that brings one along."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def __call__(self, block: Any) -> Any:
        """Do the jobs of a block."""
        import pyarrow

        outcomes = [pickle.dumps(self._do(packed)) for packed in block.column("job").to_pylist()]
        return pyarrow.table({"number": block.column("number"), "outcome": outcomes})

    def _do(self, packed: bytes) -> Outcome | ModelError:
        try:
            work, generation = pickle.loads(packed)  # nosec B301 # from the process that began
            outcome: Outcome = self._loop.run_until_complete(work(generation))
            return outcome
        except ModelError as error:
            return error


async def pipeline(
    jobs: Sequence[tuple[Job, int]], workers: int, needs: dict[str, Any]
) -> AsyncGenerator[tuple[int, Outcome | ModelError], None]:
    """The outcomes of jobs by their number, as they come; some may be missing at the end."""
    loop = asyncio.get_running_loop()
    came: asyncio.Queue[list[tuple[int, Outcome | ModelError]] | BaseException | None] = asyncio.Queue()
    left = threading.Event()
    dataset = await asyncio.to_thread(_dataset, jobs, workers, needs)

    def carry() -> None:
        import ray

        end: BaseException | None = None
        try:
            for block in dataset.iter_batches(batch_size=None, batch_format="pyarrow"):
                if left.is_set():
                    return
                loop.call_soon_threadsafe(came.put_nowait, _outcomes(block))
        except ray.exceptions.RayError as error:
            logging.getLogger(__name__).debug("the pipeline ended early: %s", error)
        except BaseException as error:
            end = error
        if not left.is_set():
            loop.call_soon_threadsafe(came.put_nowait, end)

    # A thread that nobody waits for: after Ctrl-C it would sit there until the next block is done.
    threading.Thread(target=carry, name="pipeline", daemon=True).start()
    try:
        while isinstance(outcomes := await came.get(), list):
            for number, outcome in outcomes:
                yield number, outcome
        if outcomes is not None:
            raise outcomes
    finally:
        left.set()
        # There is no public way to end an execution before its end.
        if (executor := getattr(dataset, "_current_executor", None)) is not None:
            executor.shutdown(force=True)


def _outcomes(block: Any) -> list[tuple[int, Outcome | ModelError]]:
    columns = (block.column(name).to_pylist() for name in ("number", "outcome"))
    return [
        (number, pickle.loads(packed))  # nosec B301 # from our own workers
        for number, packed in zip(*columns, strict=True)
    ]


def _dataset(jobs: Sequence[tuple[Job, int]], workers: int, needs: dict[str, Any]) -> Any:
    import ray.data
    from ray import cloudpickle

    rows = [
        {"number": number, "job": cloudpickle.dumps((job.work, generation))}
        for number, (job, generation) in enumerate(jobs)
    ]
    workers = min(workers, len(rows))
    blocks = max(math.ceil(len(rows) / ROWS), min(len(rows), BLOCKS * workers))
    return ray.data.from_items(rows, override_num_blocks=blocks).map_batches(
        Work,
        batch_size=None,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=workers),
        max_restarts=-1,
        max_task_retries=DEATHS,
        **needs,
    )
