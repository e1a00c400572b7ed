"""What a researcher does to a study and its raters: open and close, warn, pause, exclude, take in again, erase.

Everything can be taken back except erasing, and everything is noted in the trail. Erasing a participant, or a person whom pages of
studies are about, deletes rows and does not mark them. What stays is a line in the trail that says that somebody was erased, when, and
how many rows went; and of a participant an empty seat without name or pseudonym, so that nothing leads back from an answer given
elsewhere.
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
"""What is said after erasing where the store could not be compacted."""


def find_seat(studies: Studies, study: str, rater: str) -> Seat:
    """A rater by pseudonym."""
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
    """Show a rater a message on every page; an empty one takes it away."""
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
    """Let a rater answer nothing for the time being; what they answered counts."""
    _present(seat)
    if seat.state is RaterState.EXCLUDED:
        raise UserError(f"{seat.code} is excluded, so there is nothing to pause.")
    _change(studies, seat, "paused", RaterState.PAUSED, reason)


def exclude(studies: Studies, seat: Seat, reason: str) -> None:
    """Leave a rater's answers out of everything; nothing is deleted, and `resume` takes them in again."""
    _present(seat)
    if not reason.strip():
        raise UserError("Say why: an exclusion has a reason, and it stands in the trail.")
    _change(studies, seat, "excluded", RaterState.EXCLUDED, reason)


def resume(studies: Studies, seat: Seat) -> None:
    """Let a paused or excluded rater go on, with all they have answered."""
    _present(seat)
    if seat.state not in (RaterState.PAUSED, RaterState.EXCLUDED):
        raise UserError(f"{seat.code} is {seat.state}; only a paused or excluded rater is taken in again.")
    back = RaterState.DONE if seat.finished else RaterState.ACTIVE
    if seat.state is RaterState.PAUSED:
        _change(studies, seat, "resumed", back, "")
        return
    # Who was out by the comprehension check takes it anew.
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
    """Erase a participant; returns how many rows went, by what they were, and whether their bytes are gone too.

    Raises `UserError` when nobody is there.
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
    # A participant who chatted is also a person whose dialogues stand in the store, perhaps judged by models.
    if (gone := studies.store.forget(seat.code)) is None:
        return Forgotten(counts, remains=free_bytes(studies.engine))
    counts = {name: counts.get(name, 0) + gone.counts.get(name, 0) for name in {**counts, **gone.counts}}
    return Forgotten(counts, remains=gone.remains)


def forget_in_studies(connection: Connection, person: str) -> Counter[str]:
    """Remove the pages of all studies that are about a person, with every answer to them; returns rows by table."""
    counts = Counter[str]()
    pages = connection.execute(select(t.study_pages).where(t.study_pages.c.person == person)).all()
    for page in pages:
        body = orjson.loads(page.body)
        # What is missing from a conversation is asked about the conversation, on practice pages too.
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
    """Of what was done to the seat only that it was done stays: reasons and messages speak of the person."""
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
    """Number the pages of each seat without gaps again: raters go through them by number."""
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
