"""People with tasks for dialogues: the base of their readers, and the folder with `tasks.jsonl`."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel

from personafit._errors import UserError, refuse_faults
from personafit._hashing import hash_text
from personafit._names import as_name
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls
from personafit.benchmarks.folder import read_info
from personafit.benchmarks.folder_records import FolderRecords
from personafit.benchmarks.lines import read_object, validated
from personafit.contexts import TaskItem, task_item
from personafit.people import Person, Task
from personafit.store import Product

LAYOUT = [["tasks"], ["domain"]]


class TaskBenchmark(Benchmark, ABC):
    """Base of readers of people with tasks."""

    @abstractmethod
    def read(self) -> Iterator[tuple[Person, list[Task]]]:
        """Iterate over the people with their tasks; all faults of the data are raised as one error."""

    @cached_property
    def users(self) -> list[tuple[Person, list[Task]]]:
        """All people with their tasks; cached, since ingesting reads them several times."""
        return list(self.read())

    def repairs(self) -> list[dict[str, object]]:
        """Return the repairs made to the data: kind, description, count and people."""
        return []

    def tasks(self) -> Iterator[Task]:
        return (task for _, tasks in self.users for task in tasks)

    def people(self) -> Iterator[Person]:
        return (person for person, _ in self.users)

    def products(self) -> Iterator[Product]:
        return (item.product for item in self.items())

    def items(self) -> Iterator[TaskItem]:
        return (task_item(task) for task in self.tasks())


class _ListedValues(BaseModel):
    values: list[str]


class _Ontology(BaseModel):
    domains: dict[str, dict[str, _ListedValues]]


class FolderTasks(TaskBenchmark):
    """The people and tasks of a folder."""

    def __init__(self, folder: Path, name: str | None = None) -> None:
        self._folder = folder
        for file in ("people.jsonl", "tasks.jsonl"):
            if not (folder / file).is_file():
                raise UserError(f"{folder} has no {file}; dialogues need people.jsonl and tasks.jsonl.")
        if (folder / "benchmark.toml").is_file():
            self.info = read_info(folder / "benchmark.toml")
            self.info.layout = LAYOUT
        else:
            version = hash_text((folder / "people.jsonl").read_bytes(), (folder / "tasks.jsonl").read_bytes())
            self.info = BenchmarkInfo(
                name=name or as_name(folder.resolve().name),
                version=version[:8],
                layout=LAYOUT,
                controls=Controls(contexts=[], raters=[]),
            )
        self.info.metrics["closed_values"] = _closed_values(folder / "ontology.json")

    def read(self) -> Iterator[tuple[Person, list[Task]]]:
        faults: list[str] = []
        records = FolderRecords(self._folder, faults.append)
        tasks: dict[str, list[Task]] = {}
        for task in records.tasks():
            tasks.setdefault(task.person, []).append(task)
        refuse_faults(faults, self._folder)
        for person in records.people():
            yield person, tasks.get(person.id, [])

    def notes(self) -> list[str]:
        return [self.info.description] if self.info.description else []


def _closed_values(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the possible values by facet path, from ontology.json if it exists."""
    if not path.is_file():
        return {}
    ontology = validated(_Ontology, {"domains": read_object(path)}, path, None)
    return {
        f"{domain}.{name}": tuple(attribute.values)
        for domain, attributes in ontology.domains.items()
        for name, attribute in attributes.items()
    }
