"""The records of a benchmark folder, each checked by itself and against the others.

Ids of products are names within the folder. In the store a product goes by the hash of its content, so that two folders
may use the same names, and an edited answer is another answer that nobody has judged yet.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines, validated
from personafit.people import Conversation, Person
from personafit.store import TIE, Item, Judgment, Product

M = TypeVar("M", bound=BaseModel)

FEWEST, MOST = 2, 8  # answers in a choice


class FolderRecords:
    """Reads a folder; every fault goes to `complain`, which raises or collects. A faulty record is left out."""

    def __init__(self, folder: Path, complain: Callable[[str], None]) -> None:
        self._folder = folder
        self._complain = complain
        self._people: set[str] | None = None
        self._products: dict[str, str] | None = None
        self._items: dict[str, int] | None = None
        self._labelled: set[str] = set()

    def people(self) -> Iterator[Person]:
        """Everyone, each id once."""
        path, seen = self._folder / "people.jsonl", set[str]()
        for number, person in self._lines(path, Person):
            if self._is_new(person.id, seen, path, number):
                seen.add(person.id)
                yield person
        self._people = seen

    def products(self) -> Iterator[Product]:
        """The answers, under their content hash."""
        path, seen = self._folder / "products.jsonl", dict[str, str]()
        for number, product in self._lines(path, Product):
            if not self._is_new(product.id, seen, path, number):
                continue
            content = Product.model_validate(product.model_dump(exclude={"id"}))
            seen[product.id] = content.id
            if product.kind == "answer" and not product.text.strip():
                self._complain(f"{located(path, number, 'text')} is empty.")
                continue
            yield content
        self._products = seen

    def items(self) -> Iterator[Item]:
        """The items; their products exist, their person is known."""
        if self._people is None:
            list(self.people())
        if self._products is None:
            list(self.products())
        path, counts = self._folder / "items.jsonl", dict[str, int]()
        for number, item in self._lines(path, Item):
            fresh = self._is_new(item.id, counts, path, number)
            counts[item.id] = len(item.products)
            if fresh and self._fits(item, path, number):
                products = [self._product_id(product) for product in item.products]
                # The hash is made anew: one that was written beside a text since edited would be wrong.
                yield Item.model_validate({**item.model_dump(), "products": products, "hash": ""})
        self._items = counts

    def gold(self) -> Iterator[Judgment]:
        """The labels; each names an item and one of its products."""
        if self._items is None:
            list(self.items())
        counts = self._items or {}
        path, seen = self._folder / "gold.jsonl", set[str]()
        for number, gold in self._lines(path, Judgment):
            self._labelled.add(gold.item)
            key = f"{gold.item} by {gold.rater}"
            if gold.item not in counts:
                self._complain(f"{located(path, number, 'item')}: '{gold.item}' is not in items.jsonl.")
            elif gold.label != TIE and gold.label not in {str(index) for index in range(counts[gold.item])}:
                self._complain(
                    f"{located(path, number, 'label')}: '{gold.label}' is no index into the item's products; "
                    f"use 0 to {counts[gold.item] - 1}."
                )
            elif self._is_new(key, seen, path, number, "item"):
                seen.add(key)
                yield gold

    def conversations(self) -> Iterator[Conversation]:
        """The conversations, if there are any; their people are known."""
        path = self._folder / "conversations.jsonl"
        if not path.is_file():
            return
        for number, conversation in self._lines(path, Conversation):
            if conversation.person in (self._people or ()):
                yield conversation
            else:
                self._complain(
                    f"{located(path, number, 'person')}: '{conversation.person}' is not in people.jsonl."
                )

    def votes(self) -> Iterator[Judgment]:
        """The single votes, if there are any; they name items, and whatever labels their question has."""
        path = self._folder / "votes.jsonl"
        if not path.is_file():
            return
        for number, vote in self._lines(path, Judgment):
            if vote.item in (self._items or ()):
                yield vote
            else:
                self._complain(f"{located(path, number, 'item')}: '{vote.item}' is not in items.jsonl.")

    def unlabelled(self) -> list[str]:
        """A sentence for each item without gold, once all has been read."""
        missing = sorted(set(self._items or ()) - self._labelled)
        return [f"{self._folder / 'gold.jsonl'}: item '{item}' has no gold." for item in missing]

    def _fits(self, item: Item, path: Path, number: int) -> bool:
        faults = []
        if item.person not in (self._people or ()):
            faults.append(f"{located(path, number, 'person')}: '{item.person}' is not in people.jsonl.")
        faults += [
            f"{located(path, number, 'products')}: '{product}' is not in products.jsonl."
            for product in item.products
            if product not in (self._products or ())
        ]
        if item.kind == "choice" and not FEWEST <= len(item.products) <= MOST:
            faults.append(
                f"{located(path, number, 'products')}: a choice is between {FEWEST} to {MOST} products, "
                f"not {len(item.products)}."
            )
        for fault in faults:
            self._complain(fault)
        return not faults

    def _product_id(self, name: str) -> str:
        return (self._products or {})[name]

    def _is_new(
        self,
        key: str,
        seen: set[str] | dict[str, str] | dict[str, int],
        path: Path,
        number: int,
        field: str = "id",
    ) -> bool:
        if key in seen:
            self._complain(f"{located(path, number, field)}: '{key}' occurs twice; ids must be unique.")
        return key not in seen

    def _lines(self, path: Path, model: type[M]) -> Iterator[tuple[int, M]]:
        lines = read_lines(path)
        while True:
            try:
                number, row = next(lines)
            except StopIteration:
                return
            except UserError as error:  # a line that is no JSON ends the reading of this file
                self._complain(str(error))
                return
            try:
                record = validated(model, row, path, number)
            except UserError as error:
                self._complain(str(error))
                continue
            yield number, record
