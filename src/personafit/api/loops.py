"""Asynchronous work called from plain code: with a loop of its own, on a thread where a loop is running already, as in a notebook."""

import asyncio
import contextlib
import contextvars
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

from personafit.engine import STOP, Stop

T = TypeVar("T")


def run_to_end(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return the result of the work; Ctrl-C lets it end in good order and return what there is."""

    def run() -> T:
        return asyncio.run(work())

    return _on_a_thread(run) if _loop_is_running() else run()


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _on_a_thread(work: Callable[[], T]) -> T:
    """What the work returns, done on a thread; the first Ctrl-C lets it end in good order and return what there is."""
    stop, came = Stop(), Future[T]()
    context = contextvars.copy_context()
    context.run(STOP.set, stop)

    def done() -> None:
        try:
            came.set_result(context.run(work))
        except BaseException as error:
            came.set_exception(error)

    thread = threading.Thread(target=done, name="personafit", daemon=True)
    with _stopping_on_interrupt(stop):
        thread.start()
        try:
            return came.result()
        except KeyboardInterrupt:
            if came.done() or stop.requested:
                raise
            stop.stop()
            return came.result()


@contextlib.contextmanager
def _stopping_on_interrupt(stop: Stop) -> Iterator[None]:
    """While this is open, the first Ctrl-C asks the work to end; a second one does what it would have done before.

    A loop that runs on the main thread may have taken Ctrl-C for itself, and would not hear of it before we return.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def asked(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        # Not here: the thread that is interrupted may hold what is needed for it.
        threading.Thread(target=stop.stop, name="personafit-stop", daemon=True).start()

    if before is None:
        yield
        return
    signal.signal(signal.SIGINT, asked)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
