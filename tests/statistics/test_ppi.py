"""Prediction-powered means against ppi-python's formulas, statsmodels' clustered errors and simulation."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

from personafit.statistics.agreement import Floats, Ints
from personafit.statistics.ppi import ppi_mean
from tests.helpers import Later

sm: Any = Later("statsmodels.api")


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def scores(people: int, rng: np.random.Generator, bias: float = 0.4) -> tuple[Floats, Floats, Ints]:
    """Human scores of mean 0 and a judge's, who follows them, adds a bias and has moods by person."""
    person = np.repeat(np.arange(people), rng.integers(10, 31, people))
    human = rng.normal(0, 0.5, people)[person] + rng.normal(0, 1, len(person))
    judge = bias + 0.8 * human + rng.normal(0, 0.3, people)[person] + rng.normal(0, 0.5, len(person))
    return human, judge, person


def ppi_python_example() -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(7)
    judged = np.round(rng.normal(0, 1, 30), 2)
    human = np.round(judged + rng.normal(0.2, 0.6, 30), 2)
    return human, judged, np.round(rng.normal(0.1, 1, 90), 2)


def test_the_estimate_is_the_formula_at_its_weight_and_near_ppi_python() -> None:
    human, judged, alone = ppi_python_example()
    result = ppi_mean(human, judged, alone, np.arange(30), np.arange(100, 190))
    assert result.weight is not None
    expected = human.mean() + result.weight * (alone.mean() - judged.mean())
    assert result.corrected.value == pytest.approx(expected)
    # ppi_python 0.2.3 at its own weight, which pools the two variances of the judge: 0.0129, -0.2266 to 0.2524.
    assert result.corrected.value == pytest.approx(0.0129, abs=0.04)
    assert result.corrected.low == pytest.approx(-0.2266, abs=0.04)
    assert result.corrected.high == pytest.approx(0.2524, abs=0.06)


def test_the_variance_at_one_item_per_person_is_ppi_pythons() -> None:
    human, judged, alone = ppi_python_example()
    result = ppi_mean(human, judged, alone, np.arange(30), np.arange(100, 190))
    weight = result.weight
    assert weight is not None
    assert 0 < weight < 1

    def variance(at: float) -> float:
        return float(at**2 * alone.var() / 90 + (human - at * judged).var() / 30)

    # ppi_python 0.2.3, ppi_mean_ci(human, judged, alone, alpha=0.05, lam=0.6): -0.22068554 to 0.25735221.
    assert 1.959963985 * np.sqrt(variance(0.6)) == pytest.approx((0.25735221 + 0.22068554) / 2, abs=1e-8)
    # Ours adds the allowance for 30 people and a tuned weight.
    half = student.ppf(0.975, 28) * np.sqrt(variance(weight) * 30 / 28 * 120 / 119)
    assert result.corrected.low is not None
    assert result.corrected.high is not None
    assert (result.corrected.high - result.corrected.low) / 2 == pytest.approx(half)


def test_the_weight_has_the_least_variance() -> None:
    human, judged, alone = ppi_python_example()
    weight = ppi_mean(human, judged, alone, np.arange(30), np.arange(100, 190)).weight
    grid = np.linspace(0, 1, 100_001)
    variance = (
        grid**2 * alone.var() / 90 + (human.var() - 2 * grid * np.cov(human, judged, ddof=0)[0, 1]) / 30
    )
    variance += grid**2 * judged.var() / 30
    assert weight == pytest.approx(grid[variance.argmin()], abs=2e-5)


def test_the_human_mean_has_statsmodels_clustered_error() -> None:
    human, judge, person = scores(20, np.random.default_rng(0))
    result = ppi_mean(human, judge, judge[:50], person, person[:50]).human
    fit = sm.OLS(human, np.ones(len(human))).fit(
        cov_type="cluster", cov_kwds={"groups": person, "use_correction": False}
    )
    assert result.value == pytest.approx(fit.params[0])
    assert result.se == pytest.approx(fit.bse[0] * np.sqrt(20 / 19), rel=0.005)


@pytest.mark.parametrize("labelled", [10, 30])
def test_corrected_intervals_cover_and_are_shorter_where_the_judge_alone_fails(labelled: int) -> None:
    rng = np.random.default_rng(labelled)
    runs, hits, widths = 300, np.zeros(3), np.zeros(2)
    for _ in range(runs):
        human, judge, person = scores(4 * labelled, rng)
        # People labelled in part: some of their items were judged by the machine alone.
        seen = (person < labelled) & (rng.random(len(person)) < 0.4)
        result = ppi_mean(human[seen], judge[seen], judge[~seen], person[seen], person[~seen])
        for place, interval in enumerate((result.corrected, result.human, result.machine)):
            assert interval.low is not None
            assert interval.high is not None
            hits[place] += interval.low <= 0 <= interval.high
            if place < 2:
                widths[place] += interval.high - interval.low
    coverage = hits / runs
    assert 0.92 <= coverage[0] <= 0.985
    assert 0.92 <= coverage[1] <= 0.985
    assert coverage[2] < 0.6
    assert widths[0] < 0.85 * widths[1]


def test_corrected_intervals_cover_where_prompts_recur() -> None:
    """Questions that are hard for everybody's judge and people alike: clustered by person alone, some 70 % cover."""
    rng = np.random.default_rng(6)
    person, prompt = np.divmod(np.arange(600), 15)
    hits = np.zeros(3)
    for _ in range(120):
        human = rng.normal(0, 0.3, 15)[prompt] + rng.normal(0, 0.1, 40)[person] + rng.normal(0, 0.5, 600)
        judge, seen = human + rng.normal(0.2, 0.5, 600), rng.random(600) < 0.3
        parts = (human[seen], judge[seen], judge[~seen], person[seen], person[~seen])
        result = ppi_mean(*parts, prompt[seen], prompt[~seen])
        for place, interval in enumerate((result.corrected, result.human, ppi_mean(*parts).corrected)):
            assert interval.low is not None
            assert interval.high is not None
            hits[place] += interval.low <= 0 <= interval.high
    coverage = hits / 120
    assert coverage[:2].min() >= 0.92
    assert coverage[2] < 0.85


def test_prompts_that_do_not_recur_change_nothing_and_few_that_do_give_no_interval() -> None:
    rng = np.random.default_rng(7)
    human, judge = rng.normal(size=(2, 40))
    person = np.arange(40) % 10
    parts = (human[:20], judge[:20], judge[20:], person[:20], person[20:])
    assert ppi_mean(*parts, np.arange(20), np.arange(20, 40)) == ppi_mean(*parts)
    assert ppi_mean(*parts, np.zeros(20), np.zeros(20)) == ppi_mean(*parts)
    few = ppi_mean(*parts, np.arange(20) // 10, np.arange(20) // 10)
    assert (few.corrected.value, few.corrected.low) == (ppi_mean(*parts).corrected.value, None)
    assert "at least 3 prompts with human scores, and there are 2" in str(few.corrected.note)


def test_a_useless_judge_is_hardly_trusted() -> None:
    rng = np.random.default_rng(3)
    human, noise = rng.normal(size=2000), rng.normal(size=22_000)
    result = ppi_mean(human, noise[:2000], noise[2000:], np.arange(2000), np.arange(2000, 22_000))
    assert result.weight is not None
    assert result.weight < 0.1


def test_parts_that_are_missing_say_so() -> None:
    nobody = ppi_mean([], [], [0.5] * 6, [], list("abcdef"))
    assert nobody.corrected.value is None
    assert nobody.weight is None
    assert nobody.machine.value == 0.5
    assert ppi_mean([], [], [], [], []).machine.value is None
    alone = ppi_mean([1.0, 0.0] * 3, [1.0, 1.0] * 3, [], list("abcdef"), [])
    assert alone.corrected == alone.human
    assert alone.weight == 0.0
    two = ppi_mean([1.0, 0.0], [1.0, 1.0], [0.5] * 6, ["a", "b"], list("cdefgh"))
    assert two.corrected.value is not None
    assert two.corrected.low is None
    assert two.corrected.note is not None
    assert "at least 6 people" in two.corrected.note


def test_a_judge_that_never_varies_adds_nothing() -> None:
    human = np.random.default_rng(4).normal(size=10)
    result = ppi_mean(human, np.ones(10), np.ones(50), np.arange(10), np.arange(50) + 100)
    assert result.weight == 0.0
    assert result.corrected.value == pytest.approx(human.mean())


def test_scores_without_spread_give_no_interval() -> None:
    result = ppi_mean(np.ones(10), np.ones(10), np.ones(50), np.arange(10), np.arange(50) + 100)
    assert (result.corrected.value, result.corrected.low) == (1.0, None)
    assert result.corrected.note is not None
    assert "every item has the same value" in result.corrected.note


def test_human_and_judged_must_match() -> None:
    with pytest.raises(ValueError, match="same items"):
        ppi_mean([1.0], [1.0, 0.0], [], ["a"], [])


def test_design_weights_undo_a_stratified_draw() -> None:
    """Labels drawn half from the one item in ten the judge calls wrong: the plain correction is off, the weighted one is not."""
    rng = np.random.default_rng(3)
    plain, weighted, hits, runs = 0.0, 0.0, 0, 120
    for _ in range(runs):
        people = np.repeat(np.arange(40), 15)
        human = (rng.random(600) < 0.7).astype(float)
        machine = np.where(rng.random(600) < 0.7, human, 1.0)
        wrong, right = np.flatnonzero(machine == 0), np.flatnonzero(machine == 1)
        count = min(60, len(wrong))
        part = np.concatenate(
            [rng.choice(wrong, count, replace=False), rng.choice(right, count, replace=False)]
        )
        weights = np.repeat([len(wrong) / count, len(right) / count], count)
        rest = np.setdiff1d(np.arange(600), part)
        given = (human[part], machine[part], machine[rest], people[part], people[rest])
        found = ppi_mean(*given, weights=weights)
        assert found.corrected.value is not None
        assert found.human.value == pytest.approx(np.average(human[part], weights=weights))
        plain += (ppi_mean(*given).corrected.value or 0.0) / runs
        weighted += found.corrected.value / runs
        hits += (found.corrected.low or 1.0) <= 0.7 <= (found.corrected.high or 0.0)
    assert abs(weighted - 0.7) < 0.01
    assert abs(plain - 0.7) > 0.03
    assert hits / runs > 0.9


def test_equal_weights_are_a_random_draw() -> None:
    rng = np.random.default_rng(4)
    human, machine = rng.random(80), rng.random(80)
    people = np.repeat(np.arange(20), 4)
    weighted = ppi_mean(human, machine, [], people, [], weights=np.full(80, 2.0))
    assert weighted.human.value == pytest.approx(human.mean())
    assert weighted.corrected.value == pytest.approx(human.mean())
