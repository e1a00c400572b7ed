"""One cell of the table: a trial that is repeated, and the band its rate must meet."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

Trial = Callable[[np.random.Generator], bool | None]

COVERS = (0.93, 0.97)
"""Twelve people or more."""
COVERS_FEW = (0.93, 0.99)
"""Six to eleven people, where wider intervals are accepted."""
SIZE = (0.0, 0.06)
POWER = (0.76, 0.84)


@dataclass(frozen=True)
class Cell:
    """A claim about a procedure that a simulation can refute."""

    what: str
    """The interval, test or plan, e.g. `accuracy`."""
    design: str
    band: tuple[float, float]
    trial: Trial
    """Whether the interval covered, the claim was made or the difference was found; None if nothing could be said."""
    short: bool = False
    """Whether `make test` runs it, with fewer repetitions."""


@dataclass(frozen=True)
class Outcome:
    """How often it happened, with its 99 % Monte-Carlo interval."""

    cell: Cell
    hits: int
    trials: int

    @property
    def rate(self) -> float:
        """Share of trials in which it happened."""
        return self.hits / self.trials if self.trials else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper–Pearson at 99 %."""
        h, n = self.hits, self.trials
        low = float(betaincinv(h, n - h + 1, 0.005)) if h else 0.0
        high = float(betaincinv(h + 1, n - h, 0.995)) if h < n else 1.0
        return low, high

    @property
    def passes(self) -> bool:
        """Whether the Monte-Carlo interval meets the band."""
        low, high = self.interval
        return self.trials > 0 and low <= self.cell.band[1] and high >= self.cell.band[0]


def run_cell(cell: Cell, repetitions: int, seed: int) -> Outcome:
    """Repeat a cell's trial; a trial that could say nothing does not count."""
    found = [cell.trial(np.random.default_rng((seed, i))) for i in range(repetitions)]
    said = [one for one in found if one is not None]
    return Outcome(cell, sum(said), len(said))


def covers(low: float | None, high: float | None, truth: float) -> bool | None:
    """Whether an interval holds the truth; None where there is no interval."""
    return None if low is None or high is None else low <= truth <= high


def band_for(people: int) -> tuple[float, float]:
    """The accepted coverage for so many people."""
    return COVERS if people >= 12 else COVERS_FEW
