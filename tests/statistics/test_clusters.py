"""Clustered means: against statsmodels, by simulation, and at the edges where there is no interval to give."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from personafit.statistics import Estimate, cluster_mean, prompts_recur
from personafit.statistics.clusters import (
    ClusteredSums,
    Clusters,
    clustered_sums,
    student_p_value,
    student_reach,
)
from tests.helpers import Later

sm: Any = Later("statsmodels.api")

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def clustered_data(seed: int, people: int, prompts: int) -> tuple[Floats, Ints, Ints]:
    """Scores with person and prompt effects, crossed, some cells missing."""
    source = np.random.default_rng(seed)
    person, prompt = np.divmod(np.arange(people * prompts), prompts)
    values = 0.6 + source.normal(0, 0.3, people)[person] + source.normal(0, 0.3, prompts)[prompt]
    values = values + source.normal(0, 0.5, len(person))
    kept = source.random(len(person)) < 0.8
    return values[kept], person[kept], prompt[kept]


def half_width(estimate: Estimate) -> float:
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.value == pytest.approx((estimate.low + estimate.high) / 2)
    return (estimate.high - estimate.low) / 2


def bell_mccaffrey(values: Floats, groups: Ints, correlation: float) -> tuple[float, float]:
    """CR2 variance of the mean and its Satterthwaite degrees of freedom, by matrices as the paper writes them."""
    count = len(values)
    design = np.ones((count, 1))
    residual_maker = np.eye(count) - design @ design.T / count
    same = groups[:, None] == groups[None, :]
    working = np.where(same, correlation, 0.0) + (1 - correlation) * np.eye(count)
    residuals, variance, columns = values - values.mean(), 0.0, []
    for group in np.unique(groups):
        inside = np.flatnonzero(groups == group)
        ones = np.ones((len(inside), 1))
        eigenvalues, vectors = np.linalg.eigh(np.eye(len(inside)) - ones @ ones.T / count)
        adjusted = ones.T @ vectors @ np.diag(eigenvalues**-0.5) @ vectors.T / count
        variance += ((adjusted @ residuals[inside]) ** 2).item()
        columns.append((adjusted @ residual_maker[inside]).ravel())
    roots = np.array(columns)
    spectrum = np.linalg.eigvalsh(roots @ working @ roots.T)
    return variance, float(spectrum.sum() ** 2 / (spectrum**2).sum())


@pytest.mark.parametrize("seed", range(5))
def test_one_way_is_cr2_with_satterthwaite_degrees_of_freedom(seed: int) -> None:
    source = np.random.default_rng(seed)
    person = np.repeat(np.arange(9), source.integers(1, 25, 9))
    values = source.normal(0, 1, 9)[person] + source.normal(0, 1, len(person))
    estimate = cluster_mean(values, person)
    variance, independent = bell_mccaffrey(values, person, 0.0)
    fitted = sm.OLS(values, np.ones_like(values)).fit()
    means = sm.stats.anova_lm(sm.OLS.from_formula("y ~ C(g)", {"y": values, "g": person}).fit())
    typical = (len(values) - (np.bincount(person) ** 2).sum() / len(values)) / 8
    between, within = means["mean_sq"]
    spread = max(0.0, (between - within) / typical)
    _, correlated = bell_mccaffrey(values, person, spread / (spread + within))
    assert estimate.value == pytest.approx(float(fitted.params[0]), rel=1e-12)
    assert estimate.se == pytest.approx(variance**0.5, rel=1e-9)
    assert estimate.df == pytest.approx((independent * correlated) ** 0.5, rel=1e-9)
    assert half_width(estimate) == pytest.approx(stats.t.ppf(0.975, estimate.df) * variance**0.5, rel=1e-9)
    p_value = cluster_mean(values, person).p_value()
    assert p_value == pytest.approx(2 * stats.t.sf(abs(values.mean()) / variance**0.5, estimate.df), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_two_way_subtracts_what_people_and_prompts_count_twice(seed: int) -> None:
    values, person, prompt = clustered_data(seed, people=15, prompts=9)
    by_person, by_prompt = (bell_mccaffrey(values, groups, 0.0)[0] for groups in (person, prompt))
    residuals = values - values.mean()  # no cell holds two values here
    both = by_person + by_prompt - float(residuals @ residuals) / len(values) ** 2
    estimate = cluster_mean(values, person, prompt)
    assert estimate.se == pytest.approx(max(both, by_person, by_prompt) ** 0.5, rel=1e-9)
    assert (estimate.df or 99) <= 8


def test_equal_people_are_no_certainty() -> None:
    # Five people in six would print 80.0–80.0 if only differences between people counted.
    values, person = np.tile([1.0, 1.0, 1.0, 1.0, 0.0], 6), np.repeat(np.arange(6), 5)
    estimate = cluster_mean(values, person, bounds=(0.0, 1.0))
    assert estimate.value == pytest.approx(0.8)
    assert estimate.se == pytest.approx((0.16 / 29) ** 0.5)
    assert (estimate.low or 1) < 0.7
    assert (estimate.high or 0) > 0.85


def test_fewer_than_six_people_give_no_interval_and_no_test() -> None:
    values, person = np.tile([1.0, 0.0, 1.0], 5), np.repeat(np.arange(5), 3)
    few = cluster_mean(values, person, bounds=(0.0, 1.0))
    assert (few.low, few.high, few.n, few.people) == (None, None, 15, 5)
    assert few.note == "no interval: it needs at least 6 people, and there are 5"
    assert cluster_mean(values, person).p_value() is None
    six = cluster_mean(np.tile(values, 2)[:18], np.repeat(np.arange(6), 3), bounds=(0.0, 1.0))
    assert six.low is not None


def test_pages_added_up_give_the_same_interval() -> None:
    values, person, prompt = clustered_data(5, people=12, prompts=7)
    values = np.clip(np.round(values * 2) / 2, 0, 1)
    whole = clustered_sums(values, person, prompt)
    halves = [clustered_sums(values[part], person[part], prompt[part]) for part in (person < 6, person >= 6)]
    people = Clusters(
        *(
            np.concatenate([getattr(half.people, name) for half in halves])
            for name in ("sizes", "counts", "sums", "squares")
        )
    )
    pages = ClusteredSums(people, whole.prompts, whole.pairs, whole.squares, whole.low, whole.high)
    one, other = whole.estimate(), pages.estimate()
    assert one.low == pytest.approx(other.low, abs=1e-12)
    assert one.high == pytest.approx(other.high, abs=1e-12)
    assert ClusteredSums().estimate().note == "no item has an answer"


def test_labels_may_be_texts_and_in_any_order() -> None:
    values, person, prompt = clustered_data(3, people=8, prompts=5)
    named = cluster_mean(values, [f"p{n}" for n in person], [f"q{n}" for n in prompt])
    shuffled = np.random.default_rng(0).permutation(len(values))
    again = cluster_mean(values[shuffled], person[shuffled], prompt[shuffled])
    far_apart = cluster_mean(values, person * 10**9, prompt - 10**9)
    for other in (again, far_apart):
        assert named.value == pytest.approx(other.value)
        assert named.low == pytest.approx(other.low)


def share_covered(
    draw: Callable[[np.random.Generator], tuple[Floats, Ints, Ints | None]], repeats: int
) -> tuple[float, float]:
    """How often the clustered and the naive 95 % interval contain the true mean of 0.5."""
    source = np.random.default_rng(11)
    clustered = naive = 0
    for _ in range(repeats):
        values, person, prompt = draw(source)
        estimate = cluster_mean(values, person, prompt)
        assert estimate.low is not None
        assert estimate.high is not None
        clustered += estimate.low <= 0.5 <= estimate.high
        margin = 1.96 * values.std(ddof=1) / len(values) ** 0.5
        naive += abs(values.mean() - 0.5) <= margin
    return clustered / repeats, naive / repeats


def test_intervals_cover_the_truth_when_people_differ() -> None:
    """Right or wrong answers of 40 people, each with a rate of their own."""

    def draw(source: np.random.Generator) -> tuple[Floats, Ints, None]:
        person = np.repeat(np.arange(40), 15)
        rates = source.beta(1.5, 1.5, 40)
        return (source.random(600) < rates[person]).astype(np.float64), person, None

    clustered, naive = share_covered(draw, 600)
    assert 0.93 <= clustered <= 0.97
    assert naive < 0.80


def test_two_way_intervals_cover_the_truth_when_prompts_recur() -> None:
    """Thirty people answer the same thirty prompts; both people and prompts have rates of their own."""

    def draw(source: np.random.Generator) -> tuple[Floats, Ints, Ints]:
        person, prompt = np.divmod(np.arange(900), 30)
        rate = 0.5 + source.uniform(-0.25, 0.25, 30)[person] + source.uniform(-0.25, 0.25, 30)[prompt]
        return (source.random(900) < rate).astype(np.float64), person, prompt

    clustered, naive = share_covered(draw, 500)
    assert 0.93 <= clustered <= 0.97
    assert naive < 0.80

    def one_way(source: np.random.Generator) -> tuple[Floats, Ints, None]:
        values, person, _ = draw(source)
        return values, person, None

    assert share_covered(one_way, 200)[0] < 0.92, "clustering by person alone is not enough here"


@pytest.mark.parametrize("people", [6, 24])
def test_all_right_or_all_wrong_is_the_exact_binomial_interval_over_people(people: int) -> None:
    person = np.repeat(np.arange(people), 3)
    right = cluster_mean(np.ones(len(person)), person, bounds=(0.0, 1.0))
    exact = stats.binomtest(people, people).proportion_ci(0.95, method="exact")
    assert (right.value, right.high) == (1.0, 1.0)
    assert right.low == pytest.approx(exact.low)
    wrong = cluster_mean(np.zeros(len(person)), person, bounds=(0.0, 1.0))
    assert (wrong.value, wrong.low) == (0.0, 0.0)
    assert wrong.high == pytest.approx(1 - exact.low)
    gap = cluster_mean(np.ones(len(person)), person, bounds=(-1.0, 1.0))
    assert gap.low == pytest.approx(2 * exact.low - 1)


def test_all_right_on_few_prompts_is_as_uncertain_as_the_prompts_are_few() -> None:
    person, prompt = np.divmod(np.arange(90), 3)
    estimate = cluster_mean(np.ones(90), person, prompt, (0.0, 1.0))
    assert (estimate.low, estimate.high) == pytest.approx((0.025 ** (1 / 3), 1.0))
    assert cluster_mean(np.ones(90), person, np.zeros(90), (0.0, 1.0)).low == pytest.approx(0.025 ** (1 / 30))


def test_the_interval_stays_on_the_scale() -> None:
    values, people = [1, 1, 1, 1, 1, 0], list("abcdef")
    assert 0.9 < (cluster_mean(values, people, bounds=(0.0, 1.0)).high or 0) <= 1.0
    assert cluster_mean(values, people, bounds=(-1.0, 1.0)).high == 1.0
    assert (cluster_mean(values, people).high or 0) > 1.0


def test_one_person_gives_a_mean_without_an_interval_and_says_so() -> None:
    estimate = cluster_mean([1.0, 0.0, 1.0, 1.0], ["a"] * 4, ["q", "r", "q", "r"])
    assert (estimate.value, estimate.low, estimate.high) == (0.75, None, None)
    assert (estimate.n, estimate.people) == (4, 1)
    assert estimate.note == "no interval: it needs at least 6 people, and there is 1"
    assert cluster_mean([1.0, 0.0], ["a", "a"]).p_value() is None


def test_nothing_gives_nothing_and_says_so() -> None:
    estimate = cluster_mean([], [])
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (None, None, None, 0)
    assert estimate.note
    assert cluster_mean([], []).p_value() is None


@pytest.mark.parametrize("bounds", [None, (0.0, 1.0)])
@pytest.mark.parametrize("two_way", [False, True])
@pytest.mark.parametrize(
    ("values", "people", "prompts"),
    [
        ([0.5], ["a"], ["q"]),
        ([0.5, 0.5], ["a", "b"], ["q", "q"]),
        ([0.0, 1.0], ["a", "b"], ["q", "r"]),
        ([0.5] * 4, ["a", "a", "b", "b"], ["q", "r", "q", "r"]),
        ([1.0, 0.0, 0.0, 1.0], ["a", "a", "b", "b"], ["q", "r", "q", "r"]),
        ([1.0, 1.0, 1.0, 1.0], ["a", "a", "b", "b"], ["q", "r", "q", "r"]),
    ],
)
def test_no_number_is_ever_nan(
    values: list[float],
    people: list[str],
    prompts: list[str],
    two_way: bool,
    bounds: tuple[float, float] | None,
) -> None:
    estimate = cluster_mean(values, people, prompts if two_way else None, bounds)
    for number in (estimate.value, estimate.low, estimate.high):
        assert number is None or math.isfinite(number)
    if estimate.low is None:
        assert estimate.note
    p_value = cluster_mean(values, people, prompts if two_way else None).p_value()
    assert p_value is None or 0.0 <= p_value <= 1.0


def test_prompts_recur_only_across_people() -> None:
    assert prompts_recur(["a", "b"], ["q", "q"])
    assert not prompts_recur(["a", "a"], ["q", "q"]), "one person asking twice is one cluster anyway"
    assert not prompts_recur(["a", "b"], ["q", "r"])
    assert prompts_recur([7, 3], [1, 1])
    assert not prompts_recur([7, 7], [1, 1])
    assert not prompts_recur([7, 3], [1, 2])


def test_what_never_varies_gives_no_interval() -> None:
    for value, bounds in ((0.0, (-1.0, 1.0)), (0.5, (0.0, 1.0)), (0.25, None)):
        estimate = cluster_mean([value] * 7, list(range(7)), bounds=bounds)
        assert (estimate.value, estimate.low, estimate.high) == (value, None, None)
        assert estimate.note == "no interval: every item has the same value"
        assert estimate.p_value() is None
    rounded = cluster_mean([0.1 + 0.2, 0.3] * 6, list(range(12)))
    assert rounded.low is None


def test_the_same_difference_for_everybody_is_estimated_as_a_share_is() -> None:
    """At least a share of 0.025^(1/k) of all people is like the k that were seen; the others may be anywhere."""
    few = cluster_mean([0.5] * 8, list(range(8)), bounds=(-1.0, 1.0))
    many = cluster_mean([0.5] * 20, list(range(20)), bounds=(-1.0, 1.0))
    for estimate, people in ((few, 8), (many, 20)):
        like = stats.binomtest(people, people).proportion_ci(method="exact").low
        assert (estimate.low, estimate.high) == pytest.approx(
            (0.5 * like - (1 - like), 0.5 * like + (1 - like))
        )
    assert (few.low or 0.0) < 0 < (many.low or 0.0), "eight alike may be chance, twenty are not"
    again = cluster_mean([0.5] * 40, [k % 20 for k in range(40)], [k // 20 for k in range(40)], (-1.0, 1.0))
    assert (again.low or 0.0) < 0, "two prompts are two trials"


def test_students_t_is_scipys_to_the_last_bit() -> None:
    for freedom in (1, 2, 7, 30, 1662, 10**6):
        assert student_reach(freedom) == stats.t.ppf(0.975, freedom)
        ratios = np.array([-40.0, -1.96, 0.0, 1e-9, 2.5, np.inf])
        assert np.array_equal(student_p_value(ratios, freedom), 2 * stats.t.sf(np.abs(ratios), freedom))
    assert np.isnan(student_reach(0))
