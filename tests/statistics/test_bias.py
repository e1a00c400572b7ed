"""Clustered regressions of choices: against statsmodels, in coverage, on separated and on degenerate data."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import t as student

from personafit.statistics import Estimate
from personafit.statistics.bias import (
    NO_SCALE,
    Fit,
    as_odds,
    effect,
    effect_difference,
    fit_choices,
    separated,
    taste_difference,
)
from tests.helpers import Later

sm: Any = Later("statsmodels.api")

Floats = NDArray[np.float64]
TINY = 1e-9  # a ridge too small to see, to compare with statsmodels, which has none


def simulated(
    people: int, each: int, rng: np.random.Generator, weights: tuple[float, ...] = (0.3, 0.5, -0.2)
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Choices whose weights differ between people about the given ones; the last feature is -1, 0 or 1."""
    who = np.repeat(np.arange(people), each)
    design = rng.normal(size=(len(who), 3))
    design[:, 2] = rng.integers(-1, 2, len(who))
    own = np.array(weights) + rng.normal(0, 0.4, (people, 3))
    choices = (rng.random(len(who)) < expit((design * own[who]).sum(1))).astype(np.float64)
    return design, choices, who


def test_weights_and_intervals_match_statsmodels_logit() -> None:
    design, choices, who = simulated(40, 25, np.random.default_rng(1))
    ours = fit_choices(design, choices, who, ridge=TINY)
    theirs = sm.Logit(choices, design).fit(disp=False, cov_type="cluster", cov_kwds={"groups": who})
    n, columns = design.shape
    for column in range(columns):
        found = effect(ours, column)
        assert found.value == pytest.approx(theirs.params[column], abs=1e-7)
        # statsmodels multiplies by (n - 1) / (n - k) besides.
        error = theirs.bse[column] / np.sqrt((n - 1) / (n - columns))
        assert found.high is not None
        assert found.value is not None
        assert found.high - found.value == pytest.approx(student.ppf(0.975, 39) * error, rel=1e-6)
    assert (effect(ours, 0).n, effect(ours, 0).people) == (1000, 40)


def test_soft_labels_match_a_fractional_glm() -> None:
    design, choices, who = simulated(30, 20, np.random.default_rng(2))
    choices[::4], choices[1::7] = 0.5, 0.8
    ours = fit_choices(design, choices, who, ridge=TINY)
    theirs = sm.GLM(choices, design, family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": who, "use_correction": False}
    )
    assert ours.weights == pytest.approx(theirs.params, abs=1e-7)
    found = effect(ours, 1)
    assert found.low is not None
    assert found.value is not None
    half = student.ppf(0.975, 29) * theirs.bse[1] * np.sqrt(30 / 29)
    assert found.value - found.low == pytest.approx(half, rel=1e-6)


def test_the_ridge_moves_estimates_far_less_than_they_are_known() -> None:
    design, choices, who = simulated(40, 25, np.random.default_rng(3))
    plain, pulled = fit_choices(design, choices, who, ridge=TINY), fit_choices(design, choices, who)
    found = effect(pulled, 1)
    assert found.high is not None
    assert found.low is not None
    assert abs(pulled.weights[1] - plain.weights[1]) < 0.01 * (found.high - found.low)


def test_a_paired_difference_is_one_regression_on_stacked_rows() -> None:
    rng = np.random.default_rng(4)
    design, choices, who = simulated(40, 25, rng)
    gold = np.where(rng.random(len(choices)) < 0.2, 1 - choices, choices)
    difference = effect_difference(
        fit_choices(design, choices, who, ridge=TINY), 1, fit_choices(design, gold, who, ridge=TINY), 1
    )
    stacked = np.block([[design, np.zeros_like(design)], [design, design]])
    theirs = sm.GLM(np.concatenate([gold, choices]), stacked, family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": np.concatenate([who, who]), "use_correction": False}
    )
    assert difference.value == pytest.approx(theirs.params[4], abs=1e-6)
    assert difference.high is not None
    assert difference.value is not None
    half = student.ppf(0.975, 39) * theirs.bse[4] * np.sqrt(40 / 39)
    assert difference.high - difference.value == pytest.approx(half, rel=1e-5)
    unpaired = effect(fit_choices(design, choices, who), 1)
    assert unpaired.high is not None
    assert unpaired.value is not None
    assert half < unpaired.high - unpaired.value


def judge_and_people(
    rng: np.random.Generator, judge: tuple[float, ...], people: tuple[float, ...], steadier: float
) -> tuple[Fit, Fit]:
    """Both choose between the same answers by features and a quality that nobody measured; the judge with less noise."""
    who = np.repeat(np.arange(60), 20)
    design = rng.normal(size=(len(who), len(people)))
    quality = rng.normal(0, 0.7, len(who))
    fits = []
    for tastes, scale in ((judge, steadier), (people, 1.0)):
        chance = expit(scale * (design @ np.array(tastes) + quality))
        fits.append(fit_choices(design, (rng.random(len(who)) < chance).astype(np.float64), who))
    return fits[0], fits[1]


@pytest.mark.parametrize(
    ("judge", "people", "steadier", "plainly", "found"),
    [
        ((0.5, 0.4), (0.5, 0.4), 3.0, (0.9, 1.0), (0.0, 0.06)),
        ((0.5, 0.4, 0.0), (0.5, 0.4, 0.0), 0.4, (0.6, 1.0), (0.0, 0.06)),
        ((0.5, 0.0), (0.5, 0.0), 3.0, (0.9, 1.0), (0.0, 0.06)),  # nothing to set the scale by
        ((0.3, 1.2), (0.3, 0.3), 1.0, (0.0, 0.1), (0.0, 0.06)),  # another taste for the other feature alone
        ((1.2, 0.4), (0.3, 0.4), 1.0, (0.9, 1.0), (0.75, 1.0)),
        ((1.2, 0.4), (0.3, 0.4), 2.0, (0.9, 1.0), (0.75, 1.0)),
    ],
)
def test_a_different_taste_is_found_and_a_steadier_judge_is_not_one(
    judge: tuple[float, ...],
    people: tuple[float, ...],
    steadier: float,
    plainly: tuple[float, float],
    found: tuple[float, float],
) -> None:
    rng, claims, runs = np.random.default_rng(11), np.zeros(2), 40
    columns = range(len(people))
    for _ in range(runs):
        mine, theirs = judge_and_people(rng, judge, people, steadier)
        for place, gap in enumerate(
            (
                effect_difference(mine, 0, theirs, 0),
                taste_difference(mine, columns, theirs, columns).difference,
            )
        ):
            claims[place] += gap.low is not None and gap.high is not None and not gap.low <= 0 <= gap.high
    assert plainly[0] <= claims[0] / runs <= plainly[1]
    assert found[0] <= claims[1] / runs <= found[1]


def test_one_feature_alone_sets_no_scale() -> None:
    mine, theirs = judge_and_people(np.random.default_rng(12), (0.5,), (0.5,), 2.0)
    gap = taste_difference(mine, [0], theirs, [0]).difference
    assert (gap.value, gap.low, gap.note) == (None, None, NO_SCALE)


@pytest.mark.parametrize("people", [8, 20])
def test_intervals_cover(people: int) -> None:
    large, answers, everyone = simulated(2000, 20, np.random.default_rng(9))
    truth = fit_choices(large, answers, everyone).weights
    rng, hits, naive, runs = np.random.default_rng(people), 0, 0, 150
    for _ in range(runs):
        design, choices, who = simulated(people, 40, rng)
        fit = fit_choices(design, choices, who)
        found = effect(fit, 1)
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= truth[1] <= found.high
        rows = effect(replace(fit, people=np.arange(len(who)).astype(np.str_)), 1)
        assert rows.low is not None
        assert rows.high is not None
        naive += rows.low <= truth[1] <= rows.high
    assert 0.92 <= hits / runs <= 0.98
    assert naive / runs < 0.9


def test_prompts_that_recur_widen_the_interval() -> None:
    rng = np.random.default_rng(5)
    prompt = np.tile(np.arange(15), 30)
    who = np.repeat(np.arange(30), 15)
    design = rng.normal(size=(450, 1))
    slope = 0.5 + rng.normal(0, 1.0, 15)[prompt]
    choices = (rng.random(450) < expit(design[:, 0] * slope)).astype(np.float64)
    one, two = (
        effect(fit_choices(design, choices, who), 0),
        effect(fit_choices(design, choices, who, prompt), 0),
    )
    assert one.high is not None
    assert one.low is not None
    assert two.high is not None
    assert two.low is not None
    assert two.high - two.low > 1.3 * (one.high - one.low)


def test_separated_choices_stay_finite_and_have_no_interval() -> None:
    design, _, who = simulated(20, 20, np.random.default_rng(6))
    choices = (design[:, 0] > 0).astype(np.float64)
    fit = fit_choices(design, choices, who)
    assert fit.separated
    assert np.isfinite(fit.weights).all()
    assert fit.weights[0] > 5
    found = effect(fit, 0)
    assert (found.low, found.high) == (None, None)
    assert found.note is not None
    assert "tell every choice apart" in found.note


def test_separation_is_found_where_it_is_and_nowhere_else() -> None:
    line = np.arange(-5.0, 6.0)[:, None]
    assert separated(line, (line[:, 0] > 0).astype(np.float64))
    mixed = (line[:, 0] > 0).astype(np.float64)
    mixed[0] = 1.0
    assert not separated(line, mixed)
    soft = np.where(line[:, 0] > 0, 0.9, 0.1)
    assert not separated(line, soft)
    # One column of two is enough: wherever the second differs it decides, and the first says nothing.
    both = np.column_stack([np.tile([1.0, -1.0], 6), np.r_[np.zeros(8), 1.0, 1.0, -1.0, -1.0]])
    quasi = np.r_[0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 0, 0].astype(np.float64)
    assert separated(both, quasi)
    assert not separated(both[:, :1], quasi)


def test_too_few_people_or_no_choices_say_so() -> None:
    design, choices, _ = simulated(4, 30, np.random.default_rng(7))
    few = effect(fit_choices(design, choices, np.repeat(list("abcd"), 30)), 0)
    assert few.value is not None
    assert few.low is None
    assert few.note is not None
    assert "at least 6 people" in few.note
    none = effect(fit_choices(np.empty((0, 2)), [], []), 0)
    assert (none.value, none.note) == (None, "undefined: there are no choices")
    with pytest.raises(ValueError, match="one row per choice"):
        fit_choices([[1.0]], [1.0, 0.0], ["a", "b"])
    with pytest.raises(ValueError, match="within 0 and 1"):
        fit_choices([[1.0]], [2.0], ["a"])


def test_odds_are_powers_of_e() -> None:
    odds = as_odds(Estimate(0.0, -1.0, None, 3, 2, "why"))
    assert (odds.value, odds.high) == (1.0, None)
    assert odds.low == pytest.approx(np.exp(-1))
    assert (odds.n, odds.people, odds.note) == (3, 2, "why")
