"""Prediction-powered inference: a small human part corrects a large machine-judged set.

The judge's mean over everything is cheap and biased; people's mean over a few items is right and noisy. PPI++
(Angelopoulos, Duchi, Zrnic 2023) adds to the machine's mean the human-minus-machine difference seen where both
judged, and weighs the machine by how much it helps, so the interval is valid however bad the judge is and hardly
wider than people's alone. Here the weight is taken over people, who may have items in both parts, and the variance over people
and, where prompts recur across people, over prompts too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from personafit.statistics.agreement import Floats, Ints
from personafit.statistics.agreement_intervals import people_index
from personafit.statistics.clusters import FEWEST_PEOPLE, Estimate, cluster_mean, prompts_recur
from personafit.statistics.student import student_reach

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
) -> Corrected:
    """Mean human score from items scored by people and judge (`human`, `judged`) and by the judge alone.

    Prompts are a second kind of cluster where they are given and recur across people.
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
    classical = cluster_mean(truth, ids, None if asked is None else asked[: len(truth)])
    naive = cluster_mean(np.concatenate([machine, alone]), everyone, asked)
    if not len(truth):
        reason = "undefined: no item was scored by people, so the judge cannot be corrected"
        return Corrected(Estimate(None, None, None, 0, 0, reason), classical, naive, None)
    if not len(alone):
        return Corrected(classical, classical, naive, 0.0)
    person, count = people_index(everyone, len(truth) + len(alone))
    labelled, unlabelled = person[: len(truth)], person[len(truth) :]
    ours = _deviations(truth, labelled, count)
    gain = _deviations(alone, unlabelled, count) - _deviations(machine, labelled, count)
    weight = _best_weight(ours, gain)
    value = float(truth.mean() + weight * (alone.mean() - machine.mean()))
    met = len(np.unique(labelled))
    fewest = met if asked is None else min(met, len(np.unique(asked[: len(truth)])))
    note = None
    if met < FEWEST_PEOPLE:
        note = f"no interval: it needs human scores of at least {FEWEST_PEOPLE} people, and there are {met}"
    elif fewest < FEWEST_PROMPTS:
        note = (
            f"no interval: it needs human scores on at least {FEWEST_PROMPTS} prompts, and there are {fewest}"
        )
    elif not (ours + weight * gain).any():
        note = "no interval: all people's means are the same, so there is no spread to learn from"
    if note:
        return Corrected(Estimate(value, None, None, len(truth), met, note), classical, naive, weight)
    # What each item does to the corrected mean.
    parts = np.concatenate([_shares(truth) - weight * _shares(machine), weight * _shares(alone)])
    variance = _variance(parts, person, len(truth))
    if asked is not None:
        by_prompt = _variance(parts, asked, len(truth))
        cells = people_index(person * (asked.max() + 1) + asked, len(person))[0]
        both = variance + by_prompt - _variance(parts, cells, len(truth))
        variance = max(both, variance, by_prompt)  # as in `clusters`
    half = float(student_reach(fewest - 2) * np.sqrt(variance))
    corrected = Estimate(value, value - half, value + half, len(truth), met)
    return Corrected(corrected, classical, naive, weight)


def _second_way(everyone: NDArray[Any], prompts: ArrayLike, prompts_alone: ArrayLike) -> Ints | None:
    """Each item's prompt by number, where there are several and they recur across people."""
    asked, count = people_index(
        np.concatenate([np.asarray(prompts), np.asarray(prompts_alone)]), len(everyone)
    )
    return asked if count > 1 and prompts_recur(everyone, asked) else None


def _best_weight(ours: Floats, gain: Floats) -> float:
    """The weight with the least variance, within 0 and 1: the variance is a parabola in it."""
    curvature = float(gain @ gain)
    return float(np.clip(-(ours @ gain) / curvature, 0.0, 1.0)) if curvature > 0 else 0.0


def _variance(parts: Floats, clusters: Ints, labelled: int) -> float:
    """The clustered variance of the corrected mean; two degrees of freedom go, as the mean and the weight were both fitted."""
    sums, met = np.bincount(clusters, parts), len(np.unique(clusters[:labelled]))
    return float(sums @ sums * met / (met - 2))


def _shares(values: Floats) -> Floats:
    """What each value does to the mean of all: they add up to 0."""
    return np.asarray((values - values.mean()) / len(values))


def _deviations(values: Floats, person: Ints, count: int) -> Floats:
    """The same by person; their squares add up to the variance of the mean."""
    return np.asarray(np.bincount(person, _shares(values), minlength=count), dtype=np.float64)
