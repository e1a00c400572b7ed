"""A rater who knows the public scheme, the benchmark and their own page tries to tell which answer stands under which letter.

The scheme is written out here once more: it is what anybody can read in an older personafit.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from personafit import Store
from personafit._hashing import hash_text
from personafit.label import Studies, StudyConfig
from personafit.label.forms import FORMS
from personafit.label.records import Page, Role
from personafit.label.votes import study_votes
from personafit.label.web.app import create_app
from personafit.store import tables as t
from tests.label.researcher.researcher import hidden
from tests.label.served import TOKEN, invitation, new_study

ITEM = "answers/starter-7/generic"
PRODUCTS = ("product-of-model-x", "product-of-model-y")
CHANCE = (0.3, 0.7)  # share of 160 guesses that luck gets right: five standard deviations to either side


def public_rater(study: str, page: str) -> str:
    """Who the rater is, worked out from what stands on the page."""
    code = re.search(rf'name="study" content="{study}/([^"]+)"', page)
    assert code is not None
    return hash_text("human", study, code[1])


def public_key(page: str, rater: str) -> str:
    return hash_text("page key", page, rater)[:16]


def public_sides(page: str, rater: str) -> list[int]:
    return sorted(range(2), key=lambda place: hash_text("side", "0", page, rater, str(place)))


@contextmanager
def joined(store: Path, study: str = "pilot", seat: int = 0) -> Iterator[TestClient]:
    """A rater who has agreed to take part."""
    with TestClient(create_app(store), headers={"accept": "text/html"}) as client:
        link = invitation(store, study, seat)
        client.post(link, data=hidden(client.get(link).text) | {"agree": "yes"})
        yield client


def sent(client: TestClient, page: str, **answer: Any) -> Any:
    token = TOKEN.search(page)
    assert token is not None
    body = {"id": "answer-0001", "page": 0, "client_time": 0.0} | answer
    return client.post("/api/answers", json=body, headers={"x-csrf-token": token[1]})


def test_the_public_scheme_finds_no_page_and_no_side(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    new_study(store, count=None, overlap=4, seats=4)
    with Store(store) as opened:
        pages = {page.id: page for page in Studies(opened).pages("pilot")}
    found = guessed = asked = 0
    for seat in range(4):
        with joined(store, seat=seat) as client, Store(store) as opened:
            for assigned in Studies(opened).assigned("pilot", seat)[:40]:
                html = client.get(f"/rate/{assigned.position}").text
                key = re.search(r'data-page="([^"]+)"', html)
                assert key is not None
                rater = public_rater("pilot", html)
                found += key[1] in {public_key(page, rater) for page in pages}
                # Even who knows the page by its text does not know the order.
                if pages[assigned.page].sides == 2:
                    asked += 1
                    guessed += public_sides(assigned.page, rater) == assigned.arrangement.sides
    assert found == 0
    assert asked >= 100
    assert CHANCE[0] < guessed / asked < CHANCE[1], (guessed, asked)


def _page(form: str, role: Role = Role.ITEM) -> Page:
    """A page of each form whose ids tell everything, and whose texts tell nothing."""
    said = {
        "profile": "P",
        "prompt": "Q",
        "answer": "A",
        "task": "T",
        "goal": "G",
        "preferences": "",
        "known": "",
    }
    lists = {
        "answers": ["A", "B"],
        "attributes": ["one", "two"],
        "questions": ["one", "two"],
        "reasons": [None, None],
        "statements": [{"text": "one", "evidence": [0]}, {"text": "two", "evidence": [0]}],
        "turns": [{"role": "user", "text": "Hi"}, {"role": "assistant", "text": "Ho"}],
        "conversation": f"{ITEM}/conversation",
    }
    listed = form in ("attributes", "relevance")
    questions = {"fit": "fit", "grade": "grade.fit"}
    return Page(
        id=ITEM,
        role=role,
        person="person-of-source",
        items=[f"{ITEM}/0", f"{ITEM}/1"] if listed else [ITEM],
        sides=2 if form in ("fit", "preference") else 0,
        places=2 if listed or form == "preference" else 0,
        targets=[] if listed else list(PRODUCTS),
        content=said | lists,
        makes="dialogue/" if form == "chat" else "",
        key={questions[form]: "1"} if role is Role.PRACTICE else {},
    )


@pytest.mark.parametrize(
    ("form", "role"),
    [*((form, Role.ITEM) for form in FORMS), ("fit", Role.PRACTICE), ("grade", Role.PRACTICE)],
)
def test_no_page_and_no_reply_carries_an_id(tmp_path: Path, form: str, role: Role) -> None:
    store = tmp_path / "store.db"
    with Store(store) as opened:
        config = StudyConfig(overlap=1, seats=1, model="replay:none.jsonl", source="own")
        Studies(opened).create("pilot", "answers@hash", FORMS[form], config, [_page(form, role)])
        field = FORMS[form].fields(_page(form, role), Studies(opened).assigned("pilot", 0)[0].arrangement)[0]
    with joined(store) as client:
        page = client.get("/rate/0").text
        token = TOKEN.search(page)
        assert token is not None
        script = {"x-csrf-token": token[1]}
        seen = [page, client.get("/rate/0", headers={"hx-request": "true"}).text]
        option = {"value": field.options[0].value}
        seen += [sent(client, page, field=field.code, **option).text]
        seen += [sent(client, page, field="note", value="n", id="answer-0002").text]
        seen += [sent(client, page, field="nothing", value="n", id="answer-0003").text]
        seen += [sent(client, page, field=field.code, value="?", id="answer-0004").text]
        for what, more in (("begin", {}), ("messages", {"text": "Hi"}), ("end", {"how": "gave-up"})):
            body = {"page": 0, "key": "0123456789"} | more
            seen += [client.post(f"/api/chat/{what}", json=body, headers=script).text]
        seen += [
            client.get(path).text for path in ("/rate/0", "/rate/9", "/check", "/done", "/", "/openapi.json")
        ]
        rater = public_rater("pilot", page)
    ids = [ITEM, "generic", "answers/", "answers@hash", "person-of-source", "dialogue/", *PRODUCTS]
    ids += [public_key(ITEM, rater), rater, hash_text("own", ITEM, rater)]
    for text in seen:
        assert not [id for id in ids if id in text], text


def test_a_running_study_keeps_its_orders_and_the_names_of_its_pages(tmp_path: Path) -> None:
    """One made by an older version: its settings do not speak of keys, and browsers hold pages under the old names."""
    store = tmp_path / "store.db"
    new_study(store, count=6, overlap=1, seats=1)
    with Store(store) as opened, opened.engine.begin() as connection:
        rater = Studies(opened).seats("pilot")[0].rater
        held = connection.execute(select(t.studies.c.config)).scalar_one()
        config = {name: value for name, value in orjson.loads(held).items() if name != "keyed"}
        connection.execute(update(t.studies).values(config=orjson.dumps(config).decode()))
        for page, body in connection.execute(select(t.study_plan.c.page, t.study_plan.c.arrangement)).all():
            old = orjson.loads(body) | {"sides": public_sides(page, rater)}
            where = t.study_plan.c.page == page
            connection.execute(
                update(t.study_plan).where(where).values(arrangement=orjson.dumps(old).decode())
            )
    with joined(store) as client, Store(store) as opened:
        studies = Studies(opened)
        planned = {one.page: one.arrangement.sides for one in studies.assigned("pilot", 0)}
        (first, *_) = studies.assigned("pilot", 0)
        html = client.get("/rate/0").text
        reply = sent(client, html, field="fit", value="A", key=public_key(first.page, rater))
        assert reply.status_code == 200, reply.text
        assert study_votes(studies, "pilot")["label"].to_list() == [str(first.arrangement.sides[0])]
        studies.extend("pilot", seats=1)
        assert {one.page: one.arrangement.sides for one in studies.assigned("pilot", 0)} == planned
        assert public_key(first.page, rater) not in client.get("/rate/0").text, "it is shown under a new one"


def test_an_old_name_is_none_in_a_new_study(tmp_path: Path) -> None:
    """Otherwise a guess at the page could be tried: the answer would be stored where it is right."""
    store = tmp_path / "store.db"
    new_study(store, count=6, overlap=1, seats=1)
    with joined(store) as client, Store(store) as opened:
        first = Studies(opened).assigned("pilot", 0)[0]
        html = client.get("/rate/0").text
        key = re.search(r'data-page="([^"]+)"', html)
        assert key is not None
        guess = public_key(first.page, public_rater("pilot", html))
        assert sent(client, html, field="fit", value="A", key=guess).status_code == 404
        assert sent(client, html, field="fit", value="A", key=key[1]).status_code == 200
