"""The bootstrap of people: its point estimates, its resamples against a plain loop, and its coverage."""

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from personafit.statistics import agreement
from personafit.statistics import agreement_bootstrap as boot
from personafit.statistics.agreement import Figure, Ints, Level
from personafit.statistics.agreement_bootstrap import PairFigure, TableFigure

TABLES: tuple[TableFigure, ...] = ("percent", "fleiss", "nominal", "ordinal", "interval")
PAIRS: tuple[PairFigure, ...] = ("percent", "kappa", "linear", "quadratic", "spearman")


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def clustered(people: int, rng: np.random.Generator, raters: int = 3) -> tuple[Ints, Ints]:
    """Yes/no judgments whose rate and difficulty differ strongly between people."""
    person = np.repeat(np.arange(people), rng.integers(6, 16, people))
    rate = 1 / (1 + np.exp(-rng.normal(-0.5, 1, people)))[person]
    skill = 1 / (1 + np.exp(-rng.normal(1.2, 1.2, people)))[person]
    truth = rng.random(len(person)) < rate
    right = rng.random((len(person), raters)) < skill[:, None]
    return np.where(right, truth[:, None], ~truth[:, None]).astype(np.int64), person


def graded(seed: int, missing: float = 0.2) -> tuple[Ints, Ints]:
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(12), 6)
    codes = np.clip(rng.integers(0, 4, (72, 1)) + rng.integers(-1, 2, (72, 3)), 0, 3)
    return np.where(rng.random(codes.shape) < missing, -1, codes), person


def drawn_units(person: Ints, people: int, resamples: int, seed: int) -> Iterator[Ints]:
    """The units of each resample, written out: what a loop over resamples would use."""
    for times in boot._times_drawn(people, resamples, seed):
        for row in times:
            yield np.repeat(np.arange(len(person)), row[person].astype(np.int64))


def point(codes: Ints, figure: TableFigure) -> Figure:
    if figure == "percent":
        return agreement.percent_agreement(codes)
    return (
        agreement.fleiss_kappa(codes) if figure == "fleiss" else agreement.krippendorff_alpha(codes, figure)
    )


@pytest.mark.parametrize("figure", TABLES)
def test_resamples_of_tables_equal_a_loop(figure: TableFigure) -> None:
    codes, person = graded(1)
    looped = [point(codes[units], figure).value for units in drawn_units(person, 12, 40, 5)]
    sums, formula = boot._table_sums(codes, person, 12, figure)
    assert boot._table_draws(sums, formula, 40, 5) == pytest.approx(np.array(looped), abs=1e-9)


@pytest.mark.parametrize("figure", PAIRS)
def test_resamples_of_pairs_equal_a_loop(figure: PairFigure) -> None:
    codes, person = graded(2)
    result = boot.bootstrap_pairs(codes, person, figure, resamples=40, seed=5)
    for row, units in zip(result.draws, drawn_units(person, 12, 40, 5), strict=True):
        looped = [boot._pair_point(codes[units, i], codes[units, j], figure).value for i, j in result.pairs]
        assert row == pytest.approx(np.array(looped), abs=1e-9)


def test_real_numbers_resample_as_a_loop_does() -> None:
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(20), 5)
    values = rng.normal(size=(100, 1)) + rng.normal(size=(100, 3))
    pairs = boot.bootstrap_pairs(values, person, "spearman", resamples=20, seed=1)
    levels: tuple[Level, ...] = ("ordinal", "interval")
    tables = {
        level: boot.bootstrap_agreement(values, person, level, resamples=400, seed=1) for level in levels
    }
    alphas: dict[Level, list[float | None]] = {"ordinal": [], "interval": []}
    for number, units in enumerate(drawn_units(person, 20, 400, 1)):
        for level in levels:
            alphas[level].append(agreement.krippendorff_alpha(values[units], level).value)
        if number < 20:
            looped = [agreement.spearman(values[units, i], values[units, j]).value for i, j in pairs.pairs]
            assert pairs.draws[number] == pytest.approx(np.array(looped), abs=1e-9)
    for level in levels:
        table = tables[level]
        expected = boot.percentile_interval(Figure(table.value), np.array(alphas[level]), 100, 20)
        assert table.low == pytest.approx(expected.low, abs=1e-9)
        assert table.high == pytest.approx(expected.high, abs=1e-9)


def test_people_of_one_kind_drawn_together_have_the_same_spread() -> None:
    rng = np.random.default_rng(4)
    codes = np.where(rng.random((8000, 3)) < 0.8, rng.integers(0, 2, (8000, 1)), 1)
    people = np.arange(8000)
    together = boot.bootstrap_agreement(codes, people, "fleiss", resamples=1000)
    sums, formula = boot._table_sums(codes, people, 8000, "fleiss")
    apart = boot.resample([lambda: sums], formula, 8000, 1000, 0)[:, 0]
    assert together.low == pytest.approx(float(np.quantile(apart, 0.025)), abs=0.004)
    assert together.high == pytest.approx(float(np.quantile(apart, 0.975)), abs=0.004)


def test_many_people_with_few_units_use_sparse_tables_and_agree() -> None:
    codes, _ = graded(6, missing=0.0)
    units = np.arange(72)
    result = boot.bootstrap_pairs(codes, units, "kappa", resamples=10, seed=2)
    for row, chosen in zip(result.draws, drawn_units(units, 72, 10, 2), strict=True):
        looped = [agreement.cohen_kappa(codes[chosen, i], codes[chosen, j]).value for i, j in result.pairs]
        assert row == pytest.approx(np.array(looped), abs=1e-9)


def test_the_same_seed_gives_the_same_interval() -> None:
    codes, person = graded(7)
    first = boot.bootstrap_agreement(codes, person, "fleiss", seed=3)
    assert first == boot.bootstrap_agreement(codes, person, "fleiss", seed=3)
    assert first != boot.bootstrap_agreement(codes, person, "fleiss", seed=4)


@pytest.mark.parametrize("people", [8, 40])
def test_intervals_cover_where_naive_ones_do_not(people: int) -> None:
    rng = np.random.default_rng(people)
    truths = boot.bootstrap_pairs(*clustered(200_000, rng), "kappa", resamples=0).figures
    truth = float(np.mean([figure.value for figure in truths]))
    fleiss = agreement.fleiss_kappa(clustered(200_000, rng)[0]).value
    assert fleiss is not None
    runs, hits = 600, np.zeros(3)
    for run in range(runs):
        codes, person = clustered(people, rng)
        own = np.arange(len(person))
        mean = boot.bootstrap_pairs(codes, person, "kappa", 400, run).mean([0, 1, 2])
        table = boot.bootstrap_agreement(codes, person, "fleiss", 400, run)
        naive = boot.bootstrap_agreement(codes, own, "fleiss", 400, run)
        for place, (interval, target) in enumerate(((mean, truth), (table, fleiss), (naive, fleiss))):
            assert interval.low is not None
            assert interval.high is not None
            hits[place] += interval.low <= target <= interval.high
    coverage = hits / runs
    assert 0.93 <= coverage[0] <= 0.97
    assert 0.93 <= coverage[1] <= 0.97
    assert coverage[2] < 0.90


@pytest.mark.parametrize("figure", TABLES)
def test_two_people_have_a_figure_but_no_interval(figure: TableFigure) -> None:
    codes, person = graded(8)
    result = boot.bootstrap_agreement(codes, person % 2, figure)
    assert result.value is not None
    assert (result.low, result.high, result.people) == (None, None, 2)
    assert result.note is not None
    assert "at least 6 people" in result.note


@pytest.mark.parametrize("figure", TABLES)
@pytest.mark.parametrize(
    "codes",
    [
        np.full((12, 3), 1),
        np.full((12, 3), -1),
        np.tile([0, -1], (12, 1)),
        np.zeros((12, 1), dtype=np.int64),
        np.zeros((0, 3), dtype=np.int64),
        np.repeat([[0, 0], [1, 1]], 6, axis=0),
    ],
)
def test_degenerate_tables_have_no_interval_and_say_why(figure: TableFigure, codes: Ints) -> None:
    people = np.arange(len(codes))
    result = boot.bootstrap_agreement(codes, people, figure)
    pairs = boot.bootstrap_pairs(codes, people, "kappa")
    for interval in (
        result,
        pairs.mean(range(len(pairs.pairs))),
        *map(pairs.interval, range(len(pairs.pairs))),
    ):
        assert (interval.low, interval.high) == (None, None)
        assert interval.note


def test_a_mean_over_pairs_names_those_left_out() -> None:
    codes, person = graded(9)
    codes = np.column_stack([codes, np.full(len(codes), -1)])
    pairs = boot.bootstrap_pairs(codes, person, "kappa")
    mean = pairs.mean(range(len(pairs.pairs)))
    assert mean.note == "3 of 6 pairs left out as undefined"
    assert mean.low is not None


def test_intervals_stay_on_the_scale() -> None:
    rng = np.random.default_rng(10)
    person = np.repeat(np.arange(6), 20)
    codes = np.repeat(rng.integers(0, 2, (120, 1)), 2, axis=1)
    codes[:3, 1] ^= 1
    high = boot.bootstrap_agreement(codes, person, "fleiss").high
    assert high == 1.0
    low = boot.bootstrap_agreement(np.column_stack([codes[:, 0], 1 - codes[:, 1]]), person, "percent").low
    assert low == 0.0
    rarely = np.column_stack([np.tile([0, 1, 0], 7), np.tile([1, 0, 1], 7)])
    rarely[:2, 1] = rarely[:2, 0]
    found = boot.bootstrap_pairs(rarely, np.repeat(np.arange(7), 3), "percent").interval(0)
    assert found.low == 0.0


def test_people_must_name_everyone() -> None:
    with pytest.raises(ValueError, match="one person for each"):
        boot.bootstrap_agreement([[0, 1]], ["a", "b"], "fleiss")
