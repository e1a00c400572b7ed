"""Intervals of estimates that are not means, from their influence functions; and the logistic regression that uses them.

The influence of every row times the number of rows turns an estimate into a mean, whose interval is that of `cluster_mean`. Rows of
one person and prompt are added up first: the rows of a judge and of people on one item, or of several comparisons on one item, are
one observation and must not count as independent.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from personafit.statistics.clusters import Estimate, cluster_mean, dense_codes

Floats = NDArray[np.float64]

# A weak ridge: it keeps coefficients of separated data finite, and moves others by far less than their standard error.
RIDGE = 0.05
STEPS = 100


def influence_estimate(
    value: float, influence: Floats, people: ArrayLike, prompts: ArrayLike | None = None
) -> Estimate:
    """Return the value with its clustered interval; `influence` has one number per row, and they sum to about 0."""
    who, asked = dense_codes(people)[0], None
    if prompts is not None:
        asked, different = dense_codes(prompts)
        both = who * different + asked
        place, count = dense_codes(both)
        cells = np.empty(count, dtype=np.intp)
        cells[place] = both
        influence = np.bincount(place, influence, minlength=count).astype(np.float64)
        who, asked = np.divmod(cells, max(different, 1))
    # With a ridge the influences do not sum exactly to 0; centre them.
    values = value + len(influence) * (influence - influence.mean() if len(influence) else influence)
    return replace(cluster_mean(values, who, asked), value=value)


def logistic(x: Floats, y: Floats, ridge: float = RIDGE) -> tuple[Floats, Floats]:
    """Regress choices in [0, 1] on the columns of x; return the weights and the influence of each row on them (rows × columns).

    The penalised likelihood is concave; a step that overshoots is halved. Sums use einsum, not BLAS: with few columns its threads
    would spend longer on synchronisation.
    """
    weights = np.zeros(x.shape[1])
    x = np.ascontiguousarray(x)

    def lead_of(w: Floats) -> Floats:
        return np.asarray(np.einsum("ij,j->i", x, w))

    def likelihood(w: Floats) -> float:
        lead = lead_of(w)
        return float(y @ lead - np.logaddexp(0, lead).sum() - ridge * w @ w / 2)

    def information(p: Floats) -> Floats:
        return np.asarray(np.einsum("ij,i,ik->jk", x, p * (1 - p), x) + ridge * np.eye(len(weights)))

    reached = likelihood(weights)
    for _ in range(STEPS):
        p = expit(lead_of(weights))
        step = np.linalg.solve(information(p), np.einsum("ij,i->j", x, y - p) - ridge * weights)
        size, least = 1.0, reached - 1e-12 * abs(reached)
        while (reached := likelihood(weights + size * step)) < least and size > 1e-10:
            size /= 2
        weights = weights + size * step
        if float(np.abs(step).max(initial=0.0)) < 1e-10:
            break
    p = expit(lead_of(weights))
    return weights, np.asarray(np.linalg.solve(information(p), (x * (y - p)[:, None]).T).T)
