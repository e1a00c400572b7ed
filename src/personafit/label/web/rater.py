"""The rater's pages: invitation, consent, comprehension check, one page at a time to rate, and the completion page."""

import secrets
import time
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from personafit.label.access import SESSION_SECONDS, Invitation, same
from personafit.label.answers import Given, job_key, page_key, standing_answers
from personafit.label.chats import Chat, has_ended, messages_of
from personafit.label.forms import LabelForm
from personafit.label.forms.questions import ChatForm
from personafit.label.places import FLAG, extra_fields, must_check
from personafit.label.records import Arrangement, Field, Page, RaterState, Role
from personafit.label.studies import SIGNED, VISIT, HeldSeat, Seat, Study
from personafit.label.texts import QUIZZES, text
from personafit.label.web.sessions import (
    OUT_OF_DATE,
    RATER_COOKIE,
    NotAllowed,
    RaterDep,
    RaterVisit,
    Visit,
    VisitDep,
    checked,
    page_at,
    set_cookie,
)
from personafit.store.records import storable

router = APIRouter(default_response_class=HTMLResponse)

PROLIFIC = "PROLIFIC_PID"
EXTERNAL = (PROLIFIC, "participant")  # query parameters that hold an external id
PROLIFIC_ADDRESS = "https://app.prolific.com/submissions/complete?cc={code}"
KEPT = 200  # characters of an external id that are kept
ATTEMPTS = 2
HELD = (
    "Somebody is taking part under this id already. If it is you, please continue in the browser in which you began, or open your "
    "own link from its list of pages; the researcher can send it to you again."
)


def guidelines(visit: Visit, study: Study) -> str:
    """Return the guidelines for the raters of a study."""
    return visit.studies.form(study.name).told(study.config, visit.language(study))


@router.get("/")
def home(visit: VisitDep) -> Response:
    """Show what this server is, and where raters and researchers begin."""
    return visit.page("home.html", title=text(visit.language(), "home"), ready=visit.access.has_password())


@router.get("/join/{token}")
def invitation(visit: VisitDep, token: str) -> Response:
    """Show the consent page; redirect a rater who has agreed before."""
    study, invited = _invited(visit, token)
    held = _held(visit, study, invited)
    if held is not None:
        seat = visit.studies.seat(study.name, held)
        if seat is not None and seat.state is not RaterState.FREE:
            return _enter(visit, study.name, held)
    return visit.page(
        "consent.html",
        study,
        study=study,
        consent=study.config.consent,
        guidelines=guidelines(visit, study),
        action=f"/join/{token}?{visit.request.url.query}",
        csrf=visit.access.anonymous_csrf(token),
        visit=secrets.token_urlsafe(12),
    )


@router.post("/join/{token}")
def consent(
    asking: VisitDep,
    token: str,
    csrf: Annotated[str, Form()],
    agree: Annotated[str, Form()],
    visit: Annotated[str, Form(max_length=50)] = "",
) -> Response:
    """Give a seat to a rater who has agreed; a form sent twice, or from two tabs of one browser, takes one seat."""
    study, invited = _invited(asking, token)
    if not same(asking.access.anonymous_csrf(token), csrf):
        raise NotAllowed(403, OUT_OF_DATE)
    if agree != "yes":
        raise NotAllowed(400, "You can only take part if you agree.")
    if study.state != "open":
        raise NotAllowed(403, "This study is not open at the moment.")
    if invited.seat is None and (held := _held(asking, study, invited)) is not None:
        return _enter(asking, study.name, held)
    visit = storable(visit)
    progress: dict[str, Any] = {"consent": True, "prolific": bool(asking.request.query_params.get(PROLIFIC))}
    if invited.participant is not None:
        progress[SIGNED] = True
    elif visit:
        progress[VISIT] = visit
    who = invited.participant or _external(asking)
    if not who and visit and invited.seat is None:
        who = f"visit:{visit}"
    try:
        seat = asking.studies.take(study.name, invited.seat, who, progress)
    except HeldSeat:
        raise NotAllowed(409, HELD) from None
    if seat is None:
        full = "All places in this study are taken. Thank you for your interest."
        raise NotAllowed(409, text(asking.language(study), full))
    return _enter(asking, study.name, seat.seat)


@router.get("/check")
def check(visit: RaterDep) -> Response:
    """Show the comprehension check."""
    study, seat = visit.taking_part()
    if not must_check(study.config, seat):
        return RedirectResponse("/rate", status_code=303)
    return _check_page(visit, study, seat.progress)


@router.post("/check")
async def checked_answers(visit: RaterDep) -> Response:
    """Read the answers to the check. There are two attempts; a form sent twice counts as one."""
    form = await visit.request.form()
    checked(visit.session, str(form.get("csrf", "")))
    study, seat = visit.taking_part()
    if not must_check(study.config, seat):
        return RedirectResponse("/rate", status_code=303)
    before = int(seat.progress.get("attempts", 0))
    if str(form.get("attempt", before)) != str(before):
        return _check_page(visit, study, seat.progress)
    wrong = [
        number
        for number, question in enumerate(_quiz(visit, study))
        if str(form.get(f"q{number}", "")) != str(question["right"])
    ]
    progress = seat.progress | {"attempts": before + 1, "passed": not wrong, "wrong": wrong}
    over = bool(wrong) and before + 1 >= ATTEMPTS
    what = "failed the check" if over else "tried the check" if wrong else "passed the check"
    end = {"state": RaterState.EXCLUDED, "reason": "comprehension check"} if over else {}
    visit.studies.update_seat(study.name, seat.seat, seat.code, what, progress=progress, **end)
    if over:
        raise NotAllowed(
            403, "The check was not passed in two attempts, so your participation ends here. Thank you."
        )
    return _check_page(visit, study, progress) if wrong else RedirectResponse("/rate", status_code=303)


@router.get("/rate")
def go_on(visit: RaterDep) -> Response:
    """Redirect to the first page that is not done."""
    study, seat = visit.taking_part()
    if must_check(study.config, seat):
        return _to(visit.request, "/check")
    pages = visit.studies.assigned(study.name, seat.seat)
    undone = next((one.position for one in pages if one.done is None), None)
    return _to(visit.request, "/done" if undone is None else f"/rate/{undone}")


@router.get("/rate/{position}")
def show(visit: RaterDep, position: int) -> Response:
    """Show one page, whole or as the fragment that replaces the page before it."""
    request, studies = visit.request, visit.studies
    study, seat = visit.taking_part()
    if must_check(study.config, seat):
        return _to(request, "/check")
    pages = studies.assigned(study.name, seat.seat)
    assigned = page_at(pages, position)
    form, page = studies.form(study.name), studies.page(study.name, assigned.page)
    asked = form.fields(page, assigned.arrangement)
    fields = [*asked, *extra_fields(page)]
    jobs = {field.code: job_key(study.name, page.id, field, seat.rater) for field in fields}
    given = standing_answers(studies.store, list(jobs.values()))
    shown = form.shown(page, assigned.arrangement)
    if isinstance(form, ChatForm):
        rows = Chat(studies.store, study, seat, assigned).rows()
        shown |= {"begun": bool(rows), "ended": has_ended(rows), "said": messages_of(rows)}
    done = [one.done is not None for one in pages]
    return visit.page(
        "page.html" if _fragment(request) else "rate.html",
        study,
        form=form.template,
        advances=form.advances,
        heading=form.heading,
        position=position,
        key=page_key(page.id, seat.rater, studies.keyed),
        total=len(pages),
        finished=sum(done),
        done="".join("1" if one else "0" for one in done),
        warning=seat.progress.get("warning", ""),
        practice=page.role is Role.PRACTICE,
        shown=shown,
        fields=asked,
        answers={
            field.code: _browser_value(form, page, assigned.arrangement, field, one)
            for field in fields
            if (one := given.get(jobs[field.code]))
        },
        guidelines=guidelines(visit, study),
        csrf=visit.session.csrf,
        study=study.name,
        seat=seat.code,
        own_link=f"/join/{visit.access.invite(study.name, seat.seat)}",
    )


@router.get("/done")
def done(visit: RaterDep) -> Response:
    """Show the completion page and code once everything is answered, even if the study has been closed since."""
    study, seat = visit.taking_part(ended=True)
    if any(one.done is None for one in visit.studies.assigned(study.name, seat.seat)):
        return RedirectResponse("/rate", status_code=303)
    if seat.finished is None:
        end = {"finished": time.time(), "state": RaterState.DONE}
        visit.studies.update_seat(study.name, seat.seat, seat.code, "finished", **end)
    leave = _completion_address(study, seat)
    return visit.page("done.html", study, completion=study.config.completion_code, leave=leave)


def _check_page(visit: RaterVisit, study: Study, progress: dict[str, Any]) -> Response:
    attempts = int(progress.get("attempts", 0))
    return visit.page(
        "check.html",
        study,
        quiz=_quiz(visit, study),
        guidelines=guidelines(visit, study),
        wrong=progress.get("wrong", []),
        attempt=attempts,
        attempts_left=ATTEMPTS - attempts,
        csrf=visit.session.csrf,
    )


def _quiz(visit: RaterVisit, study: Study) -> list[dict[str, Any]]:
    quizzes = QUIZZES[visit.language(study)]
    return study.config.quiz or quizzes.get(study.form, quizzes["question"])


def _completion_address(study: Study, seat: Seat) -> str:
    """Return the link shown with the completion code: the study's own, or Prolific's for raters from Prolific."""
    if study.config.completion_url or not (study.config.completion_code and seat.progress.get("prolific")):
        return study.config.completion_url
    return PROLIFIC_ADDRESS.format(code=quote(study.config.completion_code, safe=""))


def _external(visit: Visit) -> str | None:
    found = [value for name in EXTERNAL if (value := visit.request.query_params.get(name))]
    return storable(found[0][:KEPT]) if found else None


def _invited(visit: Visit, token: str) -> tuple[Study, Invitation]:
    """Return the study and the invitation of a link; raise `NotAllowed` if it is invalid."""
    invited = visit.access.invited(token)
    if invited is None:
        raise NotAllowed(404, "This link is not valid; please check that you copied all of it.")
    study = visit.studies.study(invited.study)
    if study.config.signed_ids and invited.seat is None and invited.participant is None:
        raise NotAllowed(403, "This study takes links that were made for one participant; please open yours.")
    return study, invited


def _held(visit: Visit, study: Study, invited: Invitation) -> int | None:
    """Return the seat this visitor already has: the one the link was made for, or the one of this browser's session.

    The browser's seat is not used if the link carries another external id.
    """
    if invited.seat is not None:
        return invited.seat
    if invited.participant is not None:
        mine = (
            seat.seat
            for seat in visit.studies.seats(study.name)
            if seat.external == invited.participant and seat.progress.get(SIGNED)
        )
        return next(mine, None)
    session = visit.access.rater(visit.request.cookies.get(RATER_COOKIE))
    if session is None or session.study != study.name:
        return None
    seat, who = visit.studies.seat(study.name, session.seat), _external(visit)
    if seat is None or seat.state is RaterState.ERASED or who not in (None, seat.external):
        return None
    return session.seat


def _enter(visit: Visit, study: str, seat: int) -> Response:
    response = RedirectResponse("/check", status_code=303)
    held = visit.request.cookies.get(RATER_COOKIE)
    session = visit.access.rater(held)
    if held is None or session is None or (session.study, session.seat) != (study, seat):
        held = visit.access.open_session(study, seat)  # pages in other tabs keep a session of this seat
    set_cookie(response, visit.request, RATER_COOKIE, held, SESSION_SECONDS)
    return response


def _fragment(request: Request) -> bool:
    """Return whether a script requests the page as a fragment that replaces the one before."""
    return request.headers.get("hx-request") == "true" or request.headers.get("x-prefetch") == "1"


def _to(request: Request, address: str) -> Response:
    """Redirect to an address; a script that swaps fragments gets a header instead, or it would insert a whole page."""
    if _fragment(request):
        return Response(status_code=204, headers={"HX-Redirect": address})
    return RedirectResponse(address, status_code=303)


def _browser_value(
    form: LabelForm, page: Page, arrangement: Arrangement, field: Field, given: Given
) -> dict[str, Any]:
    """Return a stored answer as the browser shows it: by option value in the order shown, never by label."""
    value = given.detail.get("text")
    if field.question == FLAG:
        value = field.options[0].value
    elif given.label is not None:
        labels = form.labels(page, arrangement, field)
        value = next((one for one, label in labels.items() if label == given.label), value)
    return {"value": value, "why": given.detail.get("why"), "note": given.detail.get("note")}
