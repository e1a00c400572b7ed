"""Ending in good order: the first Ctrl-C, SIGTERM or `Stop` lets the run store what is finished."""

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any


class Stop:
    """Ends the runs of a context in good order, from whatever thread; signals reach the main thread only.

    Work that begins after `stop` was called ends at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._endings: list[Callable[[], None]] = []
        self.requested = False

    def stop(self) -> None:
        """Let the work end; what is finished is stored."""
        with self._lock:
            self.requested = True
            endings = list(self._endings)
        for end in endings:
            end()

    @contextlib.contextmanager
    def ending(self, end: Callable[[], None]) -> Iterator[None]:
        """While this is open, `stop` calls `end`."""
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
"""What ends the runs that are carried out here, where somebody wants to be able to."""


@contextlib.contextmanager
def stop_on_signals(work: "asyncio.Future[list[None]]") -> Iterator[list[int]]:
    """Let the first Ctrl-C, SIGTERM or `Stop` end the work in good order; a second signal ends the program at once.

    Yields the list of what was received: where it is empty, a cancellation came from elsewhere.
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
