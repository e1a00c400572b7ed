"""Bias of choices: logistic regressions of choices on features, with intervals clustered by person (and by prompt).

A choice is 1, 0 or anything between (a tie is ½, votes are a share). Every row of the design is a difference between the two
responses, so there is no intercept: swapping the pair flips both the choice and the row. The interval of a coefficient comes
from its influence function, the contribution of every row, which turns it into a mean; the difference of two regressions on
the same people is paired by adding both contributions person by person (a stacked sandwich).

A coefficient is a preference divided by the noise of the chooser: with the same preferences, a more consistent chooser has
larger coefficients throughout. Two choosers are therefore compared after rescaling one to the other (`taste_difference`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from personafit.statistics.clusters import (
    FEWEST_PEOPLE,
    Estimate,
    dense_codes,
    student_p_value,
    student_reach,
    too_few,
)
from personafit.statistics.influence import RIDGE, influence_estimate, logistic

Floats = NDArray[np.float64]

NO_SCALE = "cannot be told from steadiness: people do not clearly go by any other feature"
SEPARATED = "no interval: these features tell every choice apart, so the odds have no upper bound"


@dataclass(frozen=True)
class Fit:
    """A fitted regression: log-odds per unit of each column, and the influence of every row on them."""

    weights: Floats
    influence: Floats
    """Rows × columns; the variances are the squared sums per person, added up."""
    people: NDArray[Any]
    prompts: NDArray[Any]
    """Prompt of each row; a second kind of cluster where prompts recur across people."""
    separated: bool


class Taste(NamedTuple):
    """The difference between two choosers in their preference for a feature, in log-odds."""

    difference: Estimate
    p: float | None = None
    """P-value of no difference, the larger of the rescaled and the unscaled test; below 0.05 where the interval excludes 0."""
    se: float | None = None
    """Standard error under no difference; the interval of a ratio is wider away from 0."""


class Fraction(NamedTuple):
    """A ratio with its interval, its standard error near 0 and its degrees of freedom."""

    value: float
    low: float
    high: float
    se: float
    df: float


class Parts(NamedTuple):
    """A weighted sum of the coefficients of a fit."""

    fit: Fit
    columns: Sequence[int]
    times: Floats


def fit_choices(
    design: ArrayLike,
    choices: ArrayLike,
    people: ArrayLike,
    prompts: ArrayLike | None = None,
    ridge: float = RIDGE,
) -> Fit:
    """Regress choices in [0, 1] on the columns of the design; prompts, where some recur, are a second kind of cluster.

    Without prompts, every row gets a prompt of its own, numbered so that two fits with the same rows per person share the numbers.
    """
    x, y = np.asarray(design, dtype=np.float64), np.asarray(choices, dtype=np.float64)
    who = np.asarray(people)
    asked = _own_prompts(who) if prompts is None else np.asarray(prompts)
    if x.ndim != 2 or not len(x) == len(y) == len(who):
        raise ValueError("design, choices and people must have one row per choice")
    if len(y) and not (np.isfinite(x).all() and (y >= 0).all() and (y <= 1).all()):
        raise ValueError("designs must be finite and choices within 0 and 1")
    weights, influence = logistic(x, y, ridge)
    balanced = _balanced(x, y, y - expit(x @ weights))
    return Fit(weights, influence, who, asked, not balanced and separated(x, y))


def _own_prompts(people: NDArray[Any]) -> NDArray[Any]:
    """Return a unique number for each row, derived from its person and its place among that person's rows."""
    who, sizes = np.unique(people, return_inverse=True, return_counts=True)[1:]
    order = np.argsort(who, kind="stable")
    starts = np.cumsum(sizes) - sizes
    place = np.empty(len(who), dtype=np.int64)
    place[order] = np.arange(len(who)) - np.repeat(starts, sizes)
    return place * (int(who.max(initial=0)) + 1) + who


def separated(design: ArrayLike, choices: ArrayLike) -> bool:
    """Return whether the data are separated: some combination of the columns never contradicts a choice and sometimes favours one.

    Then the likelihood has no maximum, and the ridge alone determines the size of a coefficient. Tested with a linear
    programme (Konis 2007); a choice between 0 and 1 counts as both.
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
    """Return whether residuals with the right signs that cancel in every column prove that the data are not separated.

    Residuals cancel at the maximum of the likelihood except for the pull of the ridge. If that remainder can be removed without
    flipping a sign, no direction favours every choice (Stiemke's lemma), and the slower linear programme is not needed.
    """
    if not x.size:
        return True
    moved = residuals - x @ (np.linalg.pinv(x.T @ x, hermitian=True) @ (x.T @ residuals))
    return bool(((y == 1) <= (moved > 0)).all() and ((y == 0) <= (moved < 0)).all())


def effect(fit: Fit, column: int) -> Estimate:
    """Return the log-odds of one column with its clustered interval."""
    return _estimate(float(fit.weights[column]), [Parts(fit, [column], np.ones(1))])


def effect_difference(first: Fit, first_column: int, second: Fit, second_column: int) -> Estimate:
    """Return the log-odds of a column in one regression minus that of a column in another, paired by person."""
    value = float(first.weights[first_column] - second.weights[second_column])
    return _estimate(
        value, [Parts(first, [first_column], np.ones(1)), Parts(second, [second_column], -np.ones(1))]
    )


def taste_difference(
    first: Fit, first_columns: Sequence[int], second: Fit, second_columns: Sequence[int]
) -> Taste:
    """Return how much more the first chooser weighs a feature than the second would at equal consistency, in log-odds.

    The first column is the feature; the other columns set the scale: the ratio of the two choosers' coefficients on them, taken
    together, is their relative consistency. The interval covers both the rescaled and the unscaled difference, so it excludes 0 only
    where neither consistency nor a different preference for the other features could explain the difference; the p-value
    likewise. The value is None, with a note, if the second chooser has no clear preference on the other features, because
    preference and consistency cannot then be told apart.
    """
    plain = effect_difference(first, first_columns[0], second, second_columns[0])
    if plain.value is None or plain.low is None or plain.high is None or not plain.se:
        return Taste(plain)
    mine, theirs = first.weights[[*first_columns]], second.weights[[*second_columns]]
    toward = _direction(mine[1:]) + _direction(theirs[1:])
    steady, their_steady = max(0.0, float(toward @ mine[1:])), float(toward @ theirs[1:])
    # The first chooser's coefficient minus the second's times the relative consistency of the first, as one ratio.
    above = [
        Parts(first, first_columns, np.array([their_steady, *(-theirs[0] * toward * (steady > 0))])),
        Parts(second, second_columns, np.array([-steady, *(mine[0] * toward)])),
    ]
    below = [
        Parts(first, first_columns, np.zeros(len(mine))),
        Parts(second, second_columns, np.array([0.0, *toward])),
    ]
    scaled = _ratio(float(their_steady * mine[0] - steady * theirs[0]), above, their_steady, below)
    if scaled is None:
        return Taste(Estimate(None, None, None, plain.n, plain.people, NO_SCALE))
    ends = min(plain.low, scaled.low), max(plain.high, scaled.high)
    freedom = min(scaled.df, plain.df or scaled.df)
    difference = Estimate(scaled.value, *ends, plain.n, plain.people, df=freedom)
    tests = [float(student_p_value(scaled.value / scaled.se, freedom)), plain.p_value() or 0.0]
    apart = scaled.value * plain.value > 0
    return Taste(difference, max(tests) if apart else 1.0, max(scaled.se, plain.se))


def _ratio(
    above: float, above_parts: Sequence[Parts], below: float, below_parts: Sequence[Parts]
) -> Fraction | None:
    """Return a ratio with its Fieller (1954) interval, which keeps its coverage however small the denominator is.

    None if the denominator is not distinguishable from 0, so that the ratio is unbounded. Both lists of parts use the same fits.
    """
    top, bottom = _estimate(above, above_parts), _estimate(below, below_parts)
    if not top.se or not bottom.se or top.df is None or bottom.df is None:
        return None
    times = top.se / bottom.se
    added = [
        one._replace(times=one.times + times * two.times)
        for one, two in zip(above_parts, below_parts, strict=True)
    ]
    both = _estimate(above + times * below, added).se or 0.0
    shared = (both**2 / top.se**2 - 2) / 2 * top.se * bottom.se
    shared = float(np.clip(shared, -0.999 * top.se * bottom.se, 0.999 * top.se * bottom.se))
    freedom = min(top.df, bottom.df)
    reach = student_reach(freedom) ** 2
    square = below**2 - reach * bottom.se**2
    if square <= 0:
        return None
    middle = above * below - reach * shared
    half = float(np.sqrt(max(0.0, middle**2 - square * (above**2 - reach * top.se**2))))
    ends = (middle - half) / square, (middle + half) / square
    return Fraction(above / below, *ends, top.se / abs(below), freedom)


def as_odds(log_odds: Estimate) -> Estimate:
    """Convert log-odds to an odds ratio; a difference of log-odds becomes a ratio of odds ratios."""
    value, low, high = (
        None if number is None else float(np.exp(np.clip(number, -700, 700)))
        for number in (log_odds.value, log_odds.low, log_odds.high)
    )
    return Estimate(value, low, high, log_odds.n, log_odds.people, log_odds.note)


def _estimate(value: float, parts: Sequence[Parts]) -> Estimate:
    """Return a function of the coefficients of one or more fits, with the interval from its influence function."""
    fits = [part.fit for part in parts]
    rows = [part.fit.influence[:, [*part.columns]] @ part.times for part in parts]
    pulled = np.concatenate([row - row.mean() if len(row) else row for row in rows])
    people = np.concatenate([fit.people for fit in fits])
    n, met = len(fits[0].people), dense_codes(people)[1]
    if not n or not len(fits[-1].people):
        return Estimate(None, None, None, n, met, "undefined: there are no choices")
    columns = max(fit.influence.shape[1] for fit in fits)
    needed = max(FEWEST_PEOPLE, columns + 2)
    if any(fit.separated for fit in fits):
        return Estimate(value, None, None, n, met, SEPARATED)
    if met < needed:
        return Estimate(value, None, None, n, met, too_few(met, needed))
    spread = influence_estimate(value, pulled, people, np.concatenate([fit.prompts for fit in fits]))
    return replace(spread, n=n)


def _direction(weights: Floats) -> Floats:
    """Scale the weights to length 1, so that both choosers contribute equally to the common scale."""
    return weights / (float(np.linalg.norm(weights)) or 1.0)
