"""Bulk inserts: each statement is compiled once and passed directly to the driver, with many rows per execution.

Preparing the parameters of each row anew costs as much as storing it, and SQLite's driver releases and re-acquires the
interpreter's lock at every execution, which row by row slows down everything else in the process.
"""

import re
from collections.abc import Sequence
from contextlib import closing
from itertools import chain
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Dialect, Insert, Table, Update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

PARAMETERS = 900  # per statement, below the smallest limit of any SQLite version
_NAMED = re.compile(r"%\((\w+)\)s")
_ROW = re.compile(r"VALUES (\(.+?\))(?= ON CONFLICT|$)")


def insert_new(table: Table, dialect: Dialect) -> Insert:
    """Return an INSERT that skips rows whose key exists."""
    insert: Any = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}[dialect.name]
    statement: Insert = insert(table).on_conflict_do_nothing()
    return statement


class DriverInsert:
    """An insert into all columns of a table, or another statement that is executed once per row."""

    def __init__(self, statement: Insert | Update, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self._sql = str(compiled)
        places = compiled.positiontup
        if places is None:  # compiled with named parameters; the driver accepts positional ones too
            places = _NAMED.findall(self._sql)
            self._sql = _NAMED.sub("%s", self._sql)
        self._values = itemgetter(*places)
        row = _ROW.search(self._sql)
        self._at_once = PARAMETERS // len(places) if row else 1
        self._row = row
        self._block = self._sql if row is None else _block(self._sql, row, self._at_once)
        self._far = compiled.positiontup is None
        """Whether each execution is a round trip to a server, so that even a few rows should be sent together."""

    def add(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        """Add rows that have a value for every column."""
        values = list(map(self._values, rows))
        whole = len(values) - len(values) % self._at_once if self._at_once > 1 else 0
        for start in range(0, whole, self._at_once):
            block = chain.from_iterable(values[start : start + self._at_once])
            connection.exec_driver_sql(self._block, tuple(block))
        rest = values[whole:]
        if self._far and self._row is not None and len(rest) > 1:
            connection.exec_driver_sql(
                _block(self._sql, self._row, len(rest)), tuple(chain.from_iterable(rest))
            )
        elif rest:
            connection.exec_driver_sql(self._sql, rest)


def _block(sql: str, row: re.Match[str], rows: int) -> str:
    return f"{sql[: row.start(1)]}{', '.join([row[1]] * rows)}{sql[row.end(1) :]}"


LEAST_ROWS = 20  # fewer are inserted by a multi-row statement, which is cheaper than a temporary table

_COMPILED: dict[tuple[Table, str], "DriverInsert"] = {}
"""Cache of compiled inserts by table and dialect: compiling those of all tables takes longer than opening a store."""

TYPES = {"TEXT": "text", "INTEGER": "int4", "BIGINT": "int8", "FLOAT": "float8"}


def inserter(table: Table, dialect: Dialect) -> "DriverInsert | CopyInsert":
    """Return the database's fastest inserter for a table that skips rows whose key exists."""
    known = table, dialect.name
    if known not in _COMPILED:
        _COMPILED[known] = DriverInsert(insert_new(table, dialect), dialect)
    statements = _COMPILED[known]
    return CopyInsert(table, statements) if dialect.name == "postgresql" else statements


class CopyInsert:
    """A PostgreSQL COPY of rows with all columns into a table, skipping rows whose key exists."""

    def __init__(self, table: Table, few: DriverInsert) -> None:
        self._few = few
        self._table = table.name
        self._types = [TYPES[str(column.type)] for column in table.columns]
        self._columns = ", ".join(f'"{column.name}"' for column in table.columns)
        self._values = itemgetter(*(column.name for column in table.columns))
        self._all_new = False
        """Whether the last rows were all new, in which case the next ones probably are too."""

    def add(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        """Add rows that have a value for every column."""
        if len(rows) < LEAST_ROWS:
            self._few.add(connection, rows)
            return
        import psycopg

        try:
            with closing(connection.connection.cursor()) as cursor:
                self._all_new = (self._all_new and self._straight(cursor, rows)) or self._staged(cursor, rows)
        except psycopg.Error as error:  # wrapped as SQLAlchemy wraps errors of other statements, for callers that catch only those
            raise DBAPIError.instance(f"COPY {self._table}", None, error, psycopg.Error) from error

    def _straight(self, cursor: Any, rows: Sequence[dict[str, Any]]) -> bool:
        """Copy rows directly into the table; return False, with nothing changed, if one of them exists already."""
        from psycopg.errors import UniqueViolation

        cursor.execute("SAVEPOINT before_copy")
        try:
            self._copy(cursor, self._table, rows)
        except UniqueViolation:
            cursor.execute("ROLLBACK TO SAVEPOINT before_copy")
            return False
        cursor.execute("RELEASE SAVEPOINT before_copy")
        return True

    def _staged(self, cursor: Any, rows: Sequence[dict[str, Any]]) -> bool:
        """Add rows through a temporary table; return whether all of them were new."""
        staging = f"adding_{self._table}"
        cursor.execute(f"CREATE TEMPORARY TABLE {staging} (LIKE {self._table})")
        self._copy(cursor, staging, rows)
        cursor.execute(
            f"INSERT INTO {self._table} ({self._columns}) SELECT {self._columns} FROM {staging} ON CONFLICT DO NOTHING"
        )
        added = int(cursor.rowcount)
        cursor.execute(f"DROP TABLE {staging}")
        return added == len(rows)

    def _copy(self, cursor: Any, target: str, rows: Sequence[dict[str, Any]]) -> None:
        with cursor.copy(f"COPY {target} ({self._columns}) FROM STDIN WITH (FORMAT BINARY)") as copy:
            copy.set_types(self._types)
            write = copy.write_row
            for values in map(self._values, rows):
                write(values)
