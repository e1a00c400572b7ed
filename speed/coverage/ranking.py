"""Cells for rankings: Bradley–Terry intervals and claims."""

from functools import lru_cache, partial
from itertools import combinations

import numpy as np

from personafit.statistics.ranking import bradley_terry
from speed.coverage.cells import SIZE, Cell, band_for, covers
from speed.coverage.designs import Design, Floats, Ints, Units, intercept

SHIFTS = (0.4, 0.0, -0.4)
"""Differences between contestants on the logit scale, where they are not equal."""


def contestants(
    rng: np.random.Generator, design: Design, shifts: tuple[float, ...]
) -> tuple[Units, list[Floats]]:
    """One study's units and each contestant's scores on them; people and prompts suit every contestant differently."""
    base = intercept(0.7, design.spread)
    units = design.units(rng)
    scores = []
    for shift in shifts:
        own = rng.normal(0, design.person_sd, design.people)[units.person]
        if design.prompts is not None:
            own = own + rng.normal(0, design.prompt_sd, design.prompts)[units.prompt]
        chance = 1 / (1 + np.exp(-(base + shift + own)))
        scores.append((rng.random(len(own)) < chance).astype(np.float64))
    return units, scores


def _games(units: Units, scores: list[Floats]) -> tuple[Ints, Ints, Floats, Ints, Ints]:
    pairs = list(combinations(range(len(scores)), 2))
    n = len(units.person)
    first, second = (np.repeat([pair[side] for pair in pairs], n) for side in (0, 1))
    won = np.concatenate([(np.sign(scores[i] - scores[j]) + 1) / 2 for i, j in pairs])
    return first, second, won, np.tile(units.person, len(pairs)), np.tile(units.prompt, len(pairs))


def ranks_above(rng: np.random.Generator, design: Design, count: int) -> bool | None:
    """Whether any of several equal contestants is said to rank above another."""
    first, second, won, people, prompts = _games(*contestants(rng, design, (0.0,) * count))
    found = bradley_terry(first, second, won, people, count, prompts)
    return any(c.p <= 0.05 for c in found.contrasts) if found.contrasts else None


def gap_covered(rng: np.random.Generator, design: Design) -> bool | None:
    """Whether the interval of the gap between the first and the last of unequal contestants holds the truth."""
    first, second, won, people, prompts = _games(*contestants(rng, design, SHIFTS))
    found = bradley_terry(first, second, won, people, len(SHIFTS), prompts)
    gap = next((c for c in found.contrasts if (c.first, c.second) == (0, 2)), None)
    return None if gap is None else covers(gap.gap.low, gap.gap.high, true_gap(design.prompts is not None))


@lru_cache
def true_gap(prompts_recur: bool) -> float:
    """The gap in strength that a very large study finds."""
    large = Design(6000, 6000 if prompts_recur else None, 20)
    rng = np.random.default_rng(1)
    first, second, won, people, _ = _games(*contestants(rng, large, SHIFTS))
    strengths = bradley_terry(first, second, won, people, len(SHIFTS)).strengths
    return (strengths[0].value or 0.0) - (strengths[2].value or 0.0)


def _cells() -> list[Cell]:
    found = []
    for design in (
        Design(60, 12, "crossed"),
        Design(60, 30, "crossed"),
        Design(60, 100),
        Design(12, 12),
        Design(30),
        Design(12, None, "heavy"),
        Design(8),
    ):
        for count in (3, 5):
            trial = partial(ranks_above, design=design, count=count)
            short = (design.prompts, count) == (30, 3)
            found.append(Cell(f"'ranks above' of {count} equal contestants", design.name, SIZE, trial, short))
    for design in (Design(60, 12, "crossed"), Design(60, 30), Design(12, 30), Design(30), Design(8)):
        few = min(design.people, design.prompts or design.people)
        trial = partial(gap_covered, design=design)
        found.append(Cell("Bradley–Terry gap", design.name, band_for(few), trial))
    return found


CELLS = _cells()
