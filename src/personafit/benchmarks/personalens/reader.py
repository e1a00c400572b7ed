"""PersonaLens in its published layout (arXiv 2506.09902; CC-BY-NC-4.0): people and tasks, checked and put right.

Everything is keyed by (domain, attribute) and by task id, never by order; the interest mask is applied; every repair is
counted, and what cannot be put right is counted too and left out.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from personafit._errors import UserError, located
from personafit.benchmarks.benchmark import BenchmarkInfo, Controls, Published
from personafit.benchmarks.lines import read_object
from personafit.benchmarks.personalens.ontology import TaskDefinition, read_definitions, read_ontology
from personafit.benchmarks.personalens.profiles import read_person
from personafit.benchmarks.personalens.repairs import Complain, Repairs, refuse
from personafit.benchmarks.personalens.situations import usual_situation
from personafit.benchmarks.personalens.tasks import TaskBenchmark
from personafit.people import Person, Task

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

    def published(self) -> list[Published]:
        """The paper's tables are read by the report."""
        return []

    def notes(self) -> list[str]:
        """Every repair of the last reading, a sentence each."""
        return self.repairs.sentences()


def _number(path: Path) -> tuple[int, str]:
    digits = re.search(r"\d+$", path.name)
    return (int(digits[0]) if digits else -1, path.name)
