"""Prediction-powered inference: a small human-labelled part corrects a large machine-judged set.

The judge's mean over all items is cheap but biased; the human mean over a few items is unbiased but noisy. PPI++
(Angelopoulos, Duchi, Zrnic 2023) adds to the judge's mean the human-minus-judge difference on the items that both
scored, and weights the judge by how much it helps, so the interval is valid however bad the judge is and hardly
wider than the human one. Here the weight is computed over people, who may have items in both parts, and the variance is clustered by
person and, where prompts recur across people, by prompt too.

Labelled items may carry design weights, the inverse of their sampling probability. Then the human part is a weighted mean and the
judge's mean is over all items, labelled or not.

Whether the labelled part looks like a random sample is tested by randomization (`imbalances`): under sampling without replacement the
counts over categories (and over scores) follow the multivariate hypergeometric distribution, whatever the items are like and
however they cluster. The test is exact, up to the number of draws, and needs no model.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from personafit.statistics.clusters import (
    FEWEST_PEOPLE,
    Estimate,
    cluster_mean,
    dense_codes,
    prompts_recur,
    student_reach,
    too_few,
)
from personafit.statistics.decisions import holm

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEWEST_PROMPTS = 3


@dataclass(frozen=True)
class Corrected:
    """The corrected mean, with the human mean (unbiased, noisy) and the machine mean (naive).

    `weight` is the weight of the machine scores: 0 leaves the human mean unchanged, 1 is plain prediction-powered
    inference.
    """

    corrected: Estimate
    human: Estimate
    machine: Estimate
    weight: float | None


def ppi_mean(
    human: ArrayLike,
    judged: ArrayLike,
    judged_alone: ArrayLike,
    people: ArrayLike,
    people_alone: ArrayLike,
    prompts: ArrayLike | None = None,
    prompts_alone: ArrayLike = (),
    weights: ArrayLike | None = None,
) -> Corrected:
    """Estimate the mean human score from items scored by people and judge (`human`, `judged`) and by the judge alone.

    Prompts, if given, are a second kind of cluster where they recur across people. `weights` are design weights of the
    labelled items; without them all items had the same sampling probability.
    """
    truth, machine = np.asarray(human, dtype=np.float64), np.asarray(judged, dtype=np.float64)
    alone = np.asarray(judged_alone, dtype=np.float64)
    if truth.shape != machine.shape:
        raise ValueError("human and judged must score the same items")
    ids, ids_alone = np.asarray(people), np.asarray(people_alone)
    if not len(ids_alone):
        ids_alone = np.empty(0, dtype=ids.dtype)
    everyone = np.concatenate([ids, ids_alone])
    asked = None if prompts is None else _second_way(everyone, prompts, prompts_alone)
    weighted = None if weights is None else np.asarray(weights, dtype=np.float64)
    classical = weighted_mean(truth, ids, None if asked is None else asked[: len(truth)], weighted)
    naive = cluster_mean(np.concatenate([machine, alone]), everyone, asked)
    if not len(truth):
        reason = "undefined: no item was scored by people, so the judge cannot be corrected"
        return Corrected(Estimate(None, None, None, 0, 0, reason), classical, naive, None)
    if not len(alone) and weighted is None:
        return Corrected(classical, classical, naive, 0.0)
    person = dense_codes(everyone)[0]
    # Influence of each item on the human mean, and on the gap between the judge's means over all and over labelled items.
    own, share = _shares(truth, weighted), _shares(machine, weighted)
    if weighted is None:
        gap = float(alone.mean() - machine.mean())
        theirs = np.concatenate([-share, _shares(alone)])
    else:
        everything = np.concatenate([machine, alone])
        gap = float(everything.mean() - np.average(machine, weights=weighted))
        theirs = _shares(everything) - np.concatenate([share, np.zeros(len(alone))])
    ours = np.concatenate([own, np.zeros(len(alone))])
    by_person = (np.asarray(np.bincount(person, part), dtype=np.float64) for part in (ours, theirs))
    weight = _best_weight(*by_person)
    value = float(np.average(truth, weights=weighted) + weight * gap)
    met = len(np.unique(person[: len(truth)]))
    fewest = met if asked is None else min(met, len(np.unique(asked[: len(truth)])))
    parts = ours + weight * theirs
    note = None
    if met < FEWEST_PEOPLE:
        note = too_few(met, what="people with human scores")
    elif fewest < FEWEST_PROMPTS:
        note = too_few(fewest, FEWEST_PROMPTS, "prompts with human scores")
    if note:
        return Corrected(Estimate(value, None, None, len(truth), met, note), classical, naive, weight)
    corrected = _interval(value, parts, len(truth), everyone, asked)
    return Corrected(replace(corrected, n=len(truth), people=met), classical, naive, weight)


def _interval(
    value: float, parts: Floats, labelled: int, people: NDArray[Any], prompts: Ints | None
) -> Estimate:
    """Return a value with the interval from its influence function; few labelled people (or prompts) mean few degrees of freedom."""
    items = len(parts)
    whole = cluster_mean(value + items * parts, people, prompts)
    if whole.se is None or whole.df is None:
        return replace(whole, value=value)
    ours = value + labelled * parts[:labelled]
    own = cluster_mean(ours, people[:labelled], None if prompts is None else prompts[:labelled])
    free = min(whole.df, whole.df if own.df is None else own.df)
    df = max(
        1.0, free - 1
    )  # one degree of freedom is lost, as the weight was fitted to minimise the variance
    se = whole.se * float(
        np.sqrt((free + 1) / df)
    )  # the mean and the weight were fitted to the labelled people, who may be few
    half = student_reach(df) * se
    return replace(whole, value=value, low=value - half, high=value + half, se=se, df=df)


def weighted_mean(
    values: ArrayLike,
    people: ArrayLike,
    prompts: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Estimate:
    """Return the clustered mean of values with design weights, by linearisation."""
    numbers = np.asarray(values, dtype=np.float64)
    if weights is None or not len(numbers):
        return cluster_mean(numbers, people, prompts)
    weight = np.asarray(weights, dtype=np.float64)
    mean = float(np.average(numbers, weights=weight))
    return cluster_mean(mean + weight / weight.mean() * (numbers - mean), people, prompts)


def _second_way(everyone: NDArray[Any], prompts: ArrayLike, prompts_alone: ArrayLike) -> Ints | None:
    """Return the prompt code of each item; None unless there are several prompts and some recur across people."""
    first, rest = np.asarray(prompts), np.asarray(prompts_alone)
    asked = dense_codes(np.concatenate([first, rest]) if len(rest) else first)[0].astype(np.int64)
    return asked if asked.max(initial=0) > 0 and prompts_recur(everyone, asked) else None


def _best_weight(ours: Floats, gain: Floats) -> float:
    """Return the variance-minimising weight, clipped to [0, 1]; the variance is quadratic in the weight."""
    curvature = float(gain @ gain)
    return float(np.clip(-(ours @ gain) / curvature, 0.0, 1.0)) if curvature > 0 else 0.0


def _shares(values: Floats, weights: Floats | None = None) -> Floats:
    """Return the influence of each value on the (weighted) mean; influences sum to 0."""
    if weights is None:
        return np.asarray((values - values.mean()) / len(values))
    return np.asarray(weights * (values - np.average(values, weights=weights)) / weights.sum())


# -- does the labelled part look like a random sample? -------------------------------------------------------------------------

DRAWS = 1_999
RANDOM = 0.05
EXPECTED = 3.0  # expected labels of a category before it is reported as absent


@dataclass(frozen=True)
class Imbalance:
    """One factor in which the labelled part differs from a random sample."""

    factor: str
    p_value: float
    """P-value adjusted for all factors tested."""
    present: tuple[str, ...]
    """Categories with items in the part."""
    absent: tuple[str, ...]
    """Categories with no items in the part, though a random sample would be expected to have several."""


def imbalances(
    drawn: ArrayLike, factors: Mapping[str, ArrayLike], scores: Mapping[str, ArrayLike]
) -> list[Imbalance]:
    """Return the factors (categories) and scores (numbers) whose distribution in the drawn items differs from a random sample.

    `drawn` is a mask of the items in the part. Factors with a single category are not tested, nor is an empty or complete part.
    """
    part = np.asarray(drawn, dtype=bool)
    size = int(part.sum())
    if not 0 < size < len(part):
        return []
    rng = np.random.default_rng(0)
    found: list[tuple[str, float, tuple[str, ...], tuple[str, ...]]] = []
    for name, values in (*factors.items(), *scores.items()):
        categories, codes = np.unique(np.asarray(values), return_inverse=True)
        counts = np.bincount(codes)
        if len(counts) < 2:
            continue
        ours = np.bincount(codes[part], minlength=len(counts))
        draws = rng.multivariate_hypergeometric(counts, size, DRAWS, method="marginals")
        expected = size * counts / len(part)
        if name in scores:
            numbers = categories.astype(np.float64)
            distance = np.abs((draws - expected) @ numbers)
            own = abs(float((ours - expected) @ numbers))
        else:
            distance = ((draws - expected) ** 2 / expected).sum(axis=1)
            own = float(((ours - expected) ** 2 / expected).sum())
        p_value = (1 + int((distance >= own * (1 - 1e-9)).sum())) / (DRAWS + 1)
        present = tuple(str(one) for one in categories[ours > 0])
        absent = tuple(str(one) for one in categories[(ours == 0) & (expected >= EXPECTED)])
        found.append((name, p_value, present, absent))
    adjusted = holm([p_value for _, p_value, _, _ in found])
    return [
        Imbalance(name, p, present, absent)
        for (name, _, present, absent), p in zip(found, adjusted, strict=True)
        if p is not None and p < RANDOM
    ]
