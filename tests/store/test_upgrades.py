"""Stores of every version of the tables, opened by this one: brought up to date with every row as it was."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, MetaData, create_engine, select

from personafit import Status, Store
from personafit.store import Judgment, run_answers
from personafit.store.connection import HEAD
from personafit.store.tables import metadata
from tests.store.outcomes import outcome
from tests.store.schemas.make import ROWS, dump_path, versions
from tests.store.test_store import open_raw


def load_dump(url: str, version: str) -> None:
    """Make the database from its dump, without a word from us."""
    if "://" not in url:
        with closing(sqlite3.connect(url)) as connection:
            connection.executescript(dump_path(version, "sqlite").read_text(encoding="utf-8"))
        return
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as database:
        database.exec_driver_sql(dump_path(version, "postgresql").read_text(encoding="utf-8"))
    engine.dispose()


def _contents(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table there is."""
    found = MetaData()
    found.reflect(engine)
    with engine.connect() as connection:
        return {
            table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=str)
            for table in found.sorted_tables
        }


def test_every_version_has_its_dump() -> None:
    wanted = {dump_path(version, kind) for version in versions() for kind in ("sqlite", "postgresql")}
    assert set(dump_path(HEAD, "sqlite").parent.glob("*.sql")) == wanted, (
        "python -m tests.store.schemas.make writes those that are missing"
    )


@pytest.mark.parametrize("version", versions())
def test_a_store_of_any_version_is_brought_up_to_date(url: str, version: str) -> None:
    load_dump(url, version)
    raw = open_raw(url)
    before = _contents(raw)
    assert before.pop("alembic_version") == [(version,)]
    assert all(len(before[table]) == len(ROWS[table]) for table in before)
    with Store(url) as store:
        after = _contents(store.engine)
        assert after.pop("alembic_version") == [(HEAD,)]
        assert {table: after[table] for table in before} == before
        assert not any(rows for table, rows in after.items() if table not in before)
        with store.engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            assert compare_metadata(context, metadata) == []
        _use(store)
    raw.dispose()


def _use(store: Store) -> None:
    """Go on with the run that was begun: what was judged is not asked again, what failed is."""
    run = store.run("last")
    assert store.people("d@1")["p1"].facets == {"职业": "老师"}
    assert store.texts(["a1"])["a1"] == ROWS["products"][0]["text"]
    states = store.plan_jobs(run.id, ["j1", "j2"])
    assert {job: state.status for job, state in states.items()} == {"j1": Status.OK}
    store.write([outcome("j2", label="1")])
    assert sorted(run_answers(store, run.id)["label"]) == ["0", "1"]
    store.add_judgments([Judgment(ask="j1/0", item="i1", rater="r1", parse=1, label="tie")])
    assert sorted(run_answers(store, run.id)["label"]) == ["1", "tie"]
    assert store.begin_run("second", "d@1", {}, 0).id != run.id
