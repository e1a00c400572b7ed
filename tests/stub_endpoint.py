"""A real OpenAI-compatible server for tests: it behaves, or misbehaves, as it is told, and counts what it was asked.

It runs in a thread of its own, so that tests, event loops and other processes can all reach it. A verdict depends on
nothing but the prompt.
"""

import asyncio
import hashlib
import json
import math
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

from aiohttp import web

Body = dict[str, Any]
Behaviour = Callable[["StubEndpoint", web.Request, Body], Awaitable[web.StreamResponse]]

SLOW_SECONDS = 1.5
LONG_REPLY = "It depends. " * 20_000
ODD_JSON = r"half an emoji \ud83d, a NUL \u0000 and no letter"
ODD_READ = "half an emoji \ufffd, a NUL \x00 and no letter"


def verdict(body: Body) -> str:
    """The letter this server prefers for a prompt."""
    digest = hashlib.sha256(body["messages"][0]["content"].encode()).digest()
    return "AB"[digest[0] % 2]


def completion(body: Body, content: str | None, finish: str = "stop", **message: Any) -> Body:
    """A chat completion without log-probabilities."""
    said = {"role": "assistant", "content": content, **message}
    return {
        "object": "chat.completion",
        "model": body["model"],
        "choices": [{"index": 0, "finish_reason": finish, "message": said, "logprobs": None}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


def with_letters(body: Body) -> Body:
    """A completion of one letter, with its log-probabilities."""
    letter = verdict(body)
    reply = completion(body, letter)
    scored = [{"token": token, "logprob": math.log(0.8 if token == letter else 0.2)} for token in "AB"]
    token = {"token": letter, "logprob": math.log(0.8), "top_logprobs": scored}
    reply["choices"][0]["logprobs"] = {"content": [token]}
    return reply


def saying(make: Callable[[Body], Body]) -> Behaviour:
    """Always a completion."""

    async def behave(_stub: "StubEndpoint", _request: web.Request, body: Body) -> web.StreamResponse:
        return web.json_response(make(body))

    return behave


def failing(status: int, message: str = "as told", retry_after: str | None = None) -> Behaviour:
    """Always an error in the usual JSON form."""

    async def behave(_stub: "StubEndpoint", _request: web.Request, _body: Body) -> web.StreamResponse:
        headers = {"Retry-After": retry_after} if retry_after is not None else {}
        return web.json_response({"error": {"message": message}}, status=status, headers=headers)

    return behave


def raw(text: str, kind: str = "application/json") -> Behaviour:
    """Always these bytes with status 200."""

    async def behave(_stub: "StubEndpoint", _request: web.Request, _body: Body) -> web.StreamResponse:
        return web.Response(body=text.encode(), content_type=kind)

    return behave


def rejecting(parameter: str, otherwise: Callable[[Body], Body]) -> Behaviour:
    """A 400 that names the parameter wherever it occurs."""

    async def behave(_stub: "StubEndpoint", _request: web.Request, body: Body) -> web.StreamResponse:
        if parameter in body:
            error = {"message": f"Unsupported parameter: '{parameter}' is not supported with this model."}
            return web.json_response({"error": error}, status=400)
        return web.json_response(otherwise(body))

    return behave


async def _cut(_stub: "StubEndpoint", request: web.Request, body: Body) -> web.StreamResponse:
    data = json.dumps(with_letters(body)).encode()
    response = web.StreamResponse(headers={"Content-Length": str(len(data))})
    response.content_type = "application/json"
    await response.prepare(request)
    await response.write(data[: len(data) // 2])
    assert request.transport is not None
    request.transport.close()
    return response


async def _hang(stub: "StubEndpoint", _request: web.Request, _body: Body) -> web.StreamResponse:
    await stub.closing.wait()
    return web.Response(status=503)


async def _slow(_stub: "StubEndpoint", _request: web.Request, body: Body) -> web.StreamResponse:
    await asyncio.sleep(SLOW_SECONDS)
    return web.json_response(_plain(body))


def _plain(body: Body) -> Body:
    return completion(body, verdict(body))


def sort_of_thought(body: Body) -> int:
    """How the reasoning server shows a thought that the token limit cut off, by the prompt."""
    return hashlib.sha256(body["messages"][0]["content"].encode()).digest()[1] % 4


async def _reasons(stub: "StubEndpoint", _request: web.Request, body: Body) -> web.StreamResponse:
    """A model that reasons for longer than a short limit lets it, told in the ways servers have."""
    limit = body.get("max_tokens") or body["max_completion_tokens"]
    if limit > 1000:
        return web.json_response(completion(body, verdict(body), reasoning_content="Let me see."))
    while len(stub.requests) < stub.together:
        await asyncio.sleep(0.01)
    shown: list[Body] = [
        completion(body, None, "length", reasoning_content="Let me"),
        completion(body, "<think>\nLet me", "length"),
        completion(body, "", "length"),  # hidden, and not counted either
        completion(body, "Let me see: the person", "length"),  # the opening tag was in the prompt
    ]
    sort = sort_of_thought(body)
    await asyncio.sleep(0.05 * (3 - sort))  # what does not show it comes first, and asks again at once
    return web.json_response(shown[sort])


BEHAVIOURS: dict[str, Behaviour] = {
    "reasons": _reasons,
    "letters": saying(with_letters),
    "plain": saying(_plain),
    "reasoning_content": saying(lambda b: completion(b, verdict(b), reasoning_content="Let me see.")),
    "think": saying(lambda b: completion(b, f"<think>Let me see.</think>\n{verdict(b)}")),
    "think_unopened": saying(lambda b: completion(b, f"Let me see.</think>\n{verdict(b)}")),
    "prose": saying(lambda b: completion(b, "Both have their charm, A as well as B.")),
    "refusal": saying(lambda b: completion(b, None, refusal="I cannot judge people.")),
    "content_filter": saying(lambda b: completion(b, "", finish="content_filter")),
    "long": saying(lambda b: completion(b, LONG_REPLY, finish="length")),
    "odd": raw(json.dumps(completion({"model": "stub"}, "@")).replace("@", ODD_JSON)),
    "unauthorized": failing(401, "Incorrect API key provided"),
    "forbidden": failing(403),
    "not_found": failing(404, "The model does not exist"),
    "overloaded": failing(429, "Rate limit reached"),
    "overloaded_soon": failing(429, "Rate limit reached", retry_after="0.05"),
    "overloaded_day": failing(429, "Daily limit reached", retry_after="86400"),
    "error": failing(500, "internal error"),
    "too_long": failing(400, "maximum context length is 4096 tokens"),
    "cut": _cut,
    "html": raw("<html><body><h1>Welcome to the proxy</h1></body></html>", "text/html"),
    "empty": raw(""),
    "wrong_shape": raw('{"choices": [], "usage": []}'),
    "hang": _hang,
    "slow": _slow,
    "no_logprobs": rejecting("logprobs", _plain),
    "no_max_tokens": rejecting("max_tokens", with_letters),
    "no_completion_tokens": rejecting("max_completion_tokens", _plain),
    "no_temperature": rejecting("temperature", with_letters),
}


class StubEndpoint:
    """The server; use it as a context manager."""

    def __init__(self, behaviour: str = "letters", port: int = 0) -> None:
        self.requests: list[Body] = []
        self.keys: list[str | None] = []
        self.port = port
        self.together = 0
        """How many asks the reasoning server waits for before it answers the first."""
        self._lock = threading.Lock()
        self._first: deque[str] = deque()
        self._always = behaviour
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def url(self) -> str:
        """What a spec names after the @."""
        return f"http://127.0.0.1:{self.port}/v1"

    def spec(self, options: str = "") -> str:
        """A spec of this endpoint."""
        return f"openai:stub@{self.url}{options}"

    def behave(self, always: str, first: str | None = None, times: int = 0) -> None:
        """From now on behave so; before that, so many times, otherwise."""
        assert always in BEHAVIOURS
        with self._lock:
            self._first = deque([first] * times if first else [])
            self._always = always

    def __enter__(self) -> "StubEndpoint":
        self._thread.start()
        assert self._ready.wait(30), "the stub endpoint did not start"
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self.closing.set)
        self._thread.join(30)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.closing = asyncio.Event()
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=1.0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port)
        await site.start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self.closing.wait()
        await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        with self._lock:
            self.requests.append(body)
            self.keys.append(request.headers.get("Authorization"))
            name = self._first.popleft() if self._first else self._always
        return await BEHAVIOURS[name](self, request, body)
