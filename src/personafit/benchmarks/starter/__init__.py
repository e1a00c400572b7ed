"""The starter set: our own people, questions and answers, in English and Chinese, labelled by the authors."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from personafit.benchmarks.folder import FolderBenchmark
from personafit.people import Person
from personafit.store import Item, Judgment, Product

FOLDER = Path(__file__).parent / "data"


class StarterSet(FolderBenchmark):
    """The starter set, read from its folder once and kept: every run goes through it several times."""

    def __init__(self) -> None:
        super().__init__(FOLDER)
        self._kept: dict[str, list[Any]] = {}

    def _read_once(self, name: str, read: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        if name not in self._kept:
            self._kept[name] = list(read())
        return iter(self._kept[name])

    def people(self) -> Iterator[Person]:
        return self._read_once("people", super().people)

    def products(self) -> Iterator[Product]:
        return self._read_once("products", super().products)

    def items(self) -> Iterator[Item]:
        return self._read_once("items", super().items)

    def gold(self) -> Iterator[Judgment]:
        return self._read_once("gold", super().gold)


@cache
def starter() -> FolderBenchmark:
    """Return the starter set as a benchmark."""
    return StarterSet()
