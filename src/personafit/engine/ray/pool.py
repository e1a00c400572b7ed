"""Pools of workers that hold copies of one model; a request goes to a free worker.

Ray places the workers and restarts them when their process or node dies. Requests of a lost worker are sent again, to
another worker or to the restarted one, and every caller gets exactly one answer. Requests that were in flight when a worker
died are sent one at a time from then on, so that a request that kills its workers is identified and given up.
"""

import asyncio
import contextlib
import math
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from personafit import __version__
from personafit._errors import UserError
from personafit.models import (
    ChatReply,
    ChatRequest,
    Model,
    ModelError,
    Spec,
    Transient,
    Unanswerable,
    Unusable,
    one_line,
    open_model,
)
from personafit.models.placing import Opener, WorkerModel

DEATHS = 3  # workers lost on one request before it is given up; failed loads of the weights before a worker counts as absent
PATIENCE = 300.0  # seconds without any worker before waiting requests fail
FAILURES = 40  # consecutive failures to start a worker before giving up
PAUSE = 0.5  # seconds between checks whether a worker is back
LEAST = 4  # smallest batch if so many requests wait: shared prefixes are computed anew in each batch


@dataclass(slots=True)
class _Request:
    one: Any
    answer: "asyncio.Future[Any]"
    deaths: int = 0


class ActorPool:
    """Distributes queued requests to the workers in batches."""

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
        """Called with the first request: returns the Ray options of each worker to start."""
        self._rested, self._closed = rested, closed
        self._users = self._asked = 0
        self._waiting: deque[_Request] = deque()
        self._some = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.live = 0
        """Number of workers that are up."""
        self._opening = 0
        self._seen_live = 0.0
        self._fault: Unusable | None = None

    def join(self) -> None:
        """Register one more user of the pool."""
        self._users += 1

    async def submit(self, one: Any) -> Any:
        """Return the answer to one request."""
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
        """Stop the workers until the next request, unless requests are in flight."""
        if not self._asked:
            self._rested()
            await self._end()

    async def close(self) -> None:
        """Unregister a user; the last one stops the workers."""
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
        """Feed one worker, restarting it whenever its process dies."""
        import ray

        actor: Any = ray.remote(Worker).options(max_restarts=-1, **options).remote(self._opener, self._spec)
        try:
            await self._greet(actor)
            while True:
                batch = await self._take()
                try:
                    answers = await actor.work.remote([request.one for request in batch])
                    if answers is None:
                        # The worker died while idle and was restarted without its model.
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
                    answered = [(request, error) for request in batch]  # a bug, to be raised in the callers
                for request, answer in answered:
                    _settle(request, answer)
        finally:
            with contextlib.suppress(Exception):  # the cluster may be gone
                ray.kill(actor)

    async def _greet(self, actor: Any) -> None:
        """Wait until the worker is up and has opened the expected model."""
        import ray

        failures = deaths = 0
        while True:
            try:
                fault = await actor.greet.remote(__version__)
                if fault is None:
                    deaths += 1
                    fault = await self._open(actor, counts=deaths <= DEATHS)
            except ray.exceptions.ActorUnavailableError:  # it is starting, or the cluster has no room for it
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
        """Have the worker load its weights; while it does, the pool does not count as without workers."""
        self._opening += counts
        try:
            fault: str | None = await actor.open.remote(self._settings)
            return fault
        finally:
            self._opening -= counts

    async def _take(self) -> list[_Request]:
        """Return the next batch: an even share of the queue, so that batches get smaller towards the end, but never tiny."""
        while True:
            await self._some.wait()
            await asyncio.sleep(0)  # lets other tasks submit their requests first
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
        """Fail the queued requests when there has been no worker for too long."""
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
    """Return whether the worker, its node or its result was lost, as opposed to an exception raised by its code."""
    import ray

    return isinstance(error, ray.exceptions.RayError) and not isinstance(error, ray.exceptions.RayTaskError)


def _settle(request: _Request, answer: Any) -> None:
    if request.answer.done():
        return
    if isinstance(answer, Exception):
        request.answer.set_exception(answer)
    else:
        request.answer.set_result(answer)


# -- within a worker: it holds one model and answers batches, and knows no store -----------------------------------------------


class Worker:
    """The actor: one process, one model."""

    def __init__(self, opener: Opener, spec: Spec) -> None:
        self._opener, self._spec = opener, spec
        self._held: WorkerModel | None = None

    def greet(self, version: str) -> str | None:
        """Return a sentence if the worker runs another version of personafit, else None."""
        if version == __version__:
            return None
        return (
            f"The worker on {socket.gethostname()} has personafit {__version__} and this is {version}: "
            "install the same on all nodes."
        )

    def open(self, settings: dict[str, Any]) -> str | None:
        """Open the model; return a sentence if it fails or is another one than expected, else None."""
        try:
            self._held = self._opener(self._spec)
        except (UserError, ModelError) as error:
            return unopened(self._spec, error)
        return otherness(self._spec, self._held.settings, settings)

    def work(self, batch: Sequence[Any]) -> list[Any] | None:
        """Return one answer or model error per request; None before the model is opened."""
        if self._held is None:
            return None
        try:
            return list(self._held.work(batch))
        except ModelError as error:
            return [error] * len(batch)


def unopened(spec: Spec, error: Exception) -> str:
    """Return the sentence that this node cannot open the model."""
    return f"The worker on {socket.gethostname()} cannot open {spec.text}: {error}"


def otherness(spec: Spec, found: dict[str, Any], meant: dict[str, Any]) -> str | None:
    """Return a sentence if the model found here has other settings than the expected one, else None."""
    for name, value in meant.items():
        if found.get(name) != value:
            return (
                f"The worker on {socket.gethostname()} has another {spec.text} ({name} is {found.get(name)} and not {value}): put "
                "the same files on all nodes, and give the command on a node like them."
            )
    return None


def open_chat(spec: Spec) -> WorkerModel:
    """Open a chat model for a worker."""
    model = local_model(spec)
    loop = asyncio.new_event_loop()

    def answer(request: ChatRequest) -> ChatReply | ModelError:
        try:
            return loop.run_until_complete(model.chat(request))
        except ModelError as error:
            return error

    return WorkerModel(model.settings, lambda batch: [answer(request) for request in batch])


def local_model(spec: Spec) -> Model:
    """Open the model of a spec in this process, with one thread since each worker has one core."""
    if spec.kind == "embedded":
        spec = replace(spec, options={"threads": "1", **spec.options})
    return open_model(spec)
