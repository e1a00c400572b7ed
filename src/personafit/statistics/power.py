"""Power analysis: the smallest difference a run can detect, and how many people, prompts or items a difference needs.

The values are those that will be tested: one number per item, such as 1 for a correct choice or the paired difference of
two systems. Their variance is split into components between people, between prompts where these recur across people, and within;
more items per person reduce only the last, and more people do not reduce the prompt component. All plans are for a two-sided
test at 5 % with 80 % power, by the noncentral t of the clustered test, with equally many items per person.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from personafit.statistics.agreement import Figure, Floats, Ints
from personafit.statistics.clusters import FEWEST_PEOPLE, dense_codes, prompts_recur, student_reach

POWER = 0.8
_MOST = 10_000_000
_TOO_FEW = f"undefined: with fewer than {FEWEST_PEOPLE} people nothing is tested"


@dataclass(frozen=True)
class Spread:
    """Variance components; None with a note if the data cannot identify them."""

    between: float | None
    """Variance between people."""
    within: float | None
    """Variance between items of one person, without the prompt component."""
    note: str | None = None
    prompt: float | None = None
    """Variance between prompts; None if prompts do not recur across people."""
    repeats: float = 1.0
    """Items per person and prompt, which plans keep."""


def spread(values: ArrayLike, people: ArrayLike, prompts: ArrayLike | None = None) -> Spread:
    """Estimate the variance components of a pilot's values; negative components are set to 0.

    Without recurring prompts, uses one-way analysis of variance. With them, uses the mean squared difference of pairs of items
    that share the person, the prompt, both or neither: it is unbiased however unequal the cells are, and equals the analysis of
    variance in balanced data.
    """
    array = np.asarray(values, dtype=np.float64)
    person, count = dense_codes(people)
    if count < 2:
        return Spread(None, None, "undefined: how much people differ cannot be seen in fewer than two")
    if prompts is not None:
        prompt, prompt_count = dense_codes(prompts)
        if prompt_count > 1 and prompts_recur(person, prompt):
            return _crossed(array, person, prompt)
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


def _crossed(values: Floats, person: Ints, prompt: Ints) -> Spread:
    cell = np.unique(person * (prompt.max() + 1) + prompt, return_inverse=True)[1].astype(np.int64)
    groups = (np.zeros(len(values), dtype=np.int64), person, prompt, cell)
    apart, same_person, same_prompt, same_cell = _pair_variances(values, groups, np.ones(len(values)))
    if apart is None or same_prompt is None:
        return Spread(None, None, "undefined: no two people were asked different prompts")
    # Down-weight people and prompts with many items, which would otherwise determine their component alone.
    of_prompts = _pair_variances(values, groups, 1 / np.sqrt(np.bincount(prompt)[prompt]))
    between_prompts = max(0.0, (of_prompts[0] or 0.0) - (of_prompts[2] or 0.0))
    if same_person is None:
        note = (
            "one prompt per person: what differs between items is counted as between people, the cautious way"
        )
        return Spread(same_prompt, 0.0, note, between_prompts)
    of_people = _pair_variances(values, groups, 1 / np.sqrt(np.bincount(person)[person]))
    between = max(0.0, (of_people[0] or 0.0) - (of_people[1] or 0.0))
    repeats = float(np.square(np.bincount(cell)).sum() / len(values))
    rest = max(0.0, same_person + same_prompt - apart)
    if same_cell is not None:  # variance shared within a cell counts once per cell, the rest once per item
        rest = max(0.0, rest - same_cell) * repeats + min(rest, same_cell)
    return Spread(between, rest, None, between_prompts, repeats)


def _pair_variances(values: Floats, groups: tuple[Ints, ...], weight: Floats) -> list[float | None]:
    """Return the mean half squared difference of item pairs that share nothing, the person, the prompt, or both; None without pairs."""
    centred = values - values.mean()
    found = []
    for group in groups:
        size, total = np.bincount(group, weight), np.bincount(group, weight * centred)
        squares = np.bincount(group, weight * centred**2)
        pairs = float((size**2 - np.bincount(group, weight**2)).sum() / 2)
        found.append((float((size * squares - total**2).sum() / 2), pairs))
    # Pairs of one person include those of one cell, and so on: subtract what is counted twice.
    kinds = np.array([[1, -1, -1, 1], [0, 1, 0, -1], [0, 0, 1, -1], [0, 0, 0, 1]])
    sums, pairs = kinds @ np.array(found).T[0], kinds @ np.array(found).T[1]
    return [float(a / b) if b > 1e-9 else None for a, b in zip(sums, pairs, strict=True)]


def _unplannable(plan: Spread, people: int, difference: float = 1.0, what: str = "") -> Figure | None:
    """Return the undefined figure if no plan is possible, else None."""
    if plan.between is None or plan.within is None:
        return Figure(None, plan.note)
    if people < FEWEST_PEOPLE:
        return Figure(None, _TOO_FEW)
    return None if difference else Figure(None, f"undefined: no number of {what} shows a difference of 0")


def smallest_difference(plan: Spread, people: int, items: float, prompts: int | None = None) -> Figure:
    """Return the smallest true mean difference that `people` with `items` each, on `prompts`, detect with 80 % power."""
    if why_not := _unplannable(plan, people):
        return why_not
    error = _error(plan, people, items, prompts)
    if error == 0:
        return Figure(None, "undefined: the pilot's values are all the same, so any difference would show")
    from scipy.optimize import brentq

    freedom = _freedom(plan, people, prompts)
    # Power increases with the shift, and a shift of 500 standard errors is detected at any degrees of freedom.
    shift = brentq(lambda size: _power(size, freedom) - POWER, 1e-9, 500.0, xtol=1e-12)
    return Figure(float(shift) * error)


def people_needed(plan: Spread, difference: float, items: float, prompts: int | None = None) -> Figure:
    """Return how many people, with `items` each on `prompts`, detect a true difference with 80 % power; undefined if no number does."""
    if why_not := _unplannable(plan, FEWEST_PEOPLE, difference, "people"):
        return why_not
    if (
        plan.prompt
        and prompts
        and not _shown(Spread(0.0, 0.0, None, plan.prompt), difference, _MOST, 1, prompts)
    ):
        enough = prompts_needed(Spread(0.0, 0.0, None, plan.prompt), difference, _MOST, 1).value
        more = "more prompts are" if enough is None else f"at least {enough:,.0f} prompts are"
        return Figure(None, f"no number of people alone is enough with {prompts:,} prompts: {more} needed")
    return _fewest(lambda people: _shown(plan, difference, people, items, prompts), FEWEST_PEOPLE)


def prompts_needed(plan: Spread, difference: float, people: int, items: float) -> Figure:
    """Return how many prompts, for `people` with `items` each, detect a true difference with 80 % power; undefined if no number does."""
    if why_not := _unplannable(plan, people, difference, "prompts"):
        return why_not
    if plan.prompt is None:
        return Figure(None, plan.note or "undefined: prompts do not recur across people")
    alone = Spread(plan.between, plan.within)
    if not _shown(alone, difference, people, items, None):
        enough = people_needed(alone, difference, items).value
        more = "more people are" if enough is None else f"at least {enough:,.0f} people are"
        return Figure(
            None,
            f"no number of prompts alone is enough with {people:,} people and {_items(items)} each: {more} needed",
        )
    least = max(
        2, int(np.ceil(items / plan.repeats))
    )  # nobody is asked a prompt more often than in the pilot
    return _fewest(lambda prompts: _shown(plan, difference, people, items, prompts), least)


def items_needed(plan: Spread, difference: float, people: int, prompts: int | None = None) -> Figure:
    """Return how many items per person detect a true difference with 80 % power; undefined if no number does."""
    if why_not := _unplannable(plan, people, difference, "items"):
        return why_not
    most = None if plan.prompt is None or prompts is None else max(1, int(prompts * plan.repeats))
    if most is not None and not _shown(plan, difference, people, most, prompts):
        return Figure(
            None,
            f"no number of items is enough from {people:,} people with {prompts:,} prompts, "
            f"which allow {_items(most)} each",
        )
    if most is None and not _shown(Spread(plan.between, 0.0), difference, people, 1, None):
        enough = people_needed(Spread(plan.between, 0.0), difference, 1).value
        more = "more people are" if enough is None else f"at least {enough:,.0f} people are"
        return Figure(
            None, f"no number of items is enough with {people:,} people, who differ too much: {more} needed"
        )
    return _fewest(lambda items: _shown(plan, difference, people, items, prompts), 1)


def _items(number: float) -> str:
    return "1 item" if f"{number:,.0f}" == "1" else f"{number:,.0f} items"


def _error(plan: Spread, people: int, items: float, prompts: int | None) -> float:
    """Return the standard error of the planned run's mean."""
    variance = (plan.between or 0.0) / people + (plan.within or 0.0) / (people * items)
    if plan.prompt is not None and prompts:
        variance += plan.prompt / min(prompts, people * items)
    return float(np.sqrt(variance))


def _freedom(plan: Spread, people: int, prompts: int | None) -> float:
    """Return the degrees of freedom of the planned test: the smaller number of clusters less one."""
    two_way = plan.prompt is not None and prompts is not None and prompts > 1
    return (min(people, prompts) if two_way and prompts else people) - 1


def _shown(plan: Spread, difference: float, people: int, items: float, prompts: int | None) -> bool:
    """Return whether the planned run detects the difference with 80 % power."""
    error = _error(plan, people, items, prompts)
    return error == 0 or _power(abs(difference) / error, _freedom(plan, people, prompts)) >= POWER


def _power(shift: float, degrees: float) -> float:
    """Return the power of a two-sided t test; `shift` is the difference in standard errors."""
    from scipy.stats import nct

    bar = student_reach(degrees)
    # Beyond these shifts the two tails are 1 and 0 to nine digits, and scipy's noncentral t gives nan.
    near = nct.sf(bar, degrees, shift) if shift < bar + 40 else 1.0
    far = nct.cdf(-bar, degrees, shift) if shift < 6 else 0.0
    return float(near + far)


def _fewest(enough: Callable[[int], bool], start: int) -> Figure:
    low, high = start - 1, start
    while not enough(high):
        low, high = high, high * 2
        if high > _MOST:
            return Figure(None, f"more than {_MOST:,}: the difference is too small to plan for")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return Figure(float(high))
