"""Intervals of estimates that are no means, from their influence functions, and the logistic regression that is reported by them.

What every row does to an estimate, times the number of rows, makes the estimate a mean like any other, and its interval that of
`cluster_mean`. Rows of one person and prompt are added up first: those of a judge and of people on one item, or of several
comparisons on one item, are one observation, and what they share must not count as independent.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from personafit.statistics.clusters import DENSE, Estimate, cluster_mean, dense_codes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A faint pull of the coefficients to zero: keeps separated data finite, moves others by less than they are known.
RIDGE = 0.05
STEPS = 100


def influence_estimate(
    value: float, influence: Floats, people: ArrayLike, prompts: ArrayLike | None = None
) -> Estimate:
    """The value with its clustered interval; `influence` has one number per row, and they add up to about 0."""
    who, asked = _numbers(people), None
    if prompts is not None:
        asked = _numbers(prompts)
        both = who * (asked.max(initial=0) + 1) + asked
        place, count = dense_codes(both)
        cells = np.empty(count, dtype=np.int64)
        cells[place] = both
        influence = np.bincount(place, influence, minlength=count).astype(np.float64)
        who, asked = np.divmod(cells, asked.max(initial=0) + 1)
    # A ridge leaves a small rest where influences would add up to zero; it belongs to nobody.
    values = value + len(influence) * (influence - influence.mean() if len(influence) else influence)
    return replace(cluster_mean(values, who, asked), value=value)


def logistic(x: Floats, y: Floats, ridge: float = RIDGE) -> tuple[Floats, Floats]:
    """Regress choices in [0, 1] on the columns of x: the weights, and rows × columns what each row has moved them by.

    The penalised likelihood is concave; a step that overshoots is halved.
    """
    weights = np.zeros(x.shape[1])

    def likelihood(w: Floats) -> float:
        lead = x @ w
        return float(y @ lead - np.logaddexp(0, lead).sum() - ridge * w @ w / 2)

    def information(p: Floats) -> Floats:
        return np.asarray(x.T @ (x * (p * (1 - p))[:, None]) + ridge * np.eye(len(weights)))

    for _ in range(STEPS):
        p = expit(x @ weights)
        step = np.linalg.solve(information(p), x.T @ (y - p) - ridge * weights)
        before, size = likelihood(weights), 1.0
        while size > 1e-10 and likelihood(weights + size * step) < before - 1e-12 * abs(before):
            size /= 2
        weights = weights + size * step
        if float(np.abs(step).max(initial=0.0)) < 1e-10:
            break
    p = expit(x @ weights)
    return weights, np.asarray(np.linalg.solve(information(p), (x * (y - p)[:, None]).T).T)


def _numbers(labels: ArrayLike) -> Ints:
    """Whole numbers for labels; labels that are small whole numbers already stay as they are."""
    values = np.asarray(labels)
    if values.dtype.kind in "iu" and len(values) and values.min() >= 0 and values.max() < DENSE * len(values):
        return values.astype(np.int64)
    return np.unique(values, return_inverse=True)[1].astype(np.int64)
