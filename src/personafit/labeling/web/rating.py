"""Rating: one page at a time, an answer stored the moment it is given."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict
from pydantic import Field as Described

from personafit.labeling.answers import (
    Given,
    job_key,
    page_key,
    standing_answers,
)
from personafit.labeling.chats import Chat, has_ended, messages_of
from personafit.labeling.forms import LabelForm
from personafit.labeling.forms.questions import ChatForm
from personafit.labeling.places import FLAG, extra_fields, must_check
from personafit.labeling.records import Arrangement, Field, Page, Role
from personafit.labeling.web.joining import guidelines
from personafit.labeling.web.sessions import (
    AccessDep,
    RaterDep,
    RaterScriptDep,
    RenderDep,
    StudiesDep,
    page_at,
    taking_part,
)

router = APIRouter()


@router.get("/rate", response_class=HTMLResponse)
def go_on(request: Request, session: RaterDep, studies: StudiesDep) -> Response:
    """To the first page that is not done."""
    study, seat = taking_part(studies, session)
    if must_check(study.config, seat):
        return _to(request, "/check")
    for assigned in studies.assigned(study.name, seat.seat):
        if assigned.done is None:
            return _to(request, f"/rate/{assigned.position}")
    return _to(request, "/done")


@router.get("/rate/{position}", response_class=HTMLResponse)
def show(
    request: Request,
    position: int,
    session: RaterDep,
    studies: StudiesDep,
    access: AccessDep,
    render: RenderDep,
) -> Response:
    """One page, whole or as the fragment that takes the place of the one before."""
    study, seat = taking_part(studies, session)
    if must_check(study.config, seat):
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
        studies.store, [job_key(study.name, page.id, field, seat.rater) for field in fields]
    )
    shown = form.shown(page, assigned.arrangement)
    if isinstance(form, ChatForm):
        rows = Chat(studies.store, study, seat, assigned).rows()
        shown |= {"begun": bool(rows), "ended": has_ended(rows), "said": messages_of(rows)}
    return render.page(
        request,
        "page.html" if _fragment(request) else "rate.html",
        language=study.config.language,
        title=study.title,
        form=form.template,
        advances=form.advances,
        position=position,
        key=page_key(page.id, seat.rater, studies.keyed),
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
        own_link=f"/join/{access.invite(study.name, seat.seat)}",
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


def _fragment(request: Request) -> bool:
    """Whether a script asks for the part of a page that it puts in place of the one before."""
    return request.headers.get("hx-request") == "true" or request.headers.get("x-prefetch") == "1"


def _to(request: Request, address: str) -> Response:
    """Go there: a script that swaps fragments is told so in a header, or it would swap in a whole page."""
    if _fragment(request):
        return Response(status_code=204, headers={"HX-Redirect": address})
    return RedirectResponse(address, status_code=303)


def _browser_value(
    form: LabelForm, page: Page, arrangement: Arrangement, field: Field, given: Given
) -> dict[str, Any]:
    """A stored answer as the page shows it again: by letter and place, never by what it means."""
    value = given.detail.get("text")
    if field.question == FLAG:
        value = field.options[0].value
    elif given.label is not None:
        labels = form.labels(page, arrangement, field)
        value = next((one for one, label in labels.items() if label == given.label), value)
    return {"value": value, "why": given.detail.get("why"), "note": given.detail.get("note")}
