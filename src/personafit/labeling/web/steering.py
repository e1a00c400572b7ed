"""What the buttons of the researcher's pages do: each takes one form, checks its token, and goes back to the page."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Path
from fastapi.responses import RedirectResponse, Response

from personafit._errors import UserError
from personafit.labeling import steering
from personafit.labeling.erasing import REMAIN, erase_rater
from personafit.labeling.studies import Seat, Studies
from personafit.labeling.web.sessions import NotAllowed, ResearcherDep, StudiesDep, checked

router = APIRouter(prefix="/researcher/studies/{study}")

MOST_ADDED = 10_000

Text = Annotated[str, Form(max_length=steering.LONGEST_MESSAGE)]
Token = Annotated[str, Form(max_length=200)]
SeatNumber = Annotated[int, Path(ge=0, lt=2**31)]
Count = Annotated[int, Form(ge=0, le=MOST_ADDED)]


@router.post("/state")
def change_state(
    study: str, session: ResearcherDep, studies: StudiesDep, csrf: Token, state: Text
) -> Response:
    """Open, pause or close the study."""
    checked(session, csrf)
    _known(studies, study)
    steering.set_state(studies, study, state)
    return _back(study)


@router.post("/more")
def add_more(
    study: str,
    session: ResearcherDep,
    studies: StudiesDep,
    csrf: Token,
    raters: Count = 0,
    items: Count = 0,
) -> Response:
    """Add seats and items."""
    checked(session, csrf)
    _known(studies, study)
    steering.extend(studies.store, study, raters, items, lambda store, name: store.run(name))
    return _back(study, "/invitations")


@router.post("/raters/{seat}/warn")
def warn(
    study: str, seat: SeatNumber, session: ResearcherDep, studies: StudiesDep, csrf: Token, message: Text = ""
) -> Response:
    """Show the rater a message, or take it away."""
    checked(session, csrf)
    steering.warn(studies, _seat(studies, study, seat), message)
    return _back(study, f"/raters/{seat}")


@router.post("/raters/{seat}/pause")
def pause(
    study: str, seat: SeatNumber, session: ResearcherDep, studies: StudiesDep, csrf: Token, reason: Text = ""
) -> Response:
    """Pause the rater."""
    checked(session, csrf)
    steering.pause(studies, _seat(studies, study, seat), reason)
    return _back(study, f"/raters/{seat}")


@router.post("/raters/{seat}/exclude")
def exclude(
    study: str, seat: SeatNumber, session: ResearcherDep, studies: StudiesDep, csrf: Token, reason: Text = ""
) -> Response:
    """Leave the rater's answers out, for a reason."""
    checked(session, csrf)
    steering.exclude(studies, _seat(studies, study, seat), reason)
    return _back(study, f"/raters/{seat}")


@router.post("/raters/{seat}/resume")
def resume(
    study: str, seat: SeatNumber, session: ResearcherDep, studies: StudiesDep, csrf: Token
) -> Response:
    """Take the rater in again."""
    checked(session, csrf)
    steering.resume(studies, _seat(studies, study, seat))
    return _back(study, f"/raters/{seat}")


@router.post("/raters/{seat}/erase")
def erase(
    study: str, seat: SeatNumber, session: ResearcherDep, studies: StudiesDep, csrf: Token, code: Text
) -> Response:
    """Erase the rater, once their code was typed."""
    checked(session, csrf)
    found = _seat(studies, study, seat)
    if code.strip() != found.code:
        raise UserError(f"Nothing was erased: type {found.code} to erase this rater.")
    done = erase_rater(studies, found)
    if done.remains is not None:
        raise UserError(REMAIN.format(why=done.remains))
    return _back(study)


def _known(studies: Studies, study: str) -> None:
    if study not in studies.names():
        raise NotAllowed(404, "There is no such study.")


def _seat(studies: Studies, study: str, seat: int) -> Seat:
    _known(studies, study)
    found = studies.seat(study, seat)
    if found is None:
        raise NotAllowed(404, "There is no such rater in this study.")
    return found


def _back(study: str, where: str = "") -> Response:
    return RedirectResponse(f"/researcher/studies/{quote(study, safe='')}{where}", status_code=303)
