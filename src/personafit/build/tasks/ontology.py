"""What people can prefer and want done, as data, and a person as drawn in these words.

Domains have attributes with lists of values, what excludes what, and who cannot have what (`ontology.toml`); tasks say what is
wanted, what must be settled, and which preferences bear on it (`tasks.toml`). A build may name other files of the same form.
Reading them checks everything that later steps rely on, so a fault is found here and names file, domain and attribute.
"""

from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from personafit._errors import UserError
from personafit.build.prompts import DATA, WORDINGS, read_toml
from personafit.people import FacetValue, Person
from personafit.raters.counting.preferences import AVOIDED
from personafit.raters.text import stems

OURS = DATA / "ontology.toml"
Tag = Literal["minor", "adult", "senior", "working", "student", "retired", "parent", "alone", "city", "rural"]
TAGS: tuple[str, ...] = get_args(Tag)
MOST_SEVERAL = 3  # values one person has of an attribute that allows several


class DomainAttribute(BaseModel):
    """One preference a person can have in a domain, with its values in both languages."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    zh: str = Field(min_length=1, description="The attribute's Chinese name.")
    take: Literal["one", "several"] = Field(description="How many of the values a person has.")
    en: str = Field(pattern=r"\{\}", description="How it showed in a past conversation; {} is the value.")
    says_zh: str = Field(pattern=r"\{\}", description="The same in Chinese.")
    values: dict[str, str] = Field(min_length=3, description="The values, English to Chinese.")
    avoid: bool = Field(False, description="Whether the values are what a person does not want.")

    def said(self, value: str, language: str) -> str:
        """A value as people of a language have it."""
        return self.values[value] if language == "zh" else value

    def shown(self, values: tuple[str, ...], language: str) -> str:
        """How the preference showed in a past conversation."""
        words = [self.said(value, language) for value in values]
        if language == "zh":
            return self.says_zh.replace("{}", ("或" if self.avoid else "、").join(words))
        if self.avoid:
            return self.en.replace("{}", " or ".join(words))
        joined = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
        return self.en.replace("{}", joined)


class Domain(BaseModel):
    """One area of life, with what people can prefer in it."""

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
    leans: dict[Tag, list[str]] = Field(default_factory=dict, description="Who gets which values sooner.")

    def is_open_to(self, tags: frozenset[str]) -> bool:
        """Whether somebody can care about it."""
        return not self.only or bool(tags & set(self.only))

    @cached_property
    def rivals(self) -> dict[str, frozenset[str]]:
        """Each value that excludes others, as 'Attribute: value', with those."""
        found: dict[str, set[str]] = {}
        for one, other in self.excludes:
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
        return {name: frozenset(others) for name, others in found.items()}

    def barred_for(self, tags: frozenset[str]) -> frozenset[str]:
        """The values somebody cannot have."""
        return frozenset(name for tag, names in self.barred.items() if tag in tags for name in names)

    def leant_to(self, tags: frozenset[str]) -> frozenset[str]:
        """The values somebody gets sooner than others."""
        return frozenset(name for tag, names in self.leans.items() if tag in tags for name in names)


class Ontology(BaseModel):
    """All domains."""

    model_config = ConfigDict(frozen=True)

    domains: dict[str, Domain]

    def attribute(self, path: str) -> DomainAttribute:
        """The attribute at a facet path such as 'Books.Format'."""
        domain, _, name = path.partition(".")
        return self.domains[domain].attributes[name]

    def paths(self) -> list[str]:
        """Every facet path."""
        return [
            f"{name}.{attribute}" for name, domain in self.domains.items() for attribute in domain.attributes
        ]

    def as_closed_lists(self) -> dict[str, Any]:
        """The content of a benchmark folder's ontology.json: the values in both languages."""
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
        """Facet path to the values people of a language can have."""
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
    """The domains of a file; the first fault is a sentence that names file, domain and attribute."""
    domains = {name: _domain(path, name, table) for name, table in read_toml(path).items()}
    if not domains:
        raise UserError(f"{path} has no domain; each is a table with zh and attributes.")
    return Ontology(domains=domains)


def _domain(path: Path, name: str, table: Any) -> Domain:
    if "." in name or not isinstance(table, dict):
        raise UserError(f"{path}: domain '{name}' must be a table, and its name without a full stop.")
    try:
        domain = Domain.model_validate(table)
    except ValidationError as error:
        raise UserError(f"{path}, {_place(name, error)}: {error.errors()[0]['msg']}.") from error
    for attribute, one in domain.attributes.items():
        _check_values(path, name, attribute, one)
    named = [("excludes", value) for pair in domain.excludes for value in pair]
    named += [("barred", value) for values in domain.barred.values() for value in values]
    named += [("leans", value) for values in domain.leans.values() for value in values]
    for field, value in named:
        attribute, _, said = value.partition(": ")
        if attribute not in domain.attributes or said not in domain.attributes[attribute].values:
            raise UserError(
                f"{path}, domain '{name}', {field}: '{value}' is no 'Attribute: value' of this domain."
            )
    for attribute, one in domain.attributes.items():
        for tag in domain.barred:
            gone = domain.barred_for(frozenset({tag}))
            if all(f"{attribute}: {value}" in gone for value in one.values):
                raise UserError(
                    f"{path}, domain '{name}', attribute '{attribute}': nothing is left for {tag}."
                )
    return domain


def _check_values(path: Path, domain: str, attribute: str, one: DomainAttribute) -> None:
    """Values of one language must differ in their words, or no rule can tell which of them a text names."""
    place = f"{path}, domain '{domain}', attribute '{attribute}'"
    if "." in attribute or ":" in attribute:
        raise UserError(f"{place}: a name has no full stop or colon.")
    if one.avoid != any(word in attribute.lower() for word in AVOIDED):
        raise UserError(
            f"{place}: what people do not want has `avoid = true` and a name that says so ({', '.join(AVOIDED)}), "
            "and nothing else has."
        )
    for language in ("en", "zh"):
        seen: dict[tuple[str, ...], str] = {}
        for value in one.values:
            said = one.said(value, language)
            form = stems(said)
            if not form:
                raise UserError(f"{place}: value '{value}' has no {language} words.")
            if form in seen:
                raise UserError(f"{place}: '{said}' and '{seen[form]}' are the same words.")
            seen[form] = said


def _place(domain: str, error: ValidationError) -> str:
    where = [str(part) for part in error.errors()[0]["loc"]]
    if where[:1] == ["attributes"] and len(where) > 1:
        field = f", field '{'.'.join(where[2:])}'" if where[2:] else ""
        return f"domain '{domain}', attribute '{where[1]}'{field}"
    return f"domain '{domain}', field '{'.'.join(where)}'"


OUR_TASKS = DATA / "tasks.toml"
DONE: dict[str, list[str]] = WORDINGS["goal"]


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


def read_definitions(ontology: Ontology, path: Path = OUR_TASKS) -> list[TaskTemplate]:
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


MASK = "Interests.Domains"


class Profile(BaseModel):
    """One drawn person; values are the ontology's English ones whatever the person's language."""

    model_config = ConfigDict(extra="forbid")

    id: str
    language: str
    facets: dict[str, FacetValue]
    """Demographics, and whatever else was known before preferences were drawn."""
    tags: list[str]
    """What follows from the demographics, such as minor, working, parent."""
    interests: dict[str, bool]
    """The mask: every domain, and whether the person cares about it."""
    preferences: dict[str, list[str]]
    """Facet path to values, in the domains they care about."""
    reasons: dict[str, str] = Field(default_factory=dict)
    """Why a model changed a preference, by path."""

    @property
    def domains(self) -> list[str]:
        """The domains they care about."""
        return [domain for domain, cares in self.interests.items() if cares]

    def of(self, domain: str) -> dict[str, list[str]]:
        """Their preferences in a domain, by attribute."""
        start = f"{domain}."
        return {path[len(start) :]: v for path, v in self.preferences.items() if path.startswith(start)}

    def preference_facets(self, ontology: Ontology, domain: str | None = None) -> dict[str, FacetValue]:
        """Preferences as facets in the person's language: a list where several are allowed, else a text."""
        facets: dict[str, FacetValue] = {}
        for path, values in self.preferences.items():
            if domain is not None and not path.startswith(f"{domain}."):
                continue
            attribute = ontology.attribute(path)
            said = [attribute.said(value, self.language) for value in values]
            facets[path] = said if attribute.take == "several" else said[0]
        return facets

    def person(self, ontology: Ontology, summaries: dict[str, str]) -> Person:
        """The person as a benchmark has them."""
        cares = [ontology.domains[name].zh if self.language == "zh" else name for name in self.domains]
        facets: dict[str, FacetValue] = {**self.facets, MASK: cares, **self.preference_facets(ontology)}
        return Person(id=self.id, language=self.language, facets=facets, summaries=summaries)
