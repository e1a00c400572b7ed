"""The domains of PersonaLens, the preferences people have in them, and the tasks: what profiles are checked against."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines
from personafit.benchmarks.personalens.repairs import Complain, refuse

_SUFFIX = re.compile(r"^(?P<name>.*\S)\s*\((?P<domain>[^()]+)\)$")
MULTI = "Multi-Domain"


@dataclass(frozen=True)
class OntologyAttribute:
    """One preference a person can have in a domain."""

    closed: bool
    """Whether its values come from a list."""
    several: bool
    values: tuple[str, ...]
    """The list; for an open attribute only examples."""
    by_case: dict[str, str]
    """The same by their lower-case form."""


Domains = dict[str, dict[str, OntologyAttribute]]


def read_ontology(path: Path) -> Domains:
    """The contents of res/schema.json: domain to attribute name to attribute."""
    try:
        rows = orjson.loads(path.read_bytes())
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror}); --data must be the folder that holds res/ and data/."
        ) from error
    except orjson.JSONDecodeError as error:
        raise UserError(f"{path} is not JSON ({error}).") from error
    domains: Domains = {}
    try:
        for row in rows:
            domains[row["domain"]] = {entry["name"]: _attribute(entry) for entry in row["affinities"]}
    except (TypeError, KeyError, AttributeError) as error:
        raise UserError(
            f"{path} is not the ontology: each entry needs 'domain' and 'affinities' with name, is_categorical, "
            f"has_multiple_values and possible_values ({type(error).__name__}: {error})."
        ) from error
    return domains


def _attribute(entry: dict[str, Any]) -> OntologyAttribute:
    values = tuple(str(value) for value in entry["possible_values"])
    return OntologyAttribute(
        bool(entry["is_categorical"]),
        bool(entry["has_multiple_values"]),
        values,
        {value.casefold(): value for value in values},
    )


@dataclass(frozen=True)
class TaskDefinition:
    """A task as PersonaLens defines it for everybody: its texts, its domains and the preferences that bear on it."""

    id: str
    domains: tuple[str, ...]
    description: str
    intent: str
    goal: str
    named: tuple[str, ...]
    """The attribute names as the definition gives them."""
    preferences: tuple[str, ...]
    """Facet paths they resolve to."""
    findings: tuple[str, ...]
    """A kind of repair for each name that did not resolve plainly, and for each domain left without a name."""


def read_definitions(
    folder: Path, domains: Domains, complain: Complain = refuse
) -> dict[str, TaskDefinition]:
    """All tasks of data/task by task id; faulty ones go to `complain` and are left out."""
    found: dict[str, TaskDefinition] = {}
    paths = sorted(folder.glob("*/task.jsonl"))
    if not paths:
        raise UserError(
            f"{folder} holds no DOMAIN/task.jsonl; --data must be the folder with res/ and data/."
        )
    for path in paths:
        try:
            for number, row in read_lines(path):
                faults = list(_faults(row, path, number, domains))
                for fault in faults:
                    complain(fault)
                if not faults:
                    definition = _definition(row, path.parent.name, domains)
                    found[definition.id] = definition
        except UserError as error:
            complain(str(error))
    return found


def _faults(row: dict[str, Any], path: Path, number: int, domains: Domains) -> Iterator[str]:
    """What is wrong with the definition of a task."""
    area = path.parent.name
    fields = ["Task Number", "Task Description", "User Intent", "Task Goal", "Relevant Affinity Types"]
    for field in [*fields, "Relevant Domains"] if area == MULTI else fields:
        if not row.get(field):
            yield f"{located(path, number, field)} is missing or empty."
    for domain in (row.get("Relevant Domains") or ()) if area == MULTI else (area,):
        if domain not in domains:
            yield f"{located(path, number)}: the ontology knows no domain '{domain}'."


def _definition(row: dict[str, Any], area: str, domains: Domains) -> TaskDefinition:
    touched = tuple(row["Relevant Domains"]) if area == MULTI else (area,)
    task = f"MD-task-{row['Task Number']}" if area == MULTI else f"SD-{area}-task-{row['Task Number']}"
    preferences, findings = resolve(row["Relevant Affinity Types"], touched, domains)
    return TaskDefinition(
        task,
        touched,
        row["Task Description"],
        row["User Intent"],
        row["Task Goal"],
        tuple(row["Relevant Affinity Types"]),
        preferences,
        findings,
    )


def resolve(
    names: list[str], touched: tuple[str, ...], domains: Domains
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Facet paths for attribute names in these domains, and what had to be put right on the way."""
    paths: dict[str, None] = {}
    findings: list[str] = []
    for name in names:
        at, finding = _find(name, touched, domains)
        paths.update(dict.fromkeys(at))
        if finding:
            findings.append(finding)
    used = {path.partition(".")[0] for path in paths}
    findings += ["domain unused"] * sum(domain not in used for domain in touched)
    return tuple(paths), tuple(findings)


def _find(name: str, touched: tuple[str, ...], domains: Domains) -> tuple[list[str], str | None]:
    at = [f"{domain}.{name}" for domain in touched if name in domains[domain]]
    if at:
        return at, "reference shared" if len(at) > 1 else None
    if (match := _SUFFIX.match(name)) and match["name"] in domains.get(match["domain"], {}):
        return [f"{match['domain']}.{match['name']}"], "reference suffix"
    for spelt in _spellings(name):
        at = [f"{domain}.{spelt}" for domain in touched if spelt in domains[domain]]
        if at:
            return at, "reference spelling"
    return [], "reference unknown"


def _spellings(name: str) -> Iterator[str]:
    """The name as the other side of the Atlantic writes it."""
    yield name.replace("Favorite", "Favourite")
    yield name.replace("Favourite", "Favorite")
