"""The money of a run: what was spent, what is held back for asks under way, and whether it reaches for one more."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from personafit._errors import UserError
from personafit.engine.jobs import Summary
from personafit.engine.lane_run import LaneRun

NOTHING = 1e-12  # USD: what is left of sums that cancel
PAUSE = 0.02  # seconds between two looks whether money that was held back is free again


class Budget:
    """What may be spent, against what a summary says is spent; None is no limit."""

    def __init__(self, most: float | None, summary: Summary) -> None:
        self.most = most
        self._summary = summary
        self._held = 0.0

    def hold(self, run: LaneRun) -> float:
        """Hold back the money for one ask of a lane; returns how much that is."""
        self._held += run.dearest
        return run.dearest

    def free(self, held: float) -> None:
        """Give back what was held for an ask: it failed, or its cost is known."""
        self._held -= held

    async def reaches(self, run: LaneRun) -> bool:
        """Whether there is enough for one more ask, once what is under way has shown its cost if need be.

        Asks under way are counted at what the dearest one cost so far, or else at what one was estimated to cost.
        """
        if self.most is None or run.lane.free:
            return True
        while self.most <= 0 or self._summary.cost + self._held + run.dearest > self.most:
            under_way = self._held > NOTHING
            if self.most <= 0 or self._summary.cost + run.dearest > self.most or not under_way:
                run.over_budget = True
                run.report.stopped = self.sentence()
                return False
            await asyncio.sleep(PAUSE)
            if run.report.stopped or run.crash is not None:
                return False  # another reason to end was found meanwhile; the caller looks at it
        return True

    def sentence(self) -> str:
        """Why a lane ended early."""
        return (
            f"The budget of {self.most:g} USD does not reach for another ask ({self._summary.cost:.4f} spent); "
            "what is judged is kept and the same command with a larger --budget goes on from there."
        )


class Priced(Protocol):
    """A rater or model, as far as its price goes."""

    @property
    def price(self) -> tuple[float, float] | None:
        """USD per million tokens in and out; None when unknown."""


def check_budget(budget: float | None, priced: Sequence[tuple[str, Priced]]) -> None:
    """A budget can only be kept where every price is known."""
    for name, one in priced:
        if budget is not None and one.price is None:
            raise UserError(
                f"--budget needs to know what {name} costs: add its price in USD per million tokens, "
                f"as in {name},price=0.40/1.60."
            )
