"""`personafit report`, `compare` and `rescore`: what stored runs say."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from personafit._errors import UserError
from personafit.api.reading import compare as compare_runs
from personafit.api.reading import votes_source
from personafit.api.run import Run
from personafit.cli.analyse import errors_study
from personafit.cli.common import (
    console,
    judged_run,
    load_run,
    print_object,
    store_url,
)
from personafit.cli.options import JsonOption, MarginOption, MetricOption, RunArgument, StoreOption
from personafit.cli.run_end import write_run
from personafit.kinds.rescore import rescore as read_again
from personafit.statistics.decisions import MARGIN
from personafit.store import Store

if TYPE_CHECKING:
    from personafit.reporting.whole.collected import Collected


def report(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Names, folders, or `last`.")],
    store: StoreOption = None,
    out: Annotated[Path | None, typer.Option(help="Folder for report.html and results.json.")] = None,
    whole: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            help="Collect all that is named into one page: runs of any kind, studies, folders with votes, of `audit`, of "
            "`extraction` and of `train`.",
        ),
    ] = None,
    tables: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write every table there as CSV and LaTeX.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write every figure there as PNG and SVG.")
    ] = None,
    errors: Annotated[
        int | None, typer.Option(min=1, help="Draw so many wrong choices into a coding study.")
    ] = None,
    tier: Annotated[str | None, typer.Option(help="With --errors: of this tier only.")] = None,
    margin: MarginOption = None,
    json: JsonOption = False,
) -> None:
    """Print a run's tables and write its report again, or draw its errors into a study for people to code.

    **Examples**

        personafit report last

        personafit report last --errors 50 --tier hard

        personafit report starter-9d956295 my-study flow/ my-reward/ --whole report.html

        personafit report last --tables paper/tables --figures paper/figures
    """
    if whole is not None or tables is not None or figures is not None:
        if json or errors is not None or out is not None:
            raise UserError(
                "report --whole, --tables and --figures go together; --json, --errors and --out are for commands without them."
            )
        _collect(runs, store_url(store), whole, tables, figures, margin)
        return
    if json and len(runs) > 1:
        raise UserError("report --json takes one run: it prints one object.")
    if out is not None and len(runs) > 1:
        raise UserError("report --out takes one run: two would overwrite each other's files.")
    with Store(store_url(store)) as opened:
        for name in runs:
            if errors is not None:
                errors_study(opened, load_run(opened, name), errors, tier, out=out)
                continue
            run = Run(opened, judged_run(opened, name), margin=margin)
            if json:
                print_object(run.as_dict())
                continue
            page = write_run(run, out)
            run.print(console())
            print(f"Report: {page}")


def _collect(
    names: list[str],
    url: str,
    whole: Path | None,
    tables: Path | None,
    figures: Path | None,
    margin: float | None,
) -> None:
    """Find out what each name stands for, and write the page of them all, their tables and their figures."""
    from personafit.reporting.whole.export import write_figures, write_tables
    from personafit.reporting.whole.page import make_chapters, write_whole

    with Store(url) as opened:
        given = _collected(opened, names)
        given.margin = MARGIN if margin is None else margin
        chapters = make_chapters(given)
    try:
        if whole is not None:
            whole.parent.mkdir(parents=True, exist_ok=True)
            write_whole(given, chapters, whole)
            print(f"Report: {whole}")
        if tables is not None:
            print(f"Tables: {write_tables(chapters, tables)} as CSV and LaTeX in {tables}")
        if figures is not None:
            print(f"Figures: {write_figures(chapters, figures)} as PNG and SVG in {figures}")
    except OSError as error:
        raise UserError(
            f"{error.filename} cannot be written ({error.strerror}); name another place."
        ) from error
    absent = [chapter.title for chapter in chapters if chapter.missing]
    if whole is not None and absent:
        print(f"Nothing was given for {', '.join(absent)}; the page says what would add them.")


def _collected(store: Store, names: list[str]) -> "Collected":
    from personafit.cli.agree import study_standing
    from personafit.reporting.whole.collected import Collected
    from personafit.reporting.whole.collecting import collect_folder, collect_run

    given = Collected(store)
    for name in names:
        if Path(name).is_dir() and collect_folder(given, Path(name)):
            continue
        if (source := votes_source(name, store)) is not None:
            given.agreement[Path(name).name] = source
            if (standing := study_standing(name, store)) is not None:
                given.studies[name] = standing
        else:
            collect_run(given, judged_run(store, name))
    return given


def compare(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN RUN...", help="Two or more runs; the first is the base.")
    ],
    store: StoreOption = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Compare even if the instruments differ.")] = False,
    margin: MarginOption = None,
    metric: MetricOption = None,
    json: JsonOption = False,
) -> None:
    """Say whether runs of one kind differ: paired by item, clustered by person, adjusted for how many are compared.

    Two assistants on the same tasks, two judges, two relevance raters or two writers: whoever differs between the runs. Three or
    more contestants that share items are ranked as well.

    **Examples**

        personafit compare personafeedback-1a2b3c4d last

        personafit compare personalens-1a2b3c4d last --metric naturalness
    """
    with Store(store_url(store)) as opened:
        found = compare_runs(*runs, anyway=anyway, margin=margin, metric=metric, store=opened)
    if json:
        print_object(found.as_dict())
    else:
        found.print(console())


def rescore(
    run: RunArgument,
    store: StoreOption = None,
) -> None:
    """Read the stored replies of a run again with today's parser; nothing is asked and nothing is spent.

    **Example**

        personafit rescore last
    """
    with Store(store_url(store)) as opened:
        read, changed = read_again(opened, judged_run(opened, run))
    print(f"{read:,} replies read again, {changed:,} now say something else; the earlier readings are kept.")
