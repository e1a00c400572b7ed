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
    assert tiers.hard.kappa.low < (tiers.hard.kappa.value or 0) < (tiers.hard.kappa.high or 0)
    assert any("below both tiers" in warning for warning in tiers.warnings)


def test_coin_flips_have_no_kappa_where_they_did_not_choose() -> None:
    """The votes that chose a Hard tier of coin flips agree with a kappa of 0.55; votes that did not choose it agree by chance."""
    chosen, held_out = [], []
    for seed in range(10):
        codes = np.random.default_rng(seed).integers(0, 2, (1000, 9))
        tiers = vote_tiers(codes, np.arange(1000) % 100)
        if tiers.hard is None:
            continue
        chosen.append(fleiss_kappa(codes[tiers.hard.members]).value or 0.0)
        held_out.append(tiers.hard.kappa.value or 0.0)
        assert any("The hard tier is mostly chance" in warning for warning in tiers.warnings)
    assert len(chosen) >= 5
    assert np.mean(chosen) > 0.5
    assert abs(np.mean(held_out)) < 0.05
    assert np.abs(held_out).max() < 0.2


def test_the_kappa_of_a_tier_is_that_of_fresh_votes_or_a_little_lower() -> None:
    rng = np.random.default_rng(3)
    leaning = rng.beta(0.6, 0.6, (4000, 1))
    codes, fresh = ((rng.random((4000, votes)) < leaning).astype(np.int64) for votes in (9, 40))
    tiers = vote_tiers(codes, np.arange(4000) % 200)
    assert tiers.medium is not None
    assert tiers.hard is not None
    for tier in (tiers.medium, tiers.hard):
        again = fleiss_kappa(fresh[tier.members]).value
        assert again is not None
        assert again - 0.08 < (tier.kappa.value or 0.0) < again + 0.05
        assert tier.kappa.low is not None


def test_three_votes_a_pair_are_too_few_to_leave_two_out() -> None:
    tiers = vote_tiers(_votes([3] * 30, 3, 4), np.arange(30))
    assert tiers.medium is not None
    assert (tiers.medium.kappa.value, tiers.medium.kappa.low) == (None, None)
    assert "four votes" in (tiers.medium.kappa.note or "")


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
