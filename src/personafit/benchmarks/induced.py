"""A benchmark whose people also have the attributes that were extracted from their conversations.

The people keep their true profiles, so one run shows both: `--context profile` beside `--context attributes:all`, item by item.
"""

from collections.abc import Iterable, Iterator

from personafit._errors import UserError
from personafit.benchmarks.benchmark import Benchmark, Published
from personafit.people import Person
from personafit.store import Item, Judgment, Product


class WithAttributes:
    """The items of those people of whom something was induced."""

    def __init__(self, source: Benchmark, induced: Iterable[Person]) -> None:
        self._source = source
        self._induced = {person.id: person.attributes for person in induced if person.attributes}
        self._people = [person for person in source.people() if person.id in self._induced]
        if not self._people:
            raise UserError(
                f"Nobody of {source.info.name} has attributes here: the log's people and the benchmark's must have the same ids."
            )
        self._items = {item.id for item in source.items() if item.person in self._induced}
        self.info = source.info.model_copy(update={"name": f"{source.info.name}-induced", "splits": {}})

    def people(self) -> Iterator[Person]:
        """True profiles with induced attributes."""
        for person in self._people:
            yield person.model_copy(update={"attributes": self._induced[person.id]})

    def products(self) -> Iterator[Product]:
        """The answers of the items that are left."""
        wanted = {product for item in self.items() for product in item.products}
        return (product for product in self._source.products() if product.id in wanted)

    def items(self) -> Iterator[Item]:
        """Items of these people."""
        return (item for item in self._source.items() if item.id in self._items)

    def gold(self) -> Iterator[Judgment]:
        """Their gold."""
        return (gold for gold in self._source.gold() if gold.item in self._items)

    def published(self) -> list[Published]:
        """Published figures are about the whole benchmark."""
        return []

    def notes(self) -> list[str]:
        """The source's."""
        return self._source.notes()
