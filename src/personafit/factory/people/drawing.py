"""A candidate as a combination of elements, drawn by its number: the same seed and number give the same combination."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeVar

from personafit._hashing import hash_text
from personafit.factory.people.elements import (
    INTERESTS,
    INTERESTS_DRAWN,
    LEAVES,
    MBTI,
    VALUES,
    Element,
    elements,
    fields_of_work,
)
from personafit.people import FacetValue, Person

T = TypeVar("T")

AXES = ("EI", "SN", "TF", "JP")
VALUES_DRAWN = 3
GENDERS = {"en": ("woman", "man"), "zh": ("女", "男")}


@dataclass(frozen=True)
class ProfileDraft:
    """A sampled combination of traits, before a model has written or checked the profile."""

    number: int
    id: str
    """The person's id."""
    language: str
    seed: Person
    """The seed profile whose manner it follows."""
    age: int
    gender: str
    name: str
    mbti: str
    job: Element
    home: Element
    household: Element
    education: Element
    values: tuple[Element, ...]
    interests: tuple[Element, ...]
    leaves: dict[str, Element]

    @property
    def field(self) -> str:
        """The field of work."""
        return self.job.get("field")

    @property
    def region(self) -> str:
        """The region lived in."""
        return self.home.get("region")

    @property
    def decade(self) -> int:
        """The decade of age."""
        return self.age // 10 * 10

    @cached_property
    def all(self) -> tuple[Element, ...]:
        """Every element of it."""
        return (
            self.job,
            self.home,
            self.household,
            self.education,
            *self.values,
            *self.interests,
            *self.leaves.values(),
        )

    def person(self, words: dict[str, str] | None = None) -> Person:
        """The profile, with what a writer put into words in place of what was drawn."""
        words = words or {}
        facets: dict[str, FacetValue] = {
            "Name": self.name,
            "Demographics.Age": self.age,
            "Demographics.Gender": self.gender,
            "Demographics.Home": self.home.text,
            "Demographics.Household": self.household.text,
            "Demographics.Work": self.job.text,
            "Demographics.Education": self.education.text,
            MBTI: self.mbti,
            VALUES: [element.text for element in self.values],
        }
        facets |= {leaf: words.get(leaf, element.text) for leaf, element in self.leaves.items()}
        facets[INTERESTS] = [element.text for element in self.interests]
        return Person(id=self.id, language=self.language, facets=facets)


class CandidateSampler:
    """Samples candidate people; the same number always gives the same candidate."""

    def __init__(self, seeds: Sequence[Person], languages: Sequence[str], seed: int, take: int) -> None:
        self._seeds = {
            language: [one for one in seeds if one.language == language] or list(seeds)
            for language in languages
        }
        self._languages, self._key = tuple(languages), (str(seed), str(take))

    def draw(self, number: int) -> ProfileDraft:
        """The candidate of a number; languages and fields of work take turns, so that all are drawn alike often."""
        language = self._languages[number % len(self._languages)]
        turn = number // len(self._languages)
        tables, pick = elements(language), _Pick(hash_text("person", *self._key, str(number)))
        fields = fields_of_work(language)
        job = pick.one(_with(language, "jobs", "field", fields[turn % len(fields)]))
        age = job.ages[0] + pick.below(job.ages[1] - job.ages[0] + 1)
        gender = pick.below(2)
        home = pick.one(tables["homes"])
        first = pick.one(_names(language, home.get("names"), ("f", "m")[gender]))
        family = pick.one(_names(language, home.get("names"), "family"))
        return ProfileDraft(
            number=number,
            id=f"p{number:06}" + (f"-{self._key[1]}" if self._key[1] != "0" else ""),
            language=language,
            seed=pick.one(self._seeds[language]),
            age=age,
            gender=GENDERS[language][gender],
            name=family.text + first.text if language == "zh" else f"{first.text} {family.text}",
            mbti="".join(axis[pick.below(2)] for axis in AXES),
            job=job,
            home=home,
            household=pick.one(_of_age(language, "households", age)),
            education=pick.one(_levels(language, job.get("education"))),
            values=pick.some(tables["values"], VALUES_DRAWN),
            interests=pick.some(_of_age(language, "interests", age), INTERESTS_DRAWN),
            leaves={
                leaf: pick.one(_of_age(language, table, age, job.tags)) for leaf, table in LEAVES.items()
            },
        )


class _Pick:
    """Draws one after the other from the digits of a hash, hashed on when they run out."""

    def __init__(self, key: str) -> None:
        self._key, self._left = key, int(key, 16)

    def below(self, among: int) -> int:
        if self._left < 2**32:
            self._key = hash_text(self._key)
            self._left = int(self._key, 16)
        self._left, drawn = divmod(self._left, among)
        return drawn

    def one(self, among: Sequence[T]) -> T:
        return among[self.below(len(among))]

    def some(self, among: Sequence[Element], count: int) -> tuple[Element, ...]:
        left = list(among)
        return tuple(left.pop(self.below(len(left))) for _ in range(min(count, len(left))))


# What may be drawn is the same for many, and looked for once.


@cache
def _of_age(language: str, table: str, age: int, tags: frozenset[str] = frozenset()) -> tuple[Element, ...]:
    """The elements that hold at an age and do not go ill with any of the tags."""
    return tuple(
        one
        for one in elements(language)[table]
        if one.ages[0] <= age <= one.ages[1] and not one.against & tags
    )


@cache
def _with(language: str, table: str, name: str, value: str) -> tuple[Element, ...]:
    return tuple(one for one in elements(language)[table] if one.get(name) == value)


@cache
def _names(language: str, region: str, gender: str) -> tuple[Element, ...]:
    return tuple(one for one in _with(language, "names", "region", region) if one.get("gender") == gender)


@cache
def _levels(language: str, allowed: str) -> tuple[Element, ...]:
    return tuple(one for one in elements(language)["education"] if one.get("level") in allowed.split())
