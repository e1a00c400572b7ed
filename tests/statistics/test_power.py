"""Planning against statsmodels' exact t-test power, its mixed model, and simulation."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from personafit.statistics import cluster_mean, power
from personafit.statistics.agreement import Floats, Ints
from personafit.statistics.power import Spread
from tests.helpers import Later

planning: Any = Later("statsmodels.stats.power")


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def pilot(people: int, items: int, rng: np.random.Generator, mean: float = 0.0) -> tuple[Floats, Ints]:
    person = np.repeat(np.arange(people), items)
    return mean + rng.normal(0, 0.5, people)[person] + rng.normal(0, 1, len(person)), person


def test_the_published_variance_components() -> None:
    # Snedecor & Cochran's turnip leaves: 4 leaves × 4 readings, mean squares 0.2961 and 0.0066.
    leaves = np.array(
        [3.28, 3.09, 3.03, 3.03, 3.52, 3.48, 3.38, 3.38, 2.88, 2.80, 2.81, 2.76, 3.34, 3.38, 3.23, 3.26]
    )
    result = power.spread(leaves, np.repeat(np.arange(4), 4))
    assert result.within == pytest.approx(0.0066, abs=5e-5)
    assert result.between == pytest.approx(0.0724, abs=5e-5)


def test_components_are_found_in_unequal_groups() -> None:
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(3000), rng.integers(1, 9, 3000))
    values = rng.normal(0, 0.5, 3000)[person] + rng.normal(0, 1, len(person))
    result = power.spread(values, person)
    assert result.between == pytest.approx(0.25, abs=0.03)
    assert result.within == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize(("people", "items"), [(6, 3), (20, 10), (400, 2)])
def test_the_smallest_difference_equals_statsmodels(people: int, items: int) -> None:
    effect = planning.TTestPower().solve_power(nobs=people, alpha=0.05, power=0.8)
    expected = effect * np.sqrt(0.25 + 1 / items)
    assert power.smallest_difference(Spread(0.25, 1.0), people, items).value == pytest.approx(
        expected, rel=1e-4
    )


def test_the_people_needed_equal_statsmodels() -> None:
    expected = planning.TTestPower().solve_power(
        effect_size=0.2 / np.sqrt(0.25 + 1 / 5), alpha=0.05, power=0.8
    )
    assert power.people_needed(Spread(0.25, 1.0), 0.2, 5).value == np.ceil(expected)


def test_the_items_needed_are_the_fewest() -> None:
    plan = Spread(0.05, 1.0)
    items = power.items_needed(plan, 0.2, 30).value
    assert items is not None
    at, below = (
        power.smallest_difference(plan, 30, items).value,
        power.smallest_difference(plan, 30, items - 1).value,
    )
    assert at is not None
    assert below is not None
    assert at <= 0.2 < below


def test_planned_power_is_the_power_found() -> None:
    rng = np.random.default_rng(1)
    difference = power.smallest_difference(Spread(0.25, 1.0), 15, 6).value
    assert difference is not None
    pilots = (pilot(15, 6, rng, difference) for _ in range(2000))
    means = np.array([np.bincount(person, values) / 6 for values, person in pilots])
    assert (ttest_1samp(means, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(0.8, abs=0.03)


def test_what_cannot_be_planned_says_why() -> None:
    one = power.spread([1.0, 2.0], ["a", "a"])
    assert one.between is None
    for figure in (
        power.smallest_difference(one, 10, 3),
        power.people_needed(one, 0.1, 3),
        power.items_needed(one, 0.1, 3),
        power.smallest_difference(Spread(0.0, 1.0), 1, 3),
        power.smallest_difference(Spread(0.0, 0.0), 5, 3),
        power.people_needed(Spread(0.0, 1.0), 0.0, 3),
        power.people_needed(Spread(1.0, 1.0), 1e-6, 3),
    ):
        assert figure.value is None
        assert figure.note


def test_too_few_people_cannot_be_made_up_by_items() -> None:
    figure = power.items_needed(Spread(1.0, 1.0), 0.2, 20)
    assert figure.value is None
    assert figure.note is not None
    assert "at least 199 people are needed" in figure.note


def test_one_item_per_person_and_few_people() -> None:
    result = power.spread([0.0, 1.0], ["a", "b"])
    assert (result.between, result.within) == (0.5, 0.0)
    assert result.note is not None
    assert power.smallest_difference(result, 6, 1).value is not None
    few = power.smallest_difference(result, 5, 1)
    assert (few.value, few.note) == (None, "undefined: with fewer than 6 people nothing is tested")
    assert power.people_needed(Spread(0.0, 0.0), 0.1, 1).value == 6
    assert power.items_needed(Spread(0.0, 0.0), 0.1, 6).value == 1


def crossed(
    people: int, prompts: int, rng: np.random.Generator, mean: float = 0.0
) -> tuple[Floats, Ints, Ints]:
    """Everyone asked every prompt; components 0.25, 0.16 and 1."""
    person, prompt = np.divmod(np.arange(people * prompts), prompts)
    values = rng.normal(0, 0.5, people)[person] + rng.normal(0, 0.4, prompts)[prompt]
    return mean + values + rng.normal(0, 1, len(person)), person, prompt


def test_crossed_components_equal_the_analysis_of_variance() -> None:
    values, person, prompt = crossed(9, 7, np.random.default_rng(4))
    table = values.reshape(9, 7)
    rows, columns = table.mean(1), table.mean(0)
    rest = ((table - rows[:, None] - columns + table.mean()) ** 2).sum() / (8 * 6)
    result = power.spread(values, person, prompt)
    assert result.within == pytest.approx(rest)
    assert result.between == pytest.approx(rows.var(ddof=1) - rest / 7)
    assert result.prompt == pytest.approx(columns.var(ddof=1) - rest / 9)


def test_crossed_components_are_found_in_unequal_cells() -> None:
    rng = np.random.default_rng(5)
    person = np.repeat(np.arange(600), rng.integers(2, 40, 600))
    prompt = (rng.random(len(person)) ** 2 * 300).astype(np.int64)  # some prompts far more often than others
    cell = person * 300 + prompt
    shared = rng.normal(0, 0.6, cell.max() + 1)[cell]
    values = 3 + rng.normal(0, 0.5, 600)[person] + rng.normal(0, 0.4, 300)[prompt] + shared
    result = power.spread(values + rng.normal(0, 1, len(person)), person, prompt)
    assert result.between == pytest.approx(0.25, abs=0.05)
    assert result.prompt == pytest.approx(0.16, abs=0.04)
    assert result.within == pytest.approx(1 + result.repeats * 0.36, abs=0.1)
    assert result.repeats > 1.05


def test_prompts_of_one_person_each_leave_the_components_as_they_were() -> None:
    values, person = pilot(10, 4, np.random.default_rng(6))
    assert power.spread(values, person, np.arange(40)) == power.spread(values, person)


def test_one_prompt_per_person_that_recurs() -> None:
    result = power.spread([0.0, 1.0, 0.0, 0.5], [1, 2, 3, 4], [1, 1, 2, 2])
    assert (result.within, result.note is not None) == (0.0, True)
    same = power.spread([0.0, 1.0, 0.5], [1, 2, 3], [1, 1, 1])
    assert same.prompt is None, "one prompt is no second cluster"


@pytest.mark.parametrize(("people", "prompts"), [(30, 8), (12, 20)])
def test_planned_power_is_the_power_found_where_prompts_recur(people: int, prompts: int) -> None:
    rng = np.random.default_rng(7)
    parts = Spread(0.25, 1.0, None, 0.16)
    difference = power.smallest_difference(parts, people, prompts, prompts).value
    alone = power.smallest_difference(Spread(0.25, 1.16), people, prompts).value
    assert difference is not None
    assert alone is not None
    assert difference > 1.05 * alone
    found = 0
    for _ in range(200):
        p = cluster_mean(*crossed(people, prompts, rng, difference)).p_value()
        found += p is not None and p < 0.05
    assert found / 200 == pytest.approx(0.8, abs=0.06)


def test_no_number_of_people_alone_makes_up_for_few_prompts() -> None:
    parts = Spread(0.04, 0.25, None, 0.02)
    people = power.people_needed(parts, 0.08, 12, 12)
    assert people.value is None
    assert (
        people.note == "no number of people alone is enough with 12 prompts: at least 27 prompts are needed"
    )
    assert power.people_needed(parts, 0.08, 12, 27).value is not None
    prompts = power.prompts_needed(parts, 0.08, 60, 12)
    assert prompts.value is None
    assert "no number of prompts alone is enough with 60 people and 12 items each" in (prompts.note or "")
    both = power.prompts_needed(parts, 0.08, 120, 12).value
    assert both is not None
    at, below = (power.smallest_difference(parts, 120, 12, int(both) - less).value for less in (0, 1))
    assert at is not None
    assert below is not None
    assert at <= 0.08 < below
    items = power.items_needed(parts, 0.08, 60, 12)
    assert items.note == (
        "no number of items is enough from 60 people with 12 prompts, which allow 12 items each"
    )
    assert power.items_needed(parts, 0.2, 60, 12).value is not None
