"""What someone is told about a person, and who builds it.

What a maker was told is `given`; what a rater sees is `view`. Both are contexts, made by a named builder and kept as
products, so that every answer and every judgment can show what it rested on.
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

WAYS = ("bm25", "dense", "hybrid")  # how memories can be found for a question
HISTORY, UNTIL = "history", "until"  # slices of an item: the history it is about, and how much of it was said
SUM = r"[DIS](?:\+[DIS])*"  # what a sum of D, I and S looks like, as a regular expression
SEVERAL_SCRIPTS = frozenset({"und", "mul", "az", "kk", "ku", "mn", "pa", "sr", "tg", "uz"})
"""Languages that do not settle the script."""


@dataclass(frozen=True)
class Context:
    """A text about a person, and the plain values in it."""

    name: str
    text: str
    values: tuple[str, ...]
    about: str | None
    facets: Mapping[str, FacetValue] = field(default_factory=dict)
    """What is told, by path, where it has paths."""
    maker: str | None = None
    """Name and fingerprint of how it was made, where more than the name decides what is told."""
    parents: tuple[str, ...] = ()
    """Ids of what it was made from: memories, and the asks of a model that chose among them."""
    status: Status = Status.OK
    """How making it ended; where a model's reply could not be read, something plainer is told and this says so."""

    @cached_property
    def product(self) -> Product:
        """The context as it is stored."""
        return Product(
            kind="context",
            text=self.text,
            # Told for want of anything better it is another product, even where the words are the same.
            maker=(self.maker or self.name) + ("" if self.status == Status.OK else f"!{self.status}"),
            about=self.about,
            parents=list(self.parents),
            status=self.status,
        )

    @property
    def id(self) -> str:
        """The id of the stored context."""
        return self.product.id


T = TypeVar("T")


def in_language(words: Mapping[str, T], language: str) -> T:
    """Return the Chinese text for a Chinese person, else the English one."""
    return words["zh" if language.startswith("zh") else "en"]


class Unmade(UserError):
    """A context that cannot be told here: a model should have made it and has not, or nobody can stand in for the person."""


class People(Mapping[str, Person]):
    """The people of a data set by id, and by language in a fixed order."""

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
        """Where what is indexed about them may be kept; None where there is no such place."""
        return self._people.index_folder if isinstance(self._people, StoredPeople) else None

    def of_language(self, language: str) -> list[str]:
        """Ids of everyone who is written about in that language, sorted."""
        return self._by_language.get(language, [])

    def mates(self, person: Person) -> list[str]:
        """Ids of everyone written about in the person's language and script, the person included, sorted.

        Most languages have one script; where the language is unknown or has several, what is told of people decides.
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
        """Ids of those whose language and script nobody shares, so that nobody can be mistaken for them."""
        few = [
            pool
            for language, pool in self._by_language.items()
            if language in SEVERAL_SCRIPTS or len(pool) < 2
        ]
        return frozenset(id for pool in few for id in pool if len(self.mates(self._people[id])) < 2)


def _written(person: Person) -> str:
    """Return text about a person from which the script can be told."""
    texts = (str(value) for value in person.facets.values())
    return " ".join((*texts, *(memory.text for memory in person.memories[:5])))


class ContextBuilder(Protocol):
    """Builds one kind of context."""

    name: str
    """As on the command line, such as `wrong:profile`."""

    def build(self, person: Person, item: Item) -> Context:
        """What is told about the person when the item is at hand."""


@runtime_checkable
class Choosy(Protocol):
    """A builder that cannot tell about everybody: `covers` says about whom."""

    def covers(self, person: Person, item: Item) -> bool:
        """Whether the person can stand in for somebody else at this item."""


def has_memories(person: Person) -> bool:
    """Whether the person has memories."""
    return bool(person.memories or any(text.strip() for text in person.summaries.values()))


class FromMemories:
    """Base of builders that use memories."""

    def covers(self, person: Person, item: Item) -> bool:
        """Whether there is anything to tell of the person, so that they can stand in for somebody."""
        return has_memories(person)


class TaskItem(Item):
    """The item of a task, with the task at hand."""

    task: Task

    @cached_property
    def product(self) -> Product:
        """The task in full, as it is stored."""
        return task_product(self.task)


def task_product(task: Task) -> Product:
    """The product under which a task is stored."""
    return Product(kind="task", text=task.model_dump_json(), maker=task.id, about=task.person)


def task_item(task: Task) -> TaskItem:
    """The item of a task; its id is person and task."""
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
    item.__dict__["product"] = product  # made already: the cached property need not make it again
    return item
