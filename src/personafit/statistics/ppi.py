"""Prediction-powered inference: a small human part corrects a large machine-judged set.

The judge's mean over everything is cheap and biased; people's mean over a few items is right and noisy. PPI++
(Angelopoulos, Duchi, Zrnic 2023) adds to the machine's mean the human-minus-machine difference seen where both
judged, and weighs the machine by how much it helps, so the interval is valid however bad the judge is and hardly
wider than people's alone. Here the weight is taken over people, who may have items in both parts, and the variance over people
and, where prompts recur across people, over prompts too.

Labelled items may carry design weights, the inverse of their chance to be drawn. Then the human part is a weighted mean and the
machine's mean is over all items, labelled or not.

Whether the labelled part looks drawn at random is tested by randomization (`imbalances`): under a random draw without replacement the
counts of a part over categories (and over scores) follow the multivariate hypergeometric distribution, whatever the items are like and
however they cluster. It is exact, up to the number of draws, and needs no model.
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
    """The corrected mean beside the human one (right, noisy) and the machine's (the naive one).

    `weight` is how far the machine was trusted: 0 leaves the human mean as it is, 1 is plain prediction-powered
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
    """Mean human score from items scored by people and judge (`human`, `judged`) and by the judge alone.

    Prompts are a second kind of cluster where they are given and recur across people. `weights` are design weights of the
    labelled items; without them every item had the same chance.
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
    # What each item does to people's mean, and to the machine's mean over all less its mean where people judged.
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
    """The interval of a value from what each item does to it; people (or prompts) with few labels give few degrees of freedom."""
    items = len(parts)
    whole = cluster_mean(value + items * parts, people, prompts)
    if whole.se is None or whole.df is None:
        return replace(whole, value=value)
    ours = value + labelled * parts[:labelled]
    own = cluster_mean(ours, people[:labelled], None if prompts is None else prompts[:labelled])
    free = min(whole.df, whole.df if own.df is None else own.df)
    df = max(
        1.0, free - 1
    )  # one more degree of freedom goes, as the weight was fitted to make the variance small
    se = whole.se * float(
        np.sqrt((free + 1) / df)
    )  # both were fitted to the labelled people, who may be few of all
    half = student_reach(df) * se
    return replace(whole, value=value, low=value - half, high=value + half, se=se, df=df)


def weighted_mean(
    values: ArrayLike,
    people: ArrayLike,
    prompts: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Estimate:
    """The clustered mean of values with design weights: the mean of what each value does to it, linearised."""
    numbers = np.asarray(values, dtype=np.float64)
    if weights is None or not len(numbers):
        return cluster_mean(numbers, people, prompts)
    weight = np.asarray(weights, dtype=np.float64)
    mean = float(np.average(numbers, weights=weight))
    return cluster_mean(mean + weight / weight.mean() * (numbers - mean), people, prompts)


def _second_way(everyone: NDArray[Any], prompts: ArrayLike, prompts_alone: ArrayLike) -> Ints | None:
    """Each item's prompt by number, where there are several and they recur across people."""
    first, rest = np.asarray(prompts), np.asarray(prompts_alone)
    asked = dense_codes(np.concatenate([first, rest]) if len(rest) else first)[0].astype(np.int64)
    return asked if asked.max(initial=0) > 0 and prompts_recur(everyone, asked) else None


def _best_weight(ours: Floats, gain: Floats) -> float:
    """The weight with the least variance, within 0 and 1: the variance is a parabola in it."""
    curvature = float(gain @ gain)
    return float(np.clip(-(ours @ gain) / curvature, 0.0, 1.0)) if curvature > 0 else 0.0


def _shares(values: Floats, weights: Floats | None = None) -> Floats:
    """What each value does to the mean of all: they add up to 0."""
    if weights is None:
        return np.asarray((values - values.mean()) / len(values))
    return np.asarray(weights * (values - np.average(values, weights=weights)) / weights.sum())


# -- whether the labelled part looks drawn at random ---------------------------------------------------------------------------

DRAWS = 1_999
RANDOM = 0.05
EXPECTED = 3.0  # labels a category should have had before it is said to have none


@dataclass(frozen=True)
class Imbalance:
    """One factor by which the part differs from a random draw."""

    factor: str
    p_value: float
    """Adjusted for all factors looked at."""
    present: tuple[str, ...]
    """Categories the part has items of."""
    absent: tuple[str, ...]
    """Categories of which a random draw would have brought several and the part has none."""


def imbalances(
    drawn: ArrayLike, factors: Mapping[str, ArrayLike], scores: Mapping[str, ArrayLike], seed: int = 0
) -> list[Imbalance]:
    """The factors (categories) and scores (numbers) over which the drawn items are not spread as a random draw spreads them.

    `drawn` says which items are in the part. A factor with one category, or a part that is empty or everything, tests nothing.
    """
    part = np.asarray(drawn, dtype=bool)
    size = int(part.sum())
    if not 0 < size < len(part):
        return []
    rng = np.random.default_rng(seed)
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
