"""`personafit models`: weights for the embedded engine, by name."""

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from personafit._errors import UserError
from personafit.models.catalog import CATALOG
from personafit.models.embedded import find_weights
from personafit.models.fetching import fetch

app = typer.Typer(no_args_is_help=True, help="Weights for the embedded engine: list, get.")


@app.command("list")
def list_models() -> None:
    """Name the weights that can be had by name, and say which are here.

    **Example**

        personafit models list
    """
    for source in CATALOG.values():
        try:
            here = str(find_weights(source.name))
        except UserError:
            here = f"not here; personafit models get {source.name}"
        print(
            f"embedded:{source.name:<20} {source.size / 1e6:>6,.0f} MB  {source.about}\n{'':30}{source.licence}\n{'':30}{here}"
        )
    print("embedded:PATH.gguf            any GGUF file that llama.cpp can load")


@app.command("get")
def get(name: Annotated[str, typer.Argument(help="A name from `personafit models list`.")]) -> None:
    """Fetch weights, check their hash and keep them; a broken download goes on where it stopped.

    **Example**

        personafit models get qwen2.5-coder-1.5b && personafit run starter --rater embedded:qwen2.5-coder-1.5b
    """
    if name not in CATALOG:
        raise UserError(f"There are no weights called '{name}'; there are {', '.join(CATALOG)}.")
    console = Console(stderr=True)
    bars = Progress(TextColumn(name), BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=console)
    with bars:
        task = bars.add_task(name, total=CATALOG[name].size)
        path = fetch(CATALOG[name], lambda done, total: bars.update(task, completed=done, total=total))
    print(f"{path}\nUse it as embedded:{name}.")
