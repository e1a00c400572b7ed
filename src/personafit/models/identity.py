"""What a callable of the user's is known by, so that what it said before is used again only where it would say the same.

By its `version`; else by its source and the plain values it carries (defaults, closure, arguments of a partial, attributes);
else by nothing, and then it is asked anew each time. Globals of other sorts, such as a client or loaded weights, are not seen:
give a `version` where they matter.
"""

import inspect
import textwrap
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from personafit._hashing import content_hash

PLAIN = (str, int, float, bool, bytes, type(None))
DEEPEST = 6  # containers and functions within each other


class Unknowable(Exception):
    """Something that a callable carries could be anything."""


@dataclass(frozen=True)
class GivenCallable:
    """A callable that was handed over in this process, under the name that specs call it by."""

    function: Any
    identity: str
    """What it is known by."""
    anew: bool = False
    """Whether nothing is known of it, so that it is asked anew each time."""


NONE: Mapping[str, GivenCallable] = MappingProxyType({})
GIVEN: ContextVar[Mapping[str, GivenCallable]] = ContextVar("GIVEN", default=NONE)
"""The callables that `python:NAME` may name here, besides what modules hold."""


@contextmanager
def giving(callables: Mapping[str, GivenCallable]) -> Iterator[None]:
    """Let specs name these callables."""
    token = GIVEN.set(callables)
    try:
        yield
    finally:
        GIVEN.reset(token)


def given_callable(function: Any) -> GivenCallable:
    """A callable with what it is known by."""
    try:
        return GivenCallable(function, identity_of(function))
    except Unknowable:
        return GivenCallable(function, f"anew:{uuid.uuid4().hex}", anew=True)


def version_of(function: Any) -> str | None:
    """The `version` that a callable says it has; None where it says none."""
    version = getattr(function, "version", None)
    return str(version) if isinstance(version, str | int | float) and version != "" else None


def identity_of(function: Any) -> str:
    """What a callable is known by; raises `Unknowable` where its source cannot be read or it carries more than plain values."""
    version = version_of(function)
    if version is not None:
        return f"version:{version}"
    return content_hash(_known(function, DEEPEST))[:16]


def _known(thing: Any, depth: int) -> Any:
    """Everything that decides what a callable does, as plain data."""
    if depth == 0:
        raise Unknowable
    if isinstance(thing, partial):
        return ["partial", _known(thing.func, depth - 1), _plain([thing.args, thing.keywords], depth - 1)]
    if inspect.ismethod(thing):
        return ["method", thing.__name__, _known(thing.__self__, depth - 1)]
    if inspect.isclass(thing):
        return ["class", _source(thing)]
    if not inspect.isfunction(thing):
        return ["object", _source(type(thing)), _plain(dict(getattr(thing, "__dict__", {})), depth - 1)]
    carried = inspect.getclosurevars(thing)
    own = {name: value for name, value in carried.globals.items() if _counts(thing, value)}
    return [
        "function",
        _source(thing),
        _plain([thing.__defaults__, thing.__kwdefaults__], depth - 1),
        _plain(dict(carried.nonlocals), depth - 1),
        _plain(own, depth - 1),
    ]


def _counts(function: Any, value: Any) -> bool:
    """Whether a global is part of what a function does: a plain value, or a function of the same module other than itself."""
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


def _source(thing: Any) -> str:
    try:
        return textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError) as error:
        raise Unknowable from error
