"""What several files of reports' tests read: runs of every kind, made once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reports.kinds_world import Kinds, make_kinds


@pytest.fixture(scope="session")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kinds]:
    """Two runs of every kind; they are only read."""
    yield from make_kinds(tmp_path_factory.mktemp("kinds"))


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What commands write goes to a folder of the test."""
    monkeypatch.chdir(tmp_path)
