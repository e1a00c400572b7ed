"""Rating: one page at a time, an answer stored the moment it is given."""

import re
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict
from pydantic import Field as Described

from personafit.labeling.access import RaterSession
from personafit.labeling.answers import (
    CANNOT_TELL,
    UNDONE,
    Answer,
    Given,
    NotStored,
    job_key,
    standing_answers,
)
from personafit.labeling.chats import Chat, has_ended, messages_of
from personafit.labeling.forms import Answered, Form
from personafit.labeling.forms.chat import ChatForm
from personafit.labeling.places import FLAG, Place, extra_fields
from personafit.labeling.records import Arrangement, Field, Page, Role
from personafit.labeling.studies import Assigned, Studies
from personafit.labeling.texts import text
from personafit.labeling.web.joining import guidelines, must_check
from personafit.labeling.web.sessions import (
    NotAllowed,
    PlacesDep,
    RaterDep,
    RaterScriptDep,
    RenderDep,
    StudiesDep,
    WriterDep,
    taking_part,
)

router = APIRouter()

LONGEST_TEXT = 20_000
_ID = re.compile(r"^[A-Za-z0-9-]{8,64}$")


class Sent(BaseModel):
    """One answer as the browser sends it."""

    model_config = ConfigDict(extra="forbid")

    id: str = Described(
        pattern=_ID.pattern, description="Made by the browser; the same answer sent twice is stored once."
    )
    page: int = Described(ge=0, lt=2**31, description="Place of the page among the rater's.")
    field: str = Described(max_length=100, description="Which question on the page.")
    value: str | None = Described(None, max_length=LONGEST_TEXT, description="The option chosen, or a text.")
    why: str | None = Described(None, description="Why there is no option: 'cannot tell' or 'undone'.")
    note: str | None = Described(None, max_length=LONGEST_TEXT)
    client_time: float = Described(description="The browser's clock, seconds since 1970.")
    seconds: float = Described(0.0, ge=0, le=86_400, description="How long the page was before the rater.")


@router.get("/rate", response_class=HTMLResponse)
def go_on(request: Request, session: RaterDep, studies: StudiesDep) -> Response:
    """To the first page that is not done."""
    study, seat = taking_part(studies, session)
    if must_check(study, seat):
        return _to(request, "/check")
    for assigned in studies.assigned(study.name, seat.seat):
        if assigned.done is None:
            return _to(request, f"/rate/{assigned.position}")
    return _to(request, "/done")


@router.get("/rate/{position}", response_class=HTMLResponse)
def show(
    request: Request, position: int, session: RaterDep, studies: StudiesDep, render: RenderDep
) -> Response:
    """One page, whole or as the fragment that takes the place of the one before."""
    study, seat = taking_part(studies, session)
    if must_check(study, seat):
        return _to(request, "/check")
    pages = studies.assigned(study.name, seat.seat)
    assigned = page_at(pages, position)
    prefetch = request.headers.get("x-prefetch") == "1"
    if not prefetch and assigned.shown is None:
        studies.mark_shown(study.name, seat.seat, position)
    form, page = studies.form(study.name), studies.page(study.name, assigned.page)
    asked = form.fields(page, assigned.arrangement)
    fields = [*asked, *extra_fields(page)]
    given = standing_answers(
        studies.engine, [job_key(study.name, page.id, field, seat.rater) for field in fields]
    )
    shown = form.shown(page, assigned.arrangement)
    if isinstance(form, ChatForm):
        rows = Chat(studies.store, study, seat, assigned).rows()
        shown |= {"begun": bool(rows), "ended": has_ended(rows), "said": messages_of(rows)}
    return render.page(
        request,
        "page.html" if _fragment(request) else "rate.html",
        language=study.config.language,
        title=study.config.title or study.name,
        form=form.name,
        advances=form.advances,
        position=position,
        total=len(pages),
        finished=sum(one.done is not None for one in pages),
        done="".join("1" if one.done is not None else "0" for one in pages),
        warning=seat.progress.get("warning", ""),
        practice=page.role is Role.PRACTICE,
        shown=shown,
        fields=asked,
        answers={
            field.code: _browser_value(form, page, assigned.arrangement, field, one)
            for field in fields
            if (one := given.get(job_key(study.name, page.id, field, seat.rater)))
        },
        guidelines=guidelines(studies, study, render.language(request, study.config.language)),
        csrf=session.csrf,
        study=study.name,
        seat=seat.code,
    )


class SentShown(BaseModel):
    """A page that came before the rater's eyes, having been fetched ahead."""

    model_config = ConfigDict(extra="forbid")

    page: int = Described(ge=0, lt=2**31, description="Place of the page among the rater's.")


@router.post("/api/shown", responses={403: {}})
def shown_now(
    sent: Annotated[SentShown, Body()], session: RaterScriptDep, studies: StudiesDep
) -> dict[str, bool]:
    """Note when a page was first shown."""
    study, seat = taking_part(studies, session)
    studies.mark_shown(study.name, seat.seat, sent.page)
    return {"noted": True}


@router.post("/api/answers", responses={403: {}, 409: {}, 503: {}})
async def answer(
    request: Request,
    sent: Annotated[Sent, Body()],
    session: RaterScriptDep,
    studies: StudiesDep,
    places: PlacesDep,
    writer: WriterDep,
    render: RenderDep,
) -> JSONResponse:
    """Store one answer. The reply comes when it is on disk."""
    place = places.at(session.study, session.seat, sent.page)
    if place is None:
        raise NotAllowed(404, "There is no such page in this study.")
    form, page, arrangement = place.form, place.page, place.arrangement
    field = place.fields.get(sent.field)
    if field is None:
        raise NotAllowed(422, f"There is no field '{sent.field}' on this page.")
    if isinstance(form, ChatForm) and field.required:
        await run_in_threadpool(_check_ended, studies, session, sent.page)
    answered = None
    detail: dict[str, Any] = {"client_time": sent.client_time}
    if sent.note:
        detail["note"] = sent.note
    if sent.why is not None:
        if sent.why not in (CANNOT_TELL, UNDONE):
            raise NotAllowed(422, f"'{sent.why}' is no reason for having no answer.")
        detail["why"] = sent.why
    elif sent.value is None:
        raise NotAllowed(422, "An answer has a value, or a reason for having none.")
    elif field.kind == "text":
        detail["text"] = sent.value
    elif sent.value not in {option.value for option in field.options}:
        raise NotAllowed(422, f"'{sent.value}' is no option of '{sent.field}'.")
    else:
        answered = (
            Answered(sent.value, None)
            if field.question == FLAG
            else form.answered(page, arrangement, field, sent.value)
        )
    try:
        saved = await writer.save(
            Answer(
                id=sent.id,
                study=session.study,
                seat=session.seat,
                rater=place.rater,
                position=sent.page,
                page=page.id,
                field=field,
                answered=answered,
                detail=detail,
                view=place.config.view,
                order=arrangement.order,
                perspective=place.config.perspective,
                seconds=sent.seconds,
                required=place.required,
                flag=job_key(session.study, page.id, place.fields[FLAG], place.rater),
            )
        )
    except NotStored as error:
        said = text(render.language(request, place.config.language), error.sentence)
        return JSONResponse({"error": said}, status_code=503 if error.again else 403)
    body: dict[str, Any] = {"id": saved.id, "generation": saved.generation, "done": saved.done}
    if page.role is Role.PRACTICE and answered is not None and field.required:
        body["feedback"] = _feedback(place, field, answered, render.language(request, place.config.language))
    return JSONResponse(body)


def _check_ended(studies: Studies, session: RaterSession, position: int) -> None:
    study, seat = taking_part(studies, session)
    assigned = page_at(studies.assigned(study.name, seat.seat), position)
    if not has_ended(Chat(studies.store, study, seat, assigned).rows()):
        raise NotAllowed(409, "A chat is rated when it has ended.")


def _feedback(place: Place, field: Field, answered: Answered, language: str) -> dict[str, Any]:
    """What is said to an answer on a practice page."""
    form, page = place.form, place.page
    right, why = form.right(page, field), text(language, form.why(page, field))
    if right is None or answered.label == right:
        return {"right": True, "said": text(language, "right"), "why": why}
    shown = next(
        option.text
        for option in field.options
        if form.answered(page, place.arrangement, field, option.value).label == right
    )
    said = text(language, "not.right", answer=text(language, shown))
    return {"right": False, "said": said, "why": why}


def _fragment(request: Request) -> bool:
    """Whether a script asks for the part of a page that it puts in place of the one before."""
    return request.headers.get("hx-request") == "true" or request.headers.get("x-prefetch") == "1"


def _to(request: Request, address: str) -> Response:
    """Go there: a script that swaps fragments is told so in a header, or it would swap in a whole page."""
    if _fragment(request):
        return Response(status_code=204, headers={"HX-Redirect": address})
    return RedirectResponse(address, status_code=303)


def page_at(pages: list[Assigned], position: int) -> Assigned:
    """The page at a position."""
    if not 0 <= position < len(pages):
        raise NotAllowed(404, "There is no such page in this study.")
    return pages[position]


def _browser_value(
    form: Form, page: Page, arrangement: Arrangement, field: Field, given: Given
) -> dict[str, Any]:
    """A stored answer as the page shows it again: by letter and place, never by what it means."""
    value = given.detail.get("text")
    for option in field.options:
        if field.question == FLAG:
            value = option.value
        elif given.label is not None:
            answered = form.answered(page, arrangement, field, option.value)
            if answered.label == given.label:
                value = option.value
    return {"value": value, "why": given.detail.get("why"), "note": given.detail.get("note")}
