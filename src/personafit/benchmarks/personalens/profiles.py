"""What PersonaLens says of its people, read and put right: profiles, and the domains, preferences and tasks that they are checked against.

Every repair is counted by kind, with the people concerned; what cannot be put right is counted too and left out.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError, located
from personafit.benchmarks.folder_records import Complain, refuse
from personafit.benchmarks.lines import read_lines, read_object
from personafit.people import FacetValue, Person

KINDS = {
    "interest name": "names in the interest mask carried stray marks, which were removed",
    "domain order": "profiles list their domains in another order than the ontology, whose order is used",
    "reference changed": "tasks name other attributes than their definition, which is followed",
    "reference spelling": "attribute names were spelt otherwise than in the ontology and were found there",
    "reference suffix": "attribute names carried their domain in brackets and were found in that domain",
    "reference shared": "attribute names exist in several of the task's domains and stand for each of them",
    "reference unknown": "attribute names exist in none of the task's domains; they are left out, not guessed",
    "domain unused": "domains of a task have no attribute among those it names",
    "value missing": "demographics are not known or not told; they are left out",
    "value empty": "preferences are empty lists; they are left out",
    "value case": "values differ from the ontology in capitals only and are written as there",
    "value foreign": "values of closed lists are not in the ontology; they are kept",
    "preference empty": "references of tasks point to an empty preference; they are left out",
    "situation brackets": "situations stood in brackets, which were removed",
    "situation placeholder": "situations hold a placeholder instead of a value; they are left out",
    "situation wording": "times of day, days or devices were worded otherwise and are written in the usual way",
    "situation unclear": "times of day or days cannot be put in the usual way; they are kept",
    "preamble": "summaries open with their generator's own words, which were removed",
    "summary placeholder": "summaries hold a placeholder in brackets; they are kept",
}
NAMED = 12  # people named in a sentence; the JSON names all


class Repairs:
    """Counts repairs; the same place read twice counts once, for reading starts afresh."""

    def __init__(self) -> None:
        self._met: dict[str, Counter[str]] = {}

    def note(self, kind: str, user: str, count: int = 1) -> None:
        """Something of that kind was met in that user's files."""
        assert kind in KINDS
        self._met.setdefault(kind, Counter())[user] += count

    def rows(self) -> list[dict[str, Any]]:
        """Each kind that occurred: what it is, how often, and with whom."""
        return [
            {"kind": kind, "what": what, "count": self._met[kind].total(), "users": list(self._met[kind])}
            for kind, what in KINDS.items()
            if kind in self._met
        ]

    def sentences(self) -> list[str]:
        """The same in words."""
        said = []
        for row in self.rows():
            users = row["users"]
            named = ", ".join(users[:NAMED]) + (f" and {len(users) - NAMED:,} more" if users[NAMED:] else "")
            said.append(f"{row['kind']}: {row['count']:,} {row['what']} ({named}).")
        return said


TIMES = ("Morning", "Afternoon", "Evening", "Night")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ENVIRONMENTS = ("Quiet", "Noisy")
USUAL = {"Time of Day": TIMES, "Day of the Week": DAYS, "Environment": ENVIRONMENTS}
_BRACKETED = re.compile(r"\[([^\[\]]*)\]")
_HEDGED = re.compile(r"\bor\b|\be\.g\.|/", re.IGNORECASE)


def usual_situation(raw: dict[str, str], user: str, repairs: Repairs) -> dict[str, str]:
    """The situation with everything put right that can be."""
    situation = {}
    for name, value in raw.items():
        value = value.strip()
        if match := _BRACKETED.fullmatch(value):
            if match[1] not in USUAL.get(name, ()):
                repairs.note("situation placeholder", user)
                continue
            repairs.note("situation brackets", user)
            value = match[1]
        elif _BRACKETED.search(value):
            repairs.note("situation placeholder", user)
            continue
        usual = _usual(name, value)
        if usual is None:
            repairs.note("situation unclear", user)
        elif usual != value:
            repairs.note("situation wording", user)
        situation[name] = value if usual is None else usual
    return situation


def _usual(name: str, value: str) -> str | None:
    """The value in the usual words; None when it has none."""
    if name == "Device":
        return " ".join(
            word.capitalize() if word.islower() and word.isalpha() else word for word in value.split()
        )
    if name not in USUAL or value in USUAL[name]:
        return value
    named = [word for word in USUAL[name] if re.search(rf"\b{word}\b", value, re.IGNORECASE)]
    return named[0] if len(named) == 1 and not _HEDGED.search(value) else None


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
    return OntologyAttribute(bool(entry["is_categorical"]), bool(entry["has_multiple_values"]), values)


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
    for spelt in (name.replace("Favorite", "Favourite"), name.replace("Favourite", "Favorite")):
        at = [f"{domain}.{spelt}" for domain in touched if spelt in domains[domain]]
        if at:
            return at, "reference spelling"
    return [], "reference unknown"


PARTS = ("affinities", "demographics", "interests", "interactions")
UNTOLD = ("N/A", "Prefer not to say", "")
_MARKS = re.compile(r"(?<![^\w\s])[^\w\s]+$")
# A generator's first paragraph about what it is going to write, up to its colon.
_PREAMBLE = re.compile(
    r"^(?:here(?:'s| is)|sure|certainly|based on|below is|the following)\b[^\n]{0,400}?:\s*\n+", re.IGNORECASE
)
_PLACEHOLDER = re.compile(r"\[[A-Za-z][^\[\]\n]{2,40}\]")


def read_person(
    path: Path, domains: Domains, repairs: Repairs, complain: Complain = refuse
) -> tuple[Person, frozenset[str]] | None:
    """The person in a profile.json, and the domains they care about; faults go to `complain`."""
    try:
        raw, user = read_object(path), path.parent.name
    except UserError as error:
        complain(str(error))
        return None
    missing = [part for part in PARTS if not isinstance(raw.get(part), dict)]
    for part in missing:
        complain(f"{located(path, None, part)} is missing or no object.")
    if missing:
        return None
    demographics = raw["demographics"]
    if demographics.get("user_id") != user:
        complain(
            f"{located(path, None, 'demographics.user_id')} is '{demographics.get('user_id')}' in folder {user}."
        )
    interests = _interests(raw["interests"], path, domains, user, repairs, complain)
    order = list(domains)
    if list(raw["affinities"]) != order or list(raw["interests"]) != order:
        repairs.note("domain order", user)
    facets: dict[str, FacetValue] = {}
    for name, value in demographics.items():
        if name == "user_id":
            continue
        if value in UNTOLD:
            repairs.note("value missing", user)
        else:
            facets[f"Demographics.{name}"] = str(value)
    summaries = {}
    for domain in order:  # all are checked and counted; what the person does not care about is left out
        where = f"affinities.{domain}"
        affinities = raw["affinities"].get(domain)
        if not isinstance(affinities, dict):
            complain(f"{located(path, None, where)} is missing.")
            affinities = {}
        for name, value in affinities.items():
            attribute = domains[domain].get(name)
            if attribute is None:
                complain(f"{located(path, None, where)}: the ontology knows no '{name}' there.")
                continue
            if not _fits(value, attribute):
                kind = "a list of texts" if attribute.several else "a text"
                complain(f"{located(path, None, f'{where}.{name}')} must be {kind}.")
                continue
            kept = _kept_value(value, attribute, user, repairs)
            if not kept:
                repairs.note("value empty", user)
            elif domain in interests:
                facets[f"{domain}.{name}"] = kept
        summary = raw["interactions"].get(domain)
        if not isinstance(summary, str):
            complain(f"{located(path, None, f'interactions.{domain}')} is missing or no text.")
            continue
        summary = _summary(summary, user, repairs)
        if domain in interests:
            summaries[domain] = summary
    person = Person.model_construct(
        id=user, language="en", facets=facets, memories=[], attributes=[], summaries=summaries
    )
    return person, interests


def _interests(
    raw: dict[str, Any], path: Path, domains: Domains, user: str, repairs: Repairs, complain: Complain
) -> frozenset[str]:
    mask: dict[str, bool] = {}
    for name, value in raw.items():
        domain = name
        if name not in domains:
            domain = _MARKS.sub("", name).strip()
            if domain not in domains or domain in raw:
                complain(f"{located(path, None, 'interests')}: the ontology knows no domain '{name}'.")
                continue
            repairs.note("interest name", user)
        mask[domain] = bool(value)
    return frozenset(domain for domain, wanted in mask.items() if wanted)


def _fits(value: Any, attribute: OntologyAttribute) -> bool:
    """Whether the value is of the kind the ontology wants: a list of texts or one text."""
    values = value if isinstance(value, list) else [value]
    return isinstance(value, list) == attribute.several and all(isinstance(each, str) for each in values)


def _kept_value(value: Any, attribute: OntologyAttribute, user: str, repairs: Repairs) -> FacetValue | None:
    kept = []
    for each in value if isinstance(value, list) else [value]:
        if attribute.closed and each not in attribute.values:
            usual = next((one for one in attribute.values if one.casefold() == each.casefold()), None)
            repairs.note("value foreign" if usual is None else "value case", user)
            each = usual or each
        if each.strip():
            kept.append(each)
    if attribute.several:
        return kept or None
    return kept[0] if kept else None


def _summary(text: str, user: str, repairs: Repairs) -> str:
    if match := _PREAMBLE.match(text):
        repairs.note("preamble", user)
        text = text[match.end() :]
    if _PLACEHOLDER.search(text):
        repairs.note("summary placeholder", user)
    return text.strip()
