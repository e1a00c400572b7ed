"""`personafit report`, `compare`, `agree`, `audit` and `rescore`: analyses of stored runs and benchmarks."""

from pathlib import Path
from typing import Annotated

import typer

from personafit import Run, Store
from personafit import rescore as read_again
from personafit._names import inside
from personafit.api import reading
from personafit.api.places import HOME, find_run, out_folder, require_judged, store_url
from personafit.api.report import (
    MARGIN,
    ReportFormat,
    Sentences,
    collect_parts,
    is_other,
    markdown,
    parts_object,
    print_pieces,
    write_report,
)
from personafit.cli.common import console, print_object, show_analysis, this_command
from personafit.cli.options import (
    DataOption,
    JsonOption,
    MarginOption,
    MetricOption,
    RunArgument,
    SeedOption,
    StoreOption,
)

ALONE = (ReportFormat.HTML, ReportFormat.JSON)
"""Formats in which a single run has its own files or object."""


def report(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Runs by name or folder, or `last`; also studies, folders with votes, and folders of `audit`, `extract` and `train`.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="File to write, or folder for tables and figures; default the run's folder."
        ),
    ] = None,
    form: Annotated[
        ReportFormat,
        typer.Option(
            "--format",
            metavar="NAME",
            help="html, md, csv or latex (tables), figures (PNG and SVG), or json.",
        ),
    ] = ReportFormat.HTML,
    margin: MarginOption = MARGIN,
    store: StoreOption = None,
) -> None:
    """Write a report of one run or of many, and print what it says first.

    Runs on the same items are compared. Markdown and JSON are printed unless --out names a file.

    **Examples**

        personafit report last

        personafit report starter-9d956295 my-study flow/ my-reward/ --out report.html

        personafit report last --format latex --out paper/tables
    """
    with Store(store_url(store)) as opened:
        if len(names) == 1 and out is None and form in ALONE and not is_other(names[0], opened):
            run = Run(opened, require_judged(find_run(opened, names[0])), margin=margin)
            if form is ReportFormat.JSON:
                print_object(run.as_dict())
                return
            page = run.write(out_folder(None, run.name))
            run.print(console())
            print(f"Report: {page}")
            return
        parts = collect_parts(names, opened, margin)
    if out is None and form is ReportFormat.MD:
        print(markdown(parts), end="")
        return
    if out is None and form is ReportFormat.JSON:
        print_object(parts_object(parts))
        return
    if form is ReportFormat.HTML:
        for part in parts:
            print_pieces([Sentences(part.sentences)], console())
    default = HOME / ("report.html" if form is ReportFormat.HTML else f"report-{form.value}")
    print(f"Report: {write_report(parts, out or default, form)}")


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Runs, the baseline first; or one run with several systems or raters.",
        ),
    ],
    store: StoreOption = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Compare even if prompts, parsers or data differ.")
    ] = False,
    margin: MarginOption = MARGIN,
    metric: MetricOption = None,
    json: JsonOption = False,
) -> None:
    """Test whether runs of one kind differ: paired by item, clustered by person, adjusted for multiple comparisons.

    Compares whatever differs between the runs: assistants on the same tasks, judges, relevance raters or writers. Of one run it
    compares the systems or, if there is only one, the raters. Three or more that share items are ranked as well.

    **Examples**

        personafit compare last

        personafit compare personafeedback-1a2b3c4d last

        personafit compare personalens-1a2b3c4d last --metric naturalness
    """
    found = reading.compare(*runs, anyway=anyway, margin=margin, metric=metric, store=store)
    show_analysis(found, json)


def rescore(run: RunArgument, store: StoreOption = None) -> None:
    """Parse the stored replies of a run again with the current parser; nothing is asked or spent.

    **Example**

        personafit rescore last
    """
    read, changed = read_again(run, store=store)
    print(f"{read:,} replies read again, {changed:,} now say something else; the earlier readings are kept.")


def agree(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|STUDY|FOLDER...", help="Runs, a study, or a benchmark folder with votes.jsonl."
        ),
    ],
    store: StoreOption = None,
    margin: MarginOption = MARGIN,
    json: JsonOption = False,
) -> None:
    """Measure how far raters agree with each other and with gold, and compare it with the human ceiling.

    A run brings its raters, its gold, and people who voted on its items. A study or a folder brings its votes and the stored runs on
    the same items, so that people and judges stand side by side.

    **Examples**

        personafit agree last

        personafit agree pilot
    """
    found = reading.agree(*sources, margin=margin, store=store)
    show_analysis(found, json)


def audit(
    benchmark: Annotated[str, typer.Argument(help="A benchmark's name (with --data) or folder.")],
    data: DataOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for audit.html and audit.json.")
    ] = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Measure what simple rules, surface features and the data's structure score on a benchmark of choices.

    **Examples**

        personafit audit starter

        personafit audit personafeedback --data DIR
    """
    found = reading.audit(benchmark, data=data, seed=seed, command=this_command())
    body = found.as_dict()
    page = reading.write_audit(found, out or inside(HOME / "audits", body["benchmark"]))
    if json:
        print_object(body)
        return
    part = found.part(pictures=False)
    print_pieces([Sentences(part.sentences[:2]), *part.lead, *part.sections[0].pieces], console())
    print(f"Audit: {page}")
