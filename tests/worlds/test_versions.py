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
    "requests": "e6ccaceac5a28300",
    "people": "2f4f02f5306a070e",
    "episodes": "2461a00fe59ee3ee",
}
PROMPTS = {"version": "3", "agents": "b905bf3846ced235", "users": "97d6e8e89abe686c"}


def digest(parts: Iterable[Any]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(orjson.dumps(part, default=list))
    return found.hexdigest()[:16]


def test_what_the_shipped_world_is_and_how_it_answers_has_a_version() -> None:
    played = [(each, agent, play(shipped(), each, agent)) for each in REQUESTS for agent in AGENTS]
    now = {
        "version": INSTRUMENT,
        "requests": digest([request_json(each), functions(each), card(each)] for each in REQUESTS),
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
        "agents": digest(one.opening(REQUESTS[0], told) for one in agents),
        "users": digest(ChatUser(model).ask(start(REQUESTS[0]), "Which?", "", None).messages),
    }
    assert now == PROMPTS
