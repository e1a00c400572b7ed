"""A labelling server as a real process on a store of its own, with studies of every form, and a model to chat with."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import select

from personafit import Store
from personafit.api.places import find_run
from personafit.label import Access, ExtraPages, RaterState, Studies, StudyConfig, make_study
from personafit.label.studies import PageAssignment, Seat
from personafit.store import tables as t
from tests.label.served import Server
from tests.scripted import invoke
from tests.stub_endpoint import StubEndpoint

PARTS = (
    'def user(messages):\n    return "Fine, thanks. [SATISFIED]" if len(messages) > 3 else "Plan three dinners. [CONTINUE]"\n'
    "def judge(messages):\n"
    "    text = messages[-1]['content']\n"
    '    return \'{"reason": "x", "complete": true}\' if \'complete\' in text[-200:] else \'{"reason": "x", "score": 2}\'\n'
)


@dataclass
class Site:
    """Where the server is, what it serves, and what has been stored."""

    address: str
    store: Store
    folder: Path
    stub: StubEndpoint

    @property
    def studies(self) -> Studies:
        """The studies, as anybody who opens the store sees them."""
        return Studies(self.store)

    def study(
        self,
        name: str,
        question: str,
        source: str = "starter",
        count: int | None = 1,
        besides: ExtraPages = ExtraPages(),
        **config: Any,
    ) -> str:
        """Set a study up, if it is not there yet."""
        if name not in self.studies.names():
            usual = {"title": "Pilot study", "overlap": 3, "seats": 3, "check": False, "source": source}
            settings = StudyConfig.model_validate(usual | config)
            make_study(self.store, name, source, question, settings, find_run, count=count, besides=besides)
        return name

    def link(self, study: str, query: str = "") -> str:
        """An invitation to the first free seat."""
        seats = self.studies.seats(study)
        seat = next(one.seat for one in seats if one.state is RaterState.FREE)
        return f"{self.address}/join/{Access(self.store.engine).invite(study, seat)}{query}"

    def raters(self, study: str) -> list[Seat]:
        """Who has come in."""
        return [seat for seat in self.studies.seats(study) if seat.state is not RaterState.FREE]

    def plan(self, study: str, seat: int = 0) -> list[PageAssignment]:
        """The pages of a seat."""
        return self.studies.assigned(study, seat)

    def asks(self, study: str, seat: int = 0) -> list[dict[str, Any]]:
        """Everything a rater has sent, oldest first: question, item, target, label, value, status, why, text, order."""
        rater = self.studies.seats(study)[seat].rater
        query = (
            select(
                t.asks, t.judgments.c.label, t.judgments.c.value, t.judgments.c.target, t.judgments.c.extra
            )
            .join(t.judgments, t.judgments.c.ask == t.asks.c.id)
            .where(t.asks.c.rater == rater)
            .order_by(t.asks.c.at, t.asks.c.generation)
        )
        with self.store.engine.connect() as connection:
            rows = [dict(row._mapping) for row in connection.execute(query)]
        return [row | orjson.loads(row["detail"]) | {"extra": orjson.loads(row["extra"])} for row in rows]


@contextmanager
def serving(folder: Path) -> Iterator[Site]:
    """The server, from the command line, until the tests are done; people may talk with a stub."""
    store = folder / "store.db"
    with pytest.MonkeyPatch.context() as patch:
        _prepare(patch, folder, str(store))
    with StubEndpoint("prose") as stub:
        server = Server(str(store), options=("--model", stub.spec()))
        server.start()
        try:
            with Store(store) as opened:
                yield Site(server.address, opened, folder, stub)
        finally:
            said = server.kill()
    assert b"Traceback" not in said


def _prepare(patch: pytest.MonkeyPatch, folder: Path, store: str) -> None:
    """A study and two dialogues, by the commands that make them."""
    invoke(
        patch, folder, "label", "new", "pilot", "--from", "starter", "--question", "fit", "--overlap", "2", "--raters", "3", "--limit", "2",
        "--practice", "1", "--attention", "1", "--gold", "1", "--completion-code", "C0DE", "--store", store,
    )  # fmt: skip
    (folder / "parts.py").write_text(PARTS)
    invoke(
        patch, folder, "run", "personalens", "--data", "starter", "--system", "canned", "--user", "python:parts:user", "--rater",
        "python:parts:judge", "--limit", "2", "--store", store,
    )  # fmt: skip
