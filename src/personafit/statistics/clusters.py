"""Means with clustered intervals: answers about one person are correlated, and so are answers to one prompt.

The variance is the cluster-robust one with the CR2 correction (Bell and McCaffrey 2002), two-way by person and prompt where
prompts recur (Cameron, Gelbach and Miller 2011), and never below that of independent items. Intervals use Student's t with
Satterthwaite degrees of freedom; shares get Wilson's form, so that they stay inside 0 and 1. `python -m speed.coverage`
simulates their coverage; nothing here is random.

Only the number, sum and sum of squares of clusters of each size are needed, so a run of any size can be read page by page.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

LEVEL = 0.95
FEWEST_PEOPLE = 6  # with fewer people, no interval is reported and nothing is claimed, anywhere in personafit
CONSTANT = "no interval: every item has the same value"
DENSE = 20  # integers below this multiple of their count are counted, which is faster than sorting them
SAME = 1e-12  # values this close are equal up to rounding
SAME_VARIANCE = 1e-9  # the same, relative to a variance: with one value per cluster both variances are equal
UNIT = (0.0, 1.0)

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def student_reach(freedom: float) -> float:
    """Return the half-width of a 95 % interval in standard errors.

    Uses scipy.special: scipy.stats gives bit-identical numbers but takes half a second to import.
    """
    return float(stdtrit(freedom, 0.5 + LEVEL / 2))


def student_p_value(ratio: ArrayLike, freedom: float) -> Any:
    """Return the two-sided p-values of t statistics (estimates divided by their standard errors)."""
    return 2 * stdtr(freedom, -np.abs(ratio))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A point estimate with its 95 % interval; an undefined value is None with a note, never NaN."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    people: int
    note: str | None = None
    se: float | None = None
    """Standard error, if the interval is based on one."""
    df: float | None = None
    """Degrees of freedom of the t distribution of the interval."""

    def p_value(self, null: float = 0.0) -> float | None:
        """Return the two-sided p-value of the hypothesis that the true value is `null`; None without a standard error."""
        if self.value is None or not self.se or self.df is None:
            return None
        return float(student_p_value((self.value - null) / self.se, self.df))


def negated(estimate: Estimate) -> Estimate:
    """Return the estimate with its sign flipped, as for a difference taken the other way round."""
    value, low, high = (
        None if number is None else -number for number in (estimate.value, estimate.high, estimate.low)
    )
    return replace(estimate, value=value, low=low, high=high)


def clipped(estimate: Estimate, least: float, greatest: float) -> Estimate:
    """Return the estimate with its interval cut at the ends of its scale."""
    if estimate.low is None or estimate.high is None:
        return estimate
    return replace(estimate, low=max(least, estimate.low), high=min(greatest, estimate.high))


@dataclass(frozen=True, slots=True)
class Clusters:
    """Sums over the clusters of one kind (people, prompts, or both), grouped by cluster size."""

    sizes: Floats
    """Distinct cluster sizes (numbers of values)."""
    counts: Floats
    """Number of clusters of that size."""
    sums: Floats
    """Sum of the values in clusters of that size."""
    squares: Floats
    """Sum of the squared cluster sums."""

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
        """Return the cluster-robust variance of the mean, with the CR2 correction for clusters that hold much of the data."""
        count, mean = self.count, self.mean
        residuals = self.squares - 2 * mean * self.sizes * self.sums + mean**2 * self.sizes**2 * self.counts
        weight = self._leverage() if correct else np.ones(len(self.sizes))
        return max(0.0, float(weight @ residuals)) / count**2

    def degrees(self, correlation: float) -> float:
        """Return the degrees of freedom of `variance`.

        The geometric mean of two Satterthwaite approximations, for independent values and for this intracluster correlation:
        with heavy-tailed cluster sizes the first gives intervals that cover too little and the second too much.
        """
        return float(np.sqrt(self._satterthwaite(0.0) * self._satterthwaite(correlation)))

    def correlation(self, squares: float) -> float:
        """Estimate the intracluster correlation by analysis of variance from the sum of squared values; at least 0."""
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
        """Return 2 E² / Var of the CR2 variance, for normal values with equal correlation within clusters."""
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
    """Sums of one set of values by person, by prompt, and by both."""

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
        """Whether some prompt belongs to more than one person."""
        return 1 < self.prompts.number < self.pairs.number

    def estimate(self, bounds: tuple[float, float] | None = UNIT) -> Estimate:
        """Return the mean with its interval; `bounds` are the limits of the scale.

        If every value is the same, and on a limit or a difference other than 0, the interval is an exact binomial one with people as
        trials (or prompts, if fewer), because no variation in a small sample is not certainty.
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
            if bounds is None or (mean not in bounds and (bounds[0] >= 0 or abs(mean) <= SAME)):
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
            # The two-way formula subtracts the overlap and can fall below either one-way variance in small samples.
            variance = max(variance + by_prompt - self.pairs.variance(correct=False), variance, by_prompt)
            df = min(df, prompts.degrees(prompts.correlation(self.squares)))
        count = people.count
        independent = max(0.0, self.squares - count * people.mean**2) / (count * (count - 1))
        if independent > variance * (1 + SAME_VARIANCE):
            # Compromise between the few degrees of freedom of clusters and the many of independent items.
            return independent, float(np.sqrt(df * (count - 1)))
        return variance, df


def cluster_mean(
    values: ArrayLike,
    people: ArrayLike,
    prompts: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
) -> Estimate:
    """Return the mean of the values with a clustered 95 % interval; prompts are a second kind of cluster where they recur."""
    scores = np.asarray(values, dtype=np.float64)
    if len(scores) == 0:
        return Estimate(None, None, None, 0, 0, "nothing to average")
    if prompts is not None and not prompts_recur(people, prompts):
        prompts = None
    return clustered_sums(scores, people, prompts).estimate(bounds)


def clustered_sums(values: Floats, people: ArrayLike, prompts: ArrayLike | None = None) -> ClusteredSums:
    """Sum values by person and, if given, by prompt."""
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
    """Return the note that says why there is no interval with `count` people (or prompts)."""
    return (
        f"no interval: it needs at least {needed} {what}, and there {'is' if count == 1 else 'are'} {count}"
    )


def exact_interval(mean: float, bounds: tuple[float, float], clusters: int) -> tuple[float, float]:
    """Return the interval for values that are all the same, with clusters as trials.

    At least the Clopper–Pearson share of all clusters has this value; the others may be anywhere within the bounds.
    """
    others = 1 - float((0.5 - LEVEL / 2) ** (1 / clusters))
    return mean - others * (mean - bounds[0]), mean + others * (bounds[1] - mean)


def prompts_recur(people: ArrayLike, prompts: ArrayLike) -> bool:
    """Return whether some prompt belongs to more than one person, so that prompts are a second kind of cluster."""
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
    # Wilson's interval at the effective number of independent trials.
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
    """Return the labels as codes from 0 in sorted order, and the number of distinct labels."""
    values = np.asarray(labels)
    if values.dtype.kind in "iu" and len(values) and values.min() >= 0 and values.max() < DENSE * len(values):
        present = np.bincount(values) > 0  # dense integers need no sorting
        return (np.cumsum(present) - 1)[values], int(present.sum())
    unique, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.intp), len(unique)
