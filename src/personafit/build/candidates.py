"""Candidates drawn by number: what people are drawn from, the combination of a number, and what cannot be true of one person.

Jobs, places, names, households and habits are data, by language. Every element may say for which ages it holds, what it
implies (`tags`) and what it goes ill with (`against`), so that consistency is a rule about data and not a list of cases in code.
The same seed and number give the same combination.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.benchmarks.lines import read_lines, validated
from personafit.build.prompts import DATA, read_toml
from personafit.people import FacetValue, Person, facet_values

OURS = str(DATA / "elements_{}.toml")
TABLES = ("jobs", "homes", "names", "households", "education", "values", "interests")

# Where each drawn habit stands in a profile, and the table of the data file it is drawn from.
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
INTERESTS_DRAWN = 3
MBTI, VALUES = "Personality.MBTI", "Personality.Values"


INTEREST = "interest"
HABITS = frozenset(
    (MBTI, VALUES, *LEAVES, INTERESTS)
)  # what makes somebody this person and no other of the same job


@dataclass(frozen=True, slots=True)
class Element:
    """Something a person may do, have or be."""

    text: str
    ages: tuple[int, int] = (0, 120)
    tags: frozenset[str] = frozenset()
    against: frozenset[str] = frozenset()
    """Tags of other elements it goes ill with."""
    extra: Mapping[str, str] = field(default_factory=dict, hash=False)

    def get(self, name: str) -> str:
        """A further text of the element, such as the field a job belongs to."""
        return self.extra.get(name, "")


class Elements:
    """What people of one language are drawn from: the tables of a file; whatever may be drawn is looked for once."""

    def __init__(self, path: Path) -> None:
        rows = read_toml(path)
        self.path, self.text = path, path.read_text(encoding="utf-8")
        self.tables: dict[str, tuple[Element, ...]] = {}
        self._found: dict[Hashable, tuple[Element, ...]] = {}
        for name in (*TABLES, *LEAVES.values()):
            if not isinstance(rows.get(name), list) or not rows[name]:
                raise UserError(
                    f"{path} needs a list '{name}' that is not empty; ours is {OURS.format('en')}."
                )
            self.tables[name] = tuple(
                _element(row, f"{path}, {name}, number {number}") for number, row in enumerate(rows[name], 1)
            )

    @cached_property
    def fields_of_work(self) -> tuple[str, ...]:
        """The fields jobs belong to, in the order of the file."""
        return tuple(dict.fromkeys(job.get("field") for job in self.tables["jobs"]))

    @cached_property
    def regions(self) -> frozenset[str]:
        """The regions homes are in."""
        return frozenset(home.get("region") for home in self.tables["homes"])

    @cached_property
    def decades(self) -> frozenset[int]:
        """The decades of age that jobs leave open."""
        return frozenset(
            age // 10 for job in self.tables["jobs"] for age in range(job.ages[0], job.ages[1] + 1)
        )

    def of_age(self, table: str, age: int, tags: frozenset[str] = frozenset()) -> tuple[Element, ...]:
        """The elements that hold at an age and do not go ill with any of the tags."""
        return self._some(
            (table, age, tags),
            lambda one: one.ages[0] <= age <= one.ages[1] and not one.against & tags,
        )

    def jobs(self, field: str) -> tuple[Element, ...]:
        """The jobs of a field of work."""
        return self._some(("jobs", field), lambda one: one.get("field") == field)

    def names(self, home: Element, gender: str) -> tuple[Element, ...]:
        """The names people of a gender, or a family, have where somebody lives."""
        region = home.get("names")
        return self._some(
            ("names", region, gender),
            lambda one: one.get("region") == region and one.get("gender") == gender,
        )

    def levels(self, job: Element) -> tuple[Element, ...]:
        """The education that leads to a job."""
        allowed = job.get("education")
        return self._some(("education", allowed), lambda one: one.get("level") in allowed.split())

    def _some(self, key: tuple[Any, ...], fits: Callable[[Element], bool]) -> tuple[Element, ...]:
        if key not in self._found:
            self._found[key] = tuple(filter(fits, self.tables[key[0]]))
        return self._found[key]

    def faults(self) -> Iterator[str]:
        """Sentences about what leaves nothing to be drawn for somebody."""
        for home in self.tables["homes"]:
            for kind in ("f", "m", "family"):
                if not self.names(home, kind):
                    yield f"{self.path}: there is no name of gender '{kind}' for the home '{home.text}'"
        for job in self.tables["jobs"]:
            if not self.levels(job):
                yield f"{self.path}: there is no education for the job '{job.text}'"
            for age in range(job.ages[0], job.ages[1] + 1):
                for table in ("households", "interests", *LEAVES.values()):
                    if not self.of_age(table, age, job.tags if table in LEAVES.values() else frozenset()):
                        yield f"{self.path}: {table} has nothing for the job '{job.text}' at the age of {age}"


@cache
def elements(language: str) -> Elements:
    """Ours of a language."""
    return Elements(Path(OURS.format(language)))


@cache
def own_seeds() -> tuple[Person, ...]:
    """Our seed profiles, English and Chinese."""
    lines = (DATA / "seeds.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(Person.model_validate_json(line) for line in lines if line.strip())


def _element(row: dict[str, Any] | str, place: str) -> Element:
    if isinstance(row, str):
        return Element(row)
    known = {"text", "ages", "tags", "against"}
    try:
        low, high = map(int, row.get("ages", (0, 120)))
        return Element(
            text=str(row["text"]),
            ages=(low, high),
            tags=frozenset(row.get("tags", ())),
            against=frozenset(row.get("against", ())),
            extra={name: str(value) for name, value in row.items() if name not in known},
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{place}: an element is a text, or a table with text, ages = [from, to], tags and against."
        ) from error


def read_seeds(path: Path | None, languages: list[str]) -> tuple[Person, ...]:
    """The seeds of a file, or ours; every language of the build needs one."""
    if path is None:
        return own_seeds()
    seeds = tuple(validated(Person, row, path, number) for number, row in read_lines(path))
    for language in languages:
        if not any(seed.language == language for seed in seeds):
            raise UserError(f"{path} has no seed profile in '{language}'; add one, or leave `seeds` out.")
    return seeds


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

    def __init__(
        self, seeds: Sequence[Person], languages: Mapping[str, Elements], seed: int, take: int
    ) -> None:
        self._seeds = {
            language: [one for one in seeds if one.language == language] or list(seeds)
            for language in languages
        }
        self._elements, self._key = tuple(languages.items()), (str(seed), str(take))

    def draw(self, number: int) -> ProfileDraft:
        """The candidate of a number; languages and fields of work take turns, so that all are drawn alike often."""
        turn, place = divmod(number, len(self._elements))
        language, known = self._elements[place]
        pick = _Pick(hash_text("person", *self._key, str(number)))
        job = pick.one(known.jobs(known.fields_of_work[turn % len(known.fields_of_work)]))
        age = job.ages[0] + pick.below(job.ages[1] - job.ages[0] + 1)
        gender = pick.below(2)
        home = pick.one(known.tables["homes"])
        first = pick.one(known.names(home, ("f", "m")[gender]))
        family = pick.one(known.names(home, "family"))
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
            household=pick.one(known.of_age("households", age)),
            education=pick.one(known.levels(job)),
            values=pick.some(known.tables["values"], VALUES_DRAWN),
            interests=pick.some(known.of_age("interests", age), INTERESTS_DRAWN),
            leaves={leaf: pick.one(known.of_age(table, age, job.tags)) for leaf, table in LEAVES.items()},
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


ADULT = 18
YOUNGEST_GRADUATE = {"school": 15, "training": 18, "degree": 21, "postgraduate": 24}
YOUNGEST_PARENT_OF = {"small-children": 20, "children": 24, "grown-children": 42, "grandchildren": 46}
OLDEST_PARENT_OF = {"small-children": 50, "children": 62}


def contradictions(drawn: ProfileDraft) -> Iterator[str]:
    """Why a combination cannot be one person; nothing where it can."""
    for element in drawn.all:
        low, high = element.ages
        if not low <= drawn.age <= high:
            yield f"age {drawn.age} does not go with '{element.text}'"
    level = drawn.education.get("level")
    if drawn.age < YOUNGEST_GRADUATE.get(level, 0):
        yield f"age {drawn.age} does not go with '{drawn.education.text}'"
    if level not in drawn.job.get("education").split():
        yield f"'{drawn.education.text}' does not go with '{drawn.job.text}'"
    for tag, age in YOUNGEST_PARENT_OF.items():
        if tag in drawn.household.tags and drawn.age < age:
            yield f"age {drawn.age} does not go with '{drawn.household.text}'"
    for tag, age in OLDEST_PARENT_OF.items():
        if tag in drawn.household.tags and drawn.age > age:
            yield f"age {drawn.age} does not go with '{drawn.household.text}'"
    if drawn.age < ADULT and "adult" in {tag for element in drawn.all for tag in element.tags}:
        yield f"age {drawn.age} does not go with '{_tagged(drawn, 'adult')}'"
    for element in drawn.all:
        for other in drawn.all if element.against else ():
            if element is not other and element.against & other.tags:
                yield f"'{element.text}' does not go with '{other.text}'"


def _tagged(drawn: ProfileDraft, tag: str) -> str:
    found: Element = next(element for element in drawn.all if tag in element.tags)
    return found.text


def told_apart(drawn: ProfileDraft, person: Person) -> dict[str, Any]:
    """What a candidate is weighed and compared by: a part of its row."""
    kinds = [("field of work", drawn.field), ("region", drawn.region), ("decade of age", str(drawn.decade))]
    kinds += [(INTEREST, interest.text) for interest in drawn.interests]
    habits = {path: value for path, value in person.facets.items() if path in HABITS}
    return {
        "kinds": kinds,
        "block": f"{drawn.language}|{drawn.job.text}|{drawn.gender}|{drawn.decade}",
        "habits": " ".join(facet_values(habits)),
    }
