"""Options and arguments that many commands take, said in the same words everywhere."""

from pathlib import Path
from typing import Annotated

import typer

from personafit.store import Status

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
StoreOption = Annotated[
    str | None, typer.Option(help="File or postgresql:// URL; default .personafit/store.db.")
]
DataOption = Annotated[Path | None, typer.Option(help="Folder with the data in its published layout.")]
BudgetOption = Annotated[
    float | None, typer.Option(min=0, help="Stop before spending more than this, in USD.")
]
RetryOption = Annotated[
    list[Status] | None, typer.Option(help="Ask again where this was the end: unparsed, …")
]
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="Name, folder, or `last`.")]
OnOption = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="local|ray[://HOST:PORT]",
        help="Where models of this machine work: here, or in Ray workers.",
    ),
]
MarginOption = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="Differences smaller than this share of the scale count as none in equivalence tests; default 0.05, or 5 points.",
    ),
]
MetricOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Another metric than those that such a run is summed up by."),
]
