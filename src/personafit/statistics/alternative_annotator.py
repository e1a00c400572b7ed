"""The alternative annotator test (Calderon, Reichart and Dror 2025): whether a machine may stand in for an annotator.

Each annotator in turn is left out, and on every unit they and the machine are compared by the share of the remaining
annotators who gave the same label. The machine wins against an annotator if it is shown to fall short on no more than a
share ε of units beyond those where it does better; ε is what its lower cost is worth. Tests are clustered by person and
prompt, and corrected over annotators by Benjamini and Yekutieli, as in the paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from personafit.statistics.agreement import Figure, Floats, Ints, as_codes
from personafit.statistics.agreement_intervals import UnitGroups
from personafit.statistics.clusters import Estimate

EPSILON = 0.1
"""What the paper takes for crowd workers; it takes 0.15 for skilled annotators and 0.2 for experts."""
FALSE_DISCOVERIES = 0.05
FEWEST_ANNOTATORS = 3
PASSES = 0.5
"""The share of annotators a machine must win against."""


@dataclass(frozen=True)
class AgainstAnnotator:
    """The machine beside one annotator who was left out."""

    annotator: int
    shortfall: Estimate
    """Share of units where the annotator agrees more with the others, minus the share where the machine does."""
    advantage: float
    """Share of units where the machine agrees with the others at least as well as the annotator."""
    p: float | None
    """One-sided p-value of a shortfall of ε or more, before correction."""
    won: bool


@dataclass(frozen=True)
class AlternativeAnnotator:
    """What the test says of one machine."""

    against: tuple[AgainstAnnotator, ...]
    epsilon: float

    @property
    def win_rate(self) -> float | None:
        """Share of annotators the machine wins against (ω); None where nobody could be tested."""
        return float(np.mean([one.won for one in self.against])) if self.against else None

    @property
    def advantage(self) -> float | None:
        """Mean over annotators of the share of units where the machine is at least as good (ρ)."""
        return float(np.mean([one.advantage for one in self.against])) if self.against else None

    @property
    def passes(self) -> bool:
        """Whether the machine may stand in for an annotator."""
        rate = self.win_rate
        return rate is not None and rate >= PASSES


def alternative_annotator(
    codes: ArrayLike,
    panel: Sequence[int],
    rater: int,
    people: ArrayLike,
    prompts: ArrayLike | None,
    epsilon: float = EPSILON,
    halves: bool = False,
) -> AlternativeAnnotator:
    """Test one rater outside the panel against every member; with fewer than three members there is no test."""
    table = as_codes(codes)
    groups = UnitGroups.of(people, prompts, len(table))
    members = sorted(set(panel) - {rater})
    found: list[AgainstAnnotator] = []
    for member in members if len(members) >= FEWEST_ANNOTATORS else ():
        others = [other for other in members if other != member]
        machine, person = (_agreement(table, one, others, halves) for one in (rater, member))
        units = np.isfinite(machine) & np.isfinite(person)
        if not units.any():
            continue
        ahead = np.where(units, np.sign(np.where(units, person - machine, 0.0)), 0.0)
        shortfall = groups.figure(
            Figure(float(ahead[units].mean())),
            np.where(units, ahead - ahead[units].mean(), 0.0) / units.sum(),
            units,
            units,
            (-1.0, 1.0),
        )
        advantage = float(np.mean(ahead[units] <= 0))
        found.append(AgainstAnnotator(member, shortfall, advantage, _one_sided(shortfall, epsilon), False))
    won = false_discovery([one.p for one in found])
    return AlternativeAnnotator(
        tuple(
            AgainstAnnotator(one.annotator, one.shortfall, one.advantage, one.p, win)
            for one, win in zip(found, won, strict=True)
        ),
        epsilon,
    )


def false_discovery(p_values: Sequence[float | None], rate: float = FALSE_DISCOVERIES) -> tuple[bool, ...]:
    """Which hypotheses are rejected at this false discovery rate, whatever their dependence (Benjamini and Yekutieli 2001)."""
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    count = len(known)
    harmonic = sum(1 / rank for rank in range(1, count + 1))
    last = max(
        (rank for rank, (p, _) in enumerate(known, 1) if p <= rank * rate / (count * harmonic)), default=0
    )
    rejected = {place for _, place in known[:last]}
    return tuple(place in rejected for place in range(len(p_values)))


def _agreement(table: Ints, rater: int, others: Sequence[int], halves: bool) -> Floats:
    """Share of the others' votes that go with the rater's on each unit; nan where either is missing."""
    own, theirs = table[:, [rater]], table[:, others]
    known = (theirs >= 0) & (own >= 0)
    credit = 1 - np.abs(theirs - own) / 2 if halves else (theirs == own).astype(np.float64)
    votes = known.sum(1)
    return np.where(votes > 0, (credit * known).sum(1) / np.maximum(votes, 1), np.nan)


def _one_sided(shortfall: Estimate, epsilon: float) -> float | None:
    both = shortfall.p_value(epsilon)
    if both is None or shortfall.value is None:
        return None
    return both / 2 if shortfall.value < epsilon else 1 - both / 2
