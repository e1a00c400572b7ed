import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    cohen_kappa_score,
    f1_score,
    precision_score,
    recall_score,
)

from personafit.statistics.detection import (
    METRICS,
    Metric,
    average_precision,
    best_threshold,
    crossfit_threshold,
    detection,
    detection_difference,
    mean_ranking,
    pseudo_values,
    r_precision,
    standing,
)

RNG = np.random.default_rng(3)
TRUTH = RNG.random(800) < 0.2
SAID = np.where(RNG.random(800) < 0.7, TRUTH, RNG.random(800) < 0.5)
PEOPLE = np.repeat(np.arange(40), 20)
PROMPTS = np.tile(np.repeat(np.arange(5), 4), 40)


@pytest.mark.parametrize(
    ("metric", "judged"),
    [
        ("precision", precision_score),
        ("recall", recall_score),
        ("f1", f1_score),
        ("accuracy", accuracy_score),
        ("kappa", cohen_kappa_score),
    ],
)
def test_figures_are_those_of_scikit_learn(metric: Metric, judged: object) -> None:
    found = detection(SAID, TRUTH, metric, PEOPLE, PROMPTS)
    assert callable(judged)
    assert found.value == pytest.approx(judged(TRUTH, SAID))
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high  # type: ignore[operator]


def test_over_selection_is_how_many_times_as_many_as_people() -> None:
    found = detection(SAID, TRUTH, "over_selection", PEOPLE, PROMPTS)
    assert found.value == pytest.approx(SAID.sum() / TRUTH.sum())


@pytest.mark.parametrize("metric", METRICS)
def test_one_way_interval_is_about_that_of_leaving_people_out(metric: Metric) -> None:
    own_prompts = np.arange(800)  # no prompt recurs, so people are the only clusters
    found = detection(SAID, TRUTH, metric, PEOPLE, own_prompts)
    left_out = [
        pseudo_values(SAID[person != PEOPLE], TRUTH[person != PEOPLE], metric).mean() for person in range(40)
    ]
    spread = float(np.sqrt(39 / 40 * np.square(np.array(left_out) - np.mean(left_out)).sum()))
    independent = float(pseudo_values(SAID, TRUTH, metric).std(ddof=1)) / 800**0.5
    assert found.se == pytest.approx(max(spread, independent), rel=0.05)


def test_interval_widens_when_prompts_carry_the_errors() -> None:
    said = np.where(PROMPTS == 0, True, TRUTH)  # everything is picked for one prompt, all else is right
    two_way = detection(said, TRUTH, "precision", PEOPLE, PROMPTS)
    one_way = detection(said, TRUTH, "precision", PEOPLE, np.arange(800))
    assert two_way.high - two_way.low > 2 * (one_way.high - one_way.low)  # type: ignore[operator]


def test_undefined_is_said_and_never_nan() -> None:
    nothing = np.zeros(800, dtype=bool)
    assert detection(nothing, TRUTH, "precision", PEOPLE, PROMPTS).value is None
    assert "never says yes" in str(detection(nothing, TRUTH, "precision", PEOPLE, PROMPTS).note)
    assert detection(SAID, nothing, "recall", PEOPLE, PROMPTS).value is None
    assert detection(nothing, nothing, "kappa", PEOPLE, PROMPTS).value is None
    assert detection([], [], "f1", [], []).value is None
    assert detection(nothing, TRUTH, "f1", PEOPLE, PROMPTS).value == 0.0


def test_what_cannot_vary_has_no_interval() -> None:
    always = np.ones(800, dtype=bool)
    for metric in ("yes_rate", "kappa"):
        found = detection(always, TRUTH, metric, PEOPLE, PROMPTS)
        assert found.low is None
        assert "same answer" in str(found.note)
    never = detection(~always, TRUTH, "over_selection", PEOPLE, PROMPTS)
    assert (never.value, never.low) == (0.0, None)
    perfect = detection(TRUTH, TRUTH, "kappa", PEOPLE, PROMPTS)
    assert (perfect.value, perfect.low) == (1.0, None)
    assert "same answer" not in str(perfect.note)


def test_perfect_precision_of_few_yeses_is_not_certain() -> None:
    said = np.zeros(800, dtype=bool)
    said[np.flatnonzero(TRUTH)[:3]] = True
    found = detection(said, TRUTH, "precision", PEOPLE, PROMPTS)
    assert found.value == 1.0
    assert found.low is None or found.low < 0.6  # three yeses, of at most three people


def test_five_people_are_too_few() -> None:
    few = PEOPLE < 5
    found = detection(SAID[few], TRUTH[few], "f1", PEOPLE[few], PROMPTS[few])
    assert found.value is not None
    assert found.low is None
    assert "6 people" in str(found.note)


def test_differences_are_paired() -> None:
    other = SAID.copy()
    other[RNG.choice(800, 20, replace=False)] ^= True
    prompts = np.arange(800)
    same = detection_difference(SAID, SAID, TRUTH, "f1", PEOPLE, prompts)
    assert (same.value, same.low, same.high) == (0.0, None, None)
    found = detection_difference(SAID, other, TRUTH, "f1", PEOPLE, prompts)
    assert found.value == pytest.approx(f1_score(TRUTH, SAID) - f1_score(TRUTH, other))
    apart = detection(SAID, TRUTH, "f1", PEOPLE, prompts)
    assert found.high - found.low < apart.high - apart.low  # type: ignore[operator]


def test_threshold_is_learnt_from_other_prompts_only() -> None:
    scores = TRUTH + RNG.normal(0, 0.5, 800)
    before, why = crossfit_threshold(scores, TRUTH, PROMPTS)
    assert why is None
    turned = np.where(PROMPTS == 2, ~TRUTH, TRUTH)
    after, _ = crossfit_threshold(scores, turned, PROMPTS)
    assert np.array_equal(before[PROMPTS == 2], after[PROMPTS == 2])
    assert not np.array_equal(before[PROMPTS != 2], after[PROMPTS != 2])


def test_one_prompt_teaches_no_threshold() -> None:
    thresholds, why = crossfit_threshold([1.0, 2.0], [True, False], ["p", "p"])
    assert np.isnan(thresholds).all()
    assert "other prompts" in str(why)


def test_standing_is_within_the_list() -> None:
    places = standing([9.0, 7.0, 0.2, 0.1, 0.1], ["a", "a", "b", "b", "b"])
    assert places.tolist() == pytest.approx([0.75, 0.25, 5 / 6, 1 / 3, 1 / 3])


def test_best_threshold_takes_equal_scores_together() -> None:
    scores = np.array([3.0, 2.0, 2.0, 2.0, 1.0])
    assert best_threshold(scores, np.array([True, True, True, False, False])) == 2.0
    assert (
        best_threshold(scores, np.array([True, True, False, False, False])) == 3.0
    )  # 2/3 either way: the higher
    assert np.isnan(best_threshold(scores, np.zeros(5, dtype=bool)))


def test_average_precision_with_and_without_ties() -> None:
    scores = RNG.random(50)
    truth = RNG.random(50) < 0.3
    assert average_precision(scores, truth) == pytest.approx(average_precision_score(truth, scores))
    tied = np.round(scores, 1)
    assert average_precision(tied, truth) == pytest.approx(average_precision_score(truth, tied))
    assert average_precision(scores, np.zeros(50)) is None


def test_r_precision_draws_lots_at_the_border() -> None:
    assert r_precision([3, 2, 1], [True, False, False]) == 1.0
    assert r_precision([1, 1, 1, 1], [True, False, False, False]) == 0.25
    assert r_precision([5, 1, 1, 1], [False, True, True, False]) == pytest.approx(1 / 3)
    assert r_precision([1.0], [False]) is None


def test_rankings_are_averaged_over_lists_with_anything_relevant() -> None:
    lists = ["a", "b", "a", "b", "c"]
    found = mean_ranking(
        [2, 1, 1, 2, 9], [True, True, False, False, False], lists, lists, lists, "average_precision"
    )
    assert found.value == pytest.approx((1.0 + 0.5) / 2)
    assert found.n == 2
