"""People who were forgotten do not come back with the next copy of their data: they are left out, and it is said."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from personafit.people import Person
from personafit.store import FORGOTTEN_NOTE, Item, Judgment, Product
from personafit.store.derived import original_of

if TYPE_CHECKING:
    from personafit.benchmarks.benchmark import Benchmark, Published


class WithoutForgotten:
    """A benchmark less the people who were forgotten: their items, their gold, and answers written for them."""

    def __init__(self, source: "Benchmark", forgotten: set[str]) -> None:
        self._source = source
        self._count = len(forgotten)
        copies = {
            item.person for item in source.items() if original_of(item.person, item.slices) in forgotten
        }
        forgotten = forgotten | copies
        self._forgotten = forgotten
        splits = {
            name: [person for person in people if person not in forgotten]
            for name, people in source.info.splits.items()
        }
        self.info = source.info.model_copy(update={"splits": splits})
        texts = {product.text for product in source.products() if product.about in forgotten}
        made = {
            product.id
            for product in source.products()
            if product.about in forgotten or (product.about == "wrong" and product.text in texts)
        }
        left, kept = set[str](), set[str]()
        self._left_out: set[str] = set()
        for item in source.items():
            if item.person in forgotten or not made.isdisjoint(item.products):
                self._left_out.add(item.id)
                left.update(item.products)
            else:
                kept.update(item.products)
        self._unwanted = made | (left - kept)

    def people(self) -> Iterator[Person]:
        """Everyone else."""
        return (person for person in self._source.people() if person.id not in self._forgotten)

    def products(self) -> Iterator[Product]:
        """Answers that others were given."""
        return (product for product in self._source.products() if product.id not in self._unwanted)

    def items(self) -> Iterator[Item]:
        """Items about others."""
        return (item for item in self._source.items() if item.id not in self._left_out)

    def gold(self) -> Iterator[Judgment]:
        """Gold of items about others."""
        return (gold for gold in self._source.gold() if gold.item not in self._left_out)

    def published(self) -> "list[Published]":
        """As in the source."""
        return self._source.published()

    def notes(self) -> list[str]:
        """The source's, and how many people are left out."""
        return [*self._source.notes(), FORGOTTEN_NOTE.format(self._count)]
