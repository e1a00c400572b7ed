"""The routes of a chat: agree to it, say something, have it answered, end it. Each can be sent again and happens once."""

import asyncio
from collections.abc import Iterable
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Body, Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from pydantic import Field as Described

from personafit._errors import UserError
from personafit.labeling.access import RaterSession
from personafit.labeling.chats import Chat, ChatTurn, Ended, NotNow, awaits_reply, has_ended, messages_of
from personafit.labeling.forms.questions import ChatForm
from personafit.labeling.places import must_check
from personafit.labeling.studies import Studies, Study
from personafit.labeling.texts import text
from personafit.labeling.web.guard import Buckets
from personafit.labeling.web.sessions import (
    CHECK_FIRST,
    NotAllowed,
    RaterScriptDep,
    RenderDep,
    StudiesDep,
    page_at,
    taking_part,
)
from personafit.models import Model, ModelError, make_model

router = APIRouter()
LONGEST_MESSAGE = 8_000
REPLY_RATE, REPLY_BURST = 0.2, 20.0  # calls of the model a second in the long run, and at once, for one seat
TOO_FAST = "That is more than the assistant answers so quickly; please wait {seconds} seconds and ask again."
KEY = r"[A-Za-z0-9-]{8,64}"


class ChatModels:
    """The models people may talk with: those named where the studies are served, since a store may come from anybody."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed = frozenset(allowed)
        self._open: dict[str, Model] = {}

    def named(self, spec: str) -> Model:
        """The model of a spec, opened when somebody first talks with it."""
        if spec not in self._allowed:
            raise UserError(
                f"The study names the model '{spec}', and the server was not started with --model '{spec}'."
            )
        if spec not in self._open:
            self._open[spec] = make_model(spec)
        return self._open[spec]

    async def close(self) -> None:
        """Let all of them go."""
        for model in self._open.values():
            await model.close()


def _models(request: Request) -> ChatModels:
    models: ChatModels = request.app.state.models
    return models


ModelsDep = Annotated[ChatModels, Depends(_models)]


class _Writing(NamedTuple):
    """A reply on its way."""

    page: int
    task: "asyncio.Task[None]"


class Replies:
    """Replies that models are writing: one for a message however often it is asked for, one at a time for a seat, and so many a minute."""

    def __init__(self) -> None:
        self._writing: dict[tuple[str, int], _Writing] = {}
        self._buckets = Buckets()

    async def write(self, session: RaterSession, page: int, chat: Chat, model: Model) -> None:
        """Have the chat's last message answered, or wait for the answer that is being written."""
        seat = (session.study, session.seat)
        writing = self._writing.get(seat)
        if writing is None:
            if wait := self._buckets.wait(seat, REPLY_RATE, REPLY_BURST):
                raise NotAllowed(429, TOO_FAST, seconds=int(wait) + 1)
            # A task of its own: who asked may go away, and others wait for the same reply.
            writing = self._writing[seat] = _Writing(page, asyncio.create_task(chat.answer(model)))
            writing.task.add_done_callback(lambda task: self._written(seat, task))
        elif writing.page != page:
            raise NotAllowed(409, "The assistant is answering you on another page; please wait for it.")
        await asyncio.shield(writing.task)

    def _written(self, seat: tuple[str, int], task: "asyncio.Task[None]") -> None:
        del self._writing[seat]
        if not task.cancelled():
            task.exception()  # whoever waited was told


class ChatAction(BaseModel):
    """The fields that every request of a chat has."""

    model_config = ConfigDict(extra="forbid")

    page: int = Described(ge=0, lt=2**31, description="Place of the page among the participant's.")
    key: str = Described(pattern=KEY, description="Made by the browser; what is sent twice happens once.")


class SentMessage(ChatAction):
    """A message."""

    text: str = Described(min_length=1, max_length=LONGEST_MESSAGE)


class SentEnd(ChatAction):
    """The end."""

    how: Ended


@router.post("/api/chat/begin", responses={403: {}, 409: {}})
async def begin(
    sent: Annotated[ChatAction, Body()], session: RaterScriptDep, studies: StudiesDep
) -> JSONResponse:
    """Agree that the chat is kept."""
    chat, _ = await run_in_threadpool(_chat, studies, session, sent.page)
    await run_in_threadpool(chat.begin, sent.key)
    return _state(await run_in_threadpool(chat.rows))


@router.post("/api/chat/messages", responses={403: {}, 409: {}})
async def say(
    sent: Annotated[SentMessage, Body()], session: RaterScriptDep, studies: StudiesDep
) -> JSONResponse:
    """Store a message; the reply comes when it is on disk."""
    chat, _ = await run_in_threadpool(_chat, studies, session, sent.page)
    await run_in_threadpool(chat.say, sent.text, sent.key)
    return _state(await run_in_threadpool(chat.rows))


@router.post("/api/chat/replies", responses={403: {}, 409: {}, 502: {}})
async def reply(
    request: Request,
    sent: Annotated[ChatAction, Body()],
    session: RaterScriptDep,
    studies: StudiesDep,
    models: ModelsDep,
    render: RenderDep,
) -> JSONResponse:
    """Have the last message answered; asked again after a failure, or when it was answered already, it does no harm."""
    chat, study = await run_in_threadpool(_chat, studies, session, sent.page)
    rows = await run_in_threadpool(chat.rows)
    if not awaits_reply(rows):
        return _state(rows)
    replies: Replies = request.app.state.replies
    try:
        await replies.write(session, sent.page, chat, models.named(study.config.model))
    except (ModelError, UserError, NotNow):
        said = text(render.language(request, study.config.language), "chat.failed")
        return JSONResponse({"error": said}, status_code=502)
    return _state(await run_in_threadpool(chat.rows))


@router.post("/api/chat/end", responses={403: {}, 409: {}})
async def end(
    sent: Annotated[SentEnd, Body()], session: RaterScriptDep, studies: StudiesDep, models: ModelsDep
) -> JSONResponse:
    """End the chat: it becomes a dialogue in the store, and may be rated."""
    chat, study = await run_in_threadpool(_chat, studies, session, sent.page)
    await run_in_threadpool(chat.end, sent.how, sent.key, models.named(study.config.model))
    return _state(await run_in_threadpool(chat.rows))


def _chat(studies: Studies, session: RaterSession, position: int) -> tuple[Chat, Study]:
    study, seat = taking_part(studies, session)
    if must_check(study.config, seat):
        raise NotAllowed(403, CHECK_FIRST)
    if not isinstance(studies.form(study.name), ChatForm):
        raise NotAllowed(409, "This study has no chats.")
    assigned = page_at(studies.assigned(study.name, seat.seat), position)
    return Chat(studies.store, study, seat, assigned), study


def _state(rows: Iterable[ChatTurn]) -> JSONResponse:
    """The chat as its participant sees it."""
    held = list(rows)
    said = [{"role": row.role, "text": row.text} for row in messages_of(held)]
    return JSONResponse({"begun": bool(held), "ended": has_ended(held), "said": said})
