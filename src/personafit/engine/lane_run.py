"""A lane while it is worked on: what is planned, what is under way, what was made."""

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
    dearest: float
    """The most an ask of the lane has cost so far, or was estimated to cost."""
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
