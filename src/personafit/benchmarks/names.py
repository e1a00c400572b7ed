"""The names in a folder, and what each stands for: kept on disk, since a million of them would fill the memory."""

import sqlite3
import weakref
from collections.abc import Iterator

CACHE_KIB = 4_096  # what is held in memory; a small folder never touches the disk


class Names:
    """A set of names, each with a short value, in a temporary file that goes with it."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._database.close)
        for statement in (
            f"PRAGMA cache_size=-{CACHE_KIB}",
            "PRAGMA journal_mode=OFF",
            "PRAGMA synchronous=OFF",
            "CREATE TABLE names (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
            "BEGIN",
        ):
            self._database.execute(statement)

    def add(self, name: str, value: str = "") -> bool:
        """Take in a name; False if it is there already, and then nothing changes."""
        row = (_storable(name), value)
        return self._database.execute("INSERT OR IGNORE INTO names VALUES (?, ?)", row).rowcount == 1

    def get(self, name: str) -> str | None:
        """What the name stands for; None if it is unknown."""
        query = "SELECT value FROM names WHERE name = ?"
        row = self._database.execute(query, (_storable(name),)).fetchone()
        return None if row is None else str(row[0])

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        for (name,) in self._database.execute("SELECT name FROM names ORDER BY name"):
            yield str(name)


def _storable(name: str) -> str:
    """The name in a form that SQLite takes, whatever code points it has, and that no other name has."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return "\x00" + name.encode("utf-8", "surrogatepass").hex()
    return name
