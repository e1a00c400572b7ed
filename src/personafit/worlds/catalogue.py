"""Offers for a request: some suit one of two people, some the majority, and nothing else about an offer shows which.

Of forty offers two suit each of the two people and neither the other nor the majority, four suit the majority, eight nearly suit one
of the two, and 24 are random. Names, prices, order and the number of needs met are drawn in the same way for all.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

from personafit.worlds.ontology import WorldDomain, texts
from personafit.worlds.people import Tastes

SIZE = 40  # number of offers of a catalogue
BEST = 2  # offers that suit each of the two people
NEAR = 4  # offers that nearly suit each of them
POPULAR = 4  # offers that suit the majority
OVER_BUDGET = 0.1  # share of random offers above a budget
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
        """Return the offer as a service would show it."""
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


@dataclass(frozen=True)
class _Draft:
    """An offer before it has a name, a price and the needs that it meets."""

    values: Mapping[str, str]
    proper: bool
    """Whether it meets the hard needs and budgets of both people; otherwise this is left to chance."""
    trap: Tastes | None = None
    """The person whose hard needs or budget it fails."""


class OfferSampler:
    """Sampler of one domain's offers for two people."""

    def __init__(
        self, domain: WorldDomain, pair: tuple[Tastes, Tastes], majority: Tastes, language: str, rng: Random
    ) -> None:
        self._domain, self._pair, self._majority = domain, pair, majority
        self._language, self._rng = language, rng

    def sample(self, varying: Sequence[str], conflict: bool) -> list[Offer]:
        """Draw the offers, in the order of searches; attributes that do not vary have one value in all of them.

        With `conflict`, no offer meets all preferences: the best miss the lightest one, near misses a heavier one.
        """
        fixed = {
            name: self._rng.choice(attribute.ids)
            for name, attribute in self._domain.attributes.items()
            if name not in varying
        }
        several = len(varying) > 1
        drafts = list(self._drafts(varying, conflict) if several else self._one_attribute(varying[0]))
        self._rng.shuffle(drafts)
        named = zip(self._names(len(drafts)), drafts, strict=True)
        return [self._offer(number, *each, fixed) for number, each in enumerate(named, 1)]

    def _one_attribute(self, name: str) -> Iterator[_Draft]:
        """Yield drafts with every value equally often, so that rarity is no clue."""
        values = self._domain.attributes[name].ids
        for number in range(SIZE):
            yield _Draft({name: values[number % len(values)]}, proper=number < BEST * len(values))

    def _drafts(self, varying: Sequence[str], conflict: bool) -> Iterator[_Draft]:
        domain = self._domain.id
        for who, other in (self._pair, self._pair[::-1]):
            lightest, *heavier = sorted(varying, key=lambda name: who.weight(domain, name))
            others = (self._majority, other)
            for _ in range(BEST):
                yield _Draft(self._liked(who, others, varying, [lightest] if conflict else []), proper=True)
            for number in range(NEAR):
                missed = [self._rng.choice(heavier)]
                if number == 0 and (who.needs(domain) or who.budget(domain) is not None):
                    ideal = self._liked(who, others, varying)  # but for a need or budget
                    yield _Draft(ideal, proper=False, trap=who)
                else:
                    yield _Draft(self._liked(who, others, varying, missed), proper=True)
        for _ in range(POPULAR):
            yield _Draft(self._liked(self._majority, (), varying), proper=True)
        for _ in range(SIZE - POPULAR - 2 * (BEST + NEAR)):
            values = {name: self._rng.choice(self._domain.attributes[name].ids) for name in varying}
            yield _Draft(values, proper=False)

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
            price=self._price(draft),
            hour=self._rng.randint(FIRST_HOUR, LAST_HOUR - domain.hours) if domain.hours else None,
            values={attribute: values[attribute] for attribute in domain.attributes},
            suits=self._suits(draft),
        )

    def _price(self, draft: _Draft) -> int:
        if not self._domain.prices:
            return 0
        low, high = self._domain.prices[self._language]
        budgets = [budget for who in self._pair if (budget := who.budget(self._domain.id)) is not None]
        trapped = draft.trap and not draft.trap.needs(self._domain.id)
        if trapped or (budgets and not draft.proper and self._rng.random() < OVER_BUDGET):
            least = max(budgets) + 1
            return self._rng.randint(least, max(high, least))
        return self._rng.randint(low, min(budgets, default=high))

    def _suits(self, draft: _Draft) -> frozenset[str]:
        """Return the needs an offer meets, as many for every offer: those that it has to meet, filled up with others."""
        if self._domain.needs is None:
            return frozenset()
        needed = self._pair[0].needs(self._domain.id) | self._pair[1].needs(self._domain.id)
        ids = list(self._domain.needs.ids)
        count = max(len(needed), len(ids) // 2)
        failed = draft.trap.needs(self._domain.id) if draft.trap else frozenset()
        kept = needed - failed if draft.proper or draft.trap else frozenset()
        rest = [id for id in ids if id not in kept and id not in failed]
        return frozenset(kept) | frozenset(self._rng.sample(rest, min(count - len(kept), len(rest))))

    def _names(self, count: int) -> list[str]:
        words, space = texts()[self._language], " " if self._language == "en" else ""
        return self._rng.sample(
            [space.join(each) for each in product(words["name_first"], words["name_second"])], count
        )
