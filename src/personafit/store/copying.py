"""Adding many rows to PostgreSQL at once: COPY, the fastest way in, made to leave alone what is there already.

COPY itself knows no ON CONFLICT, so rows are copied into a temporary table and added from there. While rows turn out to be new,
the next ones are copied straight into the table, which takes half the server's work; should one of them be there after all,
that copy is taken back and goes the longer way.
"""

from collections.abc import Sequence
from contextlib import closing
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Dialect, Table
from sqlalchemy.exc import DBAPIError

from personafit.store.inserting import DriverInsert, insert_new

LEAST_ROWS = 20  # fewer go in a statement of many rows: not every batch had better make a temporary table

TYPES = {"TEXT": "text", "INTEGER": "int4", "BIGINT": "int8", "FLOAT": "float8"}


def inserter(table: Table, dialect: Dialect) -> "DriverInsert | CopyInsert":
    """What adds rows to a table and leaves alone those whose key is taken, the fastest way the database has."""
    statements = DriverInsert(insert_new(table, dialect), dialect)
    return CopyInsert(table, statements) if dialect.name == "postgresql" else statements


class CopyInsert:
    """Adds rows with all columns to a table; those whose key is taken are left out."""

    def __init__(self, table: Table, few: DriverInsert) -> None:
        self._few = few
        self._table = table.name
        self._types = [TYPES[str(column.type)] for column in table.columns]
        self._columns = ", ".join(f'"{column.name}"' for column in table.columns)
        self._values = itemgetter(*(column.name for column in table.columns))
        self._all_new = False
        """Whether the last rows were: then the next are likely to be, too."""

    def add(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        """Add rows that have a value for every column."""
        if len(rows) < LEAST_ROWS:
            self._few.add(connection, rows)
            return
        import psycopg

        try:
            with closing(connection.connection.cursor()) as cursor:
                self._all_new = (self._all_new and self._straight(cursor, rows)) or self._staged(cursor, rows)
        except (
            psycopg.Error
        ) as error:  # as it comes from any other statement, for those who know only SQLAlchemy
            raise DBAPIError.instance(f"COPY {self._table}", None, error, psycopg.Error) from error

    def _straight(self, cursor: Any, rows: Sequence[dict[str, Any]]) -> bool:
        """Copy rows into the table itself; False, with nothing changed, if one of them is there already."""
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
        """Add rows by way of a temporary table; whether all of them were new."""
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
