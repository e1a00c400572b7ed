"""Profiles and situations: drawn by rules from demographics, and from the lists of a build.

Every preference is drawn uniformly from the ontology's values that the rules allow for the person.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from personafit._errors import UserError
from personafit._hashing import draw
from personafit.build.asking import language_of
from personafit.build.config import BuildConfig, ConfigSection
from personafit.build.prompts import DATA, checked, read_toml
from personafit.build.tasks.ontology import (
    MOST_SEVERAL,
    OUR_TASKS,
    OURS,
    Domain,
    Ontology,
    Profile,
    Tag,
    TaskTemplate,
    read_definitions,
    read_ontology,
)
from personafit.people import FacetValue, Person

OUR_SITUATIONS = DATA / "situations.toml"
WEEKEND = ("Saturday", "Sunday")
ADULT, SENIOR = 18, 65
_SAYS = {
    name: re.compile("|".join(found), re.IGNORECASE)
    for name, found in read_toml(DATA / "rules.toml")["tags"].items()
}
"""Patterns in demographics that imply a tag."""


def tags_of(facets: Mapping[str, FacetValue]) -> frozenset[str]:
    """Return the tags that follow from demographics; without an age the person counts as an adult."""
    found = re.search(r"\d+", _text(facets, "age", "年龄"))
    age = int(found[0]) if found else ADULT
    work, home = _text(facets, "work", "occupation", "job", "职业"), home_of(facets)
    household = _text(facets, "household", "family", "家庭")
    tags = {"minor" if age < ADULT else "adult", "rural" if _SAYS["rural"].search(home) else "city"}
    if age >= SENIOR:
        tags.add("senior")
    if _SAYS["student"].search(work):
        tags.add("student")
    elif _SAYS["retired"].search(work):
        tags.add("retired")
    elif work and not _SAYS["no_job"].search(work):
        tags.add("working")
    if _SAYS["child"].search(household) and not _SAYS["no_child"].search(household) and age >= ADULT:
        tags.add("parent")
    if _SAYS["alone"].search(household):
        tags.add("alone")
    return frozenset(tags)


def home_of(facets: Mapping[str, FacetValue]) -> str:
    """Return where a person lives; empty if unknown."""
    return _text(facets, "home", "city", "所在地", "region")


def town_of(facets: Mapping[str, FacetValue]) -> str:
    """Return the town of a home such as 'Half of a farmhouse near Graz, Austria; no garden', or the text before a semicolon."""
    home = home_of(facets)
    if language_of(home) == "zh":
        return re.split("[，；的]", home)[0]
    home = home.partition(";")[0]
    named = re.search(r"\b(?:in|near|outside|of) ([A-ZÀ-Þ].*)", home)
    return named[1] if named else home


def _text(facets: Mapping[str, FacetValue], *names: str) -> str:
    for name in names:
        for path, value in facets.items():
            if path.rpartition(".")[2].casefold() == name:
                return ", ".join(value) if isinstance(value, list) else str(value)
    return ""


class Location(BaseModel):
    """A place where a task can happen, with its times and devices."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    en: str
    zh: str
    only: list[Tag] = []
    weekdays: bool = False
    times: list[str]
    devices: list[str]
    like: dict[str, str]
    not_for: list[str] = []


class SituationLists(BaseModel):
    """The lists situations are drawn from, English to Chinese."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    times: dict[str, str]
    days: dict[str, str]
    devices: dict[str, str]
    places: list[Location]

    @model_validator(mode="after")
    def _drawable(self) -> Self:
        """Check that every place has something to draw, and that one place is open to anybody and any task."""
        for place in self.places:
            for name, listed, known in (
                ("times", place.times, self.times),
                ("devices", place.devices, self.devices),
                ("like", list(place.like), place.like),
            ):
                if not listed or not set(listed) <= known.keys():
                    raise ValueError(f"place '{place.en}', {name}: name one or more of [{name}]")
        if not set(self.days) - set(WEEKEND):
            raise ValueError("days: there is no weekday")
        if not any(not place.only and not place.not_for for place in self.places):
            raise ValueError("places: one must be without `only` and `not_for`, for anybody and any task")
        return self


@cache
def situation_lists(path: Path = OUR_SITUATIONS) -> SituationLists:
    """Read the places, times, days and devices of a file."""
    return checked(SituationLists, read_toml(path), str(path))


def draw_situation(
    lists: SituationLists, profile: Profile, task: str, domains: Sequence[str], seed: int
) -> dict[str, str]:
    """Draw the situation of a task, in the person's language: first the place, then what it allows."""
    key = (seed, "situation", profile.id, task)
    places = [
        place
        for place in lists.places
        if (not place.only or set(place.only) & set(profile.tags)) and not set(place.not_for) & set(domains)
    ]
    place = places[draw(*key, "place", among=len(places))]
    days = [day for day in lists.days if not place.weekdays or day not in WEEKEND]
    found = {}
    for name, among, chinese in (
        ("device", place.devices, lists.devices),
        ("time_of_day", place.times, lists.times),
        ("day", days, lists.days),
        ("surroundings", list(place.like), place.like),
    ):
        value = among[draw(*key, name, among=len(among))]
        found[name] = chinese[value] if profile.language == "zh" else value
    where, comma = (place.zh, "，") if profile.language == "zh" else (place.en, ", ")
    town = town_of(profile.facets)
    return {"location": f"{town}{comma}{where}" if town else where, **found}


TRIES = 24  # draws per person and domain before its rules are reported as impossible


class TasksSection(ConfigSection):
    """Settings of the task profile steps."""

    ontology: str = Field("", description="TOML file with domains of your own; empty takes ours.")
    definitions: str = Field("", description="TOML file with tasks of your own; empty takes ours.")
    situations: str = Field("", description="TOML file with places and times of your own; empty takes ours.")
    domains: tuple[int, int] = Field((5, 8), description="Fewest and most domains one person cares about.")
    single: int = Field(6, ge=0, description="Most tasks over one domain for each person.")
    multi: int = Field(2, ge=0, description="Most tasks over several domains for each person.")

    def faults(self, config: BuildConfig) -> Iterator[str]:
        lists = TaskLists.of(config)
        count, (low, high) = len(lists.ontology.domains), self.domains
        if not 1 <= low <= high <= count:
            yield f"domains = [{low}, {high}] must go from 1 to at most {count}, the smaller first"
        if self.single == self.multi == 0:
            yield "single and multi are both 0, so nobody would want anything"


@dataclass(frozen=True)
class TaskLists:
    """What tasks are made from: the ontology, the tasks, and the places and times of a build."""

    files: tuple[Path, Path, Path]
    ontology: Ontology
    definitions: list[TaskTemplate]
    situations: SituationLists

    @classmethod
    def of(cls, config: BuildConfig) -> Self:
        """Read the lists of a build: the user's files, or the built-in ones."""
        section = config.section(TasksSection)
        ontology, definitions, situations = (
            config.own(section.ontology, OURS),
            config.own(section.definitions, OUR_TASKS),
            config.own(section.situations, OUR_SITUATIONS),
        )
        read = read_ontology(ontology)
        return cls(
            (ontology, definitions, situations),
            read,
            read_definitions(read, definitions),
            situation_lists(situations),
        )


class ProfileSampler:
    """Samples interests and preferences, deterministically from person and seed."""

    def __init__(
        self, ontology: Ontology, definitions: Sequence[TaskTemplate], seed: int, domains: tuple[int, int]
    ) -> None:
        self.ontology, self._seed, self._domains = ontology, seed, domains
        self._several = [one for one in definitions if len(one.domains) > 1]

    def profile(self, person: Person) -> Profile:
        tags = tags_of(person.facets)
        cares = self._cares(person.id, tags)
        preferences = {
            f"{name}.{attribute}": values
            for name in cares
            for attribute, values in self._prefers(person.id, name, tags).items()
        }
        return Profile(
            id=person.id,
            language=person.language,
            facets=dict(person.facets),
            tags=sorted(tags),
            domains=cares,
            preferences=preferences,
        )

    def _cares(self, who: str, tags: frozenset[str]) -> list[str]:
        """Return the domains of interest: those of one task over several domains, and others up to a drawn number."""
        key = (self._seed, "interests", who)
        open_to = [name for name, domain in self.ontology.domains.items() if domain.is_open_to(tags)]
        low, high = self._domains
        number = low + draw(*key, among=high - low + 1)
        if number > len(open_to):
            raise UserError(
                f"Impossible quota: {number} domains are wanted for {who}, and only {len(open_to)} are open to them; set fewer with "
                "`domains`."
            )
        fitting = [
            one for one in self._several if set(one.domains) <= set(open_to) and len(one.domains) <= number
        ]
        chosen = fitting[draw(*key, "scenario", among=len(fitting))].domains if fitting else []
        order = sorted(open_to, key=lambda name: (name not in chosen, draw(*key, name, among=2**32)))
        return [name for name in self.ontology.domains if name in order[:number]]

    def _prefers(self, who: str, name: str, tags: frozenset[str]) -> dict[str, list[str]]:
        for attempt in range(TRIES):
            drawn = self._attempt(self.ontology.domains[name], tags, self._seed, name, who, attempt)
            if drawn is not None:
                return drawn
        raise UserError(
            f"Impossible rules in the ontology, domain '{name}': nothing is left for {who} ({', '.join(sorted(tags))}); "
            "loosen excludes or barred."
        )

    def _attempt(self, domain: Domain, tags: frozenset[str], *key: str | int) -> dict[str, list[str]] | None:
        """Return values for every attribute, in a drawn order; None if earlier draws leave nothing for an attribute."""
        taken: list[str] = []
        drawn: dict[str, list[str]] = {}
        for attribute in sorted(domain.attributes, key=lambda one: draw(*key, one, among=2**32)):
            one = domain.attributes[attribute]
            most = min(MOST_SEVERAL, len(one.values) - 1) if one.take == "several" else 1
            wanted = 1 + draw(*key, attribute, "how many", among=most)
            drawn[attribute] = []
            for value in sorted(one.values, key=lambda value: draw(*key, attribute, value, among=2**32)):
                name = f"{attribute}: {value}"
                if len(drawn[attribute]) < wanted and domain.allows(name, taken, tags):
                    taken.append(name)
                    drawn[attribute].append(value)
            if not drawn[attribute]:
                return None
        return {attribute: drawn[attribute] for attribute in domain.attributes}
