"""The one thread that writes raters' answers: those that arrive while it writes go together into the next transaction.

One sync of the disk then serves them all. An answer is acknowledged when its transaction is on disk.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Sequence

import orjson
from sqlalchemy import Connection, Engine, bindparam, select, tuple_, update
from sqlalchemy.exc import SQLAlchemyError

from personafit.label.answers import (
    BUSY,
    Answer,
    AnswerBatch,
    AnswerReceipt,
    NotStored,
    PagePlace,
    Standing,
    StoredAsk,
)
from personafit.store import tables as t
from personafit.store.inserting import insert_new
from personafit.store.records import ask_row, judgment_row

MOST_AT_ONCE = 256

Waiting = tuple[Answer, "asyncio.Future[AnswerReceipt]"]
Results = Sequence[AnswerReceipt | Exception]

plan, raters = t.study_plan.c, t.study_raters.c
PLACE = tuple_(plan.study, plan.seat, plan.position)
STANDING = (
    select(plan.study, plan.seat, plan.position, plan.page, raters.state, t.studies.c.state)
    .join(t.study_raters, (raters.study == plan.study) & (raters.seat == plan.seat))
    .join(t.studies, t.studies.c.name == plan.study)
)
HELD = select(
    t.asks.c.job, t.asks.c.id, t.asks.c.generation, t.judgments.c.label, t.asks.c.detail
).join(t.judgments, t.judgments.c.ask == t.asks.c.id)  # fmt: skip
SEEN = update(t.study_raters).where(raters.study == bindparam("of"), raters.seat == bindparam("by"))
DONE = update(t.study_plan).where(
    plan.study == bindparam("of"), plan.seat == bindparam("by"), plan.position == bindparam("place")
)


class Writer:
    """Takes answers from any number of requests of one event loop and writes them together."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
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
            with self._engine.begin() as connection:
                return _write(connection, answers)
        except (SQLAlchemyError, OSError):
            # One answer that no database takes must not fail those beside it: each by itself then.
            if len(answers) == 1:
                return [NotStored(BUSY, 503)]
            return [result for answer in answers for result in self._store([answer])]


def _write(connection: Connection, answers: Sequence[Answer]) -> Results:
    """Add the answers that are new, and note which pages are done and who was there."""
    batch, now = AnswerBatch(answers), time.time()
    batch.settle(_standing(connection, batch.places()), _held(connection, batch.jobs()), now)
    if batch.added:
        asks = [ask_row(one.ask) for one in batch.added]
        judgments = [judgment_row(judged) for one in batch.added for judged in one.judgments]
        seats = sorted({(study, seat) for study, seat, _ in batch.pages})
        connection.execute(insert_new(t.asks, connection.dialect), asks)
        connection.execute(insert_new(t.judgments, connection.dialect), judgments)
        connection.execute(SEEN, [{"of": study, "by": seat, "seen": now} for study, seat in seats])
        connection.execute(
            DONE,
            [
                {"of": study, "by": seat, "place": position, "done": now if done else None}
                for (study, seat, position), done in sorted(batch.pages.items())
            ],
        )
    return batch.results


def _standing(connection: Connection, places: Sequence[PagePlace]) -> dict[PagePlace, Standing]:
    """How it is with pages, their raters and their studies."""
    rows = connection.execute(STANDING.where(PLACE.in_(places)))
    return {(study, seat, position): Standing(*rest) for study, seat, position, *rest in rows}


def _held(connection: Connection, jobs: Sequence[str]) -> list[StoredAsk]:
    """The asks of jobs."""
    rows = connection.execute(HELD.where(t.asks.c.job.in_(jobs)))
    return [StoredAsk(*row[:4], orjson.loads(row.detail or "{}")) for row in rows]
