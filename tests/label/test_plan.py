"""The plan: every page to as many raters as asked, evenly, and never moved once somebody may have seen it."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from personafit import UserError
from personafit.label.planning import SeatPage, in_order, plan
from personafit.label.records import Arrangement, Page


def _pages(count: int, people: int) -> dict[str, str]:
    return {f"p{number}": f"person-{number % people}" for number in range(count)}


@given(st.integers(1, 60), st.integers(1, 6), st.integers(1, 9), st.integers(0, 8), st.integers(0, 3))
def test_every_page_has_its_raters_and_the_load_is_even(
    count: int, people: int, overlap: int, more: int, seed: int
) -> None:
    seats = list(range(overlap + more))
    planned = plan(_pages(count, people), seats, overlap, seed)
    assert len(planned) == len(set(planned)) == count * overlap
    assert set(Counter(page for _, page in planned).values()) == {overlap}
    load = Counter(dict.fromkeys(seats, 0))
    load.update(seat for seat, _ in planned)
    assert max(load.values()) - min(load.values()) <= 1


def test_people_are_spread_over_raters() -> None:
    planned = plan(_pages(60, 6), list(range(6)), 2, 0)
    about = _pages(60, 6)
    met = Counter((seat, about[page]) for seat, page in planned)
    assert set(met) == {(seat, f"person-{person}") for seat in range(6) for person in range(6)}
    assert max(met.values()) <= 6, "about 3.3 pages of each person for each rater, and never twice as many"


def test_pages_added_later_move_nothing() -> None:
    first = plan(_pages(20, 4), list(range(5)), 3, 7)
    later = plan(_pages(30, 4), list(range(5)), 3, 7, first)
    assert not set(first) & set(later)
    assert set(Counter(page for _, page in [*first, *later]).values()) == {3}
    load = Counter(seat for seat, _ in [*first, *later])
    assert max(load.values()) - min(load.values()) <= 1


def test_raters_added_later_get_what_nobody_had_taken() -> None:
    first = plan(_pages(20, 4), list(range(3)), 3, 7)
    kept = [one for one in first if one.seat == 0]  # seats 1 and 2 were free, and their plan was taken back
    later = plan(_pages(20, 4), list(range(6)), 3, 7, kept)
    assert all(one.seat != 0 or one in kept for one in later)
    assert {one.seat for one in later} == {1, 2, 3, 4, 5}


def test_more_overlap_than_raters_is_said() -> None:
    with pytest.raises(UserError, match="--overlap 4 needs as many raters; the plan has 3"):
        plan(_pages(2, 1), [0, 1, 2], 4, 0)


def test_orders_depend_on_page_rater_and_seed_alone() -> None:
    page = Page(id="x", person="p", items=["x"], content={}, sides=2, places=5)
    drawn = [Arrangement.drawn(page, f"rater-{number}", 0) for number in range(400)]
    assert drawn == [Arrangement.drawn(page, f"rater-{number}", 0) for number in range(400)]
    first = Counter(one.order for one in drawn)
    assert set(first) == {"01", "10"}
    assert 150 < first["01"] < 250
    assert all(sorted(one.places) == [0, 1, 2, 3, 4] for one in drawn)
    assert in_order(["a", "b", "c"], "r", 0) == in_order(["c", "b", "a"], "r", 0)
    assert len({tuple(in_order("abcdef", f"r{n}", 0)) for n in range(50)}) > 30


def test_existing_counts_towards_overlap() -> None:
    existing = [SeatPage(0, "p0"), SeatPage(1, "p0")]
    assert plan(_pages(1, 1), [0, 1, 2], 2, 0, existing) == []


def test_a_page_with_more_raters_than_asked_for_gets_no_further_ones() -> None:
    existing = [SeatPage(seat, "p0") for seat in (0, 1, 2)]
    assert plan(_pages(1, 1), [0, 1, 2, 3, 4, 5, 6], 2, 0, existing) == []
