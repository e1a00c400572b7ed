"""Made-up people, questions and answers of a set size, as a benchmark: what the endpoint is asked about."""

import random

from personafit.benchmarks import BenchmarkInfo, Controls
from personafit.benchmarks.benchmark import HeldBenchmark
from personafit.people import Person
from personafit.store import Item, Product

ITEMS_OF_ONE = 50  # items about one person; PersonaFeedback has 40 to 60
PROFILE, QUESTION, ANSWER = 2700, 180, 1400  # characters: with the wording around them 6,400, or 1,600 tokens
_LETTERS = "etaoinshrdlucmfwypvbgk"


class MadeUp(HeldBenchmark):
    """A benchmark of so many items in memory; every text differs from every other."""

    def __init__(self, items: int) -> None:
        draw = random.Random(0)
        words = ["".join(draw.choices(_LETTERS, k=draw.randint(2, 9))) for _ in range(5000)]
        people: list[Person] = []
        products: list[Product] = []
        made: list[Item] = []
        for number in range(items):
            if number % ITEMS_OF_ONE == 0:
                facets = {f"Preferences.Field_{n}": _text(draw, words, PROFILE // 20) for n in range(20)}
                people.append(Person(id=f"p{number}", language="en", facets={**facets}))
            pair = [Product(kind="answer", text=_text(draw, words, ANSWER)) for _ in range(2)]
            products += pair
            made.append(
                Item(
                    id=f"made-up/{number}",
                    person=people[-1].id,
                    prompt=_text(draw, words, QUESTION),
                    products=[product.id for product in pair],
                )
            )
        info = BenchmarkInfo(name="made-up", version="1", controls=Controls(contexts=[], raters=[]))
        super().__init__(info, people, made, products)


def _text(draw: random.Random, words: list[str], length: int) -> str:
    return " ".join(draw.choices(words, k=length // 6))[:length]
