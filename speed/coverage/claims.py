"""Cells for claims: how often a run claims what is not so, over raters, comparisons, equivalence and the gate."""

from functools import partial

import numpy as np

from personafit.statistics import Estimate, cluster_mean, prompts_recur
from personafit.statistics.decisions import (
    ALPHA,
    GateOutcome,
    Hypothesis,
    decide,
    decide_together,
    smallest_detectable,
)
from speed.coverage.cells import POWER, SIZE, Cell, band_for, covers
from speed.coverage.designs import Design, Floats, Units

RATERS = 8
NEAR_CEILING = (0.90, 0.99)
"""Lifts whose scores nearly all have the same value: their intervals are too narrow, which the page says."""
POWER_OVER_EQUALS = (0.6, 0.84)
"""Power at the detectable lift over two equal controls, the larger of which is chosen on the data; the page says that it is less."""
ONE_SIDED = (0.0, 0.06)
"""A gate lets a number through with 2.5 % if it is exactly on the bar; 6 % is the bound of every claim."""


def mean_of(units: Units, scores: Floats, bounds: tuple[float, float] | None = (-1.0, 1.0)) -> Estimate:
    """The clustered mean, by prompt too where prompts recur."""
    two_way = prompts_recur(units.person, units.prompt)
    return cluster_mean(scores, units.person, units.prompt if two_way else None, bounds)


def lifts(rng: np.random.Generator, design: Design, rate: float) -> list[Hypothesis]:
    """Lifts over the larger control of raters whose scores do not depend on the person they are shown."""
    units = design.units(rng)
    found = []
    for _ in range(RATERS):
        own, none, wrong = (units.outcomes(rng, rate, design.spread) for _ in range(3))
        larger = none if none.mean() >= wrong.mean() else wrong
        found.append(Hypothesis(mean_of(units, own - larger), picked_from=2))
    return found


def any_claim(rng: np.random.Generator, design: Design, rate: float) -> bool:
    """Whether of eight raters that ignore the person any is said to use it or to do worse with it."""
    return any(finding.decided for finding in decide_together(lifts(rng, design, rate)))


def two_equal(rng: np.random.Generator, design: Design, rate: float) -> bool:
    """Whether one of two equally good raters is said to be better."""
    units = design.units(rng)
    gap = units.outcomes(rng, rate, design.spread) - units.outcomes(rng, rate, design.spread)
    return decide_together([Hypothesis(mean_of(units, gap))])[0].decided


def equivalent(rng: np.random.Generator, design: Design, rate: float, margin: float) -> bool:
    """Whether the equivalence test rejects for two raters that differ by just the margin."""
    units = design.units(rng)
    gap = units.outcomes(rng, rate, design.spread) - units.outcomes(rng, rate - margin, design.spread)
    finding = decide_together([Hypothesis(mean_of(units, gap), margin=margin)])[0]
    return finding.p_equivalent is not None and finding.p_equivalent <= ALPHA


def lift_over(
    rng: np.random.Generator, units: Units, design: Design, rate: float, lift: float, apart: float = 0.0
) -> Estimate:
    """The lift of a rater over the larger of two controls, which are equally good or so far apart."""
    rates = (rate, rate - lift, rate - lift - apart)
    own, none, wrong = (units.outcomes(rng, each, design.spread) for each in rates)
    return mean_of(units, own - (none if none.mean() >= wrong.mean() else wrong))


def lift_covers(rng: np.random.Generator, design: Design, rate: float, lift: float) -> bool | None:
    """Whether the interval of a lift over the larger of two equal controls holds the truth."""
    found = lift_over(rng, design.units(rng), design, rate, lift)
    return covers(found.low, found.high, lift)


def lift_over_ties(rng: np.random.Generator, design: Design, rate: float) -> bool | None:
    """Whether the interval of a lift over a control that ties throughout holds the truth."""
    units = design.units(rng)
    found = mean_of(units, units.outcomes(rng, rate, design.spread) - 0.5)
    return covers(found.low, found.high, rate - 0.5)


def finds_lift(rng: np.random.Generator, design: Design, rate: float, apart: float) -> bool:
    """Whether a lift of the size that an earlier run without lift said it could have detected is found."""
    pilot = lift_over(rng, design.units(rng), design, rate, 0.0, apart)
    size = smallest_detectable(pilot) or 0.0
    found = lift_over(rng, design.units(rng), design, rate + size, size, apart)
    (finding,) = decide_together([Hypothesis(found, picked_from=2)])
    return finding.decided


def negligible(rng: np.random.Generator, design: Design, rate: float, margin: float) -> bool:
    """Whether a lift of just the margin over the larger of two equal controls is said to be smaller."""
    found = lift_over(rng, design.units(rng), design, rate, margin)
    (finding,) = decide_together([Hypothesis(found, margin=margin, picked_from=2)])
    return finding.p_equivalent is not None and finding.p_equivalent <= ALPHA


def lets_through(rng: np.random.Generator, design: Design, rate: float) -> bool:
    """Whether the gate passes a rater whose true accuracy is just the bar."""
    units = design.units(rng)
    found = mean_of(units, units.outcomes(rng, rate, design.spread), (0.0, 1.0))
    return decide(found, rate).outcome is GateOutcome.PASSES


def turns_away(rng: np.random.Generator, design: Design, rate: float) -> bool:
    """Whether the gate fails a rater whose true accuracy is just the bar."""
    units = design.units(rng)
    found = mean_of(units, units.outcomes(rng, rate, design.spread), (0.0, 1.0))
    return decide(found, rate).outcome is GateOutcome.FAILS


def _cells() -> list[Cell]:
    designs = (
        Design(8),
        Design(12),
        Design(30, None, "heavy"),
        Design(60),
        Design(12, 12),
        Design(60, 12),
        Design(60, 30, "crossed"),
        Design(86, 480),
    )
    found = []
    for design in designs:
        for rate in (0.55, 0.8):
            short = design == designs[1] and rate == 0.55
            what = f"a claim about any of {RATERS} raters that ignore the person, p={rate:g}"
            trial = partial(any_claim, design=design, rate=rate)
            found.append(Cell(what, design.name, SIZE, trial, short))
            what = f"better, of two equal raters, p={rate:g}"
            found.append(Cell(what, design.name, SIZE, partial(two_equal, design=design, rate=rate)))
        trial = partial(equivalent, design=design, rate=0.8, margin=0.1)
        found.append(Cell("equivalent within 10 points, at a true 10 points", design.name, SIZE, trial))
        trial = partial(negligible, design=design, rate=0.7, margin=0.1)
        found.append(Cell("lift within 10 points, at a true 10 points", design.name, SIZE, trial))
        few = min(design.people, design.prompts or design.people)
        held = partial(lift_covers, design=design, rate=0.7, lift=0.2)
        found.append(Cell("lift of 20 points over two equal controls", design.name, band_for(few), held))
        for rate in (0.5, 0.8, 0.95):
            short = design == designs[1] and rate == 0.8
            passing = partial(lets_through, design=design, rate=rate)
            found.append(
                Cell(f"the gate passes p={rate:g} at its bar", design.name, ONE_SIDED, passing, short)
            )
            failing = partial(turns_away, design=design, rate=rate)
            found.append(Cell(f"the gate fails p={rate:g} at its bar", design.name, ONE_SIDED, failing))
    for design in designs[:4]:
        covering = partial(lift_over_ties, design=design, rate=0.95)
        found.append(Cell("lift of 45 points over ties throughout", design.name, NEAR_CEILING, covering))
    for design in (Design(12), Design(60), Design(60, 30, "crossed")):
        for apart, band in ((0.0, POWER_OVER_EQUALS), (0.15, POWER)):
            controls = "two equal controls" if apart == 0 else "controls 15 points apart"
            trial = partial(finds_lift, design=design, rate=0.55, apart=apart)
            found.append(Cell(f"a detectable lift is found, {controls}", design.name, band, trial))
    return found


CELLS = _cells()
