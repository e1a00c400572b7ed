"""Rows a second into PostgreSQL: everything that a run writes, through the store, against psycopg's COPY of the same rows.

Ours is the public way in, as `personafit run` takes it: records made into rows, in batches of the engine's size, each a
transaction; every row that is there already is left alone, and the jobs are planned with their anti-join. The peer gets
finished tuples and one COPY a table, all in one transaction, without a look at what is there. Both have the same tables with
the same keys and indexes from the start, on one server that syncs to disk at every commit.
"""

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from personafit.benchmarks.benchmark import BATCH
from personafit.engine.jobs import WRITE_ROWS
from personafit.engine.runner import PLAN_CHUNK
from personafit.people import Person
from personafit.store import Item, Judgment, Outcome, Product, Store
from personafit.store.inserting import TYPES
from personafit.store.tables import metadata
from speed.scale import WORDS, run_size
from speed.store import outcome_of
from speed.table import Measurement, paired

ITEMS = 20_000
ITEMS_PER_PERSON = 50
ROUNDS = 5
BAR = 0.3
DATASET = "made-up@1"
TABLES = ("people", "products", "items", "run_jobs", "asks", "judgments")

Row = tuple[Any, ...]
T = TypeVar("T")


@dataclass(frozen=True)
class World:
    """What a benchmark and a run over it in both orders leave in a store."""

    people: list[Person]
    products: list[Product]
    items: list[Item]
    gold: list[Judgment]
    outcomes: list[Outcome]

    @property
    def rows(self) -> int:
        """How many rows that is, those that note what the run needs included."""
        made = sum(len(one.judgments) + len(one.products) + 2 for one in self.outcomes)
        return made + len(self.people) + len(self.products) + len(self.items) + len(self.gold)


def measure() -> list[Measurement]:
    """Take turns, round by round, each time into a new database."""
    from tests.store.databases import NoPostgres, started_postgres

    try:
        with started_postgres(durable=True) as server:
            return _race(server.address)
    except NoPostgres as reason:
        print(f"postgres: left out, {reason}")
        return []


def _race(server: str) -> list[Measurement]:
    from tests.store.databases import create_database

    whole = _whole_runs(
        create_database(server, "whole")
    )  # first, while this process is small: children inherit its peak
    world = make_world()
    ours: list[float] = []
    copied: list[float] = []
    for number in range(1, ROUNDS + 1):
        filled = create_database(server, f"ours{number}")
        ours.append(world.rows / store_seconds(filled, world))
        tables = stored_rows(filled)
        assert sum(map(len, tables.values())) == world.rows
        copied.append(world.rows / copy_seconds(create_database(server, f"copied{number}"), tables))
        print(
            f"postgres, round {number} of {ROUNDS}: ours {ours[-1]:,.0f}, COPY {copied[-1]:,.0f} rows/s",
            flush=True,
        )
    print_sizes(filled, tables, world)
    return [
        paired("a run's rows into PostgreSQL", "psycopg COPY", "rows/s", ours, copied, BAR),
        whole,
    ]


def _whole_runs(url: str) -> Measurement:
    """`personafit run` from the folder to the report: what the program itself takes with either store."""
    far, near = run_size(ITEMS, url), run_size(ITEMS)
    paces = [cost.items / cost.processor_seconds for cost in (far, near)]
    ours, peer = paces
    return Measurement(
        "a whole run, processor time", "the same into SQLite", "items/s", ours, peer, ours / peer
    )


def print_sizes(url: str, tables: dict[str, list[Row]], world: World) -> None:
    """Bytes a row takes up with its share of the indexes, here and in a SQLite file."""
    import psycopg

    with TemporaryDirectory() as folder, psycopg.connect(url) as connection:
        path = Path(folder) / "store.db"
        store_seconds(path, world)
        with closing(sqlite3.connect(path)) as file:
            pages = "SELECT sum(s.pgsize) FROM dbstat s JOIN sqlite_schema m ON m.name = s.name WHERE m.tbl_name = ?"
            for name, rows in tables.items():
                size = f"SELECT pg_total_relation_size('{name}')".encode()
                here, there = connection.execute(size).fetchone(), file.execute(pages, (name,)).fetchone()
                assert here is not None
                print(
                    f"postgres, bytes a row of {name}: {here[0] / len(rows):,.0f}, in SQLite {there[0] / len(rows):,.0f}"
                )


def store_seconds(url: str | Path, world: World) -> float:
    """Put the benchmark in and write a run over it, as the engine does."""
    with Store(url) as store:
        start = time.perf_counter()
        for people in _batches(world.people, BATCH):
            store.add_people(DATASET, people)
        for products in _batches(world.products, BATCH):
            store.add_products(products)
        for items in _batches(list(enumerate(world.items)), BATCH):
            store.add_items(DATASET, items)
        for gold in _batches(world.gold, BATCH):
            store.add_judgments(gold)
        run = store.begin_run("run", DATASET, {}, len(world.outcomes)).id
        for outcomes in _batches(world.outcomes, PLAN_CHUNK):
            assert not store.plan_jobs(run, [outcome.ask.job for outcome in outcomes])
        for outcomes in _batches(world.outcomes, WRITE_ROWS):
            store.write(outcomes)
        return time.perf_counter() - start


def stored_rows(url: str) -> dict[str, list[Row]]:
    """Every row of a store, by table, with the columns in the tables' order."""
    import psycopg

    with psycopg.connect(url) as connection:
        return {name: connection.execute(f"SELECT * FROM {name}".encode()).fetchall() for name in TABLES}


def copy_seconds(url: str, tables: dict[str, list[Row]]) -> float:
    """Copy finished rows into the same tables with nothing of ours between."""
    import psycopg

    Store(url).close()  # makes the tables
    with psycopg.connect(url) as connection:
        start = time.perf_counter()
        for name, rows in tables.items():
            types = [TYPES[str(column.type)] for column in metadata.tables[name].columns]
            with connection.cursor().copy(f"COPY {name} FROM STDIN WITH (FORMAT BINARY)".encode()) as copy:
                copy.set_types(types)
                for row in rows:
                    copy.write_row(row)
        connection.commit()
        return time.perf_counter() - start


def make_world(items: int = ITEMS) -> World:
    """Made-up items about simulated people, two answers each, judged in both orders by one rater."""
    people = [
        Person(
            id=f"p{number:05}",
            language="en",
            facets={"Likes": _text(number, 30), "Habits": _text(number, 40)},
        )
        for number in range(items // ITEMS_PER_PERSON)
    ]
    products = [
        Product(id=f"made-up/{number}", kind="answer", text=_text(number, 60 + number % 41))
        for number in range(2 * items)
    ]
    asked = [
        Item(
            id=f"made-up/{number}",
            person=people[number // ITEMS_PER_PERSON].id,
            prompt=_text(number, 12),
            products=[products[2 * number].id, products[2 * number + 1].id],
            slices={"half": ("general", "specific")[number % 2]},
        )
        for number in range(items)
    ]
    gold = [
        Judgment(
            ask=f"{DATASET}#author",
            item=item.id,
            rater="author",
            label=str(number % 2),
            extra={"tier": "easy"},
        )
        for number, item in enumerate(asked)
    ]
    outcomes = [outcome_of(number) for number in range(2 * items)]
    for person in range(
        len(people)
    ):  # what the rater was told of a person comes with the first ask about them
        told = Product(kind="context", text=_text(person, 70), about=people[person].id)
        outcomes[2 * person * ITEMS_PER_PERSON].products.append(told)
    return World(people, products, asked, gold, outcomes)


def _text(number: int, words: int) -> str:
    return " ".join(WORDS[(number * 31 + 17 * place * place) % len(WORDS)] for place in range(words))


def _batches(rows: Sequence[T], size: int) -> Iterator[list[T]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, size)):
        yield batch
