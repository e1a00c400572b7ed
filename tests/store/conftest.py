"""Store tests run on both databases; without PostgreSQL its half is skipped, and says why."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.databases import NoPostgres, create_database, postgres_server


@pytest.fixture(scope="session")
def _postgres() -> Iterator[str | NoPostgres]:
    try:
        with postgres_server() as address:
            yield address
    except NoPostgres as reason:
        yield reason


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, of each kind in turn."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    server: str | NoPostgres = request.getfixturevalue("_postgres")
    if isinstance(server, NoPostgres):
        pytest.skip(str(server))
    return create_database(server, f"t{uuid.uuid4().hex}")
