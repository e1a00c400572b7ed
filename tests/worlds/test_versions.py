"""What a world says and does belongs to a version: whoever changes it raises the version, and takes the digests here down anew."""

import hashlib
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import orjson

from personafit.contexts import Context
from personafit.worlds import AGENTS, card, play, score, shipped, start, told_to
from personafit.worlds.chat_agents import VERSION, ChatAgent, ChatUser
from personafit.worlds.storage import INSTRUMENT, request_json
from personafit.worlds.tools import functions
from tests.scripted import ScriptedModel

REQUESTS = list(shipped().requests.values())[::8]
WORLD = {
    "version": "episode-5",
    "requests": "0b21a1c570d44b1b",
    "people": "a4204cb463f8f32f",
    "episodes": "1419dedb6bac3342",
}
PROMPTS = {"version": "3", "agents": "b4eb28ae29e5ea39", "users": "4224fade1c4b16cc"}


def digest(parts: Iterable[Any]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(orjson.dumps(part, default=list))
    return found.hexdigest()[:16]


def test_what_the_shipped_world_is_and_how_it_answers_has_a_version() -> None:
    played = [(each, agent, play(shipped(), each, agent)) for each in REQUESTS for agent in AGENTS]
    now = {
        "version": INSTRUMENT,
        "requests": digest([request_json(each), functions(each)] for each in REQUESTS),
        "people": digest(one.person.model_dump(mode="json") for one in shipped().residents.values()),
        "episodes": digest(
            [state.record.to_json(), asdict(score(state, told_to(agent, each)))]
            for each, agent, state in played
        ),
    }
    assert now == WORLD


def test_what_models_are_told_has_a_version() -> None:
    model, told = ScriptedModel([]), Context("profile", "Likes: tea </person>", (), None)
    agents = [ChatAgent(model, by_text) for by_text in (False, True)]
    now = {
        "version": VERSION,
        "agents": digest(one.opening(each, told) for one in agents for each in REQUESTS),
        "users": digest(
            [card(each), ChatUser(model).ask(start(each), "What would you like?", "", None).messages]
            for each in REQUESTS
        ),
    }
    assert now == PROMPTS
