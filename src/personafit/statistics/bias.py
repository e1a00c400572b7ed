"""Bias of choices: logistic regressions of choices on features, with intervals that cluster by person (and by prompt).

A choice is 1, 0 or anything between (a tie is ½, a vote its share). Every row of the design is a difference between the two
answers, so there is no intercept: turn the pair round and both the choice and the row change sides. Each coefficient is
reported through its influence function, the part every row has in it; that makes it a mean like any other, and the
difference of two regressions on the same people is paired by adding up both parts person by person (a stacked sandwich).

A coefficient is a taste divided by the noise of whoever chooses: with the same tastes, a steadier chooser has larger
coefficients throughout. So two choosers are compared after putting one on the scale of the other (`taste_difference`).
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
    """A fitted regression: log-odds per unit of each column, and what every row contributed to them."""

    weights: Floats
    influence: Floats
    """Rows × columns; the sums over people, squared and added up, are the variances."""
    people: NDArray[Any]
    prompts: NDArray[Any]
    """Which rows of a person are about the same thing; also clusters, where some recur across people."""
    separated: bool


class Taste(NamedTuple):
    """How two choosers differ in a taste, in log-odds."""

    difference: Estimate
    p: float | None = None
    """Of no difference, on the common scale or plainly; below 0.05 where the interval leaves 0 out."""
    se: float | None = None
    """Standard error if there is no difference; the interval, of a fraction, is wider away from 0."""


class Fraction(NamedTuple):
    """A fraction with its interval, its standard error near 0 and its degrees of freedom."""

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

    Without prompts every row of a person is a prompt of its own, the same in another fit to as many rows of the person.
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
    """A number for each row that no row of another person has: the person's, then which of their rows it is."""
    who, sizes = np.unique(people, return_inverse=True, return_counts=True)[1:]
    order = np.argsort(who, kind="stable")
    starts = np.cumsum(sizes) - sizes
    place = np.empty(len(who), dtype=np.int64)
    place[order] = np.arange(len(who)) - np.repeat(starts, sizes)
    return place * (int(who.max(initial=0)) + 1) + who


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
    moved = residuals - x @ (np.linalg.pinv(x.T @ x, hermitian=True) @ (x.T @ residuals))
    return bool(((y == 1) <= (moved > 0)).all() and ((y == 0) <= (moved < 0)).all())


def effect(fit: Fit, column: int) -> Estimate:
    """The log-odds of one column with its clustered interval."""
    return _estimate(float(fit.weights[column]), [Parts(fit, [column], np.ones(1))])


def effect_difference(first: Fit, first_column: int, second: Fit, second_column: int) -> Estimate:
    """The log-odds of a column in one regression minus that of a column in another, paired by person."""
    value = float(first.weights[first_column] - second.weights[second_column])
    return _estimate(
        value, [Parts(first, [first_column], np.ones(1)), Parts(second, [second_column], -np.ones(1))]
    )


def taste_difference(
    first: Fit, first_columns: Sequence[int], second: Fit, second_columns: Sequence[int]
) -> Taste:
    """How much more the first chooser goes by a feature than the second would if it were as steady, in log-odds.

    The first of the columns is the feature, the others are the features that set the scale: how much larger the first
    chooser's coefficients on them are, taken together, is how much steadier it is. The interval holds both the difference on
    that scale and the plain one, so that it excludes 0 only where neither steadiness nor a different taste for the other
    features could explain the difference; so does the p-value. None, with a note, where the second chooser goes by none of the other features
    clearly, because then nothing tells taste from steadiness.
    """
    plain = effect_difference(first, first_columns[0], second, second_columns[0])
    if plain.value is None or plain.low is None or plain.high is None or not plain.se:
        return Taste(plain)
    mine, theirs = first.weights[[*first_columns]], second.weights[[*second_columns]]
    toward = _direction(mine[1:]) + _direction(theirs[1:])
    steady, their_steady = max(0.0, float(toward @ mine[1:])), float(toward @ theirs[1:])
    # The first chooser's coefficient minus the second's times how much steadier the first is, as one fraction.
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
    """A fraction with its interval after Fieller (1954), which has the right size however small the denominator is.

    None where the denominator cannot be told from 0, so that the fraction has no bounds. Both have parts of the same fits.
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
    """Log-odds as an odds ratio; a difference of log-odds becomes a ratio of odds ratios."""
    value, low, high = (
        None if number is None else float(np.exp(np.clip(number, -700, 700)))
        for number in (log_odds.value, log_odds.low, log_odds.high)
    )
    return Estimate(value, low, high, log_odds.n, log_odds.people, log_odds.note)


def _estimate(value: float, parts: Sequence[Parts]) -> Estimate:
    """A number that depends on coefficients of one or more fits, with the interval that its influences give."""
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
    """The weights scaled to length 1, so that neither chooser decides alone what the scale is made of."""
    return weights / (float(np.linalg.norm(weights)) or 1.0)
