"""Coming in and leaving: one seat for each person whatever is sent twice, the check before any answer, and the code at the end."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from personafit import Store
from personafit.api.places import find_run
from personafit.label import ExtraPages, Studies, StudyConfig, erase_rater, make_study, steering
from personafit.label.records import Role
from personafit.label.steering import forget_in_studies
from personafit.label.votes import study_remarks, study_votes
from personafit.label.web.app import create_app
from tests.label.researcher.researcher import hidden
from tests.label.served import TOKEN, invitation, new_study

WRONG = {"q0": "0", "q1": "1", "q2": "0"}
RIGHT = {"q0": "2", "q1": "0", "q2": "1"}


@contextmanager
def browser(store: Path) -> Iterator[TestClient]:
    """Somebody's browser at the app."""
    with TestClient(create_app(store), headers={"accept": "text/html"}) as client:
        yield client


@contextmanager
def studies_of(store: Path) -> Iterator[Studies]:
    with Store(store) as opened:
        yield Studies(opened)


def agree(client: TestClient, link: str, shown: Any = None, **who: str) -> Any:
    """Open a link and consent, where that is asked for."""
    shown = shown if shown is not None else client.get(link, params=who)
    if "/join/" not in str(shown.url):
        return shown
    return client.post(str(shown.url), data=hidden(shown.text) | {"agree": "yes"})


def send(client: TestClient, shown: Any, value: str, field: str = "fit", **more: object) -> int:
    token = TOKEN.search(shown.text)
    assert token is not None
    body = {"id": "answer-1", "page": 0, "field": field, "value": value, "client_time": 0.0} | more
    return client.post("/api/answers", json=body, headers={"x-csrf-token": token[1]}).status_code


def seats(store: Path) -> list[tuple[str | None, str]]:
    with studies_of(store) as studies:
        return [(seat.external, seat.state.value) for seat in studies.seats("pilot")]


def test_two_people_at_one_browser_have_a_seat_each(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    new_study(store, seats=3)
    link = invitation(store, seat=None)
    with browser(store) as client:
        agree(client, link, PROLIFIC_PID="ann")
        agree(client, link, PROLIFIC_PID="bob")
        assert agree(client, link, PROLIFIC_PID="bob").url.path == "/rate/0"
    assert seats(store) == [("ann", "active"), ("bob", "active"), (None, "free")]


def test_a_name_that_no_database_takes_is_kept_as_far_as_it_can_be(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    new_study(store)
    with browser(store) as client:
        agree(client, invitation(store, seat=None), PROLIFIC_PID="a\x00b")
    ((external, _), _) = seats(store)
    assert external is not None
    assert "\x00" not in external, "PostgreSQL refuses it"


def test_two_tabs_of_one_browser_take_one_seat(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    new_study(store, seats=3)
    link = invitation(store, seat=None)
    with browser(store) as client:
        for tab in [client.get(link), client.get(link)]:
            assert agree(client, link, tab).url.path == "/rate/0"
    assert [state for _, state in seats(store)] == ["active", "free", "free"]


def test_who_was_erased_may_come_again_at_the_open_link(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    new_study(store, seats=3)
    link = invitation(store, seat=None)
    with browser(store) as client, studies_of(store) as studies:
        agree(client, link)
        erase_rater(studies, studies.seats("pilot")[0])
        assert agree(client, link).url.path == "/rate/0"
    assert [state for _, state in seats(store)] == ["erased", "active", "free"]


def test_nobody_is_given_a_seat_without_pages(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    new_study(store, count=2, overlap=1, seats=5, completion_code="DONE-1")
    arrived = []
    for _ in range(3):
        with browser(store) as client:
            arrived.append(agree(client, invitation(store, seat=None)))
    assert [shown.status_code for shown in arrived] == [200, 200, 409]
    assert not any("DONE-1" in shown.text for shown in arrived)


def test_the_check_comes_before_any_answer(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    new_study(store, check=True)
    with browser(store) as client, studies_of(store) as studies:
        shown = agree(client, invitation(store))
        assert (shown.url.path, send(client, shown, "A")) == ("/check", 403)
        assert study_votes(studies, "pilot").is_empty()
        client.post("/check", data=hidden(shown.text) | RIGHT)
        assert send(client, shown, "A") == 200


def test_a_form_of_the_check_that_is_sent_twice_is_one_attempt(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    new_study(store, check=True)
    with browser(store) as client, studies_of(store) as studies:
        first = agree(client, invitation(store))
        for _ in range(2):
            shown = client.post("/check", data=hidden(first.text) | WRONG)
            assert (shown.status_code, 'class="warning"' in shown.text) == (200, True)
        out = client.post("/check", data=hidden(shown.text) | WRONG)
        assert out.status_code == 403
        steering.resume(studies, studies.seats("pilot")[0])
        again = client.get("/check")
        assert "Attempts left: 2" in again.text, "who is taken in again takes it anew"
        assert client.post("/check", data=hidden(again.text) | RIGHT).url.path == "/rate/0"


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_who_has_finished_gets_the_code_whatever_became_of_the_study(tmp_path: Path, state: str) -> None:
    store = tmp_path / "store.db"
    new_study(store, count=1, completion_code="DONE-1")
    with browser(store) as client, studies_of(store) as studies:
        shown = agree(client, invitation(store))
        steering.set_state(studies, "pilot", state)
        assert client.get("/done").status_code == 403, "there is a page left"
        steering.set_state(studies, "pilot", "open")
        assert send(client, shown, "A") == 200
        steering.set_state(studies, "pilot", state)
        assert "DONE-1" in client.get("/done").text


def test_a_note_that_was_emptied_is_none(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    new_study(store)
    with browser(store) as client, studies_of(store) as studies:
        shown = agree(client, invitation(store))
        assert send(client, shown, "Is this right?", "note") == 200
        assert study_remarks(studies, "pilot")["text"].to_list() == ["Is this right?"]
        assert send(client, shown, "", "note", id="answer-2") == 200
        assert study_remarks(studies, "pilot").is_empty()
        assert re.search(r'data-answers="\{\}"', client.get("/rate/0").text)


def test_what_was_missed_on_a_practice_page_is_forgotten_with_the_person(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    config = StudyConfig(overlap=1, seats=1, source="starter")
    with Store(path) as store:
        make_study(
            store, "pilot", "starter", "attributes", config, find_run, count=2, besides=ExtraPages(practice=1)
        )
    with browser(path) as client, studies_of(path) as studies:
        (practice,) = studies.pages("pilot", (Role.PRACTICE,))
        shown = agree(client, invitation(path))
        assert send(client, shown, "Collects stamps.", "missing") == 200
        with studies.engine.begin() as connection:
            counts = forget_in_studies(connection, practice.person)
    assert (counts["asks"], counts["judgments"]) == (1, 1)
