"""Threads for functions of the user's own, which may block for as long as they like.

The event loop's own threads are few, and the store is read and written on them: functions that hang there would keep finished
answers from being stored. Here are as many as there are calls, and none that the end of the program waits for.
"""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

_work: SimpleQueue[Callable[[], None]] = SimpleQueue()
_lock = threading.Lock()
_idle = 0


async def in_thread(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What a function returns or raises, called on a thread."""
    global _idle
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    called = partial(contextvars.copy_context().run, function, *arguments, **named)
    came: list[tuple[Any, BaseException | None]] = []

    def work() -> None:
        global _idle
        try:
            came.append((called(), None))
        except BaseException as error:
            came.append((None, error))
        with _lock:
            _idle += 1
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
            loop.call_soon_threadsafe(_settle, ended)

    with _lock:
        found = _idle > 0
        _idle -= found
    if not found:
        threading.Thread(target=_serve, name="function", daemon=True).start()
    _work.put(work)
    await ended
    result, error = came[0]
    if error is not None:
        raise error
    return result


def _serve() -> None:
    while True:
        _work.get()()


def _settle(ended: "asyncio.Future[None]") -> None:
    if not ended.done():  # or the caller has left
        ended.set_result(None)
