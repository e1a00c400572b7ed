"""Several benchmarks at one glance: each line has its own controls beside it, and only those it can have."""

from pathlib import Path

import pytest

from personafit.benchmarks.config import RunConfig
from personafit.reporting.whole.collected import Collected
from personafit.reporting.whole.collecting import collect_run
from personafit.reporting.whole.content import Grid
from personafit.reporting.whole.glance import COLUMNS, glance
from personafit.store import Store
from tests.benchmarks import neighbours_world as world
from tests.scripted import run

SYSTEM = '''
def write(messages):
    """Says more where it is told of somebody."""
    return "Spelt is back" if "Baker" in messages[0]["content"] else "Spelt"
'''


def test_every_neighbour_stands_beside_its_controls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "glance_scribe.py").write_text(SYSTEM, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    scribe = "python:glance_scribe:write"
    judged = ["rule:name"]
    asked = [
        RunConfig("prefeval", data=world.prefeval(tmp_path / "prefeval"), raters=judged),
        RunConfig("lamp", data=world.lamp(tmp_path / "lamp")),
        RunConfig("rewardbench", data=world.rewardbench(tmp_path / "one"), raters=judged),
        RunConfig("rewardbench", data=world.rewardbench2(tmp_path / "two"), raters=judged),
        RunConfig("lamp-writing", data=world.lamp_writing(tmp_path / "writing"), systems=[scribe]),
    ]
    with Store(tmp_path / "store.db") as store:
        given = Collected(store)
        for config in asked:
            collect_run(given, run(store, config).run)
            assert bool(list(glance(given))) == (len(given.names) > 1), "one run has nothing to stand beside"
        (group,) = glance(given)
    (grid,) = group.pieces
    assert isinstance(grid, Grid)
    rows = {
        row.names[1]: dict(zip(COLUMNS, (cell.text for cell in row.cells), strict=True)) for row in grid.rows
    }
    assert list(rows) == ["prefeval", "lamp", "rewardbench 1", "rewardbench 2", "lamp-writing, rouge 1"]
    told = ("told of nobody", "told of somebody else", "longest, or copied", "lift")
    assert [rows["prefeval"][name] for name in told] == ["3.75 of 15", "3.75 of 15", "0 of 15", "0.0"]
    assert [rows["rewardbench 1"][name] for name in told] == ["", "", "0.0", ""]
    assert [rows["rewardbench 2"][name] for name in told] == ["", "", "0.5 of 2", ""]
    assert grid.rows[-1].names == [scribe, "lamp-writing, rouge 1", "memory:k=4,by=bm25,budget=4000"]
    wrote = rows["lamp-writing, rouge 1"]
    assert float(wrote["score"]) == float(wrote["told of somebody else"]) > float(wrote["told of nobody"]) > 0
    assert (wrote["longest, or copied"], wrote["lift"]) == ("19.3", "0.0")
    assert rows["lamp"]["coverage"] == "100.0"
    assert [row.control for row in grid.rows if row.names[1] == "lamp"] == ["longest answer"]
