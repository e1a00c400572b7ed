"""The few statements by which answers are read and written, as each database does them fastest.

They are fixed texts, so that drivers keep them prepared, and go to the driver as they are: of what storing one answer takes, building
a statement would be the larger part. SQLite is in this process and takes row after row; PostgreSQL takes all rows as one JSON text, and
statements that wait for no result travel together.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

import orjson
from sqlalchemy import BigInteger, Engine, Float, Integer, PoolProxiedConnection, Table

from personafit.labeling.answers import UNDONE, PagePlace, Standing, StoredAsk
from personafit.store import tables as t

Rows = Sequence[dict[str, Any]]

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


def answer_tables(engine: Engine) -> "AnswerTables":
    """The statements for the database at hand."""
    return PostgresTables(engine) if engine.dialect.name == "postgresql" else SqliteTables(engine)


class AnswerTables(ABC):
    """Reads and writes in transactions on a connection of its own."""

    insert: ClassVar[str]
    """How rows go into a table."""
    PLACES: ClassVar[str]
    HELD: ClassVar[str]
    DONE: ClassVar[str]
    SEEN: ClassVar[str]

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.error: type[Exception] = engine.dialect.loaded_dbapi.Error
        self._connection: PoolProxiedConnection | None = None
        self._asks, self._judgments = self._insert(t.asks), self._insert(t.judgments)

    @contextmanager
    def transaction(self) -> Iterator["AnswerTables"]:
        """Everything or nothing; a connection that fails is not used again."""
        fresh = self._connection is None
        if self._connection is None:
            self._connection = self._engine.raw_connection()
        try:
            if fresh:
                self._prepare()
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
        found, held = self._query((self.PLACES, wanted), (self.HELD, jobs))
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

    @abstractmethod
    def _prepare(self) -> None:
        """Set a new connection up."""

    @abstractmethod
    @contextmanager
    def _begun(self, connection: PoolProxiedConnection) -> Iterator[None]: ...

    @abstractmethod
    def _query(self, *statements: tuple[str, Sequence[Any]]) -> list[list[tuple[Any, ...]]]: ...

    @abstractmethod
    def _change(self, statement: str, rows: Rows) -> None: ...

    @abstractmethod
    def _insert(self, table: Table) -> str: ...


class SqliteTables(AnswerTables):
    """SQLite."""

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

    def _prepare(self) -> None:
        pass  # the store's engine has

    @contextmanager
    def _begun(self, connection: PoolProxiedConnection) -> Iterator[None]:
        self._driver.execute("BEGIN IMMEDIATE")
        yield
        connection.commit()

    def _query(self, *statements: tuple[str, Sequence[Any]]) -> list[list[tuple[Any, ...]]]:
        return [
            self._driver.execute(statement, (orjson.dumps(values).decode(),)).fetchall()
            for statement, values in statements
        ]

    def _change(self, statement: str, rows: Rows) -> None:
        self._driver.executemany(statement, rows)

    def _insert(self, table: Table) -> str:
        columns = ", ".join(f'"{column.name}"' for column in table.c)
        values = ", ".join(SAME_FOR_ALL.get(column.name, f":{column.name}") for column in table.c)
        return f"INSERT INTO {table.name} ({columns}) VALUES ({values}) ON CONFLICT DO NOTHING"


class PostgresTables(AnswerTables):
    """PostgreSQL, by psycopg."""

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

    def _prepare(self) -> None:
        self._driver.execute(self.SETTINGS)

    @contextmanager
    def _begun(self, connection: PoolProxiedConnection) -> Iterator[None]:
        with self._driver.pipeline():
            yield
            connection.commit()

    def _query(self, *statements: tuple[str, Sequence[Any]]) -> list[list[tuple[Any, ...]]]:
        cursors = [
            self._driver.execute(statement, (orjson.dumps(values).decode(),))
            for statement, values in statements
        ]
        return [cursor.fetchall() for cursor in cursors]

    def _change(self, statement: str, rows: Rows) -> None:
        self._driver.execute(statement, (orjson.dumps(rows).decode(),))

    def _insert(self, table: Table) -> str:
        columns = ", ".join(f'"{column.name}"' for column in table.c)
        values = ", ".join(SAME_FOR_ALL.get(column.name, f'v."{column.name}"') for column in table.c)
        given = ", ".join(
            f'"{column.name}" {_type(column.type)}' for column in table.c if column.name not in SAME_FOR_ALL
        )
        return (
            f"INSERT INTO {table.name} ({columns}) SELECT {values} FROM json_to_recordset(%s::json) AS v({given}) "
            "ON CONFLICT DO NOTHING"
        )


def _type(kind: Any) -> str:
    if isinstance(kind, BigInteger):
        return "bigint"
    return "int" if isinstance(kind, Integer) else "float8" if isinstance(kind, Float) else "text"
