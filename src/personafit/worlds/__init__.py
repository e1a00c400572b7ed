"""Worlds: personalization measured by what an agent does, not by what it says.

A person's request goes to an agent that acts through seven tools; its actions are scored by the state that it leaves behind.

- Contents: `ontology` (domains, from `data/`), `people`, `catalogue` (offers), `requests`; `building` makes a world of them, and
  `sources` has the shipped one and PersonaLens's.
- An episode: `state` (tables), `tools`, `user` (the template user), `episode` (the loop and its record), `scoring` (figures).
- Agents: `scripted` (the controls), `chat_agents` and `python_agents`, by their spec in `agents`.
- Runs: `playing` (episodes as jobs that resume) and `storage`. Everything else needs neither a store nor a model.
"""

from personafit.worlds.episode import Call, End, EpisodeRecord, EpisodeState, Say, replay, start
from personafit.worlds.requests import Request, World
from personafit.worlds.scoring import EpisodeScore, score
from personafit.worlds.scripted import AGENTS, play, told_to
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
