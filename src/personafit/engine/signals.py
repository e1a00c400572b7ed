"""Graceful shutdown: on the first Ctrl-C, SIGTERM or `Stop`, the run stores what is finished and ends."""

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any


class Stop:
    """A handle that ends runs gracefully from any thread; signals reach the main thread only.

    Runs that begin after `stop` was called end at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._endings: list[Callable[[], None]] = []
        self.requested = False

    def stop(self) -> None:
        """End all registered runs; what is finished is stored."""
        with self._lock:
            self.requested = True
            endings = list(self._endings)
        for end in endings:
            end()

    @contextlib.contextmanager
    def ending(self, end: Callable[[], None]) -> Iterator[None]:
        """Register `end` within the block, so that `stop` calls it."""
        with self._lock:
            self._endings.append(end)
            requested = self.requested
        if requested:
            end()
        try:
            yield
        finally:
            with self._lock:
                self._endings.remove(end)


STOP: ContextVar[Stop | None] = ContextVar("STOP", default=None)
"""The `Stop` of runs in this context, if the caller set one."""


@contextlib.contextmanager
def stop_on_signals(work: "asyncio.Future[list[None]]") -> Iterator[list[int]]:
    """Cancel the work on the first Ctrl-C, SIGTERM or `Stop`; a second signal ends the program at once.

    Yields the list of received signals: if it is empty, a cancellation came from elsewhere.
    """
    received: list[int] = []
    before: dict[int, Any] = {}
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        received.append(number)
        let_go()
        work.cancel()

    def stop_from_anywhere() -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: the work has ended
            loop.call_soon_threadsafe(stop, signal.SIGINT)

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
    stopper = STOP.get()
    try:
        with contextlib.nullcontext() if stopper is None else stopper.ending(stop_from_anywhere):
            yield received
    finally:
        let_go()
