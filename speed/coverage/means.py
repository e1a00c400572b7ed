"""Cells for accuracy and differences: clustered means of outcomes, one-way and two-way."""

from functools import partial

import numpy as np

from personafit.statistics import cluster_mean, prompts_recur
from personafit.statistics.preferences import group_difference
from speed.coverage.cells import COVERS, Cell, band_for, covers
from speed.coverage.designs import Design


def accuracy(rng: np.random.Generator, design: Design, rate: float, ties: float = 0.0) -> bool | None:
    """Whether the interval of a mean of 0/1 outcomes (some of them ties) holds its expectation."""
    units = design.units(rng)
    scores = units.outcomes(rng, rate, design.spread)
    scores = np.where(rng.random(len(scores)) < ties, 0.5, scores)
    two_way = prompts_recur(units.person, units.prompt)
    found = cluster_mean(scores, units.person, units.prompt if two_way else None, (0.0, 1.0))
    return covers(found.low, found.high, ties / 2 + (1 - ties) * rate)


def difference(rng: np.random.Generator, design: Design, first: float, second: float) -> bool | None:
    """Whether the interval of a paired difference of two raters on the same items holds the truth."""
    units = design.units(rng)
    scores = units.outcomes(rng, first, design.spread) - units.outcomes(rng, second, design.spread)
    two_way = prompts_recur(units.person, units.prompt)
    found = cluster_mean(scores, units.person, units.prompt if two_way else None, (-1.0, 1.0))
    return covers(found.low, found.high, first - second)


def effect_in_a_group(rng: np.random.Generator, design: Design, people: int) -> bool | None:
    """Whether the interval of a difference in mark holds 0, where one rating of each of some people is in the group."""
    units = design.units(rng)
    marks = units.effect + rng.normal(0, 1, len(units.effect))
    inside = np.zeros(len(marks), bool)
    for person in rng.choice(design.people, people, replace=False):
        inside[rng.choice(np.flatnonzero(units.person == person))] = True
    found = group_difference(marks, inside, units.person, units.prompt)
    return covers(found.low, found.high, 0.0)


# The inference was chosen on the designs above; these were first simulated afterwards.
UNTUNED = (
    Design(9, None, 40, person_sd=1.0),
    Design(15, None, "pareto", person_sd=0.5),
    Design(45, None, "pareto", person_sd=1.0),
    Design(120, None, 4, person_sd=0.4),
    Design(20, 40, "pareto", person_sd=0.9, prompt_sd=0.8),
    Design(100, 15, 6, person_sd=0.5, prompt_sd=0.9),
    Design(25, 25, "crossed", person_sd=1.0, prompt_sd=1.0),
)


def _cells() -> list[Cell]:
    found = []
    for people in (6, 8, 12, 30, 60, 150):
        for rate in (0.5, 0.8, 0.95, 0.99):
            for items in ("5-30", "heavy"):
                design = Design(people, None, items)
                short = (people, rate, items) == (12, 0.95, "5-30")
                trial = partial(accuracy, design=design, rate=rate)
                found.append(Cell(f"accuracy p={rate:g}", design.name, band_for(people), trial, short))
    for people, prompts in ((6, 6), (12, 12), (60, 12), (60, 30), (60, 100), (86, 480), (150, 6), (12, 480)):
        for rate in (0.5, 0.8, 0.95):
            design = Design(people, prompts)
            few = min(people, prompts)
            trial = partial(accuracy, design=design, rate=rate)
            found.append(Cell(f"accuracy p={rate:g}", design.name, band_for(few), trial))
    for design in UNTUNED:
        few = min(design.people, design.prompts or design.people)
        for rate in (0.65, 0.9):
            trial = partial(accuracy, design=design, rate=rate)
            found.append(Cell(f"accuracy p={rate:g}, untuned", design.name, band_for(few), trial))
    for design in (Design(12), Design(60, None, "heavy"), Design(60, 12), Design(60, 30, "crossed")):
        found.append(
            Cell(
                "accuracy p=0.8, 20 % ties",
                design.name,
                COVERS,
                partial(accuracy, design=design, rate=0.8, ties=0.2),
            )
        )
        found.append(
            Cell(
                "difference 0.80 − 0.75",
                design.name,
                COVERS,
                partial(difference, design=design, first=0.8, second=0.75),
            )
        )
    for design in (Design(12), Design(40), Design(40, 12), Design(40, None, "heavy")):
        for inside in (6, 12):
            trial = partial(effect_in_a_group, design=design, people=inside)
            what = f"effect on marks, {inside} people in the group"
            found.append(Cell(what, design.name, band_for(inside) if inside < 12 else COVERS, trial))
    return found


CELLS = _cells()
