"""Fixtures shared by all tests."""

import gc
import os
import sqlite3
import sys
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import pytest

from tests.stub_endpoint import StubEndpoint


class Printed(NamedTuple):
    """What a command said."""

    out: str
    err: str


Command = Callable[..., Printed]

# Workers on two cores, each with as many threads for its linear algebra and its frames, mostly wait for each other. Read
# when the libraries are loaded, by the tests' own processes too.
for _setting in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(_setting, "1")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without slow tests where only those run: every worker imports what is collected."""
    only_slow = config.option.markexpr == "slow" and collection_path.name.startswith("test_")
    return True if only_slow and "mark.slow" not in collection_path.read_text(encoding="utf-8") else None


TOGETHER = (
    *("engine/ray/", "label/browser/", "tests/store/", "tests/worlds/"),
    *("torch", "inspect_ai", "statsmodels", "kinds: Kinds"),
)
"""What takes long to import, to start or to make: files whose path or text has one of these run in one worker."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile`, give files that share something of `TOGETHER` to the same worker."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    @cache
    def shared(path: str) -> str:
        text = f"{path}\n{(config.rootpath / path).read_text(encoding='utf-8')}"
        return next((one for one in TOGETHER if one in text), path)

    class SharingScheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return shared(nodeid.partition("::")[0])

    return SharingScheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are imported, which a third of that time went into; what was imported is left out of every
    later collection, and those come seldom.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _stores_without_syncs() -> Iterator[None]:
    """Stores of this process leave it to the system when files reach the disk: no test cuts the power."""
    from personafit.store import connection

    prepare = connection._prepare_sqlite

    def prepare_unsynced(opened: sqlite3.Connection, record: object) -> None:
        prepare(opened, record)
        opened.execute("PRAGMA synchronous=OFF")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "_prepare_sqlite", prepare_unsynced)
        yield


LOOKED_AT = (
    *("docs/", "packaging/", "reports/test_dialogue", "reports/test_every", "reports/test_extraction"),
    *("reports/test_fi", "reports/test_inert", "reports/test_item_browser", "reports/test_preference"),
    *("reports/test_relevance", "reports/test_report_page", "reports/test_training", "reports/test_writing"),
)
"""Where tests look at charts, or at the height of pages."""
_blanking = pytest.MonkeyPatch()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave charts blank where no test looks at them, its fixtures' too: drawing is half of what a small run costs."""
    from matplotlib.figure import Figure

    _blanking.undo()
    if not item.path.relative_to(Path(__file__).parent).as_posix().startswith(LOOKED_AT):
        _blanking.setattr(Figure, "savefig", _save_blank)


def _save_blank(_: object, target: TextIO | Path, **__: object) -> None:
    target.write_text("<svg></svg>") if isinstance(target, Path) else target.write("<svg></svg>")


@pytest.fixture
def endpoint() -> Iterator[StubEndpoint]:
    """A chat endpoint that answers letters until it is told otherwise."""
    with StubEndpoint() as stub:
        yield stub


@pytest.fixture
def personafit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """The command in this process and in the test's folder: insists on `code` and returns what was printed."""
    from tests.scripted import imported_from, invoke

    monkeypatch.setenv("COLUMNS", "150")
    own = f"{tmp_path}{os.sep}"

    def call(*arguments: str, code: int = 0) -> Printed:
        capsys.readouterr()
        for name in imported_from(own):
            del sys.modules[name]  # what a new process would import anew
        invoke(monkeypatch, tmp_path, *arguments, code=code)
        return Printed(*capsys.readouterr())

    return call


@pytest.fixture(autouse=True)
def _no_settings_from_outside(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The tests mean the same whatever keys and addresses the machine knows."""
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "PERSONAFIT_STORE",
        "HF_TOKEN",
        "HF_ENDPOINT",
        "HF_HUB_OFFLINE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path_factory.getbasetemp() / "no-hub-cache"))
