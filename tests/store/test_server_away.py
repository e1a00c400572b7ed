"""A PostgreSQL server that goes away in the middle of a run: the run waits and goes on, or ends with a sentence and resumes."""

import asyncio
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from aiohttp import web
from sqlalchemy import text

from personafit import Status, Store
from personafit.cli import main
from personafit.label import Studies
from personafit.label.votes import study_votes
from personafit.store import database, run_answers
from tests.faults.world import sentences, write_benchmark
from tests.label.served import RaterClient, invitation, new_study, serving
from tests.store.databases import NoPostgres, PostgresServer, create_database, started_postgres
from tests.store.outcomes import outcome
from tests.stub_endpoint import StubEndpoint

ITEMS, ASKS = 40, 80
AT_ONCE = 2


class SlowEndpoint(StubEndpoint):
    """Takes a moment for each answer, so that a run lasts for several batches."""

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.03)
        return await super()._answer(request)


@pytest.fixture(scope="module")
def mortal() -> Iterator[PostgresServer]:
    """A server that nobody else needs."""
    try:
        with started_postgres() as server:
            yield server
    except NoPostgres as reason:
        pytest.skip(str(reason))


def _run(
    folder: Path,
    url: str,
    endpoint: StubEndpoint,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> tuple[int, list[str]]:
    """`personafit run` in this process; its exit code, and what it said."""
    monkeypatch.chdir(folder)
    rater = endpoint.spec(f",concurrency={AT_ONCE}")
    line = ["run", "village", "--rater", rater, "--context", "profile", "--store", url, "--json"]
    monkeypatch.setattr(sys, "argv", ["personafit", *line])
    code: object = 0
    try:
        main()
    except SystemExit as left:
        code = left.code or 0
    return int(str(code)), sentences(capsys.readouterr().err)


def _once_some_is_stored(url: str, *actions: Callable[[], None]) -> threading.Thread:
    """Do things in a thread as soon as the first answers of the endpoint are stored."""
    import psycopg

    Store(url).close()  # makes the tables

    def wait() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            while not connection.execute("SELECT 1 FROM asks WHERE tokens_in > 0 LIMIT 1").fetchone():
                time.sleep(0.002)
        for action in actions:
            action()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def _judged(url: str) -> int:
    """How many answers of the endpoint are there, each once."""
    with Store(url) as store:
        answers = run_answers(store, store.run("last").id).filter(pl.col("tokens_in") > 0)
    assert answers["job"].is_unique().all()
    assert set(answers["status"]) == {"ok"}
    return answers.height


@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_run_goes_on_when_the_server_was_restarted(
    mortal: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    how: str,
) -> None:
    write_benchmark(tmp_path / "village", ITEMS)
    url = create_database(mortal.address, f"restarted_{how}")
    with SlowEndpoint() as endpoint:
        restart = _once_some_is_stored(url, lambda: mortal.stop(how), mortal.start)
        code, said = _run(tmp_path, url, endpoint, monkeypatch, capsys)
    restart.join()
    assert (code, said) == (0, [])
    assert len(endpoint.requests) == ASKS, "nothing was asked again"
    assert _judged(url) == ASKS


def test_a_run_ends_with_a_sentence_when_the_server_stays_away(
    mortal: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_benchmark(tmp_path / "village", ITEMS)
    url = create_database(mortal.address, "away")
    with SlowEndpoint() as endpoint:
        with monkeypatch.context() as impatient:
            impatient.setattr(database, "PATIENCE", 0.3)
            gone = _once_some_is_stored(url, mortal.stop)
            code, said = _run(tmp_path, url, endpoint, monkeypatch, capsys)
        gone.join()
        mortal.start()
        assert code == 1
        (sentence,) = said
        assert sentence.startswith("The store could not be read or written (")
        assert sentence.endswith("what was judged before is kept and the same command goes on from there.")
        kept = _judged(url)
        assert 0 < kept < ASKS
        asked = len(endpoint.requests)
        assert _run(tmp_path, url, endpoint, monkeypatch, capsys) == (0, [])
        assert len(endpoint.requests) - asked == ASKS - kept
    assert _judged(url) == ASKS


def test_connections_that_were_cut_are_made_anew(server: PostgresServer) -> None:
    """As by an administrator or a firewall, between two uses and for reading as for writing."""
    url = create_database(server.address, "cut")
    with Store(url) as store, Store(url) as other:
        run = store.begin_run("run", "d", {}, 200).id
        jobs = [f"j{number:03}" for number in range(200)]
        for block in range(0, 200, 50):
            with other.engine.begin() as connection:
                cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'cut' AND pid <> pg_backend_pid()"
                assert connection.execute(text(cut)).rowcount >= 1
            assert store.plan_jobs(run, jobs[block : block + 50]) == {}
            with other.engine.begin() as connection:
                connection.execute(text(cut))
            store.write([outcome(job) for job in jobs[block : block + 50]])
        with other.engine.begin() as connection:
            connection.execute(text(cut))
        assert {state.status for state in store.job_states(jobs).values()} == {Status.OK}
        assert run_answers(store, run).height == 200


def test_a_mistake_is_no_lost_connection(url: str) -> None:
    with Store(url) as store:
        bad = [outcome(f"b{number}") for number in range(60)]
        bad[-1].ask.question = None  # type: ignore[assignment]
        began = time.monotonic()
        with pytest.raises(Exception, match=r"(?i)not.null"):
            store.write(bad)
        assert time.monotonic() - began < database.PATIENCE / 2, "it was not tried again and again"
        assert store.job_states(["b0"]) == {}


@pytest.mark.slow
def test_the_labelling_app_outlives_a_restart(mortal: PostgresServer) -> None:
    """An answer that could not be stored is refused, sent again as browsers do, and there once."""
    url = create_database(mortal.address, "labelled")
    new_study(url, overlap=1, seats=1)
    with serving(url) as app, RaterClient(app.address, invitation(url)) as rater:
        assert rater.answer(0, "A").json()["done"]
        mortal.stop("fast")
        key = str(uuid.uuid4())
        assert rater.answer(1, "B", id=key).status_code == 503
        mortal.start()
        for _ in range(20):
            sent = rater.answer(1, "B", id=key)
            if sent.status_code == 200:
                break
            assert sent.status_code == 503, sent.text
        assert sent.json()["done"]
    with Store(url) as store:
        assert len(study_votes(Studies(store), "pilot")) == 2
