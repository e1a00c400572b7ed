"""A kind of item that a package adds has its form for nothing: people are asked the question that models are asked.

The kind is the ranking of docs/extend.md, whose answers are written; a second one has options, and so buttons.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest
from fastapi.testclient import TestClient

import personafit as pf
from personafit import Store, UserError
from personafit.api.places import find_run
from personafit.benchmarks import open_benchmark
from personafit.label import (
    ExtraPages,
    Studies,
    StudyConfig,
    disputes,
    export_study,
    import_votes,
    make_study,
    simulate_votes,
    study_overview,
)
from personafit.label.adjudicating import decide, labels_of
from personafit.label.exports import FORMATS
from personafit.label.forms import form_named
from personafit.label.making import StudySetup
from personafit.label.records import Arrangement
from personafit.label.votes import study_votes
from personafit.label.web.app import create_app
from tests.docs.test_extending import blocks
from tests.label.researcher.researcher import hidden
from tests.label.served import TOKEN, invitation


@pytest.fixture(scope="module", autouse=True)
def ranking() -> None:
    """The example of the page, whose decorators register its kind and its benchmark in this process."""
    code = next(body for _, title, body in blocks() if title == "ranking.py")
    exec(compile(code, "ranking.py", "exec"), {"__name__": "ranking"})


def new_study(
    store: Path, besides: ExtraPages = ExtraPages(), source: str = "dinners", **config: Any
) -> StudySetup:
    settings = {"overlap": 2, "seats": 2} | config
    with Store(store) as opened:
        return make_study(opened, "dinner", source, None, StudyConfig(**settings), find_run, besides=besides)


class Rater:
    """A rater who has agreed to take part."""

    def __init__(self, client: TestClient, store: Path, seat: int) -> None:
        link = invitation(store, "dinner", seat)
        client.post(link, data=hidden(client.get(link).text) | {"agree": "yes"})
        self.client, self.sent = client, 0

    def page(self, position: int = 0) -> str:
        return self.client.get(f"/rate/{position}").text

    def answer(self, value: str | None, position: int = 0, **more: Any) -> Any:
        self.sent += 1
        token = TOKEN.search(self.page(position))
        assert token is not None
        body = {"id": f"answer-{self.sent:04}", "page": position, "field": "rank", "client_time": 0.0}
        reply = self.client.post(
            "/api/answers", json=body | {"value": value} | more, headers={"x-csrf-token": token[1]}
        )
        return reply.json()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with TestClient(create_app(tmp_path / "store.db"), headers={"accept": "text/html"}) as client:
        yield client


def arrangement(store: Path, seat: int = 0, position: int = 0) -> Arrangement:
    with Store(store) as opened:
        return Studies(opened).assigned("dinner", seat)[position].arrangement


def votes(store: Path) -> pl.DataFrame:
    with Store(store) as opened:
        return study_votes(Studies(opened), "dinner")


def ranked(sides: list[int], label: str) -> str:
    """What a rater has to write, who sees the answers in this order, for this ranking."""
    return " ".join(str(sides.index(int(place)) + 1) for place in label)


def test_a_page_shows_person_prompt_and_numbered_answers_and_how_to_answer(
    tmp_path: Path, client: TestClient
) -> None:
    store = tmp_path / "store.db"
    assert new_study(store)[:2] == (8, "rank")
    page = Rater(client, store, 0).page()
    assert re.findall(r'data-letter="(\w)"', page) == ["1", "2", "3", "4"]
    assert "What is for dinner?" in page
    assert "How answers rank" in page
    assert "Reply with the numbers 1 to 4, best first, and nothing else." in page
    assert re.search(r'<textarea data-field="rank"', page)
    assert "2103" not in page  # the gold ranking


def test_what_is_written_is_read_by_the_question_in_the_order_that_the_rater_saw(
    tmp_path: Path, client: TestClient
) -> None:
    store = tmp_path / "store.db"
    new_study(store)
    rater, sides = Rater(client, store, 0), arrangement(store).sides
    half = rater.answer("2 1")
    assert half["feedback"]["unread"]
    assert not half["done"]
    assert votes(store).is_empty()  # half an answer is none
    whole = rater.answer("4, 3, 2, 1")
    assert whole["done"]
    assert "feedback" not in whole
    (vote,) = votes(store).iter_rows(named=True)
    assert vote["label"] == "".join(map(str, reversed(sides)))
    assert (vote["text"], vote["status"]) == ("4, 3, 2, 1", "ok")
    assert "4, 3, 2, 1" in rater.page()
    assert not rater.answer("")["done"]  # emptied: taken back
    assert votes(store).is_empty()
    assert rater.answer(None, why="cannot tell")["done"]
    with Store(store) as opened:
        texts = [orjson.loads(row[0]).get("text") for row in opened.frame(_details()).iter_rows()]
    assert texts == ["2 1", "4, 3, 2, 1", "", None]  # nothing that was sent is lost


def _details() -> Any:
    from sqlalchemy import select

    from personafit.store import tables as t

    return select(t.asks.c.detail).where(t.asks.c.question == "rank").order_by(t.asks.c.generation)


def test_practice_says_what_is_right(tmp_path: Path, client: TestClient) -> None:
    store = tmp_path / "store.db"
    new_study(store, ExtraPages(practice=1))
    rater, sides = Rater(client, store, 0), arrangement(store).sides
    assert rater.answer(ranked(sides, "2103"))["feedback"]["right"]
    wrong = rater.answer(ranked(sides, "0123"))["feedback"]
    assert (wrong["right"], "2103" in wrong["said"]) == (False, True)


def test_votes_are_counted_decided_exported_and_read_again(tmp_path: Path, client: TestClient) -> None:
    store = tmp_path / "store.db"
    new_study(store, ExtraPages(gold=2))
    for seat, label in enumerate(("2103", "2130")):
        rater = Rater(client, store, seat)
        for position in range(8):
            assert rater.answer(ranked(arrangement(store, seat, position).sides, label), position)["done"]
    with Store(store) as opened:
        studies = Studies(opened)
        numbers = study_overview(studies, "dinner")
        assert {one.gold.right for one in numbers.raters} == {0, 2}
        (agreement,) = numbers.agreement
        assert (agreement.question, agreement.figures["percent"].value) == ("rank", 0.0)
        assert "ordinal" not in agreement.figures  # a ranking is no number
        found = disputes(studies, "dinner")
        assert len(found) == 6
        assert set(labels_of(studies, "dinner", found[0].page, found[0].field)) == {"2103", "2130"}
        decide(studies, "dinner", found[0].key, "2130")
        assert sum(one.decided == "2130" for one in disputes(studies, "dinner")) == 1
        for format in FORMATS:
            assert export_study(studies, "dinner", tmp_path / format, format).votes.height == 12
    again = tmp_path / "again.db"
    new_study(again)
    with Store(again) as opened:
        assert import_votes(Studies(opened), "dinner", tmp_path / "jsonl" / "votes.jsonl").votes == 12
        labels = study_votes(Studies(opened), "dinner")["label"]
    assert sorted(labels) == ["2103"] * 6 + ["2130"] * 6


def test_simulated_raters_do_not_write(tmp_path: Path) -> None:
    new_study(tmp_path / "store.db", simulated=True)
    with Store(tmp_path / "store.db") as opened, pytest.raises(UserError, match="answered in writing"):
        simulate_votes(opened, "dinner")


def test_options_of_a_question_are_buttons(tmp_path: Path) -> None:
    class Better(pf.Question):
        name, fingerprint, sought = "better", "better-1", "which is better"

        def messages(self, shown: pf.Shown) -> Any:
            return ()

        def again(self, shown: pf.Shown) -> str:
            return "Reply with A or B."

        def options(self, shown: pf.Shown) -> tuple[str, ...]:
            return ("A", "a", "B", "b", "?")

        def read(self, reply: Any, shown: pf.Shown) -> pf.Reading | None:
            place = "AB".find(reply.text.upper())
            return (
                None if place < 0 else pf.Reading((pf.PartAnswer(shown.parts[0], str(shown.order[place])),))
            )

    @pf.kind("better")
    class BetterKind(pf.Kind):
        asks = pf.QuestionSet("better", (Better(),))

    assert BetterKind.name == "better"
    form = form_named("better")
    page = form_named("fit").attention(1, "en")
    turned = Arrangement(sides=[1, 0])
    (field,) = form.fields(page, turned)
    assert [(one.value, one.key) for one in field.options] == [("A", "1"), ("B", "2")]
    assert (field.kind, field.text, field.hint) == ("choice", "Which is better", "")
    assert form.labels(page, turned, field) == {"A": "1", "B": "0"}
    assert [one["letter"] for one in form.shown(page, turned)["answers"]] == ["A", "B"]


def test_options_and_names_that_are_also_words_of_the_interface_stay_as_they_are(
    tmp_path: Path, client: TestClient
) -> None:
    """An option `agree` became a sentence of the consent page, and a question called `home` had its title."""

    class Home(pf.Question):
        name, fingerprint, sought = "home", "home-1", "how it is at home"

        def messages(self, shown: pf.Shown) -> Any:
            return ()

        def options(self, shown: pf.Shown) -> tuple[str, ...]:
            return ("agree", "right")

        def read(self, reply: Any, shown: pf.Shown) -> pf.Reading:
            return pf.Reading((pf.PartAnswer(shown.parts[0], reply.text),))

    @pf.kind("homely")
    class HomelyKind(pf.Kind):
        asks = pf.QuestionSet("homely", (Home(),))

    dinners: Any = type(open_benchmark("dinners", None))

    @pf.benchmark("homes")
    class Homes(dinners):  # type: ignore[misc]
        info = dinners.info.model_copy(update={"name": "homes"})

        def items(self) -> Iterator[Any]:
            return (item.model_copy(update={"kind": "homely"}) for item in super().items())

        def gold(self) -> Iterator[Any]:
            return (row.model_copy(update={"question": "home", "label": "right"}) for row in super().gold())

    assert (HomelyKind.name, Homes.info.name) == ("homely", "homes")
    new_study(tmp_path / "store.db", ExtraPages(practice=1), source="homes")
    rater = Rater(client, tmp_path / "store.db", 0)
    assert '<legend dir="auto">How it is at home</legend>' in rater.page()
    assert re.findall(r'data-value="\w+"[^>]*>([^<]+?) <kbd>', rater.page())[:2] == ["agree", "right"]
    said = rater.answer("agree", field="home")["feedback"]["said"]
    assert said == "We would have answered: right."
