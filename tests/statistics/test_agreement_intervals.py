"""Figures of agreement with clustered intervals: influences against derivatives taken by hand, means, degenerate tables."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from personafit.statistics import agreement
from personafit.statistics import agreement_intervals as intervals
from personafit.statistics.agreement import Floats, Ints, Level
from personafit.statistics.agreement_intervals import PairFigure, TableFigure

TABLES: tuple[TableFigure, ...] = ("percent", "fleiss", "nominal", "ordinal", "interval")
PAIRS: tuple[PairFigure, ...] = ("percent", "kappa", "linear", "quadratic", "spearman")
COPIES = 100


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def graded(seed: int, missing: float = 0.2, labels: int = 4) -> tuple[Ints, Ints]:
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(12), 5)
    codes = np.clip(rng.integers(0, labels, (60, 1)) + rng.integers(-1, 2, (60, 3)), 0, labels - 1)
    return np.where(rng.random(codes.shape) < missing, -1, codes), person


def derivative(
    figure: Callable[[Any], float | None], units: NDArray[Any], counted: NDArray[np.bool_]
) -> Floats:
    """How the figure changes with the weight of each unit, by adding one copy of it to many copies of all."""
    many = np.repeat(units, COPIES, 0)
    before = figure(many) or 0.0
    change = np.array([(figure(np.vstack([many, row])) or 0.0) - before for row in units[:, None]]) * COPIES
    # Alpha's correction for few ratings makes all units move it a little in the same way.
    return np.asarray(np.where(counted, change - change[counted].mean(), 0.0))


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("figure", ["percent", "fleiss", "nominal"])
def test_influences_on_tables_of_labels_are_derivatives(figure: TableFigure, halves: bool) -> None:
    codes, _ = graded(1, labels=3)
    given = (codes >= 0).sum(1)
    sums = agreement.unit_sums(agreement.label_counts(codes), halves)
    found = {
        "percent": lambda: agreement.percent_influence(sums),
        "fleiss": lambda: agreement.fleiss_influence(sums, halves),
        "nominal": lambda: agreement.alpha_influence(codes, "nominal", halves),
    }[figure]()
    expected = derivative(
        lambda table: intervals._table_point(table, figure, halves).value,
        codes,
        given >= (1 if figure == "fleiss" else 2),
    )
    assert found == pytest.approx(expected, abs=3e-4 * float(np.abs(found).max()) + 3e-4)
    assert found.sum() == pytest.approx(0.0, abs=1e-12)
    assert np.abs(found).max() > 3e-3


@pytest.mark.parametrize("level", ["ordinal", "interval"])
@pytest.mark.parametrize("labels", [4, 60])
def test_influences_on_alphas_of_numbers_are_derivatives(level: Level, labels: int) -> None:
    codes, _ = graded(2, labels=labels)
    found = agreement.alpha_influence(codes, level)
    expected = derivative(
        lambda table: agreement.krippendorff_alpha(table, level).value, codes, (codes >= 0).sum(1) >= 2
    )
    assert found == pytest.approx(expected, abs=0.03 * float(np.abs(found).max()))


@pytest.mark.parametrize("figure", PAIRS)
@pytest.mark.parametrize("halves", [False, True])
def test_influences_on_pairs_are_derivatives(figure: PairFigure, halves: bool) -> None:
    codes, person = graded(3, missing=0.0, labels=3)
    found = intervals.pair_agreement(codes[:, :2], person, None, figure, halves).influences[0]
    expected = derivative(
        lambda table: intervals._pair_point(table[:, 0], table[:, 1], figure, halves).value,
        codes[:, :2],
        np.ones(60, dtype=bool),
    )
    assert found == pytest.approx(expected, abs=0.01 * float(np.abs(found).max()))


def test_influences_on_correlations_of_real_numbers_are_derivatives() -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(size=(60, 1)) + rng.normal(size=(60, 2))
    everyone = np.ones(60, dtype=bool)
    ranks = intervals.pair_agreement(values, np.arange(60), None, "spearman").influences[0]
    expected = derivative(lambda table: agreement.spearman(table[:, 0], table[:, 1]).value, values, everyone)
    assert ranks == pytest.approx(expected, abs=0.01 * float(np.abs(ranks).max()))
    linear = agreement.pearson_influence(values[:, 0], values[:, 1])
    expected = derivative(lambda table: float(np.corrcoef(table[:, 0], table[:, 1])[0, 1]), values, everyone)
    assert linear == pytest.approx(expected, abs=0.02 * float(np.abs(linear).max()))


def test_prompts_that_recur_widen_the_interval_and_prompts_of_their_own_do_not() -> None:
    rng = np.random.default_rng(5)
    person, prompt = np.divmod(np.arange(480), 8)
    skill = np.where(rng.random(8) < 0.5, 0.55, 0.95)[prompt]
    truth = rng.integers(0, 2, (480, 1))
    codes = np.where(rng.random((480, 3)) < skill[:, None], truth, 1 - truth)
    for figure in ("percent", "fleiss", "nominal"):
        name: TableFigure = next(one for one in TABLES if one == figure)
        alone, crossed, own = (
            intervals.table_agreement(codes, person, prompts, name)
            for prompts in (None, prompt, np.arange(480))
        )
        assert alone.value == crossed.value
        assert alone == own
        assert (crossed.high or 0) - (crossed.low or 0) > 1.5 * ((alone.high or 0) - (alone.low or 0))


def test_a_mean_over_pairs_is_clustered_over_all_their_units() -> None:
    codes, person = graded(6)
    pairs = intervals.pair_agreement(codes, person, None, "kappa")
    mean = pairs.mean(range(3))
    singles = [pairs.interval(pair) for pair in range(3)]
    assert mean.value == pytest.approx(np.mean([single.value for single in singles]))
    assert mean.n == sum(single.n for single in singles)
    assert mean.se is not None
    assert mean.se < max(single.se or 0.0 for single in singles)


def test_a_mean_over_pairs_names_those_left_out() -> None:
    codes, person = graded(9)
    codes = np.column_stack([codes, np.full(len(codes), -1)])
    pairs = intervals.pair_agreement(codes, person, None, "kappa")
    mean = pairs.mean(range(len(pairs.pairs)))
    assert mean.note == "3 of 6 pairs left out as undefined"
    assert mean.low is not None


def test_a_difference_of_two_pairs_is_paired() -> None:
    rng = np.random.default_rng(7)
    marks = rng.normal(size=200)
    values = np.column_stack([marks + rng.normal(size=200), marks + rng.normal(size=200), marks])
    values[:, 1] = values[:, 0] + 0.1 * rng.normal(size=200)
    pairs = intervals.pair_agreement(values, np.arange(200) % 40, None, "spearman")
    first, second = pairs.pairs.index((0, 2)), pairs.pairs.index((1, 2))
    gap = pairs.difference(first, second)
    one = pairs.interval(first)
    assert gap.value == pytest.approx((one.value or 0) - (pairs.interval(second).value or 0))
    assert (gap.se or 1) < (one.se or 0) / 2, "what the two have in common cancels"


@pytest.mark.parametrize("figure", TABLES)
def test_two_people_have_a_figure_but_no_interval(figure: TableFigure) -> None:
    codes, person = graded(8)
    result = intervals.table_agreement(codes, person % 2, None, figure)
    assert result.value is not None
    assert (result.low, result.high, result.people) == (None, None, 2)
    assert result.note is not None
    assert "at least 6 people" in result.note


@pytest.mark.parametrize("figure", TABLES)
@pytest.mark.parametrize(
    "codes",
    [
        np.full((12, 3), -1),
        np.tile([0, -1], (12, 1)),
        np.zeros((12, 1), dtype=np.int64),
        np.zeros((0, 3), dtype=np.int64),
    ],
)
def test_tables_without_shared_units_have_no_figure_and_say_why(figure: TableFigure, codes: Ints) -> None:
    people = np.arange(len(codes))
    result = intervals.table_agreement(codes, people, None, figure)
    pairs = intervals.pair_agreement(codes, people, None, "kappa")
    each = map(pairs.interval, range(len(pairs.pairs)))
    for interval in (result, pairs.mean(range(len(pairs.pairs))), *each):
        assert (interval.value, interval.low, interval.high) == (None, None, None)
        assert interval.note


def test_one_label_everywhere_has_no_kappa() -> None:
    codes = np.full((12, 3), 1)
    for figure in TABLES[1:]:
        assert intervals.table_agreement(codes, np.arange(12), None, figure).note == agreement.SAME_LABEL


def test_perfect_agreement_is_no_certainty() -> None:
    codes = np.repeat([[0, 0], [1, 1]], 6, axis=0)
    percent = intervals.table_agreement(codes, np.arange(12), None, "percent")
    assert (percent.value, percent.high) == (1.0, 1.0)
    assert percent.low == pytest.approx(0.025 ** (1 / 12)), (
        "twelve people all agreeing, as in a binomial trial"
    )
    for figure in TABLES[1:]:
        found = intervals.table_agreement(codes, np.arange(12), None, figure)
        assert (found.value, found.low, found.note) == (1.0, None, intervals.NO_SPREAD)


def test_intervals_stay_on_the_scale() -> None:
    rng = np.random.default_rng(10)
    person = np.repeat(np.arange(6), 20)
    codes = np.repeat(rng.integers(0, 2, (120, 1)), 2, axis=1)
    codes[:3, 1] ^= 1
    assert intervals.table_agreement(codes, person, None, "fleiss").high == 1.0
    opposite = np.column_stack([codes[:, 0], 1 - codes[:, 1]])
    assert (intervals.table_agreement(opposite, person, None, "percent").low or 0.0) >= 0.0


def test_people_and_prompts_must_name_everyone() -> None:
    with pytest.raises(ValueError, match="one person for each"):
        intervals.table_agreement([[0, 1]], ["a", "b"], None, "fleiss")
    with pytest.raises(ValueError, match="one prompt for each"):
        intervals.table_agreement([[0, 1]], ["a"], ["x", "y"], "fleiss")
