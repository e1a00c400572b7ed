"""Models behind one address share its connections; calls that take too long end, alone, and a cancelled task stays cancelled."""

import asyncio

import pytest

from personafit.models import ChatRequest, make_model
from personafit.models.calls import Deadlines, borrow_pool, give_pool_back
from tests.stub_endpoint import StubEndpoint

REQUEST = ChatRequest(({"role": "user", "content": "A or B?"},))


def test_the_pool_lives_as_long_as_somebody_uses_it(endpoint: StubEndpoint) -> None:
    async def use() -> None:
        first, second = make_model(endpoint.spec()), make_model(endpoint.spec(",timeout=9"))
        await first.chat(REQUEST)
        await second.chat(REQUEST)
        pool = borrow_pool(endpoint.url)
        await give_pool_back(endpoint.url)
        await first.close()
        before = pool.closed
        assert (await second.chat(REQUEST)).text
        await second.close()
        assert (before, pool.closed) == (False, True)
        assert (await first.chat(REQUEST)).text  # one that was closed opens again
        await first.close()

    asyncio.run(use())
    asyncio.run(use())  # another loop has pools of its own


async def call(deadlines: Deadlines, seconds: float) -> str:
    task = deadlines.begin()
    try:
        await asyncio.sleep(seconds)
        return "answered"
    except asyncio.CancelledError:
        if not deadlines.passed(task):
            raise
        return "late"
    finally:
        deadlines.end(task)


def test_only_late_calls_are_ended() -> None:
    async def several() -> list[str]:
        deadlines = Deadlines(0.2)
        found = await asyncio.gather(*(call(deadlines, seconds) for seconds in (0.0, 60.0, 0.01, 60.0)))
        again = await call(deadlines, 0.0)  # nothing of the late ones is left
        deadlines.close()
        return [*found, again]

    assert asyncio.run(several()) == ["answered", "late", "answered", "late", "answered"]


def test_a_task_that_others_cancel_stays_cancelled() -> None:
    async def cancelled() -> None:
        deadlines = Deadlines(0.05)
        task = asyncio.create_task(call(deadlines, 60.0))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        both = asyncio.create_task(call(deadlines, 60.0))
        await asyncio.sleep(0)
        both.cancel()
        deadlines._overdue.add(both)  # late and cancelled at the same moment: the cancelling counts
        both.cancel()
        with pytest.raises(asyncio.CancelledError):
            await both
        deadlines.close()

    asyncio.run(cancelled())


def test_a_task_that_was_late_once_goes_on() -> None:
    async def twice() -> list[str]:
        deadlines = Deadlines(0.05)
        found = [await call(deadlines, 60.0), await call(deadlines, 0.0), await call(deadlines, 60.0)]
        deadlines.close()
        return found

    assert asyncio.run(twice()) == ["late", "answered", "late"]
