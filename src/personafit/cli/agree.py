"""`personafit agree`: how far people, judges and gold agree."""

from typing import Annotated, Any

import typer

from personafit.api.reading import agree as agreement_of
from personafit.cli.common import console, print_object
from personafit.cli.options import JsonOption, MarginOption, StoreOption
from personafit.store import Store


def agree(
    source: Annotated[
        str,
        typer.Argument(
            metavar="RUN|FOLDER|STUDY", help="A run, a benchmark folder with votes.jsonl, or a study."
        ),
    ],
    store: StoreOption = None,
    margin: MarginOption = None,
    json: JsonOption = False,
) -> None:
    """Say how far all raters agree with each other and with gold, and what a person reaches.

    A run of any kind brings its raters, its gold, and people who voted on its items. A folder or a study brings the votes in it and the
    runs on the same items that the store holds, so that people and judges stand side by side.

    **Examples**

        personafit agree last

        personafit agree my-benchmark/

        personafit agree pilot
    """
    found = agreement_of(source, margin=margin, store=store)
    if json:
        print_object(found.as_dict())
        return
    found.print(console())


def study_standing(name: str, store: Store) -> dict[str, Any] | None:
    """Where a study stands, as `label status --json` says it; None where the name is of none."""
    from personafit.labeling.overview import overview
    from personafit.labeling.status import status_object
    from personafit.labeling.studies import Studies

    studies = Studies(store)
    return status_object(overview(studies, name)) if name in studies.names() else None
