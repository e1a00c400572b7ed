"""The store, on SQLite and PostgreSQL alike: schema, anti-join, generations, two writers at once, odd texts."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, create_engine, inspect, select, text

from personafit import Status, Store, UserError
from personafit.benchmarks import ingest, starter
from personafit.people import Person
from personafit.store import (
    Item,
    Judgment,
    Product,
    gold_answers,
    item_rows,
    run_answers,
    spending_rows,
)
from personafit.store.connection import HEAD, create_tables, migrate, open_engine
from personafit.store.tables import asks, metadata
from tests.helpers import count_status
from tests.store.outcomes import outcome

VERSIONS = Path(sys.modules["personafit.store"].__file__ or "").parent / "migrations" / "versions"


def layout(engine: Engine) -> dict[str, object]:
    """Everything a database says of its tables: SQLite by their statements, both by columns, keys and indexes."""
    with engine.connect() as connection:
        found = inspect(connection)
        told: dict[str, object] = {
            table: [
                str(part)
                for part in (
                    found.get_columns(table),
                    found.get_pk_constraint(table),
                    found.get_indexes(table),
                    found.get_unique_constraints(table),
                    found.get_foreign_keys(table),
                )
            ]
            for table in found.get_table_names()
        }
        if engine.dialect.name == "sqlite":
            rows = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")).all()
            # SQLite keeps the quotation marks of a name when the column is renamed.
            told["statements"] = {name: " ".join(sql.replace('"', "").split()) for name, sql in rows}
        told["version"] = connection.execute(text("SELECT version_num FROM alembic_version")).all()
    return told


def test_a_new_store_is_what_the_migrations_make(url: str) -> None:
    engine = open_raw(url)
    migrate(engine, None)
    migrated = layout(engine)
    with engine.begin() as connection:
        for table in inspect(connection).get_table_names():
            connection.execute(text(f'DROP TABLE "{table}"'))
    assert not inspect(engine).get_table_names()
    create_tables(engine)
    assert layout(engine) == migrated
    engine.dispose()


def test_the_migrations_make_exactly_the_tables(url: str) -> None:
    engine = open_raw(url)
    migrate(engine, None)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == HEAD
    engine.dispose()
    newest = max(path.stem.split("_")[0].lstrip("v") for path in VERSIONS.glob("v*.py"))
    assert newest == HEAD


def test_a_newer_schema_is_refused_in_one_sentence(url: str) -> None:
    engine = open_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(UserError) as caught:
        Store(url)
    assert "was written by a newer personafit (its schema is 9999, this one knows up to" in str(caught.value)
    assert "\n" not in str(caught.value)
    engine_after = open_raw(url)
    with engine_after.connect() as connection:
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    engine_after.dispose()
    assert found == "9999", "and left alone"


def open_raw(url: str) -> Engine:
    """The database without the store's own care."""
    if "://" in url:
        return create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    return create_engine(f"sqlite:///{url}")


def test_a_query_comes_as_frames_of_so_many_rows(url: str) -> None:
    query = select(asks.c.job, asks.c.generation, asks.c.at).order_by(asks.c.job)
    schema = {"job": pl.String, "tries": pl.Int64, "at": pl.Float64}
    with Store(url) as store:
        store.write([outcome(f"job{number}") for number in range(7)])
        frames = list(store.frames(query, schema, 3))
        assert [len(frame) for frame in frames] == [3, 3, 1]
        assert frames[0].schema == schema
        assert pl.concat(frames).equals(store.frame(query, schema))
        assert store.frame(query)["job"].to_list() == [f"job{number}" for number in range(7)]
        assert store.frame(query.where(asks.c.job == "none"), schema).schema == schema
        among = store.rows_among(query, asks.c.job, ["job3", "none", "job5"] * 400)
        assert {row.job for row in among} == {"job3", "job5"}


def test_failed_is_not_final_and_the_answer_replaces_it(url: str) -> None:
    with Store(url) as store:
        run = store.begin_run("run", "d", {}, 2).id
        assert store.plan_jobs(run, ["a", "b"]) == {}
        store.write([outcome("a", Status.FAILED, ask="f1", at=5.0), outcome("b", Status.UNPARSED)])
        states = store.plan_jobs(run, ["a", "b"])
        assert {job: state.status for job, state in states.items()} == {"b": Status.UNPARSED}
        assert dict(run_answers(store, run).select("job", "status").iter_rows()) == {
            "a": "failed",
            "b": "unparsed",
        }
        store.write([outcome("a", at=1.0)])  # even with a clock that went backwards
        assert store.plan_jobs(run, ["a"])["a"].status == Status.OK
        row = run_answers(store, run).filter(job="a").row(0, named=True)
        assert (row["status"], row["label"]) == ("ok", "0")
        assert count_status(store, run) == {"failed": 1, "ok": 1, "unparsed": 1}


def test_a_later_generation_supersedes_and_overwrites_nothing(url: str) -> None:
    with Store(url) as store:
        run = store.begin_run("run", "d", {}, 1).id
        store.plan_jobs(run, ["a"])
        store.write([outcome("a", label="0"), outcome("a", generation=1, label="1", at=-1.0)])
        assert store.job_states(["a"])["a"].generation == 1
        frame = run_answers(store, run)
        assert frame.select("label", "generation").rows() == [("1", 1)]
        store.add_judgments([Judgment(ask="a/1", item="a", rater="r", parse=1, label="tie")])
        assert run_answers(store, run)["label"].to_list() == ["tie"], (
            "a later reading of the same reply counts"
        )
        assert count_status(store, run) == {"ok": 2}


def test_spending_is_that_of_the_asks_that_count(url: str) -> None:
    made = [
        outcome("a", Status.FAILED, ask="f1", at=9.0),
        outcome("a"),
        outcome("b"),
        outcome("b", generation=1, at=-1.0),
        outcome("c", Status.FAILED),
        outcome("d"),
        outcome("d", Status.UNPARSED, generation=1),
        outcome("e", Status.REFUSED),
    ]
    for place, one in enumerate(made):
        one.ask.seconds, one.ask.cost = place + 0.5, place / 8
    with Store(url) as store:
        run = store.begin_run("run", "d", {}, 5).id
        store.plan_jobs(run, ["a", "b", "c", "d", "e"])
        store.write(made)
        rows = spending_rows(store, run, {"r": "Mine", "other": "Theirs"})
        assert rows.rows() == [("Mine", "none", 1.5, 0.125), ("Mine", "none", 3.5, 0.375)]
        counted = run_answers(store, run).filter(status="ok").sort("job")
        assert rows.select("seconds", "cost").equals(counted.select("seconds", "cost"))
        assert spending_rows(store, run, {"other": "Theirs"}).is_empty()


def test_writing_the_same_twice_changes_nothing(url: str) -> None:
    with Store(url) as store:
        run = store.begin_run("run", "d", {}, 1).id
        store.plan_jobs(run, ["a"])
        store.write([outcome("a", label="0")])
        store.write([outcome("a", label="1"), outcome("a", label="1")])
        assert run_answers(store, run)["label"].to_list() == ["0"]


def test_many_rows_are_all_written_beside_those_that_are_there(url: str) -> None:
    names = [f"j{number:03}" for number in range(257)]  # fills statements of many rows, and leaves a rest
    with Store(url) as store:
        run = store.begin_run("run", "d", {}, 1).id
        store.plan_jobs(run, names)
        store.write([outcome(name, label="0") for name in names[::3]])
        store.write([outcome(name, label="1", reply=f"{name} '?', %s") for name in names])
        labels = run_answers(store, run).sort("item").select("item", "label").rows()
        assert labels == [(name, "1" if place % 3 else "0") for place, name in enumerate(names)]
        assert store.replies([names[1]]) == {f"{names[1]}/0": (f"{names[1]} '?', %s", None)}


def test_people_are_the_same_in_whatever_order_they_are_looked_up(url: str) -> None:
    everyone = {
        f"p{number:03}": Person(id=f"p{number:03}", language="en", facets={}) for number in range(150)
    }
    with Store(url) as store:
        store.add_people("d", everyone.values())
        for order in (list(everyone), list(everyone)[::-1], sorted(everyone, key=lambda name: name[::-1])):
            people = store.people("d")
            assert {name: people[name] for name in order} == everyone
        with pytest.raises(KeyError):
            store.people("d")["p150"]


def test_a_batch_is_written_whole_or_not_at_all(url: str) -> None:
    with Store(url) as store:
        bad = outcome("b")
        bad.ask.question = None  # type: ignore[assignment]
        with pytest.raises(Exception, match=r"(?i)not.null"):
            store.write([outcome("a"), bad])
        assert store.job_states(["a", "b"]) == {}


def test_texts_that_no_database_takes_are_stored_all_the_same(url: str) -> None:
    odd = "NUL \x00, half \ud83d an emoji, whole 😀"
    with Store(url) as store:
        product = Product(kind="answer", text=odd)
        store.add_products([product])
        assert store.texts([product.id]) == {product.id: "NUL \ufffd, half \ufffd an emoji, whole 😀"}
        assert store.lengths([product.id]) == {product.id: len(odd)}
        store.add_items("d", [(0, Item(id="i", person="p", prompt="NUL \x00 😀", products=[]))])
        assert [item.prompt for item in store.items("d")] == ["NUL \ufffd 😀"]
        person = Person(id="p", language="en", facets={"Note": "NUL \x00"})
        store.add_people("d", [person])
        assert store.people("d") == {"p": person}
        store.write([outcome("a", reply=odd)])


def test_a_data_set_counts_only_when_it_is_whole(url: str) -> None:
    with Store(url) as store:
        dataset = ingest(store, starter())
        assert ingest(store, starter()) == dataset
        assert store.count_items(dataset) == len(list(starter().items())) == len(item_rows(store, dataset))
        assert gold_answers(store, dataset, "author")["tier"].null_count() == 0
        assert [i.id for i in store.items(dataset, page=7)] == [i.id for i in store.items(dataset)]
        store.begin_dataset("half", "starter", {})
        assert not store.has_dataset("half")


def test_a_run_is_taken_up_under_its_name(url: str) -> None:
    with Store(url) as store:
        first = store.begin_run("one", "d", {"a": 1}, 3)
        store.begin_run("two", "d", {}, 1)
        again = store.begin_run("one", "d", {"a": 2}, 4)
        assert (again.id, again.config, again.planned) == (first.id, {"a": 2}, 4)
        assert store.run("last").name == "one"
        store.finish_run("one")
        assert store.run("one").finished is not None
        with pytest.raises(KeyError):
            store.run("three")


WRITER = """
import sys
from personafit.store import Store
from tests.store.outcomes import outcome
url, start, step = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
with Store(url) as store:  # opened, and its tables made, by both at once
    run = store.begin_run("run", "d", {}, 1000).id
    print("open", flush=True)
    sys.stdin.readline()
    for block in range(2):
        jobs = [f"j{number:04}" for number in range(block * 500, block * 500 + 500)][::step]
        store.plan_jobs(run, jobs)
        store.write([outcome(job, label=str(start)) for job in jobs])
"""


def test_two_processes_write_at_once(url: str) -> None:
    """The same jobs from both sides, in opposite order: each is stored once, by whoever came first."""
    root = Path(__file__).parents[2]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, url, str(number), step],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, step in enumerate(("1", "-1"))
    ]
    for word in ("ready\n", "open\n"):
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == word
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
    results = [(writer.communicate(timeout=120)[1], writer.returncode) for writer in writers]
    assert results == [("", 0), ("", 0)]
    with Store(url) as store:
        frame = run_answers(store, store.run("run").id)
        assert sorted(frame["job"]) == [f"j{number:04}" for number in range(1000)]
        assert count_status(store, store.run("run").id) == {"ok": 1000}


def test_a_command_that_is_no_text_is_kept_as_far_as_it_is_one(url: str) -> None:
    with Store(url) as store:
        run = store.begin_run("run", "data", {"command": "personafit run --out o\udcff"}, 1)
    assert run.config["command"] == "personafit run --out o\ufffd"
