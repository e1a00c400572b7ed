"""The thread that writes raters' answers; answers that arrive during a transaction are batched into the next one.

A single disk sync then serves the whole batch. An answer is acknowledged once its transaction is on disk.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from personafit.label.answers import (
    BUSY,
    Answer,
    AnswerBatch,
    AnswerReceipt,
    NotStored,
    Standing,
    StoredAsk,
)
from personafit.store import tables as t
from personafit.store.inserting import DriverInsert, insert_new
from personafit.store.records import ask_row, judgment_row

MOST_AT_ONCE = 256
SEEN_EVERY = 10.0  # seconds between updates of when a rater was last active

Waiting = tuple[Answer, "asyncio.Future[AnswerReceipt]"]
Rows = Sequence[dict[str, Any]]
Results = Sequence[AnswerReceipt | Exception]

plan, raters = t.study_plan.c, t.study_raters.c
SEAT = {"study": sa.Text, "seat": sa.Integer}
PLACE = SEAT | {"position": sa.BigInteger}


class AnswerTables:
    """The SQL statements that store answers. Each takes its rows as one JSON parameter, so it is compiled and prepared once."""

    def __init__(self, dialect: sa.Dialect) -> None:
        self._postgres = dialect.name == "postgresql"
        self._add_asks, self._add_judgments = (
            self._adding(table, dialect) for table in (t.asks, t.judgments)
        )
        # Outer joins make the database start from the given rows.
        page = self._given(**PLACE)
        self._standing = sa.select(
            *page.c, plan.page, raters.state, t.studies.c.state, plan.done, raters.seen
        ).select_from(
            page.outerjoin(t.study_plan, _same(t.study_plan, page, PLACE))
            .outerjoin(t.study_raters, _same(t.study_raters, page, SEAT))
            .outerjoin(t.studies, t.studies.c.name == page.c.study)
        )
        job = self._given(job=sa.Text)
        asks, judgments = t.asks.c, t.judgments.c
        self._held = sa.select(
            asks.job, asks.id, asks.generation, judgments.label, asks.detail
        ).select_from(
            job.outerjoin(t.asks, asks.job == job.c.job).outerjoin(t.judgments, judgments.ask == asks.id)
        )  # fmt: skip
        done, seen = self._given(**PLACE, done=sa.Float), self._given(**SEAT, seen=sa.Float)
        self._done = sa.update(t.study_plan).values(done=done.c.done)
        self._done = self._done.where(_same(t.study_plan, done, PLACE))
        self._seen = sa.update(t.study_raters).values(seen=seen.c.seen)
        self._seen = self._seen.where(_same(t.study_raters, seen, SEAT))

    def write(self, connection: sa.Connection, answers: Sequence[Answer]) -> Results:
        """Insert the answers that are new, and update which pages are done and when raters were last active."""
        if self._postgres:
            # A prepared plan is cached; made on a new study's empty tables, it would keep scanning them sequentially.
            connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        batch, now = AnswerBatch(answers), time.time()
        places = [dict(zip(PLACE, place, strict=True)) for place in batch.places()]
        found = connection.execute(self._standing, _json(places))
        standing = {(study, seat, position): Standing(*rest) for study, seat, position, *rest in found}
        held = connection.execute(self._held, _json([{"job": job} for job in batch.jobs()]))
        known = [StoredAsk(*row[:4], orjson.loads(row.detail or "{}")) for row in held if row.job is not None]
        batch.settle(standing, known, now)
        if batch.added:
            self._add_asks(connection, [ask_row(one.ask) for one in batch.added])
            self._add_judgments(connection, [judgment_row(one.judgments[0]) for one in batch.added])
        done = [
            dict(zip(PLACE, place, strict=True), done=now if finished else None)
            for place, finished in sorted(batch.pages.items())
            if finished != (standing[place].done is not None)
        ]
        there = {place[:2] for place in batch.pages if now - (standing[place].seen or 0.0) > SEEN_EVERY}
        seen = [dict(zip(SEAT, seat, strict=True), seen=now) for seat in sorted(there)]
        if done:
            connection.execute(self._done, _json(done))
        if seen:
            connection.execute(self._seen, _json(seen))
        return batch.results

    def _adding(self, table: sa.Table, dialect: sa.Dialect) -> Callable[[sa.Connection, Rows], object]:
        """Return a function that inserts rows not yet stored; many columns from JSON are fast in PostgreSQL, slow in SQLite."""
        if not self._postgres:
            return DriverInsert(insert_new(table, dialect), dialect).add
        given = self._given(**{one.name: one.type for one in table.c})
        statement = insert_new(table, dialect).from_select(list(table.c.keys()), sa.select(*given.c))
        return lambda connection, rows: connection.execute(statement, _json(rows))

    def _given(self, **types: Any) -> sa.FromClause:
        """Return the rows of the JSON parameter as a table."""
        rows = sa.bindparam("rows", type_=sa.Text)
        if self._postgres:
            columns = (sa.column(name, kind) for name, kind in types.items())
            return (
                sa.func.json_to_recordset(sa.cast(rows, sa.JSON))
                .table_valued(*columns)
                .render_derived(with_types=True)
            )
        each = sa.func.json_each(rows).table_valued("value")
        values = (
            sa.func.json_extract(each.c.value, f"$.{name}", type_=kind).label(name)
            for name, kind in types.items()
        )
        return sa.select(*values).subquery()


def _same(table: sa.FromClause, given: sa.FromClause, names: Any) -> Any:
    return sa.and_(*(table.c[name] == given.c[name] for name in names))


def _json(rows: Rows) -> dict[str, str]:
    return {"rows": orjson.dumps(rows).decode()}


class Writer:
    """Collects answers from concurrent requests of one event loop and writes them in batches."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._tables = AnswerTables(engine.dialect)
        self._arrived: list[Waiting] = []
        self._writing = False
        self._batches: queue.SimpleQueue[tuple[asyncio.AbstractEventLoop, list[Waiting]] | None]
        self._batches = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="answers", daemon=True)
        self._thread.start()

    async def save(self, answer: Answer) -> AnswerReceipt:
        """Store an answer and return once it is on disk; raise `NotStored` if it is rejected."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[AnswerReceipt] = loop.create_future()
        self._arrived.append((answer, future))
        if not self._writing:
            self._writing = True
            loop.call_soon(self._hand_over, loop)  # batched with the other answers of this loop iteration
        return await future

    def close(self) -> None:
        """Write what was handed over and stop; answers still waiting were never acknowledged."""
        self._batches.put(None)
        self._thread.join()

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        batch, self._arrived = self._arrived[:MOST_AT_ONCE], self._arrived[MOST_AT_ONCE:]
        self._batches.put((loop, batch))

    def _settle(self, loop: asyncio.AbstractEventLoop, batch: list[Waiting], results: Results) -> None:
        for (_, future), result in zip(batch, results, strict=True):
            if future.done():  # the browser has disconnected; the answer is stored anyway
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
            except Exception as error:  # every waiting request must get the error
                results = [error] * len(batch)
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._settle, loop, batch, results)

    def _store(self, answers: Sequence[Answer]) -> Results:
        try:
            with self._engine.begin() as connection:
                return self._tables.write(connection, answers)
        except (SQLAlchemyError, OSError):
            # One bad answer must not fail the others of its batch, so store each by itself.
            if len(answers) == 1:
                return [NotStored(BUSY, 503)]
            return [result for answer in answers for result in self._store([answer])]
