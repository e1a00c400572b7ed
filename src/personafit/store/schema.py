"""Bringing a store's tables up to this version, once, even when several processes open it together."""

import contextlib
import fcntl
import threading
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Engine, inspect, text

from personafit._errors import UserError
from personafit.store.private import private_opener

HEAD = "0003"  # the newest file in migrations/versions; a test holds the two together
_ALEMBIC = (
    threading.Lock()
)  # it keeps what it works on in module globals: one migration at a time in a process
_ADVISORY_LOCK = 5_736_201  # any constant: it names "migrating a personafit store" to PostgreSQL


def ensure_schema(engine: Engine) -> None:
    """Create or migrate the tables when the store is not at `HEAD`; cheap when it is."""
    if _revision(engine) == HEAD:
        return
    with _one_at_a_time(engine):
        found = _revision(engine)
        if found == HEAD:
            return
        _migrate(engine, found)


def _revision(engine: Engine) -> str | None:
    with engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _migrate(engine: Engine, found: str | None) -> None:
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
