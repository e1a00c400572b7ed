"""One ask of a model as a keyed job: sent, read, asked once more where it cannot be read, priced, and stored.

Raters, contexts, systems, extraction and the factory all ask through here. They bring the key, since resuming rests on keys that
must not change; the request; how a reply is read; what is said after one that cannot be read; and the rows to store.
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
DETAIL = 500  # characters of an unusable first reply that are stored beside the second
QUOTED = 2000  # characters of it, or as many as its tokens may have, that the model is shown again

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
    """Every reply, those without an answer included."""
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
"""What a reply says, or None if it cannot be read; the second reply is read together with what the first one said."""
Again = Callable[[ChatReply, T | None], ChatRequest]
"""The request that follows a reply which cannot be read, or from which something is missing."""


class Asker:
    """A model to be asked. Once it shows that it reasons before it answers, every further request leaves room for that.

    Requests that were under way without room when that came out are sent again: what is cut off before the answer says nothing.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        # A server may hide reasoning or not mark it, so that is tried; a model that runs here shows it, and what it says must not
        # depend on which ask comes first.
        unknown = None if model.settings.get("kind") in SERVED else False
        self.thinks: bool | None = True if model.settings.get("effort") else unknown
        """Whether it reasons first; None as long as no reply has shown it either way."""

    async def ask(
        self,
        request: ChatRequest,
        exchange: Exchange,
        read: Read[T],
        again: Again[T] | str | None = None,
        complete: Callable[[T], bool] = lambda _: True,
    ) -> T | None:
        """What the model says, asked at most twice; reply, status and costs are added to the exchange.

        `again` is what is said after a reply that cannot be read, or the whole request that follows; without it nothing is asked
        twice. Neither is a model that refused, or that reasoned until its room was used up. Where the last reply was cut off and
        had no room to reason, a server is sent the same request once more with room: some do not mark reasoning as such.
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
                self.thinks = False  # it merely talks: no other ask of it is tried so
        exchange.reply, exchange.reasoning = reply.text, reply.reasoning
        if value is None:
            exchange.status = Status.REFUSED if reply.refused else Status.UNPARSED
        return value

    async def send(self, request: ChatRequest, exchange: Exchange) -> ChatReply:
        """The reply to a request; one that was cut off before its first word is asked for again, with room to think."""
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
    """The request with room to reason in; the scores of letters say nothing where reasoning comes first."""
    return replace(request, max_tokens=request.max_tokens + THINKING, letters=())


def follow_up(request: ChatRequest, reply: ChatReply, words: str) -> ChatRequest:
    """The same conversation with a reply that cannot be used and what is said to it; an empty turn would be refused by some endpoints."""
    quoted = reply.text[: max(QUOTED, 4 * request.max_tokens)]
    said = {"role": "assistant", "content": quoted if quoted.strip() else "…"}
    return replace(request, messages=(*request.messages, said, {"role": "user", "content": words}))


@dataclass(frozen=True, slots=True)
class AskKey:
    """The key an ask is stored under, and what its row says: who was asked about what, and how it was shown."""

    job: str
    item: str
    """Id of the item, or of the list, person or piece of work that it is about."""
    question: str
    rater: str
    """Fingerprint of who is asked."""
    view: str = "none"
    context: str | None = None
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
            view=self.view,
            context=self.context,
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
"""What is stored with an ask."""


def ask_job(
    key: AskKey,
    ask: Callable[[str], Awaitable[E]],
    rows: Callable[[Ask, E], Rows],
    *,
    failed: Callable[[Ask], list[Product]] | None = None,
    then: Callable[[Outcome], Job | None] | None = None,
    endpoint: str | None = None,
) -> Job:
    """The job that asks and stores what came of it.

    `ask` gets the ask's id, and `rows` the ask's row with the exchange. `failed` gives what is stored with an ask that failed for
    good. Once the work is done both are let go: outcomes wait for the store by the thousand, and what was asked need not wait too.
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
        return Outcome.built(ask=row, judgments=judgments, products=products)

    def failure(message: str, attempts: int) -> Outcome:
        exchange = Exchange(Status.FAILED, detail=message, calls=attempts)
        row = key.row(uuid.uuid4().hex, 0, exchange, 0.0)
        return Outcome.built(ask=row, judgments=[], products=failed(row) if failed else [])

    return Job(key.job, work, failure, then, endpoint)
