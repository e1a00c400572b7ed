"""The available worlds: the shipped one, and one made of PersonaLens's ontology and people."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

from personafit.people import Person
from personafit.worlds.building import build
from personafit.worlds.ontology import NEEDS, NO_PREFERENCE, WorldAttribute, WorldDomain, starter_domains
from personafit.worlds.people import HEAVY, LIGHT, Fact, Resident, generate, placed, secrets_of
from personafit.worlds.requests import World

FEWEST_ATTRIBUTES = 3
SEED = 1  # of the shipped world; with 0, the cheapest offer happens to be the best 1.37 times as often as by chance


@cache
def shipped(people: int = 40, seed: int = SEED) -> World:
    """Return the world that comes with personafit: eight domains in English and Chinese, people from a seed."""
    return build("starter-world", generate(starter_domains(), people, seed), seed)


def personalens(closed: Mapping[str, Sequence[str]], people: Iterable[Person], seed: int = 0) -> World:
    """Return a world of PersonaLens's people; `closed` has the values of its categorical attributes by `Domain.Attribute`.

    Both come from the reader of PersonaLens. Weights, places, secrets and catalogues are drawn from the seed.
    """
    domains = _domains(closed)
    return build("personalens-world", [_resident(person, domains, seed) for person in people], seed)


def _domains(closed: Mapping[str, Sequence[str]]) -> Mapping[str, WorldDomain]:
    wordings: dict[str, dict[str, Any]] = tomllib.loads(
        (files(__package__) / "data" / "personalens.toml").read_text(encoding="utf-8")
    )
    domains = {}
    for id, wording in wordings.items():
        hard = wording.pop("needs", None)
        attributes = {
            name.partition(".")[2]: _attribute(name.partition(".")[2], values)
            for name, values in closed.items()
            if name.startswith(f"{id}.")
        }
        needs = attributes.pop(hard, None)
        if len(attributes) >= FEWEST_ATTRIBUTES:
            domains[id] = WorldDomain(id=id, label={"en": id}, attributes=attributes, needs=needs, **wording)
    return domains


def _attribute(name: str, values: Sequence[str]) -> WorldAttribute:
    kept = sorted(
        {value for value in values if value != NO_PREFERENCE}
    )  # the schema lists common values first
    said = name.replace(" Preference", "").replace("Preferred ", "")  # as one would in a question
    return WorldAttribute(label={"en": said}, values={"en": kept})


def _resident(person: Person, domains: Mapping[str, WorldDomain], seed: int) -> Resident:
    rng = Random(f"{seed}/{person.id}")  # nosec B311
    facts = []
    for domain in domains.values():
        for topic, attribute in domain.topics.items():
            name = attribute.label["en"] if topic == NEEDS else topic
            told = person.facets.get(f"{domain.id}.{name}", [])
            liked = [
                value for value in (told if isinstance(told, list) else [str(told)]) if value in attribute.ids
            ]
            if liked and len(liked) < len(attribute.ids):
                weight = 0 if topic == NEEDS else rng.randint(LIGHT, HEAVY)
                facts.append(Fact(domain.id, topic, tuple(liked), weight, "profile"))
    about = {path: value for path, value in person.facets.items() if path.startswith("Demographics.")}
    return Resident(person.id, person.language, about, placed(facts, rng), secrets_of("en", rng), domains)
