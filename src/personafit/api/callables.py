"""Callables as raters and systems: each gets a name for use in specs, and its version or source identifies it."""

import re
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from personafit._errors import UserError
from personafit._plugins import NAME, find_plugin
from personafit.models.spec import GivenCallable

Named = str | Callable[..., Any]
"""A spec, such as `openai:gpt-4.1-mini` or `rule:length`, or a callable."""


class ScoringObject(Protocol):
    """An object that scores answers by themselves, such as a reward model; higher is better."""

    def score(self, prompt: str, person: str, answer: str, /) -> Any:
        """Return a number, or an awaitable of one."""


Judge = Named | ScoringObject


class Callables:
    """The callables of one evaluation, by the names assigned to them."""

    def __init__(self) -> None:
        self.given: dict[str, GivenCallable] = {}

    def specs(self, named: Judge | Iterable[Judge] | None, what: str) -> list[str]:
        """Return the specs of the given raters or systems; `what` is the name of the argument."""
        return [self._spec(one, what) for one in each_of(named)]

    def notes(self) -> list[str]:
        """Return a sentence for each callable that is asked anew each time."""
        return [
            f"{name} is asked anew each time: its source cannot be read or it carries more than plain values; give it a "
            "version, as in @pf.rater(NAME, version=...), to reuse what it said."
            for name, one in self.given.items()
            if one.anew
        ]

    def _spec(self, named: Any, what: str) -> str:
        if isinstance(named, str):
            found = find_plugin("raters", named) if what == "raters" and ":" not in named else None
            if found is None or not hasattr(found, NAME):
                return named
            named = found
        scores = what == "raters" and callable(getattr(named, "score", None))
        if not (callable(named) or scores):
            spec = "rule:length" if what == "raters" else "openai:gpt-4.1-mini"
            raise UserError(
                f"{what} takes specs such as '{spec}' and callables, not {type(named).__name__} ({named!r:.60})."
            )
        return f"python:{self._name(named)}"

    def _name(self, function: Any) -> str:
        for name, one in self.given.items():
            if one.function is function:
                return name
        wanted = str(
            getattr(function, NAME, None) or getattr(function, "__name__", None) or type(function).__name__
        )
        base = re.sub(r"[^\w.-]+", "", wanted) or "function"
        name, number = base, 1
        while name in self.given:
            number += 1
            name = f"{base}-{number}"
        from personafit.models.functions import given_callable

        self.given[name] = given_callable(function)
        return name


def each_of(named: Any) -> list[Any]:
    """Return a list, whether one thing was given or several."""
    if named is None:
        return []
    one = isinstance(named, str) or callable(named) or not isinstance(named, Iterable)
    return [named] if one else list(named)
