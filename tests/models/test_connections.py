"""Models behind one address share its connections, and whoever closes first takes nothing from the others."""

import asyncio

from personafit.models import ChatRequest, make_model
from personafit.models.connections import borrow_pool, give_pool_back
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
