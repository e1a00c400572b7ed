"""Agreement figures against statsmodels, krippendorff, scikit-learn, scipy and published examples."""

import warnings
from collections.abc import Iterator
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score

from personafit.statistics import agreement
from personafit.statistics.agreement import Figure, Ints, Level, Weights
from tests.helpers import Later

inter_rater: Any = Later("statsmodels.stats.inter_rater")

# Krippendorff's (2011) worked example: 12 units, 4 observers, with gaps; also Gwet's example for missing ratings.
N = np.nan
WORKED = np.array(
    [
        [1, 1, N, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
        [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [N, 5, 5, 5], [N, N, 1, 1], [N, N, 3, N],
    ]
)  # fmt: skip
WORKED_CODES = np.where(np.isnan(WORKED), -1, WORKED).astype(np.int64)
# Fleiss (1971) as on Wikipedia: 10 subjects, 14 raters, 5 categories, κ = 0.210.
FLEISS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def random_codes(seed: int, missing: float = 0.0, units: int = 200, raters: int = 5, labels: int = 4) -> Ints:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, labels, (units, 1))
    codes = np.where(rng.random((units, raters)) < 0.5, truth, rng.integers(0, labels, (units, raters)))
    return np.where(rng.random((units, raters)) < missing, -1, codes)


def test_the_published_example_of_krippendorff() -> None:
    published: dict[Level, float] = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849}
    for level, expected in published.items():
        for ratings in (WORKED, WORKED_CODES):
            assert agreement.krippendorff_alpha(ratings, level).value == pytest.approx(expected, abs=5e-4)


def test_gwets_published_figures_with_missing_votes() -> None:
    assert agreement.percent_agreement(WORKED_CODES).value == pytest.approx(0.81818, abs=5e-6)
    assert agreement.fleiss_kappa(WORKED_CODES).value == pytest.approx(0.76117, abs=5e-6)


def test_the_published_example_of_fleiss() -> None:
    codes = np.array([np.repeat(np.arange(5), row) for row in FLEISS])
    assert agreement.fleiss_kappa(codes).value == pytest.approx(0.210, abs=5e-4)
    assert agreement.percent_agreement(codes).value == pytest.approx(0.378, abs=5e-4)


@pytest.mark.parametrize("seed", range(3))
def test_fleiss_equals_statsmodels(seed: int) -> None:
    codes = random_codes(seed)
    expected = inter_rater.fleiss_kappa(inter_rater.aggregate_raters(codes)[0])
    assert agreement.fleiss_kappa(codes).value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_alpha_equals_krippendorff(seed: int, level: Level, missing: float) -> None:
    codes = random_codes(seed, missing)
    values = np.where(codes < 0, np.nan, codes)
    expected = krippendorff.alpha(values.T, level_of_measurement=level)
    assert agreement.krippendorff_alpha(codes, level).value == pytest.approx(expected, abs=1e-9)
    assert agreement.krippendorff_alpha(values, level).value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_alpha_of_real_numbers_equals_krippendorff(level: Level) -> None:
    rng = np.random.default_rng(0)
    values = 1000 + rng.normal(size=(60, 1)) + rng.normal(size=(60, 3))
    expected = krippendorff.alpha(values.T, level_of_measurement=level)
    assert agreement.krippendorff_alpha(values, level).value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_cohen_equals_sklearn(weights: Weights, missing: float) -> None:
    first, second = random_codes(4, missing, raters=2).T
    both = (first >= 0) & (second >= 0)
    expected = cohen_kappa_score(
        first[both], second[both], labels=range(4), weights=None if weights == "none" else weights
    )
    assert agreement.cohen_kappa(first, second, weights).value == pytest.approx(expected, abs=1e-9)


def test_cohen_of_a_published_table() -> None:
    # Wikipedia's grant example: 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no; κ = 0.4.
    first, second = np.repeat([1, 1, 0, 0], [20, 5, 10, 15]), np.repeat([1, 0, 1, 0], [20, 5, 10, 15])
    assert agreement.cohen_kappa(first, second).value == pytest.approx(0.4)


def test_weights_count_the_distance_of_codes_even_across_an_unused_one() -> None:
    first, second = np.array([0, 0, 1, 3, 3]), np.array([0, 1, 1, 3, 0])
    expected = inter_rater.cohens_kappa(agreement.confusion(first, second), weights=np.arange(4)).kappa
    assert agreement.cohen_kappa(first, second, "linear").value == pytest.approx(expected)


def test_spearman_equals_scipy_with_ties_and_gaps() -> None:
    first, second = random_codes(5, 0.2, raters=2).T
    both = (first >= 0) & (second >= 0)
    expected = spearmanr(first[both], second[both]).statistic
    assert agreement.spearman(first, second).value == pytest.approx(expected, abs=1e-9)
    left, right = np.where(first < 0, np.nan, first / 3), np.where(second < 0, np.nan, second / 3)
    assert agreement.spearman(left, right).value == pytest.approx(expected, abs=1e-9)


def test_a_tie_half_agrees_with_either_answer() -> None:
    codes = np.array([[0, 0, 1], [2, 1, 2], [0, 0, 0], [2, 2, 1], [0, 2, 1], [1, 1, 1]])
    credit = np.array([[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]])
    pairs = [(row[i], row[j]) for row in codes for i in range(3) for j in range(3) if i != j]
    observed = float(np.mean([credit[pair] for pair in pairs]))
    assert agreement.percent_agreement(codes, halves=True).value == pytest.approx(observed)
    shares = np.bincount(codes.ravel()) / codes.size
    chance = float(shares @ credit @ shares)
    assert agreement.fleiss_kappa(codes, halves=True).value == pytest.approx(
        (observed - chance) / (1 - chance)
    )
    counts = np.bincount(codes.ravel())
    expected = float((counts @ (1 - credit) @ counts) / (codes.size * (codes.size - 1)))
    assert agreement.krippendorff_alpha(codes, "nominal", halves=True).value == pytest.approx(
        1 - (1 - observed) / expected
    )


def every_figure(codes: Ints) -> list[Figure]:
    first, second = codes[:, 0], codes[:, -1]
    levels: tuple[Level, ...] = ("nominal", "ordinal", "interval")
    weights: tuple[Weights, ...] = ("none", "linear", "quadratic")
    return [
        agreement.percent_agreement(codes),
        agreement.fleiss_kappa(codes),
        *(agreement.krippendorff_alpha(codes, level) for level in levels),
        *(agreement.cohen_kappa(first, second, weight) for weight in weights),
        agreement.spearman(first, second),
    ]


@pytest.mark.parametrize(
    ("codes", "defined"),
    [
        (np.full((5, 3), 2), {0}),  # all the same label
        (np.array([[0, 1, 1]]), {0}),  # one item
        (np.array([[0, -1], [1, -1], [-1, 1], [-1, 0]]), set()),  # disjoint raters
        (np.full((4, 3), -1), set()),  # nothing at all
        (np.zeros((0, 2), dtype=np.int64), set()),  # no items
        (np.array([[0, 1], [0, 2], [0, 1]]), {0, 1, 2, 3, 4, 5, 6, 7}),  # one constant rater
    ],
)
def test_degenerate_tables_say_why(codes: Ints, defined: set[int]) -> None:
    for place, figure in enumerate(every_figure(codes)):
        if place in defined:
            assert figure.value is not None
            assert np.isfinite(figure.value)
            assert figure.note is None
        else:
            assert figure.value is None
            assert figure.note is not None
            assert figure.note.startswith("undefined: ")


def test_one_rater_agrees_with_nobody() -> None:
    codes = np.array([[0], [1], [1]])
    assert agreement.percent_agreement(codes) == Figure(None, agreement.NO_OVERLAP)
    assert agreement.fleiss_kappa(codes) == Figure(None, agreement.NO_OVERLAP)
    assert agreement.krippendorff_alpha(codes, "nominal") == Figure(None, agreement.NO_OVERLAP)


def test_two_units_have_no_rank_correlation() -> None:
    assert agreement.spearman([0, 1], [0, 1]) == Figure(None, agreement.TOO_FEW_RANKS)


def test_a_constant_real_number_is_the_same_label() -> None:
    values = np.full((4, 2), 0.1 + 0.2)
    assert agreement.krippendorff_alpha(values, "interval") == Figure(None, agreement.SAME_LABEL)


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="units × raters"):
        agreement.fleiss_kappa([0, 1])
    with pytest.raises(ValueError, match="same length"):
        agreement.cohen_kappa([0, 1], [0])
    with pytest.raises(ValueError, match="integers"):
        agreement.fleiss_kappa([[0.5, 1.0]])
