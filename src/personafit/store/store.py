"""The store of all data sets, runs and judgments; written in batches, read as frames.

It holds data sets (items, people, the texts they refer to), runs (the jobs that each needs, and by anti-join those that are missing),
and outcomes.
"""

import shutil
import time
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from sqlalchemy import Connection, func, or_, select, tuple_, update

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit._secrets import masked
from personafit.people import Person
from personafit.store import tables as t
from personafit.store.database import Database, among, repeated_when_lost
from personafit.store.inserting import insert_new
from personafit.store.records import (
    Ask,
    Item,
    Judgment,
    Outcome,
    Product,
    RaterRecord,
    Status,
    ask_row,
    item_row,
    judgment_row,
    product_row,
    storable,
    tombstone_of,
)

if TYPE_CHECKING:
    from personafit.store.forgetting import Forgotten, Removal

FORGOTTEN_NOTE = "People of this data set who were forgotten (personafit data forget), and are left out: {}."
"""Note on runs of a data set with forgotten people."""

MET = " was fitted on "
"""Follows a rater's name in the note of a run that the rater was fitted on people or prompts of this run."""

CLOCK_STEP = 0.001  # seconds added to the last use of a run if the clock stands still or goes back


class JobState(NamedTuple):
    """The last final status of a job, and its generation."""

    status: Status
    generation: int


class RunRecord(NamedTuple):
    """A run: a named set of jobs with the configuration that planned them."""

    id: int
    name: str
    dataset: str
    config: dict[str, Any]
    planned: int
    started: float
    finished: float | None

    @property
    def met_people(self) -> dict[str, str]:
        """The note on each rater that was fitted on people (or prompts) of this run, by the rater's fingerprint.

        Such a rater's scores here are contaminated by its training data and support no claims.
        """
        notes: list[str] = self.config.get("notes", [])
        return {
            rater["fingerprint"]: note
            for rater in self.config.get("raters", [])
            for note in notes
            if note.startswith(f"{rater['name']}{MET}")
        }

    @property
    def contexts(self) -> list[str]:
        """The contexts that raters were shown, which the stored configuration calls `views`."""
        return list(self.config.get("views") or ())

    @property
    def system_contexts(self) -> list[str]:
        """The contexts that systems were told, which the stored configuration calls `givens`."""
        return list(self.config.get("givens") or ())


PEOPLE_HELD = 1_024
PEOPLE_AHEAD = 64


def person_folder(folder: Path, person: str) -> Path:
    """Return the folder of a person's indexes, which is deleted when the person is forgotten."""
    return folder / hash_text(person)


class ProductTexts(dict[str, str]):
    """Texts by product id."""

    def __missing__(self, product: str) -> str:
        raise UserError(f"The items name product {product}, which is not among the benchmark's products.")


class StoredPeople(Mapping[str, Person]):
    """The people of a data set, read on demand; only ids, languages and the most recently used people are in memory."""

    def __init__(self, store: "Store", dataset: str) -> None:
        self.languages = store.languages(dataset)
        self.index_folder = store.index_folder
        self._store, self._dataset = store, dataset
        self._order = list(self.languages)
        self._last = -1
        self._ahead: dict[str, str] = {}
        self._read = lru_cache(PEOPLE_HELD)(self._person)

    def __getitem__(self, person: str) -> Person:
        found = self._read(person) if person in self.languages else None
        if found is None:
            raise KeyError(person)
        return found

    def _person(self, person: str) -> Person | None:
        """Read a person; if people are read in order, prefetch the next ones."""
        body = self._ahead.pop(person, None)
        if body is None:
            place = bisect_left(self._order, person)
            count = PEOPLE_AHEAD if place == self._last + 1 else 1
            wanted = self._order[place : place + count]
            self._last = place + len(wanted) - 1
            self._ahead = bodies = self._store.person_bodies(self._dataset, wanted)
            body = bodies.pop(person, None)
        return None if body is None else Person.model_validate_json(body)

    def __iter__(self) -> Iterator[str]:
        return iter(self.languages)

    def __len__(self) -> int:
        return len(self.languages)

    def __contains__(self, person: object) -> bool:
        return person in self.languages


class Store(Database):
    """One database of products, items, asks and judgments."""

    # -- data sets: what runs and studies are about --------------------------------------------------------------------

    def has_dataset(self, dataset: str) -> bool:
        """Return whether the complete data set is in the store."""
        query = select(t.datasets.c.id).where(t.datasets.c.id == dataset, t.datasets.c.complete == 1)
        return bool(self.rows(query))

    def dataset_info(self, dataset: str) -> dict[str, Any]:
        """Return the benchmark's own metadata, as stored with the data set."""
        (row,) = self.rows(select(t.datasets.c.info).where(t.datasets.c.id == dataset))
        loaded: dict[str, Any] = orjson.loads(row.info)
        return loaded

    def begin_dataset(self, dataset: str, benchmark: str, info: dict[str, Any]) -> None:
        """Create a data set; it counts as present only after `finish_dataset`."""
        row = {"id": dataset, "benchmark": benchmark, "info": orjson.dumps(info).decode(), "complete": 0}
        self._write((t.datasets, [row]))

    @repeated_when_lost
    def finish_dataset(self, dataset: str) -> None:
        """Mark a data set as complete."""
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
        """Store items with their position in the source; runs order items by person, then by position."""
        rows = [item_row(dataset, position, item) for position, item in items]
        self._write((t.items, rows))

    def add_products(self, products: Iterable[Product]) -> None:
        """Store products; existing ones are left unchanged."""
        self._write((t.products, [product_row(product) for product in products]))

    def add_raters(self, raters: Iterable[RaterRecord]) -> None:
        """Store raters."""
        rows = [{**r.model_dump(), "settings": orjson.dumps(r.settings).decode()} for r in raters]
        self._write((t.raters, rows))

    def add_judgments(self, judgments: Iterable[Judgment]) -> None:
        """Store judgments without a new ask: gold, imports, re-parsed replies."""
        self._write((t.judgments, [judgment_row(judgment) for judgment in judgments]))

    def person_bodies(self, dataset: str, people: Sequence[str]) -> dict[str, str]:
        """Return the stored JSON of some people, by id."""
        query = select(t.people.c.id, t.people.c.body).where(
            t.people.c.dataset == dataset, t.people.c.id.in_(people)
        )
        return {row.id: row.body for row in self.rows(query)}

    def languages(self, dataset: str) -> dict[str, str]:
        """Return the language that each person is written about in, by id in sorted order."""
        query = select(t.people.c.id, t.people.c.language).where(t.people.c.dataset == dataset)
        return dict(sorted(tuple(row) for row in self.rows(query)))

    def items(self, dataset: str, page: int = 1000) -> Iterator[Item]:
        """Yield all items by person and position, read in pages so that memory use is constant."""
        items, last = t.items, ("", -1)
        while True:
            query = (
                select(items)
                .where(items.c.dataset == dataset)
                # Keyset pagination: the index answers one comparison of pairs equally fast on every page.
                .where(tuple_(items.c.person, items.c.position) > tuple_(*last))
                .order_by(items.c.person, items.c.position)
                .limit(page)
            )
            rows = self.rows(query)
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

    def count_items(self, dataset: str) -> int:
        """Return the number of items in a data set."""
        query = select(func.count()).select_from(t.items).where(t.items.c.dataset == dataset)
        return int(self.rows(query)[0][0])

    def texts(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the texts of products by id; unknown ids are absent, and looking one up raises a UserError."""
        query = select(t.products.c.id, t.products.c.text)
        rows = self.rows_among(query, t.products.c.id, list(ids))
        return ProductTexts((row.id, row.text) for row in rows)

    def lengths(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the length of each product in code points, by id."""
        length = func.length(t.products.c.text).label("length")
        found = self.rows_among(select(t.products.c.id, length), t.products.c.id, list(ids))
        return {row.id: row.length for row in found}

    def people(self, dataset: str) -> StoredPeople:
        """Return all people of a data set by id, read on demand."""
        return StoredPeople(self, dataset)

    def forget(
        self, person: str, dry_run: bool = False, elsewhere: bool = False, first: "Removal | None" = None
    ) -> "Forgotten | None":
        """Remove everything that derives from a person; None if the person is unknown, here and `elsewhere`.

        `first` removes other rows about them from the database (see `forget_person`).
        """
        from personafit.store.forgetting import forget_person

        found = forget_person(self._engine, person, dry_run, elsewhere, first)
        if self.index_folder is not None and not dry_run:
            shutil.rmtree(person_folder(self.index_folder, person), ignore_errors=True)
        return found

    def forgotten(self, people: Collection[str]) -> set[str]:
        """Return which of these people were forgotten and must not be stored again."""
        with self._engine.connect().execution_options(read_only=True) as connection:
            tombs = set(connection.execute(select(t.tombstones.c.person)).scalars())
        return {person for person in people if tombstone_of(person) in tombs} if tombs else set()

    # -- runs: planned jobs and their outcomes --------------------------------------------------------------------------

    @repeated_when_lost
    def begin_run(self, name: str, dataset: str, config: dict[str, Any], planned: int) -> RunRecord:
        """Create a run, or resume the existing one of that name."""
        now = time.time()
        if config.get("command"):
            config = config | {"command": storable(masked(config["command"]))}
        info = self.rows(select(t.datasets.c.info).where(t.datasets.c.id == dataset))
        if missing := orjson.loads(info[0].info).get("forgotten", 0) if info else 0:
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
            # The run used last sorts last, even if the machine's clock was set back in between.
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
    def finish_run(self, name: str) -> None:
        """Mark the run as finished: every job was tried."""
        with self._engine.begin() as connection:
            connection.execute(update(t.runs).where(t.runs.c.name == name).values(finished=time.time()))
            self._count_anew(connection, t.run_jobs, t.products, t.asks, t.judgments)

    def runs(self) -> list[RunRecord]:
        """Return all runs, most recently used first."""
        rows = self.rows(select(t.runs).order_by(t.runs.c.touched.desc()))
        return [
            RunRecord(r.id, r.name, r.dataset, orjson.loads(r.config), r.planned, r.started, r.finished)
            for r in rows
        ]

    def run(self, name: str) -> RunRecord:
        """Return a run by name, or the most recently used one for `last`; raise KeyError if there is none."""
        for run in self.runs():
            if name in (run.name, "last"):
                return run
        raise KeyError(name)

    @repeated_when_lost
    def plan_jobs(self, run: int, keys: Sequence[str]) -> dict[str, JobState]:
        """Record that the run needs these jobs, and return the states of those that are already final."""
        with self._engine.begin() as connection:
            self._insert(connection, t.run_jobs, [{"run": run, "job": key} for key in keys])
            return _states(connection, keys)

    @repeated_when_lost
    def job_states(self, keys: Sequence[str]) -> dict[str, JobState]:
        """Return the states of those of these jobs that are final."""
        with self._read() as connection:
            return _states(connection, keys)

    def final_asks(self, keys: Sequence[str]) -> dict[str, Ask]:
        """Return the last final ask of each of these jobs that has one."""
        found: dict[str, Ask] = {}
        query = select(t.asks).where(t.asks.c.status != Status.FAILED)
        for row in self.rows_among(query, t.asks.c.job, keys):
            values = row._mapping
            if row.job not in found or found[row.job].generation < row.generation:
                found[row.job] = Ask.model_construct(**{**values, "status": Status(row.status)})
        return found

    def replies(self, jobs: Iterable[str]) -> dict[str, tuple[str | None, str | None]]:
        """Return the raw reply and the reasoning of each ask of these jobs, by ask id; asks with neither are left out."""
        ask = t.asks.c
        query = select(ask.id, ask.reply, ask.reasoning).where(
            or_(ask.reply.is_not(None), ask.reasoning.is_not(None))
        )
        return {row.id: (row.reply, row.reasoning) for row in self.rows_among(query, ask.job, list(jobs))}

    @repeated_when_lost
    def write(self, outcomes: Sequence[Outcome], run: int | None = None, links: Sequence[str] = ()) -> None:
        """Store finished asks with their judgments and products in one transaction.

        `links` are keys of jobs in chains, which could not be planned; the run is recorded as needing them.
        """
        asks = [ask_row(outcome.ask) for outcome in outcomes]
        products = [product_row(p) for outcome in outcomes for p in outcome.products]
        with self._engine.begin() as connection:
            self._insert(connection, t.run_jobs, [{"run": run, "job": key} for key in links])
            self._insert(connection, t.products, products)
            self._insert(connection, t.asks, asks)
            theirs = _made_elsewhere(connection, outcomes)
            ours = (outcome for outcome in outcomes if outcome.ask.id not in theirs)
            self._insert(connection, t.judgments, [judgment_row(j) for one in ours for j in one.judgments])


def _made_elsewhere(connection: Connection, outcomes: Sequence[Outcome]) -> set[str]:
    """Return asks about lists or targets that another process stored first; adding our judgments would mix two replies."""
    asks = {
        one.ask.id: one.ask
        for one in outcomes
        for judgment in one.judgments
        if judgment.target or judgment.item != one.ask.item
    }
    stored = among(
        connection, select(t.asks.c.id, t.asks.c.at), t.asks.c.job, [ask.job for ask in asks.values()]
    )
    return {row.id for row in stored if row.id in asks and row.at != asks[row.id].at}


def _states(connection: Connection, keys: Sequence[str]) -> dict[str, JobState]:
    states: dict[str, JobState] = {}
    query = select(t.asks.c.job, t.asks.c.status, t.asks.c.generation).where(t.asks.c.status != Status.FAILED)
    for row in among(connection, query, t.asks.c.job, keys):
        if row.job not in states or states[row.job].generation < row.generation:
            states[row.job] = JobState(Status(row.status), row.generation)
    return states
