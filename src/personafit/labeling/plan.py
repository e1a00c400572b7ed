"""Who sees which page: planned up front, balanced, and never moved once shown.

Each page goes to as many seats as the study asks for. Seats with the fewest pages come first, then those that have seen least of
the page's person, then by a draw that depends on page, seat and seed alone. Pages added later are planned on top of what is there;
seats added later take over pages from seats that nobody has taken yet. So an assignment that a rater may have seen stays as it is.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.labeling.keying import Hashed


class SeatPage(NamedTuple):
    """A page assigned to a seat."""

    seat: int
    page: str


class PagePlace(NamedTuple):
    """A page to be planned, and whom it is about."""

    page: str
    person: str


def plan(
    pages: Sequence[PagePlace],
    seats: Sequence[int],
    overlap: int,
    seed: int,
    existing: Iterable[SeatPage] = (),
) -> list[SeatPage]:
    """Which seat is to see which page; what `existing` says is kept and counted, and not part of the result."""
    if overlap > len(seats):
        raise UserError(
            f"--overlap {overlap} needs as many raters; the plan has {len(seats)}: raise --raters."
        )
    about = {place.page: place.person for place in pages}
    load: Counter[int] = Counter()
    met: Counter[tuple[int, str]] = Counter()
    having: dict[str, set[int]] = {}
    for seat, page in existing:
        load[seat] += 1
        met[seat, about.get(page, "")] += 1
        having.setdefault(page, set()).add(seat)
    planned: list[SeatPage] = []
    for page, person in sorted(pages, key=lambda place: hash_text("plan", str(seed), place.page)):
        taken = having.setdefault(page, set())
        free = sorted(
            (seat for seat in seats if seat not in taken),
            key=lambda seat: (load[seat], met[seat, person], hash_text("seat", str(seed), page, str(seat))),
        )
        for seat in free[
            : max(0, overlap - len(taken))
        ]:  # more may have it than asked for: imported, taken in again
            planned.append(SeatPage(seat, page))
            load[seat] += 1
            met[seat, person] += 1
            taken.add(seat)
    return planned


def in_order(pages: Iterable[str], rater: str, seed: int, hashed: Hashed = hash_text) -> list[str]:
    """A rater's pages in the order they are shown."""
    return sorted(pages, key=lambda page: hashed("item", str(seed), page, rater))
