"""Comparison of all raters: pairs, blocks by kind, reliability, the human ceiling, and the alternative annotator test.

A rater is a column of the ratings and has a kind, such as "human" or "llm"; all kinds are treated alike
except where the caller names a panel. All intervals are clustered by person, and by prompt where prompts
recur across people (see `agreement_intervals`).

The alternative annotator test (Calderon, Reichart and Dror 2025) decides whether a machine may replace an annotator. Each annotator
in turn is left out, and on every unit they and the machine are compared by the share of the remaining annotators who gave the same
label. The machine wins against an annotator if the share of units where it does worse is shown to exceed the share where it does
better by less than ε, the value of its lower cost. Tests are corrected over annotators by Benjamini and Yekutieli, as in the paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from personafit.statistics.agreement import (
    Figure,
    Floats,
    Ints,
    as_codes,
    defined,
    label_counts,
    label_credit,
    ratio,
)
from personafit.statistics.agreement_intervals import (
    SHARE,
    PairFigure,
    UnitGroups,
    pair_agreement,
)
from personafit.statistics.clusters import Estimate


@dataclass(frozen=True)
class RaterFigure:
    """The agreement of two raters (given by column), of two kinds of rater, or of a rater with all others of a kind."""

    part: Literal["pair", "block", "reliability"]
    first: int | str
    second: int | str
    figure: Estimate
    pairs: int | None = None
    """For a block: the number of rater pairs averaged."""


@dataclass(frozen=True)
class Ceiling:
    """How often each rater agrees with the majority of a panel that excludes them; the panel members' mean is the ceiling."""

    ceiling: Estimate
    raters: tuple[Estimate, ...]
    gaps: tuple[Estimate | None, ...]
    """For each rater outside the panel, the paired difference from the ceiling on the same units; None for members."""


def compare_raters(
    ratings: ArrayLike,
    kinds: Sequence[str],
    people: ArrayLike,
    prompts: ArrayLike | None,
    figure: PairFigure = "kappa",
    halves: bool = False,
) -> list[RaterFigure]:
    """Return the agreement of every pair of raters, block means by kind, and each rater's mean by kind (its reliability)."""
    found = pair_agreement(ratings, people, prompts, figure, halves)
    if len(kinds) != np.asarray(ratings).shape[1]:
        raise ValueError("kinds must name the kind of every rater")
    figures = [RaterFigure("pair", i, j, found.interval(k)) for k, (i, j) in enumerate(found.pairs)]
    names = list(dict.fromkeys(kinds))
    for one, other in combinations_with_replacement(names, 2):
        members = [k for k, (i, j) in enumerate(found.pairs) if {kinds[i], kinds[j]} == {one, other}]
        if members:
            figures.append(RaterFigure("block", one, other, found.mean(members), len(members)))
    for rater, kind in product(range(len(kinds)), names):
        members = [
            k
            for k, (i, j) in enumerate(found.pairs)
            if (i == rater and kinds[j] == kind) or (j == rater and kinds[i] == kind)
        ]
        if members:
            figures.append(RaterFigure("reliability", rater, kind, found.mean(members)))
    return figures


def panel_ceiling(
    codes: ArrayLike,
    panel: Sequence[int],
    people: ArrayLike,
    prompts: ArrayLike | None,
    halves: bool = False,
) -> Ceiling:
    """Score each panel member against the majority of the others, and every other rater against the same majorities.

    A tied majority of k labels scores 1/k if the rater gave one of them. A rater outside the panel is scored against the
    majority that remains when each voting member in turn is left out, averaged, so that the score is comparable with the
    ceiling: the full panel would have one more voter. The gap of an outsider is the mean over units of its score minus the
    mean score of the members who voted on the unit: an outsider as good as a member has an expected gap of 0, however many
    votes a unit has.
    """
    table = as_codes(codes)
    groups = UnitGroups.of(people, prompts, len(table))
    members = sorted(set(panel))
    if len(members) < 2:
        nothing = Estimate(None, None, None, 0, 0, "undefined: a panel of one has no others to agree with")
        return Ceiling(nothing, tuple(nothing for _ in range(table.shape[1])), (None,) * table.shape[1])
    scores, weights = _panel_scores(table, members, halves)
    raters = tuple(_mean_score(groups, scores[:, r], weights[:, r]) for r in range(table.shape[1]))
    total, voted = scores[:, members].sum(1), weights[:, members].sum(1)
    gaps: list[Estimate | None] = [None] * table.shape[1]
    for rater in sorted(set(range(table.shape[1])) - set(members)):
        shared = (weights[:, rater] > 0) & (voted > 0)
        gap = scores[:, rater] - total / np.maximum(voted, 1)
        gaps[rater] = _mean_score(groups, gap, shared.astype(np.float64), (-1.0, 1.0))
    return Ceiling(_mean_score(groups, total, voted), raters, tuple(gaps))


def _panel_scores(table: Ints, members: Sequence[int], halves: bool) -> tuple[Floats, Floats]:
    """Return each rater's score and weight on each unit; an outsider's score is averaged over the left-out members."""
    labels = max(int(table.max(initial=0)) + 1, 1)
    full = np.zeros((len(table), labels), dtype=np.int64)
    full[:, : label_counts(table[:, members]).shape[1]] = label_counts(table[:, members])
    outsiders = [rater for rater in range(table.shape[1]) if rater not in set(members)]
    scores, weights = np.zeros(table.shape), np.zeros(table.shape)
    for member in members:
        voted = table[:, member] >= 0
        others = full.copy()
        others[np.flatnonzero(voted), table[voted, member]] -= 1
        most = others.max(1)
        best = (others == most[:, None]) & (others > 0)
        credit = best / np.maximum(best.sum(1), 1)[:, None] @ label_credit(labels, halves)
        for rater in (member, *outsiders):
            # Leaving out a member who did not vote would leave the full panel.
            counted = voted & (most > 0) & (table[:, rater] >= 0)
            scores[counted, rater] += credit[counted, table[counted, rater]]
            weights[counted, rater] += 1
    share = np.maximum(weights, 1)
    return scores / share, np.minimum(weights, 1)


def _mean_score(
    groups: UnitGroups, scores: Floats, weights: Floats, bounds: tuple[float, float] = SHARE
) -> Estimate:
    """Return the weighted mean score with its clustered interval."""
    units = weights > 0
    total = weights.sum()
    point = defined(
        ratio((scores * units).sum(), total), "undefined: no unit has both a rating and the votes of others"
    )
    influence = np.zeros(len(scores))
    if point.value is not None:
        influence[units] = (scores[units] - point.value * weights[units]) / total
    return groups.figure(point, influence, units, units, bounds)


# -- the alternative annotator test -------------------------------------------------------------------------------------------

EPSILON = 0.1
"""The paper's ε for crowd workers; it uses 0.15 for skilled annotators and 0.2 for experts."""
FALSE_DISCOVERIES = 0.05
FEWEST_ANNOTATORS = 3
PASSES = 0.5
"""The share of annotators a machine must win against."""


@dataclass(frozen=True)
class AgainstAnnotator:
    """The comparison of the machine with one left-out annotator."""

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
    """Result of the alternative annotator test for one machine."""

    against: tuple[AgainstAnnotator, ...]
    epsilon: float

    @property
    def win_rate(self) -> float | None:
        """Share of annotators the machine wins against (ω); None if no annotator could be tested."""
        return float(np.mean([one.won for one in self.against])) if self.against else None

    @property
    def advantage(self) -> float | None:
        """Mean over annotators of the share of units where the machine is at least as good (ρ)."""
        return float(np.mean([one.advantage for one in self.against])) if self.against else None


def alternative_annotator(
    codes: ArrayLike,
    panel: Sequence[int],
    rater: int,
    people: ArrayLike,
    prompts: ArrayLike | None,
    epsilon: float = EPSILON,
    halves: bool = False,
) -> AlternativeAnnotator:
    """Run the alternative annotator test of one rater outside the panel; with fewer than three members nothing is tested."""
    table = as_codes(codes)
    groups = UnitGroups.of(people, prompts, len(table))
    members = sorted(set(panel) - {rater})
    found: list[AgainstAnnotator] = []
    for member in members if len(members) >= FEWEST_ANNOTATORS else ():
        others = [other for other in members if other != member]
        machine, person = (_agreement_with(table, one, others, halves) for one in (rater, member))
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
        tuple(replace(one, won=win) for one, win in zip(found, won, strict=True)), epsilon
    )


def false_discovery(p_values: Sequence[float | None]) -> tuple[bool, ...]:
    """Return which hypotheses are rejected at a false discovery rate of 5 %, under any dependence (Benjamini and Yekutieli 2001)."""
    from scipy.stats import false_discovery_control

    known = [p for p in p_values if p is not None]
    adjusted = iter(false_discovery_control(known, method="by") if known else ())
    return tuple(p is not None and bool(next(adjusted) <= FALSE_DISCOVERIES) for p in p_values)


def _agreement_with(table: Ints, rater: int, others: Sequence[int], halves: bool) -> Floats:
    """Return the share of the others' votes that agree with the rater's on each unit; nan if either is missing."""
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
