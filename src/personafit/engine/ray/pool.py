"""Copies of one model in workers of the cluster, and requests for whichever of them is free.

Ray places the workers and starts them again when their process or their node dies. What a dead worker was working on is
asked again, of another one or of the same when it is back: an answer reaches whoever asked exactly once. Requests that were
under way at a death are asked alone from then on, so that one that kills its workers is found out and given up.
"""

import asyncio
import contextlib
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from personafit import __version__
from personafit.engine.ray.worker import Worker
from personafit.models import ModelError, Spec, Transient, Unanswerable, Unusable, one_line
from personafit.models.placing import Opener

DEATHS = 3  # of workers over one request, before it is given up; of one over its weights, before it counts as absent
PATIENCE = 300.0  # seconds without any worker before those who wait are told
FAILURES = (
    40  # of a worker that cannot even be started, one after the other, before it is believed that none can
)
PAUSE = 0.5  # seconds between two looks whether a worker is back
LEAST = 4  # in a batch, where so many wait: what those about one person share is computed in each batch anew


@dataclass(slots=True)
class _Request:
    one: Any
    answer: "asyncio.Future[Any]"
    deaths: int = 0


class ActorPool:
    """Hands what callers bring to the workers, in batches of what has come in while all were busy."""

    def __init__(
        self,
        spec: Spec,
        opener: Opener,
        settings: dict[str, Any],
        most: int,
        options: Callable[[], list[dict[str, Any]]],
        rested: Callable[[], None],
        closed: Callable[[], None],
    ) -> None:
        self._spec, self._opener, self._settings, self._most = spec, opener, settings, most
        self._options = options
        """Says with the first request how many workers there are to be, and what each may take of the cluster."""
        self._rested, self._closed = rested, closed
        self._users = self._asked = 0
        self._waiting: deque[_Request] = deque()
        self._some = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.live = 0
        """How many workers are there now."""
        self._opening = 0
        self._seen_live = 0.0
        self._fault: Unusable | None = None

    def join(self) -> None:
        """One more will ask."""
        self._users += 1

    async def submit(self, one: Any) -> Any:
        """The answer to one request."""
        if self._fault is not None:
            raise self._fault
        request = _Request(one, asyncio.get_running_loop().create_future())
        self._waiting.append(request)
        self._some.set()
        if not self._tasks:
            self._seen_live = time.monotonic()
            self._tasks = [asyncio.create_task(self._serve(options)) for options in self._options()]
            self._tasks.append(asyncio.create_task(self._watch()))
        self._asked += 1
        try:
            return await request.answer
        finally:
            self._asked -= 1

    async def rest(self) -> None:
        """Let the workers go until somebody asks again, unless somebody does now."""
        if not self._asked:
            self._rested()
            await self._end()

    async def close(self) -> None:
        """One less will ask; with the last the workers end."""
        self._users -= 1
        if self._users > 0:
            return
        await self._end()
        self._closed()

    async def _end(self) -> None:
        tasks, self._tasks, self.live = self._tasks, [], 0
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, options: dict[str, Any]) -> None:
        """Keep one worker busy, whatever becomes of its process."""
        import ray

        actor: Any = ray.remote(Worker).options(max_restarts=-1, **options).remote(self._opener, self._spec)
        try:
            await self._greet(actor)
            while True:
                batch = await self._take()
                try:
                    answers = await actor.work.remote([request.one for request in batch])
                    if answers is None:
                        # It died while it had nothing to do, and is there again without its model.
                        self.live -= 1
                        self._waiting.extendleft(reversed(batch))
                        self._some.set()
                        await self._greet(actor)
                        continue
                    answered = list(zip(batch, answers, strict=True))
                except Exception as error:
                    if _lost(error):
                        self.live -= 1
                        self._ask_again(batch)
                        await self._greet(actor)
                        continue
                    answered = [(request, error) for request in batch]  # a bug: for the callers to show
                for request, answer in answered:
                    _settle(request, answer)
        finally:
            with contextlib.suppress(Exception):  # the cluster may be gone
                ray.kill(actor)

    async def _greet(self, actor: Any) -> None:
        """Wait until the worker is there, for the first time or again, and holds what is meant."""
        import ray

        failures = deaths = 0
        while True:
            try:
                fault = await actor.greet.remote(__version__)
                if fault is None:
                    deaths += 1
                    fault = await self._open(actor, counts=deaths <= DEATHS)
            except ray.exceptions.ActorUnavailableError:  # it is being started, or there is no room for it
                await asyncio.sleep(PAUSE)
                continue
            except ray.exceptions.RayError as error:
                failures += 1
                if failures < FAILURES or self.live:  # the others do its work
                    await asyncio.sleep(PAUSE)
                    continue
                fault = f"No worker can be started for {self._spec.text} ({one_line(error)})."
            if fault is not None:
                self._fault = Unusable(fault)
                self._tell(self._fault)
                await asyncio.Event().wait()  # until the pool is closed
            self.live += 1
            return

    async def _open(self, actor: Any, counts: bool) -> str | None:
        """Have the worker read its weights through, however long that takes: it counts as there meanwhile."""
        self._opening += counts
        try:
            fault: str | None = await actor.open.remote(self._settings)
            return fault
        finally:
            self._opening -= counts

    async def _take(self) -> list[_Request]:
        """The next batch: an even share of what waits, so that batches are small when the end is near, but never tiny."""
        while True:
            await self._some.wait()
            await asyncio.sleep(0)  # whoever is about to come in may come along
            share = max(LEAST, math.ceil(len(self._waiting) / max(1, self.live)))
            batch: list[_Request] = []
            while self._waiting and len(batch) < min(self._most, share):
                if self._waiting[0].deaths and batch:
                    break
                request = self._waiting.popleft()
                if not request.answer.done():  # callers may have left
                    batch.append(request)
                if request.deaths:
                    break
            if not self._waiting:
                self._some.clear()
            if batch:
                return batch

    def _ask_again(self, batch: list[_Request]) -> None:
        for request in reversed(batch):
            request.deaths += 1
            if request.deaths < DEATHS:
                self._waiting.appendleft(request)
                self._some.set()
            else:
                _settle(request, Unanswerable(f"{self._spec.text}: {DEATHS} workers died over this request."))

    async def _watch(self) -> None:
        """Tell those who wait when there has been no worker for long."""
        while True:
            await asyncio.sleep(PAUSE)
            now = time.monotonic()
            if self.live or self._opening or not self._waiting:
                self._seen_live = now
            elif now - self._seen_live > PATIENCE:
                self._tell(
                    Transient(
                        f"the cluster has had no room for a worker of {self._spec.text} in {PATIENCE:.0f} s"
                    )
                )

    def _tell(self, error: ModelError) -> None:
        while self._waiting:
            _settle(self._waiting.popleft(), error)
        self._some.clear()


def _lost(error: Exception) -> bool:
    """Whether the worker's process or its node is gone, or what it said; and not something that its code raised."""
    import ray

    return isinstance(error, ray.exceptions.RayError) and not isinstance(error, ray.exceptions.RayTaskError)


def _settle(request: _Request, answer: Any) -> None:
    if request.answer.done():
        return
    if isinstance(answer, Exception):
        request.answer.set_exception(answer)
    else:
        request.answer.set_result(answer)
