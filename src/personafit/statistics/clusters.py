"""Means with honest intervals: answers about one person hang together, and so do answers to one prompt.

The variance is the cluster-robust one (each person's residuals are summed before squaring); where prompts recur across
people it is two-way, person and prompt, after Cameron, Gelbach and Miller. Intervals use Student's t with one degree
of freedom less than there are clusters. Nothing is random here, so nothing needs a seed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from personafit.statistics.student import LEVEL, student_p_value, student_reach

DENSE = 20  # whole numbers within so many times their count are counted, which is faster than sorting them
FEWEST_PEOPLE = 6  # with fewer, no interval is given and nothing is claimed, in the whole program
FEWEST_ALIKE = 5
SAME = 1e-6  # what sums of squares leave of two equal numbers
ALIKE = "all people have the same mean: no interval can be given"
ONE_PERSON = "one person only: no interval can be given"

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval; undefined is None with a note, never NaN."""

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


def cluster_mean(
    values: ArrayLike,
    people: ArrayLike,
    prompts: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
) -> Estimate:
    """The mean with a clustered 95 % interval.

    `bounds` are the limits of the scale: the interval is cut there, and when every value sits on a limit it is the exact
    binomial one with people as trials (or prompts, where they are fewer), because no variation in a small sample is not certainty.
    """
    scores = np.asarray(values, dtype=np.float64)
    person_codes, people_count = _codes(people)
    count = len(scores)
    if count == 0:
        return Estimate(None, None, None, 0, 0, "nothing to average")
    mean = float(scores.mean())
    if people_count < 2:
        return Estimate(mean, None, None, count, people_count, ONE_PERSON)
    residuals = scores - mean
    variance, freedom = _variance(residuals, person_codes, people_count, prompts)
    if bounds is not None and not residuals.any() and mean in bounds:
        low, high = exact_interval(mean, bounds, freedom + 1)
        return Estimate(mean, low, high, count, people_count)
    if alike(mean, variance, people_count):
        return Estimate(mean, None, None, count, people_count, ALIKE)
    low, high = student_interval(mean, variance, freedom, bounds)
    return Estimate(mean, low, high, count, people_count, None, variance**0.5, freedom)


def alike(mean: float, variance: float, people: int) -> bool:
    """Whether a few people happen to agree to the last digit on something else than nothing, which is no certainty."""
    return people < FEWEST_ALIKE and abs(mean) > SAME and variance < SAME**2


def student_interval(
    mean: float, variance: float, freedom: int, bounds: tuple[float, float] | None
) -> tuple[float, float]:
    """Student's t interval around a mean, cut at the limits of the scale."""
    margin = student_reach(freedom) * variance**0.5
    low, high = mean - margin, mean + margin
    return (low, high) if bounds is None else (max(low, bounds[0]), min(high, bounds[1]))


def exact_interval(mean: float, bounds: tuple[float, float], clusters: int) -> tuple[float, float]:
    """The interval when every value sits on a limit of the scale: the binomial one with clusters as trials."""
    low, high = _exact(mean == bounds[1], clusters)
    width = bounds[1] - bounds[0]
    return bounds[0] + width * low, bounds[0] + width * high


def clustered_p_value(values: ArrayLike, people: ArrayLike, prompts: ArrayLike | None = None) -> float | None:
    """Two-sided p-value of the mean being zero, by the same clustered variance; None when it cannot be said."""
    scores = np.asarray(values, dtype=np.float64)
    person_codes, people_count = _codes(people)
    if len(scores) == 0 or people_count < 2:
        return None
    mean = float(scores.mean())
    variance, freedom = _variance(scores - mean, person_codes, people_count, prompts)
    if variance == 0.0:
        return 1.0 if mean == 0.0 else None
    return float(student_p_value(mean / variance**0.5, freedom))


def prompts_recur(people: ArrayLike, prompts: ArrayLike) -> bool:
    """Whether some prompt was put by more than one person, so that prompts are a second kind of cluster."""
    who, asked = np.asarray(people), np.asarray(prompts)
    if who.dtype.kind in "iu" and asked.dtype.kind in "iu":
        (person, _), (prompt, count) = _codes(who), _codes(asked)
        return count < _codes(person * count + prompt)[1]
    pairs = {*zip(who.tolist(), asked.tolist(), strict=True)}
    return len({prompt for _, prompt in pairs}) < len(pairs)


def _variance(
    residuals: Floats, people: Codes, people_count: int, prompts: ArrayLike | None
) -> tuple[float, int]:
    by_person = _sum_of_squares(residuals, people, people_count)
    if prompts is None:
        return by_person, people_count - 1
    prompt_codes, prompt_count = _codes(prompts)
    if prompt_count < 2:
        return by_person, people_count - 1
    by_prompt = _sum_of_squares(residuals, prompt_codes, prompt_count)
    both, both_count = _codes(people * prompt_count + prompt_codes)
    by_both = _sum_of_squares(residuals, both, both_count)
    # The two-way formula subtracts what was counted twice and can fall below either way alone in small samples.
    variance = max(by_person + by_prompt - by_both, by_person, by_prompt)
    return variance, min(people_count, prompt_count) - 1


def _sum_of_squares(residuals: Floats, codes: Codes, count: int) -> float:
    sums = np.bincount(codes, weights=residuals, minlength=count)
    return float(count / max(1, count - 1) * np.square(sums).sum() / len(residuals) ** 2)


def _codes(labels: ArrayLike) -> tuple[Codes, int]:
    values = np.asarray(labels)
    if values.dtype.kind in "iu" and len(values) and values.min() >= 0 and values.max() < DENSE * len(values):
        present = np.bincount(values) > 0  # numbers so close together need no sorting
        return (np.cumsum(present) - 1)[values], int(present.sum())
    unique, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.intp), len(unique)


def _exact(all_hits: bool, trials: int) -> tuple[float, float]:
    """Clopper-Pearson when every trial, or none, is a hit."""
    edge = float((0.5 - LEVEL / 2) ** (1 / trials))
    return (edge, 1.0) if all_hits else (0.0, 1.0 - edge)
