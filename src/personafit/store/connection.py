"""Opening the database behind a store: one SQLite file in WAL mode, or PostgreSQL by URL.

A store's files are private to their owner: they hold people's answers and the secret that signs sessions. The
file is created with its mode before SQLite opens it, and SQLite gives its log and its shared memory the same mode, so other
users can read none of them at any moment. The tables are migrated to this version exactly once, even when several processes open
the store together.
"""

import contextlib
import fcntl
import os
import sqlite3
import stat
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Column,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    create_engine,
    event,
    inspect,
    make_url,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError
from sqlalchemy.schema import CreateIndex, CreateTable

from personafit._errors import UserError
from personafit._secrets import masked
from personafit.store.tables import metadata

FOLDER_MODE, FILE_MODE = 0o700, 0o600
OWN_FOLDER = ".personafit"
"""Name of personafit's own folder, which is made private; other existing folders are the user's and keep their mode."""
BESIDE = ("", "-wal", "-shm", "-journal", ".lock")


def make_private(path: Path) -> None:
    """Create a store's file and missing folders with owner-only access, and restrict existing ones.

    If that fails, a warning is printed once and the store is used all the same.
    """
    for folder in reversed(path.parents):
        if not folder.exists():
            folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
        elif folder.name == OWN_FOLDER:
            _close(folder, FOLDER_MODE)
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE))
    for ending in BESIDE:
        beside = path.with_name(path.name + ending)
        if beside.is_file():
            _close(beside, FILE_MODE)


def private_opener(path: str, flags: int) -> int:
    """Open a file with owner-only access; an `opener` for `open`."""
    return os.open(path, flags, FILE_MODE)


def _close(path: Path, mode: int) -> None:
    try:
        if not _open_to_others(path):
            return
        path.chmod(mode)
        if not _open_to_others(path):
            return
        reason = "the file system keeps no modes"
    except FileNotFoundError:
        return
    except OSError as error:
        reason = str(error.strerror).lower()
    sentence = (
        f"personafit: {path} can be read by other users of this machine and cannot be closed to them ({reason}); "
        f"give it mode {mode:o} as its owner, or choose another place with --store."
    )
    if sentence not in _said:
        _said.add(sentence)
        print(sentence, file=sys.stderr)


_said: set[str] = set()


def _open_to_others(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


HEAD = "0004"  # the newest file in migrations/versions; a test compares the two
_ALEMBIC = threading.Lock()  # Alembic keeps its state in module globals: one migration at a time per process
_ADVISORY_LOCK = 5_736_201  # an arbitrary key: PostgreSQL's lock for migrating a personafit store


def ensure_schema(engine: Engine) -> None:
    """Create or migrate the tables when the store is not at `HEAD`; cheap when it is."""
    if _revision(engine) == HEAD:
        return
    with _one_at_a_time(engine):
        found = _revision(engine)
        if found is None:
            create_tables(engine)
        elif found != HEAD:
            migrate(engine, found)


def _revision(engine: Engine) -> str | None:
    with engine.connect().execution_options(read_only=True) as connection:  # reports do not wait for writers
        if not inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def create_tables(engine: Engine) -> None:
    """Create the tables of this version in an empty database, as all migrations would, without loading Alembic."""
    with engine.begin() as connection:
        for statement in _creating(engine.dialect.name):
            connection.exec_driver_sql(statement)


@cache
def _creating(dialect: str) -> tuple[str, ...]:
    """Return the statements that create all tables and record the schema version."""
    version = Table(
        "alembic_version",
        MetaData(),
        Column("version_num", String(32), nullable=False),
        PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
    )
    speaks: Any = {"sqlite": sqlite.dialect, "postgresql": postgresql.dialect}[dialect]()
    made: list[Any] = []
    for table in (version, *metadata.sorted_tables):
        made += [
            CreateTable(table),
            *map(CreateIndex, sorted(table.indexes, key=lambda index: str(index.name))),
        ]
    noted = f"INSERT INTO {version.name} (version_num) VALUES ('{HEAD}')"
    return (*(str(one.compile(dialect=speaks)) for one in made), noted)


def migrate(engine: Engine, found: str | None) -> None:
    """Migrate the tables from revision `found`, or from none, to `HEAD`."""
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with _ALEMBIC, engine.begin() as connection:
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise UserError(
                f"{engine.url.database} was written by a newer personafit (its schema is {found}, "
                f"this one knows up to {HEAD}): upgrade personafit or choose another --store."
            ) from error


@contextlib.contextmanager
def _one_at_a_time(engine: Engine) -> Iterator[None]:
    if engine.dialect.name == "sqlite":
        with open(f"{engine.url.database}.lock", "w", opener=private_opener) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        return
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _ADVISORY_LOCK})
        try:
            yield
        finally:
            connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _ADVISORY_LOCK})


DIALECTS = ("sqlite", "postgresql")
BUSY_SECONDS = 60  # how long a writer waits for another process's transaction
QUIET_SECONDS = 3  # how long it waits before printing a message
CACHE_KIB = 8_192  # page cache of each connection, and the limit of in-memory sorting
CHECKPOINT_PAGES = 8_000  # pages of 4 KiB in the write-ahead log before a checkpoint


def open_engine(url: str | Path) -> Engine:
    """Open (and create or migrate) the database at a path or a URL."""
    try:
        engine = _engine(str(url))
        ensure_schema(engine)
    except (DBAPIError, OSError) as error:
        reason = " ".join(str(getattr(error, "orig", None) or error).split()).rstrip(".")
        if "locked" in reason:
            raise UserError(
                f"The store {printable(url)} is locked: another process has been writing to it for {BUSY_SECONDS} s; run the "
                "same command again when that has ended.",
                code=1,
            ) from error
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
        # The text after the first @ would be taken for the host, and part of the password printed in errors.
        raise ArgumentError("an @ in a password is written %40")
    return make_url(address)


def printable(url: str | Path) -> str:
    """Return the address without its password, for messages and logs."""
    return masked(str(url))


def _prepare_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # SQLAlchemy's begin event below starts transactions, not the driver
    cursor = connection.cursor()
    _write_ahead(cursor)
    # FULL: a commit is on disk before it is acknowledged; batches keep the number of syncs small.
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
    # Rarer than SQLite's default: keys are hashes, so a batch touches pages everywhere, many of them again in the next batch.
    cursor.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
    cursor.close()


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    """Switch to a write-ahead log; if two processes create a file at once, SQLite does not wait for the other by itself."""
    _execute_unlocked(cursor, "PRAGMA journal_mode=WAL")


def _begin_immediate(connection: Any) -> None:
    # IMMEDIATE takes the write lock up front: two runs on one store wait for each other instead of failing midway.
    if connection.get_execution_options().get("read_only", False):
        connection.exec_driver_sql("BEGIN")
        return
    cursor = connection.connection.cursor()
    try:
        _execute_unlocked(cursor, "BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        raise OperationalError("BEGIN IMMEDIATE", None, error) from error
    finally:
        cursor.close()


def _execute_unlocked(cursor: sqlite3.Cursor, statement: str) -> None:
    """Execute a statement once no other process holds the lock; print a message if the wait is long."""
    began, said = time.monotonic(), False
    cursor.execute(f"PRAGMA busy_timeout={int(1000 * min(QUIET_SECONDS, BUSY_SECONDS))}")
    try:
        while True:
            try:
                cursor.execute(statement)
                return
            except sqlite3.OperationalError as error:
                waited = time.monotonic() - began
                if "locked" not in str(error) or waited > BUSY_SECONDS:
                    raise
            if waited >= QUIET_SECONDS and not said:
                said = True
                print(
                    f"personafit: another process is writing to the store; waiting for it, {BUSY_SECONDS} s at most.",
                    file=sys.stderr,
                )
            time.sleep(0.05)
    finally:
        cursor.execute(f"PRAGMA busy_timeout={int(1000 * BUSY_SECONDS)}")
