"""Offers for a request: some suit one of two people, some the majority, and nothing else about the offers shows which.

Of thirteen offers two suit each of the two people and neither the other nor the majority, three nearly suit each, and three suit the
majority. There are three such groups: the other two are made in the same way for people whose every value is exchanged for another, so
that neither what most offers have in common nor how they resemble each other tells which group is real. Names, prices, order and the
number of needs met are drawn in the same way for all.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import Any, NamedTuple

from personafit.worlds.ontology import WorldDomain, texts
from personafit.worlds.people import Tastes

BEST = 2  # offers of a group that suit each of two people
NEAR = 3  # offers that nearly suit each of them
POPULAR = 3  # offers that suit the majority
GROUPS = 3  # the real one, and those that resemble it
SIZE = GROUPS * (2 * (BEST + NEAR) + POPULAR)  # number of offers of a catalogue
OVER_BUDGET = 0.1  # share above a budget of the offers for an easy request that are left to chance
FIRST_HOUR, LAST_HOUR = 9, 20


@dataclass(frozen=True, slots=True)
class Offer:
    """Something that can be booked, ordered or saved."""

    id: str
    domain: str
    name: str
    price: int
    hour: int | None
    """Start hour, in domains that have a time of day."""
    values: Mapping[str, str]
    """Attribute to value id."""
    suits: frozenset[str]
    """Hard needs that the offer meets."""

    def shown(self, domain: WorldDomain, language: str) -> dict[str, Any]:
        row: dict[str, Any] = {"id": self.id, "name": self.name}
        if domain.prices:
            row["price"] = self.price
        if self.hour is not None:
            row["time"] = f"{self.hour:02}:00"
        for name, value in self.values.items():
            row[name] = domain.attributes[name].show(value, language)
        if domain.needs:
            row["needs"] = sorted(domain.needs.show(value, language) for value in self.suits)
        return row


def utility(offer: Offer, tastes: Tastes) -> float:
    """Return the share of a person's preferences in the domain, by weight, that an offer meets."""
    met = total = 0
    for name, value in offer.values.items():
        fact = tastes.facts.get(f"{offer.domain}.{name}")
        if fact is not None:
            total += fact.weight
            met += fact.weight if value in fact.values else 0
    return met / total if total else 0.0


def acceptable(offer: Offer, tastes: Tastes) -> bool:
    """Return whether an offer meets a person's hard needs and budget."""
    budget = tastes.budget(offer.domain)
    return (budget is None or offer.price <= budget) and tastes.needs(offer.domain) <= offer.suits


class _Draft(NamedTuple):
    """An offer before it has a name, a price and the needs that it meets."""

    values: Mapping[str, str]
    needs: frozenset[str] = frozenset()
    """Hard needs that it meets; the rest is left to chance."""
    failed: frozenset[str] = frozenset()
    """Hard needs that it fails."""
    dear: bool = False
    """Whether it is above the budgets of both people."""


class OfferSampler:
    """Sampler of one domain's offers for two people."""

    def __init__(
        self, domain: WorldDomain, pair: tuple[Tastes, Tastes], majority: Tastes, language: str, rng: Random
    ) -> None:
        self._domain, self._language, self._rng = domain, language, rng
        self._people = (*pair, majority)
        self._needed = pair[0].needs(domain.id) | pair[1].needs(domain.id)
        self._budgets = [budget for who in pair if (budget := who.budget(domain.id)) is not None]

    def sample(self, varying: Sequence[str], conflict: bool) -> list[Offer]:
        """Draw the offers, in the order of searches; attributes that do not vary have one value in all of them.

        With `conflict`, no offer meets all preferences: the best miss the lightest one, near misses a heavier one.
        """
        attributes = self._domain.attributes.items()
        fixed = {name: self._rng.choice(each.ids) for name, each in attributes if name not in varying}
        several = len(varying) > 1
        drafts = list(self._drafts(varying, conflict) if several else self._one_attribute(varying[0]))
        self._rng.shuffle(drafts)
        named = zip(self._names(len(drafts)), drafts, strict=True)
        return [self._offer(number, *each, fixed) for number, each in enumerate(named, 1)]

    def _one_attribute(self, name: str) -> Iterator[_Draft]:
        """Yield drafts with every value equally often, so that rarity is no clue."""
        values = self._domain.attributes[name].ids
        for number in range(SIZE):
            proper = number < BEST * len(values)  # the rest meets needs and budgets by chance
            dear = not proper and self._rng.random() < OVER_BUDGET
            needs = self._needed if proper else frozenset()
            yield _Draft({name: values[number % len(values)]}, needs, dear=dear)

    def _drafts(self, varying: Sequence[str], conflict: bool) -> Iterator[_Draft]:
        domain = self._domain.id
        for first, second, majority in self._groups():
            needs = first.needs(domain) | second.needs(domain)
            for who, other in ((first, second), (second, first)):
                needy = who.needs(domain)
                trap = bool(needy) or who.budget(domain) is not None
                lightest, *heavier = sorted(varying, key=lambda name: who.weight(domain, name))
                best = [lightest] if conflict else []
                self._rng.shuffle(heavier)
                near = [[heavier[number % len(heavier)]] for number in range(NEAR - trap)]
                for missed in (*[best] * BEST, *near):
                    yield _Draft(self._liked(who, (majority, other), varying, missed), needs)
                if trap:  # it suits but for a hard need or, without one, the budget
                    ideal = self._liked(who, (majority, other), varying)
                    yield _Draft(ideal, needs, needy, dear=not needy)
            for _ in range(POPULAR):
                yield _Draft(self._liked(majority, (), varying), needs)

    def _groups(self) -> Iterator[Sequence[Tastes]]:
        """Yield the two people and the majority, then the same three again with every value exchanged for another."""
        choices = self._domain.choices.items()
        orders = {name: self._rng.sample(topic.ids, len(topic.ids)) for name, topic in choices}
        steps = {name: [number % len(ids) for number in range(GROUPS)] for name, ids in orders.items()}
        for each in steps.values():
            self._rng.shuffle(each)
        for group in range(GROUPS):
            taken = {name: each[group] - each[0] for name, each in steps.items()}
            yield [self._exchanged(who, orders, taken) for who in self._people]

    def _exchanged(
        self, who: Tastes, orders: Mapping[str, Sequence[str]], steps: Mapping[str, int]
    ) -> Tastes:
        """Return the tastes in the domain with each value exchanged for the one so many steps on in its order."""
        facts = {}
        for key, fact in who.facts.items():
            if fact.domain == self._domain.id:
                values = fact.values
                if ids := orders.get(fact.topic):  # a budget stays as it is
                    places = [(ids.index(value) + steps[fact.topic]) % len(ids) for value in values]
                    values = tuple(ids[place] for place in places)
                facts[key] = replace(fact, values=values)
        return Tastes(facts)

    def _liked(
        self, who: Tastes, others: Sequence[Tastes], varying: Sequence[str], missed: Sequence[str] = ()
    ) -> dict[str, str]:
        """Draw values that a person likes, if possible not those that the others like; for `missed` attributes draw values they do not like."""
        values = {}
        for name in varying:
            ids, liked = self._domain.attributes[name].ids, who.liked(self._domain.id, name)
            if name in missed:
                values[name] = self._rng.choice([id for id in ids if id not in liked] or ids)
                continue
            for first in range(len(others) + 1):  # avoid what all like, else what the last does, else nothing
                taken = {value for other in others[first:] for value in other.liked(self._domain.id, name)}
                if free := [id for id in liked if id not in taken]:
                    break
            values[name] = self._rng.choice(free or ids)
        return values

    def _offer(self, number: int, name: str, draft: _Draft, fixed: Mapping[str, str]) -> Offer:
        domain, values = self._domain, {**fixed, **draft.values}
        return Offer(
            id=f"{domain.id}-{number:02}",
            domain=domain.id,
            name=name,
            price=self._price(draft.dear),
            hour=self._rng.randint(FIRST_HOUR, LAST_HOUR - domain.hours) if domain.hours else None,
            values={attribute: values[attribute] for attribute in domain.attributes},
            suits=self._suits(draft),
        )

    def _price(self, dear: bool) -> int:
        if not self._domain.prices:
            return 0
        low, high = self._domain.prices[self._language]
        if dear and self._budgets:
            least = max(self._budgets) + 1
            return self._rng.randint(least, max(high, least))
        return self._rng.randint(low, min(self._budgets, default=high))

    def _suits(self, draft: _Draft) -> frozenset[str]:
        """Return the needs that an offer meets, as many for every offer: those that it has to meet, filled up with others."""
        if self._domain.needs is None:
            return frozenset()
        ids, kept = self._domain.needs.ids, draft.needs - draft.failed
        count = max(len(self._needed), len(ids) // 2)
        rest = [id for id in ids if id not in kept | draft.failed]
        return kept | frozenset(self._rng.sample(rest, min(count - len(kept), len(rest))))

    def _names(self, count: int) -> list[str]:
        words, space = texts()[self._language], " " if self._language == "en" else ""
        return self._rng.sample(
            [space.join(each) for each in product(words["name_first"], words["name_second"])], count
        )
