"""Bradley–Terry and Holm against choix, statsmodels and simulation."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from personafit.statistics import ranking
from personafit.statistics.agreement import Floats, Ints
from tests.helpers import Later

sm: Any = Later("statsmodels.api")


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def games(people: int, rng: np.random.Generator, ties: bool = True) -> tuple[Ints, Ints, Floats, Ints]:
    """Comparisons of four systems, whose strengths differ between people."""
    person = np.repeat(np.arange(people), rng.integers(8, 25, people))
    strength = np.array([0.5, 0.2, -0.2, -0.5]) + rng.normal(0, 0.6, (people, 4))
    first = rng.integers(0, 4, len(person))
    second = (first + rng.integers(1, 4, len(person))) % 4
    chance = 1 / (1 + np.exp(strength[person, second] - strength[person, first]))
    score = (rng.random(len(person)) < chance).astype(np.float64)
    if ties:
        score[rng.random(len(person)) < 0.1] = 0.5
    return first, second, score, person


def test_strengths_equal_choix() -> None:
    wins = np.array([[0, 7, 9, 4], [3, 0, 6, 5], [1, 4, 0, 6], [2, 3, 4, 0]])
    first, second = (np.repeat(index.ravel(), wins.ravel()) for index in np.indices(wins.shape))
    result = ranking.bradley_terry(first, second, np.ones(len(first)), np.arange(len(first)) % 9, 4)
    # choix 0.4.1, opt_pairwise(4, data, tol=1e-12), centred.
    expected = [0.93624003, 0.01519294, -0.44845955, -0.50297341]
    assert [strength.value for strength in result.strengths] == pytest.approx(expected, abs=1e-6)


def test_strengths_and_contrasts_equal_a_clustered_glm() -> None:
    first, second, score, person = games(30, np.random.default_rng(0))
    result = ranking.bradley_terry(first, second, score, person, 4)
    design = np.eye(4)[first] - np.eye(4)[second]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sm.GLM(score, design[:, 1:], family=sm.families.Binomial())
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": person, "use_correction": False})
    values = [strength.value for strength in result.strengths]
    gaps = np.array(values[1:], dtype=np.float64) - np.array(values[0], dtype=np.float64)
    assert gaps == pytest.approx(fit.params, abs=1e-7)
    contrasts = [c for c in result.contrasts if c.first == 0]
    half = np.array([(c.gap.high or 0.0) - (c.gap.low or 0.0) for c in contrasts]) / 2
    # Ours has the CR2 correction and Satterthwaite's degrees of freedom, which differ little with 30 people.
    expected = fit.bse * np.sqrt(30 / 29) * 2.045229642132703
    assert half == pytest.approx(expected, rel=0.03)
    assert sum(strength.value or 0.0 for strength in result.strengths) == pytest.approx(0)


def test_strengths_cover() -> None:
    rng = np.random.default_rng(1)
    truth = [s.value for s in ranking.bradley_terry(*games(10_000, rng), 4).strengths]
    runs, hits, naive_hits = 150, np.zeros(4), np.zeros(4)
    for _ in range(runs):
        first, second, score, person = games(25, rng)
        clustered = ranking.bradley_terry(first, second, score, person, 4).strengths
        naive = ranking.bradley_terry(first, second, score, np.arange(len(score)), 4).strengths
        for strengths, count in ((clustered, hits), (naive, naive_hits)):
            count += [
                (s.low or 0) <= (t or 0) <= (s.high or 0) for s, t in zip(strengths, truth, strict=True)
            ]
    assert 0.93 <= hits.mean() / runs <= 0.97
    assert naive_hits.mean() / runs < 0.92


@pytest.mark.parametrize(
    ("first", "second", "score", "systems", "reason"),
    [
        ([], [], [], 3, "no two systems"),
        ([0, 0], [1, 1], [1, 1], 2, "won or lost every comparison"),
        ([0, 0, 2, 2], [1, 1, 3, 3], [1, 0, 1, 0], 4, "never compared"),
        ([0], [0], [1], 1, "no two systems"),
    ],
)
def test_strengths_without_a_bound_say_why(
    first: list[int], second: list[int], score: list[float], systems: int, reason: str
) -> None:
    result = ranking.bradley_terry(first, second, score, np.arange(len(first)), systems)
    assert result.note is not None
    assert reason in result.note
    assert all(strength.value is None for strength in result.strengths)
    assert result.contrasts == ()


def test_two_people_get_strengths_without_intervals() -> None:
    first, second, score, person = games(20, np.random.default_rng(2))
    result = ranking.bradley_terry(first, second, score, person % 2, 4)
    assert result.strengths[0].value is not None
    assert result.strengths[0].low is None
    assert result.note is not None
    assert "at least 6 people" in result.note


def crossed(rng: np.random.Generator, people: int, prompts: int) -> tuple[Ints, Ints, Floats, Ints, Ints]:
    """All comparisons of three equal systems that answer every prompt for every person."""
    person, prompt = np.divmod(np.arange(people * prompts), prompts)
    suits = rng.normal(0, 0.7, (3, people))[:, person] + rng.normal(0, 0.5, (3, prompts))[:, prompt]
    right = rng.random(suits.shape) < 1 / (1 + np.exp(-suits))
    pairs = [(0, 1), (0, 2), (1, 2)]
    score = np.concatenate([(np.sign(right[i] * 1.0 - right[j]) + 1) / 2 for i, j in pairs])
    first, second = (np.repeat([pair[side] for pair in pairs], len(person)) for side in (0, 1))
    return first, second, score, np.tile(person, 3), np.tile(prompt, 3)


def test_prompts_of_one_person_each_are_no_second_cluster() -> None:
    first, second, score, person = games(20, np.random.default_rng(7))
    plain = ranking.bradley_terry(first, second, score, person, 4)
    apart = ranking.bradley_terry(first, second, score, person, 4, np.arange(len(score)))
    assert [c.p for c in apart.contrasts] == pytest.approx([c.p for c in plain.contrasts])
    assert [s.low for s in apart.strengths] == pytest.approx([s.low for s in plain.strengths])


def test_the_same_answers_are_not_distinguishable() -> None:
    first, second, score, person, prompt = crossed(np.random.default_rng(8), 20, 10)
    tied = np.where((first == 0) & (second == 1), 0.5, score)
    tied[first == 1] = tied[(first == 0) & (second == 2)]
    same = ranking.bradley_terry(first, second, tied, person, 3, prompt).contrasts[0]
    assert (same.first, same.second, same.p) == (0, 1, 1.0)
    assert same.gap.value == pytest.approx(0, abs=1e-9)
