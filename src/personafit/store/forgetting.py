"""Forgetting a person: finding all rows that derive from them, and removing these.

Rows are found by the person they are about, and followed through everything made from them. Item ids are chosen by the authors of a
data set, so two data sets may use the same id for different people. An ask belongs to the person whose item was in the data set of the
run that planned it; if no run shows that it belongs to somebody else, it is removed.
"""

import re
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, Select, String, Table, delete, select, text, update
from sqlalchemy.exc import DBAPIError

from personafit.store import tables as t
from personafit.store.records import original_of, tombstone_of

ROWS = 10_000
COPIED = "wrong"  # `about` of responses written for one person and shown to another: the same text under another id
STAND_INS = (COPIED, "generic")
WAIT_SECONDS = 10.0
"""How long the rewrite of a PostgreSQL store waits for transactions that can still read deleted rows."""
PAUSE_SECONDS = 0.2


@dataclass
class DerivedKeys:
    """Keys of all rows that derive from a person."""

    items: set[tuple[str, str]] = field(default_factory=set)
    """Data set and id of each item."""
    products: set[str] = field(default_factory=set)
    asks: set[tuple[str, str]] = field(default_factory=set)
    """Job and id of each ask."""
    judgments: set[tuple[str, str]] = field(default_factory=set)
    """Ask and item of judgments whose ask is not itself removed: gold, imports."""


def copies_of(connection: Connection, person: str) -> set[str]:
    """Return the ids of the person's copies, which benchmarks with altered profiles store."""
    query = select(t.items.c.person, t.items.c.slices).where(
        t.items.c.person.startswith(f"{person}+", autoescape=True)
    )
    return {
        row.person
        for row in _rows(connection, query)
        if original_of(row.person, orjson.loads(row.slices)) == person
    }


def find_derived(connection: Connection, people: Collection[str]) -> DerivedKeys:
    """Find everything that derives from a person, who may have several ids."""
    query = select(t.items.c.dataset, t.items.c.id, t.items.c.grp, t.items.c.person)
    rows = list(_rows(connection, query.where(t.items.c.person.in_(sorted(people)))))
    items = {(row.dataset, row.id) for row in rows}
    # Keys under which relevance asks about a whole list are stored.
    lists = {f"{row.grp}@{row.person}" for row in rows}
    made = _products_about(connection, people, {item for _, item in items})
    shown, outside = _shown(connection, items, made)
    items |= shown
    ambiguous = {item for _, item in items} & _other_ids(connection, items)
    products = made | (_products_of(connection, items) - outside)
    asks = _asks(connection, items, ambiguous, products | lists)
    return DerivedKeys(
        items, products, asks, _judgments_without_ask(connection, items, {ask for _, ask in asks}, ambiguous)
    )


def _products_about(connection: Connection, people: Collection[str], items: set[str]) -> set[str]:
    """Return products about the person, products given such a product as context, and those made from either or from their items."""
    p = t.products
    made, texts = set[str](), set[str]()
    links: list[tuple[str, str | None, list[str]]] = []
    for row in _rows(connection, select(p.c.id, p.c.given, p.c.parents, p.c.about)):
        if row.about in people:
            made.add(row.id)
        elif row.given or row.parents != "[]":
            links.append((row.id, row.given, orjson.loads(row.parents)))
    while True:
        known = made | items
        more = {
            product
            for product, given, parents in links
            if product not in made and (given in made or not known.isdisjoint(parents))
        }
        if not more:
            break
        made |= more
    answers = select(p.c.id, p.c.text, p.c.about).where(p.c.kind == "answer", p.c.about.is_not(None))
    others = set[str]()
    for row in _rows(connection, answers):
        if row.id in made:
            texts.add(row.text)
        elif row.about not in STAND_INS:
            others.add(row.text)  # a text also made for somebody else reveals nothing about this person
    if texts - others:
        query = select(p.c.id, p.c.text).where(p.c.about == COPIED)
        made |= {row.id for row in _rows(connection, query) if row.text in texts - others}
    return made


def _shown(
    connection: Connection, items: set[tuple[str, str]], made: set[str]
) -> tuple[set[tuple[str, str]], set[str]]:
    """Return all items that show the person or something made from them, and the products of all other items."""
    showing, outside = set[tuple[str, str]](), set[str]()
    query = select(t.items.c.dataset, t.items.c.id, t.items.c.products)
    for row in _rows(connection, query):
        products = orjson.loads(row.products)
        if (row.dataset, row.id) in items or not made.isdisjoint(products):
            showing.add((row.dataset, row.id))
        else:
            outside.update(products)
    return showing, outside


def _other_ids(connection: Connection, items: set[tuple[str, str]]) -> set[str]:
    """Return ids of items that are kept, in any data set."""
    rows = _rows(connection, select(t.items.c.dataset, t.items.c.id))
    return {row.id for row in rows if (row.dataset, row.id) not in items}


def _products_of(connection: Connection, items: set[tuple[str, str]]) -> set[str]:
    query = select(t.items.c.dataset, t.items.c.id, t.items.c.products)
    return {
        product
        for row in _rows(connection, query)
        if (row.dataset, row.id) in items
        for product in orjson.loads(row.products)
    }


def _asks(
    connection: Connection, items: set[tuple[str, str]], ambiguous: set[str], theirs: set[str]
) -> set[tuple[str, str]]:
    """Return asks about these items, and asks about, or with a context from, what is the person's alone: products, lists."""
    a, ids = t.asks, {item for _, item in items}
    found, doubtful = set[tuple[str, str]](), set[tuple[str, str]]()
    for row in _rows(connection, select(a.c.job, a.c.id, a.c.item, a.c.context_id)):
        told = (
            row.context_id in theirs or row.item in theirs
        )  # the judged object may be a product: a dialogue
        if told or (row.item in ids and row.item not in ambiguous):
            found.add((row.job, row.id))
        elif row.item in ids:
            doubtful.add((row.job, row.id))
    if not doubtful:
        return found
    planned = select(t.run_jobs.c.job, t.runs.c.dataset, a.c.item).select_from(
        t.run_jobs.join(t.runs, t.runs.c.id == t.run_jobs.c.run)
        .join(a, a.c.job == t.run_jobs.c.job)
        .join(t.items, (t.items.c.dataset == t.runs.c.dataset) & (t.items.c.id == a.c.item))
    )
    rows = _rows(connection, planned)
    kept = {row.job for row in rows if row.item in ambiguous and (row.dataset, row.item) not in items}
    return found | {key for key in doubtful if key[0] not in kept}


def _judgments_without_ask(
    connection: Connection, items: set[tuple[str, str]], asks: Collection[str], ambiguous: set[str]
) -> set[tuple[str, str]]:
    """Return the gold of these items, and judgments on them without an ask."""
    j, ids, found = t.judgments, {item for _, item in items}, set[tuple[str, str]]()
    for row in _rows(connection, select(j.c.ask, j.c.item)):
        if row.item in ids and row.ask not in asks:
            dataset, gold, _ = row.ask.rpartition("#")
            if (dataset, row.item) in items or (not gold and row.item not in ambiguous):
                found.add((row.ask, row.item))
    return found


def _rows(connection: Connection, query: Select[Any]) -> Iterator[Any]:
    """Yield the rows of a query, fetched in chunks of `ROWS`."""
    result = connection.execute(query, execution_options={"stream_results": True})
    for part in result.partitions(ROWS):
        yield from part


CHUNK = 500
Removal = Callable[[Connection, str], Mapping[str, int]]
"""Removes rows that derive from a person; returns the number of rows by table."""
WAIT_MILLISECONDS = 3000  # how long to wait for other processes before reporting that bytes may remain


@dataclass
class Forgotten:
    """The result of forgetting a person, or of a dry run."""

    counts: dict[str, int] = field(default_factory=dict)
    """Number of rows removed, by table."""
    before: float | None = None
    """Time at which the person was forgotten before, if so."""
    remains: str | None = None
    """Why deleted bytes may still be in the database's files; None if they are gone."""


def forget_person(
    engine: Engine, person: str, dry_run: bool, elsewhere: bool = False, first: Removal | None = None
) -> Forgotten | None:
    """Remove everything that derives from a person, in one transaction; return None if the person is unknown.

    With `elsewhere` the person is known from outside the store, so a tombstone is written in any case. `first` removes rows that the
    store does not know about, such as pages of studies, in the same transaction.
    """
    done = Forgotten()
    with engine.connect() as connection, connection.begin() as transaction:
        counts = Counter(first(connection, person) if first is not None else {})
        tomb = connection.execute(
            select(t.tombstones).where(t.tombstones.c.person == tombstone_of(person))
        ).first()
        people = {person} | copies_of(connection, person)
        counts.update(_remove(connection, people, find_derived(connection, people)))
        done.counts = dict(counts)
        if tomb is None and not elsewhere and not any(done.counts.values()):
            return None
        if tomb is not None:
            done.before = tomb.at
        if dry_run:
            transaction.rollback()
            return done
        earlier = orjson.loads(tomb.counts) if tomb is not None else {}
        total = {name: count + earlier.get(name, 0) for name, count in done.counts.items()}
        connection.execute(delete(t.tombstones).where(t.tombstones.c.person == tombstone_of(person)))
        row = {
            "person": tombstone_of(person),
            "at": tomb.at if tomb is not None else time.time(),
            "counts": orjson.dumps(total).decode(),
        }
        connection.execute(t.tombstones.insert().values(**row))
    done.remains = free_bytes(engine)
    return done


def _remove(connection: Connection, people: set[str], derived: DerivedKeys) -> dict[str, int]:
    counts = {
        "judgments": _delete_judgments(connection, derived),
        "asks": _delete_in(connection, t.asks, "job", {job for job, _ in derived.asks}),
        "run_jobs": _delete_in(connection, t.run_jobs, "job", {job for job, _ in derived.asks}),
        "products": _delete_in(connection, t.products, "id", derived.products),
        "items": 0,
    }
    names = people | {item for _, item in derived.items}
    for dataset in {dataset for dataset, _ in derived.items}:
        ids = {item for held, item in derived.items if held == dataset}
        for chunk in _chunks(ids):
            query = delete(t.items).where(t.items.c.dataset == dataset, t.items.c.id.in_(chunk))
            counts["items"] += connection.execute(query).rowcount
    theirs = t.people.c.id.in_(sorted(people))
    held = set(connection.execute(select(t.people.c.dataset).where(theirs)).scalars())
    counts["people"] = connection.execute(delete(t.people).where(theirs)).rowcount
    for row in connection.execute(select(t.datasets.c.id, t.datasets.c.info)).all():
        info = _cleared(orjson.loads(row.info), people)
        info["forgotten"] = info.get("forgotten", 0) + (row.id in held)
        if row.id in held or info != orjson.loads(row.info) | {"forgotten": info["forgotten"]}:
            values = {"info": orjson.dumps(info).decode()}
            connection.execute(update(t.datasets).where(t.datasets.c.id == row.id).values(values))
    for row in connection.execute(select(t.runs.c.id, t.runs.c.config)).all():
        config = orjson.loads(row.config)
        if (cleared := _cleared(config, names)) != config:
            values = {"config": orjson.dumps(cleared).decode()}
            connection.execute(update(t.runs).where(t.runs.c.id == row.id).values(values))
    return counts


def _delete_judgments(connection: Connection, derived: DerivedKeys) -> int:
    removed = _delete_in(connection, t.judgments, "ask", {ask for _, ask in derived.asks})
    for ask in {ask for ask, _ in derived.judgments}:
        items = {item for of, item in derived.judgments if of == ask}
        for chunk in _chunks(items):
            query = delete(t.judgments).where(t.judgments.c.ask == ask, t.judgments.c.item.in_(chunk))
            removed += connection.execute(query).rowcount
    return removed


def _delete_in(connection: Connection, table: Table, column: str, values: Collection[str]) -> int:
    return sum(
        connection.execute(delete(table).where(table.c[column].in_(chunk))).rowcount
        for chunk in _chunks(values)
    )


def _cleared(body: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """Return a stored record without the list entries and keys that are among the names; its own fields stay, whatever they are called."""
    return {field: _without(value, names) for field, value in body.items()}


def _without(value: Any, names: set[str]) -> Any:
    """Return a JSON value without the list entries and keys that are among the names."""
    if isinstance(value, list):
        return [_without(entry, names) for entry in value if not (isinstance(entry, str) and entry in names)]
    if isinstance(value, dict):
        return {key: _without(entry, names) for key, entry in value.items() if key not in names}
    return value


def free_bytes(engine: Engine) -> str | None:
    """Have the database rewrite its files, so that deleted text is really gone; return the reason if it could not."""
    try:
        return _vacuum_postgresql(engine) if engine.dialect.name == "postgresql" else _vacuum_sqlite(engine)
    except (DBAPIError, sqlite3.Error) as error:
        return " ".join(str(getattr(error, "orig", error)).split()).rstrip(".")


def _vacuum_postgresql(engine: Engine) -> str | None:
    """Rewrite all tables, and the planner's statistics, which hold samples of their values."""
    deadline = time.monotonic() + WAIT_SECONDS
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        reasons = []
        for table in t.metadata.sorted_tables:  # those of studies too: pages, chats, participants
            reasons.append(_rewrite(connection, table.name, deadline))
            if connection.execute(select(table).limit(1)).first() is None:  # ANALYZE skips empty tables
                _drop_statistics(connection, table)
        reasons.append(_rewrite(connection, "pg_statistic", deadline))
    return next(filter(None, reasons), None)


def _rewrite(connection: Connection, table: str, deadline: float) -> str | None:
    """Rewrite a table until no deleted row is left in it; return the reason if some remain.

    A rewrite keeps deleted rows that another transaction can still read, such as a running backup or an ANALYZE.
    """
    refused: list[str] = []
    left: list[int] = []

    def note(notice: Any) -> None:  # its fields are gone after the call
        if notice.severity_nonlocalized == "WARNING":
            refused.append(notice.message_primary)
        elif count := re.match(r"\d+", notice.message_detail or ""):  # dead rows that cannot be removed yet
            left.append(int(count[0]))

    driver: Any = connection.connection.driver_connection
    driver.add_notice_handler(note)
    try:
        while True:
            connection.execute(text(f"VACUUM (FULL, ANALYZE, VERBOSE) {table}"))
            if refused or not any(left):
                return refused[0] if refused else None
            if time.monotonic() > deadline:
                return "another transaction, such as a backup, can still read what was deleted"
            left.clear()
            time.sleep(PAUSE_SECONDS)
    finally:
        driver.remove_notice_handler(note)


def _drop_statistics(connection: Connection, table: Table) -> None:
    """Drop the planner's statistics of text columns by setting each to its own type, which needs no superuser."""
    quote = connection.dialect.identifier_preparer.quote
    types = (
        f"ALTER COLUMN {quote(column.name)} TYPE {column.type.compile(connection.dialect)}"
        for column in table.columns
        if isinstance(column.type, String)
    )
    connection.execute(text(f"ALTER TABLE {table.name} {', '.join(types)}"))


def _vacuum_sqlite(engine: Engine) -> str | None:
    # On the driver's own connection: the engine wraps every statement in a transaction, in which VACUUM cannot run.
    connection = engine.raw_connection()
    connection.detach()
    try:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={WAIT_MILLISECONDS}")
        cursor.execute("VACUUM")
        busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return "another process is reading the store" if busy else None
    finally:
        connection.close()


def _chunks(values: Iterable[str]) -> Iterator[list[str]]:
    ordered = sorted(values)
    for start in range(0, len(ordered), CHUNK):
        yield ordered[start : start + CHUNK]
