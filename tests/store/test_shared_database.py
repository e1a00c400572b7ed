"""A team on one PostgreSQL database: runs of two kinds and a study, begun together on an empty one and under way at once."""

import asyncio
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web
from sqlalchemy import func, select

from personafit import Store
from personafit.label import Studies
from personafit.label.votes import study_votes
from personafit.simulate import dialogues
from personafit.store import run_answers, tables
from tests.faults.world import command, quiet, sentences, write_benchmark
from tests.label.served import RaterClient, invitation, new_study, serving
from tests.simulate.talking import Talking, write_tasks
from tests.store.databases import PostgresServer, create_database
from tests.stub_endpoint import StubEndpoint

ITEMS, ASKS, PAGES, RATERS = 40, 80, 6, 2


class Gated(StubEndpoint):
    """Answers a few requests, and the others once the gate is opened: so that a run is under way when that matters."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        while len(self.requests) >= 10 and not self.gate.is_set():
            await asyncio.sleep(0.01)
        return await super()._answer(request)


class GatedTalking(Gated, Talking):
    """The same for dialogues."""


@contextmanager
def _started(folder: Path, *line: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        command(*line), cwd=folder, env=quiet(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_two_runs_and_a_study_at_once(server: PostgresServer, tmp_path: Path) -> None:
    url = create_database(server.address, "team")
    write_benchmark(tmp_path / "village", ITEMS)
    write_tasks(tmp_path / "tasks", 3)
    stub, talking = Gated(), GatedTalking()
    with stub, talking:
        choices = [
            "run",
            "village",
            "--rater",
            stub.spec(),
            "--context",
            "profile",
            "--json",
            "--out",
            "choices",
        ]
        talks = ["run", "personalens", "--data", "tasks", "--system-context", "I", "--json", "--out", "talks"]
        talks += ["--system", talking.model("assistant"), "--user", talking.model("user")]
        talks += ["--rater", talking.model("judge")]
        with (
            _started(tmp_path, *choices, "--store", url) as one,
            _started(tmp_path, *talks, "--store", url) as two,
        ):
            new_study(url, count=PAGES, overlap=RATERS, seats=RATERS)  # whoever comes first makes the tables
            with serving(url) as app:
                raters = [RaterClient(app.address, invitation(url, seat=seat)) for seat in range(RATERS)]
                for page in range(PAGES):
                    if page == PAGES // 2:
                        assert (one.poll(), two.poll()) == (None, None), "both are under way"
                        stub.gate.set()
                        talking.gate.set()
                    for rater in raters:
                        assert rater.answer(page, "AB"[page % 2]).json()["done"]
                ends = [process.communicate(timeout=300) for process in (one, two)]
                for rater in raters:
                    rater.http.close()
        assert [one.returncode, two.returncode] == [0, 0], ends
        assert [sentences(stderr) for _, stderr in ends] == [[], []]
        assert len(stub.requests) == ASKS, "nothing was asked twice"
        asked = len(stub.requests) + len(talking.requests)
    with Store(url) as store:
        world, talk = sorted(store.runs(), key=lambda run: not run.dataset.startswith("village@"))
        judged = run_answers(store, world.id)
        assert judged["job"].is_unique().all()
        assert set(judged["status"]) == {"ok"}
        assert len(dialogues(store, talk.id)) == 3 * 2
        assert len(study_votes(Studies(store), "pilot")) == PAGES * RATERS
        with store.engine.connect() as connection:
            paid = select(func.count()).select_from(tables.asks).where(tables.asks.c.tokens_in > 0)
            assert connection.execute(paid).scalar_one() == asked, "every answer is there, and once"
