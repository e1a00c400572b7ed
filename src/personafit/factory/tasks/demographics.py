"""Who people are, drawn evenly over ages, places, work and households, and what follows from it for their tastes.

What follows are tags such as minor, working or parent. They are read from the facets alone, so people who come from
elsewhere have them too. Nothing follows from gender or origin.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from personafit._errors import UserError
from personafit._hashing import draw
from personafit.factory.tasks.balance import ValueBalancer
from personafit.factory.tasks.ontology import read_toml
from personafit.people import FacetValue

ADULT, SENIOR = 18, 65
_STUDENT = re.compile(r"\b(?:student|pupil)\b|学生", re.IGNORECASE)
_RETIRED = re.compile(r"\b(?:retired|pensioner)\b|退休", re.IGNORECASE)
_NO_JOB = re.compile(r"looking for work|unemployed|at home with|homemaker|找工作|待业|在家带", re.IGNORECASE)
_CHILD = re.compile(r"\b(?:child|children|kids?|sons?|daughters?|toddler|baby)\b|孩|儿子|女儿", re.IGNORECASE)
_GROWN = re.compile(r"grown-up|adult|成年", re.IGNORECASE)
_ALONE = re.compile(r"\b(?:lives? alone|on (?:her|his|their) own)\b|独居", re.IGNORECASE)
_RURAL = re.compile(r"village|farm|hamlet|valley|countryside|rural|村|农镇|山谷|乡", re.IGNORECASE)


class _Place(BaseModel):
    model_config = ConfigDict(extra="forbid")
    en: str
    zh: str
    city: bool
    languages: list[str]


class _Aged(BaseModel):
    model_config = ConfigDict(extra="forbid")
    en: str
    zh: str
    ages: tuple[int, int]

    def suits(self, age: int) -> bool:
        return self.ages[0] <= age <= self.ages[1]


class _Lists(BaseModel):
    model_config = ConfigDict(extra="forbid")
    bands: list[tuple[int, int]]
    genders: dict[str, tuple[str, float]]
    places: list[_Place]
    work: list[_Aged]
    households: list[_Aged]


@lru_cache(maxsize=1)
def _lists() -> _Lists:
    return _Lists.model_validate(read_toml(Path(__file__).with_name("demographics.toml")))


class Demographics:
    """Draws who people are, one after the other."""

    def __init__(self, seed: int, languages: list[str]) -> None:
        lists = _lists()
        self._lists, self._seed, self._languages = lists, seed, languages
        self._bands = ValueBalancer("Age", [str(number) for number in range(len(lists.bands))], seed)
        self._genders = ValueBalancer(
            "Gender", list(lists.genders), seed, {name: share for name, (_, share) in lists.genders.items()}
        )
        self._places = ValueBalancer("Home", [place.en for place in lists.places], seed)
        self._work = ValueBalancer("Work", [one.en for one in lists.work], seed)
        self._households = ValueBalancer("Household", [one.en for one in lists.households], seed)

    def next(self, number: int) -> tuple[str, dict[str, FacetValue]]:
        """The language and the demographics of one person."""
        who, lists = str(number), self._lists
        language = self._languages[number % len(self._languages)]
        low, high = lists.bands[int(self._taken(self._bands, who, self._bands.counts))]
        age = low + draw(self._seed, "age", who, among=high - low + 1)
        work = self._taken(self._work, who, [one.en for one in lists.work if one.suits(age)])
        minding = bool(_NO_JOB.search(work) and _CHILD.search(work))
        homes = [
            one.en for one in lists.households if one.suits(age) and (not minding or _CHILD.search(one.en))
        ]
        drawn = {
            "Gender": self._taken(self._genders, who, lists.genders),
            "Home": self._taken(
                self._places, who, [one.en for one in lists.places if language in one.languages]
            ),
            "Work": work,
            "Household": self._taken(self._households, who, homes),
        }
        words = {one.en: one.zh for one in lists.places}
        words |= {one.en: one.zh for one in (*lists.work, *lists.households)}
        words |= {name: zh for name, (zh, _) in lists.genders.items()}
        facets: dict[str, FacetValue] = {"Demographics.Age": age}
        for name, value in drawn.items():
            facets[f"Demographics.{name}"] = words[value] if language == "zh" else value
        return language, facets

    def _taken(self, balance: ValueBalancer, who: str, allowed: Iterable[str]) -> str:
        value = balance.choose(who, allowed)
        if value is None:
            raise UserError(f"demographics.toml leaves nothing for {balance.name}.")
        balance.take(value)
        return value


def tags_of(facets: Mapping[str, FacetValue]) -> frozenset[str]:
    """What follows from somebody's demographics; without an age they are taken for an adult."""
    age = next((v for v in (_number(facets, name) for name in ("age", "年龄")) if v is not None), None)
    work, home = (
        _texts(facets, "work", "occupation", "job", "职业"),
        _texts(facets, "home", "region", "city", "所在地"),
    )
    household = _texts(facets, "household", "family", "家庭")
    tags = {"minor" if age is not None and age < ADULT else "adult"}
    tags |= {"senior"} if age is not None and age >= SENIOR else set()
    if _STUDENT.search(work):
        tags.add("student")
    elif _RETIRED.search(work):
        tags.add("retired")
    elif work and not _NO_JOB.search(work):
        tags.add("working")
    if _CHILD.search(household) and not _GROWN.search(household) and "minor" not in tags:
        tags.add("parent")
    if _ALONE.search(household):
        tags.add("alone")
    tags.add("rural" if _RURAL.search(home) else "city")
    return frozenset(tags)


def home_of(facets: Mapping[str, FacetValue]) -> str:
    """Where somebody lives, as far as it is known."""
    return _texts(facets, "home", "city", "所在地", "region")


def _texts(facets: Mapping[str, FacetValue], *names: str) -> str:
    for name in names:
        for path, value in facets.items():
            if path.rpartition(".")[2].casefold() == name:
                return ", ".join(value) if isinstance(value, list) else str(value)
    return ""


def _number(facets: Mapping[str, FacetValue], name: str) -> int | None:
    match = re.search(r"\d+", _texts(facets, name))
    return int(match[0]) if match else None
