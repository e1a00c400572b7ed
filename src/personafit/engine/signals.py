"""Ending in good order: the first Ctrl-C or SIGTERM lets the run store what is finished."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def stop_on_signals(work: "asyncio.Future[list[None]]") -> Iterator[list[int]]:
    """Let the first Ctrl-C (or SIGTERM) end the work in good order; a second one ends the program at once."""
    received: list[int] = []
    before: dict[int, Any] = {}
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        received.append(number)
        let_go()
        work.cancel()

    def let_go() -> None:
        while before:
            number, handler = before.popitem()
            loop.remove_signal_handler(number)
            signal.signal(number, handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):  # not on the main thread
            handler = signal.getsignal(number)
            loop.add_signal_handler(number, stop, number)
            before[number] = signal.SIG_DFL if handler is None else handler
    try:
        yield received
    finally:
        let_go()
