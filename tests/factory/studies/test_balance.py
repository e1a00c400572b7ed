"""Balance: rules come within 45 to 55 %, with no more left out than need be."""

import random

import pytest

from personafit.factory.studies.balance import BALANCED, Told, kept, right, signs, unlikeness
from personafit.people import Person

ANNA = Person(id="anna", language="en", facets={"Name": "Anna Lind", "Social": "Sings in a choir"})


def test_signs_are_what_the_rules_say() -> None:
    told = Told(ANNA, "What now?", "**Anna**, you sing.", "Wait for a while and see.")
    assert dict(zip(BALANCED, signs(told), strict=True)) == {
        "length": -1,
        "second-person": 1,
        "markup": 1,
        "name": 1,
    }
    assert unlikeness(ANNA, "Sing.", "Rest.") == 0
    assert unlikeness(ANNA, "Sing.", "You rest") > 1


def test_what_is_balanced_already_stays_whole() -> None:
    pairs = [(1, 0), (-1, 0), (0, 1), (0, -1)] * 5
    assert all(kept(pairs))
    assert kept([]) == []


def test_only_the_surplus_goes() -> None:
    keep = kept([(1,)] * 12 + [(-1,)] * 4 + [(0,)] * 4)
    assert keep[12:] == [True] * 8
    assert sum(keep[:12]) == 5, "five against four among thirteen is 54 %"


@pytest.mark.parametrize("seed", range(20))
def test_any_mixture_comes_within_bounds(seed: int) -> None:
    draws = random.Random(seed)
    pairs = [
        (draws.choice((1, 1, 1, 0, -1)), draws.choice((1, 0, 0, -1)), 0, draws.choice((0, 0, 0, 1)))
        for _ in range(200)
    ]
    left = [pair for pair, good in zip(pairs, kept(pairs), strict=True) if good]
    assert len(left) > 40
    for rule in range(4):
        assert 0.45 <= round(right(left, rule), 9) <= 0.55
