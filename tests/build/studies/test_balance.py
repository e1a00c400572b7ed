"""Balance: rules come within 47 to 53 %, in each language by itself, with no more left out than need be."""

import random

import pytest

from personafit.build.studies.balance import (
    BALANCED,
    RankedPair,
    kept,
    kept_by_group,
    right,
    signs,
)
from personafit.people import Person

ANNA = Person(id="anna", language="en", facets={"Name": "Anna Lind", "Social": "Sings in a choir"})


def test_signs_are_what_the_rules_say() -> None:
    told = RankedPair(ANNA, "What now?", "**Anna**, you sing.", "Wait for a while and see.")
    assert dict(zip(BALANCED, signs(told), strict=False)) == {
        "length": -1,
        "second-person": 1,
        "markup": 1,
        "name": 1,
    }


def test_what_is_balanced_already_stays_whole() -> None:
    pairs = [(1, 0), (-1, 0), (0, 1), (0, -1)] * 5
    assert all(kept(pairs))
    assert kept([]) == []


def test_only_the_surplus_goes() -> None:
    keep = kept([(1,)] * 12 + [(-1,)] * 4 + [(0,)] * 4)
    assert keep[12:] == [True] * 8
    assert sum(keep[:12]) == 4, "five against four among thirteen would be 54 %"
    keep = kept([(1,)] * 30 + [(-1,)] * 20)
    assert sum(keep[:30]) == 22, "22 against 20 is 52.4 %, 23 against 20 would be 53.5 %"


def test_groups_are_balanced_each_by_itself() -> None:
    groups, pairs = ["en", "zh"] * 40, [(1, 0), (-1, 0)] * 40
    assert all(kept(pairs)), "taken together nothing tells"
    assert not any(kept_by_group(groups, pairs)), (
        "but in either language the rule is always right or always wrong"
    )
    groups += ["en"] * 40
    pairs += [(-1, 0)] * 40
    keep = kept_by_group(groups, pairs)
    assert [all(keep[0:80:2]), any(keep[1:80:2]), all(keep[80:])] == [True, False, True]


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
        assert 0.47 <= round(right(sum(one[rule] for one in left), len(left)), 9) <= 0.53
