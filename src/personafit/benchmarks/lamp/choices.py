"""LaMP's three classification tasks as choices: what a person would cite, tag or rate.

The profile becomes memories. The questions are worded anew: the published inputs ask for an answer in a form of their own. LaMP_2 is
tags of films; its first version, sections of news, is read too where that is what the file holds.
"""

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from personafit._errors import UserError
from personafit.benchmarks.benchmark import BenchmarkInfo, Controls
from personafit.benchmarks.choices import ChoiceBenchmark, MultipleChoice
from personafit.benchmarks.lamp.files import (
    LICENCE,
    VERSION,
    VIEW,
    LampQuestion,
    find_tasks,
    profile_memories,
    read_tasks,
)
from personafit.items import MOST
from personafit.people import Person

STARS = tuple(f"{number} out of 5" for number in range(1, 6))
_REFERENCES = re.compile(r'title "(.*?)",? which .*\[1\]: "(.*)"\s*\[2\]: "(.*)"\s*$', re.DOTALL)
_TAGGED = re.compile(r"(tags|categories): \[(.*?)\] (?:description|article): (.*)$", re.DOTALL)
_REVIEW = re.compile(r"review: (.*)$", re.DOTALL)

INFO = BenchmarkInfo(
    name="lamp",
    version=VERSION,
    title="LaMP: what would this person cite, tag or rate?",
    description="Real people's papers, film tags and product reviews; the right answer is what the person did.",
    licence=LICENCE,
    language=["en"],
    gold="published",
    view=VIEW,
    layout=[["task"]],
    controls=Controls(views=["none", f"wrong:{VIEW}"]),
    metrics={"chance": 0},  # no one number: each task has its own number of answers
)


class LampChoice(NamedTuple):
    """A row as a multiple-choice question: the prompt, the right answer, the wrong ones and the task's name."""

    prompt: str
    right: str
    wrong: tuple[str, ...]
    task: str


class ChoiceTask(NamedTuple):
    """How the rows of one LaMP task become questions and memories."""

    ask: Callable[[str, str], LampChoice | None]
    """From input and output; None where they do not fit the task."""
    memory: tuple[str, ...]
    """Fields of a profile's entry that are told, those that are there."""


class LaMP(ChoiceBenchmark):
    """The classification tasks that a folder holds."""

    info = INFO

    def __init__(self, folder: Path) -> None:
        self._files = find_tasks(folder, TASKS)
        if not self._files:
            raise UserError(
                f"{folder} holds no LaMP task that is a choice: expected LaMP_1/dev_questions.json and LaMP_1/dev_outputs.json, "
                "or LaMP_2 or LaMP_3; the writing tasks are read by `run lamp-writing`."
            )

    def people(self) -> Iterator[Person]:
        """Whoever is asked about, with their past papers, tags or reviews as memories."""
        for person, _ in self._read[0]:
            yield person

    def read(self) -> Iterator[MultipleChoice]:
        """One choice per question."""
        for _, choice in self._read[0]:
            yield choice

    def remarks(self) -> list[str]:
        """What is read, and how far it is the published task."""
        notes = list(self._read[1])
        if "LaMP_3" in self._files:
            notes.append("LaMP_3 is scored as a choice among five ratings; its authors report MAE and RMSE.")
        return notes

    @cached_property
    def _read(self) -> tuple[list[tuple[Person, MultipleChoice]], list[str]]:
        return read_tasks(self._files, _asked)


def _asked(task: str, question: LampQuestion) -> tuple[Person, MultipleChoice]:
    asked = TASKS[task].ask(question.input, question.output)
    if asked is None:
        raise UserError(
            f"{question.place}, field 'input' is not a question of {task}, or its output does not fit it."
        )
    fields = TASKS[task].memory
    memories = profile_memories(
        question, lambda entry: " — ".join(entry[name] for name in fields if name in entry)
    )
    person = Person(id=f"{task}/{question.id}", language="en", memories=list(memories))
    choice = MultipleChoice(
        f"lamp/{task}/{question.id}",
        person.id,
        asked.prompt,
        asked.right,
        asked.wrong,
        slices={"task": asked.task},
    )
    return person, choice


def _cited(text: str, output: str) -> LampChoice | None:
    match = _REFERENCES.search(text)
    if match is None or output not in ("[1]", "[2]"):
        return None
    title, *works = match.groups()
    right, wrong = works if output == "[1]" else works[::-1]
    prompt = f"I wrote a paper called “{title}”. Which of these works does it cite?"
    return LampChoice(prompt, right, (wrong,), "LaMP_1")


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
    return LampChoice(prompt, output, others, "LaMP_2" if films else "LaMP_2_news")


def _rated(text: str, output: str) -> LampChoice | None:
    match = _REVIEW.search(text)
    if match is None or output not in ("1", "2", "3", "4", "5"):
        return None
    right = STARS[int(output) - 1]
    wrong = tuple(stars for stars in STARS if stars != right)
    prompt = f"How did I rate what I reviewed here?\n\n{match[1].strip()}"
    return LampChoice(prompt, right, wrong, "LaMP_3")


TASKS = {
    "LaMP_1": ChoiceTask(_cited, ("title", "abstract")),
    "LaMP_2": ChoiceTask(_tagged, ("title", "description", "text", "tag", "category")),
    "LaMP_3": ChoiceTask(_rated, ("text", "score")),
}
