"""One ask: sent, read, asked once more, priced, and stored under its key."""

import asyncio
import gc
import weakref
from dataclasses import dataclass, field

from personafit import ChatReply, Status
from personafit.engine import Job
from personafit.engine.ask import Asker, AskKey, Exchange, Rows, ask_job, follow_up
from personafit.models import ChatRequest
from personafit.models.chat import THINKING
from personafit.store import Ask, Outcome, Product
from tests.scripted import ScriptedModel

REQUEST = ChatRequest(({"role": "user", "content": "A number?"},), max_tokens=8, letters=("1", "2"))
KEY = AskKey("key", "item", "number", "rater", "view", "context", "01", 3)
CUT = ChatReply("", reasoning="Let me see", cut=True, tokens_out=8, tokens_reasoning=8, cost=0.5)


def number(reply: ChatReply, earlier: int | None) -> int | None:
    return int(reply.text) if reply.text.isdecimal() else None


def asked(*replies: ChatReply, effort: str | None = None) -> tuple[int | None, Exchange, ScriptedModel]:
    model = ScriptedModel(list(replies), settings={"kind": "scripted", "effort": effort})
    exchange = Exchange()
    value = asyncio.run(Asker(model).ask(REQUEST, exchange, number, "Just the number."))
    assert len(model.asked) == len(replies) == exchange.calls
    return value, exchange, model


def test_a_reply_that_can_be_read_is_not_asked_for_again() -> None:
    value, exchange, _ = asked(ChatReply("7", tokens_in=5, cost=0.25))
    assert (value, exchange.status, exchange.reply, exchange.detail) == (7, Status.OK, "7", None)
    assert (exchange.tokens_in, exchange.cost) == (5, 0.25)


def test_one_that_cannot_be_read_is_asked_for_once_more_and_both_are_paid() -> None:
    value, exchange, model = asked(ChatReply("Seven.", cost=0.25), ChatReply("7", cost=0.5))
    assert (value, exchange.status, exchange.cost) == (7, Status.OK, 0.75)
    assert exchange.detail == "first reply: Seven."
    assert [said["content"] for said in model.asked[1].messages] == [
        "A number?",
        "Seven.",
        "Just the number.",
    ]
    assert model.asked[1].letters == REQUEST.letters


def test_two_that_cannot_be_read_are_unparsed_and_a_refusal_is_not_argued_with() -> None:
    value, exchange, _ = asked(ChatReply("Seven."), ChatReply("seven"))
    assert (value, exchange.status, exchange.reply) == (None, Status.UNPARSED, "seven")
    value, exchange, _ = asked(ChatReply("7", refused=True))
    assert (value, exchange.status) == (None, Status.REFUSED)
    value, exchange, _ = asked(ChatReply("Seven."), ChatReply("No.", refused=True))
    assert (value, exchange.status) == (None, Status.REFUSED)


def test_what_is_incomplete_is_read_together_with_the_second_reply() -> None:
    def letters(reply: ChatReply, earlier: str | None) -> str | None:
        return (earlier or "") + reply.text

    for second, together in ((ChatReply("b"), "ab"), (ChatReply("no", refused=True), "a")):
        exchange, model = Exchange(), ScriptedModel([ChatReply("a"), second])
        ask = Asker(model).ask(REQUEST, exchange, letters, "And?", lambda found: len(found) > 1)
        assert asyncio.run(ask) == together
        assert exchange.status == Status.OK


def test_a_model_that_thinks_first_is_given_room_and_may_still_be_asked_again() -> None:
    value, exchange, model = asked(CUT, ChatReply("Seven."), ChatReply("7"))
    assert (value, exchange.calls, exchange.tokens_reasoning) == (7, 3, 8)
    assert [one.max_tokens for one in model.asked] == [8, 8 + THINKING, 8 + THINKING]
    assert [one.letters for one in model.asked] == [REQUEST.letters, (), ()]


def test_thoughts_that_fill_all_their_room_are_unparsed_without_another_long_call() -> None:
    value, exchange, _ = asked(CUT, effort="high")
    assert (value, exchange.status) == (None, Status.UNPARSED)
    value, exchange, _ = asked(CUT, CUT)
    assert (value, exchange.status) == (None, Status.UNPARSED)


@dataclass
class Thinker(ScriptedModel):
    """A model that answers everything only once all have asked, and needs room."""

    replies: list[ChatReply] = field(default_factory=list)
    waiting: int = 2

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        while len(self.asked) < self.waiting:
            await asyncio.sleep(0)
        return ChatReply("7") if request.max_tokens > THINKING else CUT


def test_asks_under_way_together_all_get_the_room_that_one_of_them_showed_to_be_needed() -> None:
    model, exchanges = Thinker(), [Exchange(), Exchange()]
    asker = Asker(model)

    async def both() -> list[int | None]:
        return await asyncio.gather(*(asker.ask(REQUEST, one, number, "Again.") for one in exchanges))

    assert asyncio.run(both()) == [7, 7]
    assert [one.calls for one in exchanges] == [2, 2]


def test_a_long_reply_is_quoted_in_part() -> None:
    more = follow_up(REQUEST, ChatReply("x" * 9000), "Shorter.")
    assert len(more.messages[1]["content"]) == 2000
    longer = follow_up(ChatRequest((), max_tokens=1000), ChatReply("x" * 9000), "Shorter.")
    assert len(longer.messages[0]["content"]) == 4000


def done(job: Job, generation: int = 0) -> Outcome:
    async def work() -> Outcome:
        return await job.work(generation)

    return asyncio.run(work())


def _rows(ask: Ask, exchange: Exchange) -> Rows:
    return [], [Product(kind="answer", text=exchange.reply or "", maker=ask.rater)]


def test_what_was_asked_is_let_go_once_it_is_answered() -> None:
    class Asking:
        async def __call__(self, ask_id: str) -> Exchange:
            return Exchange(reply="7")

    asking = Asking()
    held, job = weakref.ref(asking), ask_job(KEY, asking, _rows)
    del asking
    gc.collect()
    assert held() is not None
    done(job)
    gc.collect()
    assert held() is None, "the job is still there: it waits with its outcome for the store"


def test_the_job_keeps_its_key_and_stores_rows() -> None:
    seen = []

    async def ask(ask_id: str) -> Exchange:
        seen.append(ask_id)
        return Exchange(reply="7", calls=2)

    job = ask_job(KEY, ask, _rows, endpoint="there")
    outcome = done(job, 1)
    row = outcome.ask
    assert (job.key, job.endpoint, row.job, row.generation) == ("key", "there", "key", 1)
    assert (row.item, row.question, row.rater, row.context) == ("item", "number", "rater", "view")
    assert (row.context_id, row.order, row.sample, row.attempts) == ("context", "01", 3, 2)
    assert seen == [row.id]
    assert [product.text for product in outcome.products] == ["7"]


def test_a_failure_is_an_ask_of_its_own_with_what_is_left_behind() -> None:
    async def ask(ask_id: str) -> Exchange:
        raise AssertionError

    def left(row: Ask) -> list[Product]:
        return [Product(kind="dialogue", text=row.detail or "", maker="m")]

    job = ask_job(KEY, ask, _rows, failed=left)
    first, second = (job.failure("The endpoint is down.", 6) for _ in range(2))
    assert first.ask.id != second.ask.id
    assert (first.ask.status, first.ask.detail, first.ask.attempts) == (
        Status.FAILED,
        "The endpoint is down.",
        6,
    )
    assert first.products[0].text == "The endpoint is down."
    assert not job.failure("Again.", 1).judgments
