"""Floods: of passwords under made-up addresses, of requests under made-up cookies, of logins beside raters, of replies that cost money."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from personafit import Store
from personafit.api.places import find_run
from personafit.label import Access, StudyConfig, make_study
from personafit.label.web import guard
from personafit.label.web.app import create_app
from personafit.label.web.sessions import RATER_COOKIE
from tests.conftest import Command
from tests.label.researcher.researcher import PASSWORD, hidden
from tests.label.served import RaterClient, invitation, new_study, serving, serving_here
from tests.stub_endpoint import StubEndpoint

LOGINS = 40
REPLIES = 60


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a study and a password."""
    path = tmp_path / "store.db"
    new_study(path)
    with Store(path) as opened:
        access = Access(opened.engine)
        assert access.set_password(access.setup_token(), PASSWORD)
    return path


def tried(http: httpx.Client | TestClient, forwarded: str | None = None, password: str = "wrong") -> int:
    """Try a password, as if a proxy had passed it on; the status."""
    headers = {"x-forwarded-for": forwarded} if forwarded else {}
    form = hidden(http.get("/login", headers=headers).text)
    return http.post("/login", data=form | {"password": password}, headers=headers).status_code


def test_wrong_passwords_wait_whatever_address_they_claim_to_come_from(store: Path) -> None:
    with serving(store) as server, httpx.Client(base_url=server.address, timeout=60) as http:
        codes = Counter(tried(http, f"203.0.113.{number}") for number in range(24))
    assert set(codes) == {401, 429}
    assert codes[429] >= 12, codes


def test_a_proxy_that_was_named_is_believed_about_its_clients(store: Path) -> None:
    with (
        serving(store, "--proxy", "127.0.0.1") as server,
        httpx.Client(base_url=server.address, timeout=60) as http,
    ):
        codes = [tried(http, "203.0.113.1") for _ in range(6)]
        assert 429 in codes, codes
        assert tried(http, "203.0.113.2") == 401, "another client"
        forged = [tried(http, f"203.0.113.{number}, 203.0.113.1") for number in range(100, 112)]
        assert forged.count(429) >= 6, "what a client wrote itself, before the proxy, is not believed"


@pytest.mark.parametrize("named", ["*", "0.0.0.0/0"])
def test_nobody_is_believed_by_a_slip(personafit: Command, named: str) -> None:
    (sentence,) = personafit(
        "label", "serve", "--store", "store.db", "--proxy", named, code=2
    ).err.splitlines()
    assert f"--proxy {named}" in sentence


def test_the_addresses_of_one_network_wait_together(store: Path) -> None:
    """Whoever has one IPv6 address has 2**64 of them."""
    codes = []
    app = create_app(store)
    with TestClient(app):
        for number in range(1, 7):
            codes.append(tried(TestClient(app, client=(f"2001:db8::{number}", 50_000))))
    assert codes[-1] == 429, codes


def test_made_up_cookies_do_not_make_an_address_many(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "RATE", 0.0)
    monkeypatch.setattr(guard, "BURST", 40.0)
    with Store(store) as opened:
        seat = Access(opened.engine).open_session("pilot", 0)
    with TestClient(create_app(store)) as client:
        codes = Counter(
            client.get("/static/icon.svg", headers={"cookie": f"{RATER_COOKIE}=made-up-{number}"}).status_code
            for number in range(90)
        )
        assert codes == {200: int(guard.BURST), 429: 90 - int(guard.BURST)}
        own = client.get("/static/icon.svg", headers={"cookie": f"{RATER_COOKIE}={seat}"})
        assert own.status_code == 200, "a rater at the same address goes on"


@pytest.mark.slow
def test_raters_do_not_wait_for_logins(store: Path) -> None:
    """Logins from as many addresses as there are; a rater's page comes while they are checked, not after them."""
    with ExitStack() as stack:
        server = stack.enter_context(serving(store))
        rater = stack.enter_context(RaterClient(server.address, invitation(store)))
        forms: list[tuple[httpx.Client, dict[str, str]]] = []
        for number in range(LOGINS):
            transport = httpx.HTTPTransport(local_address=f"127.0.1.{number + 1}", verify=False)
            http = stack.enter_context(
                httpx.Client(base_url=server.address, transport=transport, timeout=120)
            )
            forms.append((http, hidden(http.get("/login").text)))
        together = threading.Barrier(LOGINS + 1)

        def log_in(who: tuple[httpx.Client, dict[str, str]]) -> int:
            together.wait()
            return who[0].post("/login", data=who[1] | {"password": "wrong"}).status_code

        with ThreadPoolExecutor(LOGINS) as pool:
            logins = [pool.submit(log_in, form) for form in forms]
            together.wait()
            began = time.monotonic()
            time.sleep(0.1)
            pages = []
            while not all(login.done() for login in logins):
                asked = time.monotonic()
                assert rater.http.get("/rate/0").status_code == 200
                pages.append(time.monotonic() - asked)
                time.sleep(0.02)  # a rater's own allowance is 40 pages a second
            took = time.monotonic() - began
            checked = sum(login.result() == 401 for login in logins)
    assert pages
    assert checked >= 16
    assert max(pages) < 5 * took / checked, "no page waits for more than a few passwords"


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[tuple[RaterClient, StubEndpoint]]:
    """A participant in a chat, and the model they talk with."""
    with StubEndpoint("plain") as stub:
        path = tmp_path / "store.db"
        with Store(path) as opened:
            config = StudyConfig(overlap=1, seats=1, model=stub.spec(), source="own")
            make_study(opened, "talk", "own", "chat", config, find_run)
        server = serving_here(path, stub.spec())
        with server as started, RaterClient(started.address, invitation(path, "talk")) as rater:
            assert asked(rater, "begin", 0)().status_code == 200
            yield rater, stub


def asked(rater: RaterClient, what: str, number: int, **more: Any) -> Callable[[], httpx.Response]:
    """A request of the chat, to be sent."""
    body = {"page": 0, "key": f"key-{what}-{number:04}"} | more
    return lambda: rater.http.post(f"/api/chat/{what}", json=body, headers={"x-csrf-token": rater.csrf})


def test_a_message_is_answered_once_however_often_that_is_asked_for(
    talk: tuple[RaterClient, StubEndpoint],
) -> None:
    rater, stub = talk
    stub.behave("slow")
    assert asked(rater, "messages", 0, text="Hello")().status_code == 200
    with ThreadPoolExecutor(REPLIES) as pool:
        replies = [one.result() for one in [pool.submit(asked(rater, "replies", n)) for n in range(REPLIES)]]
    assert len(stub.requests) == 1
    assert {reply.status_code for reply in replies} == {200}
    assert {len(reply.json()["said"]) for reply in replies} == {2}, "all are told the one reply"


def test_a_seat_has_so_many_replies_and_no_more(talk: tuple[RaterClient, StubEndpoint]) -> None:
    rater, stub = talk
    codes = []
    for number in range(28):
        assert asked(rater, "messages", number, text=f"Message {number}")().status_code == 200
        reply = asked(rater, "replies", number)()
        codes.append(reply.status_code)
        if reply.status_code != 200:
            break
    assert codes[-1] == 429, codes
    assert len(codes) >= 20, "who talks is not held up"
    assert len(stub.requests) == len(codes) - 1
    assert "ask again" in reply.json()["error"]
    page = rater.http.get("/rate/0").text
    assert f"Message {len(codes) - 1}" in page
    assert 'data-last="user"' in page, "the message is kept, and can be answered later"
