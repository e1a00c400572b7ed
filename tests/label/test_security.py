"""Who may do what, and what a stranger, a forger and a flood get: every route, every role."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings

from personafit import Store
from personafit.label import Access, Studies
from personafit.label.web import guard
from personafit.label.web.app import create_app
from personafit.label.web.guard import LARGEST_BODY
from personafit.label.web.sessions import RATER_COOKIE, RESEARCHER_COOKIE
from tests.label.served import TOKEN, invitation, new_study

OPEN = ("/join/", "/login", "/setup", "/logout", "/")
"""Routes for everybody; a path that ends in / stands for all below it, the bare / for itself."""
RESEARCHER = ("/researcher",)
RATER = ("/rate", "/check", "/done", "/api/", "/chat", "/language")
EXAMPLES = 3  # calls of each operation


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two studies, and a password."""
    path = tmp_path_factory.mktemp("label") / "store.db"
    new_study(path)
    new_study(path, "other")
    with Store(path) as opened:
        access = Access(opened.engine)
        assert access.set_password(access.setup_token(), "a long enough password")
        Studies(opened).take("pilot", 0, None, {"consent": True, "passed": True})
    return path


@pytest.fixture(scope="module")
def app(store: Path) -> FastAPI:
    """The app."""
    return create_app(store)


@pytest.fixture
def anonymous(app: FastAPI) -> Iterator[TestClient]:
    """Somebody with no cookie."""
    with TestClient(app, base_url="http://testserver", follow_redirects=False) as client:
        yield client


def _as(client: TestClient, store: Path, role: str) -> str:
    """Give the client a cookie; returns its token."""
    client.cookies.clear()
    with Store(store) as opened:
        access = Access(opened.engine)
        if role == "rater":
            cookie = access.open_session("pilot", 0)
            client.cookies.set(RATER_COOKIE, cookie)
            session = access.rater(cookie)
        elif role == "researcher":
            cookie = access.open_researcher()
            client.cookies.set(RESEARCHER_COOKIE, cookie)
            return access.researcher(cookie).csrf  # type: ignore[union-attr]
        else:
            return ""
    assert session is not None
    return session.csrf


def _operations(app: FastAPI) -> list[tuple[str, str]]:
    found = []
    for path, methods in app.openapi()["paths"].items():
        found += [(method.upper(), re.sub(r"\{[^}]+\}", "0", path)) for method in methods]
    return sorted(found)


def _role_of(path: str) -> str:
    if path == "/" or path.startswith(tuple(one for one in OPEN if one != "/")):
        return "anyone"
    if path.startswith(RESEARCHER):
        return "researcher"
    if path.startswith(RATER):
        return "rater"
    raise AssertionError(f"{path} is in no role's list: say in this test whom it is for")


def test_every_route_refuses_every_other_role(app: FastAPI, anonymous: TestClient, store: Path) -> None:
    operations = _operations(app)
    assert len(operations) > 8
    for role in ("nobody", "rater", "researcher"):
        token = _as(anonymous, store, role)
        for method, path in operations:
            wanted = _role_of(path)
            if wanted in ("anyone", role):
                continue
            reply = anonymous.request(
                method, path, headers={"x-csrf-token": token, "accept": "text/html"}, json={}
            )
            assert reply.status_code in (303, 401, 403), (role, method, path, reply.status_code)
            if reply.status_code == 303:
                assert reply.headers["location"].startswith("/login"), (role, method, path)


def test_nothing_changes_without_the_page_s_own_token(
    app: FastAPI, anonymous: TestClient, store: Path
) -> None:
    for role in ("rater", "researcher"):
        _as(anonymous, store, role)
        for method, path in _operations(app):
            if method == "GET" or _role_of(path) != role:
                continue
            for token in ({}, {"x-csrf-token": "0" * 64}):
                reply = anonymous.request(method, path, headers=token, json=_answer())
                assert reply.status_code in (403, 422), (method, path, reply.status_code, reply.text[:200])
                assert reply.status_code == 403 or not path.startswith("/api/"), (method, path)


def _answer(**more: Any) -> dict[str, Any]:
    return {"id": "0123456789", "page": 0, "field": "fit", "value": "A", "client_time": 0.0} | more


@pytest.mark.parametrize(
    "change",
    [
        {"page": 999},
        {"page": -1},
        {"field": "nothing"},
        {"value": "Z"},
        {"value": None},
        {"why": "because"},
        {"id": "short"},
        {"id": "x" * 65},
        {"id": "bad id! here"},
        {"seconds": -1},
        {"value": "A" * 30_000},
        {"unknown": 1},
    ],
)
def test_an_answer_that_is_none_is_refused(
    anonymous: TestClient, store: Path, change: dict[str, Any]
) -> None:
    token = _as(anonymous, store, "rater")
    reply = anonymous.post("/api/answers", json=_answer() | change, headers={"x-csrf-token": token})
    assert reply.status_code in (404, 422), reply.text


@pytest.mark.parametrize("value", ["NaN", "Infinity", '"\\ud800"'])
def test_what_json_cannot_say_is_refused_and_not_said_back(
    anonymous: TestClient, store: Path, value: str
) -> None:
    headers = {"x-csrf-token": _as(anonymous, store, "rater"), "content-type": "application/json"}
    reply = anonymous.post("/api/answers", content=f'{{"page": {value}}}', headers=headers)
    assert reply.status_code == 422
    assert "input" not in reply.json()["detail"][0]


def test_a_browser_s_clock_may_say_anything(anonymous: TestClient, store: Path) -> None:
    token = _as(anonymous, store, "rater")
    body = _answer(id="clock-gone-wrong", client_time=1e300)
    assert anonymous.post("/api/answers", json=body, headers={"x-csrf-token": token}).status_code == 200
    _as(anonymous, store, "researcher")
    assert anonymous.get("/researcher/studies/pilot/trail").status_code == 200


def test_an_invitation_cannot_be_made_up_or_moved(anonymous: TestClient, store: Path) -> None:
    link = invitation(store)
    assert anonymous.get(link).status_code in (200, 303)
    body, _, signature = link.removeprefix("/join/").rpartition(".")
    with Store(store) as opened:
        other = Access(opened.engine).invite("other", 0)
    forged = f"{other.rpartition('.')[0]}.{signature}"
    for token in (body, f"{body}.", forged, link[6:-1], "WyJwaWxvdCIsMF0.AAAA", "%00", "x" * 5000):
        assert anonymous.get(f"/join/{token}").status_code in (404, 400, 414), token[:60]


def test_headers_cookies_and_limits(anonymous: TestClient, store: Path) -> None:
    shown = anonymous.get(invitation(store, seat=1), headers={"accept": "text/html"})
    policy = shown.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert shown.headers["x-content-type-options"] == "nosniff"
    token = TOKEN.search(shown.text)
    assert token is not None
    joined = anonymous.post(invitation(store, seat=1), data={"csrf": token[1], "agree": "yes"})
    cookie = joined.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert anonymous.post(invitation(store, seat=1), data={"csrf": "0", "agree": "yes"}).status_code == 403
    big = anonymous.post("/api/answers", content=b"x" * (LARGEST_BODY + 1))
    assert big.status_code == 413


def test_a_flood_is_turned_away_and_others_are_not(
    anonymous: TestClient, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "BURST", 5.0)
    monkeypatch.setattr(guard, "RATE", 0.0)
    _as(anonymous, store, "rater")
    codes = [anonymous.get("/static/label.css").status_code for _ in range(7)]
    assert codes == [200] * 5 + [429] * 2
    _as(anonymous, store, "researcher")
    assert anonymous.get("/static/label.css").status_code == 200


def test_no_password_no_researcher(anonymous: TestClient, store: Path) -> None:
    with Store(store) as opened:
        access = Access(opened.engine)
        assert not access.check_password("")
        assert not access.check_password("a long enough passwore")
        assert access.check_password("a long enough password")
        assert not access.set_password("anything", "another long password")
        stored = access._value("password")
        assert stored is not None
        assert stored.startswith("$argon2id$")


def test_the_page_tells_nothing(anonymous: TestClient, store: Path) -> None:
    """No ids of products, makers, gold or others' answers: only texts, letters and places."""
    _as(anonymous, store, "rater")
    with Store(store) as opened:
        studies = Studies(opened)
        dataset = studies.study("pilot").dataset
        products = {product for item in opened.items(dataset) for product in item.products}
        pages = studies.pages("pilot")
    for number in range(len(pages)):
        source = anonymous.get(f"/rate/{number}", headers={"accept": "text/html"}).text
        assert not [product for product in products if product in source]
        assert "gold" not in source.lower()
        assert "author" not in source.lower()
        assert not re.search(
            r"\b(personal(ized)?|generic|wrong-person|reject)\b",
            re.sub(
                r"<article.*?</article>|<dialog.*?</dialog>|<aside.*?</aside>|<blockquote.*?</blockquote>",
                "",
                source,
                flags=re.S,
            ),
        )


def test_what_people_write_stays_text(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script><img src=x onerror=alert(2)>[x](javascript:alert(3))\u202e\x00"
    store = tmp_path / "store.db"
    new_study(store, title=hostile, consent=hostile, guidelines=hostile)
    with TestClient(create_app(store), follow_redirects=True) as client:
        shown = client.get(invitation(store), headers={"accept": "text/html"}).text
        token = TOKEN.search(shown)
        assert token is not None
        page = client.post(
            invitation(store), data={"csrf": token[1], "agree": "yes"}, headers={"accept": "text/html"}
        ).text
        for source in (shown, page):
            assert "<script>alert" not in source
            assert "<img" not in source
            assert "javascript:" not in re.sub(r"\[x\]\(javascript:alert\(3\)\)", "", source)


def test_schemathesis_finds_no_server_error(app: FastAPI, store: Path) -> None:
    """Whatever is sent, the answer is a sentence, never a 5xx."""
    import schemathesis
    from schemathesis.core.result import Ok

    with Store(store) as opened:
        access = Access(opened.engine)
        cookies = {RATER_COOKIE: access.open_session("pilot", 0), RESEARCHER_COOKIE: access.open_researcher()}
        rater, researcher = access.rater(cookies[RATER_COOKIE]), access.researcher(cookies[RESEARCHER_COOKIE])
    assert rater is not None
    assert researcher is not None
    tokens = {"rater": rater.csrf, "researcher": researcher.csrf}
    called: set[str] = set()
    with TestClient(app, follow_redirects=False):
        logged_in = {"cookie": f"{RESEARCHER_COOKIE}={cookies[RESEARCHER_COOKIE]}"}
        schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=logged_in)
        for result in schema.get_all_operations():
            assert isinstance(result, Ok), result
            operation = result.ok()
            token = tokens.get(_role_of(re.sub(r"\{[^}]+\}", "0", operation.path)), "")

            _hammer(operation, cookies, token)
            called.add(operation.path)
    assert "/api/answers" in called


def _hammer(operation: Any, cookies: dict[str, str], token: str) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def send(case: Any) -> None:
        reply = case.call(cookies=cookies, headers={"x-csrf-token": token})
        assert reply.status_code < 500, (case.method, operation.path, reply.status_code, reply.text[:300])

    send()
