"""`personafit extraction`: what attributes are worth, sources side by side, and where the end result is lost."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.cli.common import console, hint, make_folder, print_json, results_json, this_command
from personafit.cli.options import JsonOption

app = typer.Typer(no_args_is_help=True, help="What extraction is worth, and where errors flow.")


@app.command("measure")
def measure(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]SOURCE...",
            help="A folder that `stages` wrote, one of labels, published attributes, or starter.",
        ),
    ],
    known: Annotated[
        Path | None,
        typer.Option(help="conversations.jsonl with the true attributes, for recall and precision."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for results.json and extraction.html.")] = None,
    json: JsonOption = False,
) -> None:
    """Accepted, unsure and rejected; failure modes; diversity; recall and precision; and what refinement cost.

    Several sources stand side by side, each beyond the first with its difference from it: name people's data first.

    **Examples**

        personafit extraction measure people

        personafit extraction measure human=study-of-people synthetic=study-of-agents --out side-by-side
    """
    from personafit.benchmarks.statements import load_statements
    from personafit.models.embeddings import make_embedder
    from personafit.reporting.stages.matching import matching_results
    from personafit.reporting.stages.page import write_sources
    from personafit.reporting.stages.results import source_results
    from personafit.reporting.stages.sources import open_source
    from personafit.reporting.stages.tables import print_sources

    embedder = make_embedder()
    opened = [open_source(source, known) for source in sources]
    if len({source.name for source in opened}) < len(opened):
        raise UserError("Two sources have the same name; tell them apart as in human=DIR synthetic=DIR.")
    results = source_results(opened, embedder)
    for text, source in zip(sources, opened, strict=True):
        place = text.partition("=")[2] or text
        if place == "starter" or (Path(place) / "labels.jsonl").is_file():
            results += matching_results(source.name, load_statements(place), embedder)
    if out is not None:
        make_folder(out)
        (out / "results.json").write_bytes(results_json("extraction", results, this_command()))
        write_sources(opened, results, out / "extraction.html")
    if json:
        print_json("extraction", results)
        return
    print_sources(console(), opened, results)
    if out is not None:
        print(f"Wrote {out / 'extraction.html'}.")


@app.command("flow")
def flow(
    folder: Annotated[Path, typer.Argument(help="A folder that `stages` wrote: the extractor's attributes.")],
    data: Annotated[
        Path, typer.Option(help="Where people say which attributes matter: a benchmark folder, or starter.")
    ],
    matcher: Annotated[str, typer.Option(help="Who says which attributes matter, in people's place.")],
    out: Annotated[Path, typer.Option(help="Folder for results.json, flow.html and what models said.")],
    model: Annotated[
        str | None, typer.Option(help="Who answers; without it the flow ends with what matters.")
    ] = None,
    judge: Annotated[
        str, typer.Option(help="Who says what a response serves: a rater of preferences.")
    ] = "rule:mention",
    json: JsonOption = False,
) -> None:
    """Where the end result is lost: each stage by people, then by models, one after the other.

    **Example**

        personafit extraction flow people --data starter --matcher list:openai:MODEL --model openai:MODEL --judge openai:JUDGE --out flow
    """
    from personafit.engine import Bars
    from personafit.models import make_model
    from personafit.models.embeddings import make_embedder
    from personafit.reporting.stages.flow import labelled_pairs, languages_of
    from personafit.reporting.stages.page import write_flow
    from personafit.reporting.stages.results import flow_results
    from personafit.reporting.stages.sources import open_source
    from personafit.reporting.stages.tables import print_flow
    from personafit.stages.error_flow import Flow, trace
    from personafit.stages.flow_running import run_flow
    from personafit.stages.session import Ended, Session
    from personafit.store import Store

    source = open_source(str(folder))
    found = {person: [one.text for one in rows] for person, rows in (source.refined or source.found).items()}
    pairs = labelled_pairs(data, set(found))
    hint(f"{len(pairs):,} judged pairs of {len({pair.person for pair in pairs}):,} people ...")
    make_folder(out)
    answering = make_model(model) if model else None

    async def run() -> Flow:
        try:
            return await run_flow(
                session, pairs, found, languages_of(data), matcher, make_embedder(), answering, judge
            )
        finally:
            if answering is not None:
                await answering.close()

    with Store(out / "flow.db") as store, Bars() as progress:
        config = {"kind": "flow", "folder": str(folder), "matcher": matcher, "model": model, "judge": judge}
        session = Session(
            store, store.begin_run(f"flow-{content_hash(config)[:8]}", "flow", config, 0), progress
        )
        try:
            traced = trace(asyncio.run(run()))
        except Ended:
            done = session.summary
            why = f" ({done.last_failure.rstrip('.')})" if done.last_failure else ""
            raise UserError(
                f"The flow was stopped{why}; the same command goes on from there.",
                130 if done.interrupted else 1,
            ) from None
    names = {"attributes": folder.name, "relevance": matcher} | (
        {"response": f"{model}, judged by {judge}"} if model else {}
    )
    results = flow_results(traced, names)
    (out / "results.json").write_bytes(results_json("flow", results, this_command()))
    write_flow(traced, names, results, out / "flow.html")
    if json:
        print_json("flow", results)
        return
    print_flow(console(), results)
    print(f"Wrote {out / 'flow.html'}.")
