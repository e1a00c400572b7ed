"""The rows of a study: pages, seats, the assignment of pages to seats, and the audit trail.

Pages are assigned to seats in advance, balanced, and never reassigned once shown. Each page goes to `overlap` seats. Seats with the fewest
pages come first, then those with the fewest pages about the same person, then a draw that depends only on page, seat and seed. Seats added
later take over pages from seats that are still free and from excluded raters, so an assignment that a rater may have seen does not change.
"""

import hmac
import secrets
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

import orjson
from sqlalchemy import ColumnElement, Connection, delete, exists, insert, select, update

from personafit._errors import UserError
from personafit._hashing import KEY_LENGTH, hash_text
from personafit.label.records import Arrangement, Hashed, Page, RaterState, Role, StudyConfig
from personafit.store import tables as t
from personafit.store.inserting import insert_new

IMPORTED = "imported"
"""Key in a seat's progress that marks a rater whose votes were imported."""


def add_pages(connection: Connection, name: str, pages: Iterable[Page]) -> int:
    """Add pages to a study; return how many."""
    rows = [
        {
            "study": name,
            "id": page.id,
            "position": position,
            "role": page.role,
            "person": page.person,
            "body": page.model_dump_json(),
        }
        for position, page in enumerate(pages)
    ]
    if rows:
        connection.execute(insert(t.study_pages), rows)
    return len(rows)


def add_seats(connection: Connection, name: str, seats: Iterable[int], config: StudyConfig) -> None:
    """Add free seats, each with a pseudonym.

    The pseudonyms of people are random, so that they cannot be guessed. Those of simulated raters are derived from the study's name and
    seed: orders and tastes are drawn from them, so a study that is made again gets the same answers.
    """
    rows = []
    for seat in seats:
        drawn = hash_text("simulated", name, str(config.seed), str(seat))[:8]
        code = f"r-{drawn if config.simulated else secrets.token_hex(4)}"
        about = {"study": name, "seat": seat, "rater": hash_text("human", name, code), "code": code}
        rows.append(about | {"state": RaterState.FREE, "progress": "{}"})
    connection.execute(insert(t.study_raters), rows)


def release_free(connection: Connection, name: str) -> None:
    """Delete the assignments of free seats, so that they can be planned again over more seats."""
    plan, raters = t.study_plan.c, t.study_raters.c
    free = select(raters.seat).where(raters.study == name, raters.state == RaterState.FREE)
    connection.execute(delete(t.study_plan).where(plan.study == name, plan.seat.in_(free)))


def plan_pages(connection: Connection, name: str, config: StudyConfig) -> None:
    """Assign the pages that are not yet assigned; raters who had finished and get new pages are called back.

    Raters with imported votes count where they voted but are assigned nothing, since nobody would answer it.
    """
    page, rater, planned = t.study_pages.c, t.study_raters.c, t.study_plan.c
    bodies = select(page.body).where(page.study == name).order_by(page.position)
    pages = [Page.model_validate_json(body) for body in connection.execute(bodies).scalars()]
    away = (RaterState.ERASED, RaterState.EXCLUDED)
    present = connection.execute(
        select(rater.seat, rater.rater, rater.progress).where(rater.study == name, rater.state.not_in(away))
    ).all()
    voting = {row.seat for row in present}
    raters = {row.seat: row.rater for row in present if not orjson.loads(row.progress).get(IMPORTED)}
    query = select(planned.seat, planned.page, planned.position).where(planned.study == name)
    rows = connection.execute(query.order_by(planned.position)).all()
    # Pages of excluded raters go to other seats.
    existing = [SeatPage(row.seat, row.page) for row in rows if row.seat in voting]
    last = {row.seat: row.position for row in rows}
    counted = {one.id: one.person for one in pages if one.role is Role.ITEM}
    new = plan(counted, sorted(raters), config.overlap, config.seed, existing)
    everyone = [SeatPage(seat, one.id) for seat in raters for one in pages if one.role is not Role.ITEM]
    seen, by_id = set(existing), {one.id: one for one in pages}
    by_seat: dict[int, list[str]] = {}
    for seat, id in (*new, *(one for one in everyone if one not in seen)):
        by_seat.setdefault(seat, []).append(id)
    hashed = keyed_with(store_secret(connection)) if config.keyed else hash_text
    added: list[dict[str, Any]] = []
    for seat, ids in by_seat.items():
        order = in_order(ids, raters[seat], config.seed, hashed)
        order.sort(key=lambda id: by_id[id].role is not Role.PRACTICE)  # practice comes first
        for position, id in enumerate(order, last.get(seat, -1) + 1):
            arrangement = Arrangement.drawn(by_id[id], raters[seat], config.seed, hashed)
            where = {"study": name, "seat": seat, "position": position, "page": id}
            added.append(where | {"arrangement": arrangement.model_dump_json()})
    if added:
        connection.execute(insert(t.study_plan), added)
        _call_back(connection, name, sorted(by_seat))


def has_items() -> ColumnElement[bool]:
    """Return the SQL condition that a seat has pages that count; with more seats than work, some have none."""
    plan, pages, raters = t.study_plan.c, t.study_pages.c, t.study_raters.c
    same = (pages.study == plan.study, pages.id == plan.page, pages.role == Role.ITEM)
    return exists().where(plan.study == raters.study, plan.seat == raters.seat, *same)


def _call_back(connection: Connection, name: str, seats: Sequence[int]) -> None:
    """Reopen seats of raters who had finished, so that their links open the new pages."""
    raters = t.study_raters
    finished = (raters.c.study == name, raters.c.state == RaterState.DONE, raters.c.seat.in_(seats))
    seated = select(raters.c.seat).where(*finished).order_by(raters.c.seat)
    for seat in connection.execute(seated).scalars().all():
        mine = (raters.c.study == name, raters.c.seat == seat)
        connection.execute(update(raters).where(*mine).values(state=RaterState.ACTIVE, finished=None))
        note(connection, name, "researcher", "called back", {"seat": seat})


def note(connection: Connection, study: str, who: str, what: str, detail: dict[str, Any] | None) -> None:
    """Add an event to the study's audit trail."""
    body = None if detail is None else orjson.dumps(detail).decode()
    connection.execute(
        insert(t.study_events).values(study=study, at=time.time(), who=who, what=what, detail=body)
    )


class SeatPage(NamedTuple):
    """A page assigned to a seat."""

    seat: int
    page: str


def plan(
    pages: Mapping[str, str],
    seats: Sequence[int],
    overlap: int,
    seed: int,
    existing: Iterable[SeatPage] = (),
) -> list[SeatPage]:
    """Assign pages (id to person) to seats; assignments in `existing` are kept and counted, but not returned."""
    if overlap > len(seats):
        raise UserError(
            f"--overlap {overlap} needs as many raters; the plan has {len(seats)}: raise --raters."
        )
    load: Counter[int] = Counter()
    met: Counter[tuple[int, str]] = Counter()
    having: dict[str, set[int]] = {}
    for seat, page in existing:
        load[seat] += 1
        met[seat, pages.get(page, "")] += 1
        having.setdefault(page, set()).add(seat)
    planned: list[SeatPage] = []
    for page in sorted(pages, key=lambda page: hash_text("plan", str(seed), page)):
        person, taken = pages[page], having.setdefault(page, set())
        free = sorted(
            (seat for seat in seats if seat not in taken),
            key=lambda seat: (load[seat], met[seat, person], hash_text("seat", str(seed), page, str(seat))),
        )
        missing = max(0, overlap - len(taken))  # imported or re-included raters may exceed it
        for seat in free[:missing]:
            planned.append(SeatPage(seat, page))
            load[seat] += 1
            met[seat, person] += 1
            taken.add(seat)
    return planned


def in_order(pages: Iterable[str], rater: str, seed: int, hashed: Hashed = hash_text) -> list[str]:
    """Return a rater's pages in the order shown."""
    return sorted(pages, key=lambda page: hashed("item", str(seed), page, rater))


# -- the secret a store signs with, and hashes keyed with it -------------------------------------------------------------
# The unkeyed hash is public, and so are the ids of a public benchmark: from both, a rater could work out which answer
# stands under which letter.


def kept(connection: Connection, name: str, fresh: str) -> str:
    """Return the stored value of a setting; store `fresh` first if there is none."""
    connection.execute(insert_new(t.label_settings, connection.dialect).values(name=name, value=fresh))
    return str(
        connection.execute(
            select(t.label_settings.c.value).where(t.label_settings.c.name == name)
        ).scalar_one()
    )


def store_secret(connection: Connection) -> str:
    """Return the secret of a store, generated on first use."""
    return kept(connection, "secret", secrets.token_urlsafe(48))


def keyed_with(secret: str) -> Hashed:
    """Return `hash_text` keyed with a secret."""
    return partial(_keyed_hash, secret.encode())


def _keyed_hash(secret: bytes, *parts: str) -> str:
    return hmac.new(secret, f"keyed:{hash_text(*parts)}".encode(), sha256).hexdigest()[:KEY_LENGTH]
