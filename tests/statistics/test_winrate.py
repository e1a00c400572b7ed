"""Length-controlled win rates: against statsmodels, on a pure length effect, and on degenerate data."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit

from personafit.statistics import length_controlled_rate
from tests.helpers import Later

sm: Any = Later("statsmodels.api")

Floats = NDArray[np.float64]


def simulated(
    seed: int, at_equal: float, slope: float, n: int = 3000, people: int = 60
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Wins with a given log-odds at equal length and a given pull of length; our answers are mostly longer."""
    source = np.random.default_rng(seed)
    difference = source.normal(40, 60, n).round()
    person = source.integers(0, people, n)
    logit = at_equal + slope * np.tanh(difference / difference.std()) + source.normal(0, 0.3, people)[person]
    return (source.random(n) < expit(logit)).astype(np.float64), difference, person


def design(difference: Floats) -> Floats:
    return np.column_stack([np.ones_like(difference), np.tanh(difference / difference.std())])


@pytest.mark.parametrize(("at_equal", "slope"), [(0.0, 1.5), (0.8, -0.5), (-0.4, 0.0)])
def test_rate_and_interval_match_statsmodels(at_equal: float, slope: float) -> None:
    wins, difference, person = simulated(1, at_equal, slope)
    estimate = length_controlled_rate(wins, difference, person)
    fit = sm.Logit(wins, design(difference)).fit(
        disp=False, cov_type="cluster", cov_kwds={"groups": person}, use_t=True
    )
    low, high = expit(fit.conf_int()[0])
    assert estimate.value == pytest.approx(expit(fit.params[0]), abs=1e-4)
    assert estimate.low == pytest.approx(low, abs=1e-3)
    assert estimate.high == pytest.approx(high, abs=1e-3)
    assert (estimate.n, estimate.people) == (3000, 60)


def test_prompts_that_recur_are_clusters_too() -> None:
    """Questions that are won or lost by everybody: without them as clusters the interval is far too short."""
    source = np.random.default_rng(5)
    person, prompt = np.divmod(np.arange(600), 20)
    difference = source.normal(0, 60, 600)
    wins = (source.random(600) < expit(0.3 + source.normal(0, 1.2, 20)[prompt])).astype(np.float64)
    estimate = length_controlled_rate(wins, difference, person, prompt)
    fits = [
        sm.Logit(wins, design(difference)).fit(disp=False, cov_type="cluster", cov_kwds={"groups": groups})
        for groups in (np.column_stack([person, prompt]), person, prompt)
    ]
    reach = stats.t.ppf(0.975, 19) * max(fit.bse[0] for fit in fits)  # never tighter than either way alone
    low, high = (expit(fits[0].params[0] + end) for end in (-reach, reach))
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=2e-3)
    alone = length_controlled_rate(wins, difference, person)
    assert alone.low is not None
    assert alone.high is not None
    assert high - low > 1.5 * (alone.high - alone.low)


def test_ties_count_half_as_in_a_fractional_glm() -> None:
    wins, difference, person = simulated(2, 0.3, 1.0)
    wins[::5] = 0.5
    estimate = length_controlled_rate(wins, difference, person)
    fit = sm.GLM(wins, design(difference), family=sm.families.Binomial()).fit()
    assert estimate.value == pytest.approx(expit(fit.params[0]), abs=1e-4)


def test_a_pure_length_effect_is_taken_out() -> None:
    """A judge that only likes length: we win 60-odd % raw, and half at equal length."""
    wins, difference, person = simulated(3, 0.0, 2.0)
    assert wins.mean() > 0.6
    estimate = length_controlled_rate(wins, difference, person)
    assert estimate.value == pytest.approx(0.5, abs=0.04)
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < 0.5 < estimate.high


def test_a_merit_that_is_not_length_stays() -> None:
    wins, difference, person = simulated(4, 1.0, 0.0)
    estimate = length_controlled_rate(wins, difference, person)
    assert estimate.value == pytest.approx(expit(1.0), abs=0.04)
    assert estimate.value == pytest.approx(wins.mean(), abs=0.03)


def test_turning_the_pairs_round_turns_the_rate_round() -> None:
    wins, difference, person = simulated(5, 0.6, 0.7, n=400)
    ours = length_controlled_rate(wins, difference, person)
    theirs = length_controlled_rate(1 - wins, -difference, person)
    assert ours.value is not None
    assert theirs.value == pytest.approx(1 - ours.value)
    assert ours.low is not None
    assert theirs.high == pytest.approx(1 - ours.low)


def test_equal_lengths_give_the_plain_rate() -> None:
    wins = np.array([1.0, 1.0, 0.0, 1.0] * 50)
    estimate = length_controlled_rate(wins, np.zeros(200), np.arange(200) % 20)
    assert estimate.value == pytest.approx(0.75, abs=1e-3)


@pytest.mark.parametrize("won", [1.0, 0.0])
def test_every_comparison_won_is_not_certainty(won: float) -> None:
    """Ten people and no variation: the interval must be as wide as the exact binomial one."""
    estimate = length_controlled_rate(np.full(30, won), np.arange(30.0) - 10, np.arange(30) % 10)
    assert estimate.value == won
    edge = 0.025 ** (1 / 10)
    assert (estimate.low, estimate.high) == pytest.approx((edge, 1.0) if won else (0.0, 1 - edge))


def test_separated_data_stay_finite() -> None:
    """Whoever is longer wins, always: no finite fit exists without a pull, and the rate must still be sane."""
    difference = np.linspace(-100, 100, 40)
    wins = (difference > 0).astype(np.float64)
    estimate = length_controlled_rate(wins, difference, np.arange(40) % 8)
    assert estimate.value == pytest.approx(0.5, abs=0.05)
    for number in (estimate.value, estimate.low, estimate.high):
        assert number is not None
        assert math.isfinite(number)


def test_few_people_give_no_interval_and_say_so() -> None:
    estimate = length_controlled_rate([1, 0, 1, 0], [5, -5, 3, 2], ["a", "a", "b", "b"])
    assert estimate.value is not None
    assert (estimate.low, estimate.high, estimate.people) == (None, None, 2)
    assert estimate.note
    one = length_controlled_rate([1], [5], ["a"])
    assert (one.low, one.high) == (None, None)
    assert one.note


def test_nothing_gives_nothing_and_says_so() -> None:
    estimate = length_controlled_rate([], [], [])
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (None, None, None, 0)
    assert estimate.note == "nothing to compare"


def test_comparisons_without_a_length_count_and_tell_nothing_of_length() -> None:
    """A fifth of the answers were not made. All others are longer, so that losses at no difference look like length's work."""
    rng = np.random.default_rng(4)
    person, difference = np.arange(2000) % 50, rng.uniform(100, 400, 2000)
    wins = (rng.random(2000) < 0.8).astype(float)
    made = rng.random(2000) < 0.8
    wins[~made] = 0.0
    known = np.where(made, difference, np.nan)
    estimate = length_controlled_rate(wins, known, person)
    alone = length_controlled_rate(wins[made], difference[made], person[made])
    assert alone.value is not None
    assert estimate.value == pytest.approx(made.mean() * alone.value, abs=1e-6)
    assert (estimate.n, estimate.people) == (2000, 50)
    misled = length_controlled_rate(wins, np.where(made, difference, 0.0), person).value
    assert misled is not None
    assert estimate.value is not None
    assert misled < 0.1 < 0.4 < estimate.value
    assert estimate.low is not None
    assert alone.low is not None
    assert estimate.low < estimate.value
    nothing = length_controlled_rate(np.zeros(30), np.full(30, np.nan), np.arange(30) % 10)
    assert nothing.value == 0.0
    perfect = length_controlled_rate([1.0, 1.0, 0.0, 1.0] * 8, [5.0, 9.0, np.nan, 2.0] * 8, np.arange(32) % 8)
    assert perfect.value == 0.75
