"""Means from sums: the intervals of `cluster_mean`, without its values."""

import numpy as np
import pytest

from personafit.statistics import cluster_mean, prompts_recur
from personafit.statistics.moments import NO_SUMS, ClusteredSums, Moments

UNIT = (0.0, 1.0)


def added_up(values: list[float], clusters: list[str]) -> Moments:
    total = Moments()
    for cluster in dict.fromkeys(clusters):
        inside = [value for value, one in zip(values, clusters, strict=True) if one == cluster]
        n, s = len(inside), sum(inside)
        total += Moments(1, n, s, s * s, s * n, n * n)
    return total


def sums(values: list[float], people: list[str], prompts: list[str]) -> ClusteredSums:
    pairs = [f"{person} {prompt}" for person, prompt in zip(people, prompts, strict=True)]
    by_person, by_prompt, by_both = (added_up(values, clusters) for clusters in (people, prompts, pairs))
    return ClusteredSums(by_person, by_prompt, by_both, min(values), max(values))


@pytest.mark.parametrize("prompts", [1, 2, 5, 1_000_000])
@pytest.mark.parametrize("people", [1, 2, 12])
@pytest.mark.parametrize("scale", [[0.0, 0.5, 1.0], [0.0, 1 / 3, 1.0], [1.0], [0.5]])
def test_sums_give_the_mean_and_the_interval(people: int, prompts: int, scale: list[float]) -> None:
    draw = np.random.default_rng(people + prompts)
    values = [float(value) for value in draw.choice(scale, 60)]
    persons = [f"p{number}" for number in draw.integers(people, size=60)]
    asked = [f"q{number}" for number in draw.integers(prompts, size=60)]
    two_way = prompts_recur(persons, asked)
    wanted = cluster_mean(values, persons, asked if two_way else None, UNIT)
    found = sums(values, persons, asked)
    estimate = found.estimate(UNIT)
    assert found.prompts_recur == two_way
    assert (estimate.n, estimate.people, estimate.note) == (wanted.n, wanted.people, wanted.note)
    for name in ("value", "low", "high"):
        number = getattr(wanted, name)
        assert getattr(estimate, name) == (None if number is None else pytest.approx(number, abs=1e-9))


def test_where_nothing_varies_nothing_is_left_of_large_sums() -> None:
    # Everyone right on exactly one of three: in floats the sums of millions would leave a variance.
    sizes = Moments(4_000_000, 12_000_000, 4_000_000.0, 4_000_000.0, 12_000_000.0, 36_000_000.0)
    assert sizes.variance() == 0.0


def test_nothing_is_said_of_nothing() -> None:
    assert NO_SUMS.estimate().note == "no item has an answer"
