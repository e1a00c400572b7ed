"""Clustered means from sums alone: what is left of any number of values once their clusters have been added up.

A clustered variance needs, of each cluster, only the sum and the number of its values, and of all clusters together only
six sums of those. So a run of any size is read once, a page at a time, and nothing of an item is kept. The intervals are
those of `cluster_mean`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from personafit.statistics.clusters import (
    ALIKE,
    ONE_PERSON,
    Estimate,
    alike,
    exact_interval,
    student_interval,
)


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums over clusters, each of `n` values that add up to `s`."""

    clusters: int = 0
    count: int = 0
    """Σ n."""
    total: float = 0.0
    """Σ s."""
    squares: float = 0.0
    """Σ s²."""
    cross: float = 0.0
    """Σ s n."""
    sizes: float = 0.0
    """Σ n²."""

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(
            self.clusters + other.clusters,
            self.count + other.count,
            self.total + other.total,
            self.squares + other.squares,
            self.cross + other.cross,
            self.sizes + other.sizes,
        )

    @property
    def mean(self) -> float:
        """The mean of all values."""
        return self.total / self.count

    def variance(self) -> float:
        """The cluster-robust variance of the mean: Σ (s − mean · n)², written out so that no cluster is needed."""
        # In fractions, since large sums cancel here: floats would leave a remainder where there is none.
        n, total = Fraction(self.count), Fraction(self.total)
        rest = Fraction(self.squares) * n**2 - 2 * Fraction(self.cross) * n * total
        rest += Fraction(self.sizes) * total**2
        return float(self.clusters * max(rest, Fraction(0)) / (max(1, self.clusters - 1) * n**4))


@dataclass(frozen=True, slots=True)
class ClusteredSums:
    """One set of values added up by person, by prompt, and by both; `low` and `high` are the least and the greatest."""

    people: Moments
    prompts: Moments
    pairs: Moments
    low: float | None = None
    high: float | None = None

    @property
    def prompts_recur(self) -> bool:
        """Whether some prompt was put by more than one person."""
        return self.prompts.clusters < self.pairs.clusters

    def estimate(self, bounds: tuple[float, float] | None = (0.0, 1.0)) -> Estimate:
        """The mean with its interval, as `mean_by_item` has it."""
        people = self.people
        if people.count == 0:
            return Estimate(None, None, None, 0, 0, "no item has an answer")
        mean = people.mean
        if people.clusters < 2:
            return Estimate(mean, None, None, people.count, people.clusters, ONE_PERSON)
        two_way = self.prompts_recur and self.prompts.clusters > 1
        clusters = min(people.clusters, self.prompts.clusters) if two_way else people.clusters
        if bounds is not None and self.low == self.high and self.low in bounds:
            low, high = exact_interval(self.low, bounds, clusters)
            return Estimate(self.low, low, high, people.count, people.clusters)
        variance = people.variance()
        if two_way:
            by_prompt = self.prompts.variance()
            variance = max(variance + by_prompt - self.pairs.variance(), variance, by_prompt)
        if alike(mean, variance, people.clusters):
            return Estimate(mean, None, None, people.count, people.clusters, ALIKE)
        low, high = student_interval(mean, variance, clusters - 1, bounds)
        return Estimate(
            mean, low, high, people.count, people.clusters, None, variance**0.5, clusters - 1
        )


NO_SUMS = ClusteredSums(Moments(), Moments(), Moments())

PARTS = ("clusters", "count", "total", "squares", "cross", "sizes")


def moments_of(row: Mapping[str, Any], name: str) -> Moments:
    """The moments in the columns `name|clusters`, `name|count`, … of a row."""
    clusters, count, *sums = (row[f"{name}|{part}"] for part in PARTS)
    return Moments(int(clusters), int(count), *sums)  # counts come as floats from frames that add them up
