"""Decisions from estimates: multiple testing, the smallest detectable effect, equivalence, and the gate.

Everything here uses only an estimate's value, interval, standard error and degrees of freedom, so it holds for any
clustering. With fewer than `FEWEST_PEOPLE` people nothing is decided.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, isfinite, log
from typing import Protocol

import numpy as np
from scipy.special import nctdtrinc, stdtr, stdtrit

from personafit.statistics.clusters import CONSTANT, FEWEST_PEOPLE, student_p_value, student_reach

ALPHA = 0.05
"""Family-wise error rate of the claims tested together."""
POWER = 0.8
MARGIN = 0.05
"""Equivalence margin as a share of the scale: differences within 5 points of 100 count as none."""
MANY = 1e6  # degrees of freedom from which t is treated as normal
ROUNDING = 1e-9


class Measured(Protocol):
    """The attributes that decisions need, as of an `Estimate` or a report's `Result`."""

    @property
    def value(self) -> float | None:
        """Point value; None if undefined."""

    @property
    def low(self) -> float | None:
        """Lower end of its 95 % interval."""

    @property
    def high(self) -> float | None:
        """Upper end of its 95 % interval."""

    @property
    def n(self) -> int:
        """Number of items."""

    @property
    def people(self) -> int:
        """Number of people the items are about."""

    @property
    def note(self) -> str | None:
        """Why a number or its interval is missing, and remarks."""

    @property
    def se(self) -> float | None:
        """Standard error."""

    @property
    def df(self) -> float | None:
        """Degrees of freedom of the t distribution of the interval."""


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Adjust p-values by Holm's method; undefined ones (None) stay None and do not count as tests."""
    defined = [k for k, p in enumerate(p_values) if p is not None]
    values = np.array([p_values[k] for k in defined], dtype=np.float64)
    order = np.argsort(values, kind="stable")
    raised = values[order] * np.arange(len(values), 0, -1)
    adjusted: list[float | None] = [None] * len(p_values)
    for k, p in zip(order, np.minimum(np.maximum.accumulate(raised), 1.0), strict=True):
        adjusted[defined[k]] = float(p)
    return tuple(adjusted)


# -- claims tested together ------------------------------------------------------------------------------------------


class Conclusion(StrEnum):
    """The conclusion about an estimate, adjusted for all tests made together."""

    UNDEFINED = "undefined"
    TOO_FEW = "too few people"
    CONSTANT = "constant"
    """Every item has the value that is tested, so there is nothing to estimate."""
    ABOVE = "above"
    BELOW = "below"
    EQUIVALENT = "equivalent"
    """Not significantly different, and shown to lie within the margin."""
    UNCLEAR = "unclear"
    """Neither significantly different nor shown to be equivalent."""


@dataclass(frozen=True)
class HypothesisTest:
    """The result of testing an estimate against `null` together with others: the conclusion and its p-values."""

    estimate: Measured
    verdict: Conclusion
    null: float
    p: float | None
    """Unadjusted two-sided p-value."""
    p_adjusted: float | None
    """P-value after Holm's adjustment for all tests made together."""
    p_equivalent: float | None
    """P-value of the two one-sided tests against the margin, adjusted likewise."""
    detectable: float | None
    """The smallest difference from `null` detected with 80 % power, at the level that a single true effect has to meet."""
    margin: float
    tests: int
    """Number of tests made together."""

    @property
    def decided(self) -> bool:
        """Whether the estimate differs significantly from `null`."""
        return self.verdict in (Conclusion.ABOVE, Conclusion.BELOW)


@dataclass(frozen=True)
class Hypothesis:
    """An estimate to be tested against `null` and for equivalence within `margin`."""

    estimate: Measured
    null: float = 0.0
    margin: float = MARGIN
    picked_from: int = 1
    """Number of contrasts this one was selected from as the lowest. A value below `null` may then be due to selection, so its
    p-value is multiplied by this number; if the lowest is above `null`, so are all the others. The p-value of equivalence always
    is, as the lowest of several contrasts lies nearer to `null` than the true effect."""
    picked_highest: bool = False
    """Whether the highest contrast was selected instead, which reverses the direction."""
    p: float | None = None
    """The p-value, if it does not follow from the estimate's own standard error."""
    se: float | None = None
    """The standard error under `null`, if it differs from the estimate's."""


def decide_together(effects: Sequence[Hypothesis]) -> list[HypothesisTest]:
    """Test every estimate against its null value, with Holm's adjustment over all of them.

    The chance that any estimate is wrongly called above or below is at most 5 %; the same holds, separately, for
    being wrongly called equivalent.
    """
    shown = [_testable(effect.estimate) for effect in effects]
    alone = [_picked_p(effect) if ok else None for effect, ok in zip(effects, shown, strict=True)]
    equal = [_picked_equivalence_p(effect) if ok else None for effect, ok in zip(effects, shown, strict=True)]
    tests = sum(p is not None for p in alone)
    return [
        HypothesisTest(
            effect.estimate,
            _verdict(effect, p, q),
            effect.null,
            single,
            p,
            q,
            smallest_detectable(effect.estimate, tests, se=effect.se) if p is not None else None,
            effect.margin,
            tests,
        )
        for effect, single, p, q in zip(effects, alone, holm(alone), holm(equal), strict=True)
    ]


def p_value(estimate: Measured, null: float = 0.0) -> float | None:
    """Return the two-sided p-value of the true value being `null`; None without a standard error or an interval.

    An interval without a standard error (exact at the end of a scale, or on another scale) is treated as a Student's t
    interval on the side of `null`, so that p is below 0.05 exactly when the interval excludes `null`.
    """
    spread = _spread(estimate, null)
    if spread is None or estimate.value is None:
        return None
    error, freedom = spread
    return float(student_p_value((estimate.value - null) / error, freedom))


def smallest_detectable(estimate: Measured, tests: int = 1, se: float | None = None) -> float | None:
    """Return the smallest true difference that an estimate of this precision detects with 80 % power.

    Uses the noncentral t distribution at the estimate's degrees of freedom. With several tests the level is 0.05 divided
    by their number, which is what Holm requires of a single true effect. `se` replaces the estimate's standard error.
    """
    spread = _spread(estimate, None)
    if spread is None:
        return None
    error, freedom = se or spread[0], spread[1]
    bar = stdtrit(freedom, 1 - ALPHA / max(1, tests) / 2)
    shift = float(nctdtrinc(freedom, 1 - POWER, bar))
    if not isfinite(shift):
        shift = float(bar + stdtrit(freedom, POWER))
    return shift * error


def equivalence_p(estimate: Measured, margin: float = MARGIN, null: float = 0.0) -> float | None:
    """Return the p-value of the two one-sided tests (TOST) of the true value lying at least `margin` away from `null`."""
    spread = _spread(estimate, None)
    if spread is None or estimate.value is None:
        return None
    error, freedom = spread
    nearest = margin - abs(estimate.value - null)
    return float(stdtr(freedom, -nearest / error))


def log_odds_margin(margin: float = MARGIN) -> float:
    """Convert a margin on shares to log-odds: the log-odds of choosing one of two with probability ½ + margin (55 % for 0.05)."""
    share = min(margin, 0.49)
    return log((0.5 + share) / (0.5 - share))


def is_constant(estimate: Measured, null: float = 0.0) -> bool:
    """Return whether every item has the value `null`, so that there is nothing to estimate."""
    if estimate.value is None or abs(estimate.value - null) > ROUNDING:
        return False
    return CONSTANT in (estimate.note or "")


def _testable(estimate: Measured) -> bool:
    return estimate.value is not None and estimate.people >= FEWEST_PEOPLE


def _picked_p(effect: Hypothesis) -> float | None:
    p = p_value(effect.estimate, effect.null) if effect.p is None else effect.p
    if p is None or effect.estimate.value is None:
        return p
    due = (
        effect.estimate.value > effect.null if effect.picked_highest else effect.estimate.value < effect.null
    )
    return min(1.0, p * effect.picked_from) if due else p


def _picked_equivalence_p(effect: Hypothesis) -> float | None:
    p = equivalence_p(effect.estimate, effect.margin, effect.null)
    return None if p is None else min(1.0, p * effect.picked_from)


def _verdict(effect: Hypothesis, p: float | None, q: float | None) -> Conclusion:
    estimate = effect.estimate
    if estimate.value is None:
        return Conclusion.UNDEFINED
    if is_constant(estimate, effect.null):
        return Conclusion.CONSTANT
    if estimate.people < FEWEST_PEOPLE:
        return Conclusion.TOO_FEW
    if p is not None and p <= ALPHA:
        return Conclusion.ABOVE if estimate.value > effect.null else Conclusion.BELOW
    return Conclusion.EQUIVALENT if q is not None and q <= ALPHA else Conclusion.UNCLEAR


def _spread(estimate: Measured, null: float | None) -> tuple[float, float] | None:
    """Return standard error and degrees of freedom, derived from the interval (on the side of `null`, if given) if missing."""
    if estimate.se and estimate.df:
        return estimate.se, min(estimate.df, MANY)
    if estimate.value is None or estimate.low is None or estimate.high is None or estimate.people < 2:
        return None
    freedom = min(estimate.df, MANY) if estimate.df else float(estimate.people - 1)
    up, down = estimate.high - estimate.value, estimate.value - estimate.low
    side = max(up, down) if null is None else up if null > estimate.value else down
    return (side / student_reach(freedom), freedom) if side > 0 else None


# -- the gate --------------------------------------------------------------------------------------------------------


class GateOutcome(StrEnum):
    """The possible outcomes of a gate."""

    PASSES = "passes"
    FAILS = "fails"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True)
class GateDecision:
    """Whether an estimate passes a gate and, if undecided, how much data would decide it."""

    outcome: GateOutcome
    people: int | None = None
    """If undecided: about how many people would decide it with 80 % power, if the estimate is the true value."""
    items: int | None = None
    """Number of items of `people` people, at the present number of items per person."""


def decide(estimate: Measured, bar: float, certain: bool = False) -> GateDecision:
    """Decide whether an estimate is at least `bar`: the lower end of its 95 % interval has to reach it.

    `passes` if the whole interval reaches the bar, `fails` if none of it does, else `cannot tell`. A `certain` value (a share
    of what was planned, such as coverage, or one true by definition) is compared directly.
    """
    value = estimate.value
    if value is None:
        return GateDecision(GateOutcome.CANNOT_TELL)
    if certain:
        return GateDecision(GateOutcome.PASSES if value >= bar else GateOutcome.FAILS)
    if estimate.people < FEWEST_PEOPLE:
        return GateDecision(GateOutcome.CANNOT_TELL, FEWEST_PEOPLE, _items(estimate, FEWEST_PEOPLE))
    if estimate.low is None or estimate.high is None:
        return GateDecision(GateOutcome.CANNOT_TELL)
    if estimate.low >= bar:
        return GateDecision(GateOutcome.PASSES)
    if estimate.high < bar:
        return GateDecision(GateOutcome.FAILS)
    people = _people_to_tell(value, estimate.low, estimate.high, estimate.people, bar)
    return GateDecision(GateOutcome.CANNOT_TELL, people, None if people is None else _items(estimate, people))


def _people_to_tell(value: float, low: float, high: float, people: int, bar: float) -> int | None:
    """Return how many people make the interval exclude the bar with 80 % power; None if the value equals the bar."""
    gap = abs(value - bar)
    reach = value - low if value > bar else high - value
    if gap < ROUNDING or reach <= 0:
        return None
    freedom = people - 1
    stretch = 1 + float(stdtrit(freedom, POWER)) / student_reach(freedom)
    return max(people + 1, ceil(people * (stretch * reach / gap) ** 2))


def _items(estimate: Measured, people: int) -> int | None:
    return ceil(estimate.n * people / estimate.people) if estimate.people else None
