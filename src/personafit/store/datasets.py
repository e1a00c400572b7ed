"""Data sets in the store: whose items they are, who the people are, and the texts they refer to."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson
from sqlalchemy import func, select, tuple_, update

from personafit.people import Person
from personafit.store import tables as t
from personafit.store.database import Database, repeated_when_lost
from personafit.store.records import Item, Judgment, Product, RaterRecord, item_row, judgment_row, product_row


class Datasets(Database):
    """What runs and studies are about."""

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

    @repeated_when_lost
    def count_items(self, dataset: str) -> int:
        """How many items the data set has."""
        with self._read() as connection:
            query = select(func.count()).select_from(t.items).where(t.items.c.dataset == dataset)
            return int(connection.execute(query).scalar_one())

    def texts(self, ids: Iterable[str]) -> dict[str, str]:
        """The texts of products by id; an unknown id is absent."""
        query = select(t.products.c.id, t.products.c.text)
        return {row.id: row.text for row in self.rows_among(query, t.products.c.id, list(ids))}

    def lengths(self, ids: Iterable[str]) -> dict[str, int]:
        """How many code points each product has."""
        length = func.length(t.products.c.text).label("length")
        found = self.rows_among(select(t.products.c.id, length), t.products.c.id, list(ids))
        return {row.id: row.length for row in found}
