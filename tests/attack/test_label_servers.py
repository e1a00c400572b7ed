"""What several servers, repeated ids and curious visitors could get out of the labelling app."""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from personafit import Store
from personafit.api.places import find_run
from personafit.label import Access, Studies, StudyConfig, chats, make_study
from personafit.label.votes import study_votes
from personafit.label.web.app import create_app
from personafit.label.web.sessions import RATER_COOKIE, RESEARCHER_COOKIE
from tests.label.served import new_study
from tests.stub_endpoint import StubEndpoint


def enter(client: TestClient, store: Path, study: str) -> dict[str, str]:
    """Sit down in the first seat of a study; returns what its scripts send along."""
    with Store(store) as opened:
        Studies(opened).take(study, 0, None, {"consent": True, "passed": True})
        access = Access(opened.engine)
        cookie = access.open_session(study, 0)
        session = access.rater(cookie)
    assert session is not None
    client.cookies.set(RATER_COOKIE, cookie)
    return {"x-csrf-token": session.csrf}


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[tuple[Path, StubEndpoint]]:
    """A store with a study of chats, and the model people talk with."""
    with StubEndpoint("slow") as stub:
        store = tmp_path / "store.db"
        with Store(store) as opened:
            config = StudyConfig(overlap=1, seats=1, model=stub.spec(), source="own")
            make_study(opened, "talk", "own", "chat", config, find_run)
        yield store, stub


def test_a_message_costs_one_model_call_however_many_servers_share_a_store(
    talk: tuple[Path, StubEndpoint],
) -> None:
    store, stub = talk
    body = {"page": 0, "key": "key-of-the-chat"}
    with (
        TestClient(create_app(store, [stub.spec()])) as one,
        TestClient(create_app(store, [stub.spec()])) as two,
    ):
        tokens = [enter(client, store, "talk") for client in (one, two)]
        assert one.post("/api/chat/begin", json=body, headers=tokens[0]).status_code == 200
        said = body | {"text": "Hello", "key": "key-of-hello"}
        assert one.post("/api/chat/messages", json=said, headers=tokens[0]).status_code == 200
        with ThreadPoolExecutor(2) as pool:
            asked = [
                pool.submit(client.post, "/api/chat/replies", json=body, headers=token)
                for client, token in zip((one, two), tokens, strict=True)
            ]
            replies = [one.result() for one in asked]
    assert len(stub.requests) == 1
    assert [reply.status_code for reply in replies] == [200, 200]
    assert replies[0].json() == replies[1].json(), "both are told the one reply"
    assert [turn["role"] for turn in replies[0].json()["said"]] == ["user", "assistant"]


def test_a_reply_whose_server_died_is_written_by_another(
    talk: tuple[Path, StubEndpoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, stub = talk
    body = {"page": 0, "key": "key-of-the-chat"}
    with TestClient(create_app(store, [stub.spec()])) as client, Store(store) as opened:
        token = enter(client, store, "talk")
        client.post("/api/chat/begin", json=body, headers=token)
        client.post("/api/chat/messages", json=body | {"text": "Hello", "key": "key-hello"}, headers=token)
        studies = Studies(opened)
        seat = studies.seats("talk")[0]
        chat = chats.Chat(opened, studies.study("talk"), seat, studies.assigned("talk", 0)[0])
        assert chat._claim(2, "of a server that was killed")
        assert [row.role for row in chat.rows()] == ["consent", "user"]
        monkeypatch.setattr(chats, "GIVEN_UP_AFTER", -1.0)
        reply = client.post("/api/chat/replies", json=body, headers=token)
    assert [turn["role"] for turn in reply.json()["said"]] == ["user", "assistant"]
    assert len(stub.requests) == 1


def test_an_id_that_comes_back_with_another_value_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    new_study(store)
    with TestClient(create_app(store)) as client:
        token = enter(client, store, "pilot")
        body = {"id": str(uuid.uuid4()), "page": 0, "field": "fit", "value": "A", "client_time": 1.0}
        first = client.post("/api/answers", json=body, headers=token)
        again = client.post("/api/answers", json=body | {"client_time": 2.0}, headers=token)
        assert first.json() == again.json() == {"id": body["id"], "generation": 0, "done": True}
        for other in ({"value": "B"}, {"note": "more"}, {"value": None, "why": "undone"}):
            refused = client.post("/api/answers", json=body | other, headers=token)
            assert (refused.status_code, list(refused.json())) == (409, ["error"])
    with Store(store) as opened:
        assert study_votes(Studies(opened), "pilot").select("status", "note").rows() == [("ok", None)]


def test_the_description_of_the_api_is_for_researchers(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    new_study(store)
    with TestClient(create_app(store), follow_redirects=False) as client:
        pages = ("/openapi.json", "/docs", "/redoc")
        assert [client.get(page).status_code for page in pages] == [401, 404, 404]
        enter(client, store, "pilot")
        assert [client.get(page).status_code for page in pages] == [401, 404, 404]
        with Store(store) as opened:
            client.cookies.set(RESEARCHER_COOKIE, Access(opened.engine).open_researcher())
        assert "/api/answers" in client.get("/openapi.json").json()["paths"]
