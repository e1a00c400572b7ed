"""How many are wanted and how many there are: what was rejected is replaced, in rounds, until it is clear that it cannot be.

A round tries as many candidates as are missing, more where few were kept before. Several rounds without anything kept,
as from a model that always says the same, end the step with a sentence instead of spending the budget.
"""

import math

from personafit._errors import UserError

PATIENCE = 3  # rounds in a row without anything kept
DEAREST = 30  # candidates tried for each one wanted, at the most
SPARE = 1.1  # a little more than the missing, so that the last rounds are not of one candidate each


class Quota:
    """Counts towards a number of things of one kind."""

    def __init__(self, what: str, wanted: int) -> None:
        self.what, self.wanted = what, wanted
        self.kept = self.tried = 0
        self.reasons: dict[str, int] = {}
        self._kept_before = self._rounds_without = 0

    @property
    def full(self) -> bool:
        """Whether there are enough."""
        return self.kept >= self.wanted

    def keep(self) -> None:
        """One more is there."""
        self.kept += 1

    def reject(self, reason: str) -> None:
        """One could not be kept."""
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def round(self) -> range:
        """The numbers of the candidates to try next, none of them tried before; empty when the quota is full."""
        if self.full:
            return range(0)
        if self.tried:
            self._rounds_without = 0 if self.kept > self._kept_before else self._rounds_without + 1
        self._kept_before = self.kept
        if self._rounds_without >= PATIENCE:
            raise UserError(self._sentence(f"{PATIENCE} rounds in a row gave nothing new"), code=1)
        if self.tried >= DEAREST * max(self.wanted, 10):
            raise UserError(self._sentence(f"{self.tried:,} were tried"), code=1)
        missing = self.wanted - self.kept
        share = max(self.kept / self.tried, 0.1) if self.tried else 1.0
        size = missing if not self.tried else min(math.ceil(SPARE * missing / share), 10 * missing)
        start, self.tried = self.tried, self.tried + size
        return range(start, start + size)

    def _sentence(self, why: str) -> str:
        most = max(self.reasons, key=lambda reason: self.reasons[reason], default="")
        because = f" (most often: {most})" if most else ""
        return (
            f"{self.what}: {self.kept:,} of {self.wanted:,} could be made, then {why}{because}; what was made is kept, "
            "and a stronger model, another seed or a smaller quota in the config goes on from there."
        )
