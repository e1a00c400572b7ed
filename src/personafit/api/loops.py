"""Run asynchronous work from synchronous code: in its own event loop, on a thread if a loop is already running, as in a notebook."""

import asyncio
import contextlib
import contextvars
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

from personafit._errors import UserError
from personafit.engine import STOP, Stop
from personafit.models.spec import IMPORTING

T = TypeVar("T")


def run_to_end(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return the result of the work; Ctrl-C ends it in good order and returns the partial result.

    Raises:
        UserError: If a module that a spec names starts work while it is imported, which would never end.
    """
    if module := IMPORTING.get():
        raise UserError(
            f'{module} starts a run when it is imported; put the call under `if __name__ == "__main__":`, as specs that name '
            "the module import it."
        )

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
    """Return the result of the work, done on a thread; the first Ctrl-C ends it in good order and returns the partial result."""
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
    """Within this context, the first Ctrl-C asks the work to end; the second one has its former effect.

    A loop on the main thread may have its own handler for Ctrl-C, which would not run before we return.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def asked(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        # On another thread: the interrupted one may hold locks that stopping needs.
        threading.Thread(target=stop.stop, name="personafit-stop", daemon=True).start()

    if before is None:
        yield
        return
    signal.signal(signal.SIGINT, asked)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
