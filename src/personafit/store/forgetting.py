"""Forgetting a person: the one deletion there is. Every row that derives from them goes; a tombstone stays.

What derives from a person: their profiles and items in every data set, altered copies of them too; whatever was made about them, told of them or
made from either; every ask and judgment about their items, and every ask in which somebody else was mistaken for them.
"""

import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, Table, delete, select, text, update
from sqlalchemy.exc import DBAPIError

from personafit._hashing import hash_text
from personafit.store import tables as t
from personafit.store.derived import DerivedKeys, copies_of, find_derived

CHUNK = 500
WAIT_MILLISECONDS = 3000  # for others to leave the store, before saying that bytes may remain


@dataclass
class Forgotten:
    """What forgetting a person removed, or would remove."""

    counts: dict[str, int] = field(default_factory=dict)
    """Rows by table."""
    before: float | None = None
    """When the same person was forgotten before, if so."""
    remains: str | None = None
    """Why freed bytes may still lie in the database's files; None when they are gone."""


def tombstone_of(person: str) -> str:
    """What a forgotten person's id is kept as."""
    return hash_text("forgotten", person)


def forgotten_among(engine: Engine, people: Collection[str]) -> set[str]:
    """Which of these people were forgotten."""
    with engine.connect().execution_options(read_only=True) as connection:
        tombs = set(connection.execute(select(t.tombstones.c.person)).scalars())
    return {person for person in people if tombstone_of(person) in tombs} if tombs else set()


def forget_person(engine: Engine, person: str, dry_run: bool, elsewhere: bool = False) -> Forgotten | None:
    """Remove everything that derives from a person, in one transaction; None when there is nobody of that name.

    `elsewhere`: the person is known from outside the store, so a tombstone is put up in any case.
    """
    done = Forgotten()
    with engine.connect() as connection, connection.begin() as transaction:
        tomb = connection.execute(
            select(t.tombstones).where(t.tombstones.c.person == tombstone_of(person))
        ).first()
        people = {person} | copies_of(connection, person)
        done.counts = _remove(connection, people, find_derived(connection, people))
        if tomb is None and not elsewhere and not any(done.counts.values()):
            return None
        if tomb is not None:
            done.before = tomb.at
        if dry_run:
            transaction.rollback()
            return done
        earlier = orjson.loads(tomb.counts) if tomb is not None else {}
        total = {name: count + earlier.get(name, 0) for name, count in done.counts.items()}
        connection.execute(delete(t.tombstones).where(t.tombstones.c.person == tombstone_of(person)))
        row = {
            "person": tombstone_of(person),
            "at": tomb.at if tomb is not None else time.time(),
            "counts": orjson.dumps(total).decode(),
        }
        connection.execute(t.tombstones.insert().values(**row))
    done.remains = free_bytes(engine)
    return done


def _remove(connection: Connection, people: set[str], derived: DerivedKeys) -> dict[str, int]:
    counts = {
        "judgments": _delete_judgments(connection, derived),
        "asks": _delete_in(connection, t.asks, "job", {job for job, _ in derived.asks}),
        "run_jobs": _delete_in(connection, t.run_jobs, "job", {job for job, _ in derived.asks}),
        "products": _delete_in(connection, t.products, "id", derived.products),
        "items": 0,
    }
    names = people | {item for _, item in derived.items}
    for dataset in {dataset for dataset, _ in derived.items}:
        ids = {item for held, item in derived.items if held == dataset}
        for chunk in _chunks(ids):
            query = delete(t.items).where(t.items.c.dataset == dataset, t.items.c.id.in_(chunk))
            counts["items"] += connection.execute(query).rowcount
    theirs = t.people.c.id.in_(sorted(people))
    held = set(connection.execute(select(t.people.c.dataset).where(theirs)).scalars())
    counts["people"] = connection.execute(delete(t.people).where(theirs)).rowcount
    for row in connection.execute(select(t.datasets.c.id, t.datasets.c.info)).all():
        info = _without(orjson.loads(row.info), people)
        info["forgotten"] = info.get("forgotten", 0) + (row.id in held)
        if row.id in held or info != orjson.loads(row.info) | {"forgotten": info["forgotten"]}:
            values = {"info": orjson.dumps(info).decode()}
            connection.execute(update(t.datasets).where(t.datasets.c.id == row.id).values(values))
    for row in connection.execute(select(t.runs.c.id, t.runs.c.config)).all():
        config = orjson.loads(row.config)
        if (cleared := _without(config, names)) != config:
            values = {"config": orjson.dumps(cleared).decode()}
            connection.execute(update(t.runs).where(t.runs.c.id == row.id).values(values))
    return counts


def _delete_judgments(connection: Connection, derived: DerivedKeys) -> int:
    removed = _delete_in(connection, t.judgments, "ask", {ask for _, ask in derived.asks})
    for ask in {ask for ask, _ in derived.judgments}:
        items = {item for of, item in derived.judgments if of == ask}
        for chunk in _chunks(items):
            query = delete(t.judgments).where(t.judgments.c.ask == ask, t.judgments.c.item.in_(chunk))
            removed += connection.execute(query).rowcount
    return removed


def _delete_in(connection: Connection, table: Table, column: str, values: Collection[str]) -> int:
    return sum(
        connection.execute(delete(table).where(table.c[column].in_(chunk))).rowcount
        for chunk in _chunks(values)
    )


def _without(value: Any, names: set[str]) -> Any:
    """A JSON value less every list entry and every key that is one of the names."""
    if isinstance(value, list):
        return [_without(entry, names) for entry in value if not (isinstance(entry, str) and entry in names)]
    if isinstance(value, dict):
        return {key: _without(entry, names) for key, entry in value.items() if key not in names}
    return value


def free_bytes(engine: Engine) -> str | None:
    """Have the database rewrite its files, so that deleted text is not merely unlinked; says why not, if not."""
    try:
        if engine.dialect.name == "postgresql":
            _vacuum_postgresql(engine)
            return None
        return _vacuum_sqlite(engine)
    except (DBAPIError, sqlite3.Error) as error:
        return " ".join(str(getattr(error, "orig", error)).split()).rstrip(".")


def _vacuum_postgresql(engine: Engine) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for table in t.metadata.sorted_tables:  # those of studies too: pages, chats, who took part
            connection.execute(text(f"VACUUM FULL {table.name}"))


def _vacuum_sqlite(engine: Engine) -> str | None:
    # On the driver's own connection: through the engine every statement begins a transaction, and VACUUM allows none.
    connection = engine.raw_connection()
    connection.detach()
    try:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={WAIT_MILLISECONDS}")
        cursor.execute("VACUUM")
        busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return "another process is reading the store" if busy else None
    finally:
        connection.close()


def _chunks(values: Iterable[str]) -> Iterator[list[str]]:
    ordered = sorted(values)
    for start in range(0, len(ordered), CHUNK):
        yield ordered[start : start + CHUNK]
