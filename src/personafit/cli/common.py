"""What several commands share: how results are printed."""

import shlex
import sys
from typing import TYPE_CHECKING, Any

import orjson
from rich.console import Console

from personafit.api.places import hint

if TYPE_CHECKING:
    from personafit import Analysis

MIN_WIDTH = 100  # in a pipe or a log there is no terminal to be narrower than


def console() -> Console:
    """Standard output; wide enough for the tables when it is not a terminal."""
    plain = Console()
    return plain if plain.is_terminal else Console(width=max(plain.width, MIN_WIDTH), color_system=None)


def this_command() -> str:
    """The command line as it was typed, to be kept with what it makes."""
    return shlex.join(["personafit", *sys.argv[1:]])


def show_analysis(found: "Analysis", json: bool) -> None:
    """Print an analysis as tables or as one JSON object, and what it left out to standard error."""
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
