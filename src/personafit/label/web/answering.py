"""The route that receives every answer: it is validated, stored, and only then acknowledged."""

from typing import Annotated, Any

from fastapi import APIRouter, Body
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from pydantic import Field as Described

from personafit.label.answers import CANNOT_TELL, GONE, UNDONE, NotStored
from personafit.label.chats import Chat, has_ended
from personafit.label.forms import LabelValue
from personafit.label.forms.questions import ChatForm
from personafit.label.places import FLAG, PageSlot, Places, Shape
from personafit.label.records import Field, Role
from personafit.label.texts import text
from personafit.label.web.sessions import (
    CHECK_FIRST,
    NO_PAGE,
    NotAllowed,
    PageRenderer,
    RaterVisit,
    ScriptDep,
    page_at,
)
from personafit.label.writing import Writer

LONGEST_TEXT = 20_000
router = APIRouter()


class SentAnswer(BaseModel):
    """One answer as the browser sends it."""

    model_config = ConfigDict(extra="forbid")

    id: str = Described(
        pattern=r"^[A-Za-z0-9-]{8,64}$",
        description="Id made by the browser; an answer sent twice is stored once.",
    )
    page: int = Described(ge=0, lt=2**31, description="Position of the page among the rater's pages.")
    field: str = Described(max_length=100, description="Code of the question on the page.")
    value: str | None = Described(None, max_length=LONGEST_TEXT, description="The option chosen, or a text.")
    why: str | None = Described(None, description="Why there is no answer: 'cannot tell' or 'undone'.")
    note: str | None = Described(None, max_length=LONGEST_TEXT)
    key: str | None = Described(None, max_length=64, description="Key of the page, as the server sent it.")
    client_time: float = Described(description="The browser's clock, seconds since 1970.")
    seconds: float = Described(0.0, ge=0, le=86_400, description="Seconds that the page was shown.")


@router.post("/api/answers", responses={403: {}, 409: {}, 503: {}})
async def answer(sent: Annotated[SentAnswer, Body()], visit: ScriptDep) -> JSONResponse:
    """Store one answer. The reply comes when it is on disk."""
    state, session = visit.request.app.state, visit.session
    places: Places = state.places
    place = _place(places, visit, sent)
    if not places.checked(session.study, session.seat):
        raise NotAllowed(403, CHECK_FIRST)
    shape = place.shape
    field = shape.fields.get(sent.field)
    if field is None:
        raise NotAllowed(422, f"There is no field '{sent.field}' on this page.")
    if isinstance(shape.form, ChatForm) and field.required:
        await run_in_threadpool(_check_ended, visit, sent.page)
    answered, detail = _read(sent, shape, field)
    writer: Writer = state.writer
    render: PageRenderer = state.render
    try:
        saved = await writer.save(place.answer(sent.id, field, answered, detail, sent.seconds))
    except NotStored as error:
        if error.code == 404:
            places.refresh()
        language = render.language(visit.request, shape.config.language)
        return JSONResponse({"error": text(language, error.sentence)}, error.code)
    body: dict[str, Any] = {"id": saved.id, "generation": saved.generation, "done": saved.done}
    unread = field.kind == "written" and sent.value and answered is None
    if unread or (shape.page.role is Role.PRACTICE and answered is not None and field.required):
        language = render.language(visit.request, shape.config.language)
        body["feedback"] = _feedback(shape, field, answered, language)
    return JSONResponse(body)


def _place(places: Places, visit: RaterVisit, sent: SentAnswer) -> PageSlot:
    """Return the page at the sent position; raise `NotAllowed` if the browser showed another page there."""
    for _ in range(2):
        place = places.at(visit.session.study, visit.session.seat, sent.page)
        if place is None:
            raise NotAllowed(404, NO_PAGE)
        if sent.key is None or sent.key in place.keys:
            return place
        places.refresh()
    raise NotAllowed(404, GONE)


def _read(sent: SentAnswer, shape: Shape, field: Field) -> tuple[LabelValue | None, dict[str, Any]]:
    """Return the label of an answer, if it has one, and the details stored with it."""
    detail: dict[str, Any] = {"client_time": sent.client_time}
    if sent.note:
        detail["note"] = sent.note
    if sent.why is not None:
        if sent.why not in (CANNOT_TELL, UNDONE):
            raise NotAllowed(422, f"'{sent.why}' is no reason for having no answer.")
        return None, detail | {"why": sent.why}
    if sent.value is None:
        raise NotAllowed(422, "An answer has a value, or a reason for having none.")
    if field.kind == "text":
        # An emptied text box takes the answer back.
        return None, detail | ({"text": sent.value} if sent.value.strip() else {"why": UNDONE})
    if field.kind == "written":
        # A text that cannot be parsed is kept but does not count: texts are sent while being typed, so it may be incomplete.
        said = shape.form.answered(shape.page, shape.arrangement, field, sent.value)
        return said, detail | {"text": sent.value} | ({} if said is not None else {"why": UNDONE})
    if not any(option.value == sent.value for option in field.options):
        raise NotAllowed(422, f"'{sent.value}' is no option of '{sent.field}'.")
    if field.question == FLAG:
        return LabelValue(sent.value, None), detail
    return shape.form.answered(shape.page, shape.arrangement, field, sent.value), detail


def _check_ended(visit: RaterVisit, position: int) -> None:
    study, seat = visit.taking_part()
    assigned = page_at(visit.studies.assigned(study.name, seat.seat), position)
    if not has_ended(Chat(visit.studies.store, study, seat, assigned).rows()):
        raise NotAllowed(409, "A chat is rated when it has ended.")


def _feedback(shape: Shape, field: Field, answered: LabelValue | None, language: str) -> dict[str, Any]:
    """Return the feedback on a practice answer, or on one that cannot be parsed."""
    if answered is None:
        return {"unread": True, "right": False, "said": text(language, "unread")}
    form, page = shape.form, shape.page
    right, why = form.right(page, field), text(language, form.why(page, field))
    if right is None or answered.label == right:
        return {"right": True, "said": text(language, "right"), "why": why}
    labels = form.labels(page, shape.arrangement, field)
    shown = next((one for one in field.options if labels[one.value] == right), None)
    answer = right if shown is None else shown.text if shown.plain else text(language, shown.text)
    said = text(language, "not.right", answer=answer)
    return {"right": False, "said": said, "why": why}
