"""Calibration of a rater's confidence: reliability table and expected calibration error.

Confidence is the probability a rater gives to its own choice; `correct` is 1 if that choice was right, 0 if
not, ½ for a tie. Equal confidences always share a bin, so no result depends on the order of the rows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from personafit.statistics.agreement import Figure, Floats, Ints

BINS = 10
_NOTHING = "undefined: there are no judgments with a confidence"


@dataclass(frozen=True)
class Bin:
    """A bin of judgments with similar confidence: range, count, mean confidence and share correct."""

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float


def choice_confidence(margins: ArrayLike) -> Floats:
    """Return the probability of the chosen side from the log-odds margin between two answers."""
    return np.asarray(expit(np.abs(np.asarray(margins, dtype=np.float64))))


def reliability_table(confidence: ArrayLike, correct: ArrayLike, bins: int = BINS) -> tuple[Bin, ...]:
    """Return accuracy and confidence in bins of equal mass; equal confidences share a bin, so there may be fewer than `bins`."""
    values, right = _checked(confidence, correct)
    if not len(values):
        return ()
    place = _bin_of_each(values, bins)
    table = []
    for number in np.unique(place):
        inside = place == number
        held = values[inside]
        low, high, mean = float(held.min()), float(held.max()), float(held.mean())
        table.append(Bin(low, high, len(held), mean, float(right[inside].mean())))
    return tuple(table)


def calibration_error(confidence: ArrayLike, correct: ArrayLike, bins: int = BINS) -> Figure:
    """Return the expected calibration error: the mean gap between confidence and accuracy over bins of equal mass."""
    table = reliability_table(confidence, correct, bins)
    total = sum(part.n for part in table)
    if not total:
        return Figure(None, _NOTHING)
    return Figure(sum(part.n * abs(part.confidence - part.accuracy) for part in table) / total)


def chance_error(confidence: Floats, draws: int) -> float:
    """Simulate the mean calibration error of perfectly calibrated confidences in bins of this size; it is never 0."""
    place, rng = _bin_of_each(confidence, BINS), np.random.default_rng(0)
    expected = np.bincount(place, confidence)
    errors = [
        np.abs(expected - np.bincount(place, rng.random(len(confidence)) < confidence)).sum()
        for _ in range(draws)
    ]
    return float(np.mean(errors) / len(confidence))


def _bin_of_each(values: Floats, bins: int) -> Ints:
    """Return the equal-mass bin of each judgment; equal confidences share the bin of their mid-rank."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(sizes) - sizes / 2
    return np.asarray(np.minimum((bins * middle / len(values)).astype(np.int64), bins - 1)[group])


def _checked(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Floats]:
    values, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    if values.shape != right.shape or values.ndim != 1:
        raise ValueError("confidence and correct must be two lists of the same length")
    known = np.isfinite(values) & np.isfinite(right)
    return values[known], right[known]
