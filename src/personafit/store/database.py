"""The database under the store: opening it, adding rows to its tables, and reading queries as rows or frames.

Writing is idempotent: existing rows are left unchanged, so a run killed between a model's reply and the
commit repeats only that call, and two runs on one store cannot duplicate a judgment. When a database server goes away and
comes back, the interrupted transaction is repeated, which is safe for the same reason.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from operator import itemgetter
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

import orjson
import polars as pl
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    CursorResult,
    Engine,
    Float,
    Integer,
    Row,
    Select,
    Table,
    Text,
    any_,
    bindparam,
    func,
    select,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from personafit._errors import UserError
from personafit.people import Person
from personafit.store import tables as t
from personafit.store.connection import open_engine, printable
from personafit.store.inserting import inserter

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds
PATIENCE = 60.0  # seconds in all: a restart takes a few, a failover somewhat more

# Prefixes of SQLSTATE: lost connections, shutdown or startup, too many clients, and deadlocks, which abort one of two writers.
_PASSING = ("08", "57P", "53300", "40")

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class HasEngine(Protocol):
    """Anything with a database engine."""

    @property
    def engine(self) -> Engine:
        """The database."""


Owner = TypeVar("Owner", bound=HasEngine)


def repeated_when_lost(
    method: Callable[Concatenate[Owner, Arguments], Result],
) -> Callable[Concatenate[Owner, Arguments], Result]:
    """Retry a method that is one transaction if the server goes away; its arguments must be iterable more than once."""

    @wraps(method)
    def patient(self: Owner, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        pause, until = FIRST_PAUSE, time.monotonic() + PATIENCE
        while True:
            try:
                return method(self, *arguments, **named)
            except DBAPIError as error:
                if not is_passing(error) or time.monotonic() + pause > until:
                    raise
                self.engine.dispose()  # pooled connections lead to the same lost server
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    return patient


def is_passing(error: DBAPIError) -> bool:
    """Return whether a retry may succeed: the server is down, starting or has too many clients, or it resolved a deadlock."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    state = getattr(error.orig, "sqlstate", "unknown")  # None when there was no server to give one
    return state is None or state.startswith(_PASSING)


FRAME_ROWS = 20_000
PARAMETER = 10_000  # values in one parameter
COUNTED_ANEW = 1_000  # rows added before the planner's statistics are refreshed

_PRIMARY = {
    table: itemgetter(*(column.name for column in table.primary_key)) for table in t.metadata.sorted_tables
}


_TYPES: dict[type, Any] = {Text: pl.String, Integer: pl.Int64, BigInteger: pl.Int64, Float: pl.Float64}
"""Column type in the database → dtype in a frame; other types are inferred."""


class Database:
    """A SQLite file or a PostgreSQL database with the store's tables."""

    def __init__(self, url: str | Path) -> None:
        self.url = printable(url)
        self._engine = open_engine(url)
        dialect = self._engine.dialect
        self._inserts = {table: inserter(table, dialect) for table in t.metadata.sorted_tables}
        self._added = 0
        """Rows added since the last ANALYZE."""

    @property
    def engine(self) -> Engine:
        """The SQLAlchemy engine, for modules with tables of their own."""
        return self._engine

    @property
    def index_folder(self) -> Path | None:
        """A folder beside the store for rebuildable data, such as indexes of memories; None unless the store is a file."""
        if self._engine.dialect.name != "sqlite":
            return None
        return Path(str(self._engine.url.database)).with_suffix(".index")

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Close; if a damaged row explains the error, raise a UserError that names the row."""
        try:
            unexpected = isinstance(error, Exception) and not isinstance(error, UserError | DBAPIError)
            if unexpected and (fault := find_damage(self._engine)) is not None:
                raise UserError(
                    f"The store {self.url} is damaged ({fault}); put a copy of it back, or choose another with --store.",
                    1,
                ) from error
        finally:
            self.close()

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with self._engine.connect().execution_options(read_only=True) as connection:
            yield connection

    def _insert(self, connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
        if rows:
            # In key order, so that two processes that add the same rows cannot deadlock, which PostgreSQL would end
            # by aborting one of them.
            self._inserts[table].add(connection, sorted(rows, key=_PRIMARY[table]))
            self._added += len(rows)

    @repeated_when_lost
    def _write(self, *parts: tuple[Table, Sequence[dict[str, Any]]]) -> None:
        """Add rows to tables in one transaction."""
        with self._engine.begin() as connection:
            for table, rows in parts:
                self._insert(connection, table, rows)

    def _count_anew(self, connection: Connection, *tables: Table) -> None:
        """Run ANALYZE on tables that have grown: PostgreSQL does so only after a minute, and reads them slowly until then."""
        if self._added >= COUNTED_ANEW and connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"ANALYZE {', '.join(table.name for table in tables)}")
            self._added = 0

    @repeated_when_lost
    def rows(self, query: Select[Any]) -> Sequence[Row[Any]]:
        return self.rows_now(query)

    def rows_now(self, query: Select[Any]) -> Sequence[Row[Any]]:
        """Return the rows of a query without retrying if the server is away; for pages that a user waits for."""
        with self._read() as connection:
            return connection.execute(query).all()

    @repeated_when_lost
    def rows_among(self, query: Select[Any], column: Column[Any], values: Sequence[str]) -> list[Row[Any]]:
        """Return the rows of a query whose `column` is one of `values`, however many these are."""
        with self._read() as connection:
            return list(among(connection, query, column, values))

    @repeated_when_lost
    def frame(self, query: Select[Any], schema: Mapping[str, Any] | None = None) -> pl.DataFrame:
        """Return the rows of a query as a frame, converted in parts: as Python objects a million rows would fill the memory.

        Columns have the names and types of `schema` if given, else of the query.
        """
        with self._read() as connection:
            result = self._sent(connection, query)
            if schema is None:
                types = (_TYPES.get(type(column.type)) for column in query.selected_columns)
                schema = dict(zip(result.keys(), types, strict=True))
            parts = [
                pl.DataFrame(rows, schema=schema, orient="row", infer_schema_length=None)
                for rows in _tuples(result, FRAME_ROWS)
            ]
        return pl.concat(parts, how="vertical_relaxed") if parts else pl.DataFrame(schema=schema)

    def stream(self, query: Select[Any], rows: int) -> Iterator[Sequence[Row[Any]]]:
        """Yield the rows of a query in chunks of `rows`, without holding them all in memory."""
        with self._read() as connection:
            yield from self._sent(connection, query).partitions(rows)

    def frames(self, query: Select[Any], schema: Mapping[str, Any], rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows of a query as frames of `rows` rows, without holding them all in memory."""
        with self._read() as connection:
            for part in _tuples(self._sent(connection, query), rows):
                yield pl.DataFrame(part, schema=schema, orient="row")

    def _sent(self, connection: Connection, query: Select[Any]) -> CursorResult[Any]:
        # Other drivers fetch everything at once unless told to stream; SQLite's never does, and the option costs time.
        streams = connection.dialect.name != "sqlite"
        return connection.execution_options(stream_results=streams).execute(query)


def _tuples(result: CursorResult[Any], rows: int) -> Iterator[Sequence[Any]]:
    """Yield the driver's raw tuples in chunks of `rows`: wrapping each as a Row takes as long as reading it."""
    cursor = result.cursor
    while cursor is not None and (part := result.cursor_strategy.fetchmany(result, cursor, rows)):
        yield part


def among(
    connection: Connection, query: Select[Any], column: Column[Any], values: Sequence[str]
) -> Iterator[Row[Any]]:
    """Yield the rows of a query whose `column` is one of `values`, which are passed as one parameter."""
    arrays = connection.dialect.name == "postgresql"
    if arrays:
        query = query.where(column == any_(bindparam("among", type_=postgresql.ARRAY(Text))))
    else:
        listed = func.json_each(bindparam("among", type_=Text)).table_valued("value")
        query = query.where(column.in_(select(listed.c.value)))
    for start in range(0, len(values), PARAMETER):
        some = list(values[start : start + PARAMETER])
        yield from connection.execute(query, {"among": some if arrays else orjson.dumps(some).decode()}).all()


# -- damage: a row whose JSON was corrupted by a flipped bit, a full disk or an editor ------------------------------------------
# Rows are read without validation, because reading dominates the time of reports. When reading fails, this determines whether the
# store is at fault, and names the row.

OBJECTS: dict[Table, tuple[str, ...]] = {
    t.datasets: ("info",),
    t.people: ("body",),
    t.items: ("slices",),
    t.raters: ("settings",),
    t.runs: ("config",),
    t.studies: ("config",),
    t.study_pages: ("body",),
    t.study_raters: ("progress",),
}
LISTS: dict[Table, tuple[str, ...]] = {t.products: ("parents",), t.items: ("products",)}


def find_damage(engine: Engine) -> str | None:
    """Return the first row that cannot be read, as `people 'andre', column body`; None if all can."""
    with engine.connect() as connection:
        for expected, columns in ((dict, OBJECTS), (list, LISTS)):
            for table, names in columns.items():
                keys = list(table.primary_key.columns)
                for row in connection.execute(select(*keys, *(table.c[name] for name in names))):
                    for name in names:
                        if not _is_whole(getattr(row, name), expected, table is t.people):
                            return f"{table.name} {', '.join(map(repr, row[: len(keys)]))}, column {name}"
    return None


def _is_whole(text: Any, expected: type, is_person: bool) -> bool:
    try:
        value = orjson.loads(text)
        if is_person:
            Person.model_validate(value)
    except ValueError:
        return False
    return isinstance(value, expected)
