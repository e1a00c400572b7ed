"""A number of things that must be reached: what was rejected is replaced, until too little of what is tried can be kept."""

import math
from collections import Counter

from personafit._errors import UserError

TELLING = 10  # candidates from which the share that was kept says something
LEAST_KEPT = 0.03  # of the candidates tried; below that it ends
SPARE, MOST = (
    1.1,
    3,
)  # candidates tried for each one missing: a little more than needed, and not too many at once
REMEDY = 'name a stronger model in [models], or "template" in its place'


class Quota:
    """Counts towards a number of things of one kind."""

    def __init__(self, what: str, wanted: int) -> None:
        self.what, self.wanted = what, wanted
        self.kept = self.tried = 0
        self._reasons: Counter[str] = Counter()

    @property
    def full(self) -> bool:
        """Whether there are enough."""
        return self.kept >= self.wanted

    def reject(self, reason: str) -> None:
        """Count why one could not be kept; what follows a colon is about that one alone."""
        self._reasons[reason.partition(":")[0]] += 1

    def try_next(self, size: int) -> range:
        """The numbers of so many candidates to try next, none of them tried before; an error where hardly any can be kept."""
        if self.tried >= TELLING and self.kept < LEAST_KEPT * self.tried:
            because = f" (most often: {self._reasons.most_common(1)[0][0]})" if self._reasons else ""
            raise UserError(
                f"{self.what}: {self.kept:,} of {self.wanted:,} could be made in {self.tried:,} tries{because}; what was made is kept; "
                f"{REMEDY}, or ask for fewer.",
                code=1,
            )
        start, self.tried = self.tried, self.tried + size
        return range(start, start + size)

    def round(self) -> range:
        """The numbers of as many candidates as are missing, more where few were kept before; empty when the quota is full."""
        missing = max(0, self.wanted - self.kept)
        each = min(MOST, SPARE * self.tried / self.kept) if self.kept else 1
        return self.try_next(math.ceil(missing * each)) if missing else range(0)
