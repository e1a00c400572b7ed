"""PersonaLens in its published layout (arXiv 2506.09902; CC-BY-NC-4.0): people and tasks, checked and put right.

Everything is keyed by (domain, attribute) and by task id, never by order; the interest mask is applied; every repair is
counted, and what cannot be put right is counted too and left out.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from personafit._errors import UserError, located
from personafit._hashing import hash_text
from personafit._names import as_name
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls
from personafit.benchmarks.folder import read_info
from personafit.benchmarks.folder_records import Complain, FolderRecords, refuse
from personafit.benchmarks.hub import data_folder
from personafit.benchmarks.lines import read_object
from personafit.benchmarks.personalens.profiles import (
    Repairs,
    TaskDefinition,
    read_definitions,
    read_ontology,
    read_person,
    usual_situation,
)
from personafit.contexts import TaskItem, task_item
from personafit.people import Person, Task
from personafit.store import Product


class TaskBenchmark(Benchmark, ABC):
    """Base of readers that give people with tasks."""

    def __init__(self) -> None:
        self.repairs = Repairs()

    @abstractmethod
    def users(self) -> Iterator[tuple[Person, list[Task]]]:
        """Each person with their tasks."""

    @cached_property
    def _all(self) -> list[tuple[Person, list[Task]]]:
        """Everyone with their tasks, read once and kept: going into a store they are wanted several times."""
        return list(self.users())

    def tasks(self) -> Iterator[Task]:
        """All tasks, by person."""
        return (task for _, tasks in self._all for task in tasks)

    def people(self) -> Iterator[Person]:
        """Everyone."""
        return (person for person, _ in self._all)

    def products(self) -> Iterator[Product]:
        """The tasks in full."""
        return (item.product for item in self.items())

    def items(self) -> Iterator[TaskItem]:
        """The tasks as items."""
        return (task_item(task) for task in self.tasks())


VERSION = "2506.09902"
FILES = ("tasks.json", "tasks_md.json")


class PersonaLens(TaskBenchmark):
    """The published people and their tasks; faults go to `complain`, and what is faulty is left out."""

    def __init__(self, folder: Path, complain: Complain = refuse) -> None:
        super().__init__()
        self._complain = complain
        self._profiles = folder / "data" / "profile"
        self._ontology = read_ontology(folder / "res" / "schema.json")
        self._definitions = read_definitions(folder / "data" / "task", self._ontology, complain)
        if not self._profiles.is_dir():
            raise UserError(f"{self._profiles} is missing; --data must be the folder with res/ and data/.")
        self._folders = sorted((path for path in self._profiles.iterdir() if path.is_dir()), key=_number)
        if not self._folders:
            raise UserError(f"{self._profiles} holds no userN folders.")
        self.info = BenchmarkInfo(
            name="personalens",
            version=VERSION,
            title="PersonaLens: task-oriented dialogues with people's preferences",
            description="Simulated people on real demographics; Zhao et al., Findings of ACL 2025.",
            licence="CC-BY-NC-4.0",
            language=["en"],
            layout=[["tasks"], ["domain"]],
            controls=Controls(views=[], raters=[]),
            metrics={"closed_values": self.closed_values},
        )

    @property
    def closed_values(self) -> dict[str, tuple[str, ...]]:
        """Facet path to the values it can have, for those that come from a list."""
        return {
            f"{domain}.{name}": attribute.values
            for domain, attributes in self._ontology.items()
            for name, attribute in attributes.items()
            if attribute.closed
        }

    def users(self) -> Iterator[tuple[Person, list[Task]]]:
        """Each person with their tasks, in the order of their numbers; repairs are counted anew."""
        self.repairs = Repairs()
        for folder in self._folders:
            read = read_person(folder / "profile.json", self._ontology, self.repairs, self._complain)
            if read is not None:
                yield read[0], list(self._tasks(folder, *read))

    def _tasks(self, folder: Path, person: Person, interests: frozenset[str]) -> Iterator[Task]:
        seen: set[str] = set()
        for name in FILES:
            try:
                rows = read_object(folder / name)
            except UserError as error:
                self._complain(str(error))
                continue
            for outer, raw in rows.items():
                faults = self._faults(raw, outer, folder / name, person.id, interests)
                if not faults and raw["task_id"] in seen:
                    faults = [f"{located(folder / name, None, outer)}: {raw['task_id']} occurs twice."]
                for fault in faults:
                    self._complain(fault)
                if not faults:
                    seen.add(raw["task_id"])
                    yield self._task(raw, person)

    def _faults(self, raw: Any, outer: str, path: Path, user: str, interests: frozenset[str]) -> list[str]:
        """What is wrong with one task of a user."""
        if not isinstance(raw, dict) or not isinstance(raw.get("task_id"), str):
            return [f"{located(path, None, f'{outer}.task_id')} is missing."]
        definition, faults = self._definitions.get(raw["task_id"]), []
        if definition is None:
            faults.append(
                f"{located(path, None, f'{outer}.task_id')}: no task '{raw['task_id']}' is defined in data/task."
            )
        for domain in definition.domains if definition else ():
            if domain not in interests:
                faults.append(
                    f"{located(path, None, outer)}: {raw['task_id']} touches {domain}, which is no interest of {user}."
                )
        situations = raw.get("situations")
        if not isinstance(situations, dict) or not all(isinstance(v, str) for v in situations.values()):
            faults.append(f"{located(path, None, f'{outer}.situations')} is missing or no object of texts.")
        return faults

    def _task(self, raw: dict[str, Any], person: Person) -> Task:
        user, definition, situations = person.id, self._definitions[raw["task_id"]], raw["situations"]
        if tuple(raw.get("Relevant Affinity Types") or ()) != definition.named:
            self.repairs.note("reference changed", user)
        return Task.model_construct(
            id=definition.id,
            person=user,
            domains=list(definition.domains),
            description=definition.description,
            intent=definition.intent,
            goal=definition.goal,
            preferences=self._preferences(definition, person),
            situation=usual_situation(situations, user, self.repairs),
        )

    def _preferences(self, definition: TaskDefinition, person: Person) -> list[str]:
        for finding in definition.findings:
            self.repairs.note(finding, person.id)
        present = [path for path in definition.preferences if path in person.facets]
        if empty := len(definition.preferences) - len(present):
            self.repairs.note("preference empty", person.id, empty)
        return present

    def notes(self) -> list[str]:
        """Every repair of the last reading, a sentence each."""
        return self.repairs.sentences()


def _number(path: Path) -> tuple[int, str]:
    digits = re.search(r"\d+$", path.name)
    return (int(digits[0]) if digits else -1, path.name)


STARTER = Path(__file__).parents[1] / "starter" / "dialogues"


class FolderTasks(TaskBenchmark):
    """The people and tasks of a folder; faults, which name file, line and field, go to `complain`."""

    def __init__(self, folder: Path, name: str | None = None, complain: Complain = refuse) -> None:
        super().__init__()
        self._folder = folder
        for file in ("people.jsonl", "tasks.jsonl"):
            if not (folder / file).is_file():
                raise UserError(f"{folder} has no {file}; dialogues need people.jsonl and tasks.jsonl.")
        self._records = FolderRecords(folder, complain)
        if (folder / "benchmark.toml").is_file():
            self.info = read_info(folder / "benchmark.toml")
            self.info.layout = [["tasks"], ["domain"]]
            self.info.metrics["closed_values"] = self.closed_values
        else:
            version = hash_text((folder / "people.jsonl").read_bytes(), (folder / "tasks.jsonl").read_bytes())
            self.info = BenchmarkInfo(
                name=name or as_name(folder.resolve().name),
                version=version[:8],
                layout=[["tasks"], ["domain"]],
                controls=Controls(views=[], raters=[]),
                metrics={"closed_values": self.closed_values},
            )

    @property
    def closed_values(self) -> dict[str, tuple[str, ...]]:
        """Facet path to the values it can have, where ontology.json lists them."""
        path = self._folder / "ontology.json"
        if not path.is_file():
            return {}
        values: dict[str, tuple[str, ...]] = {}
        for domain, attributes in read_object(path).items():
            for name, attribute in attributes.items() if isinstance(attributes, dict) else ():
                listed = attribute.get("values") if isinstance(attribute, dict) else None
                if not isinstance(listed, list) or not all(isinstance(value, str) for value in listed):
                    raise UserError(
                        f"{located(path, None, f'{domain}.{name}.values')} must be a list of texts."
                    )
                values[f"{domain}.{name}"] = tuple(listed)
        return values

    def users(self) -> Iterator[tuple[Person, list[Task]]]:
        """Each person with their tasks, in the order of the files."""
        tasks: dict[str, list[Task]] = {}
        for task in self._records.tasks():
            tasks.setdefault(task.person, []).append(task)
        for person in self._records.people():
            yield person, tasks.get(person.id, [])

    def notes(self) -> list[str]:
        """Where the folder comes from."""
        return [self.info.description] if self.info.description else []


def open_tasks(data: Path | None, complain: Complain = refuse) -> TaskBenchmark:
    """The people and tasks that --data names: the published layout, a benchmark folder, or `starter`."""
    data = data_folder("personalens", data)
    if data is None:
        raise UserError(
            "personalens needs --data FOLDER, a copy of the published data (with res/ and data/) or a folder with "
            "people.jsonl and tasks.jsonl; `personafit data get personalens` fetches the one, --data starter takes the "
            "small set that is shipped."
        )
    if str(data) == "starter" and not data.is_dir():
        return FolderTasks(STARTER, "starter-dialogues", complain)
    if not data.is_dir():
        raise UserError(f"--data {data}: there is no such folder.")
    if (data / "tasks.jsonl").is_file():
        return FolderTasks(data, complain=complain)
    return PersonaLens(data, complain)
