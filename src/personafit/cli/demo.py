"""`personafit demo`: what personafit measures, in under a minute, offline."""

from pathlib import Path
from typing import Annotated

import typer

from personafit.cli.common import HOME


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the store, the results and the report.")] = HOME
    / "demo",
    live_seconds: Annotated[
        float,
        typer.Option(min=0, help="Time limit for the live asks of the embedded model; 0 leaves them out."),
    ] = 20,
) -> None:
    """Measure a recorded judge, an assistant with and without memory, and a live model; no key, no network.

    **Example**

        personafit demo --out /tmp/demo
    """
    from personafit.api.demo import run_demo

    page = run_demo(out, live_seconds)
    print(f"\nReport: {page}")
    print("Next, your own model:  personafit run starter --rater openai:MODEL@http://HOST/v1")
