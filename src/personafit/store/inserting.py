"""Adding rows by the thousand: the statement is compiled once and handed to the driver as it is, many rows at a time.

Preparing each row's parameters anew costs as much as storing it; and SQLite's driver lets go of the interpreter's lock and
takes it back at every execution, which row by row holds up whatever else the process does.
"""

from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Dialect, Insert, Update

PARAMETERS = 900  # in one statement: below the smallest limit of any SQLite


class DriverInsert:
    """An insert into all columns of a table."""

    def __init__(self, statement: Insert | Update, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self._sql = str(compiled)
        places = compiled.positiontup  # None where the driver takes parameters by name
        self._values = itemgetter(*places) if places else None
        row = f"({', '.join('?' * len(places or ()))})"
        self._at_once = PARAMETERS // len(places) if places and row in self._sql else 1
        self._block = self._sql.replace(row, ", ".join([row] * self._at_once))

    def add(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        """Add rows that have a value for every column."""
        if self._values is None:
            connection.exec_driver_sql(self._sql, list(rows))
            return
        values = list(map(self._values, rows))
        whole = len(values) - len(values) % self._at_once if self._at_once > 1 else 0
        for start in range(0, whole, self._at_once):
            block = chain.from_iterable(values[start : start + self._at_once])
            connection.exec_driver_sql(self._block, tuple(block))
        if whole < len(values):
            connection.exec_driver_sql(self._sql, values[whole:])
