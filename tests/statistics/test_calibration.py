"""Calibration and selective accuracy against scikit-learn and hand-worked examples."""

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from personafit.statistics import calibration
from personafit.statistics.agreement import Floats


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def sample(seed: int, n: int = 1000) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.5, 1, n)
    return confidence, (rng.random(n) < confidence**2).astype(np.float64)


def test_bins_equal_sklearns() -> None:
    confidence, correct = sample(0)
    table = calibration.reliability_table(confidence, correct)
    accuracy, mean = calibration_curve(correct, confidence, n_bins=10, strategy="quantile")
    assert [part.n for part in table] == [100] * 10
    assert [part.accuracy for part in table] == pytest.approx(accuracy)
    assert [part.confidence for part in table] == pytest.approx(mean)
    error = calibration.calibration_error(confidence, correct).value
    assert error == pytest.approx(np.mean(np.abs(accuracy - mean)))


def test_a_hand_worked_error() -> None:
    # Two bins: 0.6 with 1 of 2 right, 0.9 with 2 of 2 right.
    error = calibration.calibration_error([0.6, 0.9, 0.6, 0.9], [1, 1, 0, 1], bins=2)
    assert error.value == pytest.approx(0.5 * 0.1 + 0.5 * 0.1)


@pytest.mark.parametrize("digits", [1, 9], ids=["few confidences", "many confidences"])
def test_the_error_by_chance_is_that_of_drawn_answers(digits: int) -> None:
    confidence = np.round(sample(3)[0], digits)
    answers = (np.random.default_rng(0).random((20, len(confidence))) < confidence).astype(np.float64)
    errors = [calibration.calibration_error(confidence, right).value or 0.0 for right in answers]
    assert calibration.chance_error(confidence, 20) == pytest.approx(np.mean(errors))


def test_order_of_rows_does_not_matter() -> None:
    confidence, correct = sample(1)
    confidence = np.round(confidence, 1)
    order = np.random.default_rng(2).permutation(len(confidence))
    assert calibration.reliability_table(confidence, correct) == pytest.approx(
        calibration.reliability_table(confidence[order], correct[order])
    )


def test_margins_become_the_confidence_of_the_chosen_side() -> None:
    assert calibration.choice_confidence([0.0, 2.0, -2.0]) == pytest.approx(
        [0.5, 0.880797, 0.880797], abs=1e-6
    )


def test_nothing_is_undefined() -> None:
    assert calibration.reliability_table([], []) == ()
    assert calibration.calibration_error([], []).value is None
    assert calibration.calibration_error([np.nan], [1]).note


def test_one_judgment_and_one_confidence() -> None:
    assert calibration.calibration_error([0.7], [1]).value == pytest.approx(0.3)
    (only,) = calibration.reliability_table([0.7] * 50, [1] * 25 + [0] * 25)
    assert (only.n, only.accuracy) == (50, 0.5)


def test_lists_must_match() -> None:
    with pytest.raises(ValueError, match="same length"):
        calibration.calibration_error([0.5], [1, 0])
