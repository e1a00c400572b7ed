"""Win rates with length held equal: the rate there would be if both answers were equally long.

A logistic regression of winning on the difference in length, squashed by tanh as AlpacaEval's length-controlled
rate does; the rate at no difference is reported, with a sandwich interval on the logit scale, clustered by person and,
where prompts recur, by prompt.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from personafit.statistics.clusters import Estimate, cluster_mean

# A faint pull of the coefficients to zero: keeps separated data finite, moves others by less than they are known.
RIDGE = 0.05
STEPS = 50


def length_controlled_rate(
    wins: ArrayLike, length_difference: ArrayLike, people: ArrayLike, prompts: ArrayLike | None = None
) -> Estimate:
    """The win rate at equal length; `wins` are in [0, 1], a tie being ½, lengths are ours minus theirs.

    A comparison without a length difference (nan), such as one lost because no answer was made, counts in the rate as it
    stands and tells nothing about length: the rate at equal length is that of the others, and all are averaged.
    """
    y = np.asarray(wins, dtype=np.float64)
    difference = np.asarray(length_difference, dtype=np.float64)
    known = np.isfinite(difference)
    if len(y) == 0:
        return Estimate(None, None, None, 0, 0, "nothing to compare")
    if not y[known].any() or (y[known] == 1.0).all():  # no variation to regress on: exact, over people
        return cluster_mean(y, people, prompts, (0.0, 1.0))
    # What each comparison does to the rate: its mean is the rate.
    part = y.copy()
    part[known] = _parts_at_equal_length(y[known], difference[known])
    value = float(part.mean())
    moved = cluster_mean(logit(value) + (part - value) / (value * (1 - value)), people, prompts)
    if moved.low is None or moved.high is None:
        return Estimate(value, None, None, len(y), moved.people, moved.note)
    return Estimate(value, float(expit(moved.low)), float(expit(moved.high)), len(y), moved.people)


def _parts_at_equal_length(y: NDArray[np.float64], difference: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rate at no difference in length, plus what each comparison has moved it by, times their number."""
    spread = float(difference.std())
    shape = np.tanh(difference / spread) if spread else np.zeros_like(difference)
    design = np.column_stack([np.ones_like(shape), shape])
    weights, information = _fit(design, y)
    rate = float(expit(weights[0]))
    scores = design * (y - expit(design @ weights))[:, None]
    influence = np.linalg.solve(information, scores.T)[0]
    # The ridge leaves a small rest that belongs to nobody.
    return np.asarray(rate + rate * (1 - rate) * len(y) * (influence - influence.mean()), dtype=np.float64)


def _fit(
    design: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    weights = np.zeros(design.shape[1])
    penalty = RIDGE * np.eye(design.shape[1])
    information = penalty
    for _ in range(STEPS):
        p = expit(design @ weights)
        gradient = design.T @ (y - p) - RIDGE * weights
        information = design.T @ (design * (p * (1 - p))[:, None]) + penalty
        step = np.linalg.solve(information, gradient)
        weights = weights + step
        if float(np.abs(step).max()) < 1e-10:
            break
    return weights, information
