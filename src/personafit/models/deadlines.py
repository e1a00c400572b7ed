"""Ends calls that take too long, without a timer for each of them.

With hundreds of calls at once, setting and cancelling a timer per call is a tenth of all a client's work. Here calls are written
down with the time by which they must have ended, and looked through a few times within that time.
"""

import asyncio
from typing import Any

LOOKS = 20  # within the time a call has, so it may take a twentieth longer
LONGEST_PAUSE = 0.5  # seconds between looks


class Deadlines:
    """The calls under way; all have the same number of seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._pause = min(seconds / LOOKS, LONGEST_PAUSE)
        self._until: dict[asyncio.Task[Any], float] = {}
        self._overdue: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> "asyncio.Task[Any]":
        """The running task makes a call; it is cancelled if it has not ended it in time."""
        task = asyncio.current_task()
        assert task is not None
        loop = task.get_loop()
        self._until[task] = loop.time() + self._seconds
        if self._timer is None:
            self._timer = loop.call_later(self._pause, self._look, loop)
        return task

    def end(self, task: "asyncio.Task[Any]") -> None:
        """The task's call is over, however it ended."""
        self._until.pop(task, None)

    def passed(self, task: "asyncio.Task[Any]") -> bool:
        """Whether a cancelled task was cancelled for being late, and for nothing else."""
        if task not in self._overdue:
            return False
        self._overdue.remove(task)
        return task.uncancel() == 0

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        late = []
        for task, until in self._until.items():
            if until > now:
                break  # they were written down in the order in which they end
            late.append(task)
        for task in late:
            del self._until[task]
            self._overdue.add(task)
            task.cancel()
        self._timer = loop.call_later(self._pause, self._look, loop) if self._until else None
