"""What people are drawn from: jobs, places, names, households and habits, in data files of our own, by language.

Every element may say for which ages it holds, what it implies (`tags`) and what it goes ill with (`against`), so that
consistency is a rule about data and not a list of cases in code.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from personafit.people import Person

DATA = "personafit.factory.people"

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


@cache
def elements_text(language: str) -> str:
    """The data file of a language."""
    return files(DATA).joinpath(f"data/elements_{language}.toml").read_text(encoding="utf-8")


@cache
def elements(language: str) -> dict[str, tuple[Element, ...]]:
    """All elements of a language, by table."""
    tables = tomllib.loads(elements_text(language))
    return {name: tuple(_element(row) for row in rows) for name, rows in tables.items()}


@cache
def fields_of_work(language: str) -> tuple[str, ...]:
    """The fields jobs belong to, in the order of the file."""
    return tuple(dict.fromkeys(job.get("field") for job in elements(language)["jobs"]))


@cache
def regions(language: str) -> frozenset[str]:
    """The regions homes are in."""
    return frozenset(home.get("region") for home in elements(language)["homes"])


@cache
def decades(language: str) -> frozenset[int]:
    """The decades of age that jobs leave open."""
    ages = [job.ages for job in elements(language)["jobs"]]
    return frozenset(age // 10 for low, high in ages for age in range(low, high + 1))


@cache
def own_seeds() -> tuple[Person, ...]:
    """Our seed profiles, English and Chinese."""
    lines = files(DATA).joinpath("data/seeds.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(Person.model_validate_json(line) for line in lines if line.strip())


def _element(row: dict[str, Any] | str) -> Element:
    if isinstance(row, str):
        return Element(row)
    known = {"text", "ages", "tags", "against"}
    low, high = row.get("ages", (0, 120))
    return Element(
        text=row["text"],
        ages=(low, high),
        tags=frozenset(row.get("tags", ())),
        against=frozenset(row.get("against", ())),
        extra={name: value for name, value in row.items() if name not in known},
    )
