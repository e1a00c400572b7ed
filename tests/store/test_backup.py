"""Backups as docs/guides/operations.md tells to make them: restored elsewhere, a run resumes with nothing asked again."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from personafit import Store
from personafit.benchmarks import RunConfig
from personafit.engine import Silence
from personafit.run import execute
from personafit.store import run_answers
from tests.faults.world import write_benchmark
from tests.store.databases import PostgresServer, create_database
from tests.stub_endpoint import StubEndpoint


def _run(url: str | Path, folder: Path, endpoint: StubEndpoint) -> list[tuple[object, ...]]:
    """Judge everything that is not judged yet; all answers."""
    config = RunConfig(benchmark=str(folder), raters=[endpoint.spec()], contexts=["profile"])
    with Store(url) as store:
        finished = asyncio.run(execute(store, config, Silence()))
        answers = run_answers(store, finished.run.id).sort("job")
    return answers.select("job", "ask", "status", "label", "value", "at").rows()


@pytest.mark.parametrize("way", ["backup", "vacuum"])
def test_a_copy_of_a_file_that_is_in_use(tmp_path: Path, endpoint: StubEndpoint, way: str) -> None:
    folder, store, copy = write_benchmark(tmp_path / "world"), tmp_path / "store.db", tmp_path / "copy.db"
    answers = _run(store, folder, endpoint)
    asked = len(endpoint.requests)
    with Store(store) as used, closing(sqlite3.connect(store)) as source:
        used.begin_dataset("under-way", "world", {})  # lies in the write-ahead log, not yet in the file
        if way == "backup":
            with closing(sqlite3.connect(copy)) as target:
                source.backup(target)
        else:
            source.execute(f"VACUUM INTO '{copy}'")
    store.unlink()
    assert _run(copy, folder, endpoint) == answers
    assert len(endpoint.requests) == asked > 0
    with Store(copy) as restored:
        assert restored.dataset_info("under-way") == {}


def test_a_dump_of_a_database(server: PostgresServer, tmp_path: Path, endpoint: StubEndpoint) -> None:
    folder, url = write_benchmark(tmp_path / "world"), create_database(server.address, "to_dump")
    answers = _run(url, folder, endpoint)
    asked = len(endpoint.requests)
    at = ("-h", str(server.folder), "-U", "tester")
    dump = str(server.folder / "personafit.dump")
    server.run("pg_dump", *at, "--format=custom", f"--file={dump}", "to_dump")
    restored = create_database(server.address, "restored")
    server.run("pg_restore", *at, "--exit-on-error", "--dbname=restored", dump)
    assert _run(restored, folder, endpoint) == answers
    assert len(endpoint.requests) == asked > 0
    with Store(restored) as store:
        first = store.run("last").id
        assert store.begin_run("another", "d", {}, 0).id > first, "numbers go on from where they were"
