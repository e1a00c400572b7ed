"""LaMP's four writing tasks: the headline, paper title, subject line or tweet that this person wrote, for systems to write again.

Each question keeps, beside what the person wrote, what may be had without writing: their own words in the entry of their profile that
is nearest to the question, and for tweets the tweet as it was given. LaMP_6 is published as ids only; whoever has the Avocado
corpus makes it whole with LaMP's script, and then it is read like the others.
"""

from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from personafit._errors import UserError
from personafit.benchmarks.benchmark import BenchmarkInfo, Controls, Published
from personafit.benchmarks.choices import read_published
from personafit.benchmarks.lamp.files import (
    LICENCE,
    VERSION,
    VIEW,
    LampQuestion,
    find_tasks,
    profile_memories,
    read_tasks,
)
from personafit.contexts.retrieval import Retriever
from personafit.people import Memory, Person
from personafit.store import Item, Judgment, Product

NAME = "lamp-writing"
MAKERS = ("the person", "their nearest earlier words", "the text as it was given")
"""Whose the products of an item are, in this order; the last only where the text itself is to be written otherwise."""
COPIES = {MAKERS[1]: "copied entry", MAKERS[2]: "copied text"}
"""Texts that need no writing, and what kind of control each is."""

INFO = BenchmarkInfo(
    name=NAME,
    version=VERSION,
    title="LaMP: would this person have written it so?",
    description="Real people's headlines, paper titles, subject lines and tweets; what a system writes is held against what the "
    "person wrote, by the words in common.",
    licence=LICENCE,
    language=["en"],
    gold="published",
    metric="rouge_1",
    view=VIEW,
    layout=[["task"]],
    controls=Controls(views=["none", f"wrong:{VIEW}"], raters=[]),
)


class WritingTask(NamedTuple):
    """How one task is put to a system, and how its memories are told."""

    ask: str
    """What the system is asked, above the text itself."""
    sort: str
    """What the published input calls the text."""
    told: dict[str, str]
    """Fields of a profile's entry, by what they are called; the first is what the person wrote."""
    rewrites: bool = False
    """Whether the text itself is what is to be written otherwise."""


TASKS = {
    "LaMP_4": WritingTask(
        "Write the headline that I would put above this article of mine. Reply with the headline alone.",
        "article",
        {"Headline": "title", "Article": "text"},
    ),
    "LaMP_5": WritingTask(
        "Write the title that I would give the paper of mine with this abstract. Reply with the title alone.",
        "paper",
        {"Title": "title", "Abstract": "abstract"},
    ),
    "LaMP_6": WritingTask(
        "Write the subject line that I would give this e-mail of mine. Reply with the subject alone.",
        "email",
        {"Subject": "title", "E-mail": "text"},
    ),
    "LaMP_7": WritingTask(
        "Say this as I would say it in a tweet of mine. Reply with the tweet alone.",
        "tweet",
        {"Tweet": "text"},
        rewrites=True,
    ),
}


class WritingItem(NamedTuple):
    """A writing item with its person and the texts that need no writing, such as the gold text."""

    person: Person
    item: Item
    products: list[Product]


class LaMPWriting:
    """The writing tasks that a folder holds."""

    becomes = "writing"
    """The kind of item that a system's texts make of them."""

    info = INFO

    def __init__(self, folder: Path) -> None:
        self._files = find_tasks(folder, TASKS)
        if not self._files:
            raise UserError(
                f"{folder} holds no LaMP task that is written: expected LaMP_4/dev_questions.json and LaMP_4/dev_outputs.json, or "
                "LaMP_5, LaMP_6 or LaMP_7; the choices are read by `run lamp`."
            )
        self._retriever = Retriever("bm25")

    def people(self) -> Iterator[Person]:
        """Whoever wrote, with what they wrote before as memories."""
        for one in self._read[0]:
            yield one.person

    def products(self) -> Iterator[Product]:
        """What they wrote, and what may be had without writing."""
        for one in self._read[0]:
            yield from one.products

    def items(self) -> Iterator[Item]:
        """One item per text."""
        for one in self._read[0]:
            yield one.item

    def gold(self) -> Iterator[Judgment]:
        """None: what the person wrote is among the products."""
        yield from ()

    def published(self) -> list[Published]:
        """Scores others have published on the same questions."""
        return read_published(NAME)

    def notes(self) -> list[str]:
        """What is read."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[list[WritingItem], list[str]]:
        return read_tasks(self._files, self._written)

    def _written(self, name: str, question: LampQuestion) -> WritingItem:
        task = TASKS[name]
        before, colon, text = question.input.partition(":")
        if not colon or task.sort not in before or not text.strip():
            bare = (
                "; as published it holds ids alone, make it whole with LaMP's script"
                if name == "LaMP_6"
                else ""
            )
            raise UserError(f"{question.place}, field 'input' is not a question of {name}{bare}.")
        memories = list(profile_memories(question, partial(_told, task)))
        person = Person(id=f"{name}/{question.id}", language="en", memories=memories)
        texts = [question.output, self._nearest(task, question, memories, text)]
        texts += [text.strip()] if task.rewrites else []
        products = [
            Product(kind="answer", text=text, maker=maker, about=person.id)
            for text, maker in zip(texts, MAKERS, strict=False)
        ]
        item = Item(
            id=f"lamp/{name}/{question.id}",
            kind="prompt",
            person=person.id,
            prompt=f"{task.ask}\n\n{text.strip()}",
            products=[product.id for product in products],
            slices={"task": name},
        )
        return WritingItem(person, item, products)

    def _nearest(self, task: WritingTask, question: LampQuestion, memories: list[Memory], text: str) -> str:
        """The person's own words in the entry that retrieval finds first; the latest where it finds none."""
        found = self._retriever.find(question.id, memories, text, 1) or memories[-1:]
        own = next(iter(task.told.values()))
        words = [str(question.profile[int(memory.id)].get(own) or "").strip() for memory in found]
        return "".join(words) or "–"


def _told(task: WritingTask, entry: dict[str, str]) -> str:
    return " ".join(f"{called}: {entry[field]}" for called, field in task.told.items() if field in entry)
