"""Chat models that act through tools, and one that plays the user.

A model with function calling gets the tools through its server's API; any other model writes one JSON object per reply, which is
parsed strictly. Whatever cannot be parsed is a malformed call: the world answers it with an error, and the episode goes on. A stored
reply always parses to the same actions: if you change the parser, raise the version.
"""

import re
import tomllib
from functools import cached_property
from importlib.resources import files
from typing import ClassVar, NamedTuple

import orjson

from personafit._hashing import content_hash
from personafit.contexts import Context
from personafit.engine.ask import Asker, Exchange
from personafit.items import inert
from personafit.models import ChatReply, ChatRequest, Message, Model, ToolCall
from personafit.store import Status
from personafit.store.records import storable
from personafit.worlds.episode import MOST_STEPS, Action, Call, EpisodeState, Say, spoken
from personafit.worlds.requests import Request
from personafit.worlds.tools import MOST_ARGUMENTS, functions
from personafit.worlds.user import UserReply, card

WORDINGS: dict[str, dict[str, str]] = tomllib.loads(
    (files(__package__) / "data" / "prompts.toml").read_text(encoding="utf-8")
)
VERSION = "3"  # of how prompts are built and replies are parsed
TURN_TOKENS = 1024
SMALL_TOKENS = 96  # for the embedded model: calls are short, and thirty have to fit into its context window
END = "[END]"
CALLED = '{"text":'  # how a stored reply with calls begins
LONGEST = MOST_ARGUMENTS + 1  # characters kept of a reply or call: enough to show that it is too long
_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*)\n\s*```\Z", re.DOTALL)


class EpisodeSpeaker:
    """A chat model that takes part in an episode."""

    refused: ClassVar[str]
    """Detail that is stored if the model refuses."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.name = model.name
        self.asker = Asker(model)

    async def send(self, request: ChatRequest) -> Exchange:
        """Ask the model and return the exchange; its reply is what is stored and later parsed."""
        exchange = Exchange()
        reply = await self.asker.send(request, exchange)
        exchange.reply, exchange.reasoning = self.stored(reply), reply.reasoning
        if reply.refused:
            exchange.status, exchange.detail = Status.REFUSED, self.refused
        return exchange

    def stored(self, reply: ChatReply) -> str:
        return _kept(reply.text)


# -- the agent ---------------------------------------------------------------------------------------------------------


class AgentAction(NamedTuple):
    """An action of a reply, and the id under which a server that calls functions expects its result."""

    action: Action
    call: str | None = None


class ChatAgent(EpisodeSpeaker):
    """A chat model that acts through tools: by function calling, or by text."""

    refused = "The assistant refused."

    def __init__(self, model: Model, by_text: bool) -> None:
        super().__init__(model)
        self.by_text = by_text
        self.settings = {**model.settings, "tools": "text" if by_text else "calls"}

    @cached_property
    def fingerprint(self) -> str:
        words = [WORDINGS["agent"], WORDINGS["text"] if self.by_text else {}]
        return content_hash(["agent", VERSION, self.settings, words, self._tokens])

    @cached_property
    def _tokens(self) -> int:
        return SMALL_TOKENS if self.model.settings.get("kind") == "embedded" else TURN_TOKENS

    def opening(self, request: Request, context: Context) -> tuple[Message, ...]:
        """Return the first messages: the task, the tools if called by text, the person's context, and the request."""
        words = WORDINGS["agent"]
        parts = [words["task"].format(today=request.today)]
        if self.by_text:  # before the person: the shared beginning of prompts is cached across episodes
            tools = "\n".join(orjson.dumps(tool).decode() for tool in functions(request))
            parts.append(WORDINGS["text"]["protocol"].format(tools=tools))
        parts.append(words["told"].format(person=inert(context.text)) if context.text else words["untold"])
        return (
            {"role": "system", "content": "\n\n".join(parts)},
            {"role": "user", "content": request.text},
        )

    def ask(self, messages: tuple[Message, ...], request: Request, key: str, seed: int | None) -> ChatRequest:
        tools = () if self.by_text else functions(request)
        return ChatRequest(messages, self._tokens, seed=seed, key=key, tools=tools)

    def stored(self, reply: ChatReply) -> str:
        """Return the reply's text, or a JSON object of text and calls; a text that looks like one becomes one."""
        text = _kept(reply.text)
        if self.by_text or not (reply.tool_calls or text.startswith(CALLED)):
            return text
        calls = [
            [*map(_kept, (call.id, call.name, call.arguments))] for call in reply.tool_calls[:MOST_STEPS]
        ]
        return orjson.dumps({"text": text, "calls": calls}).decode()

    def read(self, stored: str) -> tuple[Message, list[AgentAction]]:
        """Parse a stored reply into the agent's message and its actions; what cannot be parsed is a malformed call."""
        if self.by_text:
            return {"role": "assistant", "content": stored or "…"}, [AgentAction(read_text(stored))]
        text, calls = stored, list[ToolCall]()
        if stored.startswith(CALLED):
            body = orjson.loads(stored)
            text, calls = body["text"], [ToolCall(*call) for call in body["calls"]]
        if calls:
            message = {"role": "assistant", "content": text, "tool_calls": [call.message for call in calls]}
            return message, [AgentAction(Call(call.name, call.arguments), call.id) for call in calls]
        said = Say(text.strip()) if text.strip() else Call("", "")
        return {"role": "assistant", "content": text or "…"}, [AgentAction(said)]

    def result(self, done: AgentAction, reply: str) -> Message:
        """Return the message with the reply to an action."""
        if done.call is not None:
            return {"role": "tool", "tool_call_id": done.call, "content": reply}
        words = WORDINGS["text"]
        if self.by_text and isinstance(done.action, Call):
            named = done.action.name
            reply = words["result"].format(tool=named, reply=reply) if named else f"{reply}\n{words['again']}"
        return {"role": "user", "content": reply}


def read_text(reply: str) -> Action:
    """Parse a reply of the text protocol into an action: one JSON object, perhaps in a code fence, and nothing else."""
    text = reply.strip()
    if fenced := _FENCE.match(text):
        text = fenced[1].strip()
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError:
        return Call("", reply)
    match body:
        case {"say": str(words), **rest} if not rest and words.strip():
            return Say(words)
        case {"tool": str(name), "arguments": dict(arguments), **rest} if not rest and name:
            return Call(name, orjson.dumps(arguments).decode())
    return Call("", reply)


def _kept(text: str) -> str:
    return storable(text[:LONGEST])


# -- the simulated user ------------------------------------------------------------------------------------------------


class ChatUser(EpisodeSpeaker):
    """A chat model that plays the user from a card; without one, the world's own user answers by templates."""

    refused = "The simulated user refused to play its part."

    @cached_property
    def fingerprint(self) -> str:
        return content_hash(["world user", VERSION, self.model.settings, WORDINGS["user"], TURN_TOKENS])

    def ask(self, state: EpisodeState, question: str, key: str, seed: int | None) -> ChatRequest:
        """Return the call that asks for the user's answer: the card, all messages to and by the user, and the question."""
        system = WORDINGS["user"]["task"].format(card=inert(card(state.request)), end=END)
        messages: list[Message] = [
            {"role": "system", "content": system},
            {"role": "user", "content": "(You write first.)"},
            {"role": "assistant", "content": state.request.text},
        ]
        for turn in state.turns:
            if turn.by_user:
                messages.append({"role": "user", "content": spoken(turn.action) or ""})
                messages.append({"role": "assistant", "content": turn.reply or "…"})
        messages.append({"role": "user", "content": question})
        return ChatRequest(tuple(messages), TURN_TOKENS, seed=seed, key=key)

    def read(self, stored: str) -> UserReply:
        text = stored.strip()
        return UserReply(text.removesuffix(END).strip(), ends=text.endswith(END))
