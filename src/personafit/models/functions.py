"""`python:MODULE:OBJECT`: a callable of the user's own as a model; and the import that raters share."""

import asyncio
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.models.chat import ChatReply, ChatRequest, Unanswerable, one_line
from personafit.models.spec import Spec


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


def load_function(spec: Spec, page: str) -> Callable[..., Any]:
    """What `python:MODULE:OBJECT` names as something to be called, a class by making one of it; `page` of docs/ says how."""
    found = load_object(spec)
    if isinstance(found, type):
        try:
            found = found()
        except Exception as error:
            raise UserError(
                f"{spec.text}: {spec.name}() raised {type(error).__name__}: {one_line(error)}."
            ) from error
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


def code_hash(function: Any) -> str:
    """A hash of the code behind a callable, so that an edited one is a different instrument."""
    target = function if inspect.isroutine(function) or inspect.isclass(function) else type(function)
    try:
        source = inspect.getsource(inspect.getmodule(target) or target)
    except (OSError, TypeError):
        source = repr(target)
    return hash_text(source)[:16]


async def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a function that may be plain or async; a plain one gets a thread, so that it may block."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return await function(*arguments, **named)
    result = await asyncio.to_thread(function, *arguments, **named)
    return await result if inspect.isawaitable(result) else result


async def call_named(name: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a function of the user's; whatever it raises is said under its name."""
    try:
        return await call(function, *arguments, **named)
    except Exception as error:
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
        spec.allow(("concurrency",))
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
            "code": code_hash(self._function),
        }

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Call the function with the messages."""
        context = [dict(request.context or {})] if self._takes_context else []
        messages = [dict(message) for message in request.messages]
        result = await call_named(self.name, self._function, messages, *context)
        if isinstance(result, ChatReply):
            return result
        if not isinstance(result, str):
            raise Unanswerable(f"{self.name} returned {type(result).__name__}; it must return a text.")
        return ChatReply(text=result)

    async def close(self) -> None:
        """Nothing to release."""
