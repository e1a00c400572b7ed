"""Requests: a sentence, what must exist afterwards, and the offers to choose from.

The same request and the same offers go to two people whose best choices differ, so that what helps one cannot help the other. Easy
requests turn on one attribute, medium ones on several that cannot all be had, hard ones on two domains under one budget or calendar.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from personafit.worlds.catalogue import Offer, acceptable, utility
from personafit.worlds.ontology import WorldDomain
from personafit.worlds.people import Resident, Tastes, majority
from personafit.worlds.state import Entry, WorldState

Level = Literal["easy", "medium", "hard"]


@dataclass(frozen=True)
class Goal:
    """One entry that must have been committed at the end, with these slots."""

    domain: str
    slots: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Request:
    """One person's request."""

    id: str
    """Person and pair, such as `p01/medium-meals-3`."""
    pair: str
    """The same for the two people who make the same request for the same offers: statistics treat it as the prompt."""
    level: Level
    resident: Resident
    other: Resident
    """The counterfactual person of the pair."""
    text: str
    today: str
    goals: tuple[Goal, ...]
    offers: Mapping[str, Offer]
    """Offers by id, in the order in which searches list them."""
    state: WorldState
    """The person's entries before the episode."""
    tell: str | None = None
    """The contact to whom a message must have been sent."""
    budget: int | None = None
    """The most that all goals together may cost, according to the request."""
    calendar: bool = False
    """Whether nothing may overlap with the calendar or each other, according to the request."""

    @property
    def language(self) -> str:
        return self.resident.language

    @property
    def domains(self) -> Mapping[str, WorldDomain]:
        return self.resident.domains

    @cached_property
    def listed(self) -> Mapping[str, Sequence[Offer]]:
        """Return the offers by domain, in the order of searches."""
        return {
            goal.domain: [offer for offer in self.offers.values() if offer.domain == goal.domain]
            for goal in self.goals
        }

    @property
    def by_goal(self) -> Sequence[Sequence[Offer]]:
        return [self.listed[goal.domain] for goal in self.goals]

    @cached_property
    def own(self) -> "Choices":
        """Return the choices as the person sees them: what success and regret are computed from."""
        return self.choices(self.resident.tastes)

    @cached_property
    def yardstick(self) -> tuple[float, float]:
        """Return the best and the mean utility of the choices that meet the request and the person's hard needs."""
        valid = self.own.utility[self.own.valid]
        return float(valid.max()), float(valid.mean())

    def choices(self, tastes: Tastes) -> "Choices":
        """Return every choice of one offer per goal, for a person with these tastes."""
        columns = zip(*(self._columns(goal, tastes) for goal in self.goals), strict=True)
        worth, meets, free, price, hour = (np.meshgrid(*each, indexing="ij") for each in columns)
        fits = np.asarray(np.all(free, axis=0))
        if self.budget is not None:
            fits &= np.sum(price, axis=0) <= self.budget
        if self.calendar:
            (first, second), (long, short) = hour, (self.domains[goal.domain].hours for goal in self.goals)
            fits &= (first + long <= second) | (second + short <= first)
        return Choices(np.asarray(np.mean(worth, axis=0)), np.asarray(np.all(meets, axis=0)), fits)

    def _columns(self, goal: Goal, tastes: Tastes) -> tuple[list[Any], ...]:
        """Return, for each offer: utility, whether it meets the hard needs, whether the calendar is free, price and hour."""
        offers, domain = self.listed[goal.domain], self.domains[goal.domain]
        busy = self.state.tables["calendar"].values() if self.calendar else ()
        at = [entry_of(offer, domain, goal.slots) for offer in offers]
        return (
            [utility(offer, tastes) for offer in offers],
            [acceptable(offer, tastes) for offer in offers],
            [not any(each.overlaps(one) for one in busy) for each in at],
            [offer.price for offer in offers],
            [offer.hour or 0 for offer in offers],
        )


class Choices(NamedTuple):
    """Every choice of one offer per goal; arrays have one axis per goal, in the order of `Request.by_goal`."""

    utility: NDArray[np.float64]
    meets: NDArray[np.bool_]
    """Whether it meets the person's hard needs and budgets."""
    fits: NDArray[np.bool_]
    """Whether it keeps to the budget and calendar of the request."""

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Return a mask of the choices that meet the hard needs and the request."""
        return self.meets & self.fits

    @property
    def best(self) -> NDArray[np.bool_]:
        """Return a mask of the choices with the greatest utility among the valid ones, or among all if none is valid."""
        among = self.valid if self.valid.any() else np.ones_like(self.valid)
        return np.asarray(among & (self.utility >= self.utility.max(where=among, initial=-1.0) - 1e-9))


def entry_of(offer: Offer, domain: WorldDomain, slots: Mapping[str, str], id: str = "") -> Entry:
    """Return the entry that committing an offer writes."""
    day, hours = slots.get("date"), domain.hours
    return Entry(id, offer.name, offer.id, domain.id, offer.price, day, offer.hour, hours, slots)


@dataclass(frozen=True)
class World:
    """The people of a world and their requests."""

    name: str
    domains: Mapping[str, WorldDomain]
    residents: Mapping[str, Resident]
    requests: Mapping[str, Request]

    @cached_property
    def majority(self) -> Tastes:
        return majority(self.residents.values())
