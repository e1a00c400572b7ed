"""How many calls an endpoint gets at once: fast growth until it complains, then gentle sawtooth.

Slow start adds one slot per success, which doubles the limit each round trip; an overload takes a third off, at most
once a second, and honours the pause the server asks for; from then on a round trip of successes adds one slot.
"""

import asyncio
import time
from collections import deque

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
        """Take a slot if one is free and the endpoint never asked for a pause; the usual case, without a wait."""
        if self._active + 1 > self.limit or self._paused_until:
            return False
        self._active += 1
        return True

    async def acquire(self) -> None:
        """Wait for a slot, and for the end of a pause the endpoint asked for."""
        while self._active >= int(self.limit):
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                self._wake()  # the turn may have been ours already: whoever is next gets it
                raise
        self._active += 1
        try:
            while (pause := self._paused_until - time.monotonic()) > 0:
                await asyncio.sleep(pause)
        except asyncio.CancelledError:
            self.release()
            raise

    def release(self) -> None:
        """Give the slot back."""
        self._active -= 1
        self._wake()

    def succeeded(self) -> None:
        """Note a good answer: the limit may grow."""
        if self.limit < self.maximum:
            self.limit = min(self.maximum, self.limit + (1.0 if self._slow_start else 1.0 / self.limit))
            self._wake()

    def overloaded(self, retry_after: float | None) -> None:
        """Note that the endpoint complained: shrink, and pause if it says for how long."""
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
