"""All raters against each other: blocks, reliability, ceiling and votes, against brute force and scipy."""

import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from personafit.statistics import raters
from personafit.statistics.agreement import Ints


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def study(seed: int, missing: float = 0.0, labels: int = 3) -> tuple[Ints, Ints]:
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(15), 8)
    codes = np.where(
        rng.random((120, 5)) < 0.6, rng.integers(0, labels, (120, 1)), rng.integers(0, labels, (120, 5))
    )
    return np.where(rng.random(codes.shape) < missing, -1, codes), person


KINDS = ["human", "human", "human", "llm", "llm"]


def test_blocks_and_reliability_are_means_of_sklearns_kappas() -> None:
    codes, person = study(0)
    result = raters.compare_raters(codes, KINDS, person, None)
    kappa = {(i, j): cohen_kappa_score(codes[:, i], codes[:, j]) for i, j in combinations(range(5), 2)}
    found = {(one.part, one.first, one.second): one for one in result}
    for pair, expected in kappa.items():
        figure = found["pair", *pair].figure
        assert figure.value == pytest.approx(expected, abs=1e-9)
        assert figure.low is not None
        assert figure.high is not None
        assert figure.low < expected < figure.high
    blocks = {(one.first, one.second): one for one in result if one.part == "block"}
    assert set(blocks) == {("human", "human"), ("human", "llm"), ("llm", "llm")}
    mixed = [value for (i, j), value in kappa.items() if i < 3 <= j]
    assert blocks["human", "llm"].pairs == 6
    assert blocks["human", "llm"].figure.value == pytest.approx(np.mean(mixed))
    single = found["reliability", 1, "human"]
    assert single.figure.value == pytest.approx((kappa[0, 1] + kappa[1, 2]) / 2)
    judge = found["reliability", 4, "human"]
    assert judge.figure.value == pytest.approx(np.mean([kappa[i, 4] for i in range(3)]))


def test_one_rater_has_no_pairs() -> None:
    result = raters.compare_raters(np.zeros((6, 1), dtype=np.int64), ["human"], np.arange(6), None)
    assert result == []


def test_every_rater_needs_a_kind() -> None:
    with pytest.raises(ValueError, match="kind of every rater"):
        raters.compare_raters(np.zeros((6, 2), dtype=np.int64), ["human"], np.arange(6), None)


def brute_credit(label: int, others: list[int]) -> float | None:
    if not others:
        return None
    votes = Counter(others)
    best = [each for each, number in votes.items() if number == max(votes.values())]
    return 1 / len(best) if label in best else 0.0


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_ceiling_equals_brute_force(missing: float) -> None:
    codes, person = study(1, missing)
    panel = [0, 1, 2]
    result = raters.panel_ceiling(codes, panel, person, None)
    pooled: list[float] = []
    for rater in range(5):
        scores = []
        for row in codes:
            left_out = [rater] if rater in panel else [m for m in panel if row[m] >= 0]
            if row[rater] < 0:
                continue
            credits = [
                brute_credit(row[rater], [row[m] for m in panel if m != out and row[m] >= 0])
                for out in left_out
            ]
            known = [credit for credit in credits if credit is not None]
            if known:
                scores.append(float(np.mean(known)))
        assert result.raters[rater].value == pytest.approx(np.mean(scores))
        assert result.raters[rater].n == len(scores)
        pooled += scores if rater in panel else []
    assert result.ceiling.value == pytest.approx(np.mean(pooled))
    assert result.ceiling.low is not None
    assert result.ceiling.high is not None
    assert result.ceiling.low < np.mean(pooled) < result.ceiling.high


def test_a_tie_among_the_others_scores_half() -> None:
    codes = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 0], [1, 1, 0], [0, 0, 0]])
    result = raters.panel_ceiling(codes, [0, 1, 2], np.arange(6), None)
    # Rater 0 against the others: ½, ½, 1, ½, ½, 1.
    assert result.raters[0].value == pytest.approx(4 / 6)


def test_an_outsider_as_good_as_the_panel_meets_the_ceiling() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, (40_000, 1))
    codes = np.where(rng.random((40_000, 4)) < 0.8, truth, 1 - truth)
    result = raters.panel_ceiling(codes, [0, 1, 2], np.arange(40_000) % 100, None)
    assert result.raters[3].value == pytest.approx(result.ceiling.value, abs=0.01)
    gap = result.gaps[3]
    assert gap is not None
    assert gap.value == pytest.approx(0.0, abs=0.01)
    assert result.gaps[:3] == (None, None, None)


def test_a_panel_of_one_has_no_ceiling() -> None:
    result = raters.panel_ceiling([[0, 1], [1, 1]], [0], ["a", "b"], None)
    assert result.ceiling.value is None
    assert result.ceiling.note is not None


def test_two_people_have_a_ceiling_without_interval() -> None:
    codes, person = study(3)
    result = raters.panel_ceiling(codes, [0, 1, 2], person % 2, None)
    assert result.ceiling.value is not None
    assert result.ceiling.low is None
    assert result.ceiling.note is not None


def test_the_gap_is_the_mean_paired_difference_from_the_members_of_each_unit() -> None:
    codes, person = study(4, 0.3)
    panel = [0, 1, 2]
    gap = raters.panel_ceiling(codes, panel, person, None).gaps[4]
    assert gap is not None
    differences = []
    for row in codes:
        voted = [m for m in panel if row[m] >= 0]
        rest = {out: [row[m] for m in voted if m != out] for out in voted}
        own = [brute_credit(row[4], rest[out]) for out in voted if row[4] >= 0 and rest[out]]
        theirs = [brute_credit(row[out], rest[out]) for out in voted if rest[out]]
        if own:
            differences.append(float(np.mean([c or 0.0 for c in own]) - np.mean([c or 0.0 for c in theirs])))
    assert gap.value == pytest.approx(np.mean(differences))
    assert gap.n == len(differences)


def test_votes_per_unit_do_not_favour_a_machine_that_is_no_better_than_a_person() -> None:
    """Hard units with more votes pull the ceiling down; the paired gap does not move."""
    rng = np.random.default_rng(5)
    hard = rng.random(40_000) < 0.5
    skill = np.where(hard, 0.55, 0.95)[:, None]
    truth = rng.integers(0, 2, (40_000, 1))
    codes = np.where(rng.random((40_000, 6)) < skill, truth, 1 - truth)
    codes[~hard, 2:5] = -1
    result = raters.panel_ceiling(codes, [0, 1, 2, 3, 4], np.arange(40_000) % 100, None)
    gap = result.gaps[5]
    assert gap is not None
    assert (result.raters[5].value or 0) - (result.ceiling.value or 0) > 0.03
    assert gap.value == pytest.approx(0.0, abs=0.01)


def test_a_tie_is_worth_half_beside_the_majority() -> None:
    codes = np.array([[0, 0, 1], [2, 2, 1], [0, 0, 0], [2, 2, 0], [0, 0, 2], [2, 2, 2]])
    whole, half = (
        raters.panel_ceiling(codes, [0, 1], np.arange(6), None, halves) for halves in (False, True)
    )
    assert whole.raters[2].value == pytest.approx(2 / 6)
    assert half.raters[2].value == pytest.approx(3 / 6)


def below(machine: float, seed: int) -> bool:
    """Whether a machine that is right so often is claimed below the ceiling of three people who are right 80 % of the time."""
    rng = np.random.default_rng(seed)
    person, prompt = np.repeat(np.arange(60), 18), rng.integers(0, 30, 1080)
    effect = rng.normal(0, 0.07, 60)[person] + rng.normal(0, 0.05, 30)[prompt]
    truth = rng.integers(0, 2, (1080, 1))
    right = rng.random((1080, 4)) < effect[:, None] + [0.8, 0.8, 0.8, machine]
    codes = np.where(right, truth, 1 - truth)
    gap = raters.panel_ceiling(codes, [0, 1, 2], person, prompt).gaps[3]
    assert gap is not None
    return (gap.p_value() or 1.0) < 0.05 and (gap.value or 0.0) < 0


def test_a_machine_as_good_as_a_person_is_seldom_claimed_below_and_a_gap_is_found_in_half_of_runs() -> None:
    """A machine right 4.4 points less often scores 2.6 points below the ceiling."""
    assert sum(below(0.8, seed) for seed in range(60)) <= 4
    assert 20 <= sum(below(0.756, seed) for seed in range(60)) <= 40
