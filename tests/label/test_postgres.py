"""Every form on a real PostgreSQL server: answered, watched, decided, exported, agreed on and erased."""

import asyncio
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from personafit import Store
from personafit.api.places import find_run
from personafit.label import (
    Access,
    Studies,
    StudyConfig,
    disputes,
    erase_rater,
    export_study,
    make_study,
    simulate_votes,
    study_overview,
)
from personafit.label.adjudicating import decide, labels_of
from personafit.label.chats import Chat
from personafit.label.exports import FORMATS
from personafit.label.gold import study_gold
from personafit.label.votes import adjudicated_votes, study_votes
from personafit.label.web.app import create_app
from personafit.label.web.sessions import RESEARCHER_COOKIE
from personafit.store import forgetting
from tests.conftest import Command
from tests.label.browser.site import PARTS
from tests.label.forms.test_chats import SECRET, Echo
from tests.label.served import RaterClient, invitation, new_study, serving_here
from tests.scripted import invoke
from tests.store.databases import NoPostgres, create_database, postgres_server

FORMS = {"fit": "starter", "grade": "starter", "relevance": "starter", "preference": "starter"}
FORMS |= {"attributes": "starter", "dialogue": "last"}
PATHS = ("", "/numbers", "/remarks", "/adjudicate", "/invitations", "/trail", "/raters/0")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A store with a study of each form, answered by simulated raters, and one of chats."""
    folder = tmp_path_factory.mktemp("postgres")
    (folder / "parts.py").write_text(PARTS)
    try:
        with postgres_server() as server:
            store = create_database(server, f"t{uuid.uuid4().hex}")
            with pytest.MonkeyPatch.context() as patch:
                invoke(
                    patch, folder, "run", "personalens", "--data", "starter", "--system", "canned", "--user",
                    "python:parts:user", "--rater", "python:parts:judge", "--limit", "2", "--store", store,
                )  # fmt: skip
            with Store(store) as opened:
                for form, source in FORMS.items():
                    config = StudyConfig(overlap=3, seats=3, simulated=True, source=source)
                    make_study(opened, form, source, form, config, find_run, count=2)
                    assert simulate_votes(opened, form) > 0
                config = StudyConfig(overlap=1, seats=1, model="replay:none.jsonl", source="own")
                make_study(opened, "chat", "own", "chat", config, find_run)
            yield store
    except NoPostgres as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_watched_decided_and_exported(url: str, form: str, tmp_path: Path) -> None:
    with Store(url) as opened:
        studies = Studies(opened)
        numbers, votes = study_overview(studies, form), study_votes(studies, form)
        assert numbers.done == numbers.planned > 0
        assert votes.height == numbers.votes > 0
        for format in FORMATS:
            export_study(studies, form, tmp_path / format, format)
            assert (tmp_path / format / "SHA256SUMS").exists()
        if found := disputes(studies, form):
            label = next(iter(labels_of(studies, form, found[0].page, found[0].field)))
            decide(studies, form, found[0].key, label, "why not")
            assert adjudicated_votes(studies, form)["label"].to_list() == [label]


def test_the_researcher_s_pages_of_every_form(url: str) -> None:
    with TestClient(create_app(url), headers={"accept": "text/html"}) as client, Store(url) as opened:
        client.cookies.set(RESEARCHER_COOKIE, Access(opened.engine).open_researcher())
        for form in FORMS:  # what does not depend on the form once
            for path in PATHS if form == "fit" else ("", "/adjudicate"):
                assert client.get(f"/researcher/studies/{form}{path}").status_code == 200, (form, path)


def test_votes_of_a_form_stand_in_one_table_with_the_models(url: str, personafit: Command) -> None:
    said = personafit("agree", "dialogue", "--store", url).out
    assert "personalization" in said
    assert "simulated" in said


def test_a_chat_is_had_rated_and_erased(url: str) -> None:
    with TestClient(create_app(url)) as client, Store(url) as opened:
        studies, access = Studies(opened), Access(opened.engine)
        seat = studies.take("chat", 0, None, {"consent": True, "passed": True})
        assert seat is not None
        chat = Chat(opened, studies.study("chat"), seat, studies.assigned("chat", 0)[0])
        chat.begin("key-0")
        chat.say(f"I like {SECRET}", "key-1")
        asyncio.run(chat.answer(Echo()))
        client.cookies.set("personafit_rater", cookie := access.open_session("chat", 0))
        session = access.rater(cookie)
        assert session is not None

        def rate(field: str, value: str) -> tuple[int, bool]:
            body = {"id": str(uuid.uuid4()), "page": 0, "field": field, "value": value, "client_time": 0.0}
            sent = client.post("/api/answers", json=body, headers={"x-csrf-token": session.csrf})
            return sent.status_code, sent.json().get("done", False)

        assert rate("completion", "1") == (409, False), "a chat is rated when it has ended"
        chat.end("satisfied", "key-2", Echo())
        marks = {"completion": "1", "personalization": "3", "naturalness.user": "5"}
        marks |= {"naturalness.assistant": "4", "coherence.assistant": "4"}
        done = [rate(field, value) for field, value in marks.items()]
        assert done == [(200, False)] * 4 + [(200, True)], "the page is done when everything is answered"
        votes = study_votes(studies, "chat")
        assert dict(zip(votes["question"], votes["label"], strict=True)) == marks
        assert set(votes["perspective"]) == {"self"}
        gone = erase_rater(studies, seat).counts
        assert (gone["judgments"], gone["asks"], gone["messages"]) == (5, 5, 4)
        assert study_votes(studies, "chat").is_empty()
        assert rate("completion", "0")[0] == 401


def test_a_form_that_is_sent_twice_at_once_takes_one_seat(url: str) -> None:
    with Store(url) as opened:
        config = StudyConfig(overlap=1, seats=9, source="starter")
        make_study(opened, "rush", "starter", "fit", config, find_run, count=9)
        studies, together = Studies(opened), threading.Barrier(8)

        def join(number: int) -> None:
            together.wait()
            visit = str(number % 4)
            studies.take("rush", None, f"visit:{visit}", {"visit": visit})

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(join, range(8)))
        assert sum(seat.external is not None for seat in studies.seats("rush")) == 4


def test_nothing_of_an_erased_participant_is_left_in_the_server_s_files(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    who = "5f3e0c9a7b1d2e4f6a8b9c0d"
    with Store(url) as opened:
        config = StudyConfig(overlap=1, seats=1, model="replay:none.jsonl", source="own")
        make_study(opened, "gone", "own", "chat", config, find_run)
        studies = Studies(opened)
        seat = studies.take("gone", 0, who, {})
        assert seat is not None
        chat = Chat(opened, studies.study("gone"), seat, studies.assigned("gone", 0)[0])
        chat.begin("key-begin")
        chat.say(SECRET, "key-hello")
        with opened.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("ANALYZE"))  # the planner's statistics hold samples of values
        with opened.engine.connect().execution_options(isolation_level="REPEATABLE READ") as reader:
            reader.execute(text("SELECT 1"))  # a backup, say: what was deleted stays for it
            monkeypatch.setattr(forgetting, "WAIT_SECONDS", 0.0)
            assert "another transaction" in str(erase_rater(studies, seat).remains)
        assert forgetting.free_bytes(opened.engine) is None
        with opened.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("CHECKPOINT"))
    tables = Path(url.partition("host=")[2]) / "data" / "base"
    files = [path.read_bytes() for path in tables.rglob("*") if path.is_file()]
    assert files
    assert not any(trace.encode() in file for file in files for trace in (SECRET, who, seat.code))


def test_raters_answer_at_the_same_time(url: str) -> None:
    new_study(url, overlap=3, seats=3)
    with serving_here(url) as server:
        raters = [RaterClient(server.address, invitation(url, seat=seat)) for seat in range(3)]

        def rate(rater: RaterClient) -> None:
            for page in range(6):
                assert rater.answer(page, "AB"[page % 2]).json()["done"]
            assert rater.answer(0, "B").json()["generation"] == 1

        threads = [threading.Thread(target=rate, args=(rater,)) for rater in raters]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for rater in raters:
            assert "/done" in str(rater.http.get("/rate").url)
            rater.http.close()
    with Store(url) as opened:
        votes = study_votes(Studies(opened), "pilot")
        assert len(votes) == 18
        assert len(study_gold(Studies(opened), "pilot").rows) == 6
