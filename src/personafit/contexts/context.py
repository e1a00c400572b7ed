"""Contexts about a person, and the builders that make them.

The context a system was told is its `system_context`; the one a rater sees is its `context`. Both are made by a named builder and
stored as products, so that every response and every judgment can be traced to the context it was based on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from personafit._errors import UserError
from personafit.people import FacetValue, Person, Task
from personafit.people.render import main_script
from personafit.store import Item, Product, Status, StoredPeople

WAYS = ("bm25", "dense", "hybrid")  # retrieval methods for memories
HISTORY, UNTIL = "history", "until"  # slices of an item: its history, and how many memories precede it
SUM = r"[DIS](?:\+[DIS])*"  # regular expression of a sum of D, I and S
SEVERAL_SCRIPTS = frozenset({"und", "mul", "az", "kk", "ku", "mn", "pa", "sr", "tg", "uz"})
"""Languages written in several scripts, or unknown."""


@dataclass(frozen=True)
class Context:
    """A text about a person, with the plain values it contains."""

    name: str
    text: str
    values: tuple[str, ...]
    about: str | None
    facets: Mapping[str, FacetValue] = field(default_factory=dict)
    """The facets in the text, by path, if it is made of facets."""
    maker: str | None = None
    """Name and fingerprint of how it was made, if more than the name determines the text."""
    parents: tuple[str, ...] = ()
    """Ids of its sources: memories, and the asks of a model that selected among them."""
    status: Status = Status.OK
    """How making it ended; not OK if a model's reply could not be used and a plainer text replaces it."""

    @cached_property
    def product(self) -> Product:
        return Product(
            kind="context",
            text=self.text,
            # A fallback is a different product, even if its text is the same.
            maker=(self.maker or self.name) + ("" if self.status == Status.OK else f"!{self.status}"),
            about=self.about,
            parents=list(self.parents),
            status=self.status,
        )

    @cached_property
    def id(self) -> str:
        return self.product.id


T = TypeVar("T")


def in_language(words: Mapping[str, T], language: str) -> T:
    """Return the Chinese text for a Chinese person, else the English one."""
    return words["zh" if language.startswith("zh") else "en"]


class Unmade(UserError):
    """Raised when a context cannot be built: its model has not made it, or there is no wrong person to replace the person."""


class People(Mapping[str, Person]):
    """The people of a data set by id, with an index by language in a fixed order."""

    def __init__(self, people: Mapping[str, Person]) -> None:
        self._people = people
        known = people.languages if isinstance(people, StoredPeople) else None
        languages = known or {person: people[person].language for person in people}
        self._mates: dict[str, list[str]] = {}
        self._by_language: dict[str, list[str]] = {}
        for person in sorted(languages):
            self._by_language.setdefault(languages[person], []).append(person)

    def __getitem__(self, person: str) -> Person:
        return self._people[person]

    def __iter__(self) -> Iterator[str]:
        return iter(self._people)

    def __len__(self) -> int:
        return len(self._people)

    @property
    def index_folder(self) -> Path | None:
        return self._people.index_folder if isinstance(self._people, StoredPeople) else None

    def of_language(self, language: str) -> list[str]:
        """Return the sorted ids of everyone written about in `language`."""
        return self._by_language.get(language, [])

    def mates(self, person: Person) -> list[str]:
        """Return the sorted ids of everyone written about in the person's language and script, the person included.

        Most languages have one script; if the language is unknown or has several, the script of the texts about people decides.
        """
        pool = self.of_language(person.language)
        if person.language not in SEVERAL_SCRIPTS:
            return pool
        if person.id not in self._mates:
            by_script: dict[str, list[str]] = {}
            for id in pool:
                by_script.setdefault(main_script(_written(self._people[id])), []).append(id)
            self._mates |= {id: ids for ids in by_script.values() for id in ids}
        return self._mates[person.id]

    @cached_property
    def alone(self) -> frozenset[str]:
        """Ids of people whose language and script nobody else shares, so that they have no wrong person."""
        few = [
            pool
            for language, pool in self._by_language.items()
            if language in SEVERAL_SCRIPTS or len(pool) < 2
        ]
        return frozenset(id for pool in few for id in pool if len(self.mates(self._people[id])) < 2)


def _written(person: Person) -> str:
    """Return enough text about a person to detect the script."""
    texts = (str(value) for value in person.facets.values())
    return " ".join((*texts, *(memory.text for memory in person.memories[:5])))


class ContextBuilder(Protocol):
    """A builder of one kind of context."""

    name: str
    """The name on the command line, such as `wrong:profile`."""

    def build(self, person: Person, item: Item) -> Context:
        """Build the context about the person for an item."""


@runtime_checkable
class Choosy(Protocol):
    """A builder whose context may be empty for some people; `covers` tells for whom it is not."""

    def covers(self, person: Person, item: Item) -> bool:
        """Return whether the person can stand in as the wrong person for this item."""


def has_memories(person: Person) -> bool:
    """Return whether the person has memories, or summaries to take them from."""
    return bool(person.memories or any(text.strip() for text in person.summaries.values()))


class FromMemories:
    """Base of builders that use memories."""

    def covers(self, person: Person, item: Item) -> bool:
        """Return whether the person has enough data to stand in as the wrong person."""
        return has_memories(person)


class TaskItem(Item):
    """An item of the kind `task`, with its task attached."""

    task: Task

    @cached_property
    def product(self) -> Product:
        return task_product(self.task)


def task_product(task: Task) -> Product:
    """Return the product that stores a task."""
    return Product(kind="task", text=task.model_dump_json(), maker=task.id, about=task.person)


def task_item(task: Task) -> TaskItem:
    """Return the item of a task, with the id `PERSON/TASK`."""
    product = task_product(task)
    item = TaskItem(
        id=f"{task.person}/{task.id}",
        kind="task",
        person=task.person,
        prompt=task.intent,
        products=[product.id],
        group=f"{task.person}/{task.id}",
        slices={"tasks": task.kind, "domain": " + ".join(task.domains)},
        task=task,
    )
    item.__dict__["product"] = product  # fill the cached property
    return item
