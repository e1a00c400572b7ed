"""The influence of each unit on a figure of agreement (the infinitesimal jackknife).

Every figure in `agreement` is a smooth function of sums over units. Its derivative with respect to the weight of one unit
is that unit's influence; influences add up to 0, and `value + n * influence` are pseudo-values whose mean is the figure and
whose clustered variance is the figure's. Where a distance depends on the pooled order of all ratings (ordinal alpha,
Spearman), the derivative includes what a unit does to that order.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from personafit.statistics.agreement import (
    Floats,
    Ints,
    Level,
    centred_ranks,
    interval_sums,
    label_counts,
    label_credit,
)


def percent_influence(sums: Floats) -> Floats:
    """Of percent agreement, from the `unit_sums` of each unit."""
    agreement, shared = sums[:, :2].T
    return np.asarray((agreement - shared * agreement.sum() / shared.sum()) / shared.sum())


def fleiss_influence(sums: Floats, halves: bool = False) -> Floats:
    """Of Fleiss' kappa, from the `unit_sums` of each unit."""
    shares, labels = sums[:, 2:], sums[:, 2:].sum(0)
    total, expected = labels.sum(), label_credit(len(labels), halves) @ labels
    observed, chance = sums[:, 0].sum() / sums[:, 1].sum(), labels @ expected / total**2
    by_chance = 2 * (shares @ expected) / total**2 - 2 * chance * shares.sum(1) / total
    moved = percent_influence(sums) / (1 - chance) - (1 - observed) / (1 - chance) ** 2 * by_chance
    return np.asarray(moved)


def kappa_influence(first: Ints, second: Ints, distance: Floats) -> Floats:
    """Of Cohen's kappa of two raters who both rated every unit; `distance` is labels × labels, 0 where they agree."""
    labels = len(distance)
    cells = first * labels + second
    table = np.bincount(cells, minlength=labels**2).reshape(labels, labels)
    rows, columns, count = table.sum(1), table.sum(0), len(first)
    observed, expected = float((table * distance).sum()), float(rows @ distance @ columns)
    by_chance = (distance @ columns)[:, None] + rows @ distance
    gradient = (observed * count / expected * by_chance - distance * count - observed) / expected
    return np.asarray(gradient.ravel()[cells])


def alpha_influence(ratings: NDArray[Any], level: Level, halves: bool = False) -> Floats:
    """Of Krippendorff's alpha: codes (-1 for none), or for interval alpha numbers (nan for none)."""
    present = np.isfinite(ratings) if ratings.dtype.kind == "f" else ratings >= 0
    present &= (present.sum(1) >= 2)[:, None]
    raters = present.sum(1)
    count = raters.sum()
    if level == "interval":
        within, _, sums, squares = interval_sums(ratings).T
        total, square = sums.sum(), squares.sum()
        expected = 2 * (count * square - total**2)
        by_expected = 2 * (raters * square + count * squares - 2 * total * sums)
        by_within = within
    elif level == "nominal":
        counts = label_counts(np.where(present, ratings, -1))
        agreeing = counts @ label_credit(counts.shape[1], halves)
        labels = agreeing.sum(0)
        within = (raters**2 - (counts * agreeing).sum(1)) / np.maximum(raters - 1, 1)
        expected = float(count) ** 2 - labels @ counts.sum(0)
        by_expected = 2 * (count * raters - counts @ labels)
        by_within = within
    else:
        within, by_within, expected, by_expected = _ordinal_parts(ratings, present)
    disagreement = within.sum()
    moved = -(by_within * (count - 1) + disagreement * raters) / expected
    moved += disagreement * (count - 1) / expected**2 * by_expected
    # The correction for few ratings (count - 1) is not scale free: influences add up to nearly 0, and are centred.
    units = raters > 0
    return np.where(units, moved - moved[units].mean(), 0.0)


def spearman_influence(first: Ints, second: Ints) -> Floats:
    """Of Spearman's correlation of two lists of ordered codes that are dense (0, 1, 2, ... all occur)."""
    count = len(first)
    left, right = (centred_ranks(np.bincount(codes))[codes] / count for codes in (first, second))
    together = np.mean(left * right)
    spread = np.sqrt(np.mean(left**2)), np.mean(left**2), np.sqrt(np.mean(right**2)), np.mean(right**2)
    by_order = _above(first, right) + _above(second, left)
    by_together = left * right + by_order / count - 3 * together
    by_left = left**2 + 2 * _above(first, left) / count - 3 * spread[1]
    by_right = right**2 + 2 * _above(second, right) / count - 3 * spread[3]
    value = together / (spread[0] * spread[2])
    moved = by_together / (spread[0] * spread[2]) - value / 2 * (by_left / spread[1] + by_right / spread[3])
    return np.asarray(moved / count)


def pearson_influence(first: Floats, second: Floats) -> Floats:
    """Of Pearson's correlation of two lists of numbers that both vary."""
    left, right = ((values - values.mean()) / values.std() for values in (first, second))
    return np.asarray((left * right - np.mean(left * right) * (left**2 + right**2) / 2) / len(left))


def _ordinal_parts(codes: Ints, present: NDArray[np.bool_]) -> tuple[Floats, Floats, float, Floats]:
    """Disagreement within units, its derivative, expected disagreement, and its derivative, by places in the pooled order."""
    safe = np.where(present, codes, 0)
    totals = np.bincount(codes[present]).astype(np.float64)
    place = np.cumsum(totals) - totals / 2
    raters = present.sum(1)
    own = np.where(present, place[safe], 0.0)
    apart = np.where(present, own - (own.sum(1) / np.maximum(raters, 1))[:, None], 0.0)
    scale = np.where(raters >= 2, raters / np.maximum(raters - 1, 1), 0.0)
    within = 2 * scale * (apart**2).sum(1)
    pull = np.bincount(codes[present], (4 * scale[:, None] * apart)[present], minlength=len(totals))
    by_label = _suffix(pull)
    count, total, square = totals.sum(), totals @ place, totals @ place**2
    expected = 2 * (count * square - total**2)
    expected_by_label = 2 * (square + count * place**2 - 2 * place * total)
    expected_by_label += _suffix(4 * totals * (count * place - total))
    by_within = within + np.where(present, by_label[safe], 0.0).sum(1)
    return within, by_within, float(expected), np.where(present, expected_by_label[safe], 0.0).sum(1)


def _above(codes: Ints, values: Floats) -> Floats:
    """For each unit the sum of the values of units with a higher code, and half of those with the same."""
    return np.asarray(_suffix(np.bincount(codes, values))[codes])


def _suffix(values: NDArray[Any]) -> Floats:
    return np.asarray(values.sum() - np.cumsum(values) + values / 2)
