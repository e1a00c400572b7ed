"""What users add: raters, contexts and benchmarks by decorator in this process, or by entry point of an installed package.

An entry point is loaded only when its name is asked for.
"""

from importlib.metadata import entry_points
from typing import Any, Literal

from personafit._errors import UserError

Group = Literal["raters", "contexts", "benchmarks", "kinds"]

NAME = "personafit_name"
"""Attribute of what a decorator of ours has named."""

FACTORY = "personafit_factory"
"""Attribute of a named function that holds what makes the context or opens the benchmark."""

_registered: dict[tuple[str, str], Any] = {}


def register(group: Group, name: str, thing: Any) -> None:
    """Make a thing known by its name in this process; one that is defined again, as in a notebook, replaces the former."""
    _registered[group, name] = thing


def find_plugin(group: Group, name: str) -> Any | None:
    """What a name stands for: registered in this process, or an entry point of `personafit.GROUP`; None where neither is."""
    if (group, name) in _registered:
        return _registered[group, name]
    for entry in entry_points(group=f"personafit.{group}", name=name):
        try:
            found = entry.load()
            return getattr(found, FACTORY, found)
        except (
            Exception,
            SystemExit,
        ) as error:  # whatever a module of the user's may do while it is imported
            why = " ".join(str(error).split())[:200].rstrip(".")
            raise UserError(
                f"{name}: the entry point {entry.value} cannot be loaded ({type(error).__name__}: {why})."
            ) from error
    return None
