"""Each test's writer is a module of its own folder; builds that many tests begin with are made once."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.build.answers.building import write_config
from tests.build.builds import own_writer, run_build


@pytest.fixture(autouse=True)
def _own_writer(tmp_path: Path) -> Iterator[None]:
    with own_writer(tmp_path):
        yield


@pytest.fixture(scope="session")
def _answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("answered")
    run_build(write_config(folder), folder / "out")
    return folder / "out"


@pytest.fixture
def answered(_answered: Path, tmp_path: Path) -> Path:
    """A build of four people, three questions each and their answers, as `write_config` asks for: a copy of its own."""
    return Path(shutil.copytree(_answered, tmp_path / "out"))
