"""Plugins: raters, contexts and benchmarks registered by decorator in this process, or by entry point of an installed package.

An entry point is loaded only when its name is asked for.
"""

from importlib.metadata import entry_points
from typing import Any, Literal

from personafit._errors import UserError

Group = Literal["raters", "contexts", "benchmarks", "kinds"]

NAME = "personafit_name"
"""Attribute that holds the name given by one of our decorators."""

FACTORY = "personafit_factory"
"""Attribute of a named function that holds the factory of the context or benchmark."""

_registered: dict[tuple[str, str], Any] = {}


def register(group: Group, name: str, thing: Any) -> None:
    """Register a plugin by its name in this process; one that is defined again, as in a notebook, replaces the former."""
    _registered[group, name] = thing


def find_plugin(group: Group, name: str) -> Any | None:
    """Return the plugin of that name: registered in this process, or an entry point of `personafit.GROUP`; None if there is none."""
    if (group, name) in _registered:
        return _registered[group, name]
    for entry in entry_points(group=f"personafit.{group}", name=name):
        try:
            found = entry.load()
            return getattr(found, FACTORY, found)
        # A user's module may raise anything while it is imported.
        except (Exception, SystemExit) as error:
            why = " ".join(str(error).split())[:200].rstrip(".")
            raise UserError(
                f"{name}: the entry point {entry.value} cannot be loaded ({type(error).__name__}: {why})."
            ) from error
    return None
