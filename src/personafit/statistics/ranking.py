"""Ranking of systems: Bradley–Terry strengths, with Holm's adjustment of pairwise differences.

The interval of a strength, or of the gap between two, comes from its influence function, the contribution of every
comparison, and is clustered by person and, where prompts recur, by prompt.
"""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import null_space
from scipy.sparse.csgraph import connected_components

from personafit.statistics.agreement import Floats, Ints
from personafit.statistics.clusters import FEWEST_PEOPLE, Estimate, dense_codes, student_reach, too_few
from personafit.statistics.decisions import holm
from personafit.statistics.influence import influence_estimate, logistic

ROUNDING = 1e-9  # systems with the same answers differ by rounding only


@dataclass(frozen=True)
class StrengthDifference:
    """The difference in strength of two systems; `p` is Holm-adjusted over all pairs."""

    first: int
    second: int
    gap: Estimate
    p: float


@dataclass(frozen=True)
class Ranking:
    """Bradley–Terry strengths in log-odds with mean 0, indexed by system.

    `contrasts` holds every pair of systems; it is empty if there are no intervals.
    """

    strengths: tuple[Estimate, ...]
    contrasts: tuple[StrengthDifference, ...] = ()
    note: str | None = None


def bradley_terry(
    first: ArrayLike,
    second: ArrayLike,
    score: ArrayLike,
    people: ArrayLike,
    systems: int,
    prompts: ArrayLike | None = None,
) -> Ranking:
    """Fit Bradley–Terry strengths to comparisons: `score` is 1 if the first system won, 0 if the second, ½ for a tie.

    Pass `prompts` wherever they are known: they are a second kind of cluster if some recur across people.
    """
    left, right = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    won = np.asarray(score, dtype=np.float64)
    person, count = dense_codes(people)
    unfit = _why_not(left, right, won, systems)
    n = np.bincount(np.concatenate([left, right]), minlength=systems)
    if unfit:
        return Ranking(tuple(Estimate(None, None, None, int(k), count, unfit) for k in n), (), unfit)
    # A basis of strengths that sum to 0: the common level, which the data cannot identify, is left out.
    basis = null_space(np.ones((1, systems)))
    weights, moved = logistic(basis[left] - basis[right], won, ridge=0.0)
    strengths, influence = basis @ weights, moved @ basis.T
    if count < FEWEST_PEOPLE:
        note = too_few(count)
        plain = (
            Estimate(float(s), None, None, int(k), count, note) for s, k in zip(strengths, n, strict=True)
        )
        return Ranking(tuple(plain), (), note)

    def clustered(value: float, parts: Floats, comparisons: int) -> Estimate:
        found = replace(influence_estimate(value, parts, person, prompts), n=comparisons)
        if found.se is None or found.df is None:
            return found
        # One degree of freedom per strength fitted to the same people; many tests are made, so the tails must be right.
        df = max(1.0, min(found.df, found.people - 1) - (systems - 2))
        half = student_reach(df) * found.se
        return replace(found, low=value - half, high=value + half, df=df)

    estimates = tuple(clustered(float(s), influence[:, k], int(n[k])) for k, s in enumerate(strengths))
    gaps = {
        (i, j): clustered(float(strengths[i] - strengths[j]), influence[:, i] - influence[:, j], len(won))
        for i, j in combinations(range(systems), 2)
    }
    return Ranking(estimates, _contrasts(gaps))


def _contrasts(gaps: dict[tuple[int, int], Estimate]) -> tuple[StrengthDifference, ...]:
    """Return all pairwise differences with jointly adjusted p-values; a gap without a p-value gets 1."""
    unadjusted = [
        1.0 if gap.value is None or abs(gap.value) < ROUNDING else gap.p_value() for gap in gaps.values()
    ]
    adjusted = holm([1.0 if p is None else p for p in unadjusted])
    found = []
    for ((i, j), gap), p in zip(gaps.items(), adjusted, strict=True):
        found.append(StrengthDifference(i, j, gap, 1.0 if p is None else p))
    return tuple(found)


def _why_not(left: Ints, right: Ints, won: Floats, systems: int) -> str | None:
    """Return why strengths are undefined, else None: they are infinite if a group of systems won or lost against all the rest."""
    beaten = np.zeros((systems, systems))
    np.add.at(beaten, (left, right), won)
    np.add.at(beaten, (right, left), 1 - won)
    together = connected_components(beaten + beaten.T, directed=False)[0]
    if systems < 2 or not len(won):
        return "undefined: there are no two systems to compare"
    if together > 1:
        return "undefined: some systems were never compared with the others, directly or through a third"
    if connected_components(beaten, connection="strong")[0] > 1:
        return "undefined: some systems won or lost every comparison with the rest, so their strength has no bound"
    return None
