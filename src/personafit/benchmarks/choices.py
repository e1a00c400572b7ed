"""Base of readers of published multiple-choice benchmarks.

A reader provides the people and the questions; this module turns them into products, items and gold. Answers are ordered by their content
hash, so that their position reveals nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from personafit.benchmarks.benchmark import Benchmark, Published
from personafit.benchmarks.published import published_scores
from personafit.people import Memory
from personafit.store import Item, Judgment, Product

SPEAKERS = {"user": "User", "assistant": "Assistant", "system": "Note"}


@dataclass(frozen=True, slots=True)
class MultipleChoice:
    """A question with its right answer and its wrong ones."""

    id: str
    person: str
    prompt: str
    right: str
    wrong: tuple[str, ...]
    slices: Mapping[str, str] = field(default_factory=dict)
    tier: str | None = None


class ChoiceBenchmark(Benchmark, ABC):
    """Base of readers of published multiple-choice data."""

    @abstractmethod
    def read(self) -> Iterable[MultipleChoice]:
        """Read the multiple-choice questions; called once."""

    def products(self) -> Iterator[Product]:
        """Iterate over all answers; a text that occurs several times is one product."""
        for choice in self._choices:
            yield from _options(choice)

    def items(self) -> Iterator[Item]:
        for choice in self._choices:
            yield Item(
                id=choice.id,
                person=choice.person,
                prompt=choice.prompt,
                products=[product.id for product in _options(choice)],
                slices=dict(choice.slices),
            )

    def gold(self) -> Iterator[Judgment]:
        for choice in self._choices:
            label = [product.text for product in _options(choice)].index(choice.right)
            extra = {"tier": choice.tier} if choice.tier else None
            yield Judgment(item=choice.id, rater=self.info.gold, label=str(label), extra=extra)

    def published(self) -> list[Published]:
        return published_scores(self.info.name)

    def notes(self) -> list[str]:
        same = len(self._all) - len(self._choices)
        left = [f"Choices left out, as a wrong answer is the right one word for word: {same:,}."]
        return [*self.remarks(), *(left if same else [])]

    def remarks(self) -> list[str]:
        """Return the reader's own notes, one sentence each."""
        return []

    @cached_property
    def _all(self) -> list[MultipleChoice]:
        return list(self.read())

    @cached_property
    def _choices(self) -> list[MultipleChoice]:
        return [choice for choice in self._all if choice.right not in choice.wrong and choice.wrong]


def said(turns: Iterable[tuple[str, str]], source: str) -> list[Memory]:
    """Return a conversation as memories, one per turn, with their source."""
    return [
        Memory(id=f"{source}#{number}", text=f"{SPEAKERS[role]}: {text}", source=source)
        for number, (role, text) in enumerate(turns)
    ]


def _options(choice: MultipleChoice) -> list[Product]:
    texts = dict.fromkeys((choice.right, *choice.wrong))
    products = [Product(kind="answer", text=text) for text in texts]
    return sorted(products, key=lambda product: product.id)
