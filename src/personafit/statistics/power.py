"""Planning: the smallest difference a run can detect, and how many people or items a difference needs.

The values are what will be tested: one number per item, such as 1 for a right choice or the paired difference of
two systems. Their variance is split into what differs between people and what differs between items of one person;
more items wear down only the second. All plans are for a two-sided test at 5 % that finds the difference 80 % of the
time, by the exact (noncentral t) power of a test on people's means, equally many items each.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from personafit.statistics.agreement import Figure
from personafit.statistics.agreement_bootstrap import people_index
from personafit.statistics.student import student_reach

POWER = 0.8
_MOST = 10_000_000


@dataclass(frozen=True)
class Spread:
    """Variance between people and variance within a person; None with a note where data cannot tell."""

    between: float | None
    within: float | None
    note: str | None = None

    def correlation(self) -> Figure:
        """Intracluster correlation: the share of the variance that lies between people."""
        if self.between is None or self.within is None:
            return Figure(None, self.note)
        total = self.between + self.within
        return (
            Figure(self.between / total) if total > 0 else Figure(None, "undefined: all values are the same")
        )

    def design_effect(self, items: float) -> Figure:
        """How many times larger the variance of a mean is than if all items came from different people."""
        correlation = self.correlation()
        if correlation.value is None:
            return correlation
        return Figure(1 + (items - 1) * correlation.value)


def spread(values: ArrayLike, people: ArrayLike) -> Spread:
    """Split the variance of a pilot's values by one-way analysis of variance; a negative share counts as none."""
    array = np.asarray(values, dtype=np.float64)
    person, count = people_index(people, len(array))
    if count < 2:
        return Spread(None, None, "undefined: how much people differ cannot be seen in fewer than two")
    sizes = np.bincount(person)
    means = np.bincount(person, array) / sizes
    grand = array.mean()
    between = float((sizes * (means - grand) ** 2).sum() / (count - 1))
    if len(array) == count:
        return Spread(
            between, 0.0, "one item per person: all variance counted as between people, the cautious way"
        )
    within = float(((array - means[person]) ** 2).sum() / (len(array) - count))
    typical = (len(array) - (sizes**2).sum() / len(array)) / (count - 1)
    return Spread(max(0.0, (between - within) / float(typical)), within)


def smallest_difference(plan: Spread, people: int, items: float) -> Figure:
    """The smallest true mean difference that `people` with `items` each will show four times in five."""
    if plan.between is None or plan.within is None:
        return Figure(None, plan.note)
    if people < 2:
        return Figure(None, "undefined: a test needs at least two people")
    deviation = float(np.sqrt(plan.between + plan.within / items))
    if deviation == 0:
        return Figure(None, "undefined: the pilot's values are all the same, so any difference would show")
    from scipy.optimize import brentq

    # The power of an effect rises without bound, and an effect of 100 shows with any two people.
    effect = brentq(lambda size: _power(size, people) - POWER, 1e-9, 100.0, xtol=1e-12)
    return Figure(float(effect) * deviation)


def people_needed(plan: Spread, difference: float, items: float) -> Figure:
    """How many people, with `items` each, show a true difference four times in five."""
    if plan.between is None or plan.within is None:
        return Figure(None, plan.note)
    if difference == 0:
        return Figure(None, "undefined: no number of people shows a difference of 0")
    deviation = float(np.sqrt(plan.between + plan.within / items))
    if deviation == 0:
        return Figure(2.0)
    return _fewest(lambda people: _power(abs(difference) / deviation, people), 2)


def items_needed(plan: Spread, difference: float, people: int) -> Figure:
    """How many items of each of `people` show a true difference four times in five; None if no number does."""
    if plan.between is None or plan.within is None:
        return Figure(None, plan.note)
    if people < 2 or difference == 0:
        return Figure(None, "undefined: it takes at least two people and a difference other than 0")
    between, within, size = plan.between, plan.within, abs(difference)
    if between > 0 and _power(size / float(np.sqrt(between)), people) < POWER:
        enough = people_needed(Spread(between, 0.0), difference, 1).value
        more = "more people are" if enough is None else f"at least {enough:.0f} people are"
        return Figure(
            None, f"no number of items is enough with {people} people, who differ too much: {more} needed"
        )
    if within == 0:
        return Figure(1.0)
    return _fewest(lambda items: _power(size / float(np.sqrt(between + within / items)), people), 1)


def _power(effect: float, people: int) -> float:
    """Power of a two-sided t test on people's means; `effect` is the difference in their standard deviations."""
    from scipy.stats import nct

    degrees = people - 1
    bar = student_reach(degrees)
    shift = effect * np.sqrt(people)
    # Beyond these shifts the two tails are 1 and 0 to nine digits, and scipy's noncentral t gives nan.
    near = nct.sf(bar, degrees, shift) if shift < bar + 40 else 1.0
    far = nct.cdf(-bar, degrees, shift) if shift < 6 else 0.0
    return float(near + far)


def _fewest(power: Callable[[int], float], start: int) -> Figure:
    low, high = start - 1, start
    while power(high) < POWER:
        low, high = high, high * 2
        if high > _MOST:
            return Figure(None, f"more than {_MOST:,}: the difference is too small to plan for")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return Figure(float(high))
