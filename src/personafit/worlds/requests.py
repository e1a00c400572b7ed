"""Requests: a sentence, what must exist afterwards, and the offers to choose from.

The same request and the same offers go to two people whose best choices differ, so that what helps one cannot help the other. Easy
requests turn on one attribute, medium ones on several that cannot all be had, hard ones on two domains under one budget or calendar.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

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
        """Return the language of the person and of the request."""
        return self.resident.language

    @property
    def domains(self) -> Mapping[str, WorldDomain]:
        """Return the domains of the world."""
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
        """Return the offers for each goal."""
        return [self.listed[goal.domain] for goal in self.goals]

    @cached_property
    def yardstick(self) -> tuple[float, float]:
        """Return the best and the mean utility of the choices that meet the request and the person's hard needs."""
        utilities, valid = self.choices(self.resident.tastes)
        return float(utilities[valid].max()), float(utilities[valid].mean())

    @property
    def best(self) -> NDArray[np.bool_]:
        """Return a mask of the choices that suit the person best."""
        return best_of(*self.choices(self.resident.tastes))

    def choices(self, tastes: Tastes) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return utility and validity of every choice of one offer per goal, for a person with these tastes.

        Both arrays have one axis per goal, in the order of `by_goal`.
        """
        columns = zip(*(self._columns(goal, tastes) for goal in self.goals), strict=True)
        worth, fits, price, hour = (np.meshgrid(*each, indexing="ij") for each in columns)
        valid = np.asarray(np.all(fits, axis=0))
        if self.budget is not None:
            valid &= np.sum(price, axis=0) <= self.budget
        if self.calendar:
            (first, second), (long, short) = hour, (self.domains[goal.domain].hours for goal in self.goals)
            valid &= (first + long <= second) | (second + short <= first)
        return np.asarray(np.mean(worth, axis=0)), valid

    def _columns(self, goal: Goal, tastes: Tastes) -> tuple[list[float], list[bool], list[int], list[int]]:
        """Return utility, validity, price and hour of each offer for a goal."""
        offers = self.listed[goal.domain]
        return (
            [utility(offer, tastes) for offer in offers],
            [acceptable(offer, tastes) and not self.clashes(goal, offer) for offer in offers],
            [offer.price for offer in offers],
            [offer.hour or 0 for offer in offers],
        )

    def clashes(self, goal: Goal, offer: Offer) -> bool:
        """Return whether an offer overlaps with the person's calendar although the request says that it must not."""
        if not self.calendar:
            return False
        at = entry_of(goal, offer, self.domains[goal.domain])
        return any(at.overlaps(busy) for busy in self.state.tables["calendar"].values())


def best_of(utilities: NDArray[np.float64], valid: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a mask of the valid choices with the greatest utility."""
    greatest = float(utilities.max(where=valid, initial=-1.0))
    return valid & np.asarray(utilities >= greatest - 1e-9)


def entry_of(goal: Goal, offer: Offer, domain: WorldDomain, id: str = "") -> Entry:
    """Return the entry that committing an offer writes."""
    return Entry(
        id=id,
        title=offer.name,
        offer=offer.id,
        domain=offer.domain,
        price=offer.price,
        date=goal.slots.get("date"),
        hour=offer.hour,
        hours=domain.hours,
        slots=goal.slots,
    )


@dataclass(frozen=True)
class World:
    """The people of a world and their requests."""

    name: str
    domains: Mapping[str, WorldDomain]
    residents: Mapping[str, Resident]
    requests: Mapping[str, Request]

    @cached_property
    def majority(self) -> Tastes:
        """Return what most people like."""
        return majority(self.residents.values())
