"""Cross-fitting for the small models: fit without some groups, and calibrate on scores of the held-out rows.

People, prompts or both are dealt into folds and their rows follow, so that nobody's own judgments are used to score them.
"""

from collections.abc import Hashable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from personafit.raters.fitted.model import Floats, Rows

Bools = NDArray[np.bool_]
Split = list[tuple[Rows, Rows]]
"""For each fold, the rows to fit on and the rows held out."""

CALIBRATION_PENALTY = 0.001
_FEW = 100  # columns up to which Newton's method is fast and precise
_STEPS = 1000


def deal_folds(owners: Sequence[Hashable], folds: int, seed: int) -> NDArray[np.int64]:
    """Return a fold for every row such that all rows of an owner share it; fewer folds if there are few owners."""
    distinct = list(dict.fromkeys(owners))
    if len(distinct) < 2 or folds < 2:
        raise ValueError(f"A split needs at least 2 people and 2 folds, not {len(distinct)} and {folds}.")
    order = np.random.default_rng(seed).permutation(len(distinct))
    fold_of = {distinct[int(owner)]: place % folds for place, owner in enumerate(order)}
    return np.array([fold_of[owner] for owner in owners], dtype=np.int64)


def group_split(*groupings: Sequence[Any] | NDArray[Any]) -> Split:
    """Hold out each group in turn, every row once; with several groupings, fitted rows share no group with held-out ones."""
    codes = np.column_stack([np.unique(groups, return_inverse=True)[1] for groups in groupings])
    split = []
    for group in np.unique(codes, axis=0):
        shared = codes == group
        split.append((np.flatnonzero(~shared.any(axis=1)), np.flatnonzero(shared.all(axis=1))))
    return split


def rows_by(labels: Sequence[Hashable]) -> list[Rows]:
    """Return the rows of each label, in order of the labels' first occurrence."""
    places: dict[Hashable, list[int]] = {}
    for row, label in enumerate(labels):
        places.setdefault(label, []).append(row)
    return [np.array(rows, dtype=np.intp) for rows in places.values()]


def fit_logistic(
    inputs: Any, truth: Bools, penalty: float, *, intercept: bool = True, start: Floats | None = None
) -> tuple[Floats, float]:
    """Return weights and intercept of an L2-penalised logistic regression; weights are 0 if all labels are equal."""
    from sklearn.linear_model import LogisticRegression

    if truth.all() or not truth.any() or not inputs.shape[1]:
        share = np.clip(truth.mean(), 1e-13, 1 - 1e-13)
        return np.zeros(inputs.shape[1]), float(np.log(share / (1 - share))) if intercept else 0.0
    few = inputs.shape[1] <= _FEW
    model = LogisticRegression(
        C=1 / penalty,
        fit_intercept=intercept,
        solver="newton-cholesky" if few else "lbfgs",
        tol=1e-10 if few else 1e-6,
        max_iter=_STEPS,
        warm_start=start is not None,
    )
    if start is not None:
        model.coef_, model.intercept_ = start[None], np.zeros(1)
    model.fit(inputs, truth)
    return cast(Floats, model.coef_[0].astype(np.float64)), float(model.intercept_[0]) if intercept else 0.0


def fit_choices(differences: Any, penalty: float, start: Floats | None = None) -> Floats:
    """Return weights fitted on chosen-minus-rejected features; without an intercept, margins are antisymmetric."""
    from scipy.sparse import diags

    first = np.arange(differences.shape[0]) % 2 == 0  # scikit-learn requires both labels
    turned = diags(np.where(first, 1.0, -1.0)).tocsr() @ differences
    return fit_logistic(turned, first, penalty, intercept=False, start=start)[0]


def calibrate(scores: Floats, truth: Bools) -> tuple[float, float]:
    """Return slope and intercept that turn held-out scores into log odds (Platt scaling)."""
    inputs = np.column_stack([scores, np.ones(len(scores))])
    slope, constant = fit_logistic(inputs, truth, CALIBRATION_PENALTY, intercept=False)[0]
    # A negative slope would reverse the scores; it only occurs if there is nothing to learn.
    return max(float(slope), 1e-6), float(constant)


def blend(scores: Floats) -> Floats:
    """Return non-negative weights that combine the columns into calibrated log odds of chosen over rejected."""
    counted = np.ones(scores.shape[1], dtype=bool)
    while True:
        weights = np.zeros(len(counted))
        weights[counted] = fit_choices(scores[:, counted], CALIBRATION_PENALTY)
        if (weights >= 0).all():
            return weights
        counted &= weights > 0
