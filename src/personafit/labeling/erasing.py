"""Erasing: a participant with everything they answered and said, and a person whom pages of studies are about.

Rows are deleted, not marked. What stays is a line in the trail that says that somebody was erased, when, and how many rows went; and
of a participant an empty seat without name or pseudonym, so that nothing leads back from an answer given elsewhere.
"""

import orjson
from sqlalchemy import Connection, Engine, Table, delete, select, update

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.labeling.planning import note
from personafit.labeling.records import RaterState
from personafit.labeling.studies import Seat, Studies
from personafit.store import tables as s
from personafit.store import tables as t
from personafit.store.forgetting import Forgotten, free_bytes

RESEARCHER = "researcher"


REMAIN = (
    "The rows are removed, but their bytes may remain in the store's files ({why}); they go when the next one is erased or "
    "forgotten while nobody else uses the store."
)


def erase_rater(studies: Studies, seat: Seat) -> Forgotten:
    """Erase a participant; returns how many rows went, by what they were, and whether their bytes are gone too.

    Raises `UserError` when nobody is there.
    """
    if seat.state is RaterState.ERASED:
        raise UserError(f"{seat.code} was erased before.")
    if seat.state is RaterState.FREE:
        raise UserError(f"Nobody has taken the seat {seat.code} yet, so there is nobody to erase.")
    mine = (s.study_raters.c.study == seat.study, s.study_raters.c.seat == seat.seat)
    with studies.engine.begin() as connection:
        counts = {
            "judgments": _delete(connection, t.judgments, rater=seat.rater),
            "asks": _delete(connection, t.asks, rater=seat.rater),
            "products": _delete(connection, t.products, maker=seat.rater)
            + _delete(connection, t.products, about=seat.rater),
            "raters": _delete(connection, t.raters, fingerprint=seat.rater),
            "messages": _delete(connection, s.study_chats, study=seat.study, seat=seat.seat),
            "pages": _delete(connection, s.study_plan, study=seat.study, seat=seat.seat),
            "events": _delete(connection, s.study_events, study=seat.study, who=seat.code),
        }
        _clear_details(connection, seat)
        connection.execute(
            update(s.study_raters)
            .where(*mine)
            .values(
                rater=hash_text("erased", seat.study, str(seat.seat)),
                code=f"erased-{seat.seat}",
                external=None,
                state=RaterState.ERASED,
                reason=None,
                progress="{}",
                joined=None,
                seen=None,
                finished=None,
            )
        )
        note(connection, seat.study, RESEARCHER, "erased", {"seat": seat.seat, **counts})
    # A participant who chatted is also a person whose dialogues stand in the store, perhaps judged by models.
    if (gone := studies.store.forget(seat.code)) is None:
        return Forgotten(counts, remains=free_bytes(studies.engine))
    counts = {name: counts.get(name, 0) + gone.counts.get(name, 0) for name in {**counts, **gone.counts}}
    return Forgotten(counts, remains=gone.remains)


def forget_in_studies(engine: Engine, person: str, dry_run: bool) -> dict[str, int]:
    """`forget_pages` in a transaction of its own, or what it would remove. Before the store forgets: it rewrites the files."""
    with engine.connect() as connection, connection.begin() as transaction:
        counts = forget_pages(connection, person)
        if dry_run:
            transaction.rollback()
    # The store counts answers that are still there itself.
    return {name: count for name, count in counts.items() if not dry_run or name.startswith("study_")}


def forget_pages(connection: Connection, person: str) -> dict[str, int]:
    """Remove the pages of all studies that are about a person, with every answer to them; returns rows by table."""
    pages = connection.execute(select(s.study_pages).where(s.study_pages.c.person == person)).all()
    counts = dict.fromkeys(("study_pages", "study_plan", "study_chats", "judgments", "asks"), 0)
    for page in pages:
        body = orjson.loads(page.body)
        # What is missing from a conversation is asked about the conversation, on practice pages too.
        about = {page.id, *body["items"], body["content"].get("conversation", page.id)}
        for item in sorted(about):
            counts["judgments"] += _delete(connection, t.judgments, item=item)
            counts["asks"] += _delete(connection, t.asks, item=item)
        for table in (s.study_plan, s.study_chats):
            counts[table.name] += _delete(connection, table, study=page.study, page=page.id)
        counts["study_pages"] += _delete(connection, s.study_pages, study=page.study, id=page.id)
    for study in sorted({page.study for page in pages}):
        _close_gaps(connection, study)
        gone = {"pages": sum(page.study == study for page in pages)}
        note(connection, study, RESEARCHER, "forgot a person", gone)
    return counts


def _delete(connection: Connection, table: Table, **where: str | int) -> int:
    conditions = [table.c[column] == value for column, value in where.items()]
    return connection.execute(delete(table).where(*conditions)).rowcount


def _clear_details(connection: Connection, seat: Seat) -> None:
    """Of what was done to the seat only that it was done stays: reasons and messages speak of the person."""
    events = s.study_events
    rows = connection.execute(
        select(events.c.id, events.c.detail).where(events.c.study == seat.study, events.c.detail.is_not(None))
    ).all()
    for row in rows:
        detail = orjson.loads(row.detail)
        if detail.get("seat") == seat.seat:
            cleared = orjson.dumps({"seat": seat.seat}).decode()
            connection.execute(update(events).where(events.c.id == row.id).values(detail=cleared))


def _close_gaps(connection: Connection, study: str) -> None:
    """Number the pages of each seat without gaps again: raters go through them by number."""
    plan = s.study_plan.c
    rows = connection.execute(
        select(plan.seat, plan.position).where(plan.study == study).order_by(plan.seat, plan.position)
    ).all()
    place: dict[int, int] = {}
    for seat, position in rows:
        wanted = place.get(seat, 0)
        place[seat] = wanted + 1
        if wanted != position:
            where = (plan.study == study, plan.seat == seat, plan.position == position)
            connection.execute(update(s.study_plan).where(*where).values(position=wanted))
