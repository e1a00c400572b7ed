"""`personafit demo`: the whole instrument in two minutes, offline."""

from pathlib import Path
from typing import Annotated

import typer

from personafit.api.evaluating import evaluate
from personafit.cli.common import HOME
from personafit.cli.run_end import report_run

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
    run = evaluate(
        "starter",
        raters="embedded",
        people=PEOPLE,
        limit=ITEMS,
        store=out / "store.db",
        command="personafit demo",
    )
    code = report_run(run, out, json=False, bars=[])
    run.close()
    print("Now point it at a real model:  personafit run starter --rater openai:MODEL@http://HOST/v1")
    if code:
        raise typer.Exit(code)
