"""`python:MODULE:OBJECT`: a callable of the user's own as a model; and the import that raters share."""

import importlib
import inspect
import math
import sys
import uuid
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.models.chat import ChatReply, ChatRequest, Unanswerable, one_line
from personafit.models.completions import MOST_TOKENS
from personafit.models.paying import paid_for
from personafit.models.spec import Spec
from personafit.models.threads import in_thread

PYTHON_OPTIONS = ("concurrency", "version")
"""Options of every `python:` spec."""


def load_object(spec: Spec) -> Any:
    """Import what `python:MODULE:OBJECT` names; the working folder counts as a place for modules."""
    module_name, _, attribute = spec.name.partition(":")
    if not module_name or not attribute:
        raise UserError(f"{spec.text}: write python:MODULE:OBJECT, such as python:my_system:answer.")
    if "" not in sys.path:
        sys.path.insert(0, "")
    found = _import(spec, module_name)
    try:
        for part in attribute.split("."):
            found = getattr(found, part)
    except AttributeError as error:
        raise UserError(f"{spec.text}: {module_name} has no '{attribute}'.") from error
    return found


def load_instance(spec: Spec) -> Any:
    """What `python:MODULE:OBJECT` names, a class by making one of it."""
    found = load_object(spec)
    if not isinstance(found, type):
        return found
    try:
        return found()
    except Exception as error:
        raise UserError(
            f"{spec.text}: {spec.name}() raised {type(error).__name__}: {one_line(error)}."
        ) from error


def load_function(spec: Spec, page: str) -> Callable[..., Any]:
    """What `python:MODULE:OBJECT` names as something to be called, a class by making one of it; `page` of docs/ says how."""
    found = load_instance(spec)
    if not callable(found):
        raise UserError(f"{spec.text}: {spec.name} is not callable; see docs/{page}.")
    function: Callable[..., Any] = found
    return function


def _import(spec: Spec, module_name: str) -> Any:
    try:
        return importlib.import_module(module_name)
    except ImportError as error:
        raise UserError(f"{spec.text}: cannot import {module_name} ({one_line(error)}).") from error
    except (Exception, SystemExit) as error:  # whatever a module of the user's may do while it is imported
        raise UserError(
            f"{spec.text}: cannot import {module_name} ({type(error).__name__}: {one_line(error)})."
        ) from error


def code_hash(function: Any, spec: Spec) -> str:
    """What a callable of the user's is known by: the version its spec states, else its source; without either it is asked anew.

    The source is that of its module, so that an edited one is a different instrument. A module that the spec names counts
    too: an object may be set up there and have its code elsewhere.
    """
    if version := spec.options.get("version"):
        return hash_text("version", version)[:16]
    while isinstance(function, partial):
        function = function.func
    target = function if inspect.isroutine(function) or inspect.isclass(function) else type(function)
    module = inspect.getmodule(target)
    named = sys.modules.get(spec.name.partition(":")[0])
    places = [module or target]
    if named is not None and named is not module:
        places.append(named)
    sources = [_source(place) for place in places]
    if not any(sources):
        return _unknown(spec.text)
    return hash_text(*(source or repr(place) for source, place in zip(sources, places, strict=True)))[:16]


def _source(found: Any) -> str | None:
    try:
        return inspect.getsource(found)
    except (OSError, TypeError):
        return None


@cache
def _unknown(spec: str) -> str:
    """A name for this process alone."""
    print(
        f"personafit: {spec} has no source to know it by, so every command asks it anew; give it a version, as {spec},version=1, "
        "and change that when it changes.",
        file=sys.stderr,
    )
    return uuid.uuid4().hex[:16]


async def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a function that may be plain or async; a plain one gets a thread, so that it may block."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return await function(*arguments, **named)
    result = await in_thread(function, *arguments, **named)
    return await result if inspect.isawaitable(result) else result


async def call_named(name: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a function of the user's; whatever it raises is said under its name."""
    try:
        return await call(function, *arguments, **named)
    except (Exception, SystemExit) as error:
        raise Unanswerable(f"{name} raised {type(error).__name__}: {one_line(error)}.") from error


def takes_two(function: Any) -> bool:
    """Whether a callable insists on a second argument."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return False
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in places and one.default is one.empty for one in parameters) == 2


class FunctionModel:
    """A function from a list of messages to a text (or to a ChatReply).

    One that takes two arguments gets the request's context as the second: in dialogues the person's and task's ids, and
    the name and text of what the system is given.
    """

    price = (0.0, 0.0)

    def __init__(self, spec: Spec) -> None:
        spec.allow(PYTHON_OPTIONS)
        self.name = spec.text
        self.endpoint = spec.text
        self.max_concurrency = int(spec.number("concurrency", 8, least=1))
        self._function = load_object(spec)
        if not callable(self._function):
            raise UserError(
                f"{spec.text}: {spec.name} is not callable; it must take messages and return a text."
            )
        self._takes_context = takes_two(self._function)
        self.settings: dict[str, Any] = {
            "kind": "python",
            "object": spec.name,
            "code": code_hash(self._function, spec),
        }

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Call the function with the messages."""
        context = [dict(request.context or {})] if self._takes_context else []
        messages = [dict(message) for message in request.messages]
        result = await call_named(self.name, self._function, messages, *context)
        if isinstance(result, ChatReply):
            if (fault := _fault(result)) is not None:
                raise Unanswerable(f"{self.name} returned a ChatReply whose {fault}.")
            paid_for(result.cost)
            return result
        if not isinstance(result, str):
            raise Unanswerable(f"{self.name} returned {type(result).__name__}; it must return a text.")
        return ChatReply(text=result)

    async def close(self) -> None:
        """Nothing to release."""


def _fault(reply: Any) -> str | None:
    """What in a ChatReply of the user's own making could not be read or stored."""
    if not isinstance(reply.text, str) or not isinstance(reply.reasoning, str | None):
        return "text or reasoning is no text"
    for name in ("tokens_in", "tokens_out", "tokens_reasoning"):
        if type(count := getattr(reply, name)) is not int or not 0 <= count < MOST_TOKENS:
            return f"{name} is no number of tokens"
    if not _is_number(reply.cost) or reply.cost < 0:
        return "cost is no number of USD"
    scores = reply.letter_scores
    if scores is not None and not (isinstance(scores, dict) and all(map(_is_number, scores.values()))):
        return "letter_scores do not map letters to numbers"
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
