"""Reading stored replies again, for every kind: nothing changes under the same parser, and a lost reading comes back."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

import personafit as pf
from personafit import Status, Store
from personafit.store import RunRecord, run_answers
from personafit.store import tables as t
from tests.golden.cases import STORED, Case
from tests.golden.server import ScriptedServer
from tests.golden.taking import carry_out

KINDS = ("guards", "injection", "relevance", "preference", "dialogues")


@pytest.mark.parametrize("case", [one for one in STORED if one.name in KINDS], ids=lambda case: case.name)
def test_a_reading_that_was_lost_comes_back(case: Case, tmp_path: Path) -> None:
    with ScriptedServer(), Store(tmp_path / "store.db") as store:
        finished = carry_out(case, store, tmp_path / "data")
        before = _read(store, finished.run)
        read, changed = pf.rescore(finished.run.name, store=store)
        assert read > 0
        assert changed == 0, "the same parser reads the same"
        asks = _unread(store)
        assert _read(store, finished.run) != before
        assert pf.rescore(finished.run.name, store=store) == (read, len(asks))
        assert _read(store, finished.run) == before
        assert pf.rescore(finished.run.name, store=store) == (read, 0)


def _read(store: Store, run: RunRecord) -> list[tuple[Any, ...]]:
    """What the answers of a run are read as."""
    columns = ("job", "item", "target", "status", "label")
    return run_answers(store, run.id).select(columns).sort(columns[:3]).rows()


def _unread(store: Store) -> list[str]:
    """Make the parsed answers to some asks unreadable, as an earlier parser might have; returns those asks."""
    judgment, ask = t.judgments.c, t.asks.c
    parsed = (
        select(judgment.ask)
        .join(t.asks, ask.id == judgment.ask)
        .where(judgment.status == Status.OK, judgment.extra.is_(None), ask.reply.is_not(None))
        .where(ask.rater.in_(select(t.raters.c.fingerprint).where(t.raters.c.kind == "llm")))
    )
    with store._engine.begin() as connection:
        rows = connection.execute(parsed.add_columns(judgment.value)).all()
        weighed = {row.ask for row in rows if not float(row.value).is_integer()}  # by scores of options
        found = sorted({row.ask for row in rows} - weighed)[::2]
        nothing = {"status": Status.UNPARSED, "label": None, "value": None}
        connection.execute(update(t.judgments).where(judgment.ask.in_(found)).values(nothing))
    return found
