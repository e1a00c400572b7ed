"""Deciding from the terminal, raters called back to new pages, and what the commands say."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from personafit import Store
from personafit.label import (
    Access,
    RaterState,
    Studies,
    disputes,
    simulate_votes,
    status_object,
    steering,
    study_overview,
)
from personafit.label.votes import adjudicated_votes
from personafit.label.web.app import create_app
from tests.label.served import new_study
from tests.scripted import invoke


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six pages that three simulated raters have answered."""
    store = tmp_path_factory.mktemp("answered") / "store.db"
    new_study(store, overlap=3, seats=3, simulated=True, source="starter")
    with Store(store) as opened:
        simulate_votes(opened, "pilot")
    return store


ADJUDICATE = ("label", "adjudicate", "pilot")


def decided(studies: Studies) -> dict[str, tuple[str, str | None]]:
    rows = adjudicated_votes(studies, "pilot").iter_rows(named=True)
    return {row["item"]: (row["label"], row["note"]) for row in rows}


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Runs a command on the store, insists on its exit code, and returns what it said on one line."""

    def run(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        invoke(monkeypatch, tmp_path, *arguments, "--store", str(tmp_path / "store.db"), code=code)
        said = capsys.readouterr()
        return " ".join(f"{said.out} {said.err}".split())

    return run


def test_a_decision_from_the_terminal_is_stored_changed_and_taken_back(
    studies: Studies, command: Callable[..., str]
) -> None:
    item = disputes(studies, "pilot")[0].field.item
    said = command(*ADJUDICATE, "--decide", f"{item}=1", "--reason", "it knows the budget", "--json")
    assert decided(studies) == {item: ("1", "it knows the budget")}
    assert [row["decided"] for row in json.loads(said)["disputes"] if row["item"] == item] == ["1"]
    command(*ADJUDICATE, "--decide", f"{item}=0")
    assert decided(studies)[item] == ("0", None)
    command(*ADJUDICATE, "--decide", f"{item}=")
    assert decided(studies) == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--decide", "nonsense"), "write ITEM=ANSWER"),
        (("--decide", "starter/nobody=1"), "do not disagree about starter/nobody"),
    ],
)
def test_a_decision_that_does_not_fit_is_said(
    studies: Studies, command: Callable[..., str], given: tuple[str, str], said: str
) -> None:
    assert said in command(*ADJUDICATE, *given, code=2)


def test_an_item_with_several_answers_needs_its_question(tmp_path: Path, command: Callable[..., str]) -> None:
    store = tmp_path / "store.db"
    new_study(store, question="grade", count=2, overlap=5, seats=5, simulated=True)
    with Store(store) as opened:
        simulate_votes(opened, "pilot")
        studies = Studies(opened)
        dispute = disputes(studies, "pilot")[0]
        said = command(*ADJUDICATE, "--decide", f"{dispute.field.item}=3", code=2)
        assert "name question and target" in said
        question, target = dispute.field.question, dispute.field.target
        command(
            *ADJUDICATE, "--decide", f"{dispute.field.item}=3", "--question", question, "--target", target
        )
        (row,) = adjudicated_votes(studies, "pilot").iter_rows(named=True)
    assert (row["question"], row["target"], row["label"]) == (question, target, "3")


def test_raters_who_had_finished_are_called_back_to_the_pages_of_who_was_excluded(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    new_study(store, count=2, overlap=1, seats=2)
    with Store(store) as opened:
        studies = Studies(opened)
        for seat in (0, 1):
            studies.take("pilot", seat, None, {"consent": True, "passed": True})
        studies.update_seat("pilot", 0, "r", "finished", finished=1.0, state=RaterState.DONE)
        steering.exclude(studies, studies.seats("pilot")[1], "never read the answers")
        left = [one.page for one in studies.assigned("pilot", 1)]
        studies.extend("pilot", 1)
        given = {seat: [one.page for one in studies.assigned("pilot", seat)] for seat in (0, 2)}
        assert set(left) <= {*given[0], *given[2]}
        called = len(given[0]) > 1
        assert studies.seats("pilot")[0].state is (RaterState.ACTIVE if called else RaterState.DONE)
        status = status_object(study_overview(studies, "pilot"))
        assert status["raters"][2]["open"] == 0, "a free seat has nobody who could answer"


def test_a_page_that_was_removed_takes_no_answer_and_the_next_one_takes_its_own(
    tmp_path: Path, command: Callable[..., str]
) -> None:
    """`personafit data forget` while the server runs and a rater has the page open."""
    store = tmp_path / "store.db"
    new_study(store, count=6)
    with TestClient(create_app(store)) as client, Store(store) as opened:
        studies, access = Studies(opened), Access(opened.engine)
        studies.take("pilot", 0, None, {"consent": True, "passed": True})
        client.get(f"/join/{access.invite('pilot', 0)}")
        session = access.rater(client.cookies["personafit_rater"])
        assert session is not None
        plan = studies.assigned("pilot", 0)
        person = studies.page("pilot", plan[0].page).person
        gone = {page.id for page in studies.pages("pilot") if page.person == person}
        shown = next(one for one in plan if one.page not in gone)

        def key(position: int) -> str:
            return client.get(f"/rate/{position}").text.split('data-page="')[1].split('"')[0]

        keys = {one.page: key(one.position) for one in plan}

        def send(number: int, position: int, page: str) -> int:
            body = {
                "id": f"answer-{number}",
                "page": position,
                "key": keys[page],
                "field": "fit",
                "value": "A",
            }
            reply = client.post(
                "/api/answers", json=body | {"client_time": 0.0}, headers={"x-csrf-token": session.csrf}
            )
            return reply.status_code

        assert send(0, 0, plan[0].page) == 200
        command("data", "forget", person)
        assert send(1, 0, plan[0].page) == 404
        assert send(2, shown.position, shown.page) == 404, "it stands elsewhere now, and another in its place"
        moved = next(one for one in studies.assigned("pilot", 0) if one.page == shown.page)
        assert send(3, moved.position, shown.page) == 200
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT count(*) FROM asks").fetchone() == (1,)


def test_what_cannot_be_exported_is_said_and_nothing_is_written(
    tmp_path: Path, command: Callable[..., str]
) -> None:
    new_study(tmp_path / "store.db")
    said = command("label", "export", "pilot", "--out", "out", code=2)
    assert ("no votes to write yet" in said, (tmp_path / "out").exists()) == (True, False)
    said = command("label", "export", "pilot", "--benchmark", "out", "--format", "csv", code=2)
    assert "--format csv says how votes are written to --out" in said


def test_invitations_lead_to_where_the_server_ran_last(tmp_path: Path, command: Callable[..., str]) -> None:
    new_study(tmp_path / "store.db")
    with Store(tmp_path / "store.db") as opened:
        Access(opened.engine).note_address("http://127.0.0.1:9999")
    invite = ("label", "invite", "pilot", "--open")
    assert command(*invite).startswith("http://127.0.0.1:9999/join/")
    assert command(*invite, "--address", "https://a.example/").startswith("https://a.example/join/")
