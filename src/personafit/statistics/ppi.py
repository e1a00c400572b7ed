"""Prediction-powered inference: a small human part corrects a large machine-judged set.

The judge's mean over everything is cheap and biased; people's mean over a few items is right and noisy. PPI++
(Angelopoulos, Duchi, Zrnic 2023) adds to the machine's mean the human-minus-machine difference seen where both
judged, and weighs the machine by how much it helps, so the interval is valid however bad the judge is and hardly
wider than people's alone. Here the variance, and so the weight, is taken over people, who may have items in both parts.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from personafit.statistics.agreement import Floats, Ints
from personafit.statistics.agreement_bootstrap import FEWEST_PEOPLE, people_index
from personafit.statistics.clusters import Estimate, cluster_mean
from personafit.statistics.student import student_reach


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
    human: ArrayLike, judged: ArrayLike, judged_alone: ArrayLike, people: ArrayLike, people_alone: ArrayLike
) -> Corrected:
    """Mean human score from items scored by people and judge (`human`, `judged`) and by the judge alone."""
    truth, machine = np.asarray(human, dtype=np.float64), np.asarray(judged, dtype=np.float64)
    alone = np.asarray(judged_alone, dtype=np.float64)
    if truth.shape != machine.shape:
        raise ValueError("human and judged must score the same items")
    ids, ids_alone = np.asarray(people), np.asarray(people_alone)
    if not len(ids_alone):
        ids_alone = np.empty(0, dtype=ids.dtype)
    classical = cluster_mean(truth, ids)
    if not len(truth):
        reason = "undefined: no item was scored by people, so the judge cannot be corrected"
        return Corrected(
            Estimate(None, None, None, 0, 0, reason), classical, cluster_mean(alone, ids_alone), None
        )
    everyone = np.concatenate([ids, ids_alone])
    naive = cluster_mean(np.concatenate([machine, alone]), everyone)
    if not len(alone):
        return Corrected(classical, classical, naive, 0.0)
    person, count = people_index(everyone, len(truth) + len(alone))
    labelled, unlabelled = person[: len(truth)], person[len(truth) :]
    ours = _deviations(truth, labelled, count)
    gain = _deviations(alone, unlabelled, count) - _deviations(machine, labelled, count)
    weight = _best_weight(ours, gain)
    value = float(truth.mean() + weight * (alone.mean() - machine.mean()))
    met = len(np.unique(labelled))
    deviations = ours + weight * gain
    note = None
    if met < FEWEST_PEOPLE:
        note = f"no interval: it needs human scores of at least {FEWEST_PEOPLE} people, and there are {met}"
    elif not deviations.any():
        note = "no interval: all people's means are the same, so there is no spread to learn from"
    if note:
        return Corrected(Estimate(value, None, None, len(truth), met, note), classical, naive, weight)
    # Two degrees of freedom go: the mean and the weight were both fitted.
    error = np.sqrt(deviations @ deviations * met / (met - 2))
    half = float(student_reach(met - 2) * error)
    corrected = Estimate(value, value - half, value + half, len(truth), met)
    return Corrected(corrected, classical, naive, weight)


def _best_weight(ours: Floats, gain: Floats) -> float:
    """The weight with the least variance, within 0 and 1: the variance is a parabola in it."""
    curvature = float(gain @ gain)
    return float(np.clip(-(ours @ gain) / curvature, 0.0, 1.0)) if curvature > 0 else 0.0


def _deviations(values: Floats, person: Ints, count: int) -> Floats:
    """Each person's share of the deviation of the mean: they add up to 0, and their squares to its variance."""
    return np.bincount(person, values - values.mean(), minlength=count) / len(values)
