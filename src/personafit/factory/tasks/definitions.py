"""The tasks people can have, as data: what is wanted, what must be settled, and which preferences bear on it."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from personafit._errors import UserError
from personafit.factory.tasks.ontology import Ontology, read_toml

OURS = Path(__file__).with_name("tasks.toml")
DONE = {"en": ("All of this is settled: ", "; ", "."), "zh": ("以下各点都已定下：", "；", "。")}


class TaskWording(BaseModel):
    """The texts of a task in one language."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str = Field(min_length=1, description="What the task is about, for readers.")
    wish: str = Field(min_length=1, description="What the person sets out to do; names no preference.")
    done: list[str] = Field(min_length=2, description="What must be settled, each point checkable by itself.")


class TaskTemplate(BaseModel):
    """A task before it is given to a person, in both languages."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = ""
    uses: list[str] = Field(min_length=2, description="Paths of the preferences that bear on it.")
    en: TaskWording
    zh: TaskWording

    @property
    def domains(self) -> list[str]:
        """The domains it touches."""
        return list(dict.fromkeys(path.partition(".")[0] for path in self.uses))

    def wording(self, language: str) -> TaskWording:
        """The task in a language."""
        return self.zh if language == "zh" else self.en

    def goal(self, language: str) -> str:
        """When it is done: the points a judge goes through one by one."""
        before, between, after = DONE["zh" if language == "zh" else "en"]
        points = self.wording(language).done
        return before + between.join(f"({number}) {point}" for number, point in enumerate(points, 1)) + after


def read_definitions(ontology: Ontology, path: Path = OURS) -> list[TaskTemplate]:
    """All tasks of a file, those over one domain first; every fault names file and task."""
    tree = read_toml(path)
    if unknown := set(tree) - {"single", "multi"}:
        raise UserError(f"{path}: there is no '{min(unknown)}'; tasks are [[single]] or [[multi]].")
    found: list[TaskTemplate] = []
    numbers: dict[str, int] = {}
    for kind in ("single", "multi"):
        for number, table in enumerate(tree.get(kind, []), 1):
            one = _definition(table, f"{path}, {kind} task {number}", ontology, kind == "single")
            start = f"SD-{one.domains[0]}" if kind == "single" else "MD"
            numbers[start] = numbers.get(start, 0) + 1
            found.append(one.model_copy(update={"id": f"{start}-{numbers[start]}"}))
    if missing := [name for name in ontology.domains if f"SD-{name}" not in numbers]:
        raise UserError(f"{path} has no [[single]] task for the domain '{missing[0]}'.")
    return found


def _definition(table: Any, place: str, ontology: Ontology, single: bool) -> TaskTemplate:
    try:
        one = TaskTemplate.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{place}, field '{where}': {first['msg']}.") from error
    known = set(ontology.paths())
    for path in one.uses:
        if path not in known:
            raise UserError(f"{place}, field 'uses': the ontology has no '{path}'.")
    if single != (len(one.domains) == 1):
        wanted = "one domain" if single else "several domains"
        raise UserError(f"{place}, field 'uses': it must name attributes of {wanted}.")
    return one
