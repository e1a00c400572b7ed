"""Store tests run on both databases; without PostgreSQL its half is skipped, and says why."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.databases import NoPostgres, PostgresServer, create_database, started_postgres


@pytest.fixture(scope="session")
def _postgres() -> Iterator[PostgresServer | NoPostgres]:
    try:
        with started_postgres() as server:
            yield server
    except NoPostgres as reason:
        yield reason


@pytest.fixture
def server(_postgres: PostgresServer | NoPostgres) -> PostgresServer:
    """The PostgreSQL server of these tests."""
    if isinstance(_postgres, NoPostgres):
        pytest.skip(str(_postgres))
    return _postgres


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, of each kind in turn."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    found: PostgresServer | NoPostgres = request.getfixturevalue("_postgres")
    if isinstance(found, NoPostgres):
        pytest.skip(str(found))
    return create_database(found.address, f"t{uuid.uuid4().hex}")
