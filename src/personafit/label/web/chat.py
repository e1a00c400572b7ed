"""The routes of a chat: consent, message, reply and end. Each is idempotent."""

import asyncio
from collections.abc import Iterable
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Body
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from pydantic import Field as Described

from personafit._errors import UserError
from personafit.label.chats import Chat, ChatTurn, Ended, NotNow, awaits_reply, has_ended, messages_of
from personafit.label.forms.questions import ChatForm
from personafit.label.places import must_check
from personafit.label.studies import Study
from personafit.label.texts import text
from personafit.label.web.guard import Buckets
from personafit.label.web.sessions import CHECK_FIRST, NotAllowed, RaterVisit, ScriptDep, page_at
from personafit.models import Model, ModelError, OpenModels

router = APIRouter()
LONGEST_MESSAGE = 8_000
REPLY_RATE, REPLY_BURST = 0.2, 20.0  # model calls per second in the long run, and in a burst, per seat
TOO_FAST = "Too many messages in a short time; please wait {seconds} seconds and ask again."
KEY = r"[A-Za-z0-9-]{8,64}"


class ChatModels(OpenModels):
    """The models that chats may use: those named when the server was started, since a store is not trusted to name any."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        super().__init__()
        self._allowed = frozenset(allowed)

    def open(self, spec: str) -> Model:
        if spec not in self._allowed:
            raise UserError(
                f"The study names the model '{spec}', and the server was not started with --model '{spec}'."
            )
        return super().open(spec)


class _Writing(NamedTuple):
    """A reply being written."""

    page: int
    task: "asyncio.Task[None]"


class Replies:
    """Replies being written: one per message however often requested, one at a time per seat, and rate-limited."""

    def __init__(self) -> None:
        self._writing: dict[tuple[str, int], _Writing] = {}
        self._buckets = Buckets()

    async def write(self, seat: tuple[str, int], page: int, chat: Chat, model: Model) -> None:
        """Have the last message of a seat's chat answered, or wait for the reply that is being written."""
        writing = self._writing.get(seat)
        if writing is None:
            if wait := self._buckets.wait(seat, REPLY_RATE, REPLY_BURST):
                raise NotAllowed(429, TOO_FAST, seconds=int(wait) + 1)
            # A separate task, since the requester may disconnect while others wait for the same reply.
            writing = self._writing[seat] = _Writing(page, asyncio.create_task(chat.answer(model)))
            writing.task.add_done_callback(lambda task: self._written(seat, task))
        elif writing.page != page:
            raise NotAllowed(409, "The assistant is answering you on another page; please wait for it.")
        await asyncio.shield(writing.task)

    def _written(self, seat: tuple[str, int], task: "asyncio.Task[None]") -> None:
        del self._writing[seat]
        if not task.cancelled():
            task.exception()  # mark it as retrieved: those who waited have it


class ChatAction(BaseModel):
    """The fields that every request of a chat has."""

    model_config = ConfigDict(extra="forbid")

    page: int = Described(ge=0, lt=2**31, description="Position of the page among the participant's pages.")
    key: str = Described(
        pattern=KEY, description="Id made by the browser; a request sent twice has effect once."
    )


class SentMessage(ChatAction):
    """A message."""

    text: str = Described(min_length=1, max_length=LONGEST_MESSAGE)


class SentEnd(ChatAction):
    """The end."""

    how: Ended


@router.post("/api/chat/begin", responses={403: {}, 409: {}})
async def begin(sent: Annotated[ChatAction, Body()], visit: ScriptDep) -> JSONResponse:
    """Record consent to storing the chat."""
    chat, _ = await run_in_threadpool(_chat, visit, sent.page)
    await run_in_threadpool(chat.begin, sent.key)
    return await _state(chat)


@router.post("/api/chat/messages", responses={403: {}, 409: {}})
async def say(sent: Annotated[SentMessage, Body()], visit: ScriptDep) -> JSONResponse:
    """Store a message; the reply comes when it is on disk."""
    chat, _ = await run_in_threadpool(_chat, visit, sent.page)
    await run_in_threadpool(chat.say, sent.text, sent.key)
    return await _state(chat)


@router.post("/api/chat/replies", responses={403: {}, 409: {}, 502: {}})
async def reply(sent: Annotated[ChatAction, Body()], visit: ScriptDep) -> JSONResponse:
    """Have the last message answered. Safe to repeat after a failure or once it is answered."""
    chat, study = await run_in_threadpool(_chat, visit, sent.page)
    if awaits_reply(await run_in_threadpool(chat.rows)):
        replies: Replies = visit.request.app.state.replies
        try:
            await replies.write((study.name, visit.session.seat), sent.page, chat, _model(visit, study))
        except (ModelError, UserError, NotNow):
            said = text(visit.language(study), "chat.failed")
            return JSONResponse({"error": said}, status_code=502)
    return await _state(chat)


@router.post("/api/chat/end", responses={403: {}, 409: {}})
async def end(sent: Annotated[SentEnd, Body()], visit: ScriptDep) -> JSONResponse:
    """End the chat, which becomes a dialogue that can be rated."""
    chat, study = await run_in_threadpool(_chat, visit, sent.page)
    await run_in_threadpool(chat.end, sent.how, sent.key, _model(visit, study))
    return await _state(chat)


def _chat(visit: RaterVisit, position: int) -> tuple[Chat, Study]:
    study, seat = visit.taking_part()
    if must_check(study.config, seat):
        raise NotAllowed(403, CHECK_FIRST)
    if not isinstance(visit.studies.form(study.name), ChatForm):
        raise NotAllowed(409, "This study has no chats.")
    assigned = page_at(visit.studies.assigned(study.name, seat.seat), position)
    return Chat(visit.studies.store, study, seat, assigned), study


def _model(visit: RaterVisit, study: Study) -> Model:
    models: ChatModels = visit.request.app.state.models
    return models.open(study.config.model)


async def _state(chat: Chat) -> JSONResponse:
    """Return the chat as JSON, as its participant sees it."""
    rows: list[ChatTurn] = await run_in_threadpool(chat.rows)
    said = [{"role": row.role, "text": row.text} for row in messages_of(rows)]
    return JSONResponse({"begun": bool(rows), "ended": has_ended(rows), "said": said})
