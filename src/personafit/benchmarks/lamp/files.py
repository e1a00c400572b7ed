"""LaMP's files: questions with the profiles of those who asked them, and beside them what these people answered.

A task is two files, `dev_questions.json` (a list of `{"id", "input", "profile"}`) and `dev_outputs.json` (`{"task", "golds": [{"id",
"output"}]}`). They are downloaded one by one, so copies lie as `LaMP_4/`, as `LaMP_4/dev/` or, for the newer LaMP_2, as
`LaMP_2/new/dev/`: the outputs say which task it is. dev is taken, or train where there is no dev, since the outputs of test are
mostly not published.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from personafit._errors import UserError
from personafit.benchmarks.lines import read_entries, read_object, required_text
from personafit.people import Memory

T = TypeVar("T")

LICENCE = "CC-BY-NC-SA-4.0 (its method); the data under the licences of their sources"
VERSION = "2304.11406"
# Retrieval as in the paper; no embedder is needed, and four entries are told whole.
VIEW = "memory:k=4,by=bm25,budget=4000"
SPLITS = ("dev", "train")
DEPTH = 4  # folders deep: time/LaMP_2/new/dev
UNFIT = 0.01  # of a task's questions may be malformed, as one of LaMP_2's dev is; more are a wrong file

_TASK = re.compile(r"LaMP[_-]?([1-7])(?!\d)")


@dataclass(frozen=True)
class TaskFiles:
    """The two files of a task."""

    questions: Path
    outputs: Path


@dataclass(frozen=True)
class LampQuestion:
    """One question, whose it is, and what they answered themselves."""

    place: str
    id: str
    input: str
    output: str
    profile: list[dict[str, Any]]


def find_tasks(folder: Path, wanted: Collection[str]) -> dict[str, TaskFiles]:
    """The tasks that a folder holds, by name; of several copies dev before train, the newer LaMP_2, then the nearest."""
    found: dict[str, TaskFiles] = {}
    for split in SPLITS:
        for outputs in _named(folder, f"{split}_outputs.json"):
            questions = outputs.with_name(f"{split}_questions.json")
            if not questions.is_file():
                continue
            task = _task_of(outputs)
            if task in wanted:
                found.setdefault(task, TaskFiles(questions, outputs))
    return {task: found[task] for task in wanted if task in found}


def _named(folder: Path, name: str) -> list[Path]:
    depths = ("*/" * depth + name for depth in range(DEPTH + 1))
    paths = [path for pattern in depths for path in sorted(folder.glob(pattern))]
    return sorted(paths, key=lambda path: "new" not in path.relative_to(folder).parts)


def _task_of(outputs: Path) -> str:
    match = _TASK.match(str(read_object(outputs).get("task", "")))
    return f"LaMP_{match[1]}" if match else ""


def read_tasks(
    tasks: Mapping[str, TaskFiles], make: Callable[[str, LampQuestion], T]
) -> tuple[list[T], list[str]]:
    """What `make` makes of each question of each task, and notes on what was read and what was left out."""
    every: list[T] = []
    notes: list[str] = []
    for task, files in tasks.items():
        made, said = _read_task(task, files, partial(make, task))
        every += made
        notes += said
    return every, notes


def _read_task(task: str, files: TaskFiles, make: Callable[[LampQuestion], T]) -> tuple[list[T], list[str]]:
    """A few questions that do not fit the task are left out and said; many of them are an error."""
    golds = _golds(files.outputs)
    made: list[T] = []
    wrong: list[UserError] = []
    seen: set[str] = set()
    for place, row in read_entries(files.questions):
        try:
            question = _question(place, row, golds, files.outputs)
            if question.id in seen:
                raise UserError(f"{place}, field 'id': '{question.id}' occurs twice.")
            seen.add(question.id)
            made.append(make(question))
        except UserError as error:
            wrong.append(error)
    if len(wrong) > UNFIT * (len(made) + len(wrong)):
        raise wrong[0]
    if not made:
        raise UserError(f"{files.questions} holds no questions.")
    notes = [f"{task}: {files.questions.name} of {files.questions.parent.name}."]
    if wrong:
        notes.append(
            f"{task}: {len(wrong)} of {len(made) + len(wrong)} questions are malformed and left out; the first: {wrong[0]}"
        )
    return made, notes


def _question(place: str, row: dict[str, Any], golds: dict[str, str], outputs: Path) -> LampQuestion:
    name = required_text({"id": str(row.get("id", ""))}, "id", place)
    if name not in golds:
        raise UserError(f"{place}, field 'id': {outputs.name} has no output for '{name}'.")
    profile = row.get("profile")
    if not isinstance(profile, list) or not profile:
        raise UserError(f"{place}, field 'profile' must be a list of what the person did before.")
    for number, entry in enumerate(profile, 1):
        if not isinstance(entry, dict):
            raise UserError(f"{place}, profile {number} must be an object.")
    return LampQuestion(place, name, required_text(row, "input", place), golds[name], profile)


def _golds(path: Path) -> dict[str, str]:
    golds = read_object(path).get("golds")
    if not isinstance(golds, list):
        raise UserError(f"{path}, field 'golds' must be a list of objects with 'id' and 'output'.")
    found = {}
    for number, row in enumerate(golds, 1):
        place = f"{path}, golds {number}"
        if not isinstance(row, dict):
            raise UserError(f"{place} must be an object with 'id' and 'output'.")
        found[str(row.get("id"))] = required_text({"output": str(row.get("output") or "")}, "output", place)
    return found


def profile_memories(question: LampQuestion, told: Callable[[dict[str, str]], str]) -> Iterator[Memory]:
    """The profile as memories, each entry as `told` words it; entries of which nothing is told are left out."""
    for number, entry in enumerate(question.profile):
        filled = {name: text for name, value in entry.items() if (text := _plain(value))}
        if text := told(filled):
            yield Memory(id=f"{number}", text=text, time=filled.get("date"))


def _plain(value: object) -> str:
    return "" if value is None else str(value).strip()
