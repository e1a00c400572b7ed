"""The labelling app under load: answers a second in a closed loop, and how long raters wait who think two seconds between answers.

The peer is the least anyone would write: FastAPI, one route, a checked body, one row into SQLite with the same settings, committed
before the reply (on PostgreSQL the same through psycopg). Ours checks session, token, study, seat, page, field and option, and stores an ask, a judgment and the progress.
Both are served by one uvicorn process each and driven by the same client from this process. PostgreSQL runs the same loop if it is here.
Beside answers a second stands what each server's process spends on an answer: on a busy machine the first says as much of the neighbours.
"""

import asyncio
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import urlopen

import aiohttp

from speed.table import Measurement, paired

RATERS, PAGES, AT_ONCE, SECONDS, ROUNDS = 200, 40, 64, 4.0, 5
THINK, CALM_SECONDS = 2.0, 20.0
WAIT_BAR = 0.150  # seconds, the 95th of 100
BAR = 0.5

Request = tuple[str, dict[str, Any], dict[str, str]]


class Driven(NamedTuple):
    """What a server did under load."""

    rate: float
    """Answers a second."""
    seconds: float
    """Processor time of the server's process for one answer."""

    def __str__(self) -> str:
        return f"{self.rate:,.0f} answers/s ({self.seconds * 1e6:,.0f} µs of its processor each)"


BARE = """
import sqlite3, sys, threading
from fastapi import FastAPI
from pydantic import BaseModel
import uvicorn

app, local = FastAPI(), threading.local()

class Sent(BaseModel):
    id: str
    page: int
    field: str
    value: str
    client_time: float
    seconds: float

POSTGRES = sys.argv[1].startswith("postgresql")
TABLE = (
    "CREATE TABLE IF NOT EXISTS answers (id TEXT PRIMARY KEY, page INTEGER, field TEXT, value TEXT, at REAL, seconds REAL)"
)
INSERT = "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?)".replace("?", "%s" if POSTGRES else "?")
if POSTGRES:
    import psycopg

    with psycopg.connect(sys.argv[1], autocommit=True) as first:
        first.execute(TABLE)
else:  # once, before threads connect: changing the journal does not wait for a lock
    first = sqlite3.connect(sys.argv[1], isolation_level=None)
    first.execute("PRAGMA journal_mode=WAL")
    first.execute(TABLE)
    first.close()

def connection():
    if not hasattr(local, "connection") and POSTGRES:
        local.connection = psycopg.connect(sys.argv[1], autocommit=True)
    elif not hasattr(local, "connection"):
        local.connection = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
        local.connection.execute("PRAGMA synchronous=FULL")
    return local.connection

@app.post("/api/answers")
def answer(sent: Sent):
    connection().execute(INSERT, (
        sent.id, sent.page, sent.field, sent.value, sent.client_time, sent.seconds))
    return {"id": sent.id}

@app.get("/up")
def up():
    return {}

uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning", access_log=False)
"""
OURS = """
import sys, uvicorn
from personafit.label.web.app import create_app
uvicorn.run(create_app(sys.argv[1]), host="127.0.0.1", port=int(sys.argv[2]), log_level="warning", access_log=False)
"""


def measure() -> list[Measurement]:
    """Closed loop in turns, then the calm raters, then PostgreSQL."""
    ours: list[Driven] = []
    bare: list[Driven] = []
    for number in range(1, ROUNDS + 1):
        with TemporaryDirectory() as folder:
            ours.append(_closed(f"{folder}/ours.db"))
            bare.append(_closed_bare(f"{folder}/bare.db"))
        print(f"labelling, round {number} of {ROUNDS}: ours {ours[-1]}, bare {bare[-1]}")
    with TemporaryDirectory() as folder:
        wait = _calm(f"{folder}/calm.db")
    results = [
        *_compared("labelling, closed loop", "bare FastAPI + SQLite", ours, bare, BAR),
        _waiting("labelling, 200 raters", wait),
    ]
    return results + _postgres()


def _waiting(name: str, wait: float) -> Measurement:
    print(f"{name}: 95 of 100 answers within {wait * 1000:.0f} ms")
    return Measurement(name, "150 ms at p95", "1/s", 1 / wait, 1 / WAIT_BAR, WAIT_BAR / wait, 1.0)


def _postgres() -> list[Measurement]:
    from tests.store.databases import NoPostgres, create_database, postgres_server

    try:
        with postgres_server() as address:
            rates, bares, files = [], [], []
            for number in range(ROUNDS):
                rates.append(_closed(create_database(address, f"ours{number}")))
                bares.append(_closed_bare(create_database(address, f"bare{number}")))
                with TemporaryDirectory() as folder:
                    files.append(_closed_bare(f"{folder}/bare.db"))
                print(
                    f"labelling on PostgreSQL: ours {rates[-1]}, bare {bares[-1]}, bare on SQLite {files[-1]}"
                )
            wait = _calm(create_database(address, "calm"))
    except NoPostgres as error:
        print(f"labelling on PostgreSQL is not measured: {error}")
        return []
    return [
        *_compared("labelling on PostgreSQL", "bare FastAPI + SQLite", rates, files, BAR),
        *_compared("labelling on PostgreSQL", "bare FastAPI + psycopg", rates, bares, None),
        _waiting("200 raters, PostgreSQL", wait),
    ]


def _compared(
    name: str, peer: str, ours: list[Driven], theirs: list[Driven], bar: float | None
) -> list[Measurement]:
    """Answers a second, and answers for a second of the server's processor time."""
    rates = [one.rate for one in ours], [one.rate for one in theirs]
    spent = [1 / one.seconds for one in ours], [1 / one.seconds for one in theirs]
    return [
        paired(name, peer, "answers/s", *rates, bar),
        paired(f"{name}, server's time", peer, "answers/CPU s", *spent, None),
    ]


def _closed(store: str) -> Driven:
    requests = _study(store)
    with _server(OURS, store) as server:
        return asyncio.run(_drive(server, requests))


def _closed_bare(store: str) -> Driven:
    def requests(_number: int) -> Iterator[Request]:
        while True:
            yield "/api/answers", _answer(0, "A"), {}

    with _server(BARE, store) as server:
        return asyncio.run(_drive(server, requests))


def _calm(store: str) -> float:
    """The 95th percentile of waiting for an answer to be stored, with everyone thinking in between."""
    requests = _study(store)
    with _server(OURS, store) as server:
        return asyncio.run(_think(server.address, requests))


def _study(store: str) -> Callable[[int], Iterator[Request]]:
    """A study with seats for everyone, all taken; what each rater sends, page after page and again from the first."""
    from personafit.api.places import find_run
    from personafit.benchmarks.starter import FOLDER
    from personafit.label.access import Access
    from personafit.label.making import make_study
    from personafit.label.records import StudyConfig
    from personafit.label.studies import Studies
    from personafit.store import Store

    with Store(store) as opened:
        config = StudyConfig(overlap=RATERS, seats=RATERS)
        make_study(opened, "load", str(FOLDER), "fit", config, find_run, count=PAGES)
        studies, access = Studies(opened), Access(opened.engine)
        headers = []
        for seat in range(RATERS):
            studies.take("load", seat, None, {"consent": True, "passed": True})
            cookie = access.open_session("load", seat)
            session = access.rater(cookie)
            assert session is not None
            headers.append({"cookie": f"personafit_rater={cookie}", "x-csrf-token": session.csrf})

    def requests(number: int) -> Iterator[Request]:
        while True:
            for page in range(PAGES):
                yield "/api/answers", _answer(page, "AB"[page % 2], "fit"), headers[number % RATERS]

    return requests


def _answer(page: int, value: str, field: str = "fit") -> dict[str, Any]:
    return {
        "id": str(uuid.uuid4()),
        "page": page,
        "field": field,
        "value": value,
        "client_time": time.time(),
        "seconds": 2.0,
    }


async def _drive(server: "Server", requests: Callable[[int], Iterator[Request]]) -> Driven:
    """Answers a second with so many connections that each send the next one at once."""
    done = 0
    async with aiohttp.ClientSession(server.address, connector=aiohttp.TCPConnector(limit=0)) as session:
        # Raters take turns on a connection, so that none of them goes faster than people do.
        streams = [[requests(number) for number in range(start, RATERS, AT_ONCE)] for start in range(AT_ONCE)]
        # Everybody's first answer, for which the server reads their pages, comes before the clock starts.
        for some in streams:
            await asyncio.gather(*(_send(session, next(one)) for one in some))
        end = time.monotonic() + SECONDS

        async def loop(mine: list[Iterator[Request]]) -> None:
            nonlocal done
            turn = 0
            while time.monotonic() < end:
                await _send(session, next(mine[turn % len(mine)]))
                turn += 1
                done += 1

        began, spent = time.monotonic(), server.spent()
        await asyncio.gather(*(loop(stream) for stream in streams))
        return Driven(done / (time.monotonic() - began), (server.spent() - spent) / done)


async def _think(address: str, requests: Callable[[int], Iterator[Request]]) -> float:
    waits: list[float] = []
    async with aiohttp.ClientSession(address, connector=aiohttp.TCPConnector(limit=0)) as session:

        async def rater(number: int) -> None:
            mine = requests(number)
            await asyncio.sleep(THINK * number / RATERS)
            end = time.monotonic() + CALM_SECONDS
            while time.monotonic() < end:
                began = time.monotonic()
                await _send(session, next(mine))
                waits.append(time.monotonic() - began)
                await asyncio.sleep(THINK)

        await asyncio.gather(*(rater(number) for number in range(RATERS)))
    return quantiles(waits, n=20)[-1]


async def _send(session: aiohttp.ClientSession, request: Request) -> None:
    path, body, headers = request
    async with session.post(path, json=body, headers=headers) as reply:
        said = await reply.json(content_type=None)
        assert reply.status == 200, said


class Server(NamedTuple):
    """A server's address and process."""

    address: str
    process: int

    def spent(self) -> float:
        """Processor time so far, in seconds."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _server(code: str, store: str) -> Iterator[Server]:
    import socket

    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", code, store, str(port)], env=os.environ)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(1200):
            try:
                with urlopen(f"{address}/up", timeout=1):
                    break
            except HTTPError:
                break  # it answers
            except OSError:
                time.sleep(0.1)
        yield Server(address, process.pid)
    finally:
        process.terminate()
        process.wait()
