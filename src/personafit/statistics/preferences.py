"""Ratings on a scale from one response to the other: rank-based scales, and differences between groups.

A difference of two group means is a mean of pseudo-values, one per rating, so that the clustered interval of a mean applies.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from personafit.statistics.clusters import Estimate, cluster_mean

Floats = NDArray[np.float64]

FEWEST_PEOPLE = 3


def scale_by_rank(differences: ArrayLike) -> Floats:
    """Map score differences to ratings from 1 to 5: 0 maps to 3, the largest size to an end, others by the rank of their size.

    Monotone: a larger difference never gets a lower rating, and the sign is kept. Non-finite differences stay nan.
    """
    from scipy.stats import rankdata

    values = np.asarray(differences, dtype=np.float64)
    marks = np.full(values.shape, np.nan)
    known = np.isfinite(values)
    sizes = np.abs(values[known])
    moved = sizes > 0
    share = np.zeros(len(sizes))
    if moved.any():
        share[moved] = rankdata(sizes[moved], "max") / moved.sum()
    marks[known] = 3.0 + 2.0 * np.sign(values[known]) * share
    return marks


def group_difference(values: ArrayLike, inside: ArrayLike, people: ArrayLike, prompts: ArrayLike) -> Estimate:
    """Return the mean rating inside a group minus the mean rating outside it, with its clustered interval."""
    return _estimate(_difference_values(values, inside), inside, people, prompts)


def group_difference_gap(
    first: ArrayLike, second: ArrayLike, inside: ArrayLike, people: ArrayLike, prompts: ArrayLike
) -> Estimate:
    """Return the `group_difference` of one rater minus that of another on the same units."""
    gap = _difference_values(first, inside) - _difference_values(second, inside)
    return _estimate(gap, inside, people, prompts)


def _difference_values(values: ArrayLike, inside: ArrayLike) -> Floats:
    marks, group = np.asarray(values, dtype=np.float64), np.asarray(inside, dtype=bool)
    if not group.any() or group.all():
        return np.full(len(marks), np.nan)
    means = [marks[group].mean(), marks[~group].mean()]
    moves = np.where(group, (marks - means[0]) / group.sum(), -(marks - means[1]) / (~group).sum())
    return np.asarray(means[0] - means[1] + len(marks) * moves)


def _estimate(numbers: Floats, inside: ArrayLike, people: ArrayLike, prompts: ArrayLike) -> Estimate:
    n, group = len(numbers), np.asarray(inside, dtype=bool)
    who = np.asarray(people)
    met = len(np.unique(who))
    if n == 0 or np.isnan(numbers).any():
        what = "is in" if n and group.all() else "is outside"
        return Estimate(
            None, None, None, n, met, f"undefined: every unit {what} the group" if n else "nothing to compare"
        )
    if min(len(np.unique(who[group])), len(np.unique(who[~group]))) < FEWEST_PEOPLE:
        note = f"no interval: one of the two groups is about fewer than {FEWEST_PEOPLE} people"
        return Estimate(float(numbers.mean()), None, None, n, met, note)
    return cluster_mean(numbers, people, prompts)
