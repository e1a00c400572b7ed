"""The ontology of preferences and tasks, as data, and the profile of a person sampled from it.

Domains have attributes with lists of values, values that exclude each other, and values barred for some people (`ontology.toml`);
tasks state the goal, what must be settled, and which preferences are relevant (`tasks.toml`). A build may name other files of the
same form. Reading them checks everything later steps rely on, so that an error names file, domain and attribute.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from personafit._errors import UserError
from personafit.build.prompts import DATA, WORDINGS, checked, read_toml
from personafit.people import FacetValue, Person
from personafit.raters.counting.preferences import AVOIDED
from personafit.raters.text import stems

OURS = DATA / "ontology.toml"
Tag = Literal["minor", "adult", "senior", "working", "student", "retired", "parent", "alone", "city", "rural"]
MOST_SEVERAL = 3  # largest number of values per person of an attribute that allows several


class DomainAttribute(BaseModel):
    """A preference a person can have in a domain, with its values in both languages."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    zh: str = Field(min_length=1, description="The attribute's Chinese name.")
    take: Literal["one", "several"] = Field(description="How many of the values a person has.")
    en: str = Field(pattern=r"\{\}", description="How it showed in a past conversation; {} is the value.")
    says_zh: str = Field(pattern=r"\{\}", description="The same in Chinese.")
    values: dict[str, str] = Field(min_length=3, description="The values, English to Chinese.")
    avoid: bool = Field(False, description="Whether the values are what a person does not want.")

    @model_validator(mode="after")
    def _told_apart(self) -> Self:
        """Check that values of one language differ in their words, so that rules can tell which of them a text names."""
        for language in ("en", "zh"):
            seen: dict[tuple[str, ...], str] = {}
            for said in (self.said(value, language) for value in self.values):
                if (first := seen.setdefault(stems(said), said)) is not said:
                    raise ValueError(f"'{said}' and '{first}' are the same words")
            if () in seen:
                raise ValueError(f"the value '{seen[()]}' has no words")
        return self

    def said(self, value: str, language: str) -> str:
        return self.values[value] if language == "zh" else value

    def shown(self, values: tuple[str, ...], language: str) -> str:
        """Return how the preference showed in a past conversation."""
        words = [self.said(value, language) for value in values]
        if language == "zh":
            return self.says_zh.replace("{}", ("或" if self.avoid else "、").join(words))
        if self.avoid:
            return self.en.replace("{}", " or ".join(words))
        joined = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
        return self.en.replace("{}", joined)


class Domain(BaseModel):
    """An area of life, with the preferences people can have in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    zh: str = Field(min_length=1, description="The domain's Chinese name.")
    attributes: dict[str, DomainAttribute] = Field(min_length=4, max_length=8)
    excludes: list[tuple[str, str]] = Field(
        default_factory=list, description="Pairs 'Attribute: value' nobody has together."
    )
    only: list[Tag] = Field(
        default_factory=list, description="Who can care about it; anybody if there is none."
    )
    barred: dict[Tag, list[str]] = Field(default_factory=dict, description="Who cannot have which values.")

    @model_validator(mode="after")
    def _known_values(self) -> Self:
        for name, one in self.attributes.items():
            if "." in name or ":" in name:
                raise ValueError(f"attribute '{name}': a name has no full stop or colon")
            if one.avoid != any(word in name.lower() for word in AVOIDED):
                raise ValueError(
                    f"attribute '{name}': what people do not want has `avoid = true` and a name that says so "
                    f"({', '.join(AVOIDED)}), and nothing else has"
                )
        values = {name: {f"{name}: {value}" for value in one.values} for name, one in self.attributes.items()}
        known = set().union(*values.values())
        for named in [*chain(*self.excludes), *chain(*self.barred.values())]:
            if named not in known:
                raise ValueError(f"'{named}' is no 'Attribute: value' of this domain")
        for tag in self.barred:
            for name, mine in values.items():
                if mine <= self.barred_for(frozenset({tag})):
                    raise ValueError(f"attribute '{name}': nothing is left for {tag}")
        return self

    def is_open_to(self, tags: frozenset[str]) -> bool:
        return not self.only or bool(tags & set(self.only))

    def allows(self, name: str, taken: Iterable[str], tags: frozenset[str]) -> bool:
        """Return whether a person with the values `taken` can have the value `name`, all written 'Attribute: value'."""
        rivals = {other for pair in self.excludes if name in pair for other in pair if other != name}
        return name not in self.barred_for(tags) and rivals.isdisjoint(taken)

    def barred_for(self, tags: frozenset[str]) -> frozenset[str]:
        return frozenset(name for tag, names in self.barred.items() if tag in tags for name in names)


class Ontology(BaseModel):
    """All domains."""

    model_config = ConfigDict(frozen=True)

    domains: dict[str, Domain]

    def attribute(self, path: str) -> DomainAttribute:
        """Return the attribute at a facet path such as 'Books.Format'."""
        domain, _, name = path.partition(".")
        return self.domains[domain].attributes[name]

    def paths(self) -> list[str]:
        return [
            f"{name}.{attribute}" for name, domain in self.domains.items() for attribute in domain.attributes
        ]

    def as_closed_lists(self) -> dict[str, Any]:
        """Return the content of a benchmark folder's ontology.json: the values in both languages."""
        return {
            name: {
                attribute: {
                    "values": [*one.values, *one.values.values()],
                    "multiple": one.take == "several",
                }
                for attribute, one in domain.attributes.items()
            }
            for name, domain in self.domains.items()
        }

    def closed(self, language: str) -> dict[str, tuple[str, ...]]:
        return self._closed["zh" if language == "zh" else "en"]

    @cached_property
    def _closed(self) -> dict[str, dict[str, tuple[str, ...]]]:
        attributes = {path: self.attribute(path) for path in self.paths()}
        return {
            language: {
                path: tuple(one.said(value, language) for value in one.values)
                for path, one in attributes.items()
            }
            for language in ("en", "zh")
        }


def read_ontology(path: Path = OURS) -> Ontology:
    """Read the domains of a file; the first error is a sentence that names file, domain and attribute."""
    ontology = checked(Ontology, {"domains": read_toml(path)}, str(path))
    if not ontology.domains or any("." in name for name in ontology.domains):
        raise UserError(f"{path} needs domains, each a table whose name has no full stop.")
    return ontology


OUR_TASKS = DATA / "tasks.toml"
DONE: dict[str, list[str]] = WORDINGS["goal"]


class TaskWording(BaseModel):
    """The texts of a task in one language."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str = Field(min_length=1, description="What the task is about, for readers.")
    wish: str = Field(min_length=1, description="What the person sets out to do; names no preference.")
    done: list[str] = Field(min_length=2, description="What must be settled, each point checkable by itself.")


class TaskTemplate(BaseModel):
    """A task in both languages, before it is given to a person."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = ""
    uses: list[str] = Field(min_length=2, description="Paths of the preferences that bear on it.")
    en: TaskWording
    zh: TaskWording

    @property
    def domains(self) -> list[str]:
        return list(dict.fromkeys(path.partition(".")[0] for path in self.uses))

    def wording(self, language: str) -> TaskWording:
        return self.zh if language == "zh" else self.en

    def goal(self, language: str) -> str:
        before, between, after = DONE["zh" if language == "zh" else "en"]
        points = self.wording(language).done
        return before + between.join(f"({number}) {point}" for number, point in enumerate(points, 1)) + after


class TaskTemplates(BaseModel):
    """A file of tasks."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    single: list[TaskTemplate] = []
    multi: list[TaskTemplate] = []


def read_definitions(ontology: Ontology, path: Path = OUR_TASKS) -> list[TaskTemplate]:
    """Read all tasks of a file, those over one domain first; every error names file and task."""
    templates = checked(TaskTemplates, read_toml(path), str(path))
    found: list[TaskTemplate] = []
    numbers: Counter[str] = Counter()
    for kind, given in (("single", templates.single), ("multi", templates.multi)):
        for number, one in enumerate(given, 1):
            place = f"{path}, {kind} task {number}, uses"
            if unknown := [name for name in one.uses if name not in ontology.paths()]:
                raise UserError(f"{place}: the ontology has no '{unknown[0]}'.")
            if (kind == "single") != (len(one.domains) == 1):
                wanted = "one domain" if kind == "single" else "several domains"
                raise UserError(f"{place}: it must name attributes of {wanted}.")
            start = f"SD-{one.domains[0]}" if kind == "single" else "MD"
            numbers[start] += 1
            found.append(one.model_copy(update={"id": f"{start}-{numbers[start]}"}))
    if missing := [name for name in ontology.domains if f"SD-{name}" not in numbers]:
        raise UserError(f"{path} has no [[single]] task for the domain '{missing[0]}'.")
    return found


MASK = "Interests.Domains"


class Profile(BaseModel):
    """A sampled person; values are the ontology's English ones whatever the person's language."""

    model_config = ConfigDict(extra="forbid")

    id: str
    language: str
    facets: dict[str, FacetValue]
    """Demographics, and other facets known before preferences were sampled."""
    tags: list[str]
    """Tags that follow from the demographics, such as minor, working, parent."""
    domains: list[str]
    """The domains the person cares about."""
    preferences: dict[str, list[str]]
    """Values by facet path, in these domains."""

    def of(self, domain: str) -> dict[str, list[str]]:
        start = f"{domain}."
        return {path[len(start) :]: v for path, v in self.preferences.items() if path.startswith(start)}

    def preference_facets(self, ontology: Ontology, domain: str | None = None) -> dict[str, FacetValue]:
        """Return preferences as facets in the person's language: a list if several values are allowed, else a text."""
        facets: dict[str, FacetValue] = {}
        for path, values in self.preferences.items():
            if domain is not None and not path.startswith(f"{domain}."):
                continue
            attribute = ontology.attribute(path)
            said = [attribute.said(value, self.language) for value in values]
            facets[path] = said if attribute.take == "several" else said[0]
        return facets

    def person(self, ontology: Ontology, summaries: dict[str, str]) -> Person:
        cares = [ontology.domains[name].zh if self.language == "zh" else name for name in self.domains]
        facets: dict[str, FacetValue] = {**self.facets, MASK: cares, **self.preference_facets(ontology)}
        return Person(id=self.id, language=self.language, facets=facets, summaries=summaries)
