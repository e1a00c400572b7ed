"""Scripted agents: controls in every report, which show what can be reached with what knowledge, without a model."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from random import Random
from typing import Any

import numpy as np

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.worlds.catalogue import Offer
from personafit.worlds.episode import Action, Call, End, EpisodeState, Say, start
from personafit.worlds.ontology import BUDGET, NEEDS, texts
from personafit.worlds.people import Fact, Place, Tastes
from personafit.worlds.requests import Request, World
from personafit.worlds.tools import PAGE
from personafit.worlds.user import fact_in

Script = Generator[Action, str, None]
"""Yields actions and is sent the reply to each."""

AGENTS: Mapping[str, str] = {
    "oracle": "knows everything about the person",
    "asks-everything": "knows nothing and asks about every topic",
    "profile+memories": "has read the profile and the memories",
    "profile": "has read the profile",
    "majority": "takes what most people like",
    "wrong-person": "takes what the other person of the pair likes",
    "first-shown": "takes the first offer listed",
    "random-valid": "takes any valid choice",
}
"""Scripted agents by name, from the one that knows most to those that know nothing, with a description each."""
READS: Mapping[str, tuple[Place, ...]] = {
    "oracle": ("profile", "memory", "user"),
    "profile+memories": ("profile", "memory"),
    "profile": ("profile",),
}
VERSION = "2"  # of the scripts


@dataclass(frozen=True)
class ScriptedAgent:
    """One of the scripted agents, as a system of a run."""

    name: str

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings that identify the agent; `canned` means that its fingerprint covers what it does."""
        return {"kind": "canned", "script": self.name, "version": VERSION}

    @cached_property
    def fingerprint(self) -> str:
        return content_hash(["scripted agent", self.settings])


def play(world: World, request: Request, agent: str, seed: int = 0) -> EpisodeState:
    """Play a whole episode of a scripted agent with the template user."""
    if agent not in AGENTS:
        raise UserError(f"There is no scripted agent '{agent}'; there are {', '.join(AGENTS)}.")
    state = start(request, seed)
    moves = script(world, request, agent, seed)
    action = next(moves)
    while True:
        state = state.step(action)
        if state.stop is not None:
            return state
        action = moves.send(state.turns[-1].reply)


def told_to(agent: str, request: Request) -> frozenset[str]:
    """Return the keys of the facts that a scripted agent knows from the start."""
    return frozenset(request.resident.known(*READS.get(agent, ())).facts)


def script(world: World, request: Request, agent: str, seed: int) -> Script:
    """Yield an agent's actions: ask if it is one that asks, look at the offers, choose, commit, send the message."""
    rng = Random(f"{seed}/{agent}/{request.id}")  # nosec B311
    tastes = request.resident.known(*READS.get(agent, ()))
    if agent == "asks-everything":
        tastes = yield from _ask_everything(request)
    elif agent == "majority":
        tastes = world.majority
    elif agent == "wrong-person":
        tastes = request.other.tastes
    if request.calendar:
        yield Call.of("search", domain="calendar")
    for goal in request.goals:
        pages = 1 if agent == "first-shown" else ceil(len(request.listed[goal.domain]) / PAGE)
        for page in range(1, pages + 1):
            yield Call.of("search", domain=goal.domain, page=page)
    chosen = _choose(request, agent, tastes, rng)
    for goal, offer in zip(request.goals, chosen, strict=True):
        yield Call.of("commit", id=offer.id, slots=goal.slots)
    words = texts()[request.language]
    titles = words["and"].join(offer.name for offer in chosen)
    if request.tell:
        message = words["send"]["text"].format(contact=request.tell, titles=titles)
        yield Call.of("send", contact=request.tell, text=message)
    yield Say(words["send"]["done"].format(titles=titles))
    yield End()


def _ask_everything(request: Request) -> Generator[Action, str, Tastes]:
    """Ask about every topic of the request's domains, one at a time, and return what the answers say."""
    wordings = texts()[request.language]["ask"]
    facts: dict[str, Fact] = {}
    for goal in request.goals:
        domain = request.domains[goal.domain]
        for name, topic in domain.topics.items():
            label = topic.label[request.language].lower()
            question = wordings[name if name in (NEEDS, BUDGET) else "any"].format(topic=label)
            if len(request.goals) > 1:
                label = domain.label[request.language]
                question = wordings["domain"].format(domain=label, question=question)
            answer = yield Call.of("ask_user", text=question)
            if fact := fact_in(request, f"{goal.domain}.{name}", answer):
                facts[fact.key] = fact
    return Tastes(facts)


def _choose(request: Request, agent: str, tastes: Tastes, rng: Random) -> Sequence[Offer]:
    """Return the best choice for these tastes among those that seem valid; at random among equals."""
    if agent == "first-shown":
        return [offers[0] for offers in request.by_goal]
    good = request.own.valid if agent == "random-valid" else request.choices(tastes).best
    picked = rng.choice(np.argwhere(good).tolist())
    return [offers[index] for offers, index in zip(request.by_goal, picked, strict=True)]
