"""`personafit audit`: what a benchmark's labels reward besides fitting the person."""

from pathlib import Path
from typing import Annotated

import typer

from personafit.api.reading import audit as audit_data
from personafit.cli.common import console, print_object, this_command
from personafit.cli.options import DataOption, JsonOption


def audit(
    benchmark: Annotated[str, typer.Argument(help="A benchmark's name (with --data) or folder.")],
    data: DataOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder for audit.html, audit.json and plots.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of wrong people and folds.")] = 0,
    json: JsonOption = False,
) -> None:
    """Say what simple rules, surface features and the data's own structure score on a benchmark.

    **Examples**

        personafit audit starter

        personafit audit personafeedback --data DIR
    """
    found = audit_data(benchmark, data=data, seed=seed)
    page = found.write(out, this_command())
    if json:
        print_object(found.as_dict() | {"command": this_command()})
        return
    found.print(console())
    print(f"Audit: {page}")
