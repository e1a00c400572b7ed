"""What pulls at a choice: logistic regressions of choices, with intervals that cluster by person (and by prompt).

A choice is 1, 0 or anything between (a tie is ½, a vote its share). Every row of the design is a difference between the two
answers, so there is no intercept: turn the pair round and both the choice and the row change sides. Each coefficient is
reported through its influence function, the part every row has in it; that makes it a mean like any other, and the
difference of two regressions on the same people is paired by adding up both parts person by person (a stacked sandwich).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from personafit.statistics.clusters import FEWEST_PEOPLE, Estimate, cluster_mean

Floats = NDArray[np.float64]

# A faint pull of the coefficients to zero: keeps separated data finite, moves others by less than they are known.
RIDGE = 0.05
STEPS = 100
SEPARATED = "no interval: these features tell every choice apart, so the odds have no upper bound"


@dataclass(frozen=True)
class Fit:
    """A fitted regression: log-odds per unit of each column, and what every row contributed to them."""

    weights: Floats
    influence: Floats
    """Rows × columns; the sums over people, squared and added up, are the variances."""
    people: NDArray[Any]
    prompts: NDArray[Any] | None
    separated: bool


def fit_choices(
    design: ArrayLike,
    choices: ArrayLike,
    people: ArrayLike,
    prompts: ArrayLike | None = None,
    ridge: float = RIDGE,
) -> Fit:
    """Regress choices in [0, 1] on the columns of the design; prompts are a second kind of cluster if given."""
    x, y = np.asarray(design, dtype=np.float64), np.asarray(choices, dtype=np.float64)
    who = np.asarray(people)
    asked = None if prompts is None else np.asarray(prompts)
    if x.ndim != 2 or not len(x) == len(y) == len(who):
        raise ValueError("design, choices and people must have one row per choice")
    if len(y) and not (np.isfinite(x).all() and (y >= 0).all() and (y <= 1).all()):
        raise ValueError("designs must be finite and choices within 0 and 1")
    weights = _newton(x, y, ridge)
    p = expit(x @ weights)
    information = x.T @ (x * (p * (1 - p))[:, None]) + ridge * np.eye(x.shape[1])
    influence = np.linalg.solve(information, (x * (y - p)[:, None]).T).T
    return Fit(weights, influence, who, asked, not _balanced(x, y, y - p) and separated(x, y))


def separated(design: ArrayLike, choices: ArrayLike) -> bool:
    """Whether some weighting of the columns is never against a choice and sometimes for one.

    Then the likelihood has no maximum and the ridge alone decides how large a coefficient is. A linear programme finds out
    (Konis 2007); a choice between 0 and 1 counts as both.
    """
    x, y = np.asarray(design, dtype=np.float64), np.asarray(choices, dtype=np.float64)
    if not x.size:
        return False
    hard = (y == 0) | (y == 1)
    toward = np.unique(x[hard] * (2 * y[hard] - 1)[:, None], axis=0)
    both = np.unique(x[~hard], axis=0)
    if not toward.any():
        return False
    from scipy.optimize import linprog

    found = linprog(
        -toward.sum(0),
        A_ub=-toward,
        b_ub=np.zeros(len(toward)),
        A_eq=both if len(both) else None,
        b_eq=np.zeros(len(both)) if len(both) else None,
        bounds=(-1, 1),
    )
    return bool(found.status == 0 and -found.fun > 1e-7 * np.abs(toward).sum())


def _balanced(x: Floats, y: Floats, residuals: Floats) -> bool:
    """A cheap proof that nothing is separated: residuals on the right sides of all choices that cancel in every column.

    They cancel at the maximum of the likelihood but for the ridge's pull; if that small rest can be taken off without turning
    a residual round, no direction can favour every choice (Stiemke's lemma), and the linear programme is not needed.
    """
    if not x.size:
        return True
    rest = x.T @ residuals
    moved = residuals - np.linalg.lstsq(x.T, rest, rcond=None)[0]
    return bool(((y == 1) <= (moved > 0)).all() and ((y == 0) <= (moved < 0)).all())


def effect(fit: Fit, column: int) -> Estimate:
    """The log-odds of one column with its clustered interval."""
    return _estimate([(fit, column, 1.0)])


def effect_difference(first: Fit, first_column: int, second: Fit, second_column: int) -> Estimate:
    """The log-odds of a column in one regression minus that of a column in another, paired by person."""
    return _estimate([(first, first_column, 1.0), (second, second_column, -1.0)])


def as_odds(log_odds: Estimate) -> Estimate:
    """Log-odds as an odds ratio; a difference of log-odds becomes a ratio of odds ratios."""
    value, low, high = (
        None if number is None else float(np.exp(np.clip(number, -700, 700)))
        for number in (log_odds.value, log_odds.low, log_odds.high)
    )
    return Estimate(value, low, high, log_odds.n, log_odds.people, log_odds.note)


def _estimate(parts: list[tuple[Fit, int, float]]) -> Estimate:
    value = float(sum(sign * fit.weights[column] for fit, column, sign in parts))
    rows = [sign * fit.influence[:, column] for fit, column, sign in parts]
    # The ridge leaves a small rest where influences would add up to zero; it belongs to no person.
    pulled = np.concatenate([row - row.mean() if len(row) else row for row in rows])
    people = np.concatenate([fit.people for fit, _, _ in parts])
    n, met = len(parts[0][0].people), len(np.unique(people))
    if not n or not len(parts[-1][0].people):
        return Estimate(None, None, None, n, met, "undefined: there are no choices")
    columns = max(fit.influence.shape[1] for fit, _, _ in parts)
    needed = max(FEWEST_PEOPLE, columns + 2)
    if any(fit.separated for fit, _, _ in parts):
        return Estimate(value, None, None, n, met, SEPARATED)
    if met < needed:
        return Estimate(
            value, None, None, n, met, f"no interval: it needs at least {needed} people, and there are {met}"
        )
    prompts = [fit.prompts for fit, _, _ in parts]
    known = [asked for asked in prompts if asked is not None]
    asked = np.concatenate(known) if len(known) == len(prompts) else None
    spread = cluster_mean(value + len(pulled) * pulled, people, asked)
    return Estimate(value, spread.low, spread.high, n, met)


def _newton(x: Floats, y: Floats, ridge: float) -> Floats:
    """The maximum of the penalised likelihood, which is concave; a step that overshoots is halved."""
    weights = np.zeros(x.shape[1])

    def likelihood(w: Floats) -> float:
        lead = x @ w
        return float(y @ lead - np.logaddexp(0, lead).sum() - ridge * w @ w / 2)

    for _ in range(STEPS):
        p = expit(x @ weights)
        gradient = x.T @ (y - p) - ridge * weights
        information = x.T @ (x * (p * (1 - p))[:, None]) + ridge * np.eye(len(weights))
        step = np.linalg.solve(information, gradient)
        before, size = likelihood(weights), 1.0
        while size > 1e-10 and likelihood(weights + size * step) < before - 1e-12 * abs(before):
            size /= 2
        weights = weights + size * step
        if float(np.abs(step).max(initial=0.0)) < 1e-10:
            break
    return weights
