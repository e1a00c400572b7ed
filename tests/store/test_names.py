"""What a rater was shown is its `context`, what a system was told its `system_context`: in stores and folders of every version."""

import sqlite3
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from sqlalchemy import select

import personafit as pf
from personafit import Store
from personafit.label import StudyConfig
from personafit.store import item_rows, run_answers
from personafit.store import tables as t
from tests.conftest import Command
from tests.scripted import write_lines
from tests.store.test_upgrades import load_dump


@pytest.mark.parametrize("version", ["0001", "0002", "0003"])
def test_an_earlier_store_has_its_columns_renamed(url: str, version: str) -> None:
    load_dump(url, version)
    with Store(url) as store:
        assert set(store.frame(select(t.asks.c.context, t.asks.c.context_id)).rows()) == {("profile", "c1")}
        answers = run_answers(store, store.run("last").id)
        assert answers["context"].to_list() == ["profile", "profile"]
        assert answers["context_id"].to_list() == ["c1", "c1"]
        found = store.forget("p1", dry_run=True)
        assert found is not None
        assert found.counts["asks"] == 2, "they were asked with a context about the person"


def test_renaming_touches_no_row(tmp_path: Path) -> None:
    """The column keeps its place, so rows written under the old name are read under the new one."""
    url = str(tmp_path / "store.db")
    load_dump(url, "0003")
    with closing(sqlite3.connect(url)) as connection:
        before = connection.execute("SELECT * FROM asks ORDER BY id").fetchall()
    Store(url).close()
    with closing(sqlite3.connect(url)) as connection:
        found = connection.execute("SELECT * FROM asks ORDER BY id")
        assert [name for name, *_ in found.description][6:8] == ["context", "context_id"]
        assert found.fetchall() == before


def test_a_study_of_an_earlier_version_is_read() -> None:
    assert StudyConfig.model_validate_json('{"view": "attributes"}').context == "attributes"
    assert StudyConfig.model_validate_json('{"context": "none"}').context == "none"
    assert orjson.loads(StudyConfig(title="x").model_dump_json())["context"] == "profile"


def test_slices_are_read_under_their_new_name_and_one_called_context_is_a_slice(
    personafit: Command, tmp_path: Path
) -> None:
    rows = [
        {
            "person": {"id": f"p{number}", "language": "en", "facets": {"Likes": f"tea {number}"}},
            "question": f"What shall I drink, {number}?",
            "answer": "tea, which you like" * (1 + number % 2),
            "generic": "water",
            "system": "us",
            "given": "profile",
            "context": "home" if number % 2 else "work",
        }
        for number in range(16)
    ]
    write_lines(tmp_path / "log.jsonl", rows)
    bar = ("--fail-under", "win_rate[context=home]=0.1")
    said = personafit(
        "run", "log.jsonl", "--rater", "rule:length", *bar, "--where", "system_context=profile", "--json"
    )
    found = [row for row in orjson.loads(said.out)["results"] if row["slice"] == {"context": "home"}]
    assert {row["n"] for row in found if row["metric"] == "win_rate"} == {8}
    with Store(tmp_path / ".personafit" / "store.db") as store:
        items = item_rows(store, store.run("last").dataset)
        assert set(items["system_context"]) == {"profile"}
        assert '"given":"profile"' in store.frame(select(t.items.c.slices))["slices"][0], (
            "as it was stored before"
        )
        assert set(pf.load("last", store=store).items["system_context"]) == {"profile"}
