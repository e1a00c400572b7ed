"""Agreement between raters: percent, Cohen's, weighted and Fleiss' kappa, Krippendorff's alpha, Spearman.

Ratings are an array of units × raters: integer codes with -1 for a missing rating, or floats with nan. Every statistic has an influence
function: its derivative with respect to the weight of each unit (the infinitesimal jackknife), from which `agreement_intervals`
computes clustered intervals. Influences sum to 0.

Where raters choose between two answers and may declare a tie, `halves` means that the codes are 0, 1 (tie) and 2, and that a tie
half agrees with either answer, just as it scores ½ in accuracy.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Weights = Literal["none", "linear", "quadratic"]
Level = Literal["nominal", "ordinal", "interval"]

SAME_LABEL = "undefined: every rating is the same label, so chance alone would agree as well"
NO_OVERLAP = "undefined: no unit was rated by two raters"
ONE_UNIT = "undefined: only one unit was rated by two raters, and chance cannot be told from agreement on one"
CONSTANT = "undefined: a rater gave the same rating to every shared unit, so there is no order to compare"
TOO_FEW_RANKS = "undefined: fewer than three units were rated by both, and two can always be put in order"


@dataclass(frozen=True)
class Figure:
    """A point value, or None with a note that says why it is undefined."""

    value: float | None
    note: str | None = None


def defined(value: ArrayLike, reason: str) -> Figure:
    """Wrap a number as a `Figure`; nan becomes undefined, with `reason` as the note."""
    return Figure(None, reason) if np.isnan(value) else Figure(float(np.asarray(value)))


def ratio(top: ArrayLike, bottom: ArrayLike) -> Floats:
    """Divide, with nan (undefined) where the divisor is not above 0, and without a warning."""
    over = np.asarray(bottom, dtype=np.float64)
    known = over > 0
    return np.where(known, np.asarray(top) / np.where(known, over, 1.0), np.nan)


# -- arrays of ratings -------------------------------------------------------------------------------------------------


def as_ratings(ratings: ArrayLike) -> NDArray[Any]:
    """Validate an array of units × raters and return it as int64 codes or float64 values."""
    array = np.asarray(ratings)
    if array.ndim != 2:
        raise ValueError(f"ratings must be units × raters, not an array of {array.ndim} dimension(s)")
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64)


def as_codes(codes: ArrayLike) -> Ints:
    """Validate an array of units × raters that must hold integer codes, and return it as int64."""
    array = as_ratings(codes)
    if array.dtype.kind != "i" and array.size:
        raise ValueError("codes must be integers, with -1 for a missing rating")
    return array.astype(np.int64)


def given(ratings: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask of the ratings that are not missing."""
    present: NDArray[np.bool_] = np.isfinite(ratings) if ratings.dtype.kind == "f" else ratings >= 0
    return present


def ranked(ratings: ArrayLike) -> Ints:
    """Convert floats to dense rank codes, equal values sharing one; integer codes are returned unchanged."""
    array = np.asarray(ratings)
    if array.dtype.kind != "f":
        return array.astype(np.int64)
    codes = np.full(array.shape, -1, dtype=np.int64)
    present = np.isfinite(array)
    codes[present] = np.unique(array[present], return_inverse=True)[1]
    return codes


def label_counts(codes: Ints) -> Ints:
    """Count how many raters gave each label to each unit, as an array of units × labels."""
    labels = int(codes.max(initial=-1)) + 1
    unit, rater = np.nonzero(codes >= 0)
    flat = np.bincount(unit * labels + codes[unit, rater], minlength=len(codes) * labels)
    return flat.reshape(len(codes), labels)


def confusion(first: ArrayLike, second: ArrayLike) -> Ints:
    """Count how often each pair of codes was given by two raters to the same unit."""
    left, right = _shared(np.asarray(first), np.asarray(second))
    labels = int(max(left.max(initial=-1), right.max(initial=-1))) + 1
    return np.bincount(left * labels + right, minlength=labels * labels).reshape(labels, labels)


def label_credit(labels: int, halves: bool) -> Floats:
    """Return the agreement of every two labels, labels × labels: 1 if equal; with `halves`, ½ if one of them is the tie."""
    return 1 - distances(labels, "linear") / 2 if halves else np.eye(labels)


def distances(labels: int, weights: Weights) -> Floats:
    """Return the distance of every two labels, labels × labels: 0 or 1 without weights."""
    gap = np.abs(np.subtract.outer(np.arange(labels), np.arange(labels))).astype(np.float64)
    if weights == "quadratic":
        return gap**2
    return gap if weights == "linear" else (gap > 0).astype(np.float64)


def _shared(first: NDArray[Any], second: NDArray[Any]) -> tuple[Ints, Ints]:
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError("two raters' ratings must be two lists of the same length")
    if "f" in (first.dtype.kind + second.dtype.kind) and first.size:
        raise ValueError("codes must be integers, with -1 for a missing rating")
    both = (first >= 0) & (second >= 0)
    return first[both].astype(np.int64), second[both].astype(np.int64)


def _too_few(units: int) -> Figure | None:
    """Return the undefined figure if there are too few shared units to correct for chance, else None."""
    return None if units > 1 else Figure(None, ONE_UNIT if units else NO_OVERLAP)


# -- percent agreement and Fleiss' kappa ---------------------------------------------------------------------------------


def unit_sums(counts: Ints, halves: bool = False) -> Floats:
    """Return the columns that percent agreement and Fleiss' kappa sum over units: agreement, shared (0 or 1), label shares."""
    raters = counts.sum(1)
    shared = raters >= 2
    pairs = np.where(shared, raters * (raters - 1), 1)
    agreement = ((counts * (counts @ label_credit(counts.shape[1], halves))).sum(1) - raters) / pairs
    shares = counts / np.maximum(raters, 1)[:, None]
    return np.column_stack([np.where(shared, agreement, 0.0), shared, shares])


def percent_agreement(codes: ArrayLike, halves: bool = False) -> Figure:
    """Return the share of agreeing rater pairs on a unit, averaged over units with two or more ratings."""
    agreement, shared = unit_sums(label_counts(as_codes(codes)), halves)[:, :2].sum(0)
    return defined(ratio(agreement, shared), NO_OVERLAP)


def percent_influence(sums: Floats) -> Floats:
    """Return the influence of each unit on percent agreement, given its `unit_sums`."""
    agreement, shared = sums[:, :2].T
    return np.asarray((agreement - shared * agreement.sum() / shared.sum()) / shared.sum())


def fleiss_kappa(codes: ArrayLike, halves: bool = False) -> Figure:
    """Return Fleiss' kappa; with missing ratings, Gwet's extension (each unit counts once, whoever rated it)."""
    sums = unit_sums(label_counts(as_codes(codes)), halves).sum(0)
    return _too_few(int(sums[1])) or defined(fleiss_of(sums, halves), SAME_LABEL)


def fleiss_of(sums: Floats, halves: bool = False) -> Floats:
    """Return Fleiss' kappa given the `unit_sums` added up over units."""
    agreement, shared, *labels = sums
    shares = np.array(labels)
    chance = ratio(shares @ label_credit(len(shares), halves) @ shares, shares.sum() ** 2)
    several = (shares > 0).sum() > 1
    return ratio(ratio(agreement, shared) - chance, np.where(several, 1 - chance, 0.0))


def fleiss_influence(sums: Floats, halves: bool = False) -> Floats:
    """Return the influence of each unit on Fleiss' kappa, given its `unit_sums`."""
    shares, labels = sums[:, 2:], sums[:, 2:].sum(0)
    total, expected = labels.sum(), label_credit(len(labels), halves) @ labels
    observed, chance = sums[:, 0].sum() / sums[:, 1].sum(), labels @ expected / total**2
    by_chance = 2 * (shares @ expected) / total**2 - 2 * chance * shares.sum(1) / total
    moved = percent_influence(sums) / (1 - chance) - (1 - observed) / (1 - chance) ** 2 * by_chance
    return np.asarray(moved)


# -- Cohen's kappa -------------------------------------------------------------------------------------------------------


def cohen_kappa(first: ArrayLike, second: ArrayLike, weights: Weights = "none") -> Figure:
    """Return Cohen's kappa of two raters over the units both rated, optionally weighted by the distance between codes."""
    table = confusion(first, second)
    distance, units = distances(len(table), weights), int(table.sum())
    observed = units * float((table * distance).sum())
    expected = float(table.sum(1) @ distance @ table.sum(0))
    return _too_few(units) or defined(1 - ratio(observed, expected), SAME_LABEL)


def kappa_influence(first: Ints, second: Ints, weights: Weights) -> Floats:
    """Return the influence of each unit on Cohen's kappa of two raters who both rated every unit."""
    table = confusion(first, second)
    distance, rows, columns, count = distances(len(table), weights), table.sum(1), table.sum(0), len(first)
    observed, expected = float((table * distance).sum()), float(rows @ distance @ columns)
    by_chance = (distance @ columns)[:, None] + rows @ distance
    gradient = (observed * count / expected * by_chance - distance * count - observed) / expected
    return np.asarray(gradient[first, second])


# -- Krippendorff's alpha --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Disagreement:
    """Observed and expected disagreement of alpha, with their derivatives with respect to each unit's weight."""

    raters: Ints
    """Number of raters of each unit; 0 if fewer than two rated it."""
    within: float
    expected: float
    by_within: Floats
    by_expected: Floats


def krippendorff_alpha(ratings: ArrayLike, level: Level, halves: bool = False) -> Figure:
    """Return Krippendorff's alpha for nominal, ordinal or interval ratings, over units with two or more ratings."""
    found = _disagreement(as_ratings(ratings), level, halves)
    alpha = 1 - ratio(found.within * (found.raters.sum() - 1), found.expected)
    return _too_few(int((found.raters > 0).sum())) or defined(alpha, SAME_LABEL)


def alpha_influence(ratings: NDArray[Any], level: Level, halves: bool = False) -> Floats:
    """Return the influence of each unit on Krippendorff's alpha; ratings are codes (-1 for missing) or floats (nan)."""
    found = _disagreement(ratings, level, halves)
    raters, count, expected = found.raters, found.raters.sum(), found.expected
    moved = -(found.by_within * (count - 1) + found.within * raters) / expected
    moved += found.within * (count - 1) / expected**2 * found.by_expected
    # The small-sample correction (count - 1) is not scale invariant, so influences sum only approximately to 0: centre them.
    units = raters > 0
    return np.where(units, moved - moved[units].mean(), 0.0)


def _disagreement(ratings: NDArray[Any], level: Level, halves: bool) -> _Disagreement:
    present = given(ratings)
    present &= (present.sum(1) >= 2)[:, None]
    raters = present.sum(1)
    count, others = float(raters.sum()), np.maximum(raters - 1, 1)
    if level == "nominal":
        counts = label_counts(np.where(present, ranked(ratings), -1))
        agreeing = counts @ label_credit(counts.shape[1], halves)
        labels = agreeing.sum(0)
        within = (raters**2 - (counts * agreeing).sum(1)) / others
        expected, by_expected = count**2 - float(labels @ counts.sum(0)), counts @ labels
        return _Disagreement(raters, within.sum(), expected, within, 2 * (count * raters - by_expected))
    codes, values = ranked(ratings)[present], np.zeros(ratings.shape)
    totals = np.bincount(codes).astype(np.float64)
    # Krippendorff's ordinal distance is the squared distance between mid-ranks in the pooled ratings.
    place = np.cumsum(totals) - totals / 2
    numbers = place[codes] if level == "ordinal" else ratings[present].astype(np.float64)
    lowest = numbers.min(
        initial=np.inf
    )  # subtracting the minimum makes a constant table come out as exactly 0
    values[present] = numbers - lowest
    mean = values.sum(1) / np.maximum(raters, 1)
    apart = np.where(present, values - mean[:, None], 0.0)
    within = 2 * raters * (apart**2).sum(1) / others
    total, square = values.sum(), (values**2).sum()
    expected = 2 * (count * square - total**2)
    by_expected = 2 * (raters * square + count * (values**2).sum(1) - 2 * total * values.sum(1))
    if expected <= 1e-12 * count * square:
        expected = 0.0  # rounding error, not variance
    if level == "interval":
        return _Disagreement(raters, within.sum(), expected, within, by_expected)
    # A unit also shifts the mid-ranks of the ratings above its own.
    pull = np.bincount(codes, (4 * (raters / others)[:, None] * apart)[present], minlength=len(totals))
    by_place = np.zeros((2, *ratings.shape))
    by_place[:, present] = (
        _suffix(pull)[codes],
        _suffix(4 * totals * (count * (place - lowest) - total))[codes],
    )
    more = by_place.sum(2)
    return _Disagreement(raters, within.sum(), expected, within + more[0], by_expected + more[1])


# -- correlations --------------------------------------------------------------------------------------------------------


def spearman(first: ArrayLike, second: ArrayLike) -> Figure:
    """Return Spearman's rank correlation of two raters over the units both rated; ties get their mid-rank."""
    left, right = (_centred_ranks(codes) for codes in _shared(ranked(first), ranked(second)))
    if len(left) < 3:
        return Figure(None, TOO_FEW_RANKS if len(left) else NO_OVERLAP)
    return defined(ratio(left @ right, np.sqrt((left @ left) * (right @ right))), CONSTANT)


def spearman_influence(first: Ints, second: Ints) -> Floats:
    """Return the influence of each unit on Spearman's correlation of two lists of dense ordered codes (0, 1, 2, ... all occur)."""
    count = len(first)
    left, right = (_centred_ranks(codes) / count for codes in (first, second))
    together, left_spread, right_spread = np.mean(left * right), np.mean(left**2), np.mean(right**2)
    by_order = _above(first, right) + _above(second, left)
    by_together = left * right + by_order / count - 3 * together
    by_left = left**2 + 2 * _above(first, left) / count - 3 * left_spread
    by_right = right**2 + 2 * _above(second, right) / count - 3 * right_spread
    spread = np.sqrt(left_spread * right_spread)
    moved = by_together / spread - together / spread / 2 * (by_left / left_spread + by_right / right_spread)
    return np.asarray(moved / count)


def pearson_influence(first: Floats, second: Floats) -> Floats:
    """Return the influence of each unit on Pearson's correlation of two lists of numbers, neither of them constant."""
    left, right = ((values - values.mean()) / values.std() for values in (first, second))
    return np.asarray((left * right - np.mean(left * right) * (left**2 + right**2) / 2) / len(left))


def _centred_ranks(codes: Ints) -> Floats:
    """Return the mid-rank of each code, centred on the overall mean rank."""
    counts = np.bincount(codes)
    return np.asarray((np.cumsum(counts) - counts / 2 - len(codes) / 2)[codes])


def _above(codes: Ints, values: Floats) -> Floats:
    """Return, for each unit, the sum of `values` over units with a higher code plus half the sum over units with the same code."""
    return np.asarray(_suffix(np.bincount(codes, values))[codes])


def _suffix(values: NDArray[Any]) -> Floats:
    return np.asarray(values.sum() - np.cumsum(values) + values / 2)
