"""The one thread that writes raters' answers: those that arrive while it writes go together into the next transaction.

One sync of the disk, and on PostgreSQL two journeys to the server, then serve them all. An answer is acknowledged when its
transaction is on disk.

The few statements by which answers are read and written are fixed texts, so that drivers keep them prepared, and go to the driver as
they are: of what storing one answer takes, building a statement would be the larger part. SQLite is in this process and takes row
after row; PostgreSQL takes all rows as one JSON text, and statements that wait for no result travel together.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Self

import orjson
from sqlalchemy import BigInteger, Engine, Float, Integer, PoolProxiedConnection, Table
from sqlalchemy.exc import SQLAlchemyError

from personafit.label.answers import (
    BUSY,
    UNDONE,
    Answer,
    AnswerBatch,
    AnswerReceipt,
    NotStored,
    PagePlace,
    Standing,
    StoredAsk,
)
from personafit.store import tables as t

MOST_AT_ONCE = 256
SEEN_EVERY = 10.0  # seconds between two notes of when a rater was last there

Rows = Sequence[dict[str, Any]]
Waiting = tuple[Answer, "asyncio.Future[AnswerReceipt]"]
Results = Sequence[AnswerReceipt | Exception]

SAME_FOR_ALL = {  # what every answer of a person has in these columns
    "context": "NULL",
    "sample": "0",
    "reply": "NULL",
    "reasoning": "NULL",
    "tokens_in": "0",
    "tokens_out": "0",
    "tokens_reasoning": "0",
    "cost": "0.0",
    "attempts": "1",
    "parse": "0",
}
UNDONE_MARK = f'"why":"{UNDONE}"'


class SqliteTables:
    """Reads and writes answers in SQLite, in transactions on a connection of its own."""

    SETTINGS = ""
    """What sets a new connection up, beside what the store's engine does."""
    # CROSS JOIN keeps the order: from the few pages asked for to the tables' keys.
    PLACES = """
        SELECT p.study, p.seat, p.position, p.page, r.state, s.state
        FROM json_each(?) AS v
        CROSS JOIN study_plan AS p
            ON p.study = json_extract(v.value, '$.study') AND p.seat = json_extract(v.value, '$.seat')
            AND p.position = json_extract(v.value, '$.position')
        CROSS JOIN study_raters AS r ON r.study = p.study AND r.seat = p.seat
        CROSS JOIN studies AS s ON s.name = p.study"""
    HELD = f"""
        SELECT job, id, generation, instr(coalesce(detail, ''), '{UNDONE_MARK}') > 0
        FROM asks WHERE job IN (SELECT value FROM json_each(?))"""
    DONE = "UPDATE study_plan SET done = :done WHERE study = :study AND seat = :seat AND position = :position"
    SEEN = "UPDATE study_raters SET seen = :seen WHERE study = :study AND seat = :seat"

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.error: type[Exception] = engine.dialect.loaded_dbapi.Error
        self._connection: PoolProxiedConnection | None = None
        self._asks, self._judgments = self._insert(t.asks), self._insert(t.judgments)

    @contextmanager
    def transaction(self) -> Iterator[Self]:
        """Everything or nothing; a connection that fails is not used again."""
        fresh = self._connection is None
        if self._connection is None:
            self._connection = self._engine.raw_connection()
        try:
            if fresh and self.SETTINGS:
                self._driver.execute(self.SETTINGS)
            with self._begun(self._connection):
                yield self
        except BaseException:
            with suppress(self.error):
                self._connection.rollback()
            self._connection.invalidate()
            self._connection = None
            raise

    def read(
        self, places: Sequence[PagePlace], jobs: Sequence[str]
    ) -> tuple[dict[PagePlace, Standing], list[StoredAsk]]:
        """How it is with pages, and the asks of jobs."""
        wanted = [{"study": study, "seat": seat, "position": position} for study, seat, position in places]
        cursors = [
            self._driver.execute(statement, (orjson.dumps(values).decode(),))
            for statement, values in ((self.PLACES, wanted), (self.HELD, jobs))
        ]
        found, held = [cursor.fetchall() for cursor in cursors]
        return (
            {(study, seat, position): Standing(*rest) for study, seat, position, *rest in found},
            [StoredAsk(*row) for row in held],
        )

    def write(self, asks: Rows, judgments: Rows, done: Rows, seen: Rows) -> None:
        """Add asks and judgments, and note which pages are done and who was there."""
        for statement, rows in (
            (self._asks, sorted(asks, key=lambda row: (row["job"], row["id"]))),
            (self._judgments, sorted(judgments, key=lambda row: str(row["ask"]))),
            (self.DONE, done),
            (self.SEEN, seen),
        ):
            if rows:
                self._change(statement, rows)

    def close(self) -> None:
        """Close the connection; it has settings of its own, and nobody else gets it."""
        if self._connection is not None:
            self._connection.invalidate()

    @property
    def _driver(self) -> Any:
        assert self._connection is not None
        return self._connection.driver_connection

    @contextmanager
    def _begun(self, connection: PoolProxiedConnection) -> Iterator[None]:
        self._driver.execute("BEGIN IMMEDIATE")
        yield
        connection.commit()

    def _change(self, statement: str, rows: Rows) -> None:
        self._driver.executemany(statement, rows)

    def _insert(self, table: Table) -> str:
        columns = ", ".join(f'"{column.name}"' for column in table.c)
        values = ", ".join(SAME_FOR_ALL.get(column.name, f":{column.name}") for column in table.c)
        return f"INSERT INTO {table.name} ({columns}) VALUES ({values}) ON CONFLICT DO NOTHING"


class PostgresTables(SqliteTables):
    """The same in PostgreSQL, by psycopg."""

    # Plans are made once and kept, and a study begins with empty tables: without this they would read tables whole for long after.
    SETTINGS = "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan"
    # LATERAL with a limit or offset keeps the order, as above.
    PLACES = """
        SELECT v.study, v.seat, v.position, found.page, found.rater, found.study
        FROM json_to_recordset(%s::json) AS v(study text, seat int, position bigint)
        CROSS JOIN LATERAL (
            SELECT p.page, r.state AS rater, s.state AS study FROM study_plan AS p, study_raters AS r, studies AS s
            WHERE p.study = v.study AND p.seat = v.seat AND p.position = v.position
            AND r.study = v.study AND r.seat = v.seat AND s.name = v.study LIMIT 1
        ) AS found"""
    HELD = f"""
        SELECT v.job, found.id, found.generation, found.undone
        FROM json_array_elements_text(%s::json) AS v(job)
        CROSS JOIN LATERAL (
            SELECT a.id, a.generation, strpos(coalesce(a.detail, ''), '{UNDONE_MARK}') > 0 AS undone
            FROM asks AS a WHERE a.job = v.job OFFSET 0
        ) AS found"""
    DONE = """
        UPDATE study_plan AS p SET done = v.done
        FROM json_to_recordset(%s::json) AS v(study text, seat int, position bigint, done float8)
        WHERE p.study = v.study AND p.seat = v.seat AND p.position = v.position"""
    SEEN = """
        UPDATE study_raters AS r SET seen = v.seen
        FROM json_to_recordset(%s::json) AS v(study text, seat int, seen float8)
        WHERE r.study = v.study AND r.seat = v.seat"""

    @contextmanager
    def _begun(self, connection: PoolProxiedConnection) -> Iterator[None]:
        with self._driver.pipeline():
            yield
            connection.commit()

    def _change(self, statement: str, rows: Rows) -> None:
        self._driver.execute(statement, (orjson.dumps(rows).decode(),))

    def _insert(self, table: Table) -> str:
        columns = ", ".join(f'"{column.name}"' for column in table.c)
        values = ", ".join(SAME_FOR_ALL.get(column.name, f'v."{column.name}"') for column in table.c)
        types = {BigInteger: "bigint", Integer: "int", Float: "float8"}  # the first that fits
        given = ", ".join(
            f'"{column.name}" {next((name for kind, name in types.items() if isinstance(column.type, kind)), "text")}'
            for column in table.c
            if column.name not in SAME_FOR_ALL
        )
        return (
            f"INSERT INTO {table.name} ({columns}) SELECT {values} FROM json_to_recordset(%s::json) AS v({given}) "
            "ON CONFLICT DO NOTHING"
        )


class Writer:
    """Takes answers from any number of requests of one event loop and writes them together."""

    def __init__(self, engine: Engine) -> None:
        self._tables = (PostgresTables if engine.dialect.name == "postgresql" else SqliteTables)(engine)
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
            seen = [{"study": study, "seat": seat, "seen": now} for study, seat in stale]
            transaction.write(batch.asks, batch.judgments, batch.done_rows(now), seen)
        self._noted |= dict.fromkeys(stale, now)
        return batch.results
