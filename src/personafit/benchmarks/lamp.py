"""LaMP (arXiv 2304.11406): classification tasks (citation, tags, ratings) as choices, and writing tasks.

A task is two files, `dev_questions.json` (a list of `{"id", "input", "profile"}`) and `dev_outputs.json` (`{"task", "golds": [{"id",
"output"}]}`). They are downloaded one by one, so copies lie in `LaMP_4/`, `LaMP_4/dev/` or, for the newer LaMP_2, in `LaMP_2/new/dev/`; the
task is read from the outputs. dev is used, or train if there is no dev, since most outputs of test are not published. Profiles become
memories;
the context `memory` retrieves from them as in the paper, with room for four whole entries and without an embedder.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from personafit._errors import UserError
from personafit.benchmarks.benchmark import HeldBenchmark, Published
from personafit.benchmarks.choices import ChoiceBenchmark, MultipleChoice
from personafit.benchmarks.lines import FilledText, read_entries, read_object, validated
from personafit.benchmarks.published import not_found, published_info, published_scores
from personafit.contexts.retrieval import Retriever
from personafit.items import MOST
from personafit.people import Memory, Person
from personafit.store import Item, Product

T = TypeVar("T")

SPLITS = ("dev", "train")
UNFIT = 0.01  # share of a task's questions that may be malformed (one of LaMP_2's dev is)

_TASK = re.compile(r"LaMP[_-]?([1-7])(?!\d)")


class _LampLine(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)


class _Gold(_LampLine):
    id: FilledText
    output: FilledText


class _Outputs(_LampLine):
    golds: list[_Gold]


class LampQuestion(_LampLine):
    """A question with its person's profile and gold output."""

    id: FilledText
    input: FilledText
    profile: list[dict[str, Any]] = Field(min_length=1, description="What the person did before.")
    output: str = ""

    def memories(self, worded: Callable[[dict[str, str]], str]) -> list[Memory]:
        """Return the profile as memories, each entry formatted by `worded`; entries with an empty text are left out."""
        found = []
        for number, entry in enumerate(self.profile):
            texts = {name: str(value).strip() for name, value in entry.items() if value is not None}
            filled = {name: text for name, text in texts.items() if text}
            if text := worded(filled):
                found.append(Memory(id=f"{number}", text=text, time=filled.get("date")))
        return found


def read_tasks(
    folder: Path, wanted: Mapping[str, object], make: Callable[[str, LampQuestion], T], name: str
) -> tuple[list[T], list[str]]:
    """Apply `make` to each question of the tasks in a folder; return the results, and notes on what was read and left out.

    A few questions that do not fit their task are left out and noted; many of them are an error.
    """
    every: list[T] = []
    notes: list[str] = []
    tasks = _find_tasks(folder)
    if not tasks.keys() & wanted.keys():
        raise not_found(name, folder)
    for task in (task for task in wanted if task in tasks):
        outputs = tasks[task]
        questions = outputs.with_name(outputs.name.replace("_outputs", "_questions"))
        golds = {one.id: one.output for one in validated(_Outputs, read_object(outputs), outputs, None).golds}
        found: dict[str, T] = {}
        wrong: list[UserError] = []
        for place, row in read_entries(questions):
            try:
                question = validated(LampQuestion, row, place, None)
                if question.id not in golds:
                    raise UserError(f"{place}, field 'id': {outputs.name} has no output for '{question.id}'.")
                if question.id in found:
                    raise UserError(f"{place}, field 'id': '{question.id}' occurs twice.")
                question.output = golds[question.id]
                try:
                    found[question.id] = make(task, question)
                except ValueError as error:
                    raise UserError(f"{place}, field 'input' is not a question of {task}{error}.") from error
            except UserError as error:
                wrong.append(error)
        count = len(found) + len(wrong)
        if len(wrong) > UNFIT * count:
            raise wrong[0]
        if not count:
            raise UserError(f"{questions} holds no questions.")
        every += found.values()
        notes.append(f"{task}: {questions.name} of {questions.parent.name}.")
        if wrong:
            notes.append(
                f"{task}: {len(wrong)} of {count} questions are malformed and left out; the first: {wrong[0]}"
            )
    return every, notes


def _find_tasks(folder: Path) -> dict[str, Path]:
    """Return the outputs file of each task in a folder, preferring dev to train, the newer LaMP_2, then the shortest path."""
    found: dict[str, Path] = {}
    for split in SPLITS:
        paths = [(path.relative_to(folder).parts, path) for path in folder.rglob(f"{split}_outputs.json")]
        for _, outputs in sorted(paths, key=lambda one: ("new" not in one[0], len(one[0]), one[0])):
            if outputs.with_name(f"{split}_questions.json").is_file():
                match = _TASK.match(str(read_object(outputs).get("task", "")))
                if match is not None:
                    found.setdefault(f"LaMP_{match[1]}", outputs)
    return found


STARS = tuple(f"{number} out of 5" for number in range(1, 6))
_REFERENCES = re.compile(r'title "(.*?)",? which .*\[1\]: "(.*)"\s*\[2\]: "(.*)"\s*$', re.DOTALL)
_TAGGED = re.compile(r"(tags|categories): \[(.*?)\] (?:description|article): (.*)$", re.DOTALL)
_REVIEW = re.compile(r"review: (.*)$", re.DOTALL)


LampChoice = tuple[str, str, tuple[str, ...], str]
"""A question as a multiple choice: the prompt, the right answer, the wrong ones and the task's name."""


class ChoiceTask(NamedTuple):
    """How the questions of a classification task become choices and memories."""

    ask: Callable[[str, str], LampChoice | None]
    """Function from input and output to a choice; None if they do not fit the task."""
    memory: tuple[str, ...]
    """Fields of a profile entry that make up a memory, as far as present."""


class LaMP(ChoiceBenchmark):
    """The classification tasks in a folder."""

    info = published_info("lamp")

    def __init__(self, folder: Path) -> None:
        self._made, self._notes = read_tasks(
            folder,
            TASKS,
            _choice,
            self.info.name,
        )

    def people(self) -> Iterator[Person]:
        return (person for person, _ in self._made)

    def read(self) -> Iterator[MultipleChoice]:
        return (choice for _, choice in self._made)

    def remarks(self) -> list[str]:
        if not any(choice.slices["task"] == "LaMP_3" for _, choice in self._made):
            return self._notes
        rated = "LaMP_3 is scored as a choice among five ratings; its authors report MAE and RMSE."
        return [*self._notes, rated]


def _choice(task: str, question: LampQuestion) -> tuple[Person, MultipleChoice]:
    asked = TASKS[task].ask(question.input, question.output)
    if asked is None:
        raise ValueError(", or its output does not fit it")
    fields = TASKS[task].memory
    memories = question.memories(lambda entry: " — ".join(entry[name] for name in fields if name in entry))
    person = Person(id=f"{task}/{question.id}", language="en", memories=memories)
    prompt, right, wrong, called = asked
    item = f"lamp/{task}/{question.id}"
    return person, MultipleChoice(item, person.id, prompt, right, wrong, {"task": called})


def _cited(text: str, output: str) -> LampChoice | None:
    match = _REFERENCES.search(text)
    if match is None or output not in ("[1]", "[2]"):
        return None
    title, *works = match.groups()
    right, wrong = works if output == "[1]" else works[::-1]
    prompt = f"I wrote a paper called “{title}”. Which of these works does it cite?"
    return (prompt, right, (wrong,), "LaMP_1")


def _tagged(text: str, output: str) -> LampChoice | None:
    match = _TAGGED.search(text)
    tags = [tag.strip() for tag in match[2].split(",")] if match else []
    if match is None or output not in tags or len(tags) > MOST:
        return None
    others = tuple(tag for tag in tags if tag != output)
    films = match[1] == "tags"
    asked = (
        "Which tag would I give this film?" if films else "In which section would this article of mine stand?"
    )
    prompt = f"{asked}\n\n{match[3].strip()}"
    return (prompt, output, others, "LaMP_2" if films else "LaMP_2_news")


def _rated(text: str, output: str) -> LampChoice | None:
    match = _REVIEW.search(text)
    if match is None or output not in ("1", "2", "3", "4", "5"):
        return None
    right = STARS[int(output) - 1]
    wrong = tuple(stars for stars in STARS if stars != right)
    prompt = f"How did I rate what I reviewed here?\n\n{match[1].strip()}"
    return (prompt, right, wrong, "LaMP_3")


TASKS = {
    "LaMP_1": ChoiceTask(_cited, ("title", "abstract")),
    "LaMP_2": ChoiceTask(_tagged, ("title", "description", "text", "tag", "category")),
    "LaMP_3": ChoiceTask(_rated, ("text", "score")),
}


WRITING = "lamp-writing"
MAKERS = ("the person", "their nearest earlier words", "the text as it was given")
"""Makers of an item's products, in this order; the last only for tasks that rewrite the given text."""
COPIES = {MAKERS[1]: "copied entry", MAKERS[2]: "copied text"}
"""Makers whose texts are controls that need no writing, and the kind of control."""


class WritingTask(NamedTuple):
    """How a writing task is put to a system, and how its profile becomes memories."""

    ask: str
    """The instruction above the text."""
    sort: str
    """The name of the text in the published input."""
    told: dict[str, str]
    """Fields of a profile entry by their labels; the first is what the person wrote."""
    rewrites: bool = False
    """Whether the task is to rewrite the given text."""


WRITING_TASKS = {
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


WritingItem = tuple[Person, Item, list[Product]]
"""A writing item with its person and its products: the gold text and the controls."""


class LaMPWriting(HeldBenchmark):
    """The writing tasks in a folder: people with their earlier texts as memories, gold texts, and controls that need no writing."""

    becomes = "writing"
    """The kind of item that a system's texts turn them into."""

    def __init__(self, folder: Path) -> None:
        made, notes = read_tasks(
            folder,
            WRITING_TASKS,
            partial(_written, Retriever("bm25")),
            WRITING,
        )
        people, items = (person for person, _, _ in made), (item for _, item, _ in made)
        products = (product for *_, texts in made for product in texts)
        super().__init__(published_info(WRITING), people, items, products, notes)

    def published(self) -> list[Published]:
        return published_scores(WRITING)


def _written(retriever: Retriever, name: str, question: LampQuestion) -> WritingItem:
    task = WRITING_TASKS[name]
    before, _, text = question.input.partition(":")
    if task.sort not in before or not (text := text.strip()):
        bare = "; as published it holds ids alone, make it whole with LaMP's script"
        raise ValueError(bare if name == "LaMP_6" else "")
    memories = question.memories(
        lambda entry: " ".join(
            f"{called}: {entry[field]}" for called, field in task.told.items() if field in entry
        )
    )
    person = Person(id=f"{name}/{question.id}", language="en", memories=memories)
    # The person's own words in the first retrieved entry, or in the last entry if none is found.
    nearest = retriever.find(question.id, memories, text, 1) or memories[-1:]
    own = next(iter(task.told.values()))
    words = [str(question.profile[int(memory.id)].get(own) or "").strip() for memory in nearest]
    texts = [question.output, "".join(words) or "–", *([text] if task.rewrites else [])]
    products = [
        Product(kind="answer", text=text, maker=maker, about=person.id)
        for text, maker in zip(texts, MAKERS, strict=False)
    ]
    item = Item(
        id=f"lamp/{name}/{question.id}",
        kind="prompt",
        person=person.id,
        prompt=f"{task.ask}\n\n{text}",
        products=[product.id for product in products],
        slices={"task": name},
    )
    return person, item, products
