"""Generate the requests of a world: find pairs of people who differ, draw the offers, and put the request into words.

Both people of a pair differ from the majority and from each other so much that the majority's choice is well below the person's own
best, and the other person's choice is worth no more than chance.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import combinations
from math import ceil
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from personafit._errors import UserError
from personafit.worlds.catalogue import FIRST_HOUR, LAST_HOUR, OfferSampler
from personafit.worlds.ontology import WorldDomain, texts
from personafit.worlds.people import Resident, Tastes, majority
from personafit.worlds.requests import Goal, Level, Request, World, entry_of
from personafit.worlds.state import TABLES, Entry, WorldState

TODAY = date(2026, 3, 2)
EACH = 10  # minimum number of requests per person: three easy, three hard, and the rest medium
QUOTA: Mapping[Level, int] = {"easy": 3, "hard": 3, "medium": EACH}
# Differences are shares of a person's preferences, by weight: from the majority, and between the two people of a pair.
LEAST_APART = (1 / 3, 0.4)
IDEAL_APART = (0.35, 0.5)  # the people differ, yet the other's best choice is no worse than chance
FEW_VALUES = 0.17  # maximum share of an attribute's values that a person likes, where it alone decides
FEWEST_VARYING = 3  # minimum number of attributes of a domain that both people of a pair care about
# Minimum difference between the best and the mean utility.
LEAST_GAP: Mapping[Level, float] = {"easy": 0.05, "medium": 0.2, "hard": 0.2}
NEAR_BEST = 0.25  # maximum regret of a choice that counts as near the best
OTHERS = 30  # number of people considered as the other of a pair
CALENDAR = 0.7  # share of hard requests, about two timed and priced domains, that turn on the calendar
ROUND = 10  # budgets in requests are multiples of it
TELLING = 0.3  # share of medium and hard requests that end with a message to somebody


def build(name: str, residents: Sequence[Resident], seed: int) -> World:
    """Build the world of some people, with at least ten requests for each who differs enough from the majority."""
    if not residents:
        raise UserError(f"The world '{name}' has no people.")
    requests = {request.id: request for request in _Builder(residents, seed).requests()}
    if not requests:
        raise UserError(
            f"The world '{name}' has no requests: no two of its {len(residents)} people differ enough from each other and from "
            "the majority; add people, attributes or values."
        )
    return World(name, residents[0].domains, {each.id: each for each in residents}, requests)


class _Option(NamedTuple):
    """A possible pair for a request: the other person, the domains, and for easy requests the attribute that decides."""

    other: Resident
    domains: tuple[str, ...]
    attribute: str | None = None
    distance: float = 0.0
    """Distance of the pair's differences from the ideal ones."""


class _Builder:
    def __init__(self, residents: Sequence[Resident], seed: int) -> None:
        self._residents, self._seed = residents, seed
        self._majority = majority(residents)
        self._made = 0

    def requests(self) -> Iterator[Request]:
        counts: Counter[str] = Counter()
        for level, quota in QUOTA.items():
            before = Counter[str]() if level == "medium" else counts.copy()
            shared: set[tuple[object, ...]] = set()
            for one in self._residents:
                rng = Random(f"{self._seed}/{level}/{one.id}")  # nosec B311
                options, times = list(self._options(one, level, rng)), Counter[str]()
                rng.shuffle(options)
                while options and counts[one.id] - before[one.id] < quota:
                    option = min(options, key=lambda each: self._rank(each, times, counts))
                    options.remove(option)
                    key = (frozenset((one.id, option.other.id)), option.domains, option.attribute)
                    if key not in shared and (pair := self._pair(level, one, option)):
                        yield from pair
                        shared.add(key)
                        counts.update((one.id, option.other.id))
                        times.update(option.domains)

    @staticmethod
    def _rank(option: _Option, times: Counter[str], counts: Counter[str]) -> tuple[float, ...]:
        """Return the sort key of an option: unused domains first, then pairs near the ideal differences, then people with few requests."""
        return sum(times[id] for id in option.domains), round(option.distance, 1), counts[option.other.id]

    def _options(self, one: Resident, level: Level, rng: Random) -> Iterator[_Option]:
        mates = [other for other in self._residents if other.language == one.language and other.id != one.id]
        for other in rng.sample(mates, min(OTHERS, len(mates))):
            if level == "easy":
                yield from self._deciding(one, other)
                continue
            known = {id: apart for id in one.domains if (apart := self._differences(id, one, other))}
            for domains in combinations(known, 1 if level == "medium" else 2):
                crowd, pair = map(fmean, zip(*(known[id] for id in domains), strict=True))
                enough = crowd >= LEAST_APART[0] and pair >= LEAST_APART[1]
                if enough and (level == "medium" or _combine([one.domains[id] for id in domains])):
                    distance = abs(crowd - IDEAL_APART[0]) + abs(pair - IDEAL_APART[1])
                    yield _Option(other, domains, distance=distance)

    def _deciding(self, one: Resident, other: Resident) -> Iterator[_Option]:
        """Yield an option for each attribute in which two people and the majority all differ."""
        for domain in one.domains.values():
            for name, attribute in domain.attributes.items():
                tastes = one.tastes, other.tastes, self._majority
                liked = [set(who.liked(domain.id, name)) for who in tastes]
                few = all(0 < len(each) <= FEW_VALUES * len(attribute.ids) for each in liked)
                if few and len(set.union(*liked)) == sum(map(len, liked)):
                    yield _Option(other, (domain.id,), name)

    def _differences(self, domain: str, one: Resident, other: Resident) -> tuple[float, float] | None:
        """Return how much two people differ from the majority and from each other, each the smaller way; None with too little in common."""
        varying, pair = _varying(domain, one, other), (one.tastes, other.tastes)
        if len(varying) < FEWEST_VARYING:
            return None
        crowd = min(_difference(domain, varying, who, self._majority) for who in pair)
        return crowd, min(_difference(domain, varying, *each) for each in (pair, pair[::-1]))

    def _pair(self, level: Level, one: Resident, option: _Option) -> list[Request]:
        """Return the request for both people; nothing if it cannot be served for one of them."""
        self._made += 1
        other, domains = option.other, [one.domains[id] for id in option.domains]
        words, rng = texts()[one.language], Random(f"{self._seed}/{level}/{self._made}")  # nosec B311
        first_day, people = TODAY + timedelta(days=rng.randint(2, 20)), rng.randint(2, 5)
        offers = []
        for domain in domains:
            pair = one.tastes, other.tastes
            varying = [option.attribute] if option.attribute else _varying(domain.id, one, other)
            sampler = OfferSampler(domain, pair, self._majority, one.language, rng)
            offers += sampler.sample(varying, conflict=level == "medium")
        calendar = level == "hard" and _by_calendar(domains, rng)
        contacts = rng.sample(words["contacts"], 4)
        made = Request(
            id="",
            pair=f"{level}-{'+'.join(option.domains)}-{self._made}",
            level=level,
            resident=one,
            other=other,
            text="",
            today=TODAY.isoformat(),
            goals=_goals(domains, first_day, people, calendar, rng),
            offers={offer.id: offer for offer in offers},
            state=_state(contacts, words["entries"], first_day, rng),
            tell=contacts[0] if level != "easy" and rng.random() < TELLING else None,
            calendar=calendar,
        )
        both = [made, replace(made, resident=other, other=one)]
        if calendar:
            both = [_with_appointments(each, words["entries"]["calendar"], rng) for each in both]
        elif level == "hard":
            both = [replace(each, budget=_budget(both)) for each in both]
        if not all(map(_servable, both)) or (both[0].own.best & both[1].own.best).any():
            return []
        text = _text(both[0], rng)
        return [replace(each, id=f"{each.resident.id}/{each.pair}", text=text) for each in both]


def _combine(domains: Sequence[WorldDomain]) -> bool:
    """Return whether a request can be about both domains: under one budget, or in one calendar."""
    return all(each.prices for each in domains) or all(each.hours for each in domains)


def _by_calendar(domains: Sequence[WorldDomain], rng: Random) -> bool:
    """Return whether a request about these domains is bound by the calendar, and not by a budget."""
    priced = all(each.prices for each in domains)
    return all(each.hours for each in domains) and (not priced or rng.random() < CALENDAR)


def _goals(
    domains: Sequence[WorldDomain], day: date, people: int, same_day: bool, rng: Random
) -> tuple[Goal, ...]:
    """Return what has to be committed: on one day, or one after the other, as nobody has a lesson on the day they leave."""
    goals = []
    for domain in domains:
        slots = {"date": day.isoformat(), "people": str(people)}
        goals.append(Goal(domain.id, {name: slots[name] for name in domain.slots}))
        if not same_day:
            day += timedelta(days=rng.randint(1, 4))
    return tuple(goals)


def _varying(domain: str, one: Resident, other: Resident) -> list[str]:
    """Return the attributes that both people care about and that have more than one value."""
    both = one.tastes, other.tastes
    attributes = one.domains[domain].attributes.items()
    return [
        name
        for name, attribute in attributes
        if all(who.weight(domain, name) for who in both) and len(attribute.ids) > 1
    ]


def _difference(domain: str, varying: Iterable[str], who: Tastes, other: Tastes) -> float:
    """Return the share of a person's preferences, by weight, in which the other likes something that they do not."""
    weights = {name: who.weight(domain, name) for name in varying}
    apart = (name for name in weights if set(other.liked(domain, name)) - set(who.liked(domain, name)))
    return sum(weights[name] for name in apart) / sum(weights.values())


def _servable(request: Request) -> bool:
    """Return whether the best choice is well above the mean, and at least two choices are near it."""
    own = request.own
    if not own.valid.any():
        return False
    best, mean = request.yardstick
    near = own.valid & (best - own.utility <= NEAR_BEST * (best - mean) + 1e-9)
    return best - mean >= LEAST_GAP[request.level] and int(near.sum()) >= 2


def _budget(both: Sequence[Request]) -> int:
    """Return a round sum that about half of all choices exceed, but not the cheapest best choice of either person."""
    sums = np.add.outer(*([offer.price for offer in offers] for offers in both[0].by_goal))
    least = [int(sums[request.own.best].min(initial=sums.max())) for request in both]
    return ceil(max(float(np.median(sums)), *least) / ROUND) * ROUND


def _state(
    contacts: Sequence[str], entries: Mapping[str, Sequence[str]], day: date, rng: Random
) -> WorldState:
    tables: dict[str, dict[str, Entry]] = {name: {} for name in TABLES}
    tables["contacts"] = {name: Entry(name, name) for name in contacts}
    for name in ("bookings", "orders", "playlists"):
        tables[name][f"{name}-1"] = Entry(f"{name}-1", rng.choice(entries[name]))
    for number, title in enumerate(rng.sample(entries["calendar"], 2), 1):
        when = (day + timedelta(days=rng.choice((-1, 1)) * rng.randint(1, 2))).isoformat()
        hour, id = rng.randint(FIRST_HOUR, LAST_HOUR - 2), f"calendar-{number}"
        tables["calendar"][id] = Entry(id, title, date=when, hour=hour, hours=1)
    return WorldState(tables)


def _with_appointments(request: Request, titles: Sequence[str], rng: Random) -> Request:
    """Return the request with two appointments on its day that leave one of the best choices free."""
    best = rng.choice(np.argwhere(request.own.best).tolist())
    kept = [
        entry_of(offers[place], request.domains[goal.domain], goal.slots)
        for goal, offers, place in zip(request.goals, request.by_goal, best, strict=True)
    ]
    day = request.goals[0].slots["date"]
    possible = [
        Entry(f"calendar-{number}", title, date=day, hour=hour, hours=2)
        for number, title in enumerate(rng.sample(titles, 2), 3)
        for hour in range(FIRST_HOUR, LAST_HOUR - 1)
    ]
    free = [entry for entry in possible if not any(entry.overlaps(one) for one in kept)]
    rng.shuffle(free)
    busy = {entry.id: entry for entry in free}  # one hour for each title
    tables = {**request.state.tables, "calendar": {**request.state.tables["calendar"], **busy}}
    return replace(request, state=WorldState(tables))


def _text(request: Request, rng: Random) -> str:
    words, said = texts()[request.language], list[str]()
    for goal in request.goals:
        spoken = {name: _spoken(name, value, words) for name, value in goal.slots.items()}
        if request.calendar and said and "date" in spoken:
            spoken["date"] = words["same_day"]
        said.append(rng.choice(request.domains[goal.domain].requests[request.language]).format(**spoken))
    parts, wordings = [said[0]], words["request"]
    if len(said) > 1:
        parts = [rng.choice(wordings["two"]).format(first=said[0], second=said[1])]
    if request.budget is not None:
        amount = words["money"].format(request.budget)
        parts.append(rng.choice(wordings["budget"]).format(budget=amount))
    if request.calendar:
        parts.append(rng.choice(wordings["calendar"]))
    if request.tell:
        parts.append(rng.choice(wordings["tell"]).format(contact=request.tell))
    return (" " if request.language == "en" else "").join(parts)


def _spoken(slot: str, value: str, words: Mapping[str, Any]) -> str:
    """Return a slot's value as people say it: `Friday 6 March`, `three`."""
    if slot == "people":
        return str(words["numbers"][int(value)])
    day = date.fromisoformat(value)
    weekday, month = words["days"][day.weekday()], words["months"][day.month - 1]
    return str(words["date"].format(day=weekday, number=day.day, month=month))
