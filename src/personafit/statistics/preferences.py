"""Ratings on a scale from one response to the other: rank-based scales, and differences between groups.

The interval of a difference of two group means is clustered like that of a mean, with each cluster's leverage taken within its group:
where only a few people have ratings in a group, its mean is known no better than theirs.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from personafit.statistics.clusters import (
    CONSTANT,
    FEWEST_PEOPLE,
    SAME,
    Codes,
    Estimate,
    Floats,
    cluster_mean,
    dense_codes,
    prompts_recur,
    student_reach,
)


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
    """Return the mean rating inside a group minus the mean rating outside it, with its clustered interval.

    There is no interval if either group is about fewer than six people.
    """
    marks, group = np.asarray(values, dtype=np.float64), np.asarray(inside, dtype=bool)
    who, asked = np.asarray(people), np.asarray(prompts)
    count, met = len(marks), len(np.unique(who))
    if not group.any() or group.all():
        what = "is in" if group.any() else "is outside"
        note = f"undefined: every unit {what} the group" if count else "nothing to compare"
        return Estimate(None, None, None, count, met, note)
    sides = (group, ~group)
    first, second = (float(marks[side].mean()) for side in sides)
    value = first - second
    if min(len(np.unique(who[side])) for side in sides) < FEWEST_PEOPLE:
        note = f"no interval: one of the two groups is about fewer than {FEWEST_PEOPLE} people"
        return Estimate(value, None, None, count, met, note)
    moves = np.where(group, (marks - first) / group.sum(), (second - marks) / (~group).sum())
    if np.abs(moves).sum() <= SAME:
        return Estimate(value, None, None, count, met, CONSTANT)
    means = [cluster_mean(marks[side], who[side], asked[side]) for side in sides]
    variance = _variance(moves, group, who, asked)
    shares = [(mean.se or 0.0) ** 2 for mean in means]
    parts = sum(share**2 / mean.df for share, mean in zip(shares, means, strict=True) if mean.df)
    df = float(sum(shares) ** 2 / parts)  # Welch's, of the two means
    reach = student_reach(df) * variance**0.5
    return Estimate(value, value - reach, value + reach, count, met, None, variance**0.5, df)


def group_difference_gap(
    first: ArrayLike, second: ArrayLike, inside: ArrayLike, people: ArrayLike, prompts: ArrayLike
) -> Estimate:
    """Return the `group_difference` of one rater minus that of another on the same units."""
    gap = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return group_difference(gap, inside, people, prompts)


def _variance(moves: Floats, group: NDArray[np.bool_], people: ArrayLike, prompts: ArrayLike) -> float:
    """Return the variance of the difference, clustered by person and, where prompts recur, by prompt."""
    person, _ = dense_codes(people)
    variance = max(_clustered(moves, group, person), _independent(moves, group))
    if prompts_recur(people, prompts):
        prompt, count = dense_codes(prompts)
        by_prompt = _clustered(moves, group, prompt)
        both, _ = dense_codes(person * count + prompt)
        overlap = _clustered(moves, group, both, correct=False)
        variance = max(variance + by_prompt - overlap, variance, by_prompt)
    return variance


def _clustered(moves: Floats, group: NDArray[np.bool_], codes: Codes, correct: bool = True) -> float:
    """Return the cluster-robust variance; with `correct`, each cluster's part of a group is raised by its leverage there (CR2)."""
    total = np.zeros(int(codes.max()) + 1)
    for side in (group, ~group):
        share = np.bincount(codes, side, len(total)) / side.sum()
        weight = 1 / np.sqrt(np.maximum(1 - share, 1e-9)) if correct else np.ones(len(total))
        total += weight * np.bincount(codes, moves * side, len(total))
    return float(total @ total)


def _independent(moves: Floats, group: NDArray[np.bool_]) -> float:
    """Return the variance of the difference if all ratings were independent."""
    sizes = [(float(moves[side] @ moves[side]), int(side.sum())) for side in (group, ~group)]
    return sum(squares * size / max(1, size - 1) for squares, size in sizes)
