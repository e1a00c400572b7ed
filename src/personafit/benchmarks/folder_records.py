"""The records of a benchmark folder, each validated by itself and against the others.

Product ids are names within the folder. In the store a product's id is its content hash, so that two folders may use the same names, and an
edited answer is a new answer without judgments.
"""

from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from personafit._errors import located
from personafit.benchmarks.lines import read_records, refuse
from personafit.items import MOST
from personafit.people import Conversation, Person, Task
from personafit.store import TIE, Item, Judgment, Product

M = TypeVar("M", bound=BaseModel)

ANY = 1_000_000
COUNTS = {
    "relevance": (1, 1, "a relevance item has one product, the attribute"),
    "preference": (3, ANY, "a preference item has two answers, then the attributes"),
    "choice": (2, MOST, f"a choice is between 2 and {MOST} products, not {{}}"),
}
"""By kind of item: least and greatest number of products, and the message if it differs."""
ANSWERS = {
    "relevance": ("yes", "no"),
    "preference": ("1", "2", "3", "4", "5"),
}  # allowed labels by kind of item


Complain = Callable[[str], None]
"""Callback for faults: it either raises the sentence as an error or collects it."""


class FolderRecords:
    """Reader of a folder's records; every fault goes to `complain`, and faulty records are left out."""

    def __init__(
        self, folder: Path, complain: Complain = refuse, strict: bool = False, kind: str | None = None
    ) -> None:
        """Open the folder; `strict` also reports what can be run but is probably a mistake.

        `kind` is the kind that benchmark.toml gives all items.
        """
        self._folder = folder
        self._complain = complain
        self._strict = strict
        self._kind = kind if kind in COUNTS else None
        self._people: set[str] | None = None
        self._products: dict[str, str] | None = None
        """Content hash by product name."""
        self._items: dict[str, tuple[str, int]] | None = None
        """Kind and number of products by item."""
        self._labelled: set[str] = set()
        self._incomplete: set[str] = set()
        """Files with lines that could not be read: names that others lack may stand there."""

    def people(self) -> Iterator[Person]:
        seen: set[str] = set()
        for _, person in self._unique("people.jsonl", Person, lambda person: person.id):
            seen.add(person.id)
            yield person
        self._people = seen

    def products(self) -> Iterator[Product]:
        seen: dict[str, str] = {}
        for number, product in self._unique("products.jsonl", Product, lambda product: product.id):
            content = product.model_copy(update={"id": ""})
            content.model_post_init(None)
            seen[product.id] = content.id
            if product.kind == "answer" and not product.text.strip():
                self._complain(f"{located(self._folder / 'products.jsonl', number, 'text')} is empty.")
                continue
            yield content
        self._products = seen

    def items(self) -> Iterator[Item]:
        """Iterate over the items whose products and person exist."""
        if self._people is None:
            deque(self.people(), maxlen=0)
        if self._products is None:
            deque(self.products(), maxlen=0)
        seen: dict[str, tuple[str, int]] = {}
        for number, item in self._unique("items.jsonl", Item, lambda item: item.id):
            seen[item.id] = item.kind, len(item.products)
            if self._fits(item, number):
                # The hash is recomputed, since the text may have been edited after it was written.
                products = [self._hash(product) for product in item.products]
                content = item.model_copy(update={"products": products, "hash": ""})
                content.model_post_init(None)
                yield content
        self._items = seen

    def gold(self) -> Iterator[Judgment]:
        """Iterate over the labels; each must name an item and, for a choice, one of its products."""
        if self._items is None:
            deque(self.items(), maxlen=0)
        path = self._folder / "gold.jsonl"
        for number, gold in self._unique("gold.jsonl", Judgment, _gold_key, "item"):
            self._labelled.add(gold.item)
            if gold.item not in (self._items or {}):
                self._unknown(located(path, number, "item"), gold.item, "items.jsonl")
            elif self._labels(gold, number):
                yield gold.model_copy(update={"target": self._hash(gold.target)}) if gold.target else gold

    def kind(self, item: str) -> str | None:
        """Return the kind of an item, once the items have been read."""
        return (self._items or {}).get(item, (None, 0))[0]

    def tasks(self) -> Iterator[Task]:
        """Iterate over the dialogue tasks, if any; their people and preferences must exist."""
        path = self._folder / "tasks.jsonl"
        if not path.is_file():
            return
        facets = {person.id: person.facets for person in self.people()}
        for number, task in self._unique("tasks.jsonl", Task, lambda task: f"{task.person}/{task.id}"):
            missing = [name for name in task.preferences if name not in facets.get(task.person, {})]
            if task.person not in facets:
                self._unknown(located(path, number, "person"), task.person, "people.jsonl")
            elif missing:
                self._complain(
                    f"{located(path, number, 'preferences')}: {task.person} has no facet '{missing[0]}'."
                )
            else:
                yield task

    def conversations(self) -> Iterator[Conversation]:
        """Iterate over the conversations, if any; their people must exist."""
        for place, one in self._optional("conversations.jsonl", Conversation, "person"):
            if one.person in (self._people or ()):
                yield one
            else:
                self._unknown(place, one.person, "people.jsonl")

    def votes(self) -> Iterator[Judgment]:
        """Iterate over the individual votes, if any; their items must exist, their labels are not restricted."""
        for place, vote in self._optional("votes.jsonl", Judgment, "item"):
            if vote.item in (self._items or ()):
                yield vote.model_copy(update={"target": self._hash(vote.target)})
            else:
                self._unknown(place, vote.item, "items.jsonl")

    def unlabelled(self) -> list[str]:
        missing = sorted(set(self._items or ()) - self._labelled)
        return [f"{self._folder / 'gold.jsonl'}: item '{item}' has no gold." for item in missing]

    def _hash(self, product: str) -> str:
        """Return the content hash of a product by its name; an unknown name is returned unchanged."""
        return (self._products or {}).get(product, product)

    def _labels(self, gold: Judgment, number: int) -> bool:
        """Return whether a label is a valid answer about its item."""
        own, products = (self._items or {})[gold.item]
        kind = self._kind or own
        if kind == "choice":
            allowed = (*(str(index) for index in range(products)), TIE)
            what = f"is no index into the item's products; use 0 to {products - 1}"
        elif kind in ANSWERS:
            allowed = ANSWERS[kind]
            what = f"is no answer about items of kind {kind}; use {', '.join(allowed)}"
        else:
            return True
        if gold.label not in allowed:
            place = located(self._folder / "gold.jsonl", number, "label")
            self._complain(f"{place}: '{gold.label}' {what}.")
        return gold.label in allowed

    def _fits(self, item: Item, number: int) -> bool:
        """Return whether an item's person and products exist, and the number of products suits its kind."""
        path, count, faults = self._folder / "items.jsonl", len(item.products), []
        stranger = item.person not in (self._people or ())
        if stranger:
            self._unknown(located(path, number, "person"), item.person, "people.jsonl")
        place = located(path, number, "products")
        unknown = [product for product in item.products if product not in (self._products or ())]
        for product in unknown:
            self._unknown(place, product, "products.jsonl")
        twice = {product for product in item.products if item.products.count(product) > 1}
        kind = self._kind or item.kind
        if self._strict and kind == "choice":
            faults += [
                f"{place}: '{product}' is there twice: a choice is between different answers."
                for product in sorted(twice)
            ]
        least, most, what = COUNTS.get(kind, (0, count, ""))
        if not least <= count <= most:
            faults.append(f"{place}: {what.format(count)}.")
        for fault in faults:
            self._complain(fault)
        return not (stranger or unknown or faults)

    def _unknown(self, place: str, name: str, file: str) -> None:
        """Report a name that is not in a file, unless that file has faults of its own, which come first."""
        if file not in self._incomplete:
            self._complain(f"{place}: '{name}' is not in {file}.")

    def _unique(
        self, file: str, model: type[M], key: Callable[[M], str], field: str = "id"
    ) -> Iterator[tuple[int, M]]:
        """Iterate over the records of a file; repeated keys are faults."""

        def complain(fault: str) -> None:
            self._incomplete.add(file)
            self._complain(fault)

        noted = refuse if self._complain is refuse else complain
        return read_records(self._folder / file, model, noted, self._strict, key, field)

    def _optional(self, file: str, model: type[M], field: str) -> Iterator[tuple[str, M]]:
        """Iterate over the records of an optional file, with the places of a field."""
        path = self._folder / file
        rows = read_records(path, model, self._complain, self._strict) if path.is_file() else ()
        return ((located(path, number, field), row) for number, row in rows)


def _gold_key(gold: Judgment) -> str:
    """Return the key that gold must not repeat: item, target and rater."""
    return " ".join(filter(None, [gold.item, f"({gold.target})" if gold.target else "", "by", gold.rater]))
