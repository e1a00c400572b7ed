"""What the engine runs: keyed jobs, in lanes.

A job is a promise of one outcome under a key. A lane is a stream of jobs that go to one endpoint in a fixed order;
lanes run side by side, so a slow endpoint never holds up a fast one. A job may begin a chain: from its outcome follows
the next job, as a turn of a dialogue follows from what was said; links of one chain may go to different endpoints. While a lane is
worked on, a `LaneRun` holds what is under way, and an `Outbox` the outcomes on their way into the store.
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
    """Does the work for a generation (0, or more when a final status is retried on purpose)."""
    failure: Callable[[str, int], Outcome]
    """The outcome to keep when the work failed for good: from the error's sentence and the number of attempts."""
    then: Callable[[Outcome], "Job | None"] | None = None
    """The next link of the chain, from this one's outcome, fresh or as stored (its ask alone); None at the end."""
    endpoint: str | None = None
    """Where it goes, if not to the lane's endpoint."""


Together = Callable[[Sequence[tuple[Job, int]]], AsyncIterator[tuple[int, Outcome | ModelError]]]
"""Does jobs, each of a generation, many at once elsewhere; gives their outcomes by number as they come, perhaps not all.

Of a chain it gives the outcomes of its links one after the other, from the job on, without a gap.
"""


def together(model: Model, *others: Model) -> Together | None:
    """Return the function that runs jobs of these models as one batch on a cluster; None if one of them is not there."""
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
    """How many chains may be under way at once; 0 where jobs stand alone. `total` counts chains, not their links."""
    endpoints: Mapping[str, int] = field(default_factory=dict)
    """Other endpoints that links of its chains go to, with the most calls each may get at once."""
    together: Together | None = None
    """Does its jobs, or chains, many at once; they cost nothing. What it leaves undone is done one by one."""


@dataclass(slots=True)
class LaneReport:
    """Counts of one lane, and why it stopped if it did."""

    name: str
    total: int
    reused: int = 0
    finished: int = 0
    failed: int = 0
    unusable: bool = False
    """Whether it ended because no ask to its endpoint can succeed: wrong address, key or name."""
    stopped: str | None = None
    """The sentence that says why the lane ended early, if it did."""


@dataclass(slots=True)
class Summary:
    """Counts of all lanes, and what was spent in this run."""

    lanes: list[LaneReport] = field(default_factory=list)
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    interrupted: bool = False
    last_failure: str | None = None

    @property
    def failed(self) -> int:
        """Jobs that failed for good in this run."""
        return sum(lane.failed for lane in self.lanes)

    @property
    def why_failed(self) -> str | None:
        """A sentence on asks that failed without stopping a lane; None where there are none."""
        if not self.failed or any(lane.stopped for lane in self.lanes):
            return None
        asks = "1 ask" if self.failed == 1 else f"{self.failed} asks"
        return f"{asks} failed ({(self.last_failure or '').rstrip('.')}); the same command tries again."

    @property
    def ended_early(self) -> bool:
        """Whether work is left: the run was interrupted or a lane stopped."""
        return self.interrupted or any(lane.stopped for lane in self.lanes)

    def charge(self, other: "Summary") -> None:
        """Add the tokens and cost of another summary."""
        self.tokens_in += other.tokens_in
        self.tokens_out += other.tokens_out
        self.cost += other.cost


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
    """State of a lane while it runs."""

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
        """Callback of a finished task: forget it, and keep its exception if it has one."""
        self.tasks.discard(task)
        if not task.cancelled():
            self.crash = self.crash or task.exception()


async def finish(run: LaneRun) -> None:
    """Wait for all tasks of a lane."""
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
    """Queue of outcomes that are not stored yet, in order."""

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
