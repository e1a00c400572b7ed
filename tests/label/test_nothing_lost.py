"""Every acknowledged answer is there exactly once: sent twice, from two tabs, and through kill -9 of the server under load."""

import asyncio
import random
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.label.served import RaterClient, Server, invitation, new_study, serving_here, starter_store

KILLS = 10


def _stored(store: Path, study: str = "pilot") -> list[tuple[str, str, int, str | None]]:
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return list(
            connection.execute(
                "SELECT json_extract(a.detail, '$.id'), a.job, a.generation, j.label FROM asks a JOIN judgments j ON j.ask = a.id "
                "WHERE json_extract(j.extra, '$.study') = ?",
                (study,),
            )
        )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which each test has a study of its own."""
    return starter_store(tmp_path_factory.mktemp("nothing-lost") / "store.db")


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[Server]:
    """The server of that store."""
    with serving_here(store) as running:
        yield running


def test_an_answer_sent_twice_is_stored_once(store: Path, server: Server) -> None:
    new_study(store, "twice")
    with RaterClient(server.address, invitation(store, "twice")) as rater:
        key = str(uuid.uuid4())
        first, again = rater.answer(0, "A", id=key), rater.answer(0, "A", id=key)
        assert first.json() == again.json() == {"id": key, "generation": 0, "done": True}
        other = rater.answer(0, "B")
        assert other.json()["generation"] == 1
    rows = _stored(store, "twice")
    assert [row[2] for row in sorted(rows, key=lambda row: row[2])] == [0, 1]
    assert len({row[1] for row in rows}) == 1, "a correction supersedes under the same job"


def test_undo_reopens_the_page_and_a_flag_closes_it(store: Path, server: Server) -> None:
    new_study(store, "undone")
    with RaterClient(server.address, invitation(store, "undone")) as rater:
        assert rater.answer(0, "A").json()["done"]
        assert not rater.answer(0, None, why="undone").json()["done"]
        assert "/rate/0" in str(rater.http.get("/rate").url)
        assert rater.answer(0, None, why="cannot tell").json()["done"]
        assert rater.answer(1, "uncomfortable", field="flag").json()["done"]
        assert "/rate/2" in str(rater.http.get("/rate").url)


def test_the_same_id_from_two_raters_is_two_answers(store: Path, server: Server) -> None:
    new_study(store, "same")
    with (
        RaterClient(server.address, invitation(store, "same", seat=0)) as one,
        RaterClient(server.address, invitation(store, "same", seat=1)) as two,
    ):
        key = str(uuid.uuid4())
        replies = [rater.answer(page, "A", id=key).json() for rater in (one, two) for page in (0, 1)]
        assert replies == [{"id": key, "generation": 0, "done": True}] * 4
    assert len(_stored(store, "same")) == 4


def test_another_device_goes_on_where_the_first_stopped(store: Path, server: Server) -> None:
    new_study(store, "devices")
    link = invitation(store, "devices")
    with RaterClient(server.address, link) as first:
        first.answer(0, "A")
    with RaterClient(server.address, link) as second:
        assert 'data-position="1"' in second.page
        shown = second.http.get("/rate/0").text
        assert "&#34;value&#34;: &#34;A&#34;" in shown or "&#34;value&#34;:&#34;A&#34;" in shown


@pytest.mark.parametrize("kills", [1, pytest.param(KILLS, marks=pytest.mark.slow)])
def test_every_acknowledged_answer_is_there_once_after_kill_9(tmp_path: Path, kills: int) -> None:
    store, raters, pages = tmp_path / "store.db", 6, 12
    new_study(store, count=pages, overlap=raters, seats=raters)
    acknowledged: dict[str, tuple[int, int, str]] = {}
    server = Server(str(store))
    server.start()
    try:
        clients = [RaterClient(server.address, invitation(store, seat=seat)) for seat in range(raters)]
        sessions = [(client.http.cookies, client.csrf) for client in clients]
        for client in clients:
            client.http.close()
        for number in range(kills):
            asyncio.run(_load_until_killed(server, sessions, pages, acknowledged, 40 * (number + 1), number))
            server.start()
    finally:
        server.kill()
    rows = _stored(store)
    ids = [row[0] for row in rows]
    assert len(ids) == len(set(ids)), "nothing is doubled"
    assert set(acknowledged) <= set(ids), "nothing acknowledged is lost"
    assert len(acknowledged) >= 40 * kills
    generations = [(row[1], row[2]) for row in rows]
    assert len(generations) == len(set(generations)), "corrections stand in one line"


async def _load_until_killed(
    server: Server,
    sessions: list[tuple[httpx.Cookies, str]],
    pages: int,
    acknowledged: dict[str, tuple[int, int, str]],
    enough: int,
    seed: int,
) -> None:
    """Everybody answers as fast as they can until so many answers are acknowledged; then the server is killed in the midst."""
    draw = random.Random(seed)
    stop = asyncio.Event()

    async def rate(seat: int) -> None:
        cookies, csrf = sessions[seat]
        async with httpx.AsyncClient(base_url=server.address, cookies=cookies, timeout=10) as http:
            while not stop.is_set():
                key, page, value = str(uuid.uuid4()), draw.randrange(pages), draw.choice("AB")
                body = {"id": key, "page": page, "field": "fit", "value": value, "client_time": time.time()}
                try:
                    reply = await http.post("/api/answers", json=body, headers={"x-csrf-token": csrf})
                except httpx.TransportError:
                    return
                if reply.status_code == 200 and reply.json()["id"] == key:
                    acknowledged[key] = (seat, page, value)
                if len(acknowledged) >= enough and not stop.is_set():
                    stop.set()
                    server.kill()

    await asyncio.gather(*(rate(seat) for seat in range(len(sessions))))
