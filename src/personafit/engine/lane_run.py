"""A lane while it is worked on: what is planned and under way, and its outcomes on their way into the store."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from personafit._errors import UserError
from personafit.engine.jobs import Job, Lane, LaneReport
from personafit.store import Outcome


@dataclass(slots=True)
class PendingJobs:
    """The jobs of a lane that the store does not have yet, and how many it has."""

    missing: list[tuple[Job, int]]
    """Jobs to be done, with the generation they are of."""
    reused: int
    """Jobs, or whole chains, that are done already."""


class FinishedJob(NamedTuple):
    """A job with its outcome, to be written to the store."""

    run: "LaneRun"
    job: Job
    outcome: Outcome
    last: bool
    """Whether nothing follows from it."""


@dataclass(slots=True, eq=False)
class LaneRun:
    """What the runner knows of a lane while it works on it."""

    lane: Lane
    report: LaneReport
    tasks: set["asyncio.Task[None]"]
    failures_in_a_row: dict[str | None, int] = field(default_factory=dict)
    """By endpoint; None is the lane's own."""
    answered: set[str | None] = field(default_factory=set)
    """Endpoints that answered something in this run."""
    over_budget: bool = False
    crash: BaseException | None = None
    """What a job raised that no job may raise: a bug, which must end the run and not be lost with its task."""
    open: asyncio.Semaphore | None = None
    """Bounds the chains under way, where there are any: each keeps its history in memory."""

    def __post_init__(self) -> None:
        if self.lane.chains:
            self.open = asyncio.Semaphore(self.lane.chains)

    def done(self, task: "asyncio.Task[None]") -> None:
        """A task has ended."""
        self.tasks.discard(task)
        if not task.cancelled():
            self.crash = self.crash or task.exception()


async def finish(run: LaneRun) -> None:
    """Wait for everything a lane has under way."""
    while run.tasks:
        await asyncio.wait(run.tasks)
        await asyncio.sleep(0)  # done-callbacks run before the next look
    if run.crash is not None:
        raise run.crash


async def first_failure_of(work: "asyncio.Future[list[None]]", writer: "asyncio.Task[None]") -> None:
    """Wait for the work, but not past the end of the writer: when storing fails, working on would lose answers."""
    waiting: list[asyncio.Future[Any]] = [work, writer]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    if writer.done() and not work.done():
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
        writer.result()
    await work


WRITE_ROWS = 2000
WRITE_SECONDS = 0.25
MOST_HELD = 4 * WRITE_ROWS


class Outbox:
    """What was made and is not stored yet, in the order it was made."""

    def __init__(self) -> None:
        self._made: list[FinishedJob] = []
        self._some = asyncio.Event()
        self._enough = asyncio.Event()
        self._taken = asyncio.Event()
        self._closed = False

    @property
    def crowded(self) -> bool:
        """Whether to wait for room before making more."""
        return len(self._made) >= MOST_HELD

    def put(self, made: FinishedJob) -> None:
        """Hand an outcome in."""
        self._made.append(made)
        count = len(self._made)
        if count == 1:
            self._some.set()
        elif count == WRITE_ROWS:
            self._enough.set()

    async def room(self) -> None:
        """Wait until it is not crowded any more."""
        while self.crowded:
            self._taken.clear()
            await self._taken.wait()

    async def take(self) -> list[FinishedJob]:
        """The next batch; an empty one when the box is closed and nothing is left."""
        await self._some.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(WRITE_SECONDS):
                await self._enough.wait()
        batch, self._made = self._made, []
        if not self._closed:
            self._some.clear()
            self._enough.clear()
        self._taken.set()
        return batch

    def close(self) -> None:
        """Nothing more will be handed in."""
        self._closed = True
        self._some.set()
        self._enough.set()


class Priced(Protocol):
    """A rater or model, as far as its price goes."""

    @property
    def price(self) -> tuple[float, float] | None:
        """USD per million tokens in and out; None when unknown."""


def check_budget(budget: float | None, priced: Sequence[tuple[str, Priced]]) -> None:
    """Check before anything is spent: every key that is needed is there, and under a budget every price is known."""
    for name, one in priced:
        if missing := getattr(one, "missing_key", None):
            raise UserError(missing)
        if budget is not None and one.price is None:
            raise UserError(
                f"--budget needs to know what {name} costs: add its price in USD per million tokens, "
                f"as in {name},price=0.40/1.60."
            )
