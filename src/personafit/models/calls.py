"""Helpers for concurrent calls: connection pools shared per address, deadlines without a timer per call, and threads for the user's
functions.
"""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import aiohttp

_Pools = dict[str, tuple["aiohttp.TCPConnector", int]]
_POOLS: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Pools]" = WeakKeyDictionary()


def borrow_pool(url: str) -> "aiohttp.TCPConnector":
    """Return the connection pool of an address; release it with `give_pool_back`."""
    import aiohttp

    pools = _POOLS.setdefault(asyncio.get_running_loop(), {})
    pool, borrowers = pools.get(url, (None, 0))
    if pool is None:
        # The engine decides how many calls run at once; the pool must not be a second, hidden limit.
        pool = aiohttp.TCPConnector(limit=0, ttl_dns_cache=300)
    pools[url] = (pool, borrowers + 1)
    return pool


async def give_pool_back(url: str) -> None:
    """Release a pool; its connections are closed when the last user has released it."""
    pools = _POOLS.get(asyncio.get_running_loop(), {})
    if url not in pools:
        return
    pool, borrowers = pools.pop(url)
    if borrowers > 1:
        pools[url] = (pool, borrowers - 1)
    else:
        await pool.close()


LOOKS = 20  # checks per time limit, so a call may take a twentieth longer
LONGEST_PAUSE = 0.5  # seconds between checks


class Deadlines:
    """Cancels calls that exceed a common time limit in seconds.

    With hundreds of concurrent calls, setting and cancelling a timer per call takes a tenth of a client's time. Instead, the deadline
    of each call is recorded, and all are checked a few times within the limit.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._pause = min(seconds / LOOKS, LONGEST_PAUSE)
        self._until: dict[asyncio.Task[Any], float] = {}
        self._overdue: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> "asyncio.Task[Any]":
        """Start the clock for a call of the running task, which is cancelled if the call takes too long."""
        task = asyncio.current_task()
        assert task is not None
        loop = task.get_loop()
        self._until[task] = loop.time() + self._seconds
        if self._timer is None:
            self._timer = loop.call_later(self._pause, self._look, loop)
        return task

    def end(self, task: "asyncio.Task[Any]") -> None:
        """Stop the clock of the task's call, whether it succeeded or failed."""
        self._until.pop(task, None)

    def passed(self, task: "asyncio.Task[Any]") -> bool:
        """Return whether the task was cancelled only because its call exceeded the limit."""
        if task not in self._overdue:
            return False
        self._overdue.remove(task)
        return task.uncancel() == 0

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        late = []
        for task, until in self._until.items():
            if until > now:
                break  # deadlines are recorded in ascending order
            late.append(task)
        for task in late:
            del self._until[task]
            self._overdue.add(task)
            task.cancel()
        self._timer = loop.call_later(self._pause, self._look, loop) if self._until else None


Inbox = SimpleQueue[Callable[["Inbox"], None]]
_idle: list[Inbox] = []  # queues of threads waiting for work


async def in_thread(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a user's function on a thread of its own, where it may block, and return its result or raise its error.

    The event loop's default threads are few, and the store uses them: blocking functions there would keep finished replies from
    being stored. These threads are as many as there are calls, and the program does not wait for them when it exits.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    called = partial(contextvars.copy_context().run, function, *arguments, **named)

    def settle(came: tuple[Any, BaseException | None]) -> None:
        if not ended.done():  # or the caller was cancelled
            ended.set_result(came)

    def work(inbox: Inbox) -> None:
        came: tuple[Any, BaseException | None]
        try:
            came = called(), None
        except BaseException as error:
            came = None, error
        _idle.append(inbox)
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, came)

    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = SimpleQueue()
        threading.Thread(target=_serve, args=(inbox,), name="function", daemon=True).start()
    inbox.put(work)
    result, error = await ended
    if error is not None:
        raise error
    return result


def _serve(inbox: Inbox) -> None:
    while True:
        inbox.get()(inbox)
