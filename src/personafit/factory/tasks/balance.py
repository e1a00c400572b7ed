"""Hands out values so that each keeps its share: what keeps a thousand people from all preferring the same.

Whoever comes next gets the value that is furthest behind its share among those they can have; equals are decided by a
seeded draw. A lean moves a value half a person forward, so it decides who gets it and hardly how many do.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from personafit._hashing import hash_text

LEAN = 0.5  # of a person


class ValueBalancer:
    """Hands out the values of one attribute so that each keeps to its share."""

    def __init__(
        self, name: str, values: Sequence[str], seed: int, shares: Mapping[str, float] | None = None
    ) -> None:
        self.name, self._seed = name, seed
        given = dict(shares or {})
        rest = [value for value in values if value not in given]
        left = max(0.0, 1.0 - sum(given.values()))
        self.shares = {value: given.get(value, left / len(rest) if rest else 0.0) for value in values}
        self.counts = dict.fromkeys(values, 0)

    @property
    def total(self) -> int:
        """How many were given out."""
        return sum(self.counts.values())

    def choose(self, who: str, allowed: Iterable[str], leant_to: Iterable[str] = ()) -> str | None:
        """The value this one should have; None if none is allowed. It counts only once it is taken."""
        total, leaning = self.total + 1, set(leant_to)

        def rank(value: str) -> tuple[float, str]:
            behind = self.shares[value] * total - self.counts[value] + (LEAN if value in leaning else 0.0)
            return round(behind, 9), hash_text(str(self._seed), self.name, who, value)

        # Values with a share of nothing are left to nobody.
        return max((value for value in allowed if self.shares[value] > 0), key=rank, default=None)

    def take(self, value: str) -> None:
        """Count a value as given out."""
        self.counts[value] += 1

    def wanted(self, value: str) -> float:
        """How often a value should have been given out by now."""
        return self.shares[value] * self.total

    def leeway(self, slack: float) -> float:
        """By how many a count may be off."""
        return max(1.0, slack * self.total)

    def change(self, old: str, new: str, slack: float) -> bool:
        """Exchange one value for another unless that moves a count off its share; whether it was done."""
        off_after = (
            self.wanted(old) - (self.counts[old] - 1),
            self.counts[new] + 1 - self.wanted(new),
        )
        if max(off_after) > self.leeway(slack):
            return False
        self.counts[old] -= 1
        self.counts[new] += 1
        return True

    def misses(self, slack: float) -> list[str]:
        """The values whose count is off their share by more than may be."""
        return [v for v in self.counts if abs(self.counts[v] - self.wanted(v)) > self.leeway(slack) + 1e-9]

    @property
    def evenness(self) -> float | None:
        """Entropy of the counts over the most it could be with so many given out; None below two."""
        return evenness(self.counts)


def evenness(counts: Mapping[str, int]) -> float | None:
    """Normalised entropy: 1 when all values are as frequent as can be, 0 when all are the same."""
    total = sum(counts.values())
    most = min(len(counts), total)
    if most < 2:
        return None
    whole, extra = divmod(total, most)
    best = _entropy([whole + (number < extra) for number in range(most)])
    return _entropy(list(counts.values())) / best


def _entropy(counts: Sequence[int]) -> float:
    total = sum(counts)
    return sum(count / total * math.log(total / count) for count in counts if count)
