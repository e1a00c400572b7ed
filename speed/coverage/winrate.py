"""Cells for the length-controlled win rate."""

from functools import lru_cache, partial

import numpy as np
from scipy.special import expit

from personafit.statistics import length_controlled_rate
from speed.coverage.cells import Cell, band_for, covers
from speed.coverage.designs import Design, Floats, Units


def wins(rng: np.random.Generator, design: Design) -> tuple[Units, Floats, Floats]:
    """A system's wins and how much longer its answers are; people and prompts suit it differently."""
    units = design.units(rng)
    longer = rng.normal(0.5, 1.0, len(units.person))
    chance = expit(0.3 + units.effect + 0.6 * np.tanh(longer))
    score = (rng.random(len(longer)) < chance).astype(np.float64)
    return units, np.where(rng.random(len(longer)) < 0.1, 0.5, score), longer


@lru_cache
def truth(prompts_recur: bool) -> float:
    """The rate that a very large study finds."""
    units, score, longer = wins(np.random.default_rng(2), Design(20000, 20000 if prompts_recur else None, 10))
    return length_controlled_rate(score, longer, units.person).value or 0.0


def rate(rng: np.random.Generator, design: Design) -> bool | None:
    """Whether the interval of the rate at equal length holds the truth."""
    units, score, longer = wins(rng, design)
    found = length_controlled_rate(score, longer, units.person, units.prompt)
    return covers(found.low, found.high, truth(design.prompts is not None))


def _cells() -> list[Cell]:
    cells = []
    for design in (
        Design(6),
        Design(12),
        Design(60),
        Design(60, None, "heavy"),
        Design(12, 12),
        Design(60, 12),
        Design(60, 30, "crossed"),
        Design(86, 480),
    ):
        few = min(design.people, design.prompts or design.people)
        trial = partial(rate, design=design)
        cells.append(
            Cell("length-controlled rate", design.name, band_for(few), trial, design == Design(60, 12))
        )
    return cells


CELLS = _cells()
