"""What the engine runs: keyed jobs, in lanes.

A job is a promise of one outcome under a key. A lane is a stream of jobs that go to one endpoint in a fixed order;
lanes run side by side, so a slow endpoint never holds up a fast one. A job may begin a chain: from its outcome follows
the next job, as a turn of a dialogue follows from what was said; links of one chain may go to different endpoints.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

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
    """How jobs that ask these models are done together, where all are held so that they can be."""
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
    """How a lane went."""

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
    """How all lanes went, and what was spent in this run."""

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
    def ended_early(self) -> bool:
        """Whether something is left to do: it was interrupted, or a lane came to a stop."""
        return self.interrupted or any(lane.stopped for lane in self.lanes)

    def charge(self, other: "Summary") -> None:
        """Put what another part of the work cost on this bill."""
        self.tokens_in += other.tokens_in
        self.tokens_out += other.tokens_out
        self.cost += other.cost
