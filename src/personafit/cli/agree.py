"""`personafit agree`: how far people, judges and gold agree."""

from pathlib import Path
from typing import Annotated, Any

import typer

from personafit._errors import UserError
from personafit.cli.common import console, find_run, print_object, store_url
from personafit.cli.options import JsonOption, StoreOption
from personafit.reporting import load_scores
from personafit.reporting.agree import Agreement, Finding, agreements, ranking_findings
from personafit.reporting.agree_page import agreement_object, print_agreement
from personafit.reporting.agree_ratings import Source, folder_source, run_source
from personafit.store import Store, run_answers


def agree(
    source: Annotated[
        str,
        typer.Argument(
            metavar="RUN|FOLDER|STUDY", help="A run, a benchmark folder with votes.jsonl, or a study."
        ),
    ],
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Say how far all raters agree with each other and with gold, and what a person reaches.

    A folder or a study brings the votes in it and the runs on the same items that the store holds, so that people and judges
    stand side by side.

    **Examples**

        personafit agree last

        personafit agree my-benchmark/

        personafit agree pilot
    """
    loaded, found, rankings = _load(source, store_url(store))
    if json:
        body = agreement_object(loaded, found, rankings)
        print_object(body)
        return
    print_agreement(console(), loaded, found, rankings)


def _load(name: str, url: str) -> tuple[Source, list[Agreement], tuple[Finding, ...]]:
    if (Path(name) / "benchmark.toml").is_file():
        loaded = _folder(Path(name), url)
        return loaded, agreements(loaded), ()
    with Store(url) as opened:
        if (study := named_source(name, opened)) is not None:
            return study, agreements(study), ()
        run = find_run(opened, name)
        if "raters" not in run.config:
            raise UserError(
                f"{run.name} only made answers so far; the same `run answers` command goes on to judge them."
            )
        if (kind := run.config.get("kind", "choice")) in ("relevance", "preference"):
            raise UserError(
                f"{run.name} is a {kind} run: its raters are compared by `personafit study {run.name}`."
            )
        if kind == "dialogue":
            raise UserError(
                f"{run.name} is a dialogue run: its judges stand side by side in `personafit report {run.name}`."
            )
        answers = run_answers(opened, run.id)
        loaded = run_source(opened, run, answers)
        return loaded, agreements(loaded), ranking_findings(load_scores(opened, run, answers))


def named_source(name: str, store: Store) -> Source | None:
    """Everybody's answers in a benchmark folder or a study; None where the name is of neither."""
    if (Path(name) / "benchmark.toml").is_file():
        return folder_source(Path(name), store)
    from personafit.labeling.studies import Studies

    studies = Studies(store)
    if name not in studies.names():
        return None
    from personafit.labeling.agreement import study_source

    return study_source(studies, name)


def study_standing(name: str, store: Store) -> dict[str, Any] | None:
    """Where a study stands, as `label status --json` says it; None where the name is of none."""
    from personafit.labeling.overview import overview
    from personafit.labeling.status import status_object
    from personafit.labeling.studies import Studies

    studies = Studies(store)
    return status_object(overview(studies, name)) if name in studies.names() else None


def _folder(folder: Path, url: str) -> Source:
    if "://" not in url and not Path(url).is_file():  # votes can be read without a store, so none is made
        return folder_source(folder, None)
    with Store(url) as opened:
        return folder_source(folder, opened)
