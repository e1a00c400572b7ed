"""What a researcher does to a study and its raters: warn, pause, exclude, take in again, open and close, add to it.

Everything can be taken back except erasing, and everything is noted in the trail.
"""

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import update

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.labeling.making import in_one_language
from personafit.labeling.planning import note
from personafit.labeling.records import Page, RaterState
from personafit.labeling.sources import open_source
from personafit.labeling.studies import Seat, Studies
from personafit.store import RunRecord, Store
from personafit.store import tables as t
from personafit.store.records import storable

RESEARCHER = "researcher"
STATES = ("open", "paused", "closed")
LONGEST_MESSAGE = 2_000


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


def extend(
    store: Store,
    study: str,
    raters: int,
    items: int,
    find_run: Callable[[Store, str], RunRecord],
    source: str | None = None,
    data: Path | None = None,
) -> tuple[int, int]:
    """Add seats, and items from where the study's items come from; returns how many of each were added."""
    studies = Studies(store)
    standing = studies.study(study)
    pages: list[Page] = []
    if items:
        opened = open_source(store, source or standing.config.source, find_run, data)
        if opened.dataset != standing.dataset and standing.form != "chat":
            raise UserError(
                f"{study} asks about {standing.dataset}; items of {opened.dataset} are a study of their own."
            )
        held = {page.id.removeprefix("practice/") for page in studies.pages(study)}
        asked, _ = in_one_language(list(studies.form(study).pages(opened)), opened, standing.config.language)
        fresh = [page for page in asked if page.id not in held]
        # In the order of the first draw, so that a study that grew is the study that would have been made larger.
        fresh.sort(key=lambda page: hash_text("sample", str(standing.config.seed), page.id))
        pages = fresh[:items]
        if not pages:
            raise UserError(f"{study} has all items of {standing.config.source} already.")
    if not raters and not pages:
        raise UserError("Say how many raters or items to add.")
    studies.extend(study, pages, raters)
    return raters, len(pages)


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
