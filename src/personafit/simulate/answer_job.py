"""One answer of a system as a keyed job: the call, the answer as a product, and the ask that led to it."""

import time
import uuid

from personafit._hashing import hash_text
from personafit.contexts import Context
from personafit.engine import Job
from personafit.models import ChatReply, ChatRequest, Model
from personafit.models.thinking import chat_with_room
from personafit.store import Ask, Item, Outcome, Product, Status

QUESTION = "answer"


def answer_job(
    system: Model, maker: str, key: str, item: Item, context: Context, request: ChatRequest, sample: int = 0
) -> Job:
    """The job that lets a system answer; it holds no store, for it may be done in another process."""

    def ask(
        status: Status,
        ask_id: str,
        generation: int,
        replies: list[ChatReply],
        detail: str | None,
        took: float,
    ) -> Ask:
        return Ask(
            id=ask_id,
            job=key,
            generation=generation,
            item=item.id,
            question=QUESTION,
            rater=maker,
            view=context.name,
            context=context.id,
            sample=sample,
            status=status,
            reply=replies[-1].text,
            reasoning=replies[-1].reasoning,
            detail=detail,
            attempts=len(replies),
            tokens_in=sum(reply.tokens_in for reply in replies),
            tokens_out=sum(reply.tokens_out for reply in replies),
            tokens_reasoning=sum(reply.tokens_reasoning for reply in replies),
            cost=sum(reply.cost for reply in replies),
            seconds=took,
            at=time.time(),
        )

    async def work(generation: int) -> Outcome:
        started = time.monotonic()
        replies = await chat_with_room(system, request)
        reply = replies[-1]
        text = reply.text.strip()
        status = Status.REFUSED if reply.refused else Status.OK if text else Status.UNPARSED
        detail = None if text else "the system answered nothing"
        took = time.monotonic() - started
        finished = ask(status, hash_text(key, str(generation)), generation, replies, detail, took)
        if status != Status.OK:
            return Outcome(ask=finished)
        answer = Product(
            id=finished.id,
            kind="answer",
            text=text,
            maker=maker,
            given=context.id,
            about=item.person,
            parents=[item.id],
            cost=finished.cost,
            sample=sample,
        )
        return Outcome(ask=finished, products=[answer])

    def failure(message: str, attempts: int) -> Outcome:
        failed = ask(Status.FAILED, uuid.uuid4().hex, 0, [ChatReply(text="")], message, 0.0)
        return Outcome(ask=failed.model_copy(update={"attempts": attempts}))

    return Job(key, work, failure)
