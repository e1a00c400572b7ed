"""`personafit demo`: what personafit measures, in under a minute, offline."""

from pathlib import Path
from typing import Annotated

import typer

from personafit.api.places import HOME


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the store, the results and the report.")] = HOME
    / "demo",
) -> None:
    """Measure a recorded judge, and an assistant with and without memory; no key, no network.

    **Example**

        personafit demo --out /tmp/demo
    """
    from personafit.api.demo import run_demo

    page = run_demo(out)
    print(f"\nReport: {page}")
    print("Next, your own model:  personafit run starter --rater openai:MODEL@http://HOST/v1")
