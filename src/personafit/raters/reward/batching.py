"""Many callers, one busy worker: whatever has come in while it was busy is its next batch.

Nobody waits for a batch to fill up. A lone call is a batch of one; under load the batches grow by themselves.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Batcher(Generic[T, R]):
    """Hands what callers bring to a function of batches, on a thread of its own."""

    def __init__(self, work: Callable[[Sequence[T]], Sequence[R]], most: int) -> None:
        self._work = work
        self._most = most
        self._waiting: deque[tuple[T, asyncio.Future[R]]] = deque()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="batches")
        self._drain: asyncio.Task[None] | None = None

    async def submit(self, one: T) -> R:
        """The result for one; an error of its batch is an error of each in it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()
        self._waiting.append((one, future))
        if self._drain is None or self._drain.done():
            self._drain = loop.create_task(self._run())
        return await future

    async def close(self) -> None:
        """Let the batch under way end; what still waits is given up."""
        for _, future in self._waiting:
            future.cancel()
        self._waiting.clear()
        if self._drain is not None:
            await asyncio.gather(self._drain, return_exceptions=True)
        self._worker.shutdown(wait=True)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await asyncio.sleep(0)  # whoever is about to come in may come along
            batch = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
            batch = [(one, future) for one, future in batch if not future.done()]  # callers may have left
            if not batch:
                continue
            try:
                results = await loop.run_in_executor(self._worker, self._work, [one for one, _ in batch])
            except Exception as error:
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), result in zip(batch, results, strict=True):
                if not future.done():
                    future.set_result(result)
