"""From an estimate to a decision: tests made together, the smallest detectable effect, equivalence, and the gate.

Everything here reads an estimate's value, interval, standard error and degrees of freedom, so it holds for whatever the
estimate is clustered by. With fewer than `FEWEST_PEOPLE` people nothing is decided.
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
"""Chance of at least one false claim among those tested together."""
POWER = 0.8
MARGIN = 0.05
"""A difference within so much of 0, as a share of the scale, counts as none in equivalence tests: 5 points of 100."""
MANY = 1e6  # degrees of freedom from which on t is normal
ROUNDING = 1e-9


class Measured(Protocol):
    """What decisions are made from: an `Estimate`, or a `Result` of a report."""

    @property
    def value(self) -> float | None:
        """The number, if it is defined."""

    @property
    def low(self) -> float | None:
        """Lower end of its 95 % interval."""

    @property
    def high(self) -> float | None:
        """Upper end of its 95 % interval."""

    @property
    def n(self) -> int:
        """Items it is over."""

    @property
    def people(self) -> int:
        """People the items are about."""

    @property
    def note(self) -> str | None:
        """Why a number or its interval is missing, and remarks."""

    @property
    def se(self) -> float | None:
        """Standard error."""

    @property
    def df(self) -> float | None:
        """Degrees of freedom of the t distribution that goes with it."""


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Adjust p-values for how many were looked at; undefined ones (None) stay so and do not count."""
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
    """Every item has the same value, equal to the one tested: there is nothing to estimate."""
    ABOVE = "above"
    BELOW = "below"
    EQUIVALENT = "equivalent"
    """Not told apart, and shown to lie within the margin."""
    UNCLEAR = "unclear"
    """Neither told apart nor shown to be equivalent."""


@dataclass(frozen=True)
class HypothesisTest:
    """An estimate tested against `null` together with others: the conclusion, and the p-values it rests on."""

    estimate: Measured
    verdict: Conclusion
    null: float
    p: float | None
    """Two-sided p-value by itself."""
    p_adjusted: float | None
    """After Holm's adjustment for all tests made together."""
    p_equivalent: float | None
    """Of the two one-sided tests against the margin, adjusted likewise."""
    detectable: float | None
    """The smallest difference from `null` detected with 80 % power, at the level that a lone effect has to meet."""
    margin: float
    tests: int
    """How many were made together."""

    @property
    def decided(self) -> bool:
        """Whether the estimate is told apart from `null`."""
        return self.verdict in (Conclusion.ABOVE, Conclusion.BELOW)


@dataclass(frozen=True)
class Hypothesis:
    """An estimate to be tested against `null` and for equivalence within `margin`."""

    estimate: Measured
    null: float = 0.0
    margin: float = MARGIN
    picked_from: int = 1
    """How many contrasts this one was picked from because it is the lowest. A value below `null` may then be due to the
    picking, so its p-value is multiplied by this; one above it is above `null` in all the others too."""
    picked_highest: bool = False
    """Whether the highest was picked instead, which turns this around."""
    p: float | None = None
    """The p-value, where it is not that of the estimate's own standard error."""
    se: float | None = None
    """The standard error at `null`, where it is another one."""


def decide_together(effects: Sequence[Hypothesis]) -> list[HypothesisTest]:
    """Test every estimate against its null value, with Holm's adjustment over all of them.

    The chance that any is called above or below without being so is at most 5 %; the same holds, apart, for being
    called equivalent.
    """
    shown = [_testable(effect.estimate) for effect in effects]
    alone = [_picked_p(effect) if ok else None for effect, ok in zip(effects, shown, strict=True)]
    equal = [
        equivalence_p(effect.estimate, effect.margin, effect.null) if ok else None
        for effect, ok in zip(effects, shown, strict=True)
    ]
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
    """Two-sided p-value of the true value being `null`; None where there is neither standard error nor interval.

    An interval without a standard error (exact at the end of a scale, or on another scale) is read as one of Student's
    t on the side of `null`, so p is below 0.05 just where the interval leaves `null` out.
    """
    spread = _spread(estimate, null)
    if spread is None or estimate.value is None:
        return None
    error, freedom = spread
    return float(student_p_value((estimate.value - null) / error, freedom))


def smallest_detectable(
    estimate: Measured, tests: int = 1, power: float = POWER, se: float | None = None
) -> float | None:
    """The smallest true difference that an estimate as precise as this one shows in `power` of runs.

    By the noncentral t distribution at the estimate's degrees of freedom. With several tests the level is 0.05 divided
    by their number: what Holm asks of an effect that stands alone. `se` stands in for the estimate's standard error.
    """
    spread = _spread(estimate, None)
    if spread is None:
        return None
    error, freedom = se or spread[0], spread[1]
    bar = stdtrit(freedom, 1 - ALPHA / max(1, tests) / 2)
    shift = float(nctdtrinc(freedom, 1 - power, bar))
    if not isfinite(shift):
        shift = float(bar + stdtrit(freedom, power))
    return shift * error


def equivalence_p(estimate: Measured, margin: float = MARGIN, null: float = 0.0) -> float | None:
    """P-value of the two one-sided tests (TOST) of the true value lying at least `margin` away from `null`."""
    spread = _spread(estimate, None)
    if spread is None or estimate.value is None:
        return None
    error, freedom = spread
    nearest = margin - abs(estimate.value - null)
    return float(stdtr(freedom, -nearest / error))


def log_odds_margin(margin: float = MARGIN) -> float:
    """A margin as log-odds: those of choosing one of two so much more often than by a coin, 55 % for 0.05."""
    share = min(margin, 0.49)
    return log((0.5 + share) / (0.5 - share))


def is_constant(estimate: Measured, null: float = 0.0) -> bool:
    """Whether every item has the value `null`, so that there is nothing to estimate."""
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
    """Standard error and degrees of freedom; where there is none, from the interval, on the side of `null` if given."""
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
    """Whether a figure passes a gate, and how much data would settle it if that cannot be told."""

    outcome: GateOutcome
    people: int | None = None
    """Where it cannot be told: about how many people would tell with 80 % power, if the value is the true one."""
    items: int | None = None
    """The items of so many people, as many each as here."""


def decide(estimate: Measured, bar: float, certain: bool = False) -> GateDecision:
    """Whether the run shows at least `bar`: the lower end of the 95 % interval has to reach it.

    `passes` where the whole interval does, `fails` where none of it does, else `cannot tell`. A number that is `certain`
    (a share of what was planned, such as coverage, or one true by definition) is compared as it is.
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
    """People at which the interval's end clears the bar with 80 % power; None if the value is the bar itself."""
    gap = abs(value - bar)
    reach = value - low if value > bar else high - value
    if gap < ROUNDING or reach <= 0:
        return None
    freedom = people - 1
    stretch = 1 + float(stdtrit(freedom, POWER)) / student_reach(freedom)
    return max(people + 1, ceil(people * (stretch * reach / gap) ** 2))


def _items(estimate: Measured, people: int) -> int | None:
    return ceil(estimate.n * people / estimate.people) if estimate.people else None
