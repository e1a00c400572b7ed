"""One episode: a state machine that scripted agents and models drive step by step, and its record.

An episode is immutable: a step returns a new one. The record holds every action, reply and change, and is enough to replay the
episode exactly.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import orjson
from pydantic import TypeAdapter, ValidationError

from personafit._errors import UserError
from personafit.worlds.requests import Request
from personafit.worlds.state import Change, WorldState, differences
from personafit.worlds.tools import MOST_ARGUMENTS, MOST_TEXT, AskUserTool, Fault, call
from personafit.worlds.user import UserReply, is_question, reply

MOST_STEPS = 30
MOST_NAME = 200  # maximum characters kept of a tool's name
ASK = "ask_user"


@dataclass(frozen=True, slots=True)
class Call:
    """The agent calls a tool; `arguments` is JSON text as a model writes it."""

    name: str
    arguments: str = "{}"
    kind: Literal["call"] = "call"

    @classmethod
    def of(cls, name: str, /, **arguments: object) -> "Call":
        return cls(name, orjson.dumps(arguments).decode())


@dataclass(frozen=True, slots=True)
class Say:
    """The agent says something to the user."""

    text: str
    kind: Literal["say"] = "say"


@dataclass(frozen=True, slots=True)
class End:
    """The agent ends the episode."""

    kind: Literal["end"] = "end"


Action = Call | Say | End
StopReason = Literal["agent", "user", "steps", "failed"]


def spoken(action: Action) -> str | None:
    """Return the text that an action says to the user; None if it says nothing that they could read."""
    if isinstance(action, Say):
        return action.text[:MOST_TEXT]
    if isinstance(action, Call) and action.name == ASK and len(action.arguments) <= MOST_ARGUMENTS:
        try:
            text = AskUserTool.model_validate_json(action.arguments).text
        except ValueError:
            return None
        return text if len(text) <= MOST_TEXT else None
    return None


def asks(action: Action) -> bool:
    """Return whether an action asks the user something."""
    text = spoken(action)
    return text is not None and (isinstance(action, Call) or is_question(text))


@dataclass(frozen=True, slots=True)
class EpisodeTurn:
    """One action, the reply to it, and what it changed."""

    action: Action
    reply: str
    """A tool's JSON, or what the user said."""
    by_user: bool = False
    fault: Fault | None = None
    changes: tuple[Change, ...] = ()
    ends: bool = False
    """Whether the user ended the conversation with this reply."""


@dataclass(frozen=True)
class EpisodeRecord:
    """The stored record of an episode."""

    request: str
    """Id of the request."""
    seed: int
    turns: tuple[EpisodeTurn, ...]
    stop: StopReason | None

    def to_json(self) -> str:
        return _RECORD.dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> "EpisodeRecord":
        try:
            return _RECORD.validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the record"
            raise UserError(f"This is not the record of an episode; {place}: {first['msg']}.") from error


_RECORD: TypeAdapter[EpisodeRecord] = TypeAdapter(EpisodeRecord)


@dataclass(frozen=True)
class EpisodeState:
    """The state of an episode so far."""

    request: Request
    seed: int
    state: WorldState
    turns: tuple[EpisodeTurn, ...] = ()
    stop: StopReason | None = None

    def step(self, action: Action, said: UserReply | None = None) -> "EpisodeState":
        """Return the episode after an action; an episode that has ended stays as it is.

        `said` is the user's reply if a model plays the user.
        """
        if self.stop is not None:
            return self
        if isinstance(action, End):
            return self._with(EpisodeTurn(action, ""), self.state, "agent")
        if isinstance(action, Say):
            return self._heard(Say(action.text[:MOST_TEXT]), said)
        # Text that is too long to be parsed is kept only as far as it shows that it is too long.
        action = Call(action.name[:MOST_NAME], action.arguments[: MOST_ARGUMENTS + 1])
        outcome = call(self.request, self.state, action.name, action.arguments)
        if action.name == ASK and outcome.fault is None:
            return self._heard(action, said)
        changes = tuple(differences(self.state, outcome.state))
        turn = EpisodeTurn(action, outcome.reply, fault=outcome.fault, changes=changes)
        return self._with(turn, outcome.state)

    @property
    def done(self) -> bool:
        """Return whether something was committed for every goal, and the message sent."""
        changes = differences(self.request.state, self.state)
        new = [(change.table, change.after) for change in changes if change.after is not None]
        committed = {entry.domain for _, entry in new}
        told = {None, *(entry.title for table, entry in new if table == "messages")}
        return {goal.domain for goal in self.request.goals} <= committed and self.request.tell in told

    @cached_property
    def record(self) -> EpisodeRecord:
        return EpisodeRecord(self.request.id, self.seed, self.turns, self.stop)

    def _heard(self, action: Call | Say, said: UserReply | None) -> "EpisodeState":
        said = said or reply(self.request, spoken(action) or "", asks(action), self.done)
        turn = EpisodeTurn(action, said.text[:MOST_TEXT], by_user=True, ends=said.ends)
        return self._with(turn, self.state, "user" if said.ends else None)

    def _with(self, turn: EpisodeTurn, state: WorldState, stop: StopReason | None = None) -> "EpisodeState":
        turns = (*self.turns, turn)
        if stop is None and len(turns) >= MOST_STEPS:
            stop = "steps"
        return replace(self, state=state, turns=turns, stop=stop)


def start(request: Request, seed: int = 0) -> EpisodeState:
    """Return a new episode: the user has made the request (`request.text`), nothing else has happened."""
    return EpisodeState(request, seed, request.state)


def replay(request: Request, record: EpisodeRecord) -> EpisodeState:
    """Replay an episode from its record: its actions, and what the user said."""
    state = start(request, record.seed)
    for turn in record.turns:
        said = UserReply(turn.reply, turn.ends) if turn.by_user else None
        state = state.step(turn.action, said)
    return replace(state, stop=record.stop)
