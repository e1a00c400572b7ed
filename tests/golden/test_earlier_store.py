"""A store of an earlier version is read by this one, and a run of every kind and instrument finds every ask of it there.

`earlier-store.db.gz` was written by version 300a239 from the runs in `STORED`; what a run reads in again (people, items, gold) was
taken out of it to keep it small. It is never written again: another store of a later version may come beside it.
"""

import gzip
from pathlib import Path

import pytest
from sqlalchemy import func, select

from personafit import Store
from personafit.store import tables as t
from tests.golden.__main__ import HERE
from tests.golden.cases import STORED, Case
from tests.golden.server import ScriptedServer
from tests.golden.taking import carry_out

ASKS = 568
RAISED = {"choice": 6}
"""Asks of rules whose version was raised since, made anew at no cost: `rule:name`, version 2."""


def _count(store: Store) -> int:
    with store.engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(t.asks)).scalar_one())


@pytest.mark.parametrize("case", STORED, ids=lambda case: case.name)
def test_nothing_is_asked_again(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(gzip.decompress((HERE / "earlier-store.db.gz").read_bytes()))
    with ScriptedServer() as server, Store(path) as store:
        assert _count(store) == ASKS
        finished = carry_out(case, store, tmp_path / "data")
        assert server.asked == 0, f"{server.asked} calls for what lies in the store"
        assert _count(store) == ASKS + RAISED.get(case.name, 0), "asks that cost no call were made again"
        assert sum(lane.reused for lane in finished.summary.lanes) > 0
