"""The records of a benchmark folder, each checked by itself and against the others.

Ids of products are names within the folder. In the store a product goes by the hash of its content, so that two folders
may use the same names, and an edited answer is another answer that nobody has judged yet.
"""

import sqlite3
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines, validated
from personafit.items import MOST
from personafit.people import Conversation, Person, Task
from personafit.store import TIE, Item, Judgment, Product

CACHE_KIB = 4_096  # what is held in memory; a small folder never touches the disk


class Names:
    """A set of names, each with a short value, in a temporary file that goes with it."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._database.close)
        for statement in (
            f"PRAGMA cache_size=-{CACHE_KIB}",
            "PRAGMA journal_mode=OFF",
            "PRAGMA synchronous=OFF",
            "CREATE TABLE names (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
            "BEGIN",
        ):
            self._database.execute(statement)

    def add(self, name: str, value: str = "") -> bool:
        """Take in a name; False if it is there already, and then nothing changes."""
        row = (_storable(name), value)
        return self._database.execute("INSERT OR IGNORE INTO names VALUES (?, ?)", row).rowcount == 1

    def get(self, name: str) -> str | None:
        """What the name stands for; None if it is unknown."""
        query = "SELECT value FROM names WHERE name = ?"
        row = self._database.execute(query, (_storable(name),)).fetchone()
        return None if row is None else str(row[0])

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        for (name,) in self._database.execute("SELECT name FROM names ORDER BY name"):
            yield str(name)


def _storable(name: str) -> str:
    """The name in a form that SQLite takes, whatever code points it has, and that no other name has."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return "\x00" + name.encode("utf-8", "surrogatepass").hex()
    return name


M = TypeVar("M", bound=BaseModel)

ANY = 1_000_000
COUNTS = {
    "relevance": (1, 1, "a relevance item has one product, the attribute"),
    "preference": (3, ANY, "a preference item has two answers, then the attributes"),
    "choice": (2, MOST, f"a choice is between 2 to {MOST} products, not {{}}"),
}
"""Kind of item to how many products it has at least and at most, and what is said otherwise."""
ANSWERS = {
    "relevance": ("yes", "no"),
    "preference": ("1", "2", "3", "4", "5"),
}  # labels of other kinds of item


Complain = Callable[[str], None]
"""Where faults go, which are not put right: raises the sentence as an error, or keeps it."""


def refuse(sentence: str) -> None:
    """Take the first fault as an error."""
    raise UserError(sentence)


class FolderRecords:
    """Reads a folder; every fault goes to `complain`. A faulty record is left out."""

    def __init__(self, folder: Path, complain: Complain = refuse) -> None:
        self._folder = folder
        self._complain = complain
        self._people: Names | None = None
        self._products: Names | None = None
        """Each with the hash it goes by in the store."""
        self._items: Names | None = None
        """Each with its kind and how many products it has."""
        self._labelled = Names()

    def people(self) -> Iterator[Person]:
        """Everyone, each id once."""
        path, seen = self._folder / "people.jsonl", Names()
        for number, person in self._lines(path, Person):
            if self._is_new(person.id, "", seen, path, number):
                yield person
        self._people = seen

    def products(self) -> Iterator[Product]:
        """The answers, under their content hash."""
        path, seen = self._folder / "products.jsonl", Names()
        for number, product in self._lines(path, Product):
            content = product.model_copy(update={"id": ""})
            content.model_post_init(None)
            if not self._is_new(product.id, content.id, seen, path, number):
                continue
            if product.kind == "answer" and not product.text.strip():
                self._complain(f"{located(path, number, 'text')} is empty.")
                continue
            yield content
        self._products = seen

    def items(self) -> Iterator[Item]:
        """The items; their products exist, their person is known."""
        if self._people is None:
            deque(self.people(), maxlen=0)
        if self._products is None:
            deque(self.products(), maxlen=0)
        path, seen = self._folder / "items.jsonl", Names()
        for number, item in self._lines(path, Item):
            fresh = self._is_new(item.id, f"{len(item.products)} {item.kind}", seen, path, number)
            products = [self._product(product) for product in item.products]
            if fresh and self._fits(item, products, path, number):
                # The hash is made anew: one that was written beside a text since edited would be wrong.
                content = item.model_copy(update={"products": products, "hash": ""})
                content.model_post_init(None)
                yield content
        self._items = seen

    def gold(self) -> Iterator[Judgment]:
        """The labels; each names an item and, for a choice, one of its products."""
        if self._items is None:
            deque(self.items(), maxlen=0)
        path, seen = self._folder / "gold.jsonl", Names()
        for number, gold in self._lines(path, Judgment):
            self._labelled.add(gold.item)
            known = self._item(gold.item)
            if known is None:
                self._complain(f"{located(path, number, 'item')}: '{gold.item}' is not in items.jsonl.")
                continue
            target = self._target(gold)
            key = " ".join(
                filter(None, [gold.item, f"({gold.target})" if gold.target else "", "by", gold.rater])
            )
            if self._labels(gold, *known, path, number) and self._is_new(key, "", seen, path, number, "item"):
                yield gold.model_copy(update={"target": target}) if gold.target else gold

    def kind(self, item: str) -> str | None:
        """What kind an item is of, once the items were read."""
        found = self._item(item)
        return found[0] if found else None

    def _product(self, name: str) -> str | None:
        return None if self._products is None else self._products.get(name)

    def _item(self, item: str) -> tuple[str, int] | None:
        """An item's kind, and how many products it has."""
        found = self._items.get(item) if self._items is not None else None
        if found is None:
            return None
        products, _, kind = found.partition(" ")
        return kind, int(products)

    def _target(self, gold: Judgment) -> str:
        """A target that names a product of the folder goes by its content hash, like the product itself."""
        return (gold.target and self._product(gold.target)) or gold.target

    def _labels(self, gold: Judgment, kind: str, products: int, path: Path, number: int) -> bool:
        if kind == "choice":
            allowed = (*(str(index) for index in range(products)), TIE)
            what = f"is no index into the item's products; use 0 to {products - 1}"
        elif kind in ANSWERS:
            allowed = ANSWERS[kind]
            what = f"is no answer about a {kind} item; use {', '.join(allowed)}"
        else:
            return True
        if gold.label not in allowed:
            self._complain(f"{located(path, number, 'label')}: '{gold.label}' {what}.")
        return gold.label in allowed

    def tasks(self) -> Iterator[Task]:
        """The dialogue tasks, if there are any; their people and the preferences they name are known."""
        path = self._folder / "tasks.jsonl"
        if not path.is_file():
            return
        facets = {person.id: person.facets for person in self.people()}
        seen = Names()
        for number, task in self._lines(path, Task):
            key = f"{task.person}/{task.id}"
            missing = [name for name in task.preferences if name not in facets.get(task.person, {})]
            if task.person not in facets:
                self._complain(f"{located(path, number, 'person')}: '{task.person}' is not in people.jsonl.")
            elif missing:
                self._complain(
                    f"{located(path, number, 'preferences')}: {task.person} has no facet '{missing[0]}'."
                )
            elif self._is_new(key, "", seen, path, number):
                yield task

    def conversations(self) -> Iterator[Conversation]:
        """The conversations, if there are any; their people are known."""
        return self._knowing("conversations.jsonl", Conversation, "person", self._people)

    def votes(self) -> Iterator[Judgment]:
        """The single votes, if there are any; they name items, and whatever labels their question has."""
        for vote in self._knowing("votes.jsonl", Judgment, "item", self._items):
            yield vote.model_copy(update={"target": self._target(vote)})

    def _knowing(self, file: str, model: type[M], field: str, known: Names | None) -> Iterator[M]:
        """The records of a file that need not be there, whose field names somebody or something that is known."""
        path = self._folder / file
        for number, record in self._lines(path, model) if path.is_file() else ():
            named = getattr(record, field)
            if named in (known or ()):
                yield record
            else:
                where = "people" if field == "person" else "items"
                self._complain(f"{located(path, number, field)}: '{named}' is not in {where}.jsonl.")

    def unlabelled(self) -> list[str]:
        """A sentence for each item without gold, once all has been read."""
        missing = [item for item in self._items or () if item not in self._labelled]
        return [f"{self._folder / 'gold.jsonl'}: item '{item}' has no gold." for item in missing]

    def _fits(self, item: Item, products: list[str | None], path: Path, number: int) -> bool:
        place = located(path, number, "products")
        faults = [
            f"{place}: '{product}' is not in products.jsonl."
            for product, found in zip(item.products, products, strict=True)
            if found is None
        ]
        if item.person not in (self._people or ()):
            faults.insert(0, f"{located(path, number, 'person')}: '{item.person}' is not in people.jsonl.")
        least, most, what = COUNTS.get(item.kind, (0, len(products), ""))
        if not least <= len(products) <= most:
            faults.append(f"{place}: {what.format(len(products))}.")
        for fault in faults:
            self._complain(fault)
        return not faults

    def _is_new(self, key: str, value: str, seen: Names, path: Path, number: int, field: str = "id") -> bool:
        """Whether the key is met for the first time; it is taken in with its value."""
        if seen.add(key, value):
            return True
        self._complain(f"{located(path, number, field)}: '{key}' occurs twice; ids must be unique.")
        return False

    def _lines(self, path: Path, model: type[M]) -> Iterator[tuple[int, M]]:
        lines = read_lines(path, self._complain)
        while True:
            try:
                number, row = next(lines)
            except StopIteration:
                return
            except UserError as error:  # a file that cannot be read any further
                self._complain(str(error))
                return
            try:
                record = validated(model, row, path, number)
            except UserError as error:
                for fault in error.faults:
                    self._complain(fault)
                continue
            yield number, record
