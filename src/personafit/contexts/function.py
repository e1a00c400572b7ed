"""Contexts from a user-defined function."""

from collections.abc import Callable
from typing import Any

from personafit._errors import UserError
from personafit.contexts.context import Context, ContextBuilder
from personafit.models import one_line, parse_spec
from personafit.models.functions import load_instance, takes
from personafit.people import Person
from personafit.store import Item


class FunctionContext:
    """A context returned by a user-defined function, named by `@pf.context` or `python:MODULE:OBJECT`."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self._function = function
        self._takes_item = takes(function, 2)

    def build(self, person: Person, item: Item) -> Context:
        try:
            told = self._function(person, item) if self._takes_item else self._function(person)
        except Exception as error:
            raise UserError(
                f"context {self.name} raised {type(error).__name__} for {person.id}: {one_line(error)}."
            ) from error
        if not isinstance(told, str):
            raise UserError(
                f"context {self.name} must return a text, not {type(told).__name__}, for {person.id}."
            )
        return Context(self.name, told, (told,) if told else (), person.id)


def python_context(argument: str) -> ContextBuilder:
    """Make `python:MODULE:OBJECT`."""
    spec = parse_spec(f"python:{argument}")
    spec.allow(())
    function = load_instance(spec)
    if not callable(function) or not (takes(function, 1) or takes(function, 2)):
        raise UserError(
            f"{spec.text}: a context is a function that takes a person, and the item if it wants, and returns a text, as in "
            "def recall(person, item): ..."
        )
    return FunctionContext(spec.text, function)
