"""All raters against each other: pairs, blocks by kind, reliability, the human ceiling, rankings, votes.

A rater is a column of the ratings and has a kind, such as "human" or "llm"; nothing here treats one kind apart
from another except where the caller names a panel. All intervals resample people (see `agreement_bootstrap`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, combinations_with_replacement

import numpy as np
from numpy.typing import ArrayLike

from personafit.statistics import agreement_bootstrap as boot
from personafit.statistics.agreement import Figure, Floats, Ints, as_codes, label_counts, ratio
from personafit.statistics.agreement_bootstrap import PairFigure
from personafit.statistics.clusters import Estimate


@dataclass(frozen=True)
class Pair:
    """How far two raters (columns) agree."""

    first: int
    second: int
    figure: Estimate


@dataclass(frozen=True)
class Block:
    """Mean agreement over all pairs of two kinds of rater, such as human with llm."""

    kinds: tuple[str, str]
    pairs: int
    figure: Estimate


@dataclass(frozen=True)
class Reliability:
    """Mean agreement of one rater with all the other raters of one kind."""

    rater: int
    kind: str
    figure: Estimate


@dataclass(frozen=True)
class Comparison:
    """Every pair, block and rater under one figure of agreement."""

    pairs: tuple[Pair, ...]
    blocks: tuple[Block, ...]
    reliability: tuple[Reliability, ...]


@dataclass(frozen=True)
class Ceiling:
    """How often each rater meets the majority of a panel that does not include them; the panel's mean is the ceiling."""

    ceiling: Estimate
    raters: tuple[Estimate, ...]


@dataclass(frozen=True)
class Votes:
    """The majority of each unit: its label (-1 if tied or nobody voted), its share, the votes cast, and ties."""

    label: Ints
    share: Floats
    votes: Ints
    tied: Ints


def compare_raters(
    ratings: ArrayLike,
    kinds: Sequence[str],
    people: ArrayLike,
    figure: PairFigure = "kappa",
    resamples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Agreement of every pair of raters, the means of their blocks by kind, and each rater's means by kind."""
    draws = boot.bootstrap_pairs(ratings, people, figure, resamples, seed)
    if len(kinds) != np.asarray(ratings).shape[1]:
        raise ValueError("kinds must name the kind of every rater")
    blocks, reliability = [], []
    names = list(dict.fromkeys(kinds))
    for one, other in combinations_with_replacement(names, 2):
        members = [k for k, (i, j) in enumerate(draws.pairs) if {kinds[i], kinds[j]} == {one, other}]
        if members:
            blocks.append(Block((one, other), len(members), draws.mean(members)))
    for rater in range(len(kinds)):
        for kind in names:
            members = [
                k
                for k, (i, j) in enumerate(draws.pairs)
                if (i == rater and kinds[j] == kind) or (j == rater and kinds[i] == kind)
            ]
            if members:
                reliability.append(Reliability(rater, kind, draws.mean(members)))
    pairs = tuple(Pair(i, j, draws.interval(k)) for k, (i, j) in enumerate(draws.pairs))
    return Comparison(pairs, tuple(blocks), tuple(reliability))


def panel_ceiling(
    codes: ArrayLike, panel: Sequence[int], people: ArrayLike, resamples: int = 1000, seed: int = 0
) -> Ceiling:
    """Score each panel member against the majority of the others, and everyone else against the same majorities.

    A tie between two labels scores ½ if the rater gave one of them (between k labels, 1/k). A rater outside the
    panel meets the majority that remains when each voting member in turn is left out, averaged, so that their score
    can be set beside the ceiling: against the full panel it would profit from one more voter.
    """
    table = as_codes(codes)
    person, count = boot.people_index(people, len(table))
    members = sorted(set(panel))
    if len(members) < 2:
        nothing = Estimate(None, None, None, 0, 0, "undefined: a panel of one has no others to agree with")
        return Ceiling(nothing, tuple(nothing for _ in range(table.shape[1])))
    scores, weights = _panel_scores(table, members)
    rows = [np.column_stack([scores[:, r], weights[:, r]]) for r in range(table.shape[1])]
    rows.append(np.column_stack([scores[:, members].sum(1), weights[:, members].sum(1)]))
    sums = [boot.sum_by_person(row, person, count) for row in rows]
    draws = boot.resample([partial(_same, block) for block in sums], _mean_of, count, resamples, seed)
    intervals = []
    for column, (row, block) in enumerate(zip(rows, sums, strict=True)):
        point = _defined(
            _mean_of(block.sum(0)), "undefined: no unit has both a rating and the votes of others"
        )
        n, met = int((row[:, 1] > 0).sum()), int((block[:, 1] > 0).sum())
        intervals.append(boot.percentile_interval(point, draws[:, column], n, met, 0.0))
    return Ceiling(intervals[-1], tuple(intervals[:-1]))


def ranking_agreement(
    scores: ArrayLike, systems: ArrayLike, people: ArrayLike, resamples: int = 1000, seed: int = 0
) -> tuple[Pair, ...]:
    """Kendall's τ-b of the rankings of systems (by mean score) that every two judges (columns of scores) give."""
    table = np.asarray(scores, dtype=np.float64)
    system, number = boot.people_index(systems, len(table))
    person, count = boot.people_index(people, len(table))
    judges = table.shape[1]
    present = np.isfinite(table)
    columns = [
        np.where(present[:, j], table[:, j], 0.0) * (system == s)
        for j in range(judges)
        for s in range(number)
    ]
    columns += [
        (present[:, j] & (system == s)).astype(np.float64) for j in range(judges) for s in range(number)
    ]
    sums = boot.sum_by_person(np.array(columns).reshape(len(columns), len(table)).T, person, count)
    total = sums.sum(0, keepdims=True)
    scored = ~np.isnan(_means(total, judges, number)[0])
    result = []
    for i, j in combinations(range(judges), 2):
        formula = partial(_tau_of, judges=judges, systems=number, first=i, second=j)
        both = int((scored[i] & scored[j]).sum())
        if both < 2:
            point = Figure(None, "undefined: fewer than two systems were scored by both judges")
        else:
            point = _defined(formula(total)[0], "undefined: a judge scores all systems alike")
        draws = boot.resample([partial(_same, sums)], formula, count, resamples, seed)[:, 0]
        met = len(np.unique(person[present[:, i] | present[:, j]]))
        result.append(Pair(i, j, boot.percentile_interval(point, draws, both, met)))
    return tuple(result)


def majority_vote(codes: ArrayLike) -> Votes:
    """The label most raters gave each unit; as a column beside the others it is one more rater, an ensemble."""
    counts = label_counts(as_codes(codes))
    votes = counts.sum(1)
    most = counts.max(1, initial=0)
    tied = ((counts == most[:, None]) & (counts > 0)).sum(1)
    label = np.where(tied == 1, counts.argmax(1) if counts.shape[1] else -1, -1)
    return Votes(label, most / np.maximum(votes, 1), votes, np.where(tied > 1, tied, 0))


def _panel_scores(table: Ints, members: Sequence[int]) -> tuple[Floats, Floats]:
    """Each rater's score and weight on each unit: a member counts once, an outsider averages over left-out members."""
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
        credit = best / np.maximum(best.sum(1), 1)[:, None]
        for rater in (member, *outsiders):
            # A member who did not vote leaves the panel whole: leaving them out again would repeat the full panel.
            counted = voted & (most > 0) & (table[:, rater] >= 0)
            scores[counted, rater] += credit[counted, table[counted, rater]]
            weights[counted, rater] += 1
    share = np.maximum(weights, 1)
    return scores / share, np.minimum(weights, 1)


def _defined(value: Floats, reason: str) -> Figure:
    return Figure(None, reason) if np.isnan(value) else Figure(float(value))


def _same(sums: Floats) -> Floats:
    return sums


def _mean_of(sums: Floats) -> Floats:
    return ratio(sums[..., 0], sums[..., 1])


def _means(sums: Floats, judges: int, systems: int) -> Floats:
    totals, counts = np.split(sums, 2, axis=-1)
    return ratio(totals, counts).reshape(len(sums), judges, systems)


def _tau_of(sums: Floats, judges: int, systems: int, first: int, second: int) -> Floats:
    means = _means(sums, judges, systems)[:, [first, second]]
    scored = np.asarray(~np.isnan(means).any(1, keepdims=True))
    means = np.where(scored, means, 0.0)
    i, j = np.triu_indices(systems, 1)
    # Means equal but for rounding are ties: the same scores added in another order must not rank two systems.
    gap = np.round(means[:, :, i] - means[:, :, j], 12)
    signs = np.sign(gap) * (scored[:, :, i] & scored[:, :, j])
    together = (signs[:, 0] * signs[:, 1]).sum(-1)
    return ratio(together, np.sqrt(np.abs(signs[:, 0]).sum(-1) * np.abs(signs[:, 1]).sum(-1)))
