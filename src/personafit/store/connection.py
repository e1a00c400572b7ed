"""Opening the database behind a store: one SQLite file in WAL mode, or PostgreSQL by URL."""

import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from personafit._errors import UserError
from personafit._secrets import masked
from personafit.store.private import make_private
from personafit.store.schema import ensure_schema

DIALECTS = ("sqlite", "postgresql")
BUSY_SECONDS = 60  # how long a writer waits for another process's transaction
CACHE_KIB = 8_192  # pages that each connection keeps, and what it sorts in memory before it takes to disk
CHECKPOINT_PAGES = 8_000  # of 4 KiB: how long the write-ahead log grows before it is carried over


def open_engine(url: str | Path) -> Engine:
    """Open (and create or migrate) the database at a path or a URL."""
    try:
        engine = _engine(str(url))
        ensure_schema(engine)
    except (DBAPIError, OSError) as error:
        reason = " ".join(str(getattr(error, "orig", None) or error).split()).rstrip(".")
        raise UserError(
            f"The store {printable(url)} cannot be opened ({reason}); choose another place with --store."
        ) from error
    except (ArgumentError, NoSuchModuleError, ImportError, ValueError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise UserError(
            f"The store {printable(url)} cannot be used ({reason}); give a file path or postgresql://USER@HOST/DATABASE "
            "(with pip install 'personafit[postgres]')."
        ) from error
    return engine


def _engine(address: str) -> Engine:
    place = _url(address) if "://" in address else URL.create("sqlite", database=address)
    kind = place.get_backend_name()
    if kind not in DIALECTS:
        raise NoSuchModuleError(f"{kind} is not supported")
    if kind == "postgresql":
        plain = place.drivername == kind
        return create_engine(place.set(drivername="postgresql+psycopg") if plain else place)
    if place.database in (None, "", ":memory:"):
        raise ArgumentError("a store is a file")
    make_private(Path(str(place.database).removeprefix("file:")))
    engine = create_engine(place, connect_args={"timeout": BUSY_SECONDS})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def _url(address: str) -> URL:
    if "@" in address.partition("?")[0].rpartition("@")[0]:
        # What follows the first one would be taken for the host, and be repeated in errors.
        raise ArgumentError("an @ in a password is written %40")
    return make_url(address)


def printable(url: str | Path) -> str:
    """The address as it may stand in messages and logs: without its password."""
    return masked(str(url))


def _prepare_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # SQLAlchemy's begin event below starts transactions, not the driver
    cursor = connection.cursor()
    _write_ahead(cursor)
    # FULL: a commit is on disk before it is acknowledged; batches keep the number of syncs small.
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
    # Rarer than SQLite would: keys are hashes, so a batch touches pages everywhere, and many of them again in the next.
    cursor.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
    cursor.close()


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    """Switch to a write-ahead log; where two make a new file at once, SQLite does not wait for the other by itself."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _begin_immediate(connection: Any) -> None:
    # IMMEDIATE takes the write lock up front: two runs on one store wait for each other instead of failing midway.
    read_only = connection.get_execution_options().get("read_only", False)
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")
