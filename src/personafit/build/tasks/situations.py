"""What follows from who people are, and where, when and on what they turn to the assistant.

From demographics follow tags such as minor, working or parent, read from the facets alone, so people who come from elsewhere have
them too; nothing follows from gender or origin. Of situations only what goes together is drawn: nobody is at work on a Sunday.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from personafit._hashing import draw
from personafit.build.prompts import DATA, checked, read_toml
from personafit.build.tasks.ontology import Profile, Tag
from personafit.people import FacetValue

OUR_SITUATIONS = DATA / "situations.toml"
WEEKEND = ("Saturday", "Sunday")
ADULT, SENIOR = 18, 65
_STUDENT = re.compile(r"\b(?:student|pupil)\b|学生", re.IGNORECASE)
_RETIRED = re.compile(r"\b(?:retired|pensioner)\b|退休", re.IGNORECASE)
_NO_JOB = re.compile(r"looking for work|unemployed|at home with|homemaker|找工作|待业|在家带", re.IGNORECASE)
_CHILD = re.compile(r"\b(?:child|children|kids?|sons?|daughters?|toddler|baby)\b|孩|儿子|女儿", re.IGNORECASE)
_GROWN = re.compile(r"grown-up|adult|成年", re.IGNORECASE)
_ALONE = re.compile(r"\b(?:lives? alone|on (?:her|his|their) own)\b|独居", re.IGNORECASE)
_RURAL = re.compile(r"village|farm|hamlet|valley|countryside|rural|村|农镇|山谷|乡", re.IGNORECASE)


def tags_of(facets: Mapping[str, FacetValue]) -> frozenset[str]:
    """What follows from somebody's demographics; without an age they are taken for an adult."""
    found = re.search(r"\d+", _text(facets, "age", "年龄"))
    age = int(found[0]) if found else ADULT
    work, home = _text(facets, "work", "occupation", "job", "职业"), home_of(facets)
    household = _text(facets, "household", "family", "家庭")
    tags = {"minor" if age < ADULT else "adult", "rural" if _RURAL.search(home) else "city"}
    if age >= SENIOR:
        tags.add("senior")
    if _STUDENT.search(work):
        tags.add("student")
    elif _RETIRED.search(work):
        tags.add("retired")
    elif work and not _NO_JOB.search(work):
        tags.add("working")
    if _CHILD.search(household) and not _GROWN.search(household) and age >= ADULT:
        tags.add("parent")
    if _ALONE.search(household):
        tags.add("alone")
    return frozenset(tags)


def home_of(facets: Mapping[str, FacetValue]) -> str:
    """Where somebody lives, as far as it is known."""
    return _text(facets, "home", "city", "所在地", "region")


def _text(facets: Mapping[str, FacetValue], *names: str) -> str:
    for name in names:
        for path, value in facets.items():
            if path.rpartition(".")[2].casefold() == name:
                return ", ".join(value) if isinstance(value, list) else str(value)
    return ""


class Location(BaseModel):
    """A place where a task can happen, and when and with which devices."""

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
    """All there is to draw from, English to Chinese."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    times: dict[str, str]
    days: dict[str, str]
    devices: dict[str, str]
    places: list[Location]


@cache
def situation_lists(path: Path = OUR_SITUATIONS) -> SituationLists:
    """The places, times, days and devices of a file."""
    return checked(SituationLists, read_toml(path), str(path))


def draw_situation(profile: Profile, task: str, domains: Sequence[str], seed: int) -> dict[str, str]:
    """The situation of one task, in the person's language: what the place, drawn first, leaves open."""
    lists, key = situation_lists(), (seed, "situation", profile.id, task)
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
    home = home_of(profile.facets)
    return {"location": f"{home}{comma}{where}" if home else where, **found}
