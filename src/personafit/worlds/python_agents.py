"""Agents written in Python: functions that receive the tools of an episode as functions."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any

import orjson

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.contexts import Context
from personafit.models import Spec, Unanswerable, one_line
from personafit.models.calls import in_thread
from personafit.models.functions import PYTHON_OPTIONS, code_hash, load_instance, parameters_of
from personafit.store.records import storable
from personafit.worlds.episode import Action, Call, End, EpisodeState, Say, spoken
from personafit.worlds.tools import functions
from personafit.worlds.user import UserReply

VERSION = "2"  # of how the tools are passed to the agent
SECONDS = 600.0  # for one episode
PARAMETERS = ("request", "tools", "person", "today")
"""The arguments an agent is called with, as far as it takes them."""

AskUser = Callable[[EpisodeState, str], UserReply | None]
"""Returns the user's answer to a text, on the agent's thread; None if the template user answers."""


class EpisodeOver(BaseException):
    """Raised when the episode has ended; a BaseException, so that an agent's `except Exception` does not keep it going."""


class EpisodeTools:
    """An episode whose tools are Python functions: `search(domain="meals")` returns what a service would send."""

    def __init__(self, state: EpisodeState, ask_user: AskUser) -> None:
        self.state = state
        self.error: Exception | None = None
        """Why the model that plays the user could not answer: a fault of the episode, not of the agent."""
        self._ask_user = ask_user

    def given(self) -> SimpleNamespace:
        """Return what the agent gets: the functions alone, without the state of the episode."""
        schemas = functions(self.state.request)
        named = {tool["name"]: partial(self.call, tool["name"]) for tool in schemas}
        domains = list(self.state.request.domains)
        return SimpleNamespace(schemas=schemas, domains=domains, call=self.call, say=self.say, **named)

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool by its name; the reply is decoded if it is JSON, and the user's answer is a text."""
        try:
            text = orjson.dumps(arguments, option=orjson.OPT_NON_STR_KEYS).decode()
        except TypeError as error:
            text = f"{{{one_line(error)}"  # no JSON: the world answers it as a malformed call
        return self._step(Call(storable(str(tool)), text))

    def say(self, text: str) -> Any:
        return self._step(Say(storable(str(text))))

    def _step(self, action: Action) -> Any:
        if self.state.stop is not None:
            raise EpisodeOver
        question = spoken(action)
        try:
            said = None if question is None else self._ask_user(self.state, question)
        except Exception as error:
            self.error = error
            raise EpisodeOver from error
        self.state = self.state.step(action, said)
        last = self.state.turns[-1]
        return last.reply if last.by_user else orjson.loads(last.reply)

    def end(self, words: Any) -> None:
        """End the episode, with the agent's last words if there are any."""
        if isinstance(words, str) and words.strip():
            self.say(words)
        self.state = self.state.step(End())


class PythonAgent:
    """`python:MODULE:OBJECT`: a function that gets the request and the tools as functions, plain or async.

    It may take `person` (the text of the context) and `today` too. If it returns a text, these are its last words to the user.
    """

    price = (0.0, 0.0)

    def __init__(self, spec: Spec) -> None:
        spec.allow((*PYTHON_OPTIONS, "timeout"))
        self.name = self.endpoint = spec.text
        self.max_concurrency = int(spec.number("concurrency", 8, least=1))
        self._seconds = spec.number("timeout", SECONDS, least=0.001)
        self._function = load_instance(spec)
        found = parameters_of(self._function) if callable(self._function) else None
        if found is None or not set(found[0]) <= set(PARAMETERS) or "tools" not in found[1]:
            raise UserError(
                f"{spec.text}: an agent is a function of `request` and `tools`, and may take `person` and `today`, as in "
                "def agent(request, tools): ..."
            )
        self._names = [name for name in PARAMETERS if name in found[1]]
        self.settings: dict[str, Any] = {
            "kind": "python",
            "object": spec.name,
            "code": code_hash(self._function, spec),
        }

    @cached_property
    def fingerprint(self) -> str:
        return content_hash(["agent", VERSION, self.settings])

    async def play(self, tools: EpisodeTools, context: Context) -> None:
        """Let the function act through the tools; raise `Unanswerable` if it raises or does not end."""
        text, today = tools.state.request.text, tools.state.request.today
        every = {"request": text, "tools": tools.given(), "person": context.text, "today": today}
        named = {name: every[name] for name in self._names}

        def work() -> BaseException | None:
            try:
                words = self._function(**named)
                tools.end(asyncio.run(_awaited(words)) if inspect.isawaitable(words) else words)
            except EpisodeOver:
                pass
            except BaseException as error:  # whatever an agent raises is its own failure
                return error
            return None

        try:
            async with asyncio.timeout(self._seconds):
                error = await in_thread(work)
        except TimeoutError:
            raise Unanswerable(f"{self.name} did not end within {self._seconds:g} s.") from None
        if tools.error is not None:
            raise tools.error
        if error is not None:
            raise Unanswerable(f"{self.name} raised {type(error).__name__}: {one_line(error)}.") from error

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""


async def _awaited(words: Awaitable[Any]) -> Any:
    return await words
