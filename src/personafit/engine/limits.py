"""Limits per endpoint: the number of concurrent calls, and how often and how long a failing call is retried.

Slow start adds one slot per success, which doubles the limit each round trip; an overload reduces it by a third, at most
once a second, and the pause that the server requests is respected; from then on each round trip of successes adds one slot.
"""

import asyncio
import random
import time
from collections import deque
from dataclasses import dataclass

START = 16
SHRINK = 0.67
DEBOUNCE_SECONDS = 1.0


class AdaptiveLimit:
    """An adaptive semaphore for one endpoint."""

    def __init__(self, maximum: int) -> None:
        self.maximum = max(1, maximum)
        self.limit = float(min(START, self.maximum))
        self._slow_start = True
        self._active = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._last_shrink = 0.0

    def taken_at_once(self) -> bool:
        """Take a slot without waiting if one is free and the endpoint never requested a pause; return whether it was taken."""
        if self._active + 1 > self.limit or self._paused_until:
            return False
        self._active += 1
        return True

    async def acquire(self) -> None:
        """Wait for a slot, and for the end of any pause that the endpoint requested."""
        while self._active >= int(self.limit):
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                self._wake()  # the slot may have been granted already: pass it on
                raise
        self._active += 1
        try:
            while (pause := self._paused_until - time.monotonic()) > 0:
                await asyncio.sleep(pause)
        except asyncio.CancelledError:
            self.release()
            raise

    def release(self) -> None:
        self._active -= 1
        self._wake()

    def succeeded(self) -> None:
        """Record a success, which may raise the limit."""
        if self.limit < self.maximum:
            self.limit = min(self.maximum, self.limit + (1.0 if self._slow_start else 1.0 / self.limit))
            self._wake()

    def overloaded(self, retry_after: float | None) -> None:
        """Record an overload: lower the limit, and pause for as long as the server requests."""
        now = time.monotonic()
        if retry_after:
            self._paused_until = max(self._paused_until, now + retry_after)
        self._slow_start = False
        if now - self._last_shrink >= DEBOUNCE_SECONDS:
            self._last_shrink = now
            self.limit = max(1.0, self.limit * SHRINK)

    def _wake(self) -> None:
        free = int(self.limit) - self._active
        while free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The policy of when to retry a failed job and when to give up."""

    attempts: int = 6
    seconds: float = 180.0
    first_pause: float = 0.5
    longest_pause: float = 30.0
    stop_after: int = 10
    """A lane stops after this many consecutive permanent failures, if the endpoint and not the items is at fault."""

    def pause(self, attempt: int, elapsed: float, retry_after: float | None) -> float | None:
        """Return the seconds to wait before the next try, or None to give up."""
        if attempt >= self.attempts or elapsed >= self.seconds:
            return None
        if retry_after:  # a requested pause of 0 is ignored: it would spend all attempts at once
            # Give up if the server requests a longer pause than the policy allows.
            return retry_after if elapsed + retry_after <= self.seconds else None
        ceiling = min(self.longest_pause, self.first_pause * 2.0 ** (attempt - 1))
        return ceiling * random.uniform(0.5, 1.0)  # nosec B311 # jitter only spreads load, it never touches a result


TICK = 1.0
GRACE = 4.0  # seconds a tick may be late on a busy machine before it counts as a suspension


class WorkClock:
    """A monotonic clock that skips suspensions of the process; it ticks while its block runs."""

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
        """Return the seconds since an arbitrary start, suspensions excluded."""
        self._look()
        return self._seen - self._lost

    def _look(self) -> None:
        """Read the time and, after a gap much longer than a tick, count the gap as a suspension."""
        now = time.monotonic()
        if self._timer is not None and now - self._seen > TICK + GRACE:
            self._lost += now - self._seen
        self._seen = now

    def _tick(self) -> None:
        self._look()
        self._timer = asyncio.get_running_loop().call_later(TICK, self._tick)
