"""Ending in good order: the first Ctrl-C or SIGTERM lets the run store what is finished."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def stop_on_signals(work: "asyncio.Future[list[None]]") -> Iterator[list[int]]:
    """Let the first Ctrl-C (or SIGTERM) end the work in good order; a second one ends the program as usual."""
    received: list[int] = []
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        received.append(number)
        loop.remove_signal_handler(number)
        work.cancel()

    handled = []
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):  # not on the main thread
            loop.add_signal_handler(number, stop, number)
            handled.append(number)
    try:
        yield received
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
