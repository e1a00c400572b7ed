"""PersonaLens in its published layout (arXiv 2506.09902; CC-BY-NC-4.0): people and tasks, validated and repaired.

Records are matched by (domain, attribute) and by task id, never by order, and the interest mask is applied. Every repair is counted by kind
and person; what cannot be repaired is counted too and left out.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from personafit._errors import UserError, located, refuse_faults
from personafit.benchmarks.hub import data_folder
from personafit.benchmarks.lines import (
    FilledText,
    PublishedLine,
    noted,
    read_entries,
    read_lines,
    read_object,
    validated,
)
from personafit.benchmarks.published import not_found, published_info
from personafit.benchmarks.tasks import FolderTasks, TaskBenchmark
from personafit.people import FacetValue, Person, Task

STARTER = Path(__file__).parent / "starter" / "dialogues"
MULTI = "Multi-Domain"
FILES = ("tasks.json", "tasks_md.json")
UNTOLD = ("N/A", "Prefer not to say", "")
USUAL = {
    "Time of Day": ("Morning", "Afternoon", "Evening", "Night"),
    "Day of the Week": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "Environment": ("Quiet", "Noisy"),
}
REPAIRS = {
    "tasks missing": "people without tasks.json or tasks_md.json, whose tasks of this sort are not in the copy",
    "interest name": "names in the interest mask without the stray marks they carried",
    "domain order": "profiles put into the ontology's order of domains",
    "reference changed": "tasks that name other attributes than their definition, which is followed",
    "reference spelling": "attribute names spelt otherwise than in the ontology and found there",
    "reference suffix": "attribute names with their domain in brackets, found in that domain",
    "reference shared": "attribute names of several of the task's domains, standing for each of them",
    "reference unknown": "attribute names that none of the task's domains has, left out",
    "domain unused": "domains of a task without any of the attributes that it names",
    "value missing": "demographics not known or not told, left out",
    "value empty": "preferences that are empty, left out",
    "value number": "numbers and truth values where texts are expected, taken as texts",
    "value nested": "lists and objects where texts or lists of texts are expected, taken as the texts in them",
    "value case": "values with other capitals than in the ontology, written as there",
    "value foreign": "values of closed lists that the ontology does not have, kept",
    "preference empty": "references of tasks to an empty preference, left out",
    "situation brackets": "situations without the brackets they stood in",
    "situation placeholder": "situations with a placeholder or nothing instead of a value, left out",
    "situation wording": "times of day, days or devices in the usual wording",
    "situation unclear": "times of day or days that have no usual wording, kept",
    "preamble": "summaries without their generator's own opening words",
    "summary placeholder": "summaries with a placeholder in brackets, kept",
}
NAMED = 12  # people named in a note; `repairs` lists all
_BRACKETED = re.compile(r"\[([^\[\]]*)\]")
_HEDGED = re.compile(r"\bor\b|\be\.g\.|/", re.IGNORECASE)
_SUFFIX = re.compile(r"^(?P<name>.*\S)\s*\((?P<domain>[^()]+)\)$")
_MARKS = re.compile(r"(?<![^\w\s])[^\w\s]+$")
# A generator's introduction to what it is going to write, up to its colon.
_PREAMBLE = re.compile(
    r"^(?:here(?:'s| is)|sure|certainly|based on|below is|the following)\b[^\n]{0,400}?:\s*\n+", re.IGNORECASE
)
_PLACEHOLDER = re.compile(r"\[[A-Za-z][^\[\]\n]{2,40}\]")


Value = str | int | float | bool | None | list[Any] | dict[str, Any]
"""A value of a profile or situation: a text as a rule; among 1,500 generated users anything else may occur."""


class _Attribute(PublishedLine):
    name: str
    is_categorical: bool
    possible_values: list[str]


class _Domain(PublishedLine):
    domain: str
    affinities: list[_Attribute]


class _DefinitionLine(PublishedLine):
    number: int = Field(alias="Task Number")
    description: FilledText = Field(alias="Task Description")
    intent: FilledText = Field(alias="User Intent")
    goal: FilledText = Field(alias="Task Goal")
    named: list[str] = Field(alias="Relevant Affinity Types", min_length=1)
    domains: list[str] = Field([], alias="Relevant Domains")


class _TaskEntry(PublishedLine):
    task_id: str
    situations: dict[str, Value]
    named: Any = Field(None, alias="Relevant Affinity Types")


class _Profile(PublishedLine):
    affinities: dict[str, dict[str, Value]]
    demographics: dict[str, Value]
    interests: dict[str, int | bool]
    interactions: dict[str, str | None]


Domains = dict[str, dict[str, _Attribute]]
"""The ontology: domain → attribute name → attribute."""


class TaskDefinition(NamedTuple):
    """A task of PersonaLens, common to all people."""

    line: _DefinitionLine
    domains: list[str]
    preferences: list[str]
    """Facet paths that its attribute names resolve to."""
    findings: list[str]
    """The kind of repair for each name that needed one, and for each domain left without a name."""


class PersonaLens(TaskBenchmark):
    """The published people and their tasks."""

    def __init__(self, folder: Path) -> None:
        schema, self._tasks, self._profiles = (
            folder / place for place in ("res/schema.json", "data/task", "data/profile")
        )
        if not schema.is_file() or not self._tasks.is_dir() or not self._profiles.is_dir():
            raise not_found("personalens", folder)
        self._folder = folder
        rows = [validated(_Domain, row, place, None) for place, row in read_entries(schema)]
        self._ontology: Domains = {row.domain: {one.name: one for one in row.affinities} for row in rows}
        closed = {
            f"{domain}.{name}": tuple(attribute.possible_values)
            for domain, attributes in self._ontology.items()
            for name, attribute in attributes.items()
            if attribute.is_categorical
        }
        self.info = published_info("personalens").model_copy(update={"metrics": {"closed_values": closed}})
        self._repairs: dict[str, Counter[str]] = {}
        self._faults: list[str] = []

    def read(self) -> Iterator[tuple[Person, list[Task]]]:
        """Iterate over the people with their tasks, in the order of their numbers; all faults are raised as one error."""
        self._repairs, self._faults = {}, []
        found = []
        folders = (path for path in self._profiles.iterdir() if path.is_dir() and path.name[0] != ".")
        for folder in sorted(folders, key=_number):
            with noted(self._faults):
                person = self._person(folder / "profile.json")
                found.append((person, list(self._tasks_of(person, folder))))
        refuse_faults(self._faults, self._folder)
        if not found:
            raise UserError(f"{self._profiles} holds no userN folders.")
        yield from found

    def repairs(self) -> list[dict[str, object]]:
        _ = self.users
        met = self._repairs
        return [
            {"kind": kind, "what": what, "count": met[kind].total(), "users": list(met[kind])}
            for kind, what in REPAIRS.items()
            if kind in met
        ]

    def notes(self) -> list[str]:
        said = []
        for row in self.repairs():
            users = list(self._repairs[str(row["kind"])])
            named = ", ".join(users[:NAMED]) + (f" and {len(users) - NAMED:,} more" if users[NAMED:] else "")
            what = str(row["what"])
            said.append(f"{what[0].upper()}{what[1:]}: {row['count']:,} ({named}).")
        return said

    def _note(self, kind: str, user: str, count: int = 1) -> None:
        self._repairs.setdefault(kind, Counter())[user] += count

    # -- definitions of tasks -------------------------------------------------------------------------------------------

    @cached_property
    def _definitions(self) -> dict[str, TaskDefinition]:
        """All tasks of data/task by task id."""
        found: dict[str, TaskDefinition] = {}
        for path in sorted(self._tasks.glob("*/task.jsonl")):
            area = path.parent.name
            for number, row in read_lines(path, self._faults.append):
                with noted(self._faults):
                    line = validated(_DefinitionLine, row, path, number)
                    domains = line.domains if area == MULTI else [area]
                    if unknown := [domain for domain in domains if domain not in self._ontology]:
                        raise UserError(
                            f"{located(path, number)}: the ontology knows no domain '{unknown[0]}'."
                        )
                    name = f"MD-task-{line.number}" if area == MULTI else f"SD-{area}-task-{line.number}"
                    found[name] = TaskDefinition(
                        line, domains, *_resolved(line.named, domains, self._ontology)
                    )
        return found

    # -- people ---------------------------------------------------------------------------------------------------------

    def _person(self, path: Path) -> Person:
        profile, user = validated(_Profile, read_object(path), path, None), path.parent.name
        order = list(self._ontology)
        if list(profile.affinities) != order or list(profile.interests) != order:
            self._note("domain order", user)
        interests = self._interests(profile, path)
        facets: dict[str, FacetValue] = {}
        for name, told in profile.demographics.items():
            if (value := self._text(told, user)) in UNTOLD:
                self._note("value missing", user)
            elif name != "user_id":
                facets[f"Demographics.{name}"] = value
        summaries = {}
        for domain in order:  # repairs are counted in all domains, facets kept for interests only
            for name, raw in profile.affinities.get(domain, {}).items():
                kept = self._value(raw, self._ontology[domain].get(name), user)
                if not kept:
                    self._note("value empty", user)
                elif domain in interests:
                    facets[f"{domain}.{name}"] = kept
            summary = self._summary(profile.interactions.get(domain) or "", user)
            if domain in interests:
                summaries[domain] = summary
        return Person.model_construct(
            id=user, language="en", facets=facets, memories=[], attributes=[], summaries=summaries
        )

    def _interests(self, profile: _Profile, path: Path) -> set[str]:
        found: set[str] = set()
        for name, wanted in profile.interests.items():
            domain = name if name in self._ontology else _MARKS.sub("", name).strip()
            if domain not in self._ontology:
                raise UserError(f"{located(path, None, 'interests')}: the ontology knows no domain '{name}'.")
            if domain != name:
                self._note("interest name", path.parent.name)
            if wanted:
                found.add(domain)
        return found

    def _text(self, value: Value, user: str) -> str:
        """Return a value as text; null as an empty one."""
        if isinstance(value, str) or value is None:
            return value or ""
        if isinstance(value, list | dict):
            self._note("value nested", user)
            return ", ".join(text for one in _leaves(value) if (text := self._text(one, user).strip()))
        self._note("value number", user)
        return str(value)

    def _value(self, raw: Value, attribute: _Attribute | None, user: str) -> FacetValue:
        """Return a preference with its values spelled as in the ontology; empty values are dropped."""
        if isinstance(raw, dict) or (
            isinstance(raw, list) and any(isinstance(one, list | dict) for one in raw)
        ):
            self._note("value nested", user)
            raw = list(_leaves(raw))
        kept = []
        for value in raw if isinstance(raw, list) else [raw]:
            each = self._text(value, user)
            if not each.strip():
                continue
            if attribute is not None and attribute.is_categorical and each not in attribute.possible_values:
                usual = [one for one in attribute.possible_values if one.casefold() == each.casefold()]
                self._note("value case" if usual else "value foreign", user)
                each = usual[0] if usual else each
            kept.append(each)
        return kept if isinstance(raw, list) else "".join(kept)

    def _summary(self, text: str, user: str) -> str:
        if match := _PREAMBLE.match(text):
            self._note("preamble", user)
            text = text[match.end() :]
        if _PLACEHOLDER.search(text):
            self._note("summary placeholder", user)
        return text.strip()

    # -- tasks of a person ----------------------------------------------------------------------------------------------

    def _tasks_of(self, person: Person, folder: Path) -> Iterator[Task]:
        seen: set[str] = set()
        for path in (folder / name for name in FILES):
            rows = {}
            if not path.exists():
                self._note("tasks missing", person.id)
                continue
            with noted(self._faults):
                rows = read_object(path)
            for outer, row in rows.items():
                with noted(self._faults):
                    entry, place = validated(_TaskEntry, row, f"{path}, {outer}", None), f"{outer}.task_id"
                    if entry.task_id not in self._definitions:
                        raise UserError(
                            f"{located(path, None, place)}: no task '{entry.task_id}' is defined in data/task."
                        )
                    if entry.task_id in seen:
                        raise UserError(f"{located(path, None, place)}: '{entry.task_id}' occurs twice.")
                    seen.add(entry.task_id)
                    yield self._task(entry, person)

    def _task(self, entry: _TaskEntry, person: Person) -> Task:
        line, domains, preferences, findings = self._definitions[entry.task_id]
        if entry.named != line.named:
            self._note("reference changed", person.id)
        for finding in findings:
            self._note(finding, person.id)
        present = [path for path in preferences if path in person.facets]
        if len(present) < len(preferences):
            self._note("preference empty", person.id, len(preferences) - len(present))
        return Task.model_construct(
            id=entry.task_id,
            person=person.id,
            domains=domains,
            description=line.description,
            intent=line.intent,
            goal=line.goal,
            preferences=present,
            situation=self._situation(entry.situations, person.id),
        )

    def _situation(self, raw: dict[str, Value], user: str) -> dict[str, str]:
        """Return the situation with its values normalised; placeholders are dropped."""
        situation = {}
        for name, told in raw.items():
            value = self._text(told, user).strip()
            if not value:
                self._note("situation placeholder", user)
                continue
            if _BRACKETED.search(value):
                inner = _BRACKETED.fullmatch(value)
                if inner is None or inner[1] not in USUAL.get(name, ()):
                    self._note("situation placeholder", user)
                    continue
                self._note("situation brackets", user)
                value = inner[1]
            usual = _usual(name, value)
            if usual != value:
                self._note("situation wording" if usual else "situation unclear", user)
            situation[name] = usual or value
        return situation


def _leaves(value: Value) -> Iterator[Value]:
    """Yield the values within a list or object, at any depth."""
    if isinstance(value, list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _leaves(one)
    else:
        yield value


def _usual(name: str, value: str) -> str | None:
    """Return the value in standard wording; None if it has none."""
    if name == "Device":
        return " ".join(
            word.capitalize() if word.islower() and word.isalpha() else word for word in value.split()
        )
    if name not in USUAL or value in USUAL[name]:
        return value
    named = [word for word in USUAL[name] if re.search(rf"\b{word}\b", value, re.IGNORECASE)]
    return named[0] if len(named) == 1 and not _HEDGED.search(value) else None


def _resolved(names: list[str], touched: list[str], ontology: Domains) -> tuple[list[str], list[str]]:
    """Return the facet paths of attribute names in these domains, and the repairs that were needed."""
    paths: dict[str, None] = {}
    findings: list[str] = []
    for name in names:
        at, finding = _find(name, touched, ontology)
        paths.update(dict.fromkeys(at))
        findings += [finding] if finding else []
    used = {path.partition(".")[0] for path in paths}
    return list(paths), findings + ["domain unused"] * sum(domain not in used for domain in touched)


def _find(name: str, touched: list[str], ontology: Domains) -> tuple[list[str], str | None]:
    at = [f"{domain}.{name}" for domain in touched if name in ontology[domain]]
    if at:
        return at, "reference shared" if len(at) > 1 else None
    if (match := _SUFFIX.match(name)) and match["name"] in ontology.get(match["domain"], {}):
        return [f"{match['domain']}.{match['name']}"], "reference suffix"
    for spelt in (name.replace("Favorite", "Favourite"), name.replace("Favourite", "Favorite")):
        at = [f"{domain}.{spelt}" for domain in touched if spelt in ontology[domain]]
        if at:
            return at, "reference spelling"
    return [], "reference unknown"


def _number(path: Path) -> tuple[int, str]:
    digits = re.search(r"\d+$", path.name)
    return (int(digits[0]) if digits else -1, path.name)


def open_tasks(data: Path | None) -> TaskBenchmark:
    """Return the people and tasks given by --data: the published layout, a benchmark folder, or `starter`."""
    data = data_folder("personalens", data)
    if str(data) == "starter" and not data.is_dir():
        return FolderTasks(STARTER, "starter-dialogues")
    if (data / "tasks.jsonl").is_file():
        return FolderTasks(data)
    if (data / "benchmark.toml").is_file():
        raise UserError(
            f"{data} has no tasks.jsonl, which dialogues are held about; see docs/reference/folder.md."
        )
    return PersonaLens(data)
