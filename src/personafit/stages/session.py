"""A run of stages under way: one stage after another through the engine, one bill for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from personafit.engine import Lane, LaneReport, ProgressView, Runner, Summary
from personafit.store import RunRecord, Status, Store


class Ended(Exception):
    """A stage came to a stop or was interrupted; what is stored is kept, and nothing after it is begun."""


@dataclass
class Session:
    """The store and the run that stages write to, and what was spent so far."""

    store: Store
    run: RunRecord
    progress: ProgressView
    budget: float | None = None
    retry: frozenset[Status] = frozenset()
    summary: Summary = field(default_factory=Summary)

    async def carry(self, lanes: Sequence[Lane]) -> list[LaneReport]:
        """Run lanes to their end; ends the run where they did not come to one."""
        left = None if self.budget is None else max(0.0, self.budget - self.summary.cost)
        done = await Runner(self.store, self.run.id, self.progress, self.retry, left).run(lanes)
        total = self.summary
        total.lanes += done.lanes
        total.charge(done)
        total.interrupted = total.interrupted or done.interrupted
        total.last_failure = done.last_failure or total.last_failure
        if done.ended_early:
            raise Ended
        return done.lanes
