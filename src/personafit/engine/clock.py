"""Time during which the process could work.

A process that is stopped (Ctrl-Z, a frozen container) finds all its waits overdue when it goes on. That says nothing
about the endpoint, so the patience with a failing job is measured without such standstills.
"""

import asyncio
import time

TICK = 1.0
GRACE = 4.0  # seconds a tick may be late on a busy machine before it counts as a standstill


class WorkClock:
    """A monotonic clock that leaves out standstills; it ticks while its block runs."""

    def __init__(self) -> None:
        self._seen = time.monotonic()
        self._lost = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> "WorkClock":
        self._tick()
        return self

    def __exit__(self, *_exc: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def now(self) -> float:
        """Seconds since some moment, standstills left out."""
        self._look()
        return self._seen - self._lost

    def _look(self) -> None:
        """Note the time; whoever comes first after a standstill finds it out."""
        now = time.monotonic()
        if self._timer is not None and now - self._seen > TICK + GRACE:
            self._lost += now - self._seen
        self._seen = now

    def _tick(self) -> None:
        self._look()
        self._timer = asyncio.get_running_loop().call_later(TICK, self._tick)
