"""The alternative annotator test: shortfalls by brute force, wins, and the correction over annotators."""

import numpy as np
import pytest

from personafit.statistics.agreement import Ints
from personafit.statistics.raters import PASSES, alternative_annotator, false_discovery


def votes(machine: float, people: float, seed: int = 0) -> tuple[Ints, Ints]:
    """Four people and a machine on 400 units about 40 people, each right so often."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, (400, 1))
    right = rng.random((400, 5)) < [people] * 4 + [machine]
    return np.where(right, truth, 1 - truth), np.arange(400) % 40


def test_shortfalls_equal_brute_force() -> None:
    codes, person = votes(0.8, 0.8)
    codes[::7, 1] = -1
    found = alternative_annotator(codes, [0, 1, 2, 3], 4, person, None)
    for one in found.against:
        ahead = []
        for row in codes:
            rest = [row[m] for m in range(4) if m != one.annotator and row[m] >= 0]
            if row[one.annotator] >= 0 and rest:
                own, theirs = (np.mean([vote == row[who] for vote in rest]) for who in (4, one.annotator))
                ahead.append(np.sign(theirs - own))
        assert one.shortfall.value == pytest.approx(np.mean(ahead))
        assert one.shortfall.n == len(ahead)
        assert one.advantage == pytest.approx(np.mean(np.array(ahead) <= 0))
    assert found.advantage == pytest.approx(np.mean([one.advantage for one in found.against]))


def test_a_good_machine_may_stand_in_and_a_poor_one_may_not() -> None:
    good = alternative_annotator(*_apart(votes(0.95, 0.8)))
    assert good.win_rate == 1.0
    poor = alternative_annotator(*_apart(votes(0.55, 0.8)))
    assert poor.win_rate == 0.0


def _apart(study: tuple[Ints, Ints]) -> tuple[Ints, list[int], int, Ints, None]:
    return study[0], [0, 1, 2, 3], 4, study[1], None


def test_a_machine_that_falls_short_by_epsilon_seldom_passes() -> None:
    """The machine is right 13 points less often than people, so that its shortfall is about 0.1: the edge of the null."""
    tests = [alternative_annotator(*_apart(votes(0.67, 0.8, seed))) for seed in range(60)]
    shortfalls = [one.shortfall.value or 0.0 for test in tests for one in test.against]
    assert np.mean(shortfalls) > 0.09
    assert sum((test.win_rate or 0.0) >= PASSES for test in tests) <= 6


def test_two_annotators_are_too_few() -> None:
    codes, person = votes(0.9, 0.8)
    found = alternative_annotator(codes, [0, 1], 4, person, None)
    assert (found.against, found.win_rate) == ((), None)


def test_benjamini_yekutieli() -> None:
    # c(3) = 11/6, so the thresholds are rank × 0.05 / 3 / (11/6): 0.00909, 0.01818, 0.02727.
    assert false_discovery([0.02, 0.001, 0.03]) == (False, True, False)
    assert false_discovery([0.027, 0.001, 0.018]) == (True, True, True)
    assert false_discovery([None, 0.04]) == (False, True)
    assert false_discovery([]) == ()
