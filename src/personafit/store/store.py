"""The store: everything judged, by whom, of what, in one place; written in batches, read as frames.

Writing is idempotent: a row that is already there is left alone, so a run killed between a model's reply and the
commit repeats that call and nothing else, and two runs on one store cannot double a judgment.
"""

import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import polars as pl
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Row,
    Select,
    Table,
    Text,
    any_,
    func,
    literal,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects import postgresql

from personafit._secrets import masked
from personafit.people import Person
from personafit.store import tables as t
from personafit.store.connection import open_engine, printable
from personafit.store.copying import inserter
from personafit.store.forgetting import Forgotten, forget_person, forgotten_among
from personafit.store.inserting import insert_new
from personafit.store.reconnecting import repeated_when_lost
from personafit.store.records import Ask, Item, Judgment, Outcome, Product, RaterRecord, Status
from personafit.store.rows import ask_row, item_row, judgment_row, product_row
from personafit.store.stored_people import StoredPeople, person_folder

FRAME_ROWS = 20_000
CHUNK = 500  # values in one IN (...): below every limit on bound parameters
ARRAY = 10_000  # values in one = ANY(...)
COUNTED_ANEW = 1_000  # rows added that change how a table is best read

FORGOTTEN_NOTE = "People of this data set who were forgotten (personafit forget), and are left out: {}."
"""Said of a data set whose people were forgotten."""

CLOCK_STEP = 0.001  # seconds between two uses of runs on a clock that stands still or goes back


_PRIMARY = {
    table: itemgetter(*(column.name for column in table.primary_key)) for table in t.metadata.sorted_tables
}


class JobState(NamedTuple):
    """Where a job stands: its last final status and generation."""

    status: Status
    generation: int


class RunRecord(NamedTuple):
    """One run: a name for a set of jobs and the configuration that planned them."""

    id: int
    name: str
    dataset: str
    config: dict[str, Any]
    planned: int
    started: float
    finished: float | None


class Store:
    """One database of products, items, asks and judgments."""

    def __init__(self, url: str | Path) -> None:
        self.url = printable(url)
        self._engine = open_engine(url)
        dialect = self._engine.dialect
        self._inserts = {table: inserter(table, dialect) for table in t.metadata.sorted_tables}
        self._added = 0
        """Rows since the database was last made to count."""

    @property
    def engine(self) -> Engine:
        """The database itself, for those who keep tables of their own in it."""
        return self._engine

    @property
    def index_folder(self) -> Path | None:
        """A folder beside the store for what can be made again from it, such as indexes of memories; None without a file."""
        if self._engine.dialect.name != "sqlite" or self._engine.url.database in (None, "", ":memory:"):
            return None
        return Path(str(self._engine.url.database)).with_suffix(".index")

    def close(self) -> None:
        """Release the database's connections."""
        self._engine.dispose()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with self._engine.connect().execution_options(read_only=True) as connection:
            yield connection

    def _insert(self, connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
        if rows:
            # In the order of their keys: two processes that add the same rows then wait for each other in line,
            # never in a circle, which PostgreSQL would end by killing one of them.
            self._inserts[table].add(connection, sorted(rows, key=_PRIMARY[table]))
            self._added += len(rows)

    @repeated_when_lost
    def _write(self, *parts: tuple[Table, Sequence[dict[str, Any]]]) -> None:
        """Add rows to tables, all or nothing."""
        with self._engine.begin() as connection:
            for table, rows in parts:
                self._insert(connection, table, rows)

    def _count_anew(self, connection: Connection, *tables: Table) -> None:
        """Have PostgreSQL look at tables that have grown: by itself it does in a minute, and reads them a slow way till then."""
        if self._added >= COUNTED_ANEW and connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"ANALYZE {', '.join(table.name for table in tables)}")
            self._added = 0

    # -- data sets ---------------------------------------------------------------------------------------------

    @repeated_when_lost
    def has_dataset(self, dataset: str) -> bool:
        """Whether the data set is in the store, whole."""
        with self._read() as connection:
            query = select(t.datasets.c.id).where(t.datasets.c.id == dataset, t.datasets.c.complete == 1)
            return connection.execute(query).first() is not None

    @repeated_when_lost
    def dataset_info(self, dataset: str) -> dict[str, Any]:
        """What the benchmark says of itself, as stored with its data."""
        with self._read() as connection:
            info = connection.execute(
                select(t.datasets.c.info).where(t.datasets.c.id == dataset)
            ).scalar_one()
        loaded: dict[str, Any] = orjson.loads(info)
        return loaded

    def begin_dataset(self, dataset: str, benchmark: str, info: dict[str, Any]) -> None:
        """Announce a data set; it counts as present only after `finish_dataset`."""
        row = {"id": dataset, "benchmark": benchmark, "info": orjson.dumps(info).decode(), "complete": 0}
        self._write((t.datasets, [row]))

    @repeated_when_lost
    def finish_dataset(self, dataset: str) -> None:
        """Mark a data set as whole."""
        with self._engine.begin() as connection:
            connection.execute(update(t.datasets).where(t.datasets.c.id == dataset).values(complete=1))
            self._count_anew(connection, t.people, t.products, t.items, t.judgments)

    def add_people(self, dataset: str, people: Iterable[Person]) -> None:
        """Store the people of a data set."""
        rows = [
            {
                "dataset": dataset,
                "id": person.id,
                "version": person.version,
                "language": person.language,
                "body": person.model_dump_json(),
            }
            for person in people
        ]
        self._write((t.people, rows))

    def add_items(self, dataset: str, items: Iterable[tuple[int, Item]]) -> None:
        """Store items with their place in the source; work goes by person, then by that."""
        rows = [item_row(dataset, position, item) for position, item in items]
        self._write((t.items, rows))

    def add_products(self, products: Iterable[Product]) -> None:
        """Store products; one that is there already stays as it is."""
        self._write((t.products, [product_row(product) for product in products]))

    def add_raters(self, raters: Iterable[RaterRecord]) -> None:
        """Store who answers."""
        rows = [{**r.model_dump(), "settings": orjson.dumps(r.settings).decode()} for r in raters]
        self._write((t.raters, rows))

    def add_judgments(self, judgments: Iterable[Judgment]) -> None:
        """Store judgments that come without an ask of their own: gold, imports, re-readings."""
        self._write((t.judgments, [judgment_row(judgment) for judgment in judgments]))

    def people(self, dataset: str) -> StoredPeople:
        """All people of a data set by id, read when they are looked at."""
        return StoredPeople(self, dataset)

    @repeated_when_lost
    def person_bodies(self, dataset: str, people: Sequence[str]) -> dict[str, str]:
        """Some people of a data set as they are stored, by id."""
        query = select(t.people.c.id, t.people.c.body).where(
            t.people.c.dataset == dataset, t.people.c.id.in_(people)
        )
        with self._read() as connection:
            return {row.id: row.body for row in connection.execute(query)}

    @repeated_when_lost
    def languages(self, dataset: str) -> dict[str, str]:
        """Everyone's id, in order, with the language they are written about in."""
        query = select(t.people.c.id, t.people.c.language).where(t.people.c.dataset == dataset)
        with self._read() as connection:
            return dict(sorted(tuple(row) for row in connection.execute(query)))

    def items(self, dataset: str, page: int = 1000) -> Iterator[Item]:
        """All items in the order of work, a page at a time so that memory stays flat."""
        items, last = t.items, ("", -1)
        while True:
            query = (
                select(items)
                .where(items.c.dataset == dataset)
                # As one comparison of pairs, which the index answers at once however far the reading has come.
                .where(tuple_(items.c.person, items.c.position) > tuple_(*last))
                .order_by(items.c.person, items.c.position)
                .limit(page)
            )
            rows = self._rows(query)
            for row in rows:
                last = (row.person, row.position)
                yield Item.model_construct(
                    id=row.id,
                    kind=row.kind,
                    person=row.person,
                    prompt=row.prompt,
                    products=orjson.loads(row.products),
                    group=row.grp,
                    slices=orjson.loads(row.slices),
                    hash=row.hash,
                )
            if len(rows) < page:
                return

    @repeated_when_lost
    def _rows(self, query: Select[Any]) -> Sequence[Row[Any]]:
        with self._read() as connection:
            return connection.execute(query).all()

    @repeated_when_lost
    def count_items(self, dataset: str) -> int:
        """How many items the data set has."""
        with self._read() as connection:
            query = select(func.count()).select_from(t.items).where(t.items.c.dataset == dataset)
            return int(connection.execute(query).scalar_one())

    def texts(self, ids: Iterable[str]) -> dict[str, str]:
        """The texts of products by id; an unknown id is absent."""
        query = select(t.products.c.id, t.products.c.text)
        return {row.id: row.text for row in self._among(query, t.products.c.id, list(ids))}

    def replies(self, jobs: Iterable[str]) -> dict[str, tuple[str | None, str | None]]:
        """The raw reply and the reasoning of each ask of some jobs, by the ask's id, where there are any."""
        ask = t.asks.c
        query = select(ask.id, ask.reply, ask.reasoning).where(
            or_(ask.reply.is_not(None), ask.reasoning.is_not(None))
        )
        return {row.id: (row.reply, row.reasoning) for row in self._among(query, ask.job, list(jobs))}

    def lengths(self, ids: Iterable[str]) -> dict[str, int]:
        """How many code points each product has."""
        length = func.length(t.products.c.text).label("length")
        found = self._among(select(t.products.c.id, length), t.products.c.id, list(ids))
        return {row.id: row.length for row in found}

    @repeated_when_lost
    def _among(self, query: Select[Any], column: Column[Any], values: Sequence[str]) -> list[Row[Any]]:
        with self._read() as connection:
            return list(_among(connection, query, column, values))

    # -- forgetting ----------------------------------------------------------------------------------------------

    def forget(self, person: str, dry_run: bool = False, elsewhere: bool = False) -> Forgotten | None:
        """Remove everything that derives from a person; None when there is nobody of that name, here or `elsewhere`."""
        found = forget_person(self._engine, person, dry_run, elsewhere)
        if self.index_folder is not None and not dry_run:
            shutil.rmtree(person_folder(self.index_folder, person), ignore_errors=True)
        return found

    def forgotten(self, people: Collection[str]) -> set[str]:
        """Which of these people were forgotten and must not come back."""
        return forgotten_among(self._engine, people)

    # -- runs ----------------------------------------------------------------------------------------------------

    @repeated_when_lost
    def begin_run(self, name: str, dataset: str, config: dict[str, Any], planned: int) -> RunRecord:
        """Open a run, or take it up again when one of that name is there."""
        now = time.time()
        if config.get("command"):
            config = config | {"command": masked(config["command"])}
        if missing := self._count_forgotten(dataset):
            config = config | {"notes": [*config.get("notes", ()), FORGOTTEN_NOTE.format(missing)]}
        row = {
            "name": name,
            "dataset": dataset,
            "config": orjson.dumps(config).decode(),
            "planned": planned,
            "started": now,
            "touched": now,
            "finished": None,
        }
        with self._engine.begin() as connection:
            # The last used run is the last, even if the machine's clock was set back since another one.
            latest = connection.execute(select(func.max(t.runs.c.touched))).scalar()
            touched = now if latest is None else max(now, latest + CLOCK_STEP)
            connection.execute(insert_new(t.runs, connection.dialect).values(**row))
            connection.execute(
                update(t.runs)
                .where(t.runs.c.name == name)
                .values(
                    dataset=dataset, config=row["config"], planned=planned, touched=touched, finished=None
                )
            )
        return self.run(name)

    @repeated_when_lost
    def _count_forgotten(self, dataset: str) -> int:
        with self._read() as connection:
            info = connection.execute(select(t.datasets.c.info).where(t.datasets.c.id == dataset)).scalar()
        return int(orjson.loads(info).get("forgotten", 0)) if info else 0

    @repeated_when_lost
    def finish_run(self, name: str) -> None:
        """Note that every job of the run has been tried."""
        with self._engine.begin() as connection:
            connection.execute(update(t.runs).where(t.runs.c.name == name).values(finished=time.time()))
            self._count_anew(connection, t.run_jobs, t.products, t.asks, t.judgments)

    @repeated_when_lost
    def runs(self) -> list[RunRecord]:
        """All runs, the last used first."""
        with self._read() as connection:
            rows = connection.execute(select(t.runs).order_by(t.runs.c.touched.desc())).all()
        return [
            RunRecord(r.id, r.name, r.dataset, orjson.loads(r.config), r.planned, r.started, r.finished)
            for r in rows
        ]

    def run(self, name: str) -> RunRecord:
        """One run by name, or `last`."""
        runs = self.runs()
        for run in runs:
            if name in (run.name, "last"):
                return run
        raise KeyError(name)

    # -- jobs: plan, anti-join, write -----------------------------------------------------------------------------

    @repeated_when_lost
    def plan_jobs(self, run: int, keys: Sequence[str]) -> dict[str, JobState]:
        """Note that the run needs these jobs, and say which of them are already final (the anti-join)."""
        with self._engine.begin() as connection:
            self._insert(connection, t.run_jobs, [{"run": run, "job": key} for key in keys])
            return _states(connection, keys)

    @repeated_when_lost
    def job_states(self, keys: Sequence[str]) -> dict[str, JobState]:
        """Which of these jobs are final, and how."""
        with self._read() as connection:
            return _states(connection, keys)

    def final_asks(self, keys: Sequence[str]) -> dict[str, Ask]:
        """The last final ask of each of these jobs that has one."""
        found: dict[str, Ask] = {}
        query = select(t.asks).where(t.asks.c.status != Status.FAILED)
        for row in self._among(query, t.asks.c.job, keys):
            values = row._mapping
            if row.job not in found or found[row.job].generation < row.generation:
                found[row.job] = Ask.model_construct(**{**values, "status": Status(row.status)})
        return found

    def write(self, outcomes: Sequence[Outcome], run: int | None = None, links: Sequence[str] = ()) -> None:
        """Store finished asks with their judgments and products, all or nothing.

        `links` are keys of jobs that followed from others and so could not be planned: the run is noted to need them.
        """
        asks = [ask_row(outcome.ask) for outcome in outcomes]
        judgments = [judgment_row(j) for outcome in outcomes for j in outcome.judgments]
        products = [product_row(p) for outcome in outcomes for p in outcome.products]
        linked = [{"run": run, "job": key} for key in links]
        self._write((t.run_jobs, linked), (t.products, products), (t.asks, asks), (t.judgments, judgments))

    # -- frames ----------------------------------------------------------------------------------------------------

    @repeated_when_lost
    def frame(self, query: Select[Any]) -> pl.DataFrame:
        """The rows of a query as a frame, taken over in parts: as Python objects a million rows would fill the memory."""
        with self._read() as connection:
            result = connection.execution_options(stream_results=True).execute(query)
            names = list(result.keys())
            parts = [
                pl.DataFrame(
                    [tuple(row) for row in rows], schema=names, orient="row", infer_schema_length=None
                )
                for rows in result.partitions(FRAME_ROWS)
            ]
        return pl.concat(parts, how="vertical_relaxed") if parts else pl.DataFrame(schema=names)

    def stream(self, query: Select[Any], rows: int) -> Iterator[Sequence[Row[Any]]]:
        """The rows of a query, so many at a time; none is kept."""
        with self._read() as connection:
            yield from connection.execution_options(stream_results=True).execute(query).partitions(rows)


def _states(connection: Connection, keys: Sequence[str]) -> dict[str, JobState]:
    states: dict[str, JobState] = {}
    query = select(t.asks.c.job, t.asks.c.status, t.asks.c.generation).where(t.asks.c.status != Status.FAILED)
    for row in _among(connection, query, t.asks.c.job, keys):
        if row.job not in states or states[row.job].generation < row.generation:
            states[row.job] = JobState(Status(row.status), row.generation)
    return states


def _among(
    connection: Connection, query: Select[Any], column: Column[Any], values: Sequence[str]
) -> Iterator[Row[Any]]:
    """The rows of a query whose column has one of these values."""
    arrays = connection.dialect.name == "postgresql"  # takes them as one, without a parameter for each
    size = ARRAY if arrays else CHUNK
    for start in range(0, len(values), size):
        part = list(values[start : start + size])
        condition = column == any_(literal(part, postgresql.ARRAY(Text))) if arrays else column.in_(part)
        yield from connection.execute(query.where(condition))
