"""Somebody tries to sit on another participant's seat: with an id that anybody can write into an address."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from personafit import Store
from personafit.label import Access, Studies
from personafit.label.votes import study_votes
from personafit.label.web.app import create_app
from tests.label.researcher.researcher import hidden
from tests.label.served import TOKEN, invitation, new_study

NOTE = "My sister is called Marlene, too."


@contextmanager
def browser(store: Path) -> Iterator[TestClient]:
    """A browser that has never been here."""
    with TestClient(create_app(store), headers={"accept": "text/html"}) as client:
        yield client


def come(client: TestClient, link: str, **who: str) -> Any:
    """Open a link and agree, where that is asked for; the page one comes to."""
    shown = client.get(link, params=who)
    if "/join/" not in str(shown.url) or shown.status_code != 200:
        return shown
    return client.post(str(shown.url), data=hidden(shown.text) | {"agree": "yes"})


def vote(client: TestClient, page: str, value: str, field: str = "fit") -> int:
    token = TOKEN.search(page)
    assert token is not None
    body = {
        "id": f"answer-{field}-{value[:1]}",
        "page": 0,
        "field": field,
        "value": value,
        "client_time": 0.0,
    }
    return client.post("/api/answers", json=body, headers={"x-csrf-token": token[1]}).status_code


def taken(store: Path) -> list[str | None]:
    with Store(store) as opened:
        return [seat.external for seat in Studies(opened).seats("pilot") if seat.state != "free"]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    new_study(path, seats=4)
    return path


@pytest.mark.parametrize("parameter", ["participant", "PROLIFIC_PID"])
@pytest.mark.parametrize("by_seat", [False, True])
def test_an_id_in_the_address_opens_nobody_s_seat(store: Path, parameter: str, by_seat: bool) -> None:
    link = invitation(store, seat=None)
    with browser(store) as victim:
        page = come(victim, link, **{parameter: "17"}).text
        assert vote(victim, page, "A") == vote(victim, page, NOTE, "note") == 200
        with browser(store) as attacker:
            own = invitation(store, seat=3) if by_seat else link
            got = come(attacker, own, **{parameter: "17"})
            assert NOTE not in got.text
            if by_seat:
                assert (got.status_code, got.url.path) == (200, "/rate/0"), "a seat of their own"
            else:
                assert got.status_code == 409
                assert "Somebody is taking part under this id already." in got.text
                assert attacker.get("/rate/0").status_code == 401
        assert NOTE in victim.get("/rate/0").text
        assert come(victim, link, **{parameter: "17"}).url.path == "/rate/1", "the cookie is enough to go on"
    with Store(store) as opened:
        votes = study_votes(Studies(opened), "pilot")
        seat = Studies(opened).seats("pilot")[0]
        assert votes["rater"].to_list() == [seat.code]


def test_the_own_link_leads_back_from_another_browser(store: Path) -> None:
    with browser(store) as one:
        page = come(one, invitation(store, seat=None), participant="17").text
        assert vote(one, page, NOTE, "note") == 200
        own = re.search(r'<a href="(/join/[^"]+)"', page)
        assert own is not None, "it stands on the list of pages"
    with browser(store) as other:
        assert NOTE in come(other, own[1]).text
    assert taken(store) == ["17"]


def test_a_consent_form_that_is_sent_twice_takes_one_seat(store: Path) -> None:
    """The first reply, and its cookie with it, may be lost."""
    link = invitation(store, seat=None)
    with browser(store) as client:
        shown = client.get(link, params={"participant": "17"})
        for _ in range(2):
            client.cookies.clear()
            reply = client.post(str(shown.url), data=hidden(shown.text) | {"agree": "yes"})
            assert reply.url.path == "/rate/0"
    assert taken(store) == ["17"]


def test_signed_ids_open_their_own_seat_from_anywhere(tmp_path: Path) -> None:
    store, ids = tmp_path / "store.db", tmp_path / "ids.txt"
    new_study(store, seats=4, signed_ids=True)
    ids.write_text("17\n18\n\n17\n")
    command = [sys.executable, "-m", "personafit", "label", "invite", "pilot", "--store", str(store)]
    printed = subprocess.run(
        [*command, "--participants", str(ids)], check=True, capture_output=True, text=True
    ).stdout
    links = dict(line.split("\t") for line in printed.splitlines())
    assert list(links) == ["17", "18"]
    paths = {id: link[link.index("/join/") :] for id, link in links.items()}
    with browser(store) as one:
        assert vote(one, come(one, paths["17"]).text, NOTE, "note") == 200
    with browser(store) as again, browser(store) as other:
        assert NOTE in come(again, paths["17"]).text
        assert NOTE not in come(other, paths["18"]).text
    assert taken(store) == ["17", "18"]
    with browser(store) as attacker:
        unsigned = invitation(store, seat=None)
        for who in ({"participant": "17"}, {"PROLIFIC_PID": "19"}, {}):
            assert come(attacker, unsigned, **who).status_code == 403
        body, _, signature = paths["18"].rpartition(".")
        assert come(attacker, f"{paths['17'].rpartition('.')[0]}.{signature}").status_code == 404
        assert come(attacker, body).status_code == 404
    refused = subprocess.run([*command, "--open"], capture_output=True, text=True)
    assert (refused.returncode, "takes signed links only" in refused.stderr) == (2, True)


def test_a_signed_id_does_not_sit_down_with_one_who_only_says_so(store: Path) -> None:
    """Somebody takes seat 17 before the participant whose link is signed comes: each has a seat of their own."""
    with Store(store) as opened:
        signed = f"/join/{Access(opened.engine).invite('pilot', None, '17')}"
    with browser(store) as squatter, browser(store) as participant:
        assert vote(squatter, come(squatter, invitation(store, seat=None), participant="17").text, "A") == 200
        assert vote(participant, come(participant, signed).text, NOTE, "note") == 200
        assert NOTE not in squatter.get("/rate/0").text
    assert taken(store) == ["17", "17"]
