"""What follows from who people are, and where, when and on what they turn to the assistant: values handed out in their shares.

Whoever comes next gets the value that is furthest behind its share among those they can have; equals are decided by a
seeded draw. A lean moves a value half a person forward, so it decides who gets it and hardly how many do. From demographics
follow tags such as minor, working or parent, read from the facets alone, so people who come from elsewhere have them too; nothing
follows from gender or origin. Of situations only what goes together is drawn: nobody is at work on a Sunday.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from pydantic import BaseModel, ConfigDict

from personafit._hashing import hash_text
from personafit.build.prompts import DATA, read_toml
from personafit.build.tasks.ontology import Profile, Tag
from personafit.people import FacetValue

LEAN = 0.5  # of a person
SLACK = 0.1  # of all: by how much a value may be off its share


class ValueBalancer:
    """Hands out the values of one attribute so that each keeps to its share."""

    def __init__(
        self, name: str, values: Sequence[str], seed: int, shares: Mapping[str, float] | None = None
    ) -> None:
        self.name, self._seed = name, seed
        given = dict(shares or {})
        rest = [value for value in values if value not in given]
        left = max(0.0, 1.0 - sum(given.values()))
        self.shares = {value: given.get(value, left / len(rest) if rest else 0.0) for value in values}
        self.counts = dict.fromkeys(values, 0)

    @property
    def total(self) -> int:
        """How many were given out."""
        return sum(self.counts.values())

    def choose(self, who: str, allowed: Iterable[str], leant_to: Iterable[str] = ()) -> str | None:
        """The value this one should have; None if none is allowed. It counts only once it is taken."""
        total, leaning = self.total + 1, set(leant_to)

        def rank(value: str) -> tuple[float, str]:
            behind = self.shares[value] * total - self.counts[value] + (LEAN if value in leaning else 0.0)
            return round(behind, 9), hash_text(str(self._seed), self.name, who, value)

        # Values with a share of nothing are left to nobody.
        return max((value for value in allowed if self.shares[value] > 0), key=rank, default=None)

    def take(self, value: str) -> None:
        """Count a value as given out."""
        self.counts[value] += 1

    def wanted(self, value: str) -> float:
        """How often a value should have been given out by now."""
        return self.shares[value] * self.total

    def change(self, old: str, new: str) -> bool:
        """Exchange one value for another unless that moves a count off its share; whether it was done."""
        missing, surplus = self.wanted(old) - self.counts[old] + 1, self.counts[new] + 1 - self.wanted(new)
        if max(missing, surplus) > self._leeway:
            return False
        self.counts[old] -= 1
        self.counts[new] += 1
        return True

    def misses(self) -> list[str]:
        """The values whose count is off their share by more than may be."""
        return [v for v in self.counts if abs(self.counts[v] - self.wanted(v)) > self._leeway + 1e-9]

    @property
    def _leeway(self) -> float:
        return max(1.0, SLACK * self.total)

    @property
    def evenness(self) -> float | None:
        """Entropy of the counts over the most it could be with so many given out; None below two."""
        return evenness(self.counts)


def evenness(counts: Mapping[str, int]) -> float | None:
    """Normalised entropy: 1 when all values are as frequent as can be, 0 when all are the same."""
    total = sum(counts.values())
    most = min(len(counts), total)
    if most < 2:
        return None
    whole, extra = divmod(total, most)
    best = _entropy([whole + (number < extra) for number in range(most)])
    return _entropy(list(counts.values())) / best


def _entropy(counts: Sequence[int]) -> float:
    total = sum(counts)
    return sum(count / total * math.log(total / count) for count in counts if count)


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


WEEKEND = ("Saturday", "Sunday")


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


class Lists(BaseModel):
    """All there is to draw from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    times: dict[str, str]
    days: dict[str, str]
    devices: dict[str, str]
    places: list[Location]


@lru_cache(maxsize=1)
def situation_lists() -> Lists:
    """Our places, times, days and devices."""
    return Lists.model_validate(read_toml(DATA / "situations.toml"))


class Situations:
    """Draws situations one after the other and keeps count."""

    def __init__(self, seed: int) -> None:
        lists = situation_lists()
        self._lists = lists
        self._balances = {
            "place": ValueBalancer("place", [place.en for place in lists.places], seed),
            "time": ValueBalancer("time", list(lists.times), seed),
            "day": ValueBalancer("day", list(lists.days), seed),
            "device": ValueBalancer("device", list(lists.devices), seed),
        }
        self._like = {place.en: ValueBalancer(place.en, list(place.like), seed) for place in lists.places}

    def next(self, profile: Profile, task: str, domains: Sequence[str]) -> dict[str, str]:
        """The situation of one task, in the person's language."""
        who, lists = f"{profile.id}/{task}", self._lists
        fitting = {
            place.en: place
            for place in lists.places
            if (not place.only or set(place.only) & set(profile.tags))
            and not set(place.not_for) & set(domains)
        }
        place = fitting[self._take(self._balances["place"], who, fitting)]
        day = self._take(
            self._balances["day"],
            who,
            [day for day in lists.days if not place.weekdays or day not in WEEKEND],
        )
        time = self._take(self._balances["time"], who, place.times)
        device = self._take(self._balances["device"], who, place.devices)
        like = self._take(self._like[place.en], who, place.like)
        home = home_of(profile.facets)
        if profile.language == "zh":
            where = f"{home}，{place.zh}" if home else place.zh
            said = (where, lists.devices[device], lists.times[time], lists.days[day], place.like[like])
        else:
            where = f"{home}, {place.en}" if home else place.en
            said = (where, device, time, day, like)
        return dict(zip(("location", "device", "time_of_day", "day", "surroundings"), said, strict=True))

    def _take(self, balance: ValueBalancer, who: str, allowed: Iterable[str]) -> str:
        value = balance.choose(who, allowed)
        assert value is not None, "every place has times, days, devices and looks"
        balance.take(value)
        return value
