"""`@rater`, `@context`, `@benchmark` and `@kind`: they register a user's functions and classes under a name for specs and commands.

A name lasts as long as the process; a package makes it permanent by an entry point `personafit.raters`, `.contexts`,
`.benchmarks` or `.kinds` that points to the decorated function.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from personafit._errors import UserError
from personafit._plugins import FACTORY, NAME, Group, register

if TYPE_CHECKING:
    from personafit.benchmarks import Benchmark
    from personafit.contexts import ContextBuilder, People
    from personafit.kinds import Kind

Rating = int | str | Sequence[float]
"""What a rater returns: the index of its choice, its letter or `tie`, or a score per answer, the highest of which wins."""

_OURS: dict[Group, str] = {
    "raters": "raters:RATERS",
    "contexts": "contexts:CONTEXTS",
    "benchmarks": "benchmarks:BENCHMARKS",
    "kinds": "kinds:KINDS",
}
"""Registries of the package's own names, which take precedence over a user's."""

F = TypeVar("F", bound=Callable[..., Any])
K = TypeVar("K", bound="Kind")


def rater(
    name: str, *, version: str | int | None = None, order_matters: bool | None = None
) -> Callable[[F], F]:
    """Name a function (or a class with `__call__`) that judges.

    It takes `person`, `question` and `answers`, or one parameter for all that is shown, and returns a `Rating`; it may be async.

    Args:
        name: Its name in reports and in `raters=[...]`.
        version: Identifies the function: raise it when its answers change. By default the source code identifies it.
        order_matters: Whether it is asked in both orders; else once, in an order drawn for each item.
    """

    _check_name("raters", name)

    def named(function: F) -> F:
        settings = {NAME: name, "version": version, "order_matters": order_matters}
        return _registered("raters", name, function, settings)

    return named


def context(name: str) -> Callable[[F], F]:
    """Name a function that writes a context: it takes a `Person` (and, optionally, the item), and returns a text.

    The text is part of every key, so a changed text leads to new asks.

    Args:
        name: Its name in `contexts=[...]`; `wrong:NAME` is the context of a wrong person.
    """

    _check_name("contexts", name)

    def named(function: F) -> F:
        def made(argument: str, people: "People", seed: int) -> "ContextBuilder":
            from personafit.contexts.function import FunctionContext

            return FunctionContext(f"{name}:{argument}" if argument else name, function)

        return _registered("contexts", name, function, {NAME: name}, made)

    return named


def benchmark(name: str) -> Callable[[F], F]:
    """Name a function that returns a benchmark: rows of pairs or answers as `evaluate` takes them, or a `Benchmark`.

    It takes nothing, or the folder given as `data=`.

    Args:
        name: Its name in `evaluate(NAME)`.
    """

    _check_name("benchmarks", name)

    def named(function: F) -> F:
        def opened(data: Path | None) -> "Benchmark":
            from personafit.api.frames import named_benchmark
            from personafit.models import one_line
            from personafit.models.functions import takes

            try:
                made = function(data) if takes(function, 1) else function()
            except UserError:
                raise
            except Exception as error:
                raise UserError(
                    f"benchmark {name} raised {type(error).__name__}: {one_line(error)}."
                ) from error
            return named_benchmark(made, name)

        return _registered("benchmarks", name, function, {NAME: name}, opened)

    return named


def kind(name: str) -> Callable[[type[K]], type[K]]:
    """Name a kind of item: a subclass of `Kind` that defines what is asked, what is shown and how it is scored.

    Args:
        name: The value of `kind` of its items, in a folder's items.jsonl or in `Item(kind=NAME)`.
    """

    _check_name("kinds", name)

    def named(cls: type[K]) -> type[K]:
        from personafit.kinds import Kind

        if not isinstance(cls, type) or not issubclass(cls, Kind):
            raise UserError(f"{name}: a kind is a subclass of personafit.Kind, not {cls!r:.60}.")
        cls.name = name
        return _registered("kinds", name, cls, {NAME: name})

    return named


def _check_name(group: Group, name: Any) -> None:
    """Raise a UserError if the decorator was used without a name, or with one that cannot be used."""
    if callable(name):
        raise UserError(f"Give a name: write @pf.{group[:-1]}(NAME) above {getattr(name, '__name__', name)}.")
    if not isinstance(name, str) or not name or set(name) & set(":,@ \n"):
        raise UserError(
            f"{name!r} is no name for one of your {group}: use letters, digits, '-', '_' and '.'."
        )
    module, _, table = _OURS[group].partition(":")
    if name in getattr(import_module(f"personafit.{module}"), table):
        raise UserError(
            f"{name} is one of the {group} that personafit brings; choose another name for yours."
        )


def _registered(group: Group, name: str, function: F, settings: dict[str, Any], made: Any = None) -> F:
    if not callable(function):
        raise UserError(f"{name}: only something that can be called can be one of your {group}.")
    for attribute, value in {**settings, FACTORY: made}.items():
        if value is not None:
            setattr(function, attribute, value)
    register(group, name, function if made is None else made)
    return function
