"""A real local server that scores conversations the way vLLM's does, or refuses as it is told."""

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from aiohttp import web

Body = dict[str, Any]


def score(body: Body) -> float:
    """Depends on all that was sent: the person counts, and so does the answer."""
    texts = [turn["content"] for turn in body["messages"]]
    return len(texts[-1]) + 1000 * sum("tea" in text for text in texts[:-1]) * ("tea" in texts[-1])


class ScoringServer:
    """The server; use it as a context manager. `offered` are the addresses it knows."""

    def __init__(self, *offered: str) -> None:
        self.offered = offered
        self.requests: list[tuple[str, Body]] = []
        self.says: Callable[[], web.Response] | None = None
        """Answers everything while it is there; a response can be sent only once, so it is made anew each time."""
        self.system = True
        self.numbers = 1
        self.keys: list[str | None] = []
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def url(self) -> str:
        """What a spec names after the @."""
        return f"http://127.0.0.1:{self.port}/v1"

    def spec(self, options: str = "") -> str:
        """A spec of this server."""
        return f"reward:scorer@{self.url}{options}"

    def __enter__(self) -> "ScoringServer":
        self._thread.start()
        assert self._ready.wait(30), "the server did not start"
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(30)

    async def _serve(self) -> None:
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application()
        for name in self.offered:
            app.router.add_post(f"/{name}", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=1.0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self._closing.wait()
        await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        body, name = await request.json(), request.path.strip("/")
        self.requests.append((name, body))
        self.keys.append(request.headers.get("Authorization"))
        return self.says() if self.says is not None else self.reply(name, body)

    def reply(self, name: str, body: Body) -> web.Response:
        """What a well-behaved server says."""
        if not self.system and body.get("messages", [{}])[0].get("role") == "system":
            return web.json_response({"error": {"message": "System role not supported"}}, status=400)
        numbers = [score(body)] * self.numbers
        data: Body = {
            "classify": {"index": 0, "label": "LABEL_0", "probs": numbers, "num_classes": self.numbers},
            "pooling": {"index": 0, "object": "pooling", "data": [[0.0]] * 3 + [numbers]},
        }[name]
        return web.json_response({"object": "list", "data": [data], "usage": {"prompt_tokens": 12}})
