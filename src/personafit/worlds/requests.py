"""What people ask for: a sentence, what must exist afterwards, and the offers it can be chosen from.

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
    """One thing that must have been committed at the end, with these slots."""

    domain: str
    slots: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Request:
    """One person's request."""

    id: str
    """Person and pair, such as `p01/medium-meals-3`."""
    pair: str
    """The same for both people who make the same request of the same offers: what statistics take as the prompt."""
    level: Level
    resident: Resident
    other: Resident
    """The counterfactual person of the pair."""
    text: str
    today: str
    goals: tuple[Goal, ...]
    offers: Mapping[str, Offer]
    """By id, in the order in which searches list them."""
    state: WorldState
    """What belongs to the person before the episode."""
    tell: str | None = None
    """The contact to whom a message must have been sent."""
    budget: int | None = None
    """The most that all goals together may cost, as the request says."""
    calendar: bool = False
    """Whether nothing may overlap with the calendar or each other, as the request says."""

    @property
    def language(self) -> str:
        """The language of the person and of the request."""
        return self.resident.language

    @property
    def domains(self) -> Mapping[str, WorldDomain]:
        """The domains of the world."""
        return self.resident.domains

    @cached_property
    def listed(self) -> Mapping[str, Sequence[Offer]]:
        """The offers by domain, in the order of searches."""
        return {
            goal.domain: [offer for offer in self.offers.values() if offer.domain == goal.domain]
            for goal in self.goals
        }

    @property
    def by_goal(self) -> Sequence[Sequence[Offer]]:
        """The offers for each goal."""
        return [self.listed[goal.domain] for goal in self.goals]

    @cached_property
    def yardstick(self) -> tuple[float, float]:
        """The best and the mean utility of the choices that meet the request and the person's hard needs."""
        utilities, valid = self.choices(self.resident.tastes)
        return float(utilities[valid].max()), float(utilities[valid].mean())

    @property
    def best(self) -> NDArray[np.bool_]:
        """Which of the choices suit the person best."""
        return best_of(*self.choices(self.resident.tastes))

    def choices(self, tastes: Tastes) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Utility and validity of every choice of one offer per goal, for somebody with these tastes.

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
        """Utility, validity, price and hour of each offer for a goal."""
        offers = self.listed[goal.domain]
        return (
            [utility(offer, tastes) for offer in offers],
            [acceptable(offer, tastes) and not self.clashes(goal, offer) for offer in offers],
            [offer.price for offer in offers],
            [offer.hour or 0 for offer in offers],
        )

    def clashes(self, goal: Goal, offer: Offer) -> bool:
        """Whether an offer overlaps with the person's calendar where the request says that it must not."""
        if not self.calendar:
            return False
        at = entry_of(goal, offer, self.domains[goal.domain])
        return any(at.overlaps(busy) for busy in self.state.tables["calendar"].values())


def best_of(utilities: NDArray[np.float64], valid: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of the valid choices have the greatest utility."""
    greatest = float(utilities.max(where=valid, initial=-1.0))
    return valid & np.asarray(utilities >= greatest - 1e-9)


def entry_of(goal: Goal, offer: Offer, domain: WorldDomain, id: str = "") -> Entry:
    """The entry that committing an offer writes."""
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
    """People and their requests."""

    name: str
    domains: Mapping[str, WorldDomain]
    residents: Mapping[str, Resident]
    requests: Mapping[str, Request]

    @cached_property
    def majority(self) -> Tastes:
        """What most people like."""
        return majority(self.residents.values())
