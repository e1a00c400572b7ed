"""Adjudicating in the browser: one disputed answer at a time, with everybody's votes, and a decision that can be changed."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from personafit.labeling.adjudicating import Dispute, decide, disputes, labels_of
from personafit.labeling.stored_page import stored_page
from personafit.labeling.web.researcher import filled, known
from personafit.labeling.web.sessions import RenderDep, ResearcherDep, StudiesDep, checked

router = APIRouter(prefix="/researcher/studies/{study}/adjudicate", default_response_class=HTMLResponse)

TAKE_BACK = ""

Key = Annotated[str, Query(max_length=200)]


@router.get("")
def show(
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


@router.post("")
def store(
    study: str,
    session: ResearcherDep,
    studies: StudiesDep,
    key: Annotated[str, Form(max_length=200)],
    label: Annotated[str, Form(max_length=200)],
    csrf: Annotated[str, Form(max_length=200)],
    why: Annotated[str, Form(max_length=2_000)] = "",
) -> Response:
    """Store a decision and go to the next; an empty label takes the decision back and stays."""
    checked(session, csrf)
    known(studies, study)
    decide(studies, study, key, label if label != TAKE_BACK else None, why)
    stay = f"?key={quote(key, safe='')}" if label == TAKE_BACK else ""
    return RedirectResponse(f"/researcher/studies/{quote(study, safe='')}/adjudicate{stay}", status_code=303)


def _place(found: list[Dispute], key: str) -> int | None:
    for place, dispute in enumerate(found):
        if dispute.key == key or (not key and dispute.decided is None):
            return place
    return None
