"""What the buttons of the researcher's pages do: each takes one form, checks its token, and goes back to the page.

Adjudicating has a page here too: one disputed answer at a time, with everybody's votes, and a decision that can be changed.
"""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from personafit._errors import UserError
from personafit.labeling import steering
from personafit.labeling.adjudicating import Dispute, decide, disputes, labels_of
from personafit.labeling.erasing import REMAIN, erase_rater
from personafit.labeling.studies import Seat, Studies
from personafit.labeling.votes import stored_page
from personafit.labeling.web.researcher import filled, known
from personafit.labeling.web.sessions import NotAllowed, RenderDep, ResearcherDep, StudiesDep, checked

router = APIRouter(prefix="/researcher/studies/{study}")

MOST_ADDED = 10_000
TAKE_BACK = ""

Text = Annotated[str, Form(max_length=steering.LONGEST_MESSAGE)]
Token = Annotated[str, Form(max_length=200)]
SeatNumber = Annotated[int, Path(ge=0, lt=2**31)]
Key = Annotated[str, Query(max_length=200)]
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


@router.get("/adjudicate", response_class=HTMLResponse)
def show_dispute(
    request: Request,
    study: str,
    session: ResearcherDep,
    studies: StudiesDep,
    render: RenderDep,
    key: Key = "",
) -> Response:
    """The disputed answer asked for, or the first that is not decided."""
    numbers = known(studies, study)
    found = disputes(studies, study)
    undecided = [dispute for dispute in found if dispute.decided is None]
    place = _place(found, key)
    dispute = found[place] if place is not None else None
    return filled(
        request,
        render,
        session,
        "researcher/adjudicate.html",
        numbers=numbers,
        here="adjudicate",
        dispute=dispute,
        shown=stored_page(studies.form(study), dispute.page) if dispute else {},
        labels=list(labels_of(studies, study, dispute.page, dispute.field)) if dispute else [],
        left=len(undecided),
        total=len(found),
        before=found[place - 1].key if place else None,
        after=found[place + 1].key if place is not None and place + 1 < len(found) else None,
    )


@router.post("/adjudicate", response_class=HTMLResponse)
def store_decision(
    study: str,
    session: ResearcherDep,
    studies: StudiesDep,
    key: Annotated[str, Form(max_length=200)],
    label: Annotated[str, Form(max_length=200)],
    csrf: Token,
    why: Annotated[str, Form(max_length=2_000)] = "",
) -> Response:
    """Store a decision and go to the next; an empty label takes the decision back and stays."""
    checked(session, csrf)
    known(studies, study)
    decide(studies, study, key, label if label != TAKE_BACK else None, why)
    stay = f"?key={quote(key, safe='')}" if label == TAKE_BACK else ""
    return _back(study, f"/adjudicate{stay}")


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


def _place(found: list[Dispute], key: str) -> int | None:
    for place, dispute in enumerate(found):
        if dispute.key == key or (not key and dispute.decided is None):
            return place
    return None
