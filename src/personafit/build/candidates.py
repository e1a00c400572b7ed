"""Sampling of candidate people: the data they are drawn from, the combination for each number, and consistency rules.

Jobs, places, names, households and habits are data, by language. Every element may state the ages it is valid for, what it
implies (`tags`) and what it conflicts with (`against`), so that consistency is a rule about data and not a list of cases in code.
The text of an element may have placeholders, such as `Swims on {day}s`, which are filled from the lists of `[parts]`: a few patterns
make many thousands of sentences. The same seed and number give the same combination.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.benchmarks.lines import read_lines, validated
from personafit.build.prompts import DATA, checked, read_toml
from personafit.people import FacetValue, Person

T = TypeVar("T")

OURS = str(DATA / "elements_{}.toml")
TABLES = ("jobs", "homes", "names", "households", "education", "values", "interests")
# Path of each drawn habit in a profile, and the table of the data file it is drawn from.
LEAVES: dict[str, str] = {
    "Local_Life.Food_and_Drink": "food",
    "Local_Life.Entertainment": "entertainment",
    "Local_Life.Shopping": "shopping",
    "Local_Life.Outings": "outings",
    "Travel.Business": "business",
    "Travel.Leisure": "leisure",
    "Social": "social",
    "Productivity.Study_and_Work": "tools",
    "Productivity.Fitness": "fitness",
}
INTERESTS = "Content_Interests"
LISTED = "; "  # separates the interests of a line
MBTI, VALUES = "Personality.MBTI", "Personality.Values"
AXES = ("EI", "SN", "TF", "JP")
INTERESTS_DRAWN = VALUES_DRAWN = 3
GENDERS = {"en": ("woman", "man"), "zh": ("女", "男")}
PARTS = "parts"
LEARNT = ("trade", "degree")  # placeholders for what somebody learnt
DEEPEST = 6  # nesting limit of parts within parts
_GAP = re.compile(r"\{(\w+)\}")


class Element(BaseModel):
    """An attribute value a person may have, such as a job, a home or a habit."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str
    ages: tuple[int, int] = (0, 120)
    tags: frozenset[str] = frozenset()
    against: frozenset[str] = frozenset()
    """Tags of other elements it conflicts with."""
    field: str = ""
    education: str = ""
    """The levels of education that lead to a job."""
    subject: str = ""
    """The subject that somebody with this job learnt, where it cannot be any."""
    level: str = ""
    names: str = ""
    """Of a home: the `region` of the names that people there have."""
    region: str = ""
    gender: str = ""
    """Of a first name: f or m; `family` for a family name."""
    composed: bool = False
    """Whether its text had placeholders that were filled."""


class _Parts(BaseModel):
    lists: dict[str, list[str]]


class Elements:
    """The elements that people of one language are drawn from: the tables of a file, and the parts that fill placeholders."""

    def __init__(self, path: Path) -> None:
        rows = read_toml(path)
        self.path = path
        self.tables: dict[str, tuple[Element, ...]] = {}
        for name in (*TABLES, *LEAVES.values()):
            if not isinstance(rows.get(name), list) or not rows[name]:
                raise UserError(
                    f"{path} needs a list '{name}' that is not empty; ours is {OURS.format('en')}."
                )
            self.tables[name] = tuple(
                checked(Element, {"text": row} if isinstance(row, str) else row, f"{path}, {name}, {number}")
                for number, row in enumerate(rows[name], 1)
            )
        self.parts = checked(_Parts, {"lists": rows.get(PARTS, {})}, f"{path}, [{PARTS}]").lists
        for name, elements in self.tables.items():
            for element in elements:
                self._check_gaps(element.text, f"{path}, {name}, '{element.text}'")

    def _check_gaps(self, text: str, place: str, depth: int = 0) -> None:
        for gap in _GAP.findall(text):
            if not self.parts.get(gap):
                raise UserError(f"{place}: there is no list '{gap}' in [{PARTS}] to fill {{{gap}}} from.")
            if depth == DEEPEST:
                raise UserError(f"{place}: the lists of [{PARTS}] that fill {{{gap}}} refer to each other.")
            for part in self.parts[gap]:
                self._check_gaps(part, place, depth + 1)

    def fill(self, element: Element, pick: "_Pick", subject: str = "") -> Element:
        """Return the element with every placeholder filled by a draw, or a subject learnt by `subject` if there is one."""
        text = element.text
        while gap := _GAP.search(text):
            part = pick.one(self.parts[gap[1]])
            part = subject if subject and gap[1] in LEARNT else part
            text = text[: gap.start()] + part + text[gap.end() :]
        return (
            element if text == element.text else element.model_copy(update={"text": text, "composed": True})
        )

    @cached_property
    def fields_of_work(self) -> tuple[str, ...]:
        """The fields of work of the jobs, in the order of the file."""
        return tuple(dict.fromkeys(job.field for job in self.tables["jobs"]))

    @cache  # noqa: B019 - there is one for each language
    def of_age(self, table: str, age: int, tags: frozenset[str]) -> tuple[Element, ...]:
        """Return the elements valid at an age that do not conflict with any of the tags."""
        return tuple(
            one for one in self.tables[table] if one.ages[0] <= age <= one.ages[1] and not one.against & tags
        )

    @cache  # noqa: B019
    def some(self, table: str, name: str, value: str) -> tuple[Element, ...]:
        """Return the elements of a table whose field `name` has a value, such as the jobs of a field of work."""
        return tuple(one for one in self.tables[table] if getattr(one, name) == value)

    def names(self, home: Element, gender: str) -> tuple[Element, ...]:
        return tuple(one for one in self.some("names", "region", home.names) if one.gender == gender)

    def levels(self, job: Element) -> tuple[Element, ...]:
        return tuple(one for one in self.tables["education"] if one.level in job.education.split())

    def faults(self) -> Iterator[str]:
        """Yield a sentence for each home, job or age for which a table has nothing to draw."""
        for home in self.tables["homes"]:
            for kind in ("f", "m", "family"):
                if not self.names(home, kind):
                    yield f"{self.path}: there is no name of gender '{kind}' for the home '{home.text}'"
        lived = {home.tags: home for home in self.tables["homes"]}.values()
        for job in self.tables["jobs"]:
            if not self.levels(job):
                yield f"{self.path}: there is no education for the job '{job.text}'"
            ages = range(job.ages[0], job.ages[1] + 1)
            for home, age, table in product(
                lived, ages, ("households", "values", "interests", *LEAVES.values())
            ):
                if not self.of_age(table, age, job.tags | home.tags):
                    yield (
                        f"{self.path}: {table} has nothing for the job '{job.text}' at the age of {age} with the home "
                        f"'{home.text}'"
                    )


@cache
def elements(language: str) -> Elements:
    """Return the built-in elements of a language."""
    return Elements(Path(OURS.format(language)))


@cache
def own_seeds() -> tuple[Person, ...]:
    """Return the built-in seed profiles, English and Chinese."""
    return read_seeds(DATA / "seeds.jsonl", [])


def read_seeds(path: Path, languages: Sequence[str]) -> tuple[Person, ...]:
    """Read the seed profiles of a file; every language of the build needs one."""
    seeds = tuple(validated(Person, row, path, number) for number, row in read_lines(path))
    for language in languages:
        if not any(seed.language == language for seed in seeds):
            raise UserError(f"{path} has no seed profile in '{language}'; add one, or leave `seeds` out.")
    return seeds


@dataclass(frozen=True)
class ProfileDraft:
    """A sampled combination of traits, before a model has written or checked the profile."""

    id: str
    language: str
    seed: Person
    """The seed profile whose style it follows."""
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

    def person(self, words: Mapping[str, str]) -> Person:
        """Return the profile, with the writer's words in place of the drawn ones."""
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
        drawn = LISTED.join(element.text for element in self.interests)
        facets[INTERESTS] = words.get(INTERESTS, drawn).split(LISTED)
        return Person(id=self.id, language=self.language, facets=facets)

    @property
    def drawn(self) -> list[Element]:
        who = [self.job, self.home, self.household, self.education]
        return [*who, *self.values, *self.interests, *self.leaves.values()]

    def contradictions(self) -> Iterator[str]:
        drawn = self.drawn
        for element in drawn:
            if not element.ages[0] <= self.age <= element.ages[1]:
                yield f"the combination contradicts itself: age {self.age} does not go with '{element.text}'"
            for other in drawn if element.against else ():
                if element is not other and element.against & other.tags:
                    yield f"the combination contradicts itself: '{element.text}' does not go with '{other.text}'"


class CandidateSampler:
    """Samples candidate people; the same number always gives the same candidate."""

    def __init__(
        self, seeds: Sequence[Person], languages: Mapping[str, Elements], seed: int, take: int
    ) -> None:
        self._seeds = {
            language: [one for one in seeds if one.language == language] or list(seeds)
            for language in languages
        }
        self._elements, self._key = tuple(languages.items()), (str(seed), str(take))

    def draw(self, number: int) -> ProfileDraft:
        """Return candidate `number`; languages and fields of work alternate, so that all are drawn equally often."""
        turn, place = divmod(number, len(self._elements))
        language, known = self._elements[place]
        pick = _Pick(hash_text("person", *self._key, str(number)))
        field = known.fields_of_work[turn % len(known.fields_of_work)]
        job = known.fill(pick.one(known.some("jobs", "field", field)), pick)
        age = job.ages[0] + pick.below(job.ages[1] - job.ages[0] + 1)
        gender = pick.below(2)
        home = known.fill(pick.one(known.tables["homes"]), pick)
        first = known.fill(pick.one(known.names(home, ("f", "m")[gender])), pick)
        family = known.fill(pick.one(known.names(home, "family")), pick)

        tags = job.tags | home.tags

        def some(table: str, count: int) -> tuple[Element, ...]:
            drawn = pick.some(known.of_age(table, age, tags), count)
            return tuple(known.fill(element, pick) for element in drawn)

        return ProfileDraft(
            id=f"p{number:06}" + (f"-{self._key[1]}" if self._key[1] != "0" else ""),
            language=language,
            seed=pick.one(self._seeds[language]),
            age=age,
            gender=GENDERS[language][gender],
            name=family.text + first.text if language == "zh" else f"{first.text} {family.text}",
            mbti="".join(axis[pick.below(2)] for axis in AXES),
            job=job,
            home=home,
            household=some("households", 1)[0],
            education=known.fill(pick.one(known.levels(job)), pick, job.subject),
            values=some("values", VALUES_DRAWN),
            interests=some("interests", INTERESTS_DRAWN),
            leaves={leaf: some(table, 1)[0] for leaf, table in LEAVES.items()},
        )


class _Pick:
    """Draws successive numbers from the digits of a hash, hashing again when they run out."""

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

    def some(self, among: Sequence[T], count: int) -> tuple[T, ...]:
        left = list(among)
        return tuple(left.pop(self.below(len(left))) for _ in range(min(count, len(left))))
