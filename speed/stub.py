"""A stub of an OpenAI-compatible endpoint in a process of its own: every ask is answered with "A" after 50 ms.

It reads just enough of HTTP to know where a request ends, so that it costs little beside whoever is measured.
"""

import asyncio
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

import orjson

LATENCY = 0.050
PROMPT_TOKENS = 1600
_LENGTH = b"content-length:"


def _reply(with_scores: bool) -> bytes:
    letters = [f" {letter}" for letter in "ABCDEFGHIJKLMNOPQRST"]
    alternatives = [
        {"token": letter, "logprob": -0.5 - number, "bytes": list(letter.encode())}
        for number, letter in enumerate(letters)
    ]
    scores = {"content": [{**alternatives[0], "top_logprobs": alternatives}]} if with_scores else None
    message = {"role": "assistant", "content": "A", "refusal": None}
    body = orjson.dumps(
        {
            "id": "stub",
            "object": "chat.completion",
            "created": 0,
            "model": "stub",
            "choices": [{"index": 0, "message": message, "logprobs": scores, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": PROMPT_TOKENS,
                "completion_tokens": 1,
                "total_tokens": PROMPT_TOKENS + 1,
            },
        }
    )
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


PLAIN, SCORED = _reply(False), _reply(True)


class Stub(asyncio.Protocol):
    """One connection: requests come one after the other, as HTTP/1.1 clients without pipelining send them."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._end = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received = self._received + data if self._received else data
        if not self._end:
            head = self._received.find(b"\r\n\r\n")
            if head < 0:
                return
            headers = self._received[:head].lower()
            place = headers.find(_LENGTH)
            length = int(headers[place + len(_LENGTH) :].split(b"\r\n", 1)[0]) if place >= 0 else 0
            self._end = head + 4 + length
        if len(self._received) >= self._end:
            reply = self.reply(self._received)
            self._received, self._end = b"", 0
            asyncio.get_running_loop().call_later(LATENCY, self._answer, reply)

    def reply(self, request: bytes) -> bytes:
        """What is answered."""
        return SCORED if b'"logprobs":true' in request else PLAIN

    def _answer(self, reply: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(reply)


async def _serve(port: "Connection[int, int]", protocol: type[Stub]) -> None:
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, backlog=1024)
    port.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def _main(port: "Connection[int, int]", protocol: type[Stub]) -> None:
    asyncio.run(_serve(port, protocol))


@contextmanager
def stub_endpoint(protocol: type[Stub] = Stub) -> Iterator[str]:
    """The address of a stub, or of one that answers otherwise, that lives as long as the block."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_main, args=(theirs, protocol), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}/v1"
    finally:
        process.kill()
        process.join()
