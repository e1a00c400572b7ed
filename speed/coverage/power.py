"""Cells for planning: a run planned for a power of 80 % finds the difference in 80 % of runs, by the program's own test."""

from functools import lru_cache, partial

import numpy as np

from personafit.statistics import cluster_mean
from personafit.statistics.power import Spread, people_needed, prompts_needed, smallest_difference, spread
from speed.coverage.cells import POWER, Cell
from speed.coverage.designs import Design, Floats, Ints
from speed.coverage.ranking import contestants

COMPONENTS = Spread(0.04, 0.25, None, 0.02)
"""Of a paired difference between two raters: people, the rest, prompts."""


def found(values: Floats, person: Ints, prompt: Ints | None) -> bool:
    """Whether the program's test says there is a difference."""
    p = cluster_mean(values, person, prompt).p_value()
    return p is not None and p <= 0.05


def from_components(rng: np.random.Generator, people: int, prompts: int | None, items: int) -> bool:
    """Plan the smallest difference from the true components, then simulate a run with that difference."""
    parts = COMPONENTS if prompts else Spread(COMPONENTS.between, COMPONENTS.within)
    mean = smallest_difference(parts, people, items, prompts).value or 0.0
    person = np.repeat(np.arange(people), items)
    own = rng.normal(0, (parts.between or 0.0) ** 0.5, people)[person]
    rest = rng.normal(0, (parts.within or 0.0) ** 0.5, len(person))
    if prompts is None:
        return found(mean + own + rest, person, None)
    # Each person is asked `items` different prompts, and all prompts equally often.
    prompt = (np.arange(len(person)) + rng.integers(0, prompts)) % prompts
    shared = rng.normal(0, (parts.prompt or 0.0) ** 0.5, prompts)[prompt]
    return found(mean + own + shared + rest, person, prompt)


SHIFTS = (0.45, 0.0)
EACH = 10


@lru_cache
def pilot() -> tuple[Spread, float]:
    """Components and true difference of 0/1 scores of two raters, from a very large pilot."""
    units, (one, two) = contestants(np.random.default_rng(3), Design(1500, 1500, 40), SHIFTS)
    gap = one - two
    return spread(gap, units.person, units.prompt), float(gap.mean())


@lru_cache
def planned(prompts: int | None, people: int | None) -> tuple[int, int]:
    """People and prompts of a run that shows the pilot's difference: the number left out is planned."""
    parts, difference = pilot()
    if people is None and prompts is not None:
        return int(people_needed(parts, difference, EACH, prompts).value or 0), prompts
    if people is None or prompts is not None:
        raise ValueError("give either people or prompts")
    return people, int(prompts_needed(parts, difference, people, EACH).value or 0)


def from_pilot(rng: np.random.Generator, prompts: int | None, people: int | None) -> bool:
    """Run a study of the planned size and test it."""
    size = planned(prompts, people)
    units, (one, two) = contestants(rng, Design(*size, EACH), SHIFTS)
    return found(one - two, units.person, units.prompt)


def _cells() -> list[Cell]:
    cells = []
    for people, prompts, items in (
        (60, 12, 12),
        (60, 30, 30),
        (60, 30, 10),
        (12, 12, 12),
        (12, 100, 20),
        (200, 12, 6),
        (30, None, 10),
        (8, None, 10),
    ):
        on = "" if prompts is None else f" × {prompts} prompts"
        trial = partial(from_components, people=people, prompts=prompts, items=items)
        short = (people, prompts, items) == (60, 12, 12)
        name = f"{people} people{on}, {items} items"
        cells.append(Cell("planned power, true components", name, POWER, trial, short))
    given: tuple[tuple[int | None, int | None], ...] = ((40, None), (80, None), (None, 120))
    for asked, met in given:
        fixed = f"{met} people" if asked is None else f"{asked} prompts"
        trial = partial(from_pilot, prompts=asked, people=met)
        cells.append(Cell("planned power, 0/1 scores", f"large pilot, {fixed} given", POWER, trial))
    return cells


CELLS = _cells()
