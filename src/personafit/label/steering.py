"""Researcher actions on a study and its raters: open, pause and close; warn, pause, exclude, resume and erase.

Everything except erasing can be undone, and every action is recorded in the audit trail. Erasing a participant, or a person whom pages are
about, deletes rows instead of marking them. What remains is an event saying that somebody was erased, when, and how many rows were deleted;
and for a participant an empty seat without name or pseudonym, so that an exported answer cannot be traced back.
"""

from collections import Counter

import orjson
from sqlalchemy import Connection, Table, delete, select, update

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.label.planning import note
from personafit.label.records import RaterState
from personafit.label.studies import Seat, Studies
from personafit.store import tables as t
from personafit.store.forgetting import Forgotten, free_bytes
from personafit.store.records import storable

RESEARCHER = "researcher"
STATES = ("open", "paused", "closed")
LONGEST_MESSAGE = 2_000
REMAIN = (
    "The rows are removed, but their bytes may remain in the store's files ({why}); they go when the next one is erased or "
    "forgotten while nobody else uses the store."
)
"""Message shown after erasing if the store could not be compacted."""


def find_seat(studies: Studies, study: str, rater: str) -> Seat:
    """Return the seat of a rater by pseudonym."""
    studies.study(study)
    seats = studies.seats(study)
    for seat in seats:
        if seat.code == rater:
            return seat
    known = ", ".join(seat.code for seat in seats if seat.state is not RaterState.FREE) or "nobody yet"
    raise UserError(f"Nobody in {study} is called '{rater}'; there is: {known}.")


def set_state(studies: Studies, study: str, state: str) -> None:
    """Open, pause or close a study."""
    if state not in STATES:
        raise UserError(f"A study is {', '.join(STATES[:-1])} or {STATES[-1]}, not '{state}'.")
    before = studies.study(study).state
    with studies.engine.begin() as connection:
        connection.execute(update(t.studies).where(t.studies.c.name == study).values(state=state))
        note(connection, study, RESEARCHER, f"study {state}", {"before": before})


def warn(studies: Studies, seat: Seat, message: str) -> None:
    """Show a rater a message on every page; an empty message removes it."""
    message = storable(message.strip())
    if len(message) > LONGEST_MESSAGE:
        raise UserError(f"A message has at most {LONGEST_MESSAGE:,} characters.")
    _present(seat)
    progress = {key: value for key, value in seat.progress.items() if key != "warning"}
    if message:
        progress["warning"] = message
    what = "warned" if message else "warning taken back"
    studies.update_seat(seat.study, seat.seat, RESEARCHER, what, progress=progress)


def pause(studies: Studies, seat: Seat, reason: str = "") -> None:
    """Stop a rater from answering for the time being; existing answers still count."""
    _present(seat)
    if seat.state is RaterState.EXCLUDED:
        raise UserError(f"{seat.code} is excluded, so there is nothing to pause.")
    _change(studies, seat, "paused", RaterState.PAUSED, reason)


def exclude(studies: Studies, seat: Seat, reason: str) -> None:
    """Exclude a rater's answers from all results; nothing is deleted, and `resume` includes them again."""
    _present(seat)
    if not reason.strip():
        raise UserError("An exclusion needs a reason, which the audit trail keeps.")
    _change(studies, seat, "excluded", RaterState.EXCLUDED, reason)


def resume(studies: Studies, seat: Seat) -> None:
    """Let a paused or excluded rater continue, with all existing answers."""
    _present(seat)
    if seat.state not in (RaterState.PAUSED, RaterState.EXCLUDED):
        raise UserError(f"{seat.code} is {seat.state}; only a paused or excluded rater can be resumed.")
    back = RaterState.DONE if seat.finished else RaterState.ACTIVE
    if seat.state is RaterState.PAUSED:
        _change(studies, seat, "resumed", back, "")
        return
    # A rater excluded by the comprehension check takes it again.
    progress = {key: value for key, value in seat.progress.items() if key not in ("attempts", "wrong")}
    _change(studies, seat, "included again", back, "", progress=progress)


def _present(seat: Seat) -> None:
    if seat.state is RaterState.FREE:
        raise UserError(f"Nobody has taken the seat {seat.code} yet.")
    if seat.state is RaterState.ERASED:
        raise UserError(f"{seat.code} was erased.")


def _change(
    studies: Studies, seat: Seat, what: str, state: RaterState, reason: str, **values: object
) -> None:
    said = storable(reason.strip())[:LONGEST_MESSAGE] or None
    studies.update_seat(seat.study, seat.seat, RESEARCHER, what, state=state, reason=said, **values)


def erase_rater(studies: Studies, seat: Seat) -> Forgotten:
    """Erase a participant; return the number of deleted rows by kind, and whether their bytes are gone from the files.

    Raises `UserError` if the seat is free or already erased.
    """
    if seat.state is RaterState.ERASED:
        raise UserError(f"{seat.code} was erased before.")
    if seat.state is RaterState.FREE:
        raise UserError(f"Nobody has taken the seat {seat.code} yet, so there is nobody to erase.")
    mine = (t.study_raters.c.study == seat.study, t.study_raters.c.seat == seat.seat)
    with studies.engine.begin() as connection:
        counts = {
            "judgments": _delete(connection, t.judgments, rater=seat.rater),
            "asks": _delete(connection, t.asks, rater=seat.rater),
            "products": _delete(connection, t.products, maker=seat.rater)
            + _delete(connection, t.products, about=seat.rater),
            "raters": _delete(connection, t.raters, fingerprint=seat.rater),
            "messages": _delete(connection, t.study_chats, study=seat.study, seat=seat.seat),
            "pages": _delete(connection, t.study_plan, study=seat.study, seat=seat.seat),
            "events": _delete(connection, t.study_events, study=seat.study, who=seat.code),
        }
        _clear_details(connection, seat)
        connection.execute(
            update(t.study_raters)
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
    # A participant who chatted is also a person with dialogues in the store, perhaps judged by models.
    if (gone := studies.store.forget(seat.code)) is None:
        return Forgotten(counts, remains=free_bytes(studies.engine))
    counts = {name: counts.get(name, 0) + gone.counts.get(name, 0) for name in {**counts, **gone.counts}}
    return Forgotten(counts, remains=gone.remains)


def forget_in_studies(connection: Connection, person: str) -> Counter[str]:
    """Delete the pages of all studies about a person, with every answer to them; return deleted rows by table."""
    counts = Counter[str]()
    pages = connection.execute(select(t.study_pages).where(t.study_pages.c.person == person)).all()
    for page in pages:
        body = orjson.loads(page.body)
        # The question about missing statements has the conversation as its item, on practice pages too.
        about = {page.id, *body["items"], body["content"].get("conversation", page.id)}
        for item in sorted(about):
            counts["judgments"] += _delete(connection, t.judgments, item=item)
            jobs = select(t.asks.c.job).where(t.asks.c.item == item)
            counts["run_jobs"] += connection.execute(
                delete(t.run_jobs).where(t.run_jobs.c.job.in_(jobs))
            ).rowcount
            counts["asks"] += _delete(connection, t.asks, item=item)
        for table in (t.study_plan, t.study_chats):
            counts[str(table.name)] += _delete(connection, table, study=page.study, page=page.id)
        counts["study_pages"] += _delete(connection, t.study_pages, study=page.study, id=page.id)
    for study in sorted({page.study for page in pages}):
        _close_gaps(connection, study)
        gone = {"pages": sum(page.study == study for page in pages)}
        note(connection, study, RESEARCHER, "forgot a person", gone)
    return counts


def _delete(connection: Connection, table: Table, **where: str | int) -> int:
    conditions = [table.c[column] == value for column, value in where.items()]
    return connection.execute(delete(table).where(*conditions)).rowcount


def _clear_details(connection: Connection, seat: Seat) -> None:
    """Reduce the details of events about the seat to the seat number: reasons and messages describe the person."""
    events = t.study_events
    rows = connection.execute(
        select(events.c.id, events.c.detail).where(events.c.study == seat.study, events.c.detail.is_not(None))
    ).all()
    for row in rows:
        detail = orjson.loads(row.detail)
        if detail.get("seat") == seat.seat:
            cleared = orjson.dumps({"seat": seat.seat}).decode()
            connection.execute(update(events).where(events.c.id == row.id).values(detail=cleared))


def _close_gaps(connection: Connection, study: str) -> None:
    """Renumber the pages of each seat without gaps, since raters navigate by number."""
    plan = t.study_plan.c
    rows = connection.execute(
        select(plan.seat, plan.position).where(plan.study == study).order_by(plan.seat, plan.position)
    ).all()
    place: dict[int, int] = {}
    for seat, position in rows:
        wanted = place.get(seat, 0)
        place[seat] = wanted + 1
        if wanted != position:
            where = (plan.study == study, plan.seat == seat, plan.position == position)
            connection.execute(update(t.study_plan).where(*where).values(position=wanted))
