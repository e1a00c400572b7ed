"""The user's own callables: as models (`python:MODULE:OBJECT`), how they are imported, called and identified.

Stored replies of a callable are reused only if it would give the same again. One named by `python:MODULE:OBJECT` is identified by its
version, else by its module's source. One passed in this process is identified by its `version`, else by its source and the plain
values it carries (defaults, closure, arguments of a partial, attributes). Others are asked anew each time. Other globals, such as a
client or loaded weights, are not seen: give a `version` if they matter.
"""

import asyncio
import importlib
import inspect
import math
import re
import sys
import textwrap
import uuid
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.models.calls import in_thread
from personafit.models.chat import MOST_TOKENS, ChatReply, ChatRequest, Unanswerable, one_line
from personafit.models.purse import Payment
from personafit.models.spec import GIVEN, IMPORTING, GivenCallable, Spec

PYTHON_OPTIONS = ("concurrency", "version")  # options of every `python:` spec


def load_object(spec: Spec) -> Any:
    """Return the callable passed in this process that `python:NAME` names, or import `python:MODULE:OBJECT`.

    Modules are also searched in the working folder.
    """
    if (given := GIVEN.get().get(spec.name)) is not None:
        return given.function
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
    """Return the object `python:MODULE:OBJECT` names; a class is instantiated."""
    found = load_object(spec)
    if not isinstance(found, type):
        return found
    try:
        return found()
    except Exception as error:
        raise UserError(
            f"{spec.text}: {spec.name}() raised {type(error).__name__}: {one_line(error)}."
        ) from error


def _import(spec: Spec, module_name: str) -> Any:
    importing = IMPORTING.set(module_name)
    try:
        return importlib.import_module(module_name)
    except UserError:
        raise
    except ImportError as error:
        raise UserError(f"{spec.text}: cannot import {module_name} ({one_line(error)}).") from error
    except (Exception, SystemExit) as error:  # a user's module may raise anything while it is imported
        raise UserError(
            f"{spec.text}: cannot import {module_name} ({type(error).__name__}: {one_line(error)})."
        ) from error
    finally:
        IMPORTING.reset(importing)


def code_hash(function: Any, spec: Spec) -> str:
    """Return the identity of a user's callable: the version stated by its spec or itself, else a hash of its source, else a random one.

    A callable passed in this process keeps the identity it got then (`given_callable`).

    The source is that of its module, so that an edited module is a different instrument. A module named by the spec counts
    too: an object may be set up there and have its code elsewhere.
    """
    if (given := GIVEN.get().get(spec.name)) is not None:
        return given.identity
    if version := spec.options.get("version") or version_of(function):
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
    """Return a random identity, so that nothing stored is reused, and warn about it once."""
    print(
        f"personafit: {spec} has no source to know it by, so every command asks it anew; give it a version, as {spec},version=1, "
        "and change that when it changes.",
        file=sys.stderr,
    )
    return uuid.uuid4().hex[:16]


async def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a function that may be plain or async; a plain one runs on a thread, so that it may block."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return await function(*arguments, **named)
    result = await in_thread(function, *arguments, **named)
    return await result if inspect.isawaitable(result) else result


async def call_named(name: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a user's function and turn whatever it raises into an `Unanswerable` that names it."""
    try:
        return await call(function, *arguments, **named)
    except (Exception, SystemExit, asyncio.CancelledError) as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise  # the run was stopped; any other cancellation is the function's own
        raise Unanswerable(f"{name} raised {type(error).__name__}: {one_line(error)}.") from error


def parameters_of(function: Any) -> tuple[list[str], list[str], bool] | None:
    """Return a callable's required parameters, all it takes by name, and whether it takes any name; None if unknown.

    Built-in functions may have no readable signature, or positional-only parameters.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return None
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    loose = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [one.name for one in parameters if one.kind not in loose and one.default is one.empty]
    taken = [one.name for one in parameters if one.kind in by_name]
    if len(needed) > 1 and not set(needed) <= set(taken):
        return None
    return needed, taken, any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)


def takes(function: Callable[..., Any], count: int) -> bool:
    """Return whether a function takes `count` positional arguments."""
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # no readable signature
        return count == 1
    return True


ABOUT_PERSON = ("person", "question", "person_id", "question_id")
"""Names of parameters a system may take: the person's text it may use, the latest question, and their ids."""


class FunctionModel:
    """A function from a list of messages to a text (or to a ChatReply), as a model.

    A function with parameters called `person`, `question`, `person_id`, `question_id` or `messages` gets these. Otherwise
    it gets the messages, and as a second argument, if it takes two, the request's context: ids of the person and of the question
    or task, and the name and text of the system context. The person's id is that of the person in the system context: empty if
    it is about nobody, and somebody else's if it is about the wrong person.
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
        self._dearest = 0.0
        """The highest cost of a call so far, in USD, reserved for the next one."""
        found = parameters_of(self._function)
        self._takes_context = found is not None and len(found[0]) == 2
        self._by_name = _wanted_names(found)
        self.settings: dict[str, Any] = {
            "kind": "python",
            "object": spec.name,
            "code": code_hash(self._function, spec),
        }

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Call the function with the messages, or with the parameters it names."""
        async with Payment(self._dearest) as payment:
            reply = await self._call(request)
            self._dearest = max(self._dearest, payment.pay(reply.cost))
        return reply

    async def _call(self, request: ChatRequest) -> ChatReply:
        messages = [dict(message) for message in request.messages]
        if self._by_name:
            about = {"messages": messages, **_about_person(request)}
            wanted = {name: about[name] for name in self._by_name}
            result = await call_named(self.name, self._function, **wanted)
        else:
            context = [dict(request.context or {})] if self._takes_context else []
            result = await call_named(self.name, self._function, messages, *context)
        if isinstance(result, ChatReply):
            if (fault := _fault(result)) is not None:
                raise Unanswerable(f"{self.name} returned a ChatReply whose {fault}.")
            return result
        if not isinstance(result, str):
            raise Unanswerable(f"{self.name} returned {type(result).__name__}; it must return a text.")
        return ChatReply(text=result)

    async def close(self) -> None:
        """Nothing to release."""


def _wanted_names(found: tuple[list[str], list[str], bool] | None) -> list[str]:
    """Return the named parameters to pass to a system; empty if it takes messages instead."""
    known = {"messages", *ABOUT_PERSON}
    if found is None or not set(found[0]) <= known or not set(found[1]) & set(ABOUT_PERSON):
        return []
    return [name for name in ("messages", *ABOUT_PERSON) if name in found[1]]


def _about_person(request: ChatRequest) -> dict[str, str]:
    """Return person, question and their ids, as a request has them."""
    context = request.context or {}
    asked = [message["content"] for message in request.messages if message["role"] == "user"]
    return {
        "person": context.get("text", ""),
        "person_id": context.get("person", ""),
        "question_id": context.get("question", "") or context.get("task", ""),
        "question": asked[-1] if asked else "",
    }


def _fault(reply: Any) -> str | None:
    """Return what is wrong with a ChatReply that the user's function made; None if nothing is."""
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


PLAIN = (str, int, float, bool, bytes, type(None))
DEEPEST = 6  # nesting limit of containers and functions


_LAMBDA = re.compile(r"\blambda\b[^:\"']*:")


class Unknowable(Exception):
    """Raised for a callable whose behaviour cannot be derived from its source and plain values."""


def given_callable(function: Any) -> GivenCallable:
    """Wrap a callable together with its identity."""
    try:
        return GivenCallable(function, identity_of(function))
    except Unknowable:
        return GivenCallable(function, f"anew:{uuid.uuid4().hex}", anew=True)


def version_of(function: Any) -> str | None:
    """Return the `version` attribute of a callable; None if it has none."""
    version = getattr(function, "version", None)
    return str(version) if isinstance(version, str | int | float) and version != "" else None


def identity_of(function: Any) -> str:
    """Return the identity of a callable; raise `Unknowable` if its source is unreadable or it carries more than plain values."""
    version = version_of(function)
    if version is not None:
        return f"version:{version}"
    return content_hash(_known(function, DEEPEST))[:16]


def _known(thing: Any, depth: int) -> Any:
    """Return the source of a callable and all plain values it uses, as data to be hashed."""
    if depth == 0:
        raise Unknowable
    if isinstance(thing, partial):
        return ["partial", _known(thing.func, depth - 1), _plain([thing.args, thing.keywords], depth - 1)]
    if inspect.ismethod(thing):
        return ["method", thing.__name__, _known(thing.__self__, depth - 1)]
    if inspect.isclass(thing):
        return ["class", _known_source(thing)]
    if not inspect.isfunction(thing):
        return ["object", _known_source(type(thing)), _plain(dict(getattr(thing, "__dict__", {})), depth - 1)]
    carried = inspect.getclosurevars(thing)
    own = {name: value for name, value in carried.globals.items() if _counts(thing, value)}
    return [
        "function",
        _known_source(thing),
        _plain([thing.__defaults__, thing.__kwdefaults__], depth - 1),
        _plain(dict(carried.nonlocals), depth - 1),
        _plain(own, depth - 1),
    ]


def _counts(function: Any, value: Any) -> bool:
    """Return whether a global belongs to a function's identity: plain values, and functions of the same module."""
    if inspect.isfunction(value):
        return value is not function and value.__module__ == function.__module__
    return isinstance(value, PLAIN)


def _plain(value: Any, depth: int) -> Any:
    if depth == 0:
        raise Unknowable
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(one, depth - 1) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, depth - 1) for one in value]
    if inspect.isfunction(value) or isinstance(value, partial):
        return _known(value, depth - 1)
    raise Unknowable


def _known_source(thing: Any) -> str:
    source = _source(thing)
    # A lambda's source is that of its whole statement, which several lambdas may share.
    if source is None or (getattr(thing, "__name__", "") == "<lambda>" and len(_LAMBDA.findall(source)) > 1):
        raise Unknowable
    return textwrap.dedent(source)
