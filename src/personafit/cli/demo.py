"""`personafit demo`: the whole instrument in two minutes, offline."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from personafit.benchmarks.running import RunConfig, execute
from personafit.cli.common import HOME
from personafit.cli.run_end import report_run
from personafit.engine import Bars
from personafit.store import Store

# A fixed budget of asks: 12 items of four people, three views, both orders = 72 for the embedded model. It may not grow.
PEOPLE = ["nadia", "owen", "dev", "zhoumin"]
ITEMS = 12


def demo(
    out: Annotated[Path, typer.Option(help="Folder for store, report and results.")] = HOME / "demo",
) -> None:
    """Judge a small sample of the starter set with the embedded model and the rules; no key, no network.

    **Example**

        personafit demo --out /tmp/demo
    """
    print(
        f"Judging {ITEMS} starter items in both orders, with the right profile, none, and a wrong one.\n"
        "The embedded model (135M parameters) is at chance on such choices: what you see is the instrument, not a good judge."
    )
    config = RunConfig(
        benchmark="starter", raters=["embedded"], users=PEOPLE, limit=ITEMS, command="personafit demo"
    )
    with Store(out / "store.db") as store:
        with Bars() as progress:
            finished = asyncio.run(execute(store, config, progress))
        code = report_run(store, finished, out, json=False, bars=[])
    print("Now point it at a real model:  personafit run starter --rater openai:MODEL@http://HOST/v1")
    if code:
        raise typer.Exit(code)
