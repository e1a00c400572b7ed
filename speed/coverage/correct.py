"""Cells for `correct`: corrected means by few human labels, and the check that the labels were drawn at random."""

from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from personafit.statistics.ppi import imbalances, ppi_mean
from speed.coverage.cells import SIZE, Cell, band_for, covers
from speed.coverage.designs import Design, Units

NOTICED = (0.99, 1.0)
TIERS = np.array(["easy", "hard", "medium"])


def corrected(
    rng: np.random.Generator, design: Design, rate: float, share: float, by: Literal["chance", "strata"]
) -> bool | None:
    """Whether the corrected interval holds people's rate: the judge sides with the tested answer one time of four."""
    units = design.units(rng)
    human = units.outcomes(rng, rate, design.spread)
    machine = np.where(rng.random(len(human)) < 0.75, human, 1.0)
    drawn, weights = _draw(rng, machine, share, by)
    found = ppi_mean(
        human[drawn],
        machine[drawn],
        machine[~drawn],
        units.person[drawn],
        units.person[~drawn],
        units.prompt[drawn],
        units.prompt[~drawn],
        None if by == "chance" else weights[drawn],
    )
    return covers(found.corrected.low, found.corrected.high, rate)


def _draw(
    rng: np.random.Generator, machine: NDArray[np.float64], share: float, by: Literal["chance", "strata"]
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which items people label, and their weights: a random part, or as many of each machine score, as `label --stratify` draws."""
    drawn, weights = np.zeros(len(machine), dtype=bool), np.ones(len(machine))
    strata = (
        [np.arange(len(machine))] if by == "chance" else [np.flatnonzero(machine == one) for one in (0, 1)]
    )
    for members in strata:
        count = min(len(members), max(2, round(share * len(machine) / len(strata))))
        drawn[rng.choice(members, count, replace=False)] = True
        weights[members] = len(members) / max(1, count)
    return drawn, weights


def warned(rng: np.random.Generator, design: Design, labels: int, only: str | None) -> bool:
    """Whether labels are said not to be drawn at random; `only` takes them from one tier."""
    units = design.units(rng)
    tier = TIERS[rng.choice(3, len(units.person), p=(0.4, 0.3, 0.3))]
    half = np.where(rng.random(len(tier)) < 0.3, "general", "specific")
    machine = _machine(rng, units, design)
    pool = np.arange(len(tier)) if only is None else np.flatnonzero(tier == only)
    drawn = np.zeros(len(tier), dtype=bool)
    drawn[rng.choice(pool, min(labels, len(pool)), replace=False)] = True
    found = imbalances(drawn, {"tier": tier, "half": half, "person": units.person}, {"machine": machine})
    if only is None:
        return bool(found)
    return any(one.factor == "tier" and only in one.present and len(one.absent) == 2 for one in found)


def _machine(rng: np.random.Generator, units: Units, design: Design) -> NDArray[np.float64]:
    """Accuracies of a judge over two orders: 0, a half or 1."""
    return (units.outcomes(rng, 0.7, design.spread) + units.outcomes(rng, 0.7, design.spread)) / 2


def _cells() -> list[Cell]:
    found = []
    designs = [
        *(Design(people, None, items) for people in (8, 12, 30, 60) for items in ("5-30", "heavy")),
        *(Design(60, prompts) for prompts in (12, 30, 100)),
    ]
    for design in designs:
        few = min(design.people, design.prompts or design.people)
        for by in ("chance", "strata"):
            trial = partial(corrected, design=design, rate=0.6, share=0.3, by=by)
            short = by == "chance" and (design.people, design.prompts, design.items) == (30, None, "5-30")
            found.append(Cell(f"corrected, labels by {by}", design.name, band_for(few), trial, short))
    for design in (Design(12), Design(60), Design(60, 30), Design(150, None, "heavy")):
        for labels in (40, 100):
            size = partial(warned, design=design, labels=labels, only=None)
            power = partial(warned, design=design, labels=labels, only="hard")
            short = (design.people, design.prompts, labels) == (60, None, 100)
            name = f"{labels} labels, {design.name}"
            found.append(Cell("random labels said not to be", name, SIZE, size, short))
            found.append(Cell("labels of Hard only noticed", name, NOTICED, power))
    return found


CELLS = _cells()
