"""Adding rows by the thousand: the statement is compiled once and handed to the driver as it is, many rows at a time.

Preparing each row's parameters anew costs as much as storing it; and SQLite's driver lets go of the interpreter's lock and
takes it back at every execution, which row by row holds up whatever else the process does.
"""

import re
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Dialect, Insert, Table, Update
from sqlalchemy.dialects import postgresql, sqlite

PARAMETERS = 900  # in one statement: below the smallest limit of any SQLite
_NAMED = re.compile(r"%\((\w+)\)s")
_ROW = re.compile(r"VALUES (\(.+?\))(?= ON CONFLICT|$)")


def insert_new(table: Table, dialect: Dialect) -> Insert:
    """An insert that leaves alone what is there already."""
    insert: Any = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}[dialect.name]
    statement: Insert = insert(table).on_conflict_do_nothing()
    return statement


class DriverInsert:
    """An insert into all columns of a table, or another statement that is done once for each row."""

    def __init__(self, statement: Insert | Update, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self._sql = str(compiled)
        places = compiled.positiontup
        if places is None:  # the driver takes parameters by name; by place it takes them just as well
            places = _NAMED.findall(self._sql)
            self._sql = _NAMED.sub("%s", self._sql)
        self._values = itemgetter(*places)
        row = _ROW.search(self._sql)
        self._at_once = PARAMETERS // len(places) if row else 1
        self._row = row
        self._block = self._sql if row is None else _block(self._sql, row, self._at_once)
        self._far = compiled.positiontup is None
        """Whether each execution is a journey to a server, so that even a few rows had better go together."""

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
