"""The rows a study begins with and grows by: its pages, its seats, who sees which page, and the trail of what was done.

Who sees which page is planned up front, balanced, and never moved once shown. Each page goes to as many seats as the study asks for.
Seats with the fewest pages come first, then those that have seen least of the page's person, then by a draw that depends on page, seat
and seed alone. Pages added later are planned on top of what is there; seats added later take over pages from seats that nobody has
taken yet. So an assignment that a rater may have seen stays as it is.
"""

import secrets
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, select, update

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.labeling.keying import Hashed, keyed_with, store_secret
from personafit.labeling.records import Arrangement, Page, RaterState, Role, StudyConfig
from personafit.store import tables as t

IMPORTED = "imported"
"""What a seat's progress says of a rater whose votes were made elsewhere."""


def add_pages(connection: Connection, name: str, pages: Iterable[Page], first: int) -> int:
    """Add pages to a study, numbered from `first`; returns how many."""
    rows = [
        {
            "study": name,
            "id": page.id,
            "position": position,
            "role": page.role,
            "person": page.person,
            "body": page.model_dump_json(),
        }
        for position, page in enumerate(pages, first)
    ]
    if rows:
        connection.execute(insert(t.study_pages), rows)
    return len(rows)


def add_seats(connection: Connection, name: str, seats: Iterable[int], config: StudyConfig) -> None:
    """Add seats that nobody has taken, each with a pseudonym."""
    rows = []
    for seat in seats:
        code = f"r-{_pseudonym(name, seat, config)}"
        rows.append(
            {
                "study": name,
                "seat": seat,
                "rater": hash_text("human", name, code),
                "code": code,
                "state": RaterState.FREE,
                "progress": "{}",
            }
        )
    connection.execute(insert(t.study_raters), rows)


def _pseudonym(name: str, seat: int, config: StudyConfig) -> str:
    """Drawn at random for people, whom nobody shall guess; simulated raters are the same whenever the study is made again.

    Orders and tastes are drawn from it, so that whatever simulated raters say depends on the study and its seed alone.
    """
    if config.simulated:
        return hash_text("simulated", name, str(config.seed), str(seat))[:8]
    return secrets.token_hex(4)


def release_free(connection: Connection, name: str) -> None:
    """Take the plan of seats that nobody has taken back, so that it is made anew over more seats."""
    free = select(t.study_raters.c.seat).where(
        t.study_raters.c.study == name, t.study_raters.c.state == RaterState.FREE
    )
    connection.execute(
        delete(t.study_plan).where(t.study_plan.c.study == name, t.study_plan.c.seat.in_(free))
    )


def plan_pages(connection: Connection, name: str, config: StudyConfig) -> None:
    """Say who sees which page, where that is not said yet; who had finished and gets pages is called back.

    Raters whose votes were made elsewhere count where they voted, and get nothing: nobody would come to answer it.
    """
    pages = {
        row.id: Page.model_validate_json(row.body)
        for row in connection.execute(
            select(t.study_pages.c.id, t.study_pages.c.body)
            .where(t.study_pages.c.study == name)
            .order_by(t.study_pages.c.position)
        )
    }
    present = connection.execute(
        select(t.study_raters.c.seat, t.study_raters.c.rater, t.study_raters.c.progress).where(
            t.study_raters.c.study == name,
            t.study_raters.c.state.not_in((RaterState.ERASED, RaterState.EXCLUDED)),
        )
    ).all()
    voting = {row.seat for row in present}
    raters = {row.seat: row.rater for row in present if not orjson.loads(row.progress).get(IMPORTED)}
    existing = [
        SeatPage(row.seat, row.page)
        for row in connection.execute(
            select(t.study_plan.c.seat, t.study_plan.c.page).where(t.study_plan.c.study == name)
        )
        if row.seat in voting  # whoever is excluded has left their pages to others
    ]
    counted = [PagePlace(page.id, page.person) for page in pages.values() if page.role is Role.ITEM]
    everyone = [page.id for page in pages.values() if page.role is not Role.ITEM]
    new = plan(counted, sorted(raters), config.overlap, config.seed, existing)
    seen = set(existing)
    new += [SeatPage(seat, page) for seat in raters for page in everyone if SeatPage(seat, page) not in seen]
    by_seat: dict[int, list[str]] = {}
    for seat, page in new:
        by_seat.setdefault(seat, []).append(page)
    taken = dict(
        tuple(row)
        for row in connection.execute(
            select(t.study_plan.c.seat, func.max(t.study_plan.c.position))
            .where(t.study_plan.c.study == name)
            .group_by(t.study_plan.c.seat)
        )
    )
    hashed = keyed_with(store_secret(connection)) if config.keyed else hash_text
    rows = []
    for seat, added in by_seat.items():
        rater = raters[seat]
        order = in_order(added, rater, config.seed, hashed)
        order.sort(key=lambda page: pages[page].role is not Role.PRACTICE)  # practice comes first
        for position, page in enumerate(order, taken.get(seat, -1) + 1):
            arrangement = Arrangement.drawn(pages[page], rater, config.seed, hashed)
            rows.append(
                {
                    "study": name,
                    "seat": seat,
                    "position": position,
                    "page": page,
                    "arrangement": arrangement.model_dump_json(),
                }
            )
    if rows:
        connection.execute(insert(t.study_plan), rows)
        _call_back(connection, name, sorted(by_seat))


def has_items() -> ColumnElement[bool]:
    """Whether a seat has pages that count, in a query of seats: where there are more of them than work, some have none."""
    plan, pages, raters = t.study_plan.c, t.study_pages.c, t.study_raters.c
    same = (pages.study == plan.study, pages.id == plan.page, pages.role == Role.ITEM)
    return exists().where(plan.study == raters.study, plan.seat == raters.seat, *same)


def _call_back(connection: Connection, name: str, seats: Sequence[int]) -> None:
    """Have raters who had finished go on: their links open the new pages."""
    raters = t.study_raters
    finished = (raters.c.study == name, raters.c.state == RaterState.DONE, raters.c.seat.in_(seats))
    for seat in (
        connection.execute(select(raters.c.seat).where(*finished).order_by(raters.c.seat)).scalars().all()
    ):
        mine = (raters.c.study == name, raters.c.seat == seat)
        connection.execute(update(raters).where(*mine).values(state=RaterState.ACTIVE, finished=None))
        note(connection, name, "researcher", "called back", {"seat": seat})


def note(connection: Connection, study: str, who: str, what: str, detail: dict[str, Any] | None) -> None:
    """Add a line to the trail."""
    body = None if detail is None else orjson.dumps(detail).decode()
    connection.execute(
        insert(t.study_events).values(study=study, at=time.time(), who=who, what=what, detail=body)
    )


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
