"""Agreement between raters: percent, Cohen's, weighted and Fleiss' kappa, Krippendorff's alpha, Spearman.

Ratings are an array of units × raters: integer codes with -1 where a rater gave none, or numbers with nan. Every
figure is a formula on a small table of counts that adds up over units; `agreement_intervals` gives the same figures
with their intervals. Inside, nan means undefined; a public function says `None` and why.

Where raters choose between two answers and may be undecided, `halves` says that the codes are 0, 1 (a tie) and 2, and that a tie
half agrees with either answer, as it is worth half a point in accuracy.
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
    """A number, or None with the sentence that says why there is none."""

    value: float | None
    note: str | None = None


def percent_agreement(codes: ArrayLike, halves: bool = False) -> Figure:
    """Share of agreeing pairs of raters on a unit, averaged over the units that two or more rated."""
    counts = label_counts(as_codes(codes))
    units = _shared_units(counts)
    if units == 0:
        return Figure(None, NO_OVERLAP)
    return Figure(float(percent_of(unit_sums(counts, halves).sum(0))))


def cohen_kappa(first: ArrayLike, second: ArrayLike, weights: Weights = "none") -> Figure:
    """Cohen's kappa of two raters over the units both rated; weighted by the distance between codes if asked."""
    table = confusion(first, second)
    units = int(table.sum())
    if units < 2:
        return Figure(None, ONE_UNIT if units else NO_OVERLAP)
    return _figure(kappa_of(table, weights), SAME_LABEL)


def fleiss_kappa(codes: ArrayLike, halves: bool = False) -> Figure:
    """Fleiss' kappa; where votes are missing, Gwet's extension (each unit counts once, whoever rated it)."""
    counts = label_counts(as_codes(codes))
    units = _shared_units(counts)
    if units < 2:
        return Figure(None, ONE_UNIT if units else NO_OVERLAP)
    return _figure(fleiss_of(unit_sums(counts, halves).sum(0), halves), SAME_LABEL)


def krippendorff_alpha(ratings: ArrayLike, level: Level, halves: bool = False) -> Figure:
    """Krippendorff's alpha for nominal, ordinal or interval ratings, over the units two or more raters rated."""
    array = as_ratings(ratings)
    present = np.isfinite(array) if array.dtype.kind == "f" else array >= 0
    shared = present.sum(1) >= 2
    units = int(shared.sum())
    if units < 2:
        return Figure(None, ONE_UNIT if units else NO_OVERLAP)
    array, present = array[shared], present[shared]
    if level == "nominal":
        return _figure(alpha_of(coincidences(label_counts(ranked(array))), level, halves), SAME_LABEL)
    if level == "ordinal":
        # Krippendorff's ordinal distance is the squared distance between places in the pooled order.
        codes = ranked(array)
        totals = np.bincount(codes[present])
        array = np.where(present, (np.cumsum(totals) - totals / 2)[codes], np.nan)
    return _figure(interval_alpha_of(interval_sums(array).sum(0)), SAME_LABEL)


def spearman(first: ArrayLike, second: ArrayLike) -> Figure:
    """Spearman's rank correlation of two raters, ties at their middle rank, over the units both rated."""
    left, right = _shared(ranked(first), ranked(second))
    if len(left) < 3:
        return Figure(None, TOO_FEW_RANKS if len(left) else NO_OVERLAP)
    return _figure(spearman_of(left, right), CONSTANT)


def as_ratings(ratings: ArrayLike) -> NDArray[Any]:
    """Check an array of units × raters and give it as int64 codes or float64 values."""
    array = np.asarray(ratings)
    if array.ndim != 2:
        raise ValueError(f"ratings must be units × raters, not an array of {array.ndim} dimension(s)")
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64)


def as_codes(codes: ArrayLike) -> Ints:
    """Check an array of units × raters that must hold integer codes."""
    array = as_ratings(codes)
    if array.dtype.kind != "i" and array.size:
        raise ValueError("codes must be integers, with -1 for a missing rating")
    return array.astype(np.int64)


def ranked(ratings: ArrayLike) -> Ints:
    """Numbers as codes in their order, equal numbers sharing one; integer codes stay as they are."""
    array = np.asarray(ratings)
    if array.dtype.kind != "f":
        return array.astype(np.int64)
    codes = np.full(array.shape, -1, dtype=np.int64)
    present = np.isfinite(array)
    codes[present] = np.unique(array[present], return_inverse=True)[1]
    return codes


def label_counts(codes: Ints) -> Ints:
    """How many raters gave each label to each unit: units × labels."""
    labels = int(codes.max(initial=-1)) + 1
    unit, rater = np.nonzero(codes >= 0)
    flat = np.bincount(unit * labels + codes[unit, rater], minlength=len(codes) * labels)
    return flat.reshape(len(codes), labels)


def unit_sums(counts: Ints, halves: bool = False) -> Floats:
    """What percent agreement and Fleiss' kappa need of each unit: agreement, whether shared, label shares."""
    raters = counts.sum(1)
    shared = raters >= 2
    pairs = np.where(shared, raters * (raters - 1), 1)
    agreement = ((counts * (counts @ label_credit(counts.shape[1], halves))).sum(1) - raters) / pairs
    shares = counts / np.maximum(raters, 1)[:, None]
    return np.column_stack([np.where(shared, agreement, 0.0), shared, shares])


def interval_sums(ratings: NDArray[Any]) -> Floats:
    """What interval alpha needs of each unit: squared distances within it, its count, sum and sum of squares."""
    present = np.isfinite(ratings) if ratings.dtype.kind == "f" else ratings >= 0
    present &= (present.sum(1) >= 2)[:, None]
    # Counting from the smallest rating makes a table of one label come out as exactly 0.
    values = np.where(present, ratings, 0.0)
    values = np.where(present, values - values[present].min(initial=np.inf), 0.0)
    count = present.sum(1)
    mean = values.sum(1) / np.maximum(count, 1)
    spread = np.where(present, (values - mean[:, None]) ** 2, 0.0).sum(1)
    within = 2 * count * spread / np.maximum(count - 1, 1)
    return np.column_stack([within, count, values.sum(1), (values**2).sum(1)])


def coincidences(counts: Ints) -> Floats:
    """Krippendorff's table of coincidences, labels × labels; units with one rating add none."""
    raters = counts.sum(1)
    scaled = np.where(raters[:, None] >= 2, counts / np.maximum(raters - 1, 1)[:, None], 0.0)
    return np.asarray(scaled.T @ counts - np.diag(scaled.sum(0)))


def confusion(first: ArrayLike, second: ArrayLike) -> Ints:
    """Count how often each pair of codes was given by two raters to the same unit."""
    left, right = _shared(np.asarray(first), np.asarray(second))
    labels = int(max(left.max(initial=-1), right.max(initial=-1))) + 1
    return np.bincount(left * labels + right, minlength=labels * labels).reshape(labels, labels)


def percent_of(sums: Floats) -> Floats:
    """Percent agreement from added-up `unit_sums`."""
    return ratio(sums[..., 0], sums[..., 1])


def fleiss_of(sums: Floats, halves: bool = False) -> Floats:
    """Fleiss' kappa from added-up `unit_sums`."""
    shares = sums[..., 2:]
    expected = (shares * (shares @ label_credit(shares.shape[-1], halves))).sum(-1)
    chance = ratio(expected, shares.sum(-1) ** 2)
    several = (shares > 0).sum(-1) > 1
    return ratio(percent_of(sums) - chance, np.where(several, 1 - chance, 0.0))


def kappa_of(tables: NDArray[Any], weights: Weights) -> Floats:
    """Cohen's kappa from confusion tables, weighted or not."""
    distance = distances(tables.shape[-1], weights)
    rows, columns = tables.sum(-1), tables.sum(-2)
    observed = (tables * distance).sum((-2, -1)) * tables.sum((-2, -1))
    expected = ((rows @ distance) * columns).sum(-1)
    return 1 - ratio(observed, expected)


def alpha_of(tables: Floats, level: Level, halves: bool = False) -> Floats:
    """Krippendorff's alpha from tables of coincidences."""
    totals = tables.sum(-1)
    if level == "ordinal":
        place = np.cumsum(totals, -1) - totals / 2
        distance = (place[..., :, None] - place[..., None, :]) ** 2
    elif level == "nominal":
        distance = 1 - label_credit(tables.shape[-1], halves)
    else:
        distance = distances(tables.shape[-1], "quadratic")
    observed = (tables * distance).sum((-2, -1)) * (totals.sum(-1) - 1)
    expected = (totals[..., :, None] * totals[..., None, :] * distance).sum((-2, -1))
    return 1 - ratio(observed, expected)


def interval_alpha_of(sums: Floats) -> Floats:
    """Krippendorff's interval alpha from added-up `interval_sums`."""
    within, count, total, squares = np.moveaxis(sums, -1, 0)
    expected = 2 * (count * squares - total**2)
    # Ratings of one label leave rounding, not spread.
    expected = np.where(expected > 1e-12 * count * squares, expected, 0.0)
    return 1 - ratio(within * (count - 1), expected)


def spearman_of(first: Ints, second: Ints) -> Floats:
    """Spearman's correlation of two lists of ordered codes."""
    rows, columns = np.bincount(first), np.bincount(second)
    left, right = centred_ranks(rows), centred_ranks(columns)
    together = np.sum(left[first] * right[second])
    return ratio(together, np.sqrt((rows * left**2).sum() * (columns * right**2).sum()))


def ratio(top: ArrayLike, bottom: ArrayLike) -> Floats:
    """Divide, with nan (undefined) where the divisor is not above 0, and without a warning."""
    over = np.asarray(bottom, dtype=np.float64)
    defined = over > 0
    return np.where(defined, np.asarray(top) / np.where(defined, over, 1.0), np.nan)


def centred_ranks(counts: NDArray[Any]) -> Floats:
    """The middle rank of each label, counted from the middle of all; from how often each label occurs."""
    return np.asarray(np.cumsum(counts, -1) - counts / 2 - counts.sum(-1, keepdims=True) / 2)


def label_credit(labels: int, halves: bool) -> Floats:
    """How far two labels agree, labels × labels: 1 if they are the same; with `halves`, ½ if one of them is the tie."""
    return 1 - distances(labels, "linear") / 2 if halves else np.eye(labels)


def distances(labels: int, weights: Weights) -> Floats:
    """How far labels are apart, labels × labels: 0 or 1 without weights."""
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


def _shared_units(counts: Ints) -> int:
    return int((counts.sum(1) >= 2).sum())


def _figure(value: Floats, reason: str) -> Figure:
    return Figure(None, reason) if np.isnan(value) else Figure(float(value))
