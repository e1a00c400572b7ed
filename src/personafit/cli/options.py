"""Options and arguments that several commands take, with the same names and help texts everywhere."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from personafit import Status
from personafit._errors import UserError

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
StoreOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="SQLite file or postgresql:// URL of the store; default .personafit/store.db."
    ),
]
DataOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder with the data in its published layout.")
]
BudgetOption = Annotated[
    float | None, typer.Option(min=0, metavar="USD", help="The most this command may spend.")
]
RetryOption = Annotated[
    list[Status] | None,
    typer.Option(
        metavar="STATUS",
        help="Re-ask items whose last status was one of: unparsed, refused, failed, skipped. Repeatable.",
    ),
]
SeedOption = Annotated[
    int, typer.Option(metavar="N", help="Seed of all random draws; default 0.", show_default=False)
]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run's name, its folder, or `last`.")]
BackendOption = Annotated[
    str,
    typer.Option(
        metavar="local|ray[://ADDR]",
        show_default=False,
        help="Where local models run: this process (default), or a Ray cluster.",
    ),
]
MarginOption = Annotated[
    float,
    typer.Option(
        min=0.0, max=1.0, metavar="X", help="Differences below this share of the scale count as equivalent."
    ),
]
MetricOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Compare this metric instead of the kind's headline metrics."),
]


def panel(name: str) -> Callable[..., Any]:
    """Return `typer.Option` for options under one heading in the help of a command."""
    return partial(typer.Option, rich_help_panel=name)


def read_assignments(option: str, given: list[str] | None) -> dict[str, str]:
    """Parse the NAME=VALUE texts of a repeatable option."""
    found = {}
    for text in given or []:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise UserError(f"{option} {text}: write NAME=VALUE, such as {option} tasks=SD.")
        found[name] = value
    return found
