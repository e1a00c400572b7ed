"""Means with clustered intervals: answers about one person hang together, and so do answers to one prompt.

The variance is the cluster-robust one with the CR2 correction (Bell and McCaffrey 2002), two-way by person and prompt where
prompts recur (Cameron, Gelbach and Miller 2011), and never below that of independent items. Intervals use Student's t with
Satterthwaite degrees of freedom; shares get Wilson's form, so that they stay inside 0 and 1. `python -m speed.coverage`
simulates how often they cover; nothing here is random.

Only the number, sum and sum of squares of clusters of each size are needed, so a run of any size can be read a page at a time.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

LEVEL = 0.95
FEWEST_PEOPLE = 6  # with fewer, no interval is given and nothing is claimed, in the whole program
CONSTANT = "no interval: every item has the same value"
DENSE = 20  # whole numbers within so many times their count are counted, which is faster than sorting them
SAME = 1e-12  # values no further apart are equal but for rounding
SAME_VARIANCE = 1e-9  # likewise, relative to a variance: one value per cluster makes both kinds equal
UNIT = (0.0, 1.0)

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def student_reach(freedom: float) -> float:
    """How many standard errors a 95 % interval reaches to either side.

    By scipy.special: scipy.stats gives the same numbers to the last bit, and costs every command half a second to import.
    """
    return float(stdtrit(freedom, 0.5 + LEVEL / 2))


def student_p_value(ratio: ArrayLike, freedom: float) -> Any:
    """Two-sided p-values of estimates, each divided by its standard error."""
    return 2 * stdtr(freedom, -np.abs(ratio))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval; undefined is None with a note, never NaN."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    people: int
    note: str | None = None
    se: float | None = None
    """Standard error, where the interval comes from one."""
    df: float | None = None
    """Degrees of freedom of the t distribution that goes with it."""

    def p_value(self, null: float = 0.0) -> float | None:
        """Two-sided p-value of the hypothesis that the true value is `null`; None where there is no standard error."""
        if self.value is None or not self.se or self.df is None:
            return None
        return float(student_p_value((self.value - null) / self.se, self.df))


def negated(estimate: Estimate) -> Estimate:
    """The estimate of a difference taken the other way round."""
    value, low, high = (
        None if number is None else -number for number in (estimate.value, estimate.high, estimate.low)
    )
    return replace(estimate, value=value, low=low, high=high)


@dataclass(frozen=True, slots=True)
class Clusters:
    """Sums over the clusters of one kind (people, prompts, or both), kept apart by cluster size."""

    sizes: Floats
    """Distinct numbers of values in a cluster."""
    counts: Floats
    """Number of clusters of that size."""
    sums: Floats
    """Sum of their values."""
    squares: Floats
    """Sum of the squares of their sums."""

    @property
    def number(self) -> int:
        """Number of clusters."""
        return int(self.counts.sum())

    @property
    def count(self) -> int:
        """Number of values."""
        return int(self.sizes @ self.counts)

    @property
    def total(self) -> float:
        """Sum of all values."""
        return float(self.sums.sum())

    @property
    def mean(self) -> float:
        """Mean of all values."""
        return self.total / self.count

    def variance(self, correct: bool = True) -> float:
        """Cluster-robust variance of the mean, with the CR2 correction for clusters that hold much of the data."""
        count, mean = self.count, self.mean
        residuals = self.squares - 2 * mean * self.sizes * self.sums + mean**2 * self.sizes**2 * self.counts
        weight = self._leverage() if correct else np.ones(len(self.sizes))
        return max(0.0, float(weight @ residuals)) / count**2

    def degrees(self, correlation: float) -> float:
        """Degrees of freedom of `variance`.

        The geometric mean of two Satterthwaite approximations, for independent values and for this correlation within clusters:
        with heavy-tailed cluster sizes the first gives intervals that cover too little and the second too much.
        """
        return float(np.sqrt(self._satterthwaite(0.0) * self._satterthwaite(correlation)))

    def correlation(self, squares: float) -> float:
        """Intracluster correlation by analysis of variance, from the sum of squared values; at least 0."""
        count, number = self.count, self.number
        if count == number or number < 2:
            return 0.0
        centre = count * self.mean**2
        between = float((self.squares / self.sizes).sum()) - centre
        within = max(0.0, squares - centre - between) / (count - number)
        typical = (count - float(self.sizes**2 @ self.counts) / count) / (number - 1)
        spread = max(0.0, (between / (number - 1) - within) / typical)
        return spread / (spread + within) if spread + within > 0 else 0.0

    def _leverage(self) -> Floats:
        return 1 / np.maximum(1 - self.sizes / self.count, 1e-9)

    def _satterthwaite(self, correlation: float) -> float:
        """2 E² / Var of the CR2 variance, if values within a cluster are equally correlated and normal."""
        share, weight, times = self.sizes / self.count, self._leverage(), self.counts
        spread = self.sizes * (1 - correlation) + self.sizes**2 * correlation
        total = float(times @ spread)
        own = weight * (spread * (1 - 2 * share) + share**2 * total)
        # The covariance of two clusters' residual sums is share·other' + other·share', so its squares need no double sum.
        other = share * total / 2 - spread
        crossed = 2 * float(times * weight @ share**2) * float(times * weight @ other**2)
        crossed += 2 * float(times * weight @ (share * other)) ** 2
        squared = crossed - float(times * weight**2 @ (2 * share * other) ** 2) + float(times @ own**2)
        return max(1.0, float(times @ own) ** 2 / squared) if squared > 0 else 1.0


NO_CLUSTERS = Clusters(*(np.empty(0) for _ in range(4)))


@dataclass(frozen=True, slots=True)
class ClusteredSums:
    """One set of values added up by person, by prompt, and by both."""

    people: Clusters = NO_CLUSTERS
    prompts: Clusters = NO_CLUSTERS
    pairs: Clusters = NO_CLUSTERS
    squares: float = 0.0
    """Sum of the squared values."""
    low: float | None = None
    """The least value."""
    high: float | None = None
    """The greatest value."""

    @property
    def prompts_recur(self) -> bool:
        """Whether some prompt was put by more than one person."""
        return 1 < self.prompts.number < self.pairs.number

    def estimate(self, bounds: tuple[float, float] | None = UNIT) -> Estimate:
        """The mean with its interval; `bounds` are the limits of the scale.

        Where every value sits on a limit the interval is the exact binomial one with people as trials (or prompts, where they
        are fewer), because no variation in a small sample is not certainty.
        """
        people = self.people
        count, met = people.count, people.number
        if count == 0:
            return Estimate(None, None, None, 0, 0, "no item has an answer")
        least, greatest = self.low or 0.0, self.high or 0.0
        constant = greatest - least <= SAME
        mean = least if constant else people.mean
        if met < FEWEST_PEOPLE:
            return Estimate(mean, None, None, count, met, too_few(met))
        if constant:
            if bounds is None or mean not in bounds:
                return Estimate(mean, None, None, count, met, CONSTANT)
            trials = min(met, self.prompts.number) if self.prompts_recur else met
            low, high = exact_interval(mean, bounds, trials)
            return Estimate(mean, low, high, count, met)
        variance, df = self._variance()
        low, high = _interval(mean, variance, student_reach(df), bounds)
        return Estimate(mean, low, high, count, met, None, variance**0.5, df)

    def _variance(self) -> tuple[float, float]:
        people = self.people
        variance, df = people.variance(), people.degrees(people.correlation(self.squares))
        if self.prompts_recur:
            prompts = self.prompts
            by_prompt = prompts.variance()
            # The two-way formula subtracts what was counted twice and can fall below either way alone in small samples.
            variance = max(variance + by_prompt - self.pairs.variance(correct=False), variance, by_prompt)
            df = min(df, prompts.degrees(prompts.correlation(self.squares)))
        count = people.count
        independent = max(0.0, self.squares - count * people.mean**2) / (count * (count - 1))
        if independent > variance * (1 + SAME_VARIANCE):
            # Between the few degrees that clusters give and the many that independent items would.
            return independent, float(np.sqrt(df * (count - 1)))
        return variance, df


def cluster_mean(
    values: ArrayLike,
    people: ArrayLike,
    prompts: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
) -> Estimate:
    """The mean of the values with a clustered 95 % interval; prompts count as a second cluster where they recur."""
    scores = np.asarray(values, dtype=np.float64)
    if len(scores) == 0:
        return Estimate(None, None, None, 0, 0, "nothing to average")
    if prompts is not None and not prompts_recur(people, prompts):
        prompts = None
    return clustered_sums(scores, people, prompts).estimate(bounds)


def clustered_sums(values: Floats, people: ArrayLike, prompts: ArrayLike | None = None) -> ClusteredSums:
    """Add values up by person and, where given, by prompt."""
    person, _ = dense_codes(people)
    by_prompt = by_both = NO_CLUSTERS
    if prompts is not None:
        prompt, count = dense_codes(prompts)
        by_prompt, by_both = (
            _clusters(values, prompt),
            _clusters(values, dense_codes(person * count + prompt)[0]),
        )
    return ClusteredSums(
        _clusters(values, person),
        by_prompt,
        by_both,
        float(values @ values),
        float(values.min()),
        float(values.max()),
    )


def too_few(count: int, needed: int = FEWEST_PEOPLE, what: str = "people") -> str:
    """Why there is no interval for so few people, or prompts."""
    return (
        f"no interval: it needs at least {needed} {what}, and there {'is' if count == 1 else 'are'} {count}"
    )


def exact_interval(mean: float, bounds: tuple[float, float], clusters: int) -> tuple[float, float]:
    """Clopper–Pearson interval with clusters as trials, for values that all sit on one limit of the scale."""
    width, edge = bounds[1] - bounds[0], float((0.5 - LEVEL / 2) ** (1 / clusters))
    if mean == bounds[1]:
        return bounds[0] + width * edge, bounds[1]
    return bounds[0], bounds[1] - width * edge


def prompts_recur(people: ArrayLike, prompts: ArrayLike) -> bool:
    """Whether some prompt was put by more than one person, so that prompts are a second kind of cluster."""
    who, asked = np.asarray(people), np.asarray(prompts)
    if who.dtype.kind in "iu" and asked.dtype.kind in "iu":
        (person, _), (prompt, count) = dense_codes(who), dense_codes(asked)
        return count < dense_codes(person * count + prompt)[1]
    pairs = {*zip(who.tolist(), asked.tolist(), strict=True)}
    return len({prompt for _, prompt in pairs}) < len(pairs)


def _interval(
    mean: float, variance: float, reach: float, bounds: tuple[float, float] | None
) -> tuple[float, float]:
    margin = reach * variance**0.5
    if bounds is None:
        return mean - margin, mean + margin
    if bounds != UNIT or not 0 < mean < 1:
        return max(mean - margin, bounds[0]), min(mean + margin, bounds[1])
    # Wilson's interval for a share known as well as from so many independent trials.
    trials = mean * (1 - mean) / variance
    shrink = 1 + reach**2 / trials
    centre = (mean + reach**2 / (2 * trials)) / shrink
    half = reach / shrink * (mean * (1 - mean) / trials + reach**2 / (4 * trials**2)) ** 0.5
    return max(centre - half, 0.0), min(centre + half, 1.0)


def _clusters(values: Floats, codes: Codes) -> Clusters:
    sums, each = np.bincount(codes, weights=values), np.bincount(codes)
    counts = np.bincount(each)
    sizes = np.flatnonzero(counts)
    totals = (sizes, counts[sizes], *(np.bincount(each, weights=one)[sizes] for one in (sums, sums**2)))
    return Clusters(*(one.astype(np.float64) for one in totals))


def dense_codes(labels: ArrayLike) -> tuple[Codes, int]:
    """Number the labels from 0 in their order: the number of each, and how many there are."""
    values = np.asarray(labels)
    if values.dtype.kind in "iu" and len(values) and values.min() >= 0 and values.max() < DENSE * len(values):
        present = np.bincount(values) > 0  # numbers so close together need no sorting
        return (np.cumsum(present) - 1)[values], int(present.sum())
    unique, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.intp), len(unique)
