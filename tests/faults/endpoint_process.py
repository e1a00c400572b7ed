"""The stub endpoint as a process of its own, so that it can be stopped, killed and started again on the same port.

`python -m tests.faults.endpoint_process PORT LOG`: a line goes to LOG for every request taken (`got`) and every reply
handed over (`done`), each with a hash of the prompt.
"""

import asyncio
import hashlib
import os
import sys
import threading
from pathlib import Path

from aiohttp import web

from tests.stub_endpoint import BEHAVIOURS, Body, StubEndpoint, with_letters

THINKS = 0.03  # seconds for each reply, so that a run is not over before its test disturbs it


def main() -> None:
    """Serve until killed."""
    port, log = int(sys.argv[1]), Path(sys.argv[2])
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def answer(_stub: StubEndpoint, request: web.Request, body: Body) -> web.StreamResponse:
        prompt = hashlib.sha256(body["messages"][0]["content"].encode()).hexdigest()
        os.write(descriptor, f"got {prompt}\n".encode())
        await asyncio.sleep(THINKS)
        response = web.json_response(with_letters(body))
        await response.prepare(request)
        await response.write_eof()
        os.write(descriptor, f"done {prompt}\n".encode())
        return response

    BEHAVIOURS["letters"] = answer
    with StubEndpoint(port=port):
        print("ready", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
