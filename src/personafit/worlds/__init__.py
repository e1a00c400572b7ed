"""Worlds: personalization verified by what was done, not by what was said.

A person's request goes to an agent that acts through seven tools; what it did is read from the state that it leaves behind. Pure: no
store and no model is needed to play scripted agents; `agents_models` and `playing` bring models and the store.
"""

from personafit.worlds.agents import AGENTS, play, told_to
from personafit.worlds.episode import Call, End, EpisodeRecord, EpisodeState, Say, replay, start
from personafit.worlds.requests import Request, World
from personafit.worlds.scoring import EpisodeScore, score
from personafit.worlds.sources import personalens, shipped
from personafit.worlds.user import UserReply, card

__all__ = [
    "AGENTS",
    "Call",
    "End",
    "EpisodeRecord",
    "EpisodeScore",
    "EpisodeState",
    "Request",
    "Say",
    "UserReply",
    "World",
    "card",
    "personalens",
    "play",
    "replay",
    "score",
    "shipped",
    "start",
    "told_to",
]
