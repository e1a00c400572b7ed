"""Output helpers shared by several commands."""

import shlex
import sys
from typing import TYPE_CHECKING, Any

import orjson
from rich.console import Console

from personafit.api.places import hint

if TYPE_CHECKING:
    from personafit import Analysis

MIN_WIDTH = 100  # there is no terminal width in a pipe or a log


def console() -> Console:
    """Return the console for standard output, wide enough for the tables if it is not a terminal."""
    plain = Console()
    return plain if plain.is_terminal else Console(width=max(plain.width, MIN_WIDTH), color_system=None)


def this_command() -> str:
    """Return the command line as typed, to be stored with its output."""
    return shlex.join(["personafit", *sys.argv[1:]])


def show_analysis(found: "Analysis", json: bool) -> None:
    """Print an analysis as tables or as one JSON object, and its hints to standard error."""
    for text in found.hints:
        hint(text)
    if json:
        print_object(found.as_dict())
    else:
        found.print(console())


def print_object(body: dict[str, Any]) -> None:
    """Print one JSON object and nothing else."""
    sys.stdout.buffer.write(orjson.dumps(body, option=orjson.OPT_INDENT_2) + b"\n")
    sys.stdout.flush()
