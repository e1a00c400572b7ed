"""The one thread that writes raters' answers: those that arrive while it writes go together into the next transaction.

One sync of the disk, and on PostgreSQL two journeys to the server, then serve them all. An answer is acknowledged when its
transaction is on disk.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Sequence

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from personafit.labeling.answer_tables import answer_tables
from personafit.labeling.answers import BUSY, Answer, AnswerBatch, AnswerReceipt, NotStored

MOST_AT_ONCE = 256
SEEN_EVERY = 10.0  # seconds between two notes of when a rater was last there

Waiting = tuple[Answer, "asyncio.Future[AnswerReceipt]"]
Results = Sequence[AnswerReceipt | Exception]


class Writer:
    """Takes answers from any number of requests of one event loop and writes them together."""

    def __init__(self, engine: Engine) -> None:
        self._tables = answer_tables(engine)
        self._noted: dict[tuple[str, int], float] = {}
        self._arrived: list[Waiting] = []
        self._writing = False
        self._batches: queue.SimpleQueue[tuple[asyncio.AbstractEventLoop, list[Waiting]] | None]
        self._batches = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="answers", daemon=True)
        self._thread.start()

    async def save(self, answer: Answer) -> AnswerReceipt:
        """Store an answer; returns only when it is on disk. Raises `NotStored`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[AnswerReceipt] = loop.create_future()
        self._arrived.append((answer, future))
        if not self._writing:
            self._writing = True
            loop.call_soon(self._hand_over, loop)  # with whatever else this turn of the loop brings
        return await future

    def close(self) -> None:
        """Write what was handed over and stop; the rest was never acknowledged."""
        self._batches.put(None)
        self._thread.join()
        self._tables.close()

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        batch, self._arrived = self._arrived[:MOST_AT_ONCE], self._arrived[MOST_AT_ONCE:]
        self._batches.put((loop, batch))

    def _settle(self, loop: asyncio.AbstractEventLoop, batch: list[Waiting], results: Results) -> None:
        for (_, future), result in zip(batch, results, strict=True):
            if future.done():  # the browser has gone; the answer is stored all the same
                continue
            if isinstance(result, AnswerReceipt):
                future.set_result(result)
            else:
                future.set_exception(result)
        if self._arrived:
            self._hand_over(loop)
        else:
            self._writing = False

    def _work(self) -> None:
        while (given := self._batches.get()) is not None:
            loop, batch = given
            results: Results
            try:
                results = self._store([answer for answer, _ in batch])
            except Exception as error:  # whatever it is, those who wait must hear of it
                results = [error] * len(batch)
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._settle, loop, batch, results)

    def _store(self, answers: Sequence[Answer]) -> Results:
        try:
            return self._write(answers)
        except (SQLAlchemyError, OSError, self._tables.error):
            # One answer that no database takes must not fail those beside it: each by itself then.
            if len(answers) == 1:
                return [NotStored(BUSY, 503)]
            return [result for answer in answers for result in self._store([answer])]

    def _write(self, answers: Sequence[Answer]) -> Results:
        batch, now = AnswerBatch(answers), time.time()
        with self._tables.transaction() as transaction:
            batch.settle(*transaction.read(batch.places(), batch.jobs()), now)
            seats = {(study, seat) for study, seat, _ in batch.pages}
            stale = sorted(one for one in seats if now - self._noted.get(one, 0.0) > SEEN_EVERY)
            transaction.write(batch.asks, batch.judgments, batch.done_rows(now), _seen_rows(stale, now))
        self._noted |= dict.fromkeys(stale, now)
        return batch.results


def _seen_rows(seats: Sequence[tuple[str, int]], now: float) -> list[dict[str, object]]:
    return [{"study": study, "seat": seat, "seen": now} for study, seat in seats]
