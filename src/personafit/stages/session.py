"""A run of stages under way: one stage after another through the engine, one bill for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from personafit._errors import UserError
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
        total.tokens_in += done.tokens_in
        total.tokens_out += done.tokens_out
        total.cost += done.cost
        total.interrupted = total.interrupted or done.interrupted
        total.last_failure = done.last_failure or total.last_failure
        if done.interrupted or any(lane.stopped for lane in done.lanes):
            raise Ended
        return done.lanes


def refuse_unpriced(name: str, price: tuple[float, float] | None, budget: float | None) -> None:
    """A budget can only be kept where every price is known."""
    if budget is not None and price is None:
        raise UserError(
            f"--budget needs to know what {name} costs: add its price in USD per million tokens, as in "
            f"{name},price=0.40/1.60."
        )
