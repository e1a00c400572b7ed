"""LaMP (arXiv 2304.11406), its three classification tasks: what a person would cite, tag or rate.

Reads questions and outputs as published: `LaMP_1/dev_questions.json` (a list of `{"id", "input", "profile"}`) and
`LaMP_1/dev_outputs.json` (`{"task", "golds": [{"id", "output"}]}`), for LaMP_1, LaMP_2 and LaMP_3; dev is taken, or train where there
is no dev, since the outputs of test are not published. The profile becomes memories. The questions are worded anew: the
published inputs ask for an answer in a form of their own.
"""

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.benchmarks.benchmark import BenchmarkInfo, Controls
from personafit.benchmarks.choices import MOST, Choice, ChoiceBenchmark
from personafit.benchmarks.lines import read_entries, read_object, required_text
from personafit.people import Memory, Person

SPLITS = ("dev", "train")
STARS = tuple(f"{number} out of 5" for number in range(1, 6))
VIEW = "memory:k=4,by=bm25"  # retrieval as in the paper; no embedder is needed
_REFERENCES = re.compile(r'title "(.*?)",? which .*\[1\]: "(.*)"\s*\[2\]: "(.*)"\s*$', re.DOTALL)
_TAGGED = re.compile(r"tags: \[(.*?)\] description: (.*)$", re.DOTALL)
_REVIEW = re.compile(r"review: (.*)$", re.DOTALL)

INFO = BenchmarkInfo(
    name="lamp",
    version="2304.11406",
    title="LaMP: what would this person cite, tag or rate?",
    description="Real people's papers, film tags and product reviews; the right answer is what the person did.",
    licence="CC-BY-NC-SA-4.0 (its method); the data under the licences of their sources",
    language=["en"],
    gold="published",
    view=VIEW,
    layout=[["task"]],
    controls=Controls(views=["none", f"wrong:{VIEW}"]),
    metrics={"chance": 0},  # no one number: each task has its own number of answers
)


class Asked(NamedTuple):
    """A question as it is put here: its words, the right answer, the others."""

    prompt: str
    right: str
    wrong: tuple[str, ...]


class Task(NamedTuple):
    """How one task is read."""

    ask: Callable[[str, str, str], Asked | None]
    """From input, output and id; None where they do not fit the task."""
    memory: tuple[str, ...]
    """Fields of a profile's entry."""


class LaMP(ChoiceBenchmark):
    """The classification tasks that a folder holds."""

    info = INFO

    def __init__(self, folder: Path) -> None:
        self._files: dict[str, tuple[Path, Path]] = {}
        for task in TASKS:
            for split in SPLITS:
                for place in (folder / task, folder):
                    questions, outputs = place / f"{split}_questions.json", place / f"{split}_outputs.json"
                    if task in self._files or not (questions.is_file() and outputs.is_file()):
                        continue
                    if place != folder or read_object(outputs).get("task") == task:
                        self._files[task] = (questions, outputs)
        if not self._files:
            raise UserError(
                f"{folder} holds no LaMP task that is a choice: expected LaMP_1/dev_questions.json and LaMP_1/dev_outputs.json, "
                "or LaMP_2 or LaMP_3."
            )

    def people(self) -> Iterator[Person]:
        """Whoever is asked about, with their past papers, tags or reviews as memories."""
        for person, _ in self._read:
            yield person

    def read(self) -> Iterator[Choice]:
        """One choice per question."""
        for _, choice in self._read:
            yield choice

    def remarks(self) -> list[str]:
        """What is read, and how far it is the published task."""
        notes = [
            f"{task}: {questions.name} of {questions.parent.name}."
            for task, (questions, _) in self._files.items()
        ]
        if "LaMP_2" in self._files:
            notes.append(
                f"LaMP_2 has fifteen tags and a choice here at most {MOST}: the right one and {MOST - 1} drawn ones are shown, so a score "
                "here is higher than one over fifteen."
            )
        if "LaMP_3" in self._files:
            notes.append("LaMP_3 is scored as a choice among five ratings; its authors report MAE and RMSE.")
        return notes

    @cached_property
    def _read(self) -> list[tuple[Person, Choice]]:
        return [one for task, files in self._files.items() for one in _read_task(task, *files)]


def _read_task(task: str, questions: Path, outputs: Path) -> Iterator[tuple[Person, Choice]]:
    golds = _golds(outputs, task)
    for place, row in read_entries(questions):
        name = required_text({"id": str(row.get("id", ""))}, "id", place)
        if name not in golds:
            raise UserError(f"{place}, field 'id': {outputs.name} has no output for '{name}'.")
        asked = TASKS[task].ask(required_text(row, "input", place), golds[name], name)
        if asked is None:
            raise UserError(
                f"{place}, field 'input' is not a question of {task}, or its output does not fit it."
            )
        person = Person(
            id=f"{task}/{name}", language="en", memories=list(_memories(row, TASKS[task].memory, place))
        )
        choice = Choice(f"lamp/{task}/{name}", person.id, *asked, slices={"task": task})
        yield person, choice


def _golds(path: Path, task: str) -> dict[str, str]:
    body = read_object(path)
    golds = body.get("golds")
    if body.get("task") != task or not isinstance(golds, list):
        raise UserError(f"{path} must hold the outputs of {task}: an object with 'task' and 'golds'.")
    found = {}
    for number, row in enumerate(golds, 1):
        place = f"{path}, golds {number}"
        if not isinstance(row, dict):
            raise UserError(f"{place} must be an object with 'id' and 'output'.")
        found[str(row.get("id"))] = required_text({"output": str(row.get("output") or "")}, "output", place)
    return found


def _memories(row: dict[str, Any], fields: tuple[str, ...], place: str) -> Iterator[Memory]:
    profile = row.get("profile")
    if not isinstance(profile, list) or not profile:
        raise UserError(f"{place}, field 'profile' must be a list of what the person did before.")
    for number, entry in enumerate(profile):
        if not isinstance(entry, dict):
            raise UserError(f"{place}, profile {number + 1} must be an object.")
        parts = [str(entry[name]).strip() for name in fields if entry.get(name) not in (None, "")]
        if parts:
            date = entry.get("date")
            yield Memory(id=f"{number}", text=" — ".join(parts), time=str(date) if date else None)


def _cited(text: str, output: str, name: str) -> Asked | None:
    match = _REFERENCES.search(text)
    if match is None or output not in ("[1]", "[2]"):
        return None
    title, *works = match.groups()
    right, wrong = works if output == "[1]" else works[::-1]
    return Asked(f"I wrote a paper called “{title}”. Which of these works does it cite?", right, (wrong,))


def _tagged(text: str, output: str, name: str) -> Asked | None:
    match = _TAGGED.search(text)
    tags = [tag.strip() for tag in match[1].split(",")] if match else []
    if match is None or output not in tags:
        return None
    others = sorted((tag for tag in tags if tag != output), key=lambda tag: hash_text("lamp", name, tag))
    prompt = f"Which tag would I give this film?\n\n{match[2].strip()}"
    return Asked(prompt, output, tuple(others[: MOST - 1]))


def _rated(text: str, output: str, name: str) -> Asked | None:
    match = _REVIEW.search(text)
    if match is None or output not in ("1", "2", "3", "4", "5"):
        return None
    right = STARS[int(output) - 1]
    wrong = tuple(stars for stars in STARS if stars != right)
    return Asked(f"How did I rate what I reviewed here?\n\n{match[1].strip()}", right, wrong)


TASKS = {
    "LaMP_1": Task(_cited, ("title", "abstract")),
    "LaMP_2": Task(_tagged, ("description", "tag")),
    "LaMP_3": Task(_rated, ("text", "score")),
}
