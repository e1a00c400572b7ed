"""`personafit power`: what a planned run could show, judged by a stored one."""

from typing import Annotated

import typer

from personafit.cli.common import console, judged_run, print_object, store_url
from personafit.cli.options import JsonOption, MetricOption, StoreOption
from personafit.reporting.lines import run_lines
from personafit.reporting.planning import plan_run, plans_table
from personafit.store import Store


def power(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The pilot: a run's name, its folder, or `last`.")
    ],
    users: Annotated[
        int | None, typer.Option(min=2, help="People of the planned run; default as in RUN.")
    ] = None,
    items: Annotated[int | None, typer.Option(min=1, help="Items of each person; default as in RUN.")] = None,
    prompts: Annotated[
        int | None,
        typer.Option(min=2, help="Prompts, where they recur across people; default as in RUN."),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(
            help="Say what it takes to show this difference, a share of the scale above 0 and below 1: 0.03."
        ),
    ] = None,
    metric: MetricOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Say the smallest difference a planned run can detect, and how many people, prompts or items a difference needs.

    The pilot may be a run of any kind.

    **Examples**

        personafit power last --users 100 --items 20

        personafit power last --difference 0.03

        personafit power last --metric personalization
    """
    with Store(store_url(store)) as opened:
        pilot = run_lines(opened, judged_run(opened, run))
    plans = plan_run(pilot, users, items, difference, prompts, metric)
    if json:
        body = {"run": pilot.run.name, "plans": [plan.as_dict() for plan in plans]}
        print_object(body)
        return
    console().print(plans_table(plans))
    for plan in plans:
        print(plan.sentence())
    for note in dict.fromkeys(note for plan in plans for note in plan.notes):
        print(f"Note: {note}.")
