"""One answer of a system: what becomes of one that thought until its room was used up."""

import asyncio

from personafit.contexts import Context
from personafit.engine.ask import Asker
from personafit.models import ChatReply, ChatRequest
from personafit.simulate.answer_job import answer_job
from personafit.store import Item, Outcome, Status
from tests.scripted import ScriptedModel


def answered(*replies: ChatReply) -> tuple[Outcome, ScriptedModel]:
    model = ScriptedModel(list(replies))
    item = Item(id="i", person="ann", prompt="Tea?", products=[])
    request = ChatRequest(({"role": "user", "content": "Tea?"},), 1024)
    job = answer_job(Asker(model), "maker", "key", item, Context("none", "", (), None), request)

    async def work() -> Outcome:
        return await job.work(0)

    return asyncio.run(work()), model


def test_thinking_alone_is_no_answer_and_is_given_room() -> None:
    thought = ChatReply("", tokens_reasoning=1024, tokens_out=1024, cut=True, cost=2.0)
    outcome, model = answered(thought, ChatReply("Yes.", tokens_out=1100, tokens_reasoning=1090, cost=2.5))
    assert outcome.ask.status is Status.OK
    assert [product.text for product in outcome.products] == ["Yes."]
    assert [request.max_tokens for request in model.asked] == [1024, 1024 + 4096]
    assert (outcome.ask.attempts, outcome.ask.tokens_out, outcome.ask.cost) == (2, 2124, 4.5)
    assert outcome.products[0].cost == 4.5


def test_an_empty_answer_is_not_asked_for_again() -> None:
    outcome, model = answered(ChatReply("", tokens_out=3))
    assert outcome.ask.status is Status.UNPARSED
    assert len(model.asked) == 1
