"""Scales by rank and differences between groups."""

import numpy as np
import pytest

from personafit.statistics.preferences import group_difference, group_difference_gap, scale_by_rank


def test_the_scale_is_monotone_keeps_signs_and_meets_its_ends() -> None:
    differences = np.array([-3.0, 0.0, 0.1, 0.2, 5.0, np.nan, 0.2])
    marks = scale_by_rank(differences)
    assert np.isnan(marks[5])
    known = np.delete(np.arange(7), 5)
    order = known[np.argsort(differences[known], kind="stable")]
    assert (np.diff(marks[order]) >= 0).all()
    assert marks[1] == 3.0
    assert marks[4] == 5.0
    assert marks[3] == marks[6]
    assert 1.0 <= marks[0] < 3.0 < marks[2] < marks[3]


def test_a_scale_of_nothing_and_of_no_differences() -> None:
    assert scale_by_rank([]).size == 0
    assert (scale_by_rank([0.0, 0.0]) == 3.0).all()


def test_the_difference_is_that_of_the_means_and_its_interval_holds() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(200):
        people = np.repeat(np.arange(30), 4)
        inside = rng.random(120) < 0.4
        marks = 3 + 0.5 * inside + rng.normal(0, 0.6, 30)[people] + rng.normal(0, 0.5, 120)
        found = group_difference(marks, inside, people, np.arange(120))
        assert found.value == pytest.approx(marks[inside].mean() - marks[~inside].mean())
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 0.5 <= found.high
    assert 180 <= hits <= 199


def test_a_group_of_few_people_is_known_no_better_than_they_are() -> None:
    rng = np.random.default_rng(8)
    people = np.repeat(np.arange(40), 10)
    hits, widths = 0, []
    for _ in range(200):
        inside = np.zeros(400, bool)
        inside[10 * rng.choice(40, 6, replace=False)] = True
        marks = 3 + rng.normal(0, 0.5, 40)[people] + rng.normal(0, 1, 400)
        found = group_difference(marks, inside, people, np.arange(400))
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 0 <= found.high
        widths.append(found.high - found.low)
    assert hits >= 184, "six ratings of six people were once taken for forty people's: 88 %"
    assert np.median(widths) > 1.5
    inside[np.flatnonzero(inside)[0]] = False
    found = group_difference(marks, inside, people, np.arange(400))
    assert (found.low, found.note) == (
        None,
        "no interval: one of the two groups is about fewer than 6 people",
    )


def test_a_gap_of_two_raters_on_the_same_units() -> None:
    inside = np.array([True, False] * 6)
    people = np.repeat(np.arange(6), 2)
    first, second = np.where(inside, 5.0, 3.0), np.where(inside, 3.5, 3.0)
    assert group_difference_gap(first, second, inside, people, people).value == pytest.approx(1.5)


def test_a_group_of_everybody_has_no_difference() -> None:
    found = group_difference([3.0, 4.0], [True, True], ["a", "b"], ["x", "y"])
    assert found.value is None
    assert "every unit is in the group" in str(found.note)
    few = group_difference([3.0, 4.0], [True, False], ["a", "b"], ["x", "y"])
    assert few.value == -1.0
    assert few.low is None
