"""Adding rows by the thousand: the statement is compiled once and handed to the driver as it is.

Preparing each row's parameters anew costs as much as storing it.
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Dialect, Insert


class DriverInsert:
    """An insert into all columns of a table."""

    def __init__(self, statement: Insert, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self._sql = str(compiled)
        places = compiled.positiontup  # None where the driver takes parameters by name
        self._values = itemgetter(*places) if places else None

    def add(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        """Add rows that have a value for every column."""
        values = list(map(self._values, rows)) if self._values else list(rows)
        connection.exec_driver_sql(self._sql, values)
