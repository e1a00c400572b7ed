"""Win rates with length held equal: the rate there would be if both answers were equally long.

A logistic regression of winning on the difference in length, squashed by tanh as AlpacaEval's length-controlled
rate does; the rate at no difference is reported, with a person-clustered sandwich interval on the logit scale.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from personafit.statistics.clusters import Estimate, cluster_mean
from personafit.statistics.student import student_reach

# A faint pull of the coefficients to zero: keeps separated data finite, moves others by less than they are known.
RIDGE = 0.05
STEPS = 50


def length_controlled_rate(wins: ArrayLike, length_difference: ArrayLike, people: ArrayLike) -> Estimate:
    """The win rate at equal length; `wins` are in [0, 1], a tie being ½, lengths are ours minus theirs."""
    y = np.asarray(wins, dtype=np.float64)
    difference = np.asarray(length_difference, dtype=np.float64)
    unique, codes = np.unique(np.asarray(people), return_inverse=True)
    if len(y) == 0:
        return Estimate(None, None, None, 0, 0, "nothing to compare")
    if not y.any() or (y == 1.0).all():  # no variation to regress on: exact, over people
        return cluster_mean(y, np.asarray(people), bounds=(0.0, 1.0))
    spread = float(difference.std())
    shape = np.tanh(difference / spread) if spread else np.zeros_like(difference)
    design = np.column_stack([np.ones_like(shape), shape])
    weights, information = _fit(design, y)
    value = float(expit(weights[0]))
    if len(unique) < 3:
        return Estimate(
            value, None, None, len(y), len(unique), "fewer than three people: no interval can be given"
        )
    scores = design * (y - expit(design @ weights))[:, None]
    sums = np.zeros((len(unique), 2))
    np.add.at(sums, codes, scores)
    inverse = np.linalg.inv(information)
    covariance = len(unique) / (len(unique) - 1) * inverse @ (sums.T @ sums) @ inverse
    margin = student_reach(len(unique) - 1) * float(covariance[0, 0]) ** 0.5
    low, high = expit(weights[0] - margin), expit(weights[0] + margin)
    return Estimate(value, float(low), float(high), len(y), len(unique))


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
