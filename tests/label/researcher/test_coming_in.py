"""The password: set once, by whoever holds the link, and asked for after that."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from personafit import Store
from personafit.label import Access, access
from personafit.label.web import login
from personafit.label.web.app import create_app
from personafit.label.web.sessions import RESEARCHER_COOKIE
from tests.label.researcher.researcher import PASSWORD, hidden


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """A browser at a server that nobody has used."""
    with TestClient(create_app(tmp_path / "store.db"), headers={"accept": "text/html"}) as client:
        yield client


@pytest.fixture
def token(client: TestClient, tmp_path: Path) -> str:
    with Store(tmp_path / "store.db") as opened:
        return Access(opened.engine).setup_token()


def set_password(client: TestClient, token: str, password: str = PASSWORD, again: str | None = None) -> str:
    data = hidden(client.get("/setup", params={"token": token}).text)
    reply = client.post("/setup", data=data | {"password": password, "again": again or password})
    return reply.url.path if reply.status_code == 200 else reply.text


def log_in(client: TestClient, password: str) -> int:
    data = hidden(client.get("/login").text)
    return client.post("/login", data=data | {"password": password}, follow_redirects=False).status_code


def test_the_link_of_the_first_start_sets_the_password_once(client: TestClient, token: str) -> None:
    assert "too short" in set_password(client, token, "123456789")
    assert "passwords differ" in set_password(client, token, again="something else")
    assert "not valid" in set_password(client, "guessed")
    assert set_password(client, token) == "/researcher"
    client.cookies.clear()
    assert client.get("/setup", params={"token": token}).url.path == "/login"
    assert log_in(client, PASSWORD) == 303


def test_there_is_no_password_to_begin_with(client: TestClient) -> None:
    assert "No password has been set" in client.get("/login").text
    assert client.get("/researcher").url.path == "/login"


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(client: TestClient, token: str) -> None:
    data = hidden(client.get("/setup", params={"token": token}).text)
    reply = client.post(
        "/setup", data=data | {"password": PASSWORD, "again": PASSWORD}, follow_redirects=False
    )
    cookie = next(one for one in reply.headers.get_list("set-cookie") if one.startswith(RESEARCHER_COOKIE))
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie


def test_whoever_is_wrong_again_and_again_has_to_wait(client: TestClient, token: str) -> None:
    set_password(client, token)
    now = [1000.0]
    client.app.state.attempts = login.Attempts(lambda: now[0])  # type: ignore[attr-defined]
    codes = [log_in(client, "wrong") for _ in range(login.FREE_TRIES + 1)]
    assert codes == [401] * login.FREE_TRIES + [429]
    assert log_in(client, PASSWORD) == 429, "the right one has to wait as well, or waiting would tell"
    now[0] += 1.1
    assert log_in(client, "wrong") == 401
    now[0] += 1.1
    assert log_in(client, PASSWORD) == 429, "the wait grows"
    now[0] += login.LONGEST_WAIT
    assert log_in(client, PASSWORD) == 303


def test_a_login_form_of_another_visit_is_refused(client: TestClient, token: str) -> None:
    set_password(client, token)
    data = hidden(client.get("/login").text)
    client.cookies.clear()
    reply = client.post("/login", data=data | {"password": PASSWORD})
    assert reply.status_code == 403


def test_logging_out_ends_the_sessions_on_every_device(
    client: TestClient, token: str, tmp_path: Path
) -> None:
    set_password(client, token)
    with TestClient(create_app(tmp_path / "store.db"), headers={"accept": "text/html"}) as other:
        assert log_in(other, PASSWORD) == 303
        assert other.get("/researcher").url.path == "/researcher"
        page = client.get("/researcher").text
        assert client.post("/logout", data={"csrf": "0" * 64}).status_code == 403
        assert RESEARCHER_COOKIE in client.cookies
        client.post("/logout", data=hidden(page))
        assert RESEARCHER_COOKIE not in client.cookies
        assert client.get("/researcher").url.path == "/login"
        assert other.get("/researcher").url.path == "/login"


def test_changing_the_password_ends_all_other_sessions(client: TestClient, token: str) -> None:
    set_password(client, token)
    old = client.cookies[RESEARCHER_COOKIE]

    def change(current: str, password: str, again: str) -> str:
        data = hidden(client.get("/researcher/password").text)
        sent = {"current": current, "password": password, "again": again}
        return client.post("/researcher/password", data=data | sent).text

    assert "The password is wrong." in change("wrong", "another long one", "another long one")
    assert "too short" in change(PASSWORD, "short", "short")
    assert "passwords differ" in change(PASSWORD, "another long one", "and another one")
    change(PASSWORD, "another long one", "another long one")
    assert client.get("/researcher").url.path == "/researcher", "who changed it stays"
    client.cookies.clear()
    client.cookies.set(RESEARCHER_COOKIE, old)
    assert client.get("/researcher").url.path == "/login"
    client.cookies.clear()
    assert (log_in(client, PASSWORD), log_in(client, "another long one")) == (401, 303)


def test_a_session_without_a_page_opened_ends(
    client: TestClient, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_password(client, token)
    form = hidden(client.get("/researcher").text)
    before = client.cookies[RESEARCHER_COOKIE]
    monkeypatch.setattr(access, "RESEARCHER_SECONDS", -1)
    assert client.get("/researcher").url.path == "/login"
    monkeypatch.undo()
    assert client.get("/researcher").status_code == 200
    assert hidden(client.get("/researcher").text) == form, "a page opened before can still be sent"
    assert client.cookies[RESEARCHER_COOKIE].split(".")[0] == before.split(".")[0]


def test_the_first_page_says_what_this_is_and_where_to_go(client: TestClient, token: str) -> None:
    assert "no password is set yet" in client.get("/").text
    set_password(client, token)
    assert '<a href="/login">' in client.get("/").text
    assert "研究者由此登录" in client.get("/", params={"lang": "zh"}).text
