"""A study with two raters whose votes are known, and a researcher at the served pages."""

import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from argon2 import PasswordHasher

from personafit import Store
from personafit.label import Access, Studies, access, simulate_votes
from tests.label.researcher.researcher import Researcher
from tests.label.served import RaterClient, Server, invitation, new_study, serving_here

HOSTILE = "<script>alert(1)</script><b>bold</b>"
PAGES, OVERLAP = 14, 3


@pytest.fixture(scope="module", autouse=True)
def cheap_passwords() -> Iterator[None]:
    """Passwords that are hashed at once: what makes it slow on purpose is Argon2's and tested there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(access, "PasswordHasher", partial(PasswordHasher, time_cost=1, memory_cost=64))
        yield


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where everything is kept."""
    path = tmp_path_factory.mktemp("researcher") / "store.db"
    new_study(path, "pilot", PAGES, overlap=OVERLAP, seats=4, title=HOSTILE, source="starter")
    return path


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[Server]:
    """The pages, served."""
    with serving_here(store) as running:
        yield running


@pytest.fixture(scope="module")
def votes(store: Path, server: Server) -> dict[str, dict[str, str]]:
    """What was answered, by rater's code and page: the first always takes A, the second B."""
    given: dict[str, dict[str, str]] = {}
    with Store(store) as opened:
        studies = Studies(opened)
        for number in (0, 1):
            seat = studies.seats("pilot")[number]
            with RaterClient(server.address, invitation(store, "pilot", number)) as rater:
                for place, assigned in enumerate(studies.assigned("pilot", number)):
                    letter = "A" if number == 0 else "B"
                    note = {"note": HOSTILE} if place == 1 else {}
                    reply = rater.answer(assigned.position, letter, seconds=4.0 + number, **note)
                    assert reply.status_code == 200, reply.text
                    chosen = str(assigned.arrangement.sides["AB".index(letter)])
                    given.setdefault(seat.code, {})[assigned.page] = chosen
                assert rater.answer(2, "uncomfortable", "flag").status_code == 200
                assert rater.answer(3, HOSTILE, "note").status_code == 200
    return given


@pytest.fixture(scope="module")
def researcher(server: Server, store: Path) -> Iterator[Researcher]:
    """A researcher who has set the password."""
    with Store(store) as opened:
        token = Access(opened.engine).setup_token()
    with httpx.Client(
        base_url=server.address, follow_redirects=True, headers={"accept": "text/html"}
    ) as http:
        yield Researcher.first(http, token)


def text_of(html: str) -> str:
    """What a page says, without its tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of eight pages, each answered by three simulated raters, and an empty one of the same pages."""
    path = tmp_path_factory.mktemp("data") / "store.db"
    new_study(path, "pilot", 8, overlap=3, seats=3, simulated=True, source="starter")
    new_study(path, "copy", 8, overlap=3, seats=3, source="starter")
    with Store(path) as opened:
        simulate_votes(opened, "pilot")
    return path


@pytest.fixture
def studies(template: Path, tmp_path: Path) -> Iterator[Studies]:
    """The same, to be changed at will."""
    shutil.copy(template, tmp_path / "store.db")
    with Store(tmp_path / "store.db") as opened:
        yield Studies(opened)
