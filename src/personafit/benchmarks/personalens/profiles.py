"""One user's profile as a person: demographics, preferences and summaries of the domains they care about."""

import re
from pathlib import Path
from typing import Any

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_object
from personafit.benchmarks.personalens.ontology import Domains, OntologyAttribute
from personafit.benchmarks.personalens.repairs import Complain, Repairs, refuse
from personafit.people import FacetValue, Person

PARTS = ("affinities", "demographics", "interests", "interactions")
UNTOLD = ("N/A", "Prefer not to say", "")
_MARKS = re.compile(r"[^\w\s]+$")
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
            kept = _value(value, attribute, user, repairs)
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


def _value(value: Any, attribute: OntologyAttribute, user: str, repairs: Repairs) -> FacetValue | None:
    kept = []
    for each in value if isinstance(value, list) else [value]:
        if attribute.closed and each not in attribute.values:
            usual = attribute.by_case.get(each.casefold())
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
