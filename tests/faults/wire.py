"""Faults on the wire that no well-meant server shows, as behaviours of the stub endpoint."""

import asyncio
import contextlib
import json
from typing import Any

from aiohttp import web

from tests.stub_endpoint import (
    BEHAVIOURS,
    Body,
    StubEndpoint,
    completion,
    failing,
    raw,
    verdict,
    with_letters,
)

DRIP_SECONDS = 0.05
sent_bytes: dict[int, int] = {}
"""How much of an endless reply each endpoint (by port) got rid of before it was cut off."""


async def _reset(_stub: StubEndpoint, request: web.Request, body: Body) -> web.StreamResponse:
    """Half the reply, then a reset: not an orderly close."""
    data = json.dumps(with_letters(body)).encode()
    response = web.StreamResponse(headers={"Content-Length": str(len(data))})
    await response.prepare(request)
    await response.write(data[: len(data) // 2])
    assert request.transport is not None
    request.transport.abort()
    return response


async def _drip(stub: StubEndpoint, request: web.Request, body: Body) -> web.StreamResponse:
    """A byte now and then, for ever: always alive, never done."""
    response = web.StreamResponse(headers={"Content-Length": "1000000"})
    await response.prepare(request)
    with contextlib.suppress(ConnectionError):  # the client has had enough
        while not stub.closing.is_set():
            await response.write(b" ")
            await asyncio.sleep(DRIP_SECONDS)
    return response


async def _drip_head(stub: StubEndpoint, request: web.Request, _body: Body) -> web.StreamResponse:
    """The same before the headers are over."""
    transport = request.transport
    assert transport is not None
    transport.write(b"HTTP/1.1 200 OK\r\n")
    while not stub.closing.is_set() and not transport.is_closing():
        transport.write(b"X-Still: here\r\n")
        await asyncio.sleep(DRIP_SECONDS)
    transport.abort()
    return web.Response()


async def _endless(stub: StubEndpoint, request: web.Request, _body: Body) -> web.StreamResponse:
    """Blanks without end, as fast as they are taken."""
    response = web.StreamResponse()
    await response.prepare(request)
    with contextlib.suppress(ConnectionError):
        while not stub.closing.is_set():
            await response.write(b" " * (1 << 20))
            sent_bytes[stub.port] = sent_bytes.get(stub.port, 0) + (1 << 20)
    return response


async def _no_http(_stub: StubEndpoint, request: web.Request, _body: Body) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.write(b"\x00\xffSSH-2.0-OpenSSH_9.2\r\n\r\n")
    request.transport.close()
    return web.Response()


async def _bad_gzip(_stub: StubEndpoint, _request: web.Request, _body: Body) -> web.StreamResponse:
    return web.Response(body=b"no gzip at all " * 10, headers={"Content-Encoding": "gzip"})


async def _truncated(_stub: StubEndpoint, _request: web.Request, body: Body) -> web.StreamResponse:
    data = json.dumps(with_letters(body))
    return web.Response(text=data[: len(data) // 2], content_type="application/json")


async def _odd_numbers(_stub: StubEndpoint, _request: web.Request, body: Body) -> web.StreamResponse:
    """A good answer with an account of tokens that no number type holds."""
    reply: dict[str, Any] = completion(body, verdict(body))
    reply["usage"] = {"prompt_tokens": 10**400, "completion_tokens": -(10**400)}
    return web.json_response(reply)


async def _echo(_stub: StubEndpoint, request: web.Request, _body: Body) -> web.StreamResponse:
    """An error that repeats the key it was sent."""
    said = f"no good: {request.headers.get('Authorization')}"
    return web.json_response({"error": {"message": said}}, status=400)


async def _echo_reply(_stub: StubEndpoint, request: web.Request, body: Body) -> web.StreamResponse:
    """A reply that repeats it."""
    said = f"You sent {request.headers.get('Authorization')}"
    return web.json_response(completion(body, said, reasoning_content=said))


async def _redirect(stub: StubEndpoint, request: web.Request, _body: Body) -> web.StreamResponse:
    """The same server under another name: another origin, which the key was not meant for."""
    raise web.HTTPTemporaryRedirect(f"http://localhost:{stub.port}{request.path}")


async def _echo_escaped(_stub: StubEndpoint, request: web.Request, body: Body) -> web.StreamResponse:
    """The key in the reply, its letters written as JSON escapes."""
    key = "".join(f"\\u{ord(letter):04x}" for letter in request.headers["Authorization"])
    text = json.dumps(completion(body, "@", reasoning_content="@")).replace("@", key)
    return web.Response(text=text, content_type="application/json")


BEHAVIOURS.update(
    {
        "reset": _reset,
        "drip": _drip,
        "drip_head": _drip_head,
        "endless": _endless,
        "no_http": _no_http,
        "bad_gzip": _bad_gzip,
        "truncated": _truncated,
        "odd_numbers": _odd_numbers,
        "echo": _echo,
        "echo_reply": _echo_reply,
        "echo_escaped": _echo_escaped,
        "redirect": _redirect,
        "null": raw("null"),
        "error_in_200": raw('{"error": {"message": "upstream is asleep"}}'),
        "overloaded_ages": failing(429, "Come back later", retry_after="99999999999999"),
        "overloaded_far": failing(429, "Come back later", retry_after="Fri, 31 Dec 9999 23:59:59 GMT"),
        "overloaded_past": failing(429, "Come back later", retry_after="Mon, 01 Jan 1990 00:00:00 GMT"),
        "overloaded_zero": failing(429, "Come back later", retry_after="0"),
        "overloaded_odd": failing(429, "Come back later", retry_after="in a moment"),
    }
)
