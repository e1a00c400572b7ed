"""One ask of a model as a keyed job: send, parse, ask once more if the reply cannot be parsed, add up the cost, and store.

Raters, contexts, systems, extraction and the factory all ask models through this module. They provide the key, which must be stable
because resuming depends on it; the request; the parser; the follow-up after an unparsable reply; and the rows to store.
"""

import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from personafit._hashing import hash_text
from personafit.engine.jobs import Job
from personafit.models import ChatReply, ChatRequest, Model
from personafit.models.chat import THINKING, only_thought, reasoned
from personafit.store import Ask, Judgment, Outcome, Product, Status

SERVED = ("openai", "inspect")
DETAIL = 500  # characters of an unusable first reply stored with the second
QUOTED = 2000  # characters of it quoted to the model again, or 4 per token of the limit if that is more

T = TypeVar("T")


@dataclass(slots=True)
class Exchange:
    """The outcome of one ask: status, reply, and the cost of all its calls."""

    status: Status = Status.OK
    reply: str | None = None
    reasoning: str | None = None
    detail: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_reasoning: int = 0
    cost: float = 0.0
    calls: int = 0
    replies: list[ChatReply] = field(default_factory=list)
    """All replies, including those without an answer."""
    had_room: bool = False
    """Whether the last call left room to reason."""

    def add(self, reply: ChatReply) -> None:
        self.replies.append(reply)
        self.calls += 1
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        self.tokens_reasoning += reply.tokens_reasoning
        self.cost += reply.cost


E = TypeVar("E", bound=Exchange)

Read = Callable[[ChatReply, T | None], T | None]
"""Parses a reply, given the value of the first reply when parsing the second; returns None if it cannot be parsed."""
Again = Callable[[ChatReply, T | None], ChatRequest]
"""Makes the follow-up request after a reply that is unparsable or incomplete."""


class Asker:
    """A client of one model. Once a reply shows that the model reasons first, all further requests leave room for reasoning.

    Requests already sent without room are repeated if their replies are cut off before the answer.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        # A server may hide reasoning or not mark it, so it has to be tried; a local model shows it, and its replies must not
        # depend on which ask comes first.
        unknown = None if model.settings.get("kind") in SERVED else False
        self.thinks: bool | None = True if model.settings.get("effort") else unknown
        """Whether the model reasons first; None until a reply shows it either way."""

    async def ask(
        self,
        request: ChatRequest,
        exchange: Exchange,
        read: Read[T],
        again: Again[T] | str | None = None,
        complete: Callable[[T], bool] = lambda _: True,
    ) -> T | None:
        """Return the parsed reply of the model, asked at most twice; reply, status and costs are added to the exchange.

        `again` is the message after an unparsable reply, or makes the whole follow-up request; without it there is no second try.
        There is none either after a refusal, or if the model reasoned until its limit was used up. If the last reply was cut off
        without room to reason, a server gets the same request once more with room: some do not mark reasoning as such.
        """
        reply = await self.send(request, exchange)
        value = None if reply.refused else read(reply, None)
        missing = value is None or not complete(value)
        if missing and again is not None and not reply.refused and not (reply.cut and only_thought(reply)):
            exchange.detail = f"first reply: {reply.text[:DETAIL]}"
            request = follow_up(request, reply, again) if isinstance(again, str) else again(reply, value)
            reply = await self.send(request, exchange)
            value = value if reply.refused else read(reply, value)
        if value is None and reply.cut and not (reply.refused or exchange.had_room or self.thinks is False):
            reply = await self._call(request, exchange, room=True)
            value = None if reply.refused else read(reply, None)
            if reasoned(reply):
                self.thinks = True
            elif value is None and self.thinks is None:
                self.thinks = False  # it is merely verbose: do not try this again
        exchange.reply, exchange.reasoning = reply.text, reply.reasoning
        if value is None:
            exchange.status = Status.REFUSED if reply.refused else Status.UNPARSED
        return value

    async def send(self, request: ChatRequest, exchange: Exchange) -> ChatReply:
        """Send a request and return the reply; if only reasoning fitted in, send it again with room to reason."""
        room = bool(self.thinks)
        reply = await self._call(request, exchange, room)
        if not room and only_thought(reply):
            self.thinks = True
            reply = await self._call(request, exchange, room=True)
        return reply

    async def _call(self, request: ChatRequest, exchange: Exchange, room: bool) -> ChatReply:
        reply = await self.model.chat(with_room(request) if room else request)
        exchange.add(reply)
        exchange.had_room = room
        return reply

    def given_room(self, request: ChatRequest) -> ChatRequest:
        """Return the request with room to reason if this model needs it."""
        return with_room(request) if self.thinks else request


def with_room(request: ChatRequest) -> ChatRequest:
    """Return the request with room to reason and without letter scores, which are meaningless before reasoning."""
    return replace(request, max_tokens=request.max_tokens + THINKING, letters=())


def follow_up(request: ChatRequest, reply: ChatReply, words: str) -> ChatRequest:
    """Return the request extended by an unusable reply and a message; an empty reply becomes "…": some endpoints reject empty turns."""
    quoted = reply.text[: max(QUOTED, 4 * request.max_tokens)]
    said = {"role": "assistant", "content": quoted if quoted.strip() else "…"}
    return replace(request, messages=(*request.messages, said, {"role": "user", "content": words}))


@dataclass(frozen=True, slots=True)
class AskKey:
    """The job key of an ask, and the columns of its row that identify rater, item, question and presentation."""

    job: str
    item: str
    """Id of the item, list, person or other object that the ask is about."""
    question: str
    rater: str
    """Fingerprint of the rater or maker."""
    context: str = "none"
    context_id: str | None = None
    order: str = ""
    sample: int = 0

    def row(self, ask_id: str, generation: int, exchange: Exchange, seconds: float) -> Ask:
        """Return the row of the asks table."""
        return Ask.built(
            id=ask_id,
            job=self.job,
            generation=generation,
            item=self.item,
            question=self.question,
            rater=self.rater,
            context=self.context,
            context_id=self.context_id,
            order=self.order,
            sample=self.sample,
            status=exchange.status,
            reply=exchange.reply,
            reasoning=exchange.reasoning,
            detail=exchange.detail,
            tokens_in=exchange.tokens_in,
            tokens_out=exchange.tokens_out,
            tokens_reasoning=exchange.tokens_reasoning,
            cost=exchange.cost,
            seconds=seconds,
            attempts=exchange.calls,
            at=time.time(),
        )


Rows = tuple[list[Judgment], list[Product]]
"""Judgments and products stored with an ask."""


def ask_job(
    key: AskKey,
    ask: Callable[[str], Awaitable[E]],
    rows: Callable[[Ask, E], Rows],
    *,
    failed: Callable[[Ask], list[Product]] | None = None,
    then: Callable[[Outcome], Job | None] | None = None,
    endpoint: str | None = None,
) -> Job:
    """Return the job that performs an ask and stores its outcome.

    `ask` receives the ask's id, and `rows` the ask's row and the exchange. `failed` returns the products to store with an ask that
    failed permanently. `ask` and `rows` are released once the work is done, since thousands of outcomes may wait for the store.
    """
    held = [(ask, rows)]

    async def work(generation: int) -> Outcome:
        started = time.monotonic()
        ask_id = hash_text(key.job, str(generation))
        asked, rows_of = held[0]
        exchange = await asked(ask_id)
        row = key.row(ask_id, generation, exchange, time.monotonic() - started)
        judgments, products = rows_of(row, exchange)
        held.clear()
        return Outcome(row, judgments, products)

    def failure(message: str, attempts: int) -> Outcome:
        exchange = Exchange(Status.FAILED, detail=message, calls=attempts)
        row = key.row(uuid.uuid4().hex, 0, exchange, 0.0)
        return Outcome(row, products=failed(row) if failed else [])

    return Job(key.job, work, failure, then, endpoint)
