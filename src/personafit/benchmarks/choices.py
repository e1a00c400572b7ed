"""Benchmarks of others in which one answer of several is the right one: what their readers share.

A reader says who the people are and what there is to choose; here that becomes products, items and gold. Answers stand in the order
of their content hash, which tells nothing, wherever the source put the right one.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import orjson

from personafit.benchmarks.benchmark import BenchmarkInfo, Published
from personafit.people import Memory, Person
from personafit.store import Item, Judgment, Product

PUBLISHED = Path(__file__).parent / "published"
SPEAKERS = {"user": "User", "assistant": "Assistant", "system": "Note"}


@dataclass(frozen=True, slots=True)
class MultipleChoice:
    """One question with its answers, the right one first."""

    id: str
    person: str
    prompt: str
    right: str
    wrong: tuple[str, ...]
    slices: Mapping[str, str] = field(default_factory=dict)
    tier: str | None = None


class ChoiceBenchmark(ABC):
    """Base of readers of published multiple-choice data."""

    info: BenchmarkInfo

    @abstractmethod
    def people(self) -> Iterator[Person]:
        """Everyone the choices are for."""

    @abstractmethod
    def read(self) -> Iterable[MultipleChoice]:
        """Read the multiple-choice questions; called once."""

    def products(self) -> Iterator[Product]:
        """All answers; a text that occurs several times is one product."""
        for choice in self._choices:
            yield from _options(choice)

    def items(self) -> Iterator[Item]:
        """One item per choice."""
        for choice in self._choices:
            yield Item(
                id=choice.id,
                person=choice.person,
                prompt=choice.prompt,
                products=[product.id for product in _options(choice)],
                slices=dict(choice.slices),
            )

    def gold(self) -> Iterator[Judgment]:
        """The right answer of each."""
        for choice in self._choices:
            label = [product.text for product in _options(choice)].index(choice.right)
            extra = {"tier": choice.tier} if choice.tier else None
            yield Judgment(item=choice.id, rater=self.info.gold, label=str(label), extra=extra)

    def published(self) -> list[Published]:
        """Scores others have published on it, where we saw them in a source that can be named."""
        return read_published(self.info.name)

    def notes(self) -> list[str]:
        """How many choices are left out, and the reader's own remarks."""
        same = len(self._all) - len(self._choices)
        left = [f"{same} choices in which a wrong answer is the right one word for word are left out."]
        return [*self.remarks(), *(left if same else [])]

    def remarks(self) -> list[str]:
        """Notes of the reader itself, a sentence each."""
        return []

    @cached_property
    def _all(self) -> list[MultipleChoice]:
        return list(self.read())

    @cached_property
    def _choices(self) -> list[MultipleChoice]:
        return [choice for choice in self._all if choice.right not in choice.wrong and choice.wrong]


def read_published(name: str) -> list[Published]:
    """The published scores kept under a name; none where there is no file of it."""
    path = PUBLISHED / f"{name}.json"
    rows = orjson.loads(path.read_bytes())["scores"] if path.is_file() else []
    return [Published.model_validate(row) for row in rows]


def said(turns: Iterable[tuple[str, str]], source: str) -> list[Memory]:
    """A conversation as memories, a turn each, that name their source."""
    return [
        Memory(id=f"{source}#{number}", text=f"{SPEAKERS[role]}: {text}", source=source)
        for number, (role, text) in enumerate(turns)
    ]


def _options(choice: MultipleChoice) -> list[Product]:
    texts = dict.fromkeys((choice.right, *choice.wrong))
    products = [Product(kind="answer", text=text) for text in texts]
    return sorted(products, key=lambda product: product.id)
