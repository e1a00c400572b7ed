"""The labelling app under load: answers a second in a closed loop, and how long raters wait who think two seconds between answers.

The peer is the least anyone would write: FastAPI, one route, a checked body, one row into SQLite with the same settings, committed
before the reply (on PostgreSQL the same through psycopg). Ours checks session, token, study, seat, page, field and option, and stores an ask, a judgment and the progress.
Both are served by one uvicorn process each and driven by the same client from this process. PostgreSQL runs the same loop if it is here.
"""

import asyncio
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import urlopen

import aiohttp

from speed.table import Measurement, paired

RATERS, PAGES, AT_ONCE, SECONDS, ROUNDS = 200, 40, 64, 4.0, 5
THINK, CALM_SECONDS = 2.0, 20.0
WAIT_BAR = 0.150  # seconds, the 95th of 100
BAR = 0.5

Request = tuple[str, dict[str, Any], dict[str, str]]

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

def connection():
    if not hasattr(local, "connection") and POSTGRES:
        local.connection = psycopg.connect(sys.argv[1], autocommit=True)
    elif not hasattr(local, "connection"):
        local.connection = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
        local.connection.execute("PRAGMA journal_mode=WAL")
        local.connection.execute("PRAGMA synchronous=FULL")
        local.connection.execute(TABLE)
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
from personafit.labeling.web.app import create_app
uvicorn.run(create_app(sys.argv[1]), host="127.0.0.1", port=int(sys.argv[2]), log_level="warning", access_log=False)
"""


def measure() -> list[Measurement]:
    """Closed loop in turns, then the calm raters, then PostgreSQL."""
    ours: list[float] = []
    bare: list[float] = []
    for number in range(1, ROUNDS + 1):
        with TemporaryDirectory() as folder:
            ours.append(_closed(f"{folder}/ours.db"))
            bare.append(_closed_bare(f"{folder}/bare.db"))
        print(f"labelling, round {number} of {ROUNDS}: ours {ours[-1]:,.0f}, bare {bare[-1]:,.0f} answers/s")
    with TemporaryDirectory() as folder:
        wait = _calm(f"{folder}/calm.db")
    results = [
        paired("labelling, closed loop", "bare FastAPI + SQLite", "answers/s", ours, bare, BAR),
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
                    f"labelling on PostgreSQL: ours {rates[-1]:,.0f}, bare {bares[-1]:,.0f}, "
                    f"bare on SQLite {files[-1]:,.0f} answers/s"
                )
            wait = _calm(create_database(address, "calm"))
    except NoPostgres as error:
        print(f"labelling on PostgreSQL is not measured: {error}")
        return []
    return [
        paired("labelling on PostgreSQL", "bare FastAPI + SQLite", "answers/s", rates, files, BAR),
        paired("labelling on PostgreSQL", "bare FastAPI + psycopg", "answers/s", rates, bares, None),
        _waiting("200 raters, PostgreSQL", wait),
    ]


def _closed(store: str) -> float:
    requests = _study(store)
    with _server(OURS, store) as address:
        return asyncio.run(_drive(address, requests))


def _closed_bare(store: str) -> float:
    def requests(_number: int) -> Iterator[Request]:
        while True:
            yield "/api/answers", _answer(0, "A"), {}

    with _server(BARE, store) as address:
        return asyncio.run(_drive(address, requests))


def _calm(store: str) -> float:
    """The 95th percentile of waiting for an answer to be stored, with everyone thinking in between."""
    requests = _study(store)
    with _server(OURS, store) as address:
        return asyncio.run(_think(address, requests))


def _study(store: str) -> Callable[[int], Iterator[Request]]:
    """A study with seats for everyone, all taken; what each rater sends, page after page and again from the first."""
    from personafit.benchmarks.starter import FOLDER
    from personafit.cli.common import find_run
    from personafit.labeling.access import Access
    from personafit.labeling.making import make_study
    from personafit.labeling.records import StudyConfig
    from personafit.labeling.studies import Studies
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


async def _drive(address: str, requests: Callable[[int], Iterator[Request]]) -> float:
    """Answers a second with so many connections that each send the next one at once."""
    done = 0
    async with aiohttp.ClientSession(address, connector=aiohttp.TCPConnector(limit=0)) as session:
        # Raters take turns on a connection, so that none of them goes faster than people do.
        streams = [[requests(number) for number in range(start, RATERS, AT_ONCE)] for start in range(AT_ONCE)]
        end = time.monotonic() + SECONDS

        async def loop(mine: list[Iterator[Request]]) -> None:
            nonlocal done
            turn = 0
            while time.monotonic() < end:
                await _send(session, next(mine[turn % len(mine)]))
                turn += 1
                done += 1

        began = time.monotonic()
        await asyncio.gather(*(loop(stream) for stream in streams))
        return done / (time.monotonic() - began)


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


@contextmanager
def _server(code: str, store: str) -> Iterator[str]:
    import socket

    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-c", code, store, str(port)], env=os.environ)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(200):
            with suppress(OSError), urlopen(f"{address}/openapi.json", timeout=1):
                break
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()
