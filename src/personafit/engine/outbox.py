"""Outcomes on their way into the store: handed in one by one, taken out in batches.

A batch is taken when it is large enough or its first outcome has waited long enough; whoever makes outcomes faster than
they can be stored waits.
"""

import asyncio
import contextlib

from personafit.engine.lane_run import FinishedJob

WRITE_ROWS = 2000
WRITE_SECONDS = 0.25
MOST_HELD = 4 * WRITE_ROWS


class Outbox:
    """What was made and is not stored yet, in the order it was made."""

    def __init__(self) -> None:
        self._made: list[FinishedJob] = []
        self._some = asyncio.Event()
        self._enough = asyncio.Event()
        self._taken = asyncio.Event()
        self._closed = False

    @property
    def crowded(self) -> bool:
        """Whether to wait for room before making more."""
        return len(self._made) >= MOST_HELD

    def put(self, made: FinishedJob) -> None:
        """Hand an outcome in."""
        self._made.append(made)
        count = len(self._made)
        if count == 1:
            self._some.set()
        elif count == WRITE_ROWS:
            self._enough.set()

    async def room(self) -> None:
        """Wait until it is not crowded any more."""
        while self.crowded:
            self._taken.clear()
            await self._taken.wait()

    async def take(self) -> list[FinishedJob]:
        """The next batch; an empty one when the box is closed and nothing is left."""
        await self._some.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(WRITE_SECONDS):
                await self._enough.wait()
        batch, self._made = self._made, []
        if not self._closed:
            self._some.clear()
            self._enough.clear()
        self._taken.set()
        return batch

    def close(self) -> None:
        """Nothing more will be handed in."""
        self._closed = True
        self._some.set()
        self._enough.set()
