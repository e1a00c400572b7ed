"""Made-up people, questions and answers of a set size, as a benchmark: what the endpoint is asked about."""

import random
from collections.abc import Iterator

from personafit.benchmarks import BenchmarkInfo, Controls, Published
from personafit.people import Person
from personafit.store import Item, Judgment, Product

ITEMS_OF_ONE = 50  # items about one person; PersonaFeedback has 40 to 60
PROFILE, QUESTION, ANSWER = 2700, 180, 1400  # characters: with the wording around them 6,400, or 1,600 tokens
_LETTERS = "etaoinshrdlucmfwypvbgk"


class MadeUp:
    """A benchmark of so many items in memory; every text differs from every other."""

    def __init__(self, items: int) -> None:
        self.info = BenchmarkInfo(name="made-up", version="1", controls=Controls(contexts=[], raters=[]))
        draw = random.Random(0)
        words = ["".join(draw.choices(_LETTERS, k=draw.randint(2, 9))) for _ in range(5000)]
        self._people: list[Person] = []
        self._products: list[Product] = []
        self._items: list[Item] = []
        for number in range(items):
            if number % ITEMS_OF_ONE == 0:
                facets = {f"Preferences.Field_{n}": _text(draw, words, PROFILE // 20) for n in range(20)}
                self._people.append(Person(id=f"p{number}", language="en", facets={**facets}))
            pair = [Product(kind="answer", text=_text(draw, words, ANSWER)) for _ in range(2)]
            self._products += pair
            self._items.append(
                Item(
                    id=f"made-up/{number}",
                    person=self._people[-1].id,
                    prompt=_text(draw, words, QUESTION),
                    products=[product.id for product in pair],
                )
            )

    def people(self) -> Iterator[Person]:
        return iter(self._people)

    def products(self) -> Iterator[Product]:
        return iter(self._products)

    def items(self) -> Iterator[Item]:
        return iter(self._items)

    def gold(self) -> Iterator[Judgment]:
        return iter(())

    def published(self) -> list[Published]:
        return []

    def notes(self) -> list[str]:
        return []


def _text(draw: random.Random, words: list[str], length: int) -> str:
    return " ".join(draw.choices(words, k=length // 6))[:length]
