"""How a rater comes in: invitation, consent, comprehension check. And how they leave: with thanks and a code."""

import secrets
import time
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from personafit.labeling.access import SESSION_SECONDS, Invitation, same
from personafit.labeling.places import must_check
from personafit.labeling.records import RaterState
from personafit.labeling.studies import SIGNED, VISIT, HeldSeat, Seat, Studies, Study
from personafit.labeling.texts import QUIZZES, text
from personafit.labeling.web.rendering import PageRenderer
from personafit.labeling.web.sessions import (
    RATER_COOKIE,
    AccessDep,
    NotAllowed,
    RaterDep,
    RenderDep,
    StudiesDep,
    checked,
    set_cookie,
    taking_part,
)
from personafit.store.records import storable

router = APIRouter(default_response_class=HTMLResponse)

EXTERNAL = (
    "PROLIFIC_PID",
    "participant",
)  # names of the address's parameters that say who somebody is elsewhere
PROLIFIC = "PROLIFIC_PID"
PROLIFIC_ADDRESS = "https://app.prolific.com/submissions/complete?cc={code}"
KEPT = 200  # characters of a parameter
ATTEMPTS = 2
HELD = (
    "Somebody takes part under this id already. If it is you, please go on in the browser in which you began, or open your own "
    "link from its list of pages; the researcher can send it to you, too."
)


def _external(request: Request) -> str | None:
    for name in EXTERNAL:
        if value := request.query_params.get(name):
            return storable(value[:KEPT])
    return None


def guidelines(studies: Studies, study: Study, language: str) -> str:
    """What raters of a study are told."""
    return study.config.guidelines or studies.form(study.name).guidelines[language]


@router.get("/")
def home(request: Request, access: AccessDep, render: RenderDep) -> Response:
    """What this is, and where to go."""
    title = text(render.language(request), "home")
    return render.page(request, "home.html", title=title, ready=access.has_password())


@router.get("/join/{token}")
def invitation(
    request: Request, token: str, access: AccessDep, studies: StudiesDep, render: RenderDep
) -> Response:
    """The consent page, or straight on for who has agreed before."""
    invited = _invited(access, token)
    study = studies.study(invited.study)
    _refuse_unsigned(study, invited)
    held = _held(request, access, studies, study, invited)
    if held is not None:
        seat = studies.seat(study.name, held)
        if seat is not None and seat.state is not RaterState.FREE:
            return _enter(request, access, study.name, held)
    return render.page(
        request,
        "consent.html",
        language=study.config.language,
        title=study.title,
        study=study,
        consent=study.config.consent,
        guidelines=guidelines(studies, study, render.language(request, study.config.language)),
        action=f"/join/{token}?{request.url.query}",
        csrf=access.anonymous_csrf(token),
        visit=secrets.token_urlsafe(12),
    )


@router.post("/join/{token}")
def consent(
    request: Request,
    token: str,
    access: AccessDep,
    studies: StudiesDep,
    csrf: Annotated[str, Form()],
    agree: Annotated[str, Form()],
    visit: Annotated[str, Form(max_length=50)] = "",
) -> Response:
    """Take a seat after consent was given; a form that is sent twice takes one, and so do two tabs of one browser."""
    invited = _invited(access, token)
    if not same(access.anonymous_csrf(token), csrf):
        raise NotAllowed(403, "This page is out of date; please reload it.")
    if agree != "yes":
        raise NotAllowed(400, "Nobody takes part without having agreed.")
    study = studies.study(invited.study)
    if study.state != "open":
        raise NotAllowed(403, "This study is not open at the moment.")
    _refuse_unsigned(study, invited)
    if invited.seat is None and (held := _held(request, access, studies, study, invited)) is not None:
        return _enter(request, access, study.name, held)
    visit = storable(visit)
    progress: dict[str, Any] = {"consent": True, "prolific": bool(request.query_params.get(PROLIFIC))}
    if invited.participant is not None:
        progress[SIGNED] = True
    elif visit:
        progress[VISIT] = visit
    who = (
        invited.participant
        or _external(request)
        or (f"visit:{visit}" if visit and invited.seat is None else None)
    )
    try:
        seat = studies.take(study.name, invited.seat, who, progress)
    except HeldSeat:
        raise NotAllowed(409, HELD) from None
    if seat is None:
        raise NotAllowed(409, "All places in this study are taken. Thank you for your interest.")
    return _enter(request, access, study.name, seat.seat)


@router.get("/check")
def check(request: Request, session: RaterDep, studies: StudiesDep, render: RenderDep) -> Response:
    """The comprehension check."""
    study, seat = taking_part(studies, session)
    if not must_check(study.config, seat):
        return RedirectResponse("/rate", status_code=303)
    return _check_page(request, render, studies, study, session.csrf, seat.progress)


@router.post("/check")
async def checked_answers(
    request: Request, session: RaterDep, studies: StudiesDep, render: RenderDep
) -> Response:
    """Read the answers to the check: two attempts, then it is over. A form that is sent twice is one attempt."""
    form = await request.form()
    checked(session, str(form.get("csrf", "")))
    study, seat = taking_part(studies, session)
    if not must_check(study.config, seat):
        return RedirectResponse("/rate", status_code=303)
    before = int(seat.progress.get("attempts", 0))
    if str(form.get("attempt", before)) != str(before):
        return _check_page(request, render, studies, study, session.csrf, seat.progress)
    wrong = [
        number
        for number, question in enumerate(_quiz(study, render.language(request, study.config.language)))
        if str(form.get(f"q{number}", "")) != str(question["right"])
    ]
    progress = seat.progress | {"attempts": before + 1, "passed": not wrong, "wrong": wrong}
    if not wrong:
        studies.update_seat(study.name, seat.seat, seat.code, "passed the check", progress=progress)
        return RedirectResponse("/rate", status_code=303)
    if before + 1 >= ATTEMPTS:
        studies.update_seat(
            study.name,
            seat.seat,
            seat.code,
            "failed the check",
            progress=progress,
            state=RaterState.EXCLUDED,
            reason="comprehension check",
        )
        raise NotAllowed(
            403, "The answers to the check were not right twice, so your part ends here. Thank you."
        )
    studies.update_seat(study.name, seat.seat, seat.code, "tried the check", progress=progress)
    return _check_page(request, render, studies, study, session.csrf, progress)


@router.get("/done")
def done(request: Request, session: RaterDep, studies: StudiesDep, render: RenderDep) -> Response:
    """Thanks, and the completion code once everything is answered, whatever became of the study meanwhile."""
    study, seat = taking_part(studies, session, ended=True)
    left = sum(one.done is None for one in studies.assigned(study.name, seat.seat))
    if left:
        return RedirectResponse("/rate", status_code=303)
    if seat.finished is None:
        studies.update_seat(
            study.name, seat.seat, seat.code, "finished", finished=time.time(), state=RaterState.DONE
        )
    return render.page(
        request,
        "done.html",
        language=study.config.language,
        title=study.title,
        code=200,
        completion=study.config.completion_code,
        leave=_completion_address(study, seat),
    )


def _check_page(
    request: Request,
    render: PageRenderer,
    studies: Studies,
    study: Study,
    csrf: str,
    progress: dict[str, Any],
) -> Response:
    language = render.language(request, study.config.language)
    return render.page(
        request,
        "check.html",
        language=study.config.language,
        title=study.title,
        quiz=_quiz(study, language),
        guidelines=guidelines(studies, study, language),
        wrong=progress.get("wrong", []),
        attempt=progress.get("attempts", 0),
        attempts_left=ATTEMPTS - int(progress.get("attempts", 0)),
        csrf=csrf,
    )


def _quiz(study: Study, language: str) -> list[dict[str, Any]]:
    return study.config.quiz or QUIZZES[language].get(study.form, QUIZZES[language]["question"])


def _completion_address(study: Study, seat: Seat) -> str:
    """Where to go with the code: the study's own address, or Prolific's for who came from there."""
    if study.config.completion_url or not (study.config.completion_code and seat.progress.get("prolific")):
        return study.config.completion_url
    return PROLIFIC_ADDRESS.format(code=quote(study.config.completion_code, safe=""))


def _invited(access: AccessDep, token: str) -> Invitation:
    invited = access.invited(token)
    if invited is None:
        raise NotAllowed(404, "This link is not valid; please check that you copied all of it.")
    return invited


def _refuse_unsigned(study: Study, invited: Invitation) -> None:
    if study.config.signed_ids and invited.seat is None and invited.participant is None:
        raise NotAllowed(403, "This study takes links that were made for one participant; please open yours.")


def _held(
    request: Request, access: AccessDep, studies: Studies, study: Study, invited: Invitation
) -> int | None:
    """The seat that is this visitor's already: the one the link was made for, or the one of this browser.

    A browser's seat is not theirs whose link says that somebody else sits there now.
    """
    if invited.seat is not None:
        return invited.seat
    if invited.participant is not None:
        mine = (
            seat.seat
            for seat in studies.seats(study.name)
            if seat.external == invited.participant and seat.progress.get(SIGNED)
        )
        return next(mine, None)
    session = access.rater(request.cookies.get(RATER_COOKIE))
    if session is None or session.study != study.name:
        return None
    seat, who = studies.seat(study.name, session.seat), _external(request)
    if seat is None or seat.state is RaterState.ERASED or who not in (None, seat.external):
        return None
    return session.seat


def _enter(request: Request, access: AccessDep, study: str, seat: int) -> Response:
    response = RedirectResponse("/check", status_code=303)
    held = request.cookies.get(RATER_COOKIE)
    session = access.rater(held)
    if held is None or session is None or (session.study, session.seat) != (study, seat):
        held = access.open_session(study, seat)  # otherwise pages open in other tabs go on with theirs
    set_cookie(response, request, RATER_COOKIE, held, SESSION_SECONDS)
    return response
