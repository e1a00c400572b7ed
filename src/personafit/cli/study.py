"""`personafit study`, `data forms` and `data votes`: what people say about attributes and answers, from form to tables."""

from pathlib import Path
from typing import Annotated

import typer

from personafit._errors import UserError
from personafit.cli.common import console, make_folder, print_json, store_url
from personafit.cli.options import JsonOption, StoreOption


def forms(
    source: Annotated[str, typer.Argument(help="recentering: attributes and answers.")],
    out: Annotated[Path, typer.Option(help="Folder to make.")],
    stage: Annotated[int, typer.Option(help="2: which attributes matter; 3: does using them help.")],
    data: Annotated[
        Path | None, typer.Option(help="Published layout, a benchmark folder, or starter.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the order of pages and items.")] = 0,
) -> None:
    """Write items for people to judge as a folder with a form: pages, wording, answers to choose from.

    **Example**

        personafit data forms recentering --data starter --stage 3 --out study3
    """
    from personafit.benchmarks.recentering.forms import write_forms

    if source != "recentering":
        raise UserError(f"'{source}' has no forms; there is recentering.")
    counts = write_forms(data, stage, out, seed)
    print(
        f"Wrote {out}: {counts['pages']:,} pages, {counts['items']:,} items, {counts['answers']:,} answers a rater."
    )


def votes(
    folder: Annotated[Path, typer.Argument(help="A folder that `data forms` made.")],
    files: Annotated[list[Path], typer.Argument(help="JSONL files of votes.")],
    kind: Annotated[str, typer.Option(help="Who voted: human, simulated or llm.")] = "human",
) -> None:
    """Take votes into such a folder: checked line by line, with gold worked out from them.

    **Example**

        personafit data votes study3 votes-of-ann.jsonl votes-of-bob.jsonl
    """
    from personafit.benchmarks.recentering.forms import import_votes

    counts = import_votes(folder, files, kind)
    print(
        f"Read {counts['read']:,} votes: {counts['new']:,} new, {counts['corrected']:,} corrected. {folder} has "
        f"{counts['votes']:,} votes and {counts['gold']:,} gold answers."
    )


def study(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER|RUN",
            help="A folder of `data forms` with votes, published data, starter, or a run.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for tables (CSV), figures (PNG, SVG) and JSON.")
    ] = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Every table and figure about attributes and answers: agreement, yes-rates, precision, marks, mention.

    A folder brings its votes and gold and the runs on the same items that the store holds.

    **Examples**

        personafit study starter --out tables

        personafit run responses --data starter --rater rule:mention && personafit study last --json
    """
    from personafit.reporting.recentering_study import load_study, print_study, write_study

    found = load_study(source, store_url(store))
    if out is not None:
        make_folder(out)
        try:
            written = write_study(found, out)
        except OSError as error:
            raise UserError(f"{out} cannot be written ({error.strerror}).") from error
    if json:
        print_json(found.name, found.results)
        return
    print_study(console(), found)
    if out is not None:
        print(f"Wrote {', '.join(written)} to {out}.")
