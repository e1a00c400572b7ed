"""One answer of a system as a keyed job: the call, the answer as a product, and the ask that led to it."""

from personafit.contexts import Context
from personafit.engine import Job
from personafit.engine.ask import Asker, AskKey, Exchange, Rows, ask_job
from personafit.models import ChatReply, ChatRequest
from personafit.store import Ask, Item, Product, Status

QUESTION = "answer"


def answer_job(
    system: Asker, maker: str, key: str, item: Item, context: Context, request: ChatRequest, sample: int = 0
) -> Job:
    """The job that lets a system answer; it holds no store, for it may be done in another process."""

    async def ask(_: str) -> Exchange:
        exchange = Exchange()
        await system.ask(request, exchange, _words)
        if not (exchange.reply or "").strip():
            exchange.detail = "the system answered nothing"
        return exchange

    def rows(ask: Ask, exchange: Exchange) -> Rows:
        if exchange.status != Status.OK:
            return [], []
        answer = Product(
            id=ask.id,
            kind="answer",
            text=(exchange.reply or "").strip(),
            maker=maker,
            given=context.id,
            about=item.person,
            parents=[item.id],
            cost=ask.cost,
            sample=sample,
        )
        return [], [answer]

    return ask_job(AskKey(key, item.id, QUESTION, maker, context.name, context.id, sample=sample), ask, rows)


def _words(reply: ChatReply, _: str | None) -> str | None:
    return reply.text.strip() or None
