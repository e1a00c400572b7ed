"""Agents of a world by their spec: models that call tools, Python functions that are handed them, and the scripted controls.

A model that calls functions gets the tools as its server offers them; any other model writes one JSON object per reply, which is
read strictly. Whatever cannot be read is a malformed call: the world answers it with an error, and the episode goes on. A stored
reply reads today as it did when it came in; whoever changes how it is read raises the version.
"""

import asyncio
import inspect
import re
import tomllib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.contexts import Context
from personafit.engine.ask import Asker, Exchange
from personafit.items import inert
from personafit.models import (
    ChatReply,
    ChatRequest,
    Message,
    Model,
    Spec,
    Tool,
    ToolCall,
    Unanswerable,
    make_model,
    one_line,
    parse_spec,
)
from personafit.models.calls import in_thread
from personafit.models.functions import PYTHON_OPTIONS, code_hash, load_instance, parameters_of
from personafit.store import Status
from personafit.store.records import storable
from personafit.worlds.agents import AGENTS
from personafit.worlds.episode import Action, Call, End, EpisodeState, Say
from personafit.worlds.requests import Request
from personafit.worlds.tools import schemas
from personafit.worlds.user import UserReply, card

WORDINGS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("wordings.toml").read_text(encoding="utf-8")
)
VERSION = "2"  # of how prompts are put together and replies are read
TURN_TOKENS = 1024
SMALL_TOKENS = 96  # for the embedded model: calls are short, and thirty have to fit into its context
CALLS, TEXT = "calls", "text"
FUNCTION_CALLERS = ("openai", "replay")
END = "[END]"
LONGEST_REPLY = 20_000  # characters of a malformed reply that are kept
AGENT_SECONDS = 600.0  # for one episode of a Python agent
_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*)\n\s*```\Z", re.DOTALL)


class AgentTurn(NamedTuple):
    """A reply taken apart: the words beside calls, and what is to be done in order."""

    text: str
    calls: tuple[ToolCall, ...]
    actions: tuple[Action, ...]


class ModelAgent:
    """A chat model that acts through tools."""

    def __init__(self, model: Model, by_text: bool) -> None:
        self.model = model
        self.name = model.name
        self.by_text = by_text
        self.asker = Asker(model)
        self.settings = {**model.settings, "tools": TEXT if by_text else CALLS}

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything about it that can change what it does."""
        words = [WORDINGS["agent"], WORDINGS["text"] if self.by_text else {}]
        return content_hash(["agent", VERSION, self.settings, words, self._tokens])

    @cached_property
    def _tokens(self) -> int:
        return SMALL_TOKENS if self.model.settings.get("kind") == "embedded" else TURN_TOKENS

    def opening(self, request: Request, told: Context) -> tuple[Message, ...]:
        """What the model is sent first: its task, the tools by text, what it was told about the person, and the request."""
        words = WORDINGS["agent"]
        parts = [words["task"].format(today=request.today)]
        if self.by_text:  # before the person: a prompt's common beginning is read once for all episodes
            tools = "\n".join(orjson.dumps(tool).decode() for tool in functions(request))
            parts.append(WORDINGS["text"]["protocol"].format(tools=tools))
        parts.append(words["told"].format(person=inert(told.text)) if told.text else words["untold"])
        return (
            {"role": "system", "content": "\n\n".join(parts)},
            {"role": "user", "content": request.text},
        )

    def ask(self, messages: tuple[Message, ...], request: Request, key: str, seed: int | None) -> ChatRequest:
        """The call that asks for the next step."""
        tools = () if self.by_text else functions(request)
        return ChatRequest(messages, self._tokens, seed=seed, key=key, tools=tools)

    async def act(self, request: ChatRequest) -> Exchange:
        """Ask for the next step; the reply of the exchange is what is stored and read again."""
        exchange = Exchange()
        reply = await self.asker.send(request, exchange)
        exchange.reply, exchange.reasoning = storable(self._stored(reply)), reply.reasoning
        if reply.refused:
            exchange.status, exchange.detail = Status.REFUSED, "The assistant refused."
        return exchange

    def _stored(self, reply: ChatReply) -> str:
        if self.by_text:
            return reply.text
        calls = [[call.id, call.name, call.arguments] for call in reply.tool_calls]
        return orjson.dumps({"text": reply.text, "calls": calls}).decode() if calls else reply.text

    def read(self, stored: str) -> AgentTurn:
        """Take a stored reply apart; one that cannot be read is a call of nothing."""
        if self.by_text:
            return AgentTurn(stored, (), (read_text(stored),))
        if stored.startswith('{"text":'):
            try:
                body = orjson.loads(stored)
                calls = tuple(ToolCall(*call) for call in body["calls"])
                return AgentTurn(body["text"], calls, tuple(Call(one.name, one.arguments) for one in calls))
            except (orjson.JSONDecodeError, TypeError, KeyError):
                pass  # words of the model that merely look like it
        text = stored.strip()
        return AgentTurn(stored, (), (Say(text) if text else Call("", ""),))

    def said(self, turn: AgentTurn) -> Message:
        """The model's own reply, as it is sent again."""
        calls = {"tool_calls": [call.message for call in turn.calls]} if turn.calls else {}
        return {"role": "assistant", "content": turn.text or ("" if calls else "…"), **calls}

    def heard(self, turn: AgentTurn, place: int, state: EpisodeState) -> Message:
        """What came back from the action at that place of a reply, as the model is sent it."""
        last = state.turns[-1]
        if turn.calls:
            return {"role": "tool", "tool_call_id": turn.calls[place].id, "content": last.reply}
        if last.by_user and isinstance(last.action, Say):
            return {"role": "user", "content": last.reply}
        words, action = WORDINGS["text"], last.action
        name = action.name if isinstance(action, Call) else ""
        reply = words["result"].format(tool=name, reply=last.reply) if name else last.reply
        return {"role": "user", "content": reply if name else f"{reply}\n{words['again']}"}


def read_text(reply: str) -> Action:
    """The action that a reply in the text protocol means: one JSON object, perhaps in a code fence, and nothing else."""
    text = reply.strip()
    if fenced := _FENCE.match(text):
        text = fenced[1].strip()
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError:
        return Call("", reply[:LONGEST_REPLY])
    match body:
        case {"say": str(words), **rest} if not rest and words.strip():
            return Say(words)
        case {"tool": str(name), "arguments": dict(arguments), **rest} if not rest and name:
            return Call(name, orjson.dumps(arguments).decode())
    return Call("", reply[:LONGEST_REPLY])


_FUNCTIONS: dict[tuple[str, ...], tuple[Tool, ...]] = {}


def functions(request: Request) -> tuple[Tool, ...]:
    """The tools of a request as functions that a model may call: the same for all requests of the same domains."""
    domains = tuple(request.domains)
    if domains not in _FUNCTIONS:
        _FUNCTIONS[domains] = tuple(tool["function"] for tool in schemas(request))
    return _FUNCTIONS[domains]


# -- the simulated user ------------------------------------------------------------------------------------------------


class ModelUser:
    """A model that plays the user from a card; without one, the world's own user answers by templates."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.name = model.name
        self.asker = Asker(model)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything about it that can change what it says."""
        return content_hash(["world user", VERSION, self.model.settings, WORDINGS["user"], TURN_TOKENS])

    def ask(self, state: EpisodeState, asked: str, key: str, seed: int | None) -> ChatRequest:
        """The call that asks for the user's answer: the card, all that was said to and by the user, and the question."""
        system = WORDINGS["user"]["task"].format(card=inert(card(state.request)), end=END)
        messages: list[Message] = [
            {"role": "system", "content": system},
            {"role": "user", "content": "(You write first.)"},
            {"role": "assistant", "content": state.request.text},
        ]
        for turn in state.turns:
            if turn.by_user:
                messages.append({"role": "user", "content": spoken(turn.action)})
                messages.append({"role": "assistant", "content": turn.reply or "…"})
        messages.append({"role": "user", "content": asked})
        return ChatRequest(tuple(messages), TURN_TOKENS, seed=seed, key=key)

    async def answer(self, request: ChatRequest) -> Exchange:
        """The user's answer, as it is stored."""
        exchange = Exchange()
        reply = await self.asker.send(request, exchange)
        exchange.reply, exchange.reasoning = storable(reply.text), reply.reasoning
        if reply.refused:
            exchange.status, exchange.detail = Status.REFUSED, "The simulated user refused to play its part."
        return exchange

    def read(self, stored: str) -> UserReply:
        """What a stored reply says, and whether it ends the conversation."""
        text = stored.strip()
        ends = text.endswith(END)
        return UserReply(text.removesuffix(END).strip(), ends)


def spoken(action: Action) -> str:
    """What an action says to the user."""
    if isinstance(action, Say):
        return action.text
    if isinstance(action, Call):
        try:
            body = orjson.loads(action.arguments)
        except orjson.JSONDecodeError:
            return ""
        return str(body.get("text", "")) if isinstance(body, dict) else ""
    return ""


# -- agents that need no model -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScriptedAgent:
    """One of the controls, which show what can be reached with what knowledge."""

    name: str

    @property
    def settings(self) -> dict[str, Any]:
        """What it is known by; `canned` says that its fingerprint covers what it does."""
        return {"kind": "canned", "script": self.name, "version": VERSION}

    @cached_property
    def fingerprint(self) -> str:
        """Hash of its name and version."""
        return content_hash(["scripted agent", self.settings])


class EpisodeOver(BaseException):
    """The episode of a Python agent has ended, and so has the agent: no `except Exception` of its own keeps it going."""


Asks = Callable[[EpisodeState, str], UserReply | None]
"""Gives the user's answer to a text, on the agent's thread; None where the world's own user answers."""


class EpisodeTools:
    """The tools of one episode as Python functions: `tools.search(domain="meals")` returns what a service would send."""

    def __init__(self, state: EpisodeState, asks: Asks) -> None:
        self._state = state
        self._asks = asks
        self.schemas = functions(state.request)
        for tool in self.schemas:
            setattr(self, tool["name"], partial(self.call, tool["name"]))

    @property
    def state(self) -> EpisodeState:
        """The episode so far."""
        return self._state

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool by its name; the reply is decoded where it is JSON, and the user's answer is a text."""
        try:
            text = orjson.dumps(arguments, option=orjson.OPT_NON_STR_KEYS).decode()
        except TypeError as error:
            text = f"{{{one_line(error)}"  # no JSON: the world answers it as a malformed call
        return self._step(Call(tool, text))

    def say(self, text: str) -> Any:
        """Say something to the user without a tool; returns the answer."""
        return self._step(Say(str(text)))

    def _step(self, action: Action) -> Any:
        if self._state.stop is not None:
            raise EpisodeOver
        asked = self._state.awaits_user(action)
        said = None if asked is None else self._asks(self._state, asked)
        self._state = self._state.step(action, said)
        last = self._state.turns[-1]
        try:
            return last.reply if last.by_user else orjson.loads(last.reply)
        except orjson.JSONDecodeError:
            return last.reply

    def end(self, words: Any) -> None:
        """End the episode, with the last words of the agent if it has any."""
        if isinstance(words, str) and words.strip() and self._state.stop is None:
            self.say(words)
        if self._state.stop is None:
            self._state = self._state.step(End())


WANTED = ("request", "tools", "person", "today")
"""What a Python agent is given if its parameters are so called."""


class PythonAgent:
    """`python:MODULE:OBJECT`: a function that gets the request and the tools as functions, plain or async.

    It may take `person` (what it is told of the person) and `today` too. What it returns, if a text, are its last words to the user.
    """

    price = (0.0, 0.0)

    def __init__(self, spec: Spec) -> None:
        spec.allow((*PYTHON_OPTIONS, "timeout"))
        self.name = self.endpoint = spec.text
        self.max_concurrency = int(spec.number("concurrency", 8, least=1))
        self._seconds = spec.number("timeout", AGENT_SECONDS, least=0.001)
        self._function = load_instance(spec)
        found = parameters_of(self._function) if callable(self._function) else None
        if found is None or not set(found[0]) <= set(WANTED) or "tools" not in found[1]:
            raise UserError(
                f"{spec.text}: an agent is a function of `request` and `tools`, and may take `person` and `today`, as in "
                "def agent(request, tools): ..."
            )
        self._names = [name for name in WANTED if name in found[1]]
        self.settings: dict[str, Any] = {
            "kind": "python",
            "object": spec.name,
            "code": code_hash(self._function, spec),
        }

    @cached_property
    def fingerprint(self) -> str:
        """Hash of its code or version."""
        return content_hash(["agent", VERSION, self.settings])

    async def play(self, state: EpisodeState, told: Context, asks: Asks) -> EpisodeState:
        """A whole episode; raises `Unanswerable` where the function raises or does not end."""
        tools = EpisodeTools(state, asks)
        request = state.request
        every = {"request": request.text, "tools": tools, "person": told.text, "today": request.today}
        named = {name: every[name] for name in self._names}

        def work() -> None:
            try:
                words = self._function(**named)
                tools.end(asyncio.run(_awaited(words)) if inspect.isawaitable(words) else words)
            except EpisodeOver:
                pass

        try:
            async with asyncio.timeout(self._seconds):
                await in_thread(work)
        except TimeoutError:
            raise Unanswerable(f"{self.name} did not end within {self._seconds:g} s.") from None
        except (Exception, SystemExit) as error:
            raise Unanswerable(f"{self.name} raised {type(error).__name__}: {one_line(error)}.") from error
        return tools.state

    async def close(self) -> None:
        """Nothing to release."""


async def _awaited(words: Awaitable[Any]) -> Any:
    return await words


Agent = ModelAgent | PythonAgent | ScriptedAgent


def make_agent(text: str) -> Agent:
    """The agent a spec names; `tools=text` lets a model write its calls as text, `tools=calls` is for servers that call functions."""
    if text in AGENTS:
        return ScriptedAgent(text)
    spec = parse_spec(text)
    if spec.kind == "python":
        return PythonAgent(spec)
    options = dict(spec.options)
    usual = CALLS if spec.kind in FUNCTION_CALLERS else TEXT
    how = options.pop("tools", usual)
    if how not in (CALLS, TEXT) or (how == CALLS and usual == TEXT):
        raise UserError(
            f"{text}: tools={how} is not possible; write tools=text, or tools=calls for a model behind an OpenAI-compatible server."
        )
    try:
        return ModelAgent(make_model(replace(spec, options=options)), how == TEXT)
    except UserError as error:
        if "names no model" in str(error):
            raise UserError(
                f"'{text}' names no agent; there are the scripted {', '.join(AGENTS)}, python:MODULE:OBJECT, and models such as "
                "openai:MODEL@URL."
            ) from None
        raise


def make_world_user(text: str) -> ModelUser:
    """The model that plays the user."""
    return ModelUser(make_model(text))
