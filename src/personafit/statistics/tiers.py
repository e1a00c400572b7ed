"""Difficulty tiers of pairs from votes: the more clearly people agree on a pair, the easier it is.

PersonaFeedback calls pairs Medium where raters agree with a Fleiss' kappa above 0.6, and Hard where it lies in (0.4, 0.6]. Kappa
is defined for a group of pairs, not for one pair, which only has a share of votes for its majority. So pairs are sorted by that
share, and both cuts are chosen jointly so that each group's kappa falls in its range, both groups exist if possible, and as many
pairs as possible are kept. A tier that cannot be formed is reported as missing, never forced.

The votes that select a pair into a tier agree by construction: coin flips, sorted this way, have a "Hard" tier with a kappa of
0.58. The reported kappa is therefore that of held-out votes. Every two votes on a pair are left out in turn, the tier is formed
again from the remaining votes (the same number of pairs, at the same place in the order by share), and agreement is counted on the
two that were left out.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from personafit.statistics.agreement import (
    SAME_LABEL,
    Floats,
    Ints,
    as_codes,
    defined,
    fleiss_influence,
    fleiss_kappa,
    fleiss_of,
    label_counts,
)
from personafit.statistics.agreement_intervals import SCALE, UnitGroups
from personafit.statistics.clusters import Estimate

MEDIUM_ABOVE = 0.6
HARD_ABOVE = 0.4
FEWEST_UNITS = 2
FEWEST_VOTES = 4
HELD_OUT = (
    "Kappa is of votes that did not choose the tier: every two votes on a pair are left out in turn, and the others choose. The votes "
    "that chose a tier agree by construction; with two votes fewer to choose, the figure is a little low."
)
"""Note that a benchmark card prints with a tier's kappa."""
TOO_FEW_VOTES = "no kappa: it takes four votes on a pair to leave two out and have two that choose"
NO_VOTES = "No pair has two votes and a majority."


@dataclass(frozen=True)
class Tier:
    """A group of pairs whose majority share lies in [least, below)."""

    name: str
    least: float
    below: float
    members: NDArray[np.bool_]
    kappa: Estimate
    """Fleiss' kappa of held-out votes, which did not select the tier."""


@dataclass(frozen=True)
class Tiers:
    """Tiers of items, from the votes of several people."""

    shares: NDArray[np.float64]
    """Majority share of the votes on each pair; nan without votes."""
    majority: NDArray[np.int64]
    """The label with most votes; -1 for a tie or without votes."""
    medium: Tier | None
    hard: Tier | None
    warnings: tuple[str, ...]


def vote_tiers(codes: ArrayLike, people: ArrayLike, prompts: ArrayLike | None = None) -> Tiers:
    """Form the Medium and Hard tiers from codes, pairs × raters (-1 for a missing vote).

    Codes must not depend on which response is the better one: if the better one always came first, all ratings would be the
    same label, and kappa, which corrects for that, would be undefined or wrong. `label.gold` randomises the codes per item.
    """
    ratings = as_codes(codes)
    if not (ratings >= 0).any():
        empty = np.full(len(ratings), np.nan)
        return Tiers(empty, np.full(len(ratings), -1), None, None, (NO_VOTES,))
    counts = label_counts(ratings)
    votes, top = counts.sum(1), counts.max(1, initial=0)
    shares = np.where(votes > 0, top / np.maximum(votes, 1), np.nan)
    clear = (counts == top[:, None]).sum(1) == 1
    majority = np.where((votes > 0) & clear, counts.argmax(1), -1)
    usable = (votes >= 2) & (majority >= 0)
    warnings: list[str] = []
    if not usable.any():
        return Tiers(shares, majority, None, None, (NO_VOTES,))
    medium, hard = _best_cuts(ratings, usable, shares)
    top_of_hard = medium[0] if medium else np.inf
    if medium is None:
        warnings.append(
            f"No group of pairs has a kappa above {MEDIUM_ABOVE:g}, however high the cut: there is no Medium tier."
        )
    if hard is None:
        rest = int((usable & (shares < top_of_hard)).sum())
        reason = (
            "all pairs are in Medium" if rest == 0 else f"no cut through the pairs gives one ({rest} left)"
        )
        warnings.append(
            f"No group has a kappa in ({HARD_ABOVE:g}, {MEDIUM_ABOVE:g}], so there is no Hard tier: {reason}."
        )
    left = int((usable & (shares < (hard[0] if hard else top_of_hard))).sum())
    if left and (medium or hard):
        warnings.append(
            f"{left} {'pair is' if left == 1 else 'pairs are'} below both tiers: people do not agree on them enough."
        )
    groups = UnitGroups.of(people, prompts, len(ratings))
    found = [
        None if cut is None else Tier(name, *cut, _held_out(counts, shares, usable, cut, groups))
        for name, cut in (("medium", medium), ("hard", hard))
    ]
    for tier in found:
        if tier is not None and tier.kappa.high is not None and tier.kappa.high < HARD_ABOVE:
            warnings.append(
                f"The {tier.name} tier is mostly chance: votes that did not choose its pairs agree on them with a kappa of "
                f"{tier.kappa.value:.2f}, at most {tier.kappa.high:.2f}."
            )
    return Tiers(shares, majority, found[0], found[1], tuple(warnings))


Cut = tuple[float, float, NDArray[np.bool_]]


def _best_cuts(ratings: Ints, usable: NDArray[np.bool_], shares: Floats) -> tuple[Cut | None, Cut | None]:
    """Return the cuts of both tiers that keep the most pairs; of a single tier only if both are impossible."""
    cuts = sorted({float(share) for share in shares[usable]}, reverse=True)

    def group(least: float, below: float, wanted: tuple[float, float]) -> Cut | None:
        """Return the pairs with a share in [least, below) if their kappa lies in `wanted`, (low, high]; else None."""
        members = usable & (shares >= least) & (shares < below)
        kappa = fleiss_kappa(ratings[members]).value if members.sum() >= FEWEST_UNITS else None
        return (least, below, members) if kappa is not None and wanted[0] < kappa <= wanted[1] else None

    best: tuple[tuple[int, int], Cut | None, Cut | None] = ((0, 0), None, None)
    for upper in (np.inf, *cuts):
        medium = None if upper == np.inf else group(upper, np.inf, (MEDIUM_ABOVE, np.inf))
        if medium is None and upper != np.inf:
            continue
        for lower in (None, *(cut for cut in cuts if cut < upper)):
            hard = None if lower is None else group(lower, upper, (HARD_ABOVE, MEDIUM_ABOVE))
            found = [cut for cut in (medium, hard) if cut is not None]
            worth = (len(found), sum(int(cut[2].sum()) for cut in found))
            if worth > best[0]:
                best = (worth, medium, hard)
    return best[1], best[2]


def _held_out(
    counts: Ints, shares: Floats, usable: NDArray[np.bool_], cut: Cut, groups: UnitGroups
) -> Estimate:
    """Return Fleiss' kappa of every two held-out votes on pairs that the remaining votes put into the tier."""
    votes = counts.sum(1)
    able = votes >= FEWEST_VOTES
    if not able.any():
        return Estimate(None, None, None, 0, 0, TOO_FEW_VOTES)
    upper, lower = (int((able & usable & (shares >= edge)).sum()) for edge in (cut[1], cut[0]))
    labels = counts.shape[1]
    own, total = counts[able], votes[able]
    twos = [(a, b) for a in range(labels) for b in range(a, labels)]
    chances, standing = np.zeros((len(twos), len(own))), np.zeros((len(twos), len(own)))
    for place, (a, b) in enumerate(twos):
        ways = own[:, a] * (own[:, a] - 1) if a == b else 2 * own[:, a] * own[:, b]
        chances[place] = ways / (total * (total - 1))
        rest = own.copy()
        rest[:, a] -= 1
        rest[:, b] -= 1
        standing[place] = rest.max(1) / (total - 2)
    inside = chances * _within(standing, chances, upper, lower)
    sums = np.zeros((len(votes), 2 + labels))
    for place, (a, b) in enumerate(twos):
        sums[able, 0] += inside[place] * (a == b)
        sums[able, 1] += inside[place]
        sums[able, 2 + a] += inside[place] / 2
        sums[able, 2 + b] += inside[place] / 2
    value = fleiss_of(sums.sum(0))
    units = sums[:, 1] > 0
    point = defined(value, SAME_LABEL)
    influence = np.empty(0) if point.value is None else fleiss_influence(sums)
    return groups.figure(point, influence, units, units, SCALE)


def _within(standing: Floats, chances: Floats, upper: int, lower: int) -> Floats:
    """Return the part of each outcome that lies between two ranks in the order by share; ties are included in equal parts."""
    levels, place = np.unique(-np.round(standing, 9), return_inverse=True)
    weight = np.bincount(place.ravel(), chances.ravel(), minlength=len(levels))
    ends = np.cumsum(weight)
    covered = np.clip(np.minimum(ends, lower) - np.maximum(ends - weight, upper), 0.0, None)
    return np.asarray((covered / np.where(weight > 0, weight, 1.0))[place].reshape(standing.shape))
