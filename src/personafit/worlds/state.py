"""A person's data in the world: plain tables of entries, and the differences between two states of them.

States are immutable: a write returns a new state that shares the untouched tables with the old one, so a snapshot per turn costs
nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

TABLES = ("calendar", "bookings", "orders", "playlists", "contacts", "messages")


@dataclass(frozen=True, slots=True)
class Entry:
    """One row: an appointment, a booking, an order, a playlist, a contact or a message sent."""

    id: str
    title: str
    offer: str | None = None
    domain: str | None = None
    price: int = 0
    date: str | None = None
    """ISO date, for entries that have one."""
    hour: int | None = None
    hours: int = 0
    slots: Mapping[str, str] = field(default_factory=dict)
    """Arguments of a commit; the text of a message."""

    def overlaps(self, other: "Entry") -> bool:
        if self.hour is None or other.hour is None or self.date != other.date:
            return False
        return self.hour < other.hour + other.hours and other.hour < self.hour + self.hours

    def shown(self) -> dict[str, Any]:
        row: dict[str, Any] = {"id": self.id, "title": self.title}
        if self.offer is not None:
            row |= {"offer": self.offer, "price": self.price}
        if self.date is not None:
            row["date"] = self.date
        if self.hour is not None:
            row |= {"time": f"{self.hour:02}:00", "hours": self.hours}
        return row | ({"slots": dict(self.slots)} if self.slots else {})


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two states: an entry that was added, removed or replaced."""

    table: str
    before: Entry | None
    after: Entry | None


Table = Mapping[str, Entry]


@dataclass(frozen=True, slots=True)
class WorldState:
    """All tables of one person, each from id to entry, and the number of entries ever written."""

    tables: Mapping[str, Table]
    written: int = 0

    def put(self, table: str, entry: Entry) -> "WorldState":
        rows = {**self.tables.get(table, {}), entry.id: entry}
        return WorldState({**self.tables, table: rows}, self.written + 1)

    def drop(self, table: str, id: str) -> "WorldState":
        rows = {key: entry for key, entry in self.tables[table].items() if key != id}
        return replace(self, tables={**self.tables, table: rows})

    def find(self, id: str) -> tuple[str, Entry] | None:
        return next(((name, rows[id]) for name, rows in self.tables.items() if id in rows), None)


def differences(before: WorldState, after: WorldState) -> list[Change]:
    """Return every entry that differs, in the order of tables and ids."""
    found = []
    for table in TABLES if before is not after else ():
        old, new = before.tables.get(table, {}), after.tables.get(table, {})
        if old is not new:  # tables that were not written to are shared
            ids = sorted(old.keys() | new.keys())
            found += [Change(table, old.get(id), new.get(id)) for id in ids if old.get(id) != new.get(id)]
    return found
