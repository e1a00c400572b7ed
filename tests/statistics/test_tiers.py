"""Tiers from votes: groups whose kappa is where the paper wants it, and a warning where it cannot be."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from personafit.statistics.agreement import fleiss_kappa
from personafit.statistics.tiers import vote_tiers


def _votes(agreeing: list[int], raters: int, seed: int) -> np.ndarray:
    """Units × raters: so many of the raters vote for a drawn side, the rest for the other."""
    draw = np.random.default_rng(seed)
    rows = []
    for count in agreeing:
        side = int(draw.integers(2))
        row = np.array([side] * count + [1 - side] * (raters - count))
        rows.append(draw.permutation(row))
    return np.array(rows)


def test_groups_have_the_kappa_they_are_named_for() -> None:
    codes = _votes([9] * 40 + [8] * 40 + [7] * 40 + [6] * 40 + [5] * 40, 9, 0)
    people = np.arange(200) % 20
    tiers = vote_tiers(codes, people)
    assert tiers.medium is not None
    assert tiers.hard is not None
    medium, hard = (fleiss_kappa(codes[tier.members]).value for tier in (tiers.medium, tiers.hard))
    assert medium is not None
    assert hard is not None
    assert medium > 0.6
    assert 0.4 < hard <= 0.6
    assert not (tiers.medium.members & tiers.hard.members).any()
    assert tiers.hard.kappa.low is not None
    assert tiers.hard.kappa.low < hard < (tiers.hard.kappa.high or 0)
    assert any("below both tiers" in warning for warning in tiers.warnings)


def test_both_tiers_are_had_if_they_can_be_and_are_as_wide_as_can_be() -> None:
    tiers = vote_tiers(_votes([9] * 50 + [8] * 10, 9, 1), np.arange(60))
    assert tiers.medium is not None
    assert tiers.hard is not None
    assert (tiers.medium.members.sum(), tiers.hard.members.sum()) == (50, 10)
    assert tiers.warnings == ()
    tiers = vote_tiers(_votes([9] * 50 + [7] * 10, 9, 1), np.arange(60))
    assert tiers.medium is not None
    assert tiers.medium.members.sum() == 60, (
        "seven of nine give no Hard tier by themselves, and fit into Medium"
    )
    assert tiers.hard is None
    assert any("all pairs are in Medium" in warning for warning in tiers.warnings)


def test_people_who_do_not_agree_give_no_tier() -> None:
    draw = np.random.default_rng(2)
    codes = draw.integers(0, 2, (60, 5))
    codes = codes[np.array([abs(row.sum() - 2.5) < 1.5 for row in codes])]
    tiers = vote_tiers(codes, np.arange(len(codes)))
    assert (tiers.medium, tiers.hard) == (None, None)
    assert len(tiers.warnings) == 2
    assert "no Medium" in tiers.warnings[0]
    assert "no Hard" in tiers.warnings[1]


def test_ties_and_lone_votes_are_in_no_tier() -> None:
    codes = np.array([[0, 1, -1, -1], [0, -1, -1, -1], [-1, -1, -1, -1], [1, 1, 1, 1], [0, 0, 0, 0]])
    tiers = vote_tiers(codes, np.arange(5))
    assert tiers.majority.tolist() == [-1, 0, -1, 1, 0]
    assert tiers.medium is not None
    assert tiers.medium.members.tolist() == [False, False, False, True, True]
    assert np.isnan(tiers.shares[2])


def test_no_votes_at_all_are_said() -> None:
    tiers = vote_tiers(np.full((3, 4), -1), np.arange(3))
    assert (tiers.medium, tiers.hard) == (None, None)
    assert tiers.warnings == ("No pair has two votes and a majority.",)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(5, 9), min_size=4, max_size=40), st.integers(0, 1000))
def test_whatever_the_votes_a_tier_keeps_its_promise(agreeing: list[int], seed: int) -> None:
    codes = _votes(agreeing, 9, seed)
    tiers = vote_tiers(codes, np.arange(len(codes)))
    for tier, low, high in ((tiers.medium, 0.6, 1.0), (tiers.hard, 0.4, 0.6)):
        if tier is not None:
            kappa = fleiss_kappa(codes[tier.members]).value
            assert kappa is not None
            assert low < kappa <= high
            assert (tiers.shares[tier.members] >= tier.least).all()
