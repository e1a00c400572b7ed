"""Where, when and on what people turn to the assistant: drawn evenly, and only what goes together.

Nobody is at work on a Sunday or at a school they do not go to, and a smart speaker is at home.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from personafit.factory.tasks.balance import ValueBalancer
from personafit.factory.tasks.demographics import home_of
from personafit.factory.tasks.ontology import Tag, read_toml
from personafit.factory.tasks.profile import Profile

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
    return Lists.model_validate(read_toml(Path(__file__).with_name("situations.toml")))


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

    @property
    def balances(self) -> Iterable[ValueBalancer]:
        """What was given out so far."""
        return self._balances.values()

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
