"""Length control: win rates adjusted to equal response length, and scores with the effect of length removed.

The win rate comes from a logistic regression of winning on the difference in length, squashed by tanh as in AlpacaEval's
length-controlled win rate. The rate at no difference is reported, with a sandwich interval on the logit scale, clustered by person
and, where prompts recur, by prompt.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from personafit.statistics.clusters import Estimate, cluster_mean
from personafit.statistics.influence import logistic

Floats = NDArray[np.float64]

LEAST_PROMPTS = 10  # with fewer, the regression line would fit noise in the scores


@dataclass(frozen=True)
class LengthControl:
    """Length-adjusted scores, and the relation of score to length within a prompt."""

    adjusted: NDArray[np.float64]
    slope: float | None
    """Points of score per doubling of the length; None with too few prompts."""
    explained: float | None
    """Share of the scores' variance within prompts that length explains."""


def length_controlled(scores: ArrayLike, lengths: ArrayLike, prompts: ArrayLike) -> LengthControl:
    """Remove from scores their linear trend on log length, with one slope for all prompts and each prompt centred on its mean.

    Only differences within a prompt count: some prompts get longer and better responses, which is not a bias.
    """
    score = np.asarray(scores, dtype=np.float64)
    size = np.log2(1.0 + np.asarray(lengths, dtype=np.float64))
    _, codes = np.unique(np.asarray(prompts), return_inverse=True)
    counts = np.bincount(codes)
    if int((counts > 1).sum()) < LEAST_PROMPTS:
        return LengthControl(score, None, None)
    apart = size - (np.bincount(codes, weights=size) / counts)[codes]
    around = score - (np.bincount(codes, weights=score) / counts)[codes]
    spread, both, varied = float(apart @ apart), float(apart @ around), float(around @ around)
    if spread == 0.0 or varied == 0.0:
        return LengthControl(score, 0.0, 0.0)
    slope = both / spread
    return LengthControl(score - slope * apart, slope, both**2 / (spread * varied))


def length_controlled_rate(
    wins: ArrayLike, length_difference: ArrayLike, people: ArrayLike, prompts: ArrayLike | None = None
) -> Estimate:
    """Return the win rate at equal length; `wins` are in [0, 1] with ½ for a tie, length differences are ours minus theirs.

    A comparison without a length difference (nan), such as one lost because no response was made, is left out of the regression
    and enters the average as it stands.
    """
    y = np.asarray(wins, dtype=np.float64)
    difference = np.asarray(length_difference, dtype=np.float64)
    known = np.isfinite(difference)
    if len(y) == 0:
        return Estimate(None, None, None, 0, 0, "nothing to compare")
    if not y[known].any() or (y[known] == 1.0).all():  # no variation to regress on: exact, over people
        return cluster_mean(y, people, prompts, (0.0, 1.0))
    # Pseudo-values of the comparisons: their mean is the rate.
    part = y.copy()
    part[known] = _parts_at_equal_length(y[known], difference[known])
    value = float(part.mean())
    moved = cluster_mean(logit(value) + (part - value) / (value * (1 - value)), people, prompts)
    if moved.low is None or moved.high is None:
        return Estimate(value, None, None, len(y), moved.people, moved.note)
    return Estimate(value, float(expit(moved.low)), float(expit(moved.high)), len(y), moved.people)


def _parts_at_equal_length(y: Floats, difference: Floats) -> Floats:
    """Return pseudo-values: the rate at no difference in length plus n times the influence of each comparison."""
    spread = float(difference.std())
    shape = np.tanh(difference / spread) if spread else np.zeros_like(difference)
    design = np.column_stack([np.ones_like(shape), shape])
    weights, moved = logistic(design, y)
    rate, influence = float(expit(weights[0])), moved[:, 0]
    # With a ridge the influences do not sum exactly to 0; centre them.
    return np.asarray(rate + rate * (1 - rate) * len(y) * (influence - influence.mean()), dtype=np.float64)
