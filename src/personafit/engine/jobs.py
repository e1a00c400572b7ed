"""Keyed jobs and the lanes that the engine runs them in.

A job produces one outcome under a key. A lane is a stream of jobs for one endpoint in a fixed order;
lanes run concurrently, so a slow endpoint never holds up a fast one. A job may begin a chain: the next job depends on its
outcome, like the next turn of a dialogue; the links of a chain may go to different endpoints. While a lane
runs, a `LaneRun` holds its state, and an `Outbox` the outcomes that are not stored yet.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol

from personafit._errors import UserError
from personafit.models import Model, ModelError
from personafit.store import Outcome


@dataclass(frozen=True, slots=True)
class Job:
    """One keyed piece of work."""

    key: str
    work: Callable[[int], Awaitable[Outcome]]
    """Performs the work for a generation (0, or higher when a final status is retried on purpose)."""
    failure: Callable[[str, int], Outcome]
    """Makes the outcome of permanently failed work, from the error message and the number of attempts."""
    then: Callable[[Outcome], "Job | None"] | None = None
    """Makes the next link of the chain from the outcome, new or stored (with its ask only); None at the end."""
    endpoint: str | None = None
    """The endpoint of the job, if not the lane's."""


Together = Callable[[Sequence[tuple[Job, int]]], AsyncIterator[tuple[int, Outcome | ModelError]]]
"""Runs jobs, each with its generation, as a batch elsewhere; yields outcomes by job number as they arrive, possibly not all.

Of a chain it yields the outcomes of the links in order, starting with the job, without gaps.
"""


def together(model: Model, *others: Model) -> Together | None:
    """Return the function that runs jobs of these models as one batch on a cluster; None unless all of them are there."""
    if not all(hasattr(one, "together") for one in (model, *others)):
        return None
    found: Together = partial(model.together, others=others)  # type: ignore[attr-defined] # seen above
    return found


@dataclass(slots=True)
class Lane:
    """A stream of jobs for one endpoint."""

    name: str
    endpoint: str
    jobs: Iterable[Job]
    total: int
    max_concurrency: int = 1
    chains: int = 0
    """Maximum number of concurrent chains; 0 if jobs are not chained. `total` counts chains, not their links."""
    endpoints: Mapping[str, int] = field(default_factory=dict)
    """Other endpoints that links of its chains go to, with the maximum concurrency of each."""
    together: Together | None = None
    """Runs its jobs, or chains, as a batch at no cost. Jobs that it leaves undone run one by one."""


@dataclass(slots=True)
class LaneReport:
    """Counts of one lane, and why it stopped early, if it did."""

    name: str
    total: int
    reused: int = 0
    finished: int = 0
    failed: int = 0
    unusable: bool = False
    """Whether it stopped because no ask to its endpoint can succeed: wrong address, key or model name."""
    stopped: str | None = None
    """Why the lane stopped early, as a sentence; None if it did not."""


@dataclass(slots=True)
class Summary:
    """Counts of all lanes, and the tokens and cost of this run."""

    lanes: list[LaneReport] = field(default_factory=list)
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    interrupted: bool = False
    last_failure: str | None = None

    @property
    def failed(self) -> int:
        """Number of jobs that failed permanently in this run."""
        return sum(lane.failed for lane in self.lanes)

    @property
    def why_failed(self) -> str | None:
        """A sentence on asks that failed without stopping a lane; None if there are none."""
        if not self.failed or any(lane.stopped for lane in self.lanes):
            return None
        asks = "1 ask" if self.failed == 1 else f"{self.failed} asks"
        return f"{asks} failed ({(self.last_failure or '').rstrip('.')}); the same command tries again."

    @property
    def ended_early(self) -> bool:
        """Whether the run was interrupted or a lane stopped, so that work is left."""
        return self.interrupted or any(lane.stopped for lane in self.lanes)

    def charge(self, other: "Summary") -> None:
        """Add the tokens and cost of another summary."""
        self.tokens_in += other.tokens_in
        self.tokens_out += other.tokens_out
        self.cost += other.cost


@dataclass(slots=True)
class PendingJobs:
    """The jobs of a lane that are not in the store yet, and the number of those that are."""

    missing: list[tuple[Job, int]]
    """Jobs to run, with their generation."""
    reused: int
    """Number of jobs, or whole chains, that are done already."""


class FinishedJob(NamedTuple):
    """A job with its outcome, to be written to the store."""

    run: "LaneRun"
    job: Job
    outcome: Outcome
    last: bool
    """Whether it is the last link of its chain."""


@dataclass(slots=True, eq=False)
class LaneRun:
    """The state of a running lane."""

    lane: Lane
    report: LaneReport
    tasks: set["asyncio.Task[None]"]
    failures_in_a_row: dict[str | None, int] = field(default_factory=dict)
    """Consecutive failures by endpoint; None is the lane's own."""
    answered: set[str | None] = field(default_factory=set)
    """Endpoints that returned an outcome in this run."""
    over_budget: bool = False
    crash: BaseException | None = None
    """An unexpected exception of a job: a bug, which must end the run and not be lost with its task."""
    open: asyncio.Semaphore | None = None
    """Limits the number of concurrent chains, if any, since each keeps its history in memory."""

    def __post_init__(self) -> None:
        if self.lane.chains:
            self.open = asyncio.Semaphore(self.lane.chains)

    def done(self, task: "asyncio.Task[None]") -> None:
        """Remove a finished task and keep its exception, if any; a done-callback."""
        self.tasks.discard(task)
        if not task.cancelled():
            self.crash = self.crash or task.exception()


async def finish(run: LaneRun) -> None:
    """Wait for all tasks of a lane, and raise its crash, if any."""
    while run.tasks:
        await asyncio.wait(run.tasks)
        await asyncio.sleep(0)  # done-callbacks run before the next look
    if run.crash is not None:
        raise run.crash


async def first_failure_of(work: "asyncio.Future[list[None]]", writer: "asyncio.Task[None]") -> None:
    """Wait for the work, but cancel it if the writer ends first: when storing fails, further replies would be lost."""
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
    """A queue of outcomes that are not stored yet, in order."""

    def __init__(self) -> None:
        self._made: list[FinishedJob] = []
        self._some = asyncio.Event()
        self._enough = asyncio.Event()
        self._taken = asyncio.Event()
        self._closed = False

    @property
    def crowded(self) -> bool:
        return len(self._made) >= MOST_HELD

    def put(self, made: FinishedJob) -> None:
        self._made.append(made)
        count = len(self._made)
        if count == 1:
            self._some.set()
        elif count == WRITE_ROWS:
            self._enough.set()

    async def room(self) -> None:
        """Wait until the queue is no longer full."""
        while self.crowded:
            self._taken.clear()
            await self._taken.wait()

    async def take(self) -> list[FinishedJob]:
        """Return the next batch; empty once the queue is closed and drained."""
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
        """Close the queue: nothing more will be added."""
        self._closed = True
        self._some.set()
        self._enough.set()


class Priced(Protocol):
    """Anything with a price."""

    @property
    def price(self) -> tuple[float, float] | None:
        """USD per million input and output tokens; None if unknown."""


def check_budget(budget: float | None, priced: Sequence[tuple[str, Priced]]) -> None:
    """Raise UserError before anything is spent if an API key is missing or, with a budget, a price is unknown."""
    for name, one in priced:
        if missing := getattr(one, "missing_key", None):
            raise UserError(missing)
        if budget is not None and one.price is None:
            raise UserError(
                f"--budget needs to know what {name} costs: add its price in USD per million tokens, "
                f"as in {name},price=0.40/1.60."
            )
